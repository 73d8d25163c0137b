"""Entries of the catalogue for what recursions answer on independent joints, by elimination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from robolin.dynamics.algorithm import Algorithm

_DIAGONAL = "diagonal.diagonalize_conventional"
_FORWARD = "diagonal.forward_diagonalized_conventional"
_PRESCRIBED = "forward.forward_prescribed_conventional"
_OPERATIONAL = "frames.operational_space_conventional"

# the function, its title, and what `count` calls it where it does
_BY_VERB: Mapping[str, tuple[str, str] | tuple[str, str, str]] = {
    "mass-matrix-factor": (
        "forward.conventional:factors_conventional",
        "elimination in the mass matrix, O(n³)",
        "factors by elimination",
    ),
    "diagonalize": (
        f"{_DIAGONAL}:diagonalize_conventional",
        "elimination in the mass matrix, C by ∂𝓜/∂q, O(n³)",
        "elimination and ∂𝓜/∂q",
    ),
    "diagonalize-unnormalized": (
        f"{_DIAGONAL}:diagonalize_unnormalized_conventional",
        "elimination in the mass matrix without roots, C by ∂𝓜/∂q, O(n³)",
    ),
    "undiagonalize": (
        f"{_DIAGONAL}:undiagonalize_conventional",
        "elimination in the mass matrix backwards, O(n³)",
        "back to the joints by elimination",
    ),
    "undiagonalize-unnormalized": (
        f"{_DIAGONAL}:undiagonalize_unnormalized_conventional",
        "elimination in the mass matrix backwards without roots, O(n³)",
    ),
    "forward-diagonalized": (
        f"{_FORWARD}:forward_diagonalized_conventional",
        "elimination in the mass matrix, C by ∂𝓜/∂q, with roots, O(n³)",
    ),
    "forward-diagonalized-unnormalized": (
        f"{_FORWARD}:forward_diagonalized_unnormalized_conventional",
        "elimination in the mass matrix, C by ∂𝓜/∂q, without roots, O(n³)",
    ),
    "rate-control": (
        f"{_FORWARD}:rate_control_conventional",
        "braking by elimination in the mass matrix, O(n³)",
    ),
    "forward-prescribed": (
        f"{_PRESCRIBED}:forward_prescribed_conventional",
        "mass matrix and elimination, joints that move as told taken out, O(n³)",
    ),
    "linearize-forward-prescribed": (
        f"{_PRESCRIBED}:linearize_forward_prescribed_conventional",
        "inverse model and elimination, joints that move as told taken out, O(n³)",
    ),
    "operational-space": (
        f"{_OPERATIONAL}:operational_space_conventional",
        "J 𝓜⁻¹ J* by elimination, then a 6x6 elimination, O(n³)",
        "operational space by elimination",
    ),
    "operational-space-inverse": (
        f"{_OPERATIONAL}:operational_space_inverse_conventional",
        "J 𝓜⁻¹ J* by elimination, O(n³)",
    ),
}


def eliminations(recursions: Mapping[str, Algorithm]) -> dict[str, Algorithm]:
    """For each of these verbs an entry like that of its recursion, which holds on every arm."""
    return {
        f"{verb}-conventional": replace(
            recursions[verb],
            function=function,
            title=title,
            kind="reaching" if recursions[verb].kind == "spanning" else "any",
            paper="",
            verb=verb,
            method="conventional",
            counted=_counted(recursions[verb], *called),
        )
        for verb, (function, title, *called) in _BY_VERB.items()
    }


def _counted(recursion: Algorithm, called: str = "") -> tuple[str, str] | None:
    return (recursion.counted[0], called) if recursion.counted and called else None
