"""Every algorithm by name: what it needs, what it gives, and the page it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from robolin.algebra.chain import Chain
from robolin.dynamics.conventional import (
    forward_conventional,
    inverse_conventional,
    linearize_forward_conventional,
)
from robolin.dynamics.coriolis_matrix import coriolis_matrix
from robolin.dynamics.diagonalize import diagonalize
from robolin.dynamics.diagonalize_unnormalized import diagonalize_unnormalized
from robolin.dynamics.forward_dynamics import forward_dynamics
from robolin.dynamics.innovations_factors import innovations_factors, inverse_by_factors
from robolin.dynamics.inverse_dynamics import inverse_dynamics
from robolin.dynamics.linearize_forward import linearize_forward
from robolin.dynamics.linearize_forward_columns import linearize_forward_columns
from robolin.dynamics.linearize_forward_tree import linearize_forward_tree
from robolin.dynamics.linearize_inverse import linearize_inverse
from robolin.dynamics.mass_matrix import mass_matrix
from robolin.dynamics.mass_matrix_derivative import mass_matrix_derivative
from robolin.dynamics.perturb_forward import perturb_forward
from robolin.dynamics.perturb_forward_articulated import perturb_forward_articulated
from robolin.dynamics.perturb_forward_conventional import perturb_forward_conventional
from robolin.dynamics.perturb_inverse import perturb_inverse
from robolin.dynamics.undiagonalize import undiagonalize, undiagonalize_unnormalized


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with the names of its inputs and the rank of each result.

    `kind` says where it holds: on every arm ('any'), on every arm whose joints are independent
    ('independent'), or only on a serial chain of such joints ('serial').
    """

    run: Callable[[Chain], None]
    needs: tuple[str, ...]
    gives: Mapping[str, int]
    title: str
    kind: str = "any"


_MODEL = {"qdd": 1, "dqdd_dtau": 2, "dqdd_dqd": 2, "dqdd_dq": 2}
_MOTION = ("q", "qd", "qdd")
_STATE = ("q", "qd", "tau")

ALGORITHMS: Mapping[str, Algorithm] = {
    "inverse": Algorithm(inverse_dynamics, _MOTION, {"tau": 1}, "recursive Newton–Euler, O(n)"),
    "forward": Algorithm(
        forward_dynamics, _STATE, {"qdd": 1}, "articulated bodies, O(n)", "independent"
    ),
    "forward-conventional": Algorithm(
        forward_conventional, _STATE, {"qdd": 1}, "mass matrix and elimination, O(n³)"
    ),
    "mass-matrix": Algorithm(mass_matrix, ("q",), {"mass_matrix": 2}, "composite bodies, O(n²)"),
    "mass-matrix-inverse": Algorithm(
        inverse_by_factors,
        ("q",),
        {"mass_matrix_inverse": 2},
        "innovations factors, O(n²)",
        "independent",
    ),
    "mass-matrix-inverse-conventional": Algorithm(
        inverse_conventional, ("q",), {"mass_matrix_inverse": 2}, "elimination, O(n³)"
    ),
    "mass-matrix-factor": Algorithm(
        innovations_factors,
        ("q",),
        {"factor": 2, "D": 1, "factor_inverse": 2},
        "innovations factors, O(n²)",
        "independent",
    ),
    "mass-matrix-derivative": Algorithm(
        mass_matrix_derivative, ("q",), {"dmass_matrix_dq": 3}, "composite bodies, O(n³)"
    ),
    "coriolis-matrix": Algorithm(
        coriolis_matrix, ("q", "qd"), {"coriolis_matrix": 2}, "half of Algorithm 2's A_D, O(n²)"
    ),
    "linearize-inverse": Algorithm(
        linearize_inverse,
        _MOTION,
        {"mass_matrix": 2, "dtau_dqd": 2, "dtau_dq": 2},
        "Algorithm 2, O(n²)",
    ),
    "perturb-inverse": Algorithm(
        perturb_inverse, (*_MOTION, "dq", "dqd", "dqdd"), {"dtau": 1}, "Algorithm 1, O(n)"
    ),
    "linearize-forward": Algorithm(
        linearize_forward, _STATE, _MODEL, "Algorithm 6, O(n²)", "serial"
    ),
    "linearize-forward-tree": Algorithm(
        linearize_forward_tree,
        _STATE,
        _MODEL,
        "Algorithm 6 with branches, O(n²)",
        "independent",
    ),
    "linearize-forward-columns": Algorithm(
        linearize_forward_columns,
        _STATE,
        _MODEL,
        "Algorithm 5 with unit right-hand sides, O(n²)",
        "independent",
    ),
    "linearize-forward-conventional": Algorithm(
        linearize_forward_conventional, _STATE, _MODEL, "Algorithm 4, O(n³)"
    ),
    "perturb-forward": Algorithm(
        perturb_forward,
        (*_MOTION, "dq", "dqd", "dtau"),
        {"dqdd": 1},
        "Algorithm 5b, O(n)",
        "independent",
    ),
    "perturb-forward-articulated": Algorithm(
        perturb_forward_articulated,
        (*_MOTION, "dq", "dqd", "dtau"),
        {"dqdd": 1},
        "Algorithm 5, O(n)",
        "independent",
    ),
    "perturb-forward-conventional": Algorithm(
        perturb_forward_conventional,
        (*_MOTION, "dq", "dqd", "dtau"),
        {"dqdd": 1},
        "Algorithm 3, O(n³)",
    ),
    "diagonalize": Algorithm(
        diagonalize,
        _STATE,
        {"nu": 1, "epsilon": 1, "coriolis": 1, "m": 2, "D": 1},
        "Tables 1 and 2, Algorithms 6.1 and 7.1, O(n²) for m",
        "independent",
    ),
    "diagonalize-unnormalized": Algorithm(
        diagonalize_unnormalized,
        _STATE,
        {"xi": 1, "kappa": 1, "coriolis": 1, "factor": 2, "D": 1},
        "Tables 1 and 2 without roots, Algorithm 6.1 and recursion 7.10",
        "independent",
    ),
    "undiagonalize": Algorithm(
        undiagonalize,
        ("q", "nu", "epsilon"),
        {"qd": 1, "tau": 1},
        "Tables 1 and 2 backwards, O(n)",
        "independent",
    ),
    "undiagonalize-unnormalized": Algorithm(
        undiagonalize_unnormalized,
        ("q", "xi", "kappa"),
        {"qd": 1, "tau": 1},
        "Tables 1 and 2 backwards without roots, O(n)",
        "independent",
    ),
}
