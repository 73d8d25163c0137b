"""Table of all named quantities: unit, symbol, axes and column name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """Unit, symbol and axes of a named quantity.

    parts:  parts of its unit: the numerator, then the denominators
    symbol: mathematical notation
    axes:   what each axis counts: 'joint', 'link', …, or its length
    column: the word after the joint in column names of a vector, as in `elbow/effort`
    """

    parts: tuple[str, ...]
    symbol: str
    axes: tuple[str | int, ...] = ()
    column: str | None = None


_N, _NN, _6N = ("joint",), ("joint", "joint"), (6, "joint")
_MN = ("closure", "joint")
_X, _U, _Y, _RATE = "model state", "model input", "model output", "model rate"
_VEL, _ACC = "spatial velocity", "spatial acceleration"
_CURVED = ("effort", "acceleration", "position", "position")

QUANTITIES: Mapping[str, Quantity] = {
    "time": Quantity(("time",), "t"),
    "q": Quantity(("position",), "q", _N, "position"),
    "qd": Quantity(("velocity",), "q̇", _N, "velocity"),
    "qdd": Quantity(("acceleration",), "q̈", _N, "acceleration"),
    "tau": Quantity(("effort",), "τ", _N, "effort"),
    "dq": Quantity(("position",), "δq", _N),
    "dqd": Quantity(("velocity",), "δq̇", _N),
    "dqdd": Quantity(("acceleration",), "δq̈", _N),
    "dtau": Quantity(("effort",), "δτ", _N),
    "mass_matrix": Quantity(("effort", "acceleration"), "𝓜", _NN),
    "mass_matrix_inverse": Quantity(("acceleration", "effort"), "𝓜⁻¹", _NN),
    "dmass_matrix_dq": Quantity(_CURVED[:3], "∂𝓜(i,j)/∂q(k)", (*_NN, "joint")),
    "d2mass_matrix_dq2": Quantity(_CURVED, "∂²𝓜(i,j)/∂q(k)∂q(l)", _NN + _NN),
    "riemann": Quantity(_CURVED, "R(h,i,j,k)", ("symbol",)),
    "curvature": Quantity(("number", "position", "position"), "beside the largest entry of 𝓜"),
    "coriolis_matrix": Quantity(("effort", "velocity"), "½ A_D", _NN),
    "dtau_dqdd": Quantity(("effort", "acceleration"), "𝓜", _NN),
    "dtau_dqd": Quantity(("effort", "velocity"), "A_D", _NN),
    "dtau_dq": Quantity(("effort", "position"), "B_D", _NN),
    "dqdd_dtau": Quantity(("acceleration", "effort"), "𝓜⁻¹", _NN),
    "dqdd_dqd": Quantity(("acceleration", "velocity"), "−A_C", _NN),
    "dqdd_dq": Quantity(("acceleration", "position"), "−B_C", _NN),
    "dqdd_dprescribed": Quantity(("acceleration", "acceleration"), "∂q̈/∂q̈₀", _NN),
    "factor": Quantity(("position", "position"), "I + HφK", _NN),
    "factor_inverse": Quantity(("position", "position"), "I − HψK", _NN),
    "D": Quantity(("effort", "acceleration"), "D", _N),
    "m": Quantity(("root energy", "velocity"), "m", _NN),
    "ell": Quantity(("velocity", "root energy"), "m⁻¹", _NN),
    "nu": Quantity(("root energy",), "ν", _N),
    "epsilon": Quantity(("root energy rate",), "ε", _N),
    "coriolis": Quantity(("root energy rate",), "C(q, ν)", _N),
    "xi": Quantity(("velocity",), "ξ", _N),
    "kappa": Quantity(("effort",), "κ", _N),
    "coriolis_unnormalized": Quantity(("effort",), "C(q, ξ)", _N),
    "xid": Quantity(("acceleration",), "ξ̇", _N),
    "nud": Quantity(("root energy rate",), "ν̇", _N),
    "kinetic_energy": Quantity(("energy",), "½ q̇*𝓜q̇"),
    "potential_energy": Quantity(("energy",), "−Σ m g·c"),
    "power": Quantity(("power",), "q̇*(τ − losses) − Σ V*f0"),
    "work": Quantity(("energy",), "its integral over time"),
    "energy_error": Quantity(("energy",), "less their beginning and the work"),
    "lyapunov": Quantity(("energy",), "½ ν*ν"),
    "position_error": Quantity(("length",), "distance"),
    "orientation_error": Quantity(("angle",), "angle"),
    "initial": Quantity(("number",), "which start"),
    "position": Quantity(("length",), "r", (3,)),
    "rotation": Quantity(("number",), "R", (3, 3)),
    "twist": Quantity((_VEL,), "[w; v]", (6,)),
    "jacobian": Quantity((_VEL, "velocity"), "J", _6N),
    "jacobian_rate_qd": Quantity((_ACC,), "J̇ q̇", (6,)),
    "spatial_acceleration": Quantity((_ACC,), "[ẇ; a]", (6,)),
    "classical_acceleration": Quantity((_ACC,), "[ẇ; r̈]", (6,)),
    "tip_acceleration": Quantity((_ACC,), "the same", (6,)),
    "tip_classical_acceleration": Quantity((_ACC,), "the same", (6,)),
    "link_acceleration": Quantity((_ACC,), "the same", ("link", 6)),
    "link_classical_acceleration": Quantity((_ACC,), "the same", ("link", 6)),
    "free_acceleration": Quantity((_ACC,), "a₀", (6,)),
    "dtwist_dq": Quantity((_VEL, "position"), "∂[w; v]/∂q", _6N),
    "dclassical_acceleration_dqd": Quantity((_ACC, "velocity"), "∂[ẇ; r̈]/∂q̇", _6N),
    "dclassical_acceleration_dq": Quantity((_ACC, "position"), "∂[ẇ; r̈]/∂q", _6N),
    "dspatial_velocity_dq": Quantity((_VEL, "position"), "∂V/∂q", _6N),
    "dspatial_acceleration_dqd": Quantity((_ACC, "velocity"), "∂a/∂q̇", _6N),
    "dspatial_acceleration_dq": Quantity((_ACC, "position"), "∂a/∂q", _6N),
    "operational_inertia": Quantity(("spatial effort", _ACC), "Λ", (6, 6)),
    "operational_inertia_inverse": Quantity((_ACC, "spatial effort"), "Λ⁻¹", (6, 6)),
    "bias_wrench": Quantity(("spatial effort",), "μ", (6,)),
    "mass": Quantity(("mass",), "m"),
    "com": Quantity(("length",), "c", (3,)),
    "com_velocity": Quantity(("speed",), "ċ", (3,)),
    "com_jacobian": Quantity(("speed", "velocity"), "J_c", (3, "joint")),
    "com_jacobian_rate_qd": Quantity(("point acceleration",), "J̇_c q̇", (3,)),
    "momentum": Quantity(("spatial momentum",), "h", (6,)),
    "momentum_matrix": Quantity(("spatial momentum", "velocity"), "A", _6N),
    "momentum_matrix_rate_qd": Quantity(("spatial effort",), "Ȧ q̇", (6,)),
    "regressor": Quantity(("effort", "parameter"), "Y", ("joint", "parameter")),
    "spring_regressor": Quantity(("effort", "parameter"), "Y", ("joint", "parameter")),
    "parameters": Quantity(("parameter",), "π", ("parameter",)),
    "share": Quantity(("number",), "share", ("parameter",)),
    "dx_dx0": Quantity(("state", "state"), "∂x(t)/∂x(0)", ("state", "state")),
    "dx_dtau": Quantity(("state", "effort"), "∂x(t)/∂τ", ("state", "joint")),
    "dx_dparameters": Quantity(("state", "parameter"), "∂x(t)/∂π", ("state", "parameter")),
    "dtau_dgeometry": Quantity(("effort", "parameter"), "∂τ/∂g", ("joint", "parameter")),
    "dcost_dq": Quantity(("number", "position"), "∂J/∂q", _N),
    "dcost_dqd": Quantity(("number", "velocity"), "∂J/∂q̇", _N),
    "dcost_dtau": Quantity(("number", "effort"), "∂J/∂τ", _N),
    "dcost_dparameters": Quantity(("number", "parameter"), "∂J/∂π", ("parameter",)),
    "lam": Quantity(("closure effort",), "λ", ("closure",)),
    "dlam_dtau": Quantity(("closure effort", "effort"), "λ", _MN),
    "dlam_dqd": Quantity(("closure effort", "velocity"), "λ", _MN),
    "dlam_dq": Quantity(("closure effort", "position"), "λ", _MN),
    "closure_gap": Quantity(("spatial position",), "φ", ("closure",)),
    "closure_turn": Quantity(("number",), "R₁ R₂*", ("closure", 3)),
    "closure_velocity": Quantity((_VEL,), "L q̇", ("closure",)),
    "closure_jacobian": Quantity((_VEL, "velocity"), "L", _MN),
    "closure_jacobian_rate_qd": Quantity((_ACC,), "L̇ q̇", ("closure",)),
    "dclosure_velocity_dq": Quantity((_VEL, "position"), "∂(L q̇)/∂q", _MN),
    "dclosure_jacobian_dq": Quantity((_VEL, "velocity", "position"), "∂L/∂q", (*_MN, "joint")),
    "dclosure_acceleration_dq": Quantity((_ACC, "position"), "∂(L q̈ + L̇ q̇)/∂q", _MN),
    "dclosure_acceleration_dqd": Quantity((_ACC, "velocity"), "∂/∂q̇", _MN),
    "rank": Quantity(("number",), "how many"),
    "kept": Quantity(("number",), "which", ("closure",)),
    # of linear models, whose names of states, inputs and outputs have units of their own
    "A": Quantity((_RATE, _X), "A", ("model state", "model state")),
    "B": Quantity((_RATE, _U), "B", ("model state", "input")),
    "C": Quantity((_Y, _X), "C", ("output", "model state")),
    # its array is called D, as the articulated inertia above is
    "feedthrough": Quantity((_Y, _U), "D", ("output", "input")),
    "drift": Quantity((_RATE,), "ẋ₀", ("model state",)),
    "y": Quantity((_Y,), "y₀", ("output",)),
    "basis": Quantity(("number",), "N, δq = N z", ("joint", "motion")),
    "K": Quantity((_U, _X), "K", ("input", "model state")),
    "P": Quantity(("number", _X, _X), "P", ("model state", "model state")),
    "Q": Quantity(("number", _X, _X), "Q", ("model state", "model state")),
    "R": Quantity(("number", _U, _U), "R", ("input", "input")),
    "residual": Quantity(("number",), "what is left of the Riccati equation"),
    "cost_to_go": Quantity(("number",), "xᵀPx"),
    "poles": Quantity(("pole",), "λ", ("mode",)),
    "frequency": Quantity(("angle", "time"), "abs λ", ("mode",)),
    "damping": Quantity(("number",), "−Re λ / abs λ", ("mode",)),
    "decay": Quantity(("rate",), "−Re λ", ("mode",)),
    "stability": Quantity(("number",), "1, 0 or −1", ("mode",)),
    "mode_shape": Quantity(("number",), "how much each joint moves", ("mode", "joint")),
    "controllability_distance": Quantity(("number",), "σ(λ − A, B)", ("mode",)),
    "observability_distance": Quantity(("number",), "σ(λ − A; C)", ("mode",)),
    "controllability_dimension": Quantity(("number",), "how many states"),
    "observability_dimension": Quantity(("number",), "how many states"),
    "omega": Quantity(("angle", "time"), "ω"),
    "frequency_response": Quantity((_Y, _U), "C(jω − A)⁻¹B + D", ("output", "input")),
    "step_response": Quantity((_Y, _U), "after a step", ("output", "input")),
    "impulse_response": Quantity((_Y, _U), "after an impulse", ("output", "input")),
}

# column words of vectors over joints: files name their columns `<joint>/<word>`
COLUMN_WORDS = {name: each.column for name, each in QUANTITIES.items() if each.column}


def column_name(quantity: str, joint: str) -> str:
    """Name of the file column with this quantity of a joint."""
    return f"{joint}/{COLUMN_WORDS[quantity]}"
