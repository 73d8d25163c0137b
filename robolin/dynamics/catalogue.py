"""Every algorithm by name: inputs, results, supported arms and paper.

Functions are named by module, so that a command imports only its own algorithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from robolin.dynamics.algorithm import (
    GEOMETRY_COLUMNS,
    MATRIX,
    NUMBER,
    REGRESSOR_COLUMNS,
    SPRING_COLUMNS,
    VECTOR,
    Algorithm,
    Shape,
)

_MODEL = {"qdd": VECTOR, "dqdd_dtau": MATRIX, "dqdd_dqd": MATRIX, "dqdd_dq": MATRIX}
_OPERATIONAL: Mapping[str, Shape] = {
    "operational_inertia_inverse": (6, 6),
    "free_acceleration": (6,),
    "rotation": (3, 3),
}
_ROWS: Shape = ("closure",)
_ROWS_BY_JOINTS: Shape = ("closure", "joint")
_GAPS: Mapping[str, Shape] = {"closure_gap": _ROWS, "closure_turn": ("closure", 3)}
_MOTION = ("q", "qd", "qdd")
_STATE = ("q", "qd", "tau")

_GRADIENT_OF_MOTION = {"gradient_q": VECTOR, "gradient_qd": VECTOR, "gradient_qdd": VECTOR}
_GRADIENT_OF_STATE = {"gradient_q": VECTOR, "gradient_qd": VECTOR, "gradient_tau": VECTOR}

_BY_NAME: Mapping[str, Algorithm] = {
    "inverse": Algorithm(
        "inverse.inverse_dynamics:inverse_dynamics",
        _MOTION,
        {"tau": VECTOR},
        "recursive Newton–Euler, O(n)",
        paper="[O] (7, 8)",
        counted=("inverse", "Newton–Euler"),
    ),
    "forward": Algorithm(
        "forward.forward_dynamics:forward_dynamics",
        _STATE,
        {"qdd": VECTOR},
        "articulated bodies, O(n)",
        "independent",
        paper="[F] algorithm VII.D",
        counted=("forward", "articulated bodies"),
    ),
    "forward-bias-free": Algorithm(
        "forward.forward_bias_first:forward_bias_free",
        _STATE,
        {"qdd": VECTOR},
        "bias torques computed first, four sweeps, O(n)",
        "independent",
        paper="[F] Algorithm 1",
        verb="forward",
        method="bias-free",
        counted=("forward", "bias torques first"),
    ),
    "forward-bias-free-links": Algorithm(
        "forward.forward_bias_first:forward_bias_free_links",
        _STATE,
        {"qdd": VECTOR, "link_acceleration": ("link", 6)},
        "bias torques computed first, with link accelerations, four sweeps, O(n)",
        "independent",
        paper="[F] Algorithm 2",
        verb="forward",
        method="bias-free-links",
        counted=("forward", "bias torques first, with link accelerations"),
    ),
    "forward-three-sweeps": Algorithm(
        "forward.forward_bias_first:forward_three_sweeps",
        _STATE,
        {"qdd": VECTOR},
        "bias forces of the links computed first, three sweeps, O(n)",
        "independent",
        paper="[F] Algorithm 3",
        verb="forward",
        method="three-sweeps",
        counted=("forward", "bias forces first"),
    ),
    "forward-three-sweeps-links": Algorithm(
        "forward.forward_bias_first:forward_three_sweeps_links",
        _STATE,
        {"qdd": VECTOR, "link_acceleration": ("link", 6), "tip_acceleration": (6,)},
        "bias forces of the links computed first, with link accelerations, three sweeps, O(n)",
        "independent",
        paper="[F] section VII.C",
        verb="forward",
        method="three-sweeps-links",
        counted=("forward", "bias forces first, with link and tip accelerations"),
    ),
    "forward-two-sweeps": Algorithm(
        "forward.forward_two_sweeps:forward_two_sweeps",
        _STATE,
        {"qdd": VECTOR},
        "bias terms as polynomials of the velocities, two sweeps, O(n)",
        "independent",
        paper="[F] section VII.D, two sweeps",
        verb="forward",
        method="two-sweeps",
        counted=("forward", "two sweeps"),
    ),
    "forward-delayed": Algorithm(
        "forward.forward_dynamics:forward_delayed",
        (*_STATE, "dqd"),
        {"qdd": VECTOR},
        "bias terms of the previous velocities, two sweeps, O(n)",
        "independent",
        paper="[F] section VII.D, two sweeps",
    ),
    "forward-all-bodies": Algorithm(
        "forward.forward_all_bodies:forward_all_bodies",
        _STATE,
        {"qdd": VECTOR},
        "sparse elimination of the accelerations and joint forces of all bodies, O(n)",
        "independent",
        paper="[O] section 3.5, sparse elimination",
        inverts_bodies=True,
        counted=("forward", "all bodies, sparse"),
    ),
    "forward-constraint-forces": Algorithm(
        "forward.forward_constraint_forces:forward_constraint_forces",
        _STATE,
        {"qdd": VECTOR},
        "block-tridiagonal system of the joint forces, O(n)",
        "serial",
        paper="[O] section 3.5, constraint forces",
        inverts_bodies=True,
        counted=("forward", "joint forces, block-tridiagonal"),
    ),
    "forward-conventional": Algorithm(
        "forward.conventional:forward_conventional",
        _STATE,
        {"qdd": VECTOR},
        "mass matrix and elimination, O(n³)",
        verb="forward",
        method="conventional",
        counted=("forward", "mass matrix and elimination"),
    ),
    "mass-matrix": Algorithm(
        "mass_matrix.mass_matrix:mass_matrix",
        ("q",),
        {"mass_matrix": MATRIX},
        "composite bodies, O(n²)",
        paper="[O] (9, 10)",
        counted=("mass-matrix", "composite bodies"),
    ),
    "mass-matrix-inverse": Algorithm(
        "mass_matrix.inverse_mass_matrix:inverse_mass_matrix",
        ("q",),
        {"mass_matrix_inverse": MATRIX},
        "outward recursions for one triangle of the matrix, O(n²)",
        "serial",
        paper="[L] (4.23)",
        counted=("mass-matrix", "inverse by recursion"),
    ),
    "mass-matrix-inverse-tree": Algorithm(
        "mass_matrix.inverse_mass_matrix:inverse_mass_matrix_tree",
        ("q",),
        {"mass_matrix_inverse": MATRIX},
        "outward recursions with branches for one triangle of the matrix, O(n²)",
        "independent",
        paper="[L] (4.23)",
        verb="mass-matrix-inverse",
        counted=("mass-matrix", "inverse by recursion with branches"),
    ),
    "mass-matrix-inverse-columns": Algorithm(
        "mass_matrix.articulated_bodies:inverse_by_factors",
        ("q",),
        {"mass_matrix_inverse": MATRIX},
        "innovations factors applied to unit vectors, O(n²)",
        "independent",
        paper="[F] Identity 6",
        verb="mass-matrix-inverse",
        method="columns",
        counted=("mass-matrix", "inverse by innovations factors"),
    ),
    "mass-matrix-inverse-conventional": Algorithm(
        "forward.conventional:inverse_conventional",
        ("q",),
        {"mass_matrix_inverse": MATRIX},
        "elimination, O(n³)",
        verb="mass-matrix-inverse",
        method="conventional",
        counted=("mass-matrix", "inverse by elimination"),
    ),
    "mass-matrix-factor": Algorithm(
        "mass_matrix.articulated_bodies:innovations_factors",
        ("q",),
        {"factor": MATRIX, "D": VECTOR, "factor_inverse": MATRIX},
        "innovations factors, O(n²)",
        "independent",
        paper="[F] Identity 3",
        counted=("mass-matrix", "innovations factors"),
    ),
    "mass-matrix-derivative": Algorithm(
        "mass_matrix.mass_matrix:mass_matrix_derivative",
        ("q",),
        {"dmass_matrix_dq": (*MATRIX, "joint")},
        "composite bodies, O(n³)",
        paper="[D] Identity 6.3",
        counted=("mass-matrix", "derivative"),
    ),
    "mass-matrix-second-derivative": Algorithm(
        "mass_matrix.mass_matrix_second_derivative:mass_matrix_second_derivative",
        ("q",),
        {"d2mass_matrix_dq2": MATRIX + MATRIX},
        "composite bodies, O(n⁴)",
    ),
    "regressor": Algorithm(
        "inverse.regressor:regressor",
        _MOTION,
        {"regressor": ("joint", "link", REGRESSOR_COLUMNS)},
        "torques for unit parameters of each link, O(n²)",
    ),
    "generalized-momentum": Algorithm(
        "inverse.momentum_observer:generalized_momentum",
        _STATE,
        {"generalized_momentum": VECTOR, "momentum_rate": VECTOR},
        "momentum of composite bodies, O(n)",
    ),
    "momentum-observer": Algorithm(
        "inverse.momentum_observer:momentum_observer",
        (*_STATE, "observer", "observer_decay", "observer_rate"),
        {"tau_external": VECTOR, "observer_next": VECTOR},
        "exponential filter of the momentum balance, O(n)",
    ),
    "momentum-observer-start": Algorithm(
        "inverse.momentum_observer:momentum_observer_start",
        (*_STATE, "observer_decay", "observer_rate"),
        {"observer": VECTOR},
        "state of the momentum observer without external torques, O(n)",
    ),
    "slotine-li-regressor": Algorithm(
        "inverse.regressor:slotine_li_regressor",
        ("q", "qd", "qdr", "qddr"),
        {"regressor": ("joint", "link", REGRESSOR_COLUMNS)},
        "torques for unit parameters of each link, with Christoffel symbols, O(n²)",
    ),
    "spring-regressor": Algorithm(
        "inverse.regressor:spring_regressor",
        ("q",),
        {"spring_regressor": ("joint", "link", SPRING_COLUMNS)},
        "torques for a unit spring at each joint, O(n)",
        of_springs=True,
    ),
    "geometry-derivative": Algorithm(
        "inverse.geometry_derivative:geometry_derivative",
        _MOTION,
        {"dtau_dgeometry": ("joint", "link", GEOMETRY_COLUMNS)},
        "linearized inverse dynamics with virtual joints, O(n²)",
        paper="[L] section 1, sensitivity",
    ),
    "coriolis-matrix": Algorithm(
        "mass_matrix.mass_matrix:coriolis_matrix",
        ("q", "qd"),
        {"coriolis_matrix": MATRIX},
        "composite bodies and their gyroscopic matrices, O(n²)",
        paper="[L] Algorithm 2",
        counted=("mass-matrix", "Coriolis matrix"),
    ),
    "linearize-inverse": Algorithm(
        "inverse.linearize_inverse:linearize_inverse",
        _MOTION,
        {"mass_matrix": MATRIX, "dtau_dqd": MATRIX, "dtau_dq": MATRIX},
        "Algorithm 2, O(n²)",
        paper="[L] Algorithm 2",
        counted=("linearize-inverse", "Algorithm 2"),
    ),
    "perturb-inverse": Algorithm(
        "inverse.linearize_inverse:perturb_inverse",
        (*_MOTION, "dq", "dqd", "dqdd"),
        {"dtau": VECTOR},
        "Algorithm 1, O(n)",
        paper="[L] Algorithm 1",
        counted=("linearize-inverse", "Algorithm 1"),
    ),
    "linearize-forward": Algorithm(
        "forward.linearize_forward:linearize_forward",
        _STATE,
        _MODEL,
        "Algorithm 6, O(n²)",
        "serial",
        paper="[L] Algorithm 6",
        counted=("linearize-forward", "Algorithm 6"),
    ),
    "linearize-forward-tree": Algorithm(
        "forward.linearize_forward_tree:linearize_forward_tree",
        _STATE,
        _MODEL,
        "Algorithm 6 with branches, O(n²)",
        "independent",
        paper="[L] Algorithm 6",
        verb="linearize-forward",
        counted=("linearize-forward", "Algorithm 6 with branches"),
    ),
    "linearize-forward-columns": Algorithm(
        "forward.linearize_forward_columns:linearize_forward_columns",
        _STATE,
        _MODEL,
        "Algorithm 5 applied to unit vectors, O(n²)",
        "independent",
        paper="[L] Algorithm 5",
        verb="linearize-forward",
        method="columns",
        counted=("linearize-forward", "Algorithm 5 by columns"),
    ),
    "linearize-forward-conventional": Algorithm(
        "forward.conventional:linearize_forward_conventional",
        _STATE,
        _MODEL,
        "Algorithm 4, O(n³)",
        paper="[L] Algorithm 4",
        verb="linearize-forward",
        method="conventional",
        counted=("linearize-forward", "Algorithm 4"),
    ),
    "perturb-forward": Algorithm(
        "forward.perturb_forward:perturb_forward",
        (*_MOTION, "dq", "dqd", "dtau"),
        {"dqdd": VECTOR},
        "Algorithm 5b, O(n)",
        "independent",
        paper="[L] Algorithm 5",
        counted=("linearize-forward", "Algorithm 5b"),
    ),
    "perturb-forward-articulated": Algorithm(
        "forward.perturb_forward:perturb_forward_articulated",
        (*_MOTION, "dq", "dqd", "dtau"),
        {"dqdd": VECTOR},
        "Algorithm 5, O(n)",
        "independent",
        paper="[L] Algorithm 5",
        verb="perturb-forward",
        method="articulated",
        counted=("linearize-forward", "Algorithm 5"),
    ),
    "perturb-forward-conventional": Algorithm(
        "forward.perturb_forward:perturb_forward_conventional",
        (*_MOTION, "dq", "dqd", "dtau"),
        {"dqdd": VECTOR},
        "Algorithm 3, O(n³)",
        paper="[L] Algorithm 3",
        verb="perturb-forward",
        method="conventional",
        counted=("linearize-forward", "Algorithm 3"),
    ),
    "forward-prescribed": Algorithm(
        "forward.forward_prescribed:forward_prescribed",
        (*_STATE, "qdd", "prescribed"),
        {"qdd": VECTOR, "tau": VECTOR},
        "bias torques computed first, prescribed joints locked, O(n)",
        "independent",
        paper="[O] section 3.1, moving base",
    ),
    "linearize-forward-prescribed": Algorithm(
        "forward.forward_prescribed:linearize_forward_prescribed",
        (*_STATE, "qdd", "prescribed"),
        {**_MODEL, "tau": VECTOR, "dqdd_dprescribed": MATRIX},
        "Algorithm 2 and articulated bodies, prescribed joints locked, O(n²)",
        "independent",
        paper="[O] section 3.1, moving base",
    ),
    "diagonalize": Algorithm(
        "diagonal.diagonalize:diagonalize",
        _STATE,
        {"nu": VECTOR, "epsilon": VECTOR, "coriolis": VECTOR, "m": MATRIX, "D": VECTOR},
        "Tables 1 and 2, Algorithms 6.1 and 7.1, O(n²) for m",
        "independent",
        paper="[D] Algorithm 7.1",
        counted=("diagonalize", "Tables 1 and 2, Algorithm 7.1"),
    ),
    "diagonalize-unnormalized": Algorithm(
        "diagonal.diagonalize:diagonalize_unnormalized",
        _STATE,
        {"xi": VECTOR, "kappa": VECTOR, "coriolis": VECTOR, "factor": MATRIX, "D": VECTOR},
        "Tables 1 and 2 without square roots, Algorithm 6.1 and recursion 7.10",
        "independent",
        paper="[D] recursion (7.10)",
        counted=("diagonalize", "un-normalized, recursion 7.10"),
    ),
    "undiagonalize": Algorithm(
        "diagonal.diagonalize:undiagonalize",
        ("q", "nu", "epsilon"),
        {"qd": VECTOR, "tau": VECTOR},
        "inverse of Tables 1 and 2, O(n)",
        "independent",
        paper="[D] Table 1",
        counted=("diagonalize", "inverse transformation"),
    ),
    "undiagonalize-unnormalized": Algorithm(
        "diagonal.diagonalize:undiagonalize_unnormalized",
        ("q", "xi", "kappa"),
        {"qd": VECTOR, "tau": VECTOR},
        "inverse of Tables 1 and 2 without square roots, O(n)",
        "independent",
        paper="[D] Table 1",
    ),
    "forward-diagonalized": Algorithm(
        "diagonal.forward_diagonalized:forward_diagonalized",
        ("q", "nu", "tau"),
        {"qd": VECTOR, "nud": VECTOR},
        "Algorithm 8.1 with square roots, in general form, O(n)",
        "independent",
        paper="[D] Algorithm 8.1",
    ),
    "forward-diagonalized-unnormalized": Algorithm(
        "diagonal.forward_diagonalized:forward_diagonalized_unnormalized",
        ("q", "xi", "tau"),
        {"qd": VECTOR, "xid": VECTOR},
        "Algorithm 8.1 in general form, O(n)",
        "independent",
        paper="[D] Algorithm 8.1",
    ),
    "rate-control": Algorithm(
        "diagonal.forward_diagonalized:rate_control",
        ("q", "qd", "gain"),
        {"tau": VECTOR, "nu": VECTOR},
        "Control 8.1 by Tables 1 and 2, O(n)",
        "independent",
        paper="[D] Control 8.1",
    ),
    "inverse-from-rest": Algorithm(
        "diagonal.forward_diagonalized:inverse_from_rest",
        _MOTION,
        {"tau": VECTOR},
        "Newton–Euler without Coriolis forces, O(n)",
        paper="[D] Control 8.1",
    ),
    "jacobian": Algorithm(
        "frames.frame_motion:jacobian",
        ("q", "qd"),
        {
            "jacobian": (6, "joint"),
            "jacobian_rate_qd": (6,),
            "twist": (6,),
            "position": (3,),
            "rotation": (3, 3),
        },
        "columns of φ*H*, O(n)",
        paper="[F] (18–20)",
        kinematic=True,
        of_frame=True,
        counted=("jacobian", "Jacobian"),
    ),
    "frame-motion": Algorithm(
        "frames.frame_motion:frame_motion",
        _MOTION,
        {
            "twist": (6,),
            "spatial_acceleration": (6,),
            "classical_acceleration": (6,),
            "position": (3,),
            "rotation": (3, 3),
        },
        "kinematics, O(n)",
        kinematic=True,
        of_frame=True,
        counted=("jacobian", "motion of the frame"),
    ),
    "frame-derivatives": Algorithm(
        "frames.frame_derivatives:frame_derivatives",
        _MOTION,
        dict.fromkeys(
            (
                "dtwist_dq",
                "dclassical_acceleration_dqd",
                "dclassical_acceleration_dq",
                "dspatial_velocity_dq",
                "dspatial_acceleration_dqd",
                "dspatial_acceleration_dq",
            ),
            (6, "joint"),
        ),
        "kinematics and its linearization, O(n)",
        kinematic=True,
        of_frame=True,
        counted=("jacobian", "derivatives of the frame motion"),
    ),
    "link-accelerations": Algorithm(
        "frames.frame_motion:link_accelerations",
        _MOTION,
        {"link_acceleration": ("link", 6), "link_classical_acceleration": ("link", 6)},
        "kinematics, O(n)",
        kinematic=True,
    ),
    "tip-acceleration": Algorithm(
        "frames.frame_motion:tip_acceleration",
        _MOTION,
        {"tip_acceleration": (6,), "tip_classical_acceleration": (6,)},
        "kinematics, O(n)",
        kinematic=True,
        of_frame=True,
    ),
    "operational-space": Algorithm(
        "frames.operational_space:operational_space",
        _STATE,
        {**_OPERATIONAL, "operational_inertia": (6, 6), "bias_wrench": (6,)},
        "recursion for ψ*H*D⁻¹Hψ, then elimination of a 6x6 matrix, O(n)",
        "spanning",
        paper="[L] Lemma 4.8",
        of_frame=True,
        counted=("jacobian", "operational space"),
    ),
    "operational-space-inverse": Algorithm(
        "frames.operational_space:operational_space_inverse",
        _STATE,
        _OPERATIONAL,
        "recursion for ψ*H*D⁻¹Hψ, O(n)",
        "independent",
        paper="[L] Lemma 4.8",
        of_frame=True,
        counted=("jacobian", "operational space, inverse only"),
    ),
    "energy": Algorithm(
        "links.energy_and_momentum:energy",
        ("q", "qd"),
        {"kinetic_energy": NUMBER, "potential_energy": NUMBER},
        "sums over the links, O(n)",
    ),
    "momentum": Algorithm(
        "links.energy_and_momentum:momentum",
        ("q", "qd"),
        {
            "mass": NUMBER,
            "com": (3,),
            "com_velocity": (3,),
            "com_jacobian": (3, "joint"),
            "com_jacobian_rate_qd": (3,),
            "momentum": (6,),
            "momentum_matrix": (6, "joint"),
            "momentum_matrix_rate_qd": (6,),
        },
        "composite bodies, O(n)",
        kinematic=True,
    ),
    "closures": Algorithm(
        "loops.closures:closures",
        ("q", "qd"),
        {
            **_GAPS,
            "closure_velocity": _ROWS,
            "closure_jacobian_rate_qd": _ROWS,
            "closure_jacobian": _ROWS_BY_JOINTS,
        },
        "differences between the motions of two frames, O(n)",
        "closed",
    ),
    "linearize-closures": Algorithm(
        "loops.linearize_closures:linearize_closures",
        _MOTION,
        {
            "dclosure_velocity_dq": _ROWS_BY_JOINTS,
            "dclosure_acceleration_dqd": _ROWS_BY_JOINTS,
            "dclosure_acceleration_dq": _ROWS_BY_JOINTS,
            "dclosure_jacobian_dq": ("closure", "joint", "joint"),
        },
        "differences between the motion derivatives of two frames, O(n²)",
        "closed",
    ),
    "forward-closed": Algorithm(
        "loops.forward_closed:forward_closed",
        _STATE,
        {"qdd": VECTOR, "lam": _ROWS, "kept": _ROWS, **_GAPS, "closure_velocity": _ROWS},
        "motion in the null space of the constraints computed first, O(n³)",
        "closed",
    ),
    "forward-closed-recursive": Algorithm(
        "loops.forward_closed_recursive:forward_closed_recursive",
        _STATE,
        {"qdd": VECTOR, "lam": _ROWS},
        "constraint forces computed first, by recursions, O(n)",
        "closed",
        paper="[O] (21), method 2",
        independent=True,
    ),
    "closing-step": Algorithm(
        "loops.independent_rows:closing_step",
        ("q", "qd"),
        {"dq": VECTOR, "dqd": VECTOR, **_GAPS},
        "minimum-norm step by Gram–Schmidt, O(n)",
        "closed",
    ),
    "power": Algorithm(
        "links.energy_and_momentum:power",
        _STATE,
        {"power": NUMBER},
        "sums over joints and loads, O(n)",
    ),
    "gradient-inverse": Algorithm(
        "inverse.gradient_inverse:gradient_inverse",
        (*_MOTION, "tau_weights"),
        _GRADIENT_OF_MOTION,
        "adjoint sweeps, O(n)",
        counted=("linearize-inverse", "adjoint sweeps"),
    ),
    "hessian-inverse": Algorithm(
        "inverse.gradient_inverse:hessian_inverse",
        (*_MOTION, "tau_weights", "dq", "dqd", "dqdd"),
        {f"d{name}": shape for name, shape in _GRADIENT_OF_MOTION.items()},
        "derivatives of the adjoint sweeps, O(n)",
    ),
    "gradient-forward": Algorithm(
        "forward.gradient_forward:gradient_forward",
        (*_MOTION, "qdd_weights"),
        _GRADIENT_OF_STATE,
        "articulated bodies and adjoint sweeps, O(n)",
        "independent",
        counted=("linearize-forward", "adjoint sweeps"),
    ),
    "gradient-forward-conventional": Algorithm(
        "forward.gradient_forward:gradient_forward_conventional",
        (*_MOTION, "qdd_weights"),
        _GRADIENT_OF_STATE,
        "elimination and adjoint sweeps, O(n³)",
        verb="gradient-forward",
        method="conventional",
    ),
    "hessian-forward": Algorithm(
        "forward.gradient_forward:hessian_forward",
        (*_MOTION, "qdd_weights", "dq", "dqd", "dtau"),
        {f"d{name}": shape for name, shape in _GRADIENT_OF_STATE.items()},
        "articulated bodies and derivatives of the adjoint sweeps, O(n)",
        "independent",
    ),
    "hessian-forward-conventional": Algorithm(
        "forward.gradient_forward:hessian_forward_conventional",
        (*_MOTION, "qdd_weights", "dq", "dqd", "dtau"),
        {f"d{name}": shape for name, shape in _GRADIENT_OF_STATE.items()},
        "elimination and derivatives of the adjoint sweeps, O(n³)",
        verb="hessian-forward",
        method="conventional",
    ),
}

_DIAGONAL = "diagonal.diagonalize_conventional"
_FORWARD = "diagonal.forward_diagonalized_conventional"
_PRESCRIBED = "forward.forward_prescribed"
_OPERATIONAL_SPACE = "frames.operational_space"

# what recursions answer on independent joints, by elimination: the function, its title, and what
# `count` calls it where it does
_BY_ELIMINATION: Mapping[str, tuple[str, str] | tuple[str, str, str]] = {
    "mass-matrix-factor": (
        "forward.conventional:factors_conventional",
        "factorization of the mass matrix, O(n³)",
        "factors by elimination",
    ),
    "diagonalize": (
        f"{_DIAGONAL}:diagonalize_conventional",
        "factorization of the mass matrix, C from ∂𝓜/∂q, O(n³)",
        "elimination and ∂𝓜/∂q",
    ),
    "diagonalize-unnormalized": (
        f"{_DIAGONAL}:diagonalize_unnormalized_conventional",
        "factorization of the mass matrix without square roots, C from ∂𝓜/∂q, O(n³)",
    ),
    "undiagonalize": (
        f"{_DIAGONAL}:undiagonalize_conventional",
        "inverse transformation by factorization of the mass matrix, O(n³)",
        "inverse transformation by elimination",
    ),
    "undiagonalize-unnormalized": (
        f"{_DIAGONAL}:undiagonalize_unnormalized_conventional",
        "inverse transformation by factorization of the mass matrix without square roots, O(n³)",
    ),
    "forward-diagonalized": (
        f"{_FORWARD}:forward_diagonalized_conventional",
        "factorization of the mass matrix, C from ∂𝓜/∂q, with square roots, O(n³)",
    ),
    "forward-diagonalized-unnormalized": (
        f"{_FORWARD}:forward_diagonalized_unnormalized_conventional",
        "factorization of the mass matrix, C from ∂𝓜/∂q, without square roots, O(n³)",
    ),
    "rate-control": (
        f"{_FORWARD}:rate_control_conventional",
        "rate control by factorization of the mass matrix, O(n³)",
    ),
    "forward-prescribed": (
        f"{_PRESCRIBED}:forward_prescribed_conventional",
        "mass matrix and elimination, prescribed joints removed, O(n³)",
    ),
    "linearize-forward-prescribed": (
        f"{_PRESCRIBED}:linearize_forward_prescribed_conventional",
        "linearized inverse dynamics and elimination, prescribed joints removed, O(n³)",
    ),
    "operational-space": (
        f"{_OPERATIONAL_SPACE}:operational_space_conventional",
        "J 𝓜⁻¹ J* by elimination, then its inverse by elimination, O(n³)",
        "operational space by elimination",
    ),
    "operational-space-inverse": (
        f"{_OPERATIONAL_SPACE}:operational_space_inverse_conventional",
        "J 𝓜⁻¹ J* by elimination, O(n³)",
    ),
}


def _eliminations(recursions: Mapping[str, Algorithm]) -> dict[str, Algorithm]:
    """Entries like those of recursions, which hold on every arm."""
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
        for verb, (function, title, *called) in _BY_ELIMINATION.items()
    }


def _counted(recursion: Algorithm, called: str = "") -> tuple[str, str] | None:
    return (recursion.counted[0], called) if recursion.counted and called else None


ALGORITHMS: Mapping[str, Algorithm] = {
    **_BY_NAME,
    **_eliminations(_BY_NAME),
    # the gradients of forward dynamics, with its accelerations: for independent joints only
    "gradient-forward-of-torques": Algorithm(
        "forward.gradient_forward:gradient_forward_of_torques",
        (*_STATE, "qdd_weights"),
        _GRADIENT_OF_STATE,
        "articulated bodies and adjoint sweeps, O(n)",
        "independent",
    ),
    "hessian-forward-of-torques": Algorithm(
        "forward.gradient_forward:hessian_forward_of_torques",
        (*_STATE, "qdd_weights", "dq", "dqd", "dtau"),
        {f"d{name}": shape for name, shape in _GRADIENT_OF_STATE.items()},
        "articulated bodies and derivatives of the adjoint sweeps, O(n)",
        "independent",
    ),
}


def algorithms_by_method(verb: str) -> dict[str, list[str]]:
    """The names of all algorithms that compute a quantity, by method and in order of preference."""
    names: dict[str, list[str]] = {}
    for name, algorithm in ALGORITHMS.items():
        if (algorithm.verb or name) == verb:
            names.setdefault(algorithm.method, []).append(name)
    # the name of an algorithm selects that algorithm
    return names or {"operator": [verb]}


def counted_verbs() -> list[str]:
    """The verbs with a reported cost, in the order of their algorithms."""
    return list(dict.fromkeys(each.counted[0] for each in ALGORITHMS.values() if each.counted))
