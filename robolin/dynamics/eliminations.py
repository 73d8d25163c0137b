"""Entries of the catalogue for what recursions answer on independent joints, by elimination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.diagonal.diagonalize_conventional import (
    diagonalize_conventional,
    diagonalize_unnormalized_conventional,
    undiagonalize_conventional,
    undiagonalize_unnormalized_conventional,
)
from robolin.dynamics.diagonal.forward_diagonalized_conventional import (
    forward_diagonalized_conventional,
    forward_diagonalized_unnormalized_conventional,
    rate_control_conventional,
)
from robolin.dynamics.forward.conventional import factors_conventional
from robolin.dynamics.frames.operational_space_conventional import (
    operational_space_conventional,
    operational_space_inverse_conventional,
)

_BY_VERB = {
    "mass-matrix-factor": (factors_conventional, "elimination in the mass matrix, O(n³)"),
    "diagonalize": (
        diagonalize_conventional,
        "elimination in the mass matrix, C by ∂𝓜/∂q, O(n³)",
    ),
    "diagonalize-unnormalized": (
        diagonalize_unnormalized_conventional,
        "elimination in the mass matrix without roots, C by ∂𝓜/∂q, O(n³)",
    ),
    "undiagonalize": (
        undiagonalize_conventional,
        "elimination in the mass matrix backwards, O(n³)",
    ),
    "undiagonalize-unnormalized": (
        undiagonalize_unnormalized_conventional,
        "elimination in the mass matrix backwards without roots, O(n³)",
    ),
    "forward-diagonalized": (
        forward_diagonalized_conventional,
        "elimination in the mass matrix, C by ∂𝓜/∂q, with roots, O(n³)",
    ),
    "forward-diagonalized-unnormalized": (
        forward_diagonalized_unnormalized_conventional,
        "elimination in the mass matrix, C by ∂𝓜/∂q, without roots, O(n³)",
    ),
    "rate-control": (
        rate_control_conventional,
        "braking by elimination in the mass matrix, O(n³)",
    ),
    "operational-space": (
        operational_space_conventional,
        "J 𝓜⁻¹ J* by elimination, then a 6x6 elimination, O(n³)",
    ),
    "operational-space-inverse": (
        operational_space_inverse_conventional,
        "J 𝓜⁻¹ J* by elimination, O(n³)",
    ),
}


def eliminations(recursions: Mapping[str, Algorithm]) -> dict[str, Algorithm]:
    """For each of these verbs an entry like that of its recursion, which holds on every arm."""
    return {
        f"{verb}-conventional": replace(
            recursions[verb],
            run=run,
            title=title,
            kind="reaching" if recursions[verb].kind == "spanning" else "any",
            paper="",
            verb=verb,
            method="conventional",
        )
        for verb, (run, title) in _BY_VERB.items()
    }
