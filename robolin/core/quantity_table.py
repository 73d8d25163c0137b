"""Table of all named quantities: unit, symbol, axes and column name; and units in texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from robolin.core.records import dataclass
from robolin.errors import UsageError


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
    "tau_measured": Quantity(("effort",), "τ_m", _N),
    "tau_residual": Quantity(("effort",), "τ_m − τ", _N),
    "tau_external": Quantity(("effort",), "τ_e", _N),
    "contact": Quantity(("number",), "1 if τ_e of a joint exceeds its threshold"),
    "generalized_momentum": Quantity(("momentum",), "𝓜 q̇", _N),
    "momentum_rate": Quantity(("effort",), "β", _N),
    **dict.fromkeys(("observer", "observer_next"), Quantity(("effort",), "s", _N)),
    "observer_decay": Quantity(("number",), "a", _N),
    "observer_rate": Quantity(("rate",), "1/h", _N),
    "qdr": Quantity(("velocity",), "q̇ᵣ", _N),
    "qddr": Quantity(("acceleration",), "q̈ᵣ", _N),
    "dq": Quantity(("position",), "δq", _N),
    "dqd": Quantity(("velocity",), "δq̇", _N),
    "dqdd": Quantity(("acceleration",), "δq̈", _N),
    "dtau": Quantity(("effort",), "δτ", _N),
    "tau_weights": Quantity(("number", "effort"), "λ", _N),
    "qdd_weights": Quantity(("number", "acceleration"), "λ", _N),
    "gradient_q": Quantity(("number", "position"), "∂(λ*f)/∂q", _N),
    "gradient_qd": Quantity(("number", "velocity"), "∂(λ*f)/∂q̇", _N),
    "gradient_qdd": Quantity(("number", "acceleration"), "∂(λ*τ)/∂q̈", _N),
    "gradient_tau": Quantity(("number", "effort"), "∂(λ*q̈)/∂τ", _N),
    "dgradient_q": Quantity(("number", "position"), "δ ∂(λ*f)/∂q", _N),
    "dgradient_qd": Quantity(("number", "velocity"), "δ ∂(λ*f)/∂q̇", _N),
    "dgradient_qdd": Quantity(("number", "acceleration"), "δ ∂(λ*τ)/∂q̈", _N),
    "dgradient_tau": Quantity(("number", "effort"), "δ ∂(λ*q̈)/∂τ", _N),
    "mass_matrix": Quantity(("effort", "acceleration"), "𝓜", _NN),
    "mass_matrix_inverse": Quantity(("acceleration", "effort"), "𝓜⁻¹", _NN),
    "dmass_matrix_dq": Quantity(_CURVED[:3], "∂𝓜(i,j)/∂q(k)", (*_NN, "joint")),
    "d2mass_matrix_dq2": Quantity(_CURVED, "∂²𝓜(i,j)/∂q(k)∂q(l)", _NN + _NN),
    "riemann": Quantity(_CURVED, "R(h,i,j,k)", ("symbol",)),
    "curvature": Quantity(("number", "position", "position"), "relative to the largest entry of 𝓜"),
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
    "power": Quantity(("power",), "q̇*(τ − damping − friction) − Σ V*f0"),
    "work": Quantity(("energy",), "integral of the power over time"),
    "energy_error": Quantity(("energy",), "minus the work"),
    "lyapunov": Quantity(("energy",), "½ ν*ν"),
    "position_error": Quantity(("length",), "distance"),
    "orientation_error": Quantity(("angle",), "angle"),
    "initial": Quantity(("number",), "index of the initial state"),
    "position": Quantity(("length",), "r", (3,)),
    "rotation": Quantity(("number",), "R", (3, 3)),
    "twist": Quantity((_VEL,), "[w; v]", (6,)),
    "jacobian": Quantity((_VEL, "velocity"), "J", _6N),
    "jacobian_rate_qd": Quantity((_ACC,), "J̇ q̇", (6,)),
    "spatial_acceleration": Quantity((_ACC,), "[ẇ; a]", (6,)),
    "classical_acceleration": Quantity((_ACC,), "[ẇ; r̈]", (6,)),
    "tip_acceleration": Quantity((_ACC,), "[ẇ; a]", (6,)),
    "tip_classical_acceleration": Quantity((_ACC,), "[ẇ; r̈]", (6,)),
    "link_acceleration": Quantity((_ACC,), "[ẇ; a]", ("link", 6)),
    "link_classical_acceleration": Quantity((_ACC,), "[ẇ; r̈]", ("link", 6)),
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
    "share": Quantity(("number",), "identifiable fraction", ("parameter",)),
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
    "dclosure_acceleration_dqd": Quantity((_ACC, "velocity"), "∂(L q̈ + L̇ q̇)/∂q̇", _MN),
    "rank": Quantity(("number",), "number"),
    "kept": Quantity(("number",), "1 or 0", ("closure",)),
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
    "residual": Quantity(
        ("number",), "residual of the Riccati equation, relative to its largest term"
    ),
    "cost_to_go": Quantity(("number",), "xᵀPx"),
    "poles": Quantity(("pole",), "λ", ("mode",)),
    "frequency": Quantity(("angle", "time"), "abs λ", ("mode",)),
    "damping": Quantity(("number",), "−Re λ / abs λ", ("mode",)),
    "decay": Quantity(("rate",), "−Re λ", ("mode",)),
    "stability": Quantity(("number",), "1, 0 or −1", ("mode",)),
    "mode_shape": Quantity(("number",), "amplitude of each joint", ("mode", "joint")),
    "controllability_distance": Quantity(("number",), "σ(λ − A, B)", ("mode",)),
    "observability_distance": Quantity(("number",), "σ(λ − A; C)", ("mode",)),
    "controllability_dimension": Quantity(
        ("number",), "number of controllable or observable states"
    ),
    "observability_dimension": Quantity(("number",), "number of controllable or observable states"),
    "omega": Quantity(("angle", "time"), "ω"),
    "frequency_response": Quantity((_Y, _U), "C(jω − A)⁻¹B + D", ("output", "input")),
    "step_response": Quantity((_Y, _U), "response to a step", ("output", "input")),
    "impulse_response": Quantity((_Y, _U), "response to an impulse", ("output", "input")),
}

# column words of vectors over joints: files name their columns `<joint>/<word>`
COLUMN_WORDS = {name: each.column for name, each in QUANTITIES.items() if each.column}


def column_name(quantity: str, joint: str) -> str:
    """Name of the file column with this quantity of a joint."""
    return f"{joint}/{COLUMN_WORDS[quantity]}"


OR, PER = " or ", " per "

# exponents of the base factors of each part
BASE: dict[str, dict[str, int]] = {
    "position": {"position": 1},
    "velocity": {"position": 1, "s": -1},
    "acceleration": {"position": 1, "s": -2},
    "effort": {"effort": 1},
    "root energy": {"√J": 1},
    "root energy rate": {"√J": 1, "s": -1},
    "energy": {"J": 1},
    "power": {"W": 1},
    "number": {},
    "length": {"m": 1},
    "angle": {"rad": 1},
    "time": {"s": 1},
    "rate": {"s": -1},
    "pole": {"s": -1},
    "mass": {"kg": 1},
    "speed": {"m": 1, "s": -1},
    "point acceleration": {"m": 1, "s": -2},
    "momentum": {"effort": 1, "s": 1},
}
TURNING = {"effort": "N·m", "position": "rad"}
SLIDING = {"effort": "N", "position": "m"}
_ORDER = ("kg", "effort", "J", "W", "√J", "position", "rad", "m", "s")

# quantities with an angular and a linear half, for all kinds of joints
SPATIAL_PREFIX = "spatial "
CLOSURE = "closure effort"
# parts with several possible meanings; labels or a model select one
_OPEN: Mapping[str, tuple[str, ...]] = {
    "state": ("position", "velocity"),
    "model state": ("position", "velocity"),
    "model rate": ("velocity", "acceleration"),
    "model input": ("effort",),
    "model output": (
        *("position", "velocity", "acceleration", "effort"),
        *("spatial position", "spatial velocity", "spatial acceleration"),
    ),
}
# parts whose unit depends on the label: `elbow/velocity` of a state, `forearm/mass`
_BY_LABEL = ("state", "parameter")
# the unit that older files store for such arrays
_FORMERLY = "SI"

# units by part
PartUnits = Mapping[str, str]


@cache
def joint_units(part: str) -> tuple[str, str]:
    """Unit of a position, a velocity, an effort … for revolute and for prismatic joints."""
    return unit_fraction([part], TURNING), unit_fraction([part], SLIDING)


def joint_unit(part: str, turns: bool) -> str:
    """Unit of a position, a velocity, an effort … of one joint."""
    return joint_units(part)[not turns]


def unit_alternatives(units: Iterable[str]) -> str:
    """Units joined by 'or', each once."""
    return OR.join(dict.fromkeys(part for unit in units for part in unit.split(OR)))


def rate_of(unit: str) -> str:
    """Unit of the time derivative of a quantity with this unit."""
    velocities = zip(joint_units("velocity"), joint_units("acceleration"), strict=True)
    rates, integral = dict(velocities), "·s"
    return OR.join(
        each.removesuffix(integral) if each.endswith(integral) else rates.get(each, f"{each}/s")
        for each in unit.split(OR)
    )


def unit_fraction(parts: Sequence[str], words: dict[str, str]) -> str:
    """The unit of the first part divided by all others, as one fraction."""
    powers: Counter[str] = Counter(BASE[parts[0]])
    for part in parts[1:]:
        powers.subtract(BASE[part])
    top = _product((words.get(f, f), powers[f]) for f in _ORDER if powers[f] > 0) or "1"
    bottom = _product((words.get(f, f), -powers[f]) for f in _ORDER if powers[f] < 0)
    if not bottom:
        return top
    return f"{top}/({bottom})" if "·" in bottom else f"{top}/{bottom}"


def _product(factors: Iterable[tuple[str, int]]) -> str:
    return "·".join(word + {1: "", 2: "²", 3: "³"}[power] for word, power in factors)


# properties of links and joints: their units for revolute and for prismatic joints
FIGURES: Mapping[str, tuple[str, str]] = {
    "mass": ("kg", "kg"),
    "com": ("m", "m"),
    "first moment": ("kg·m", "kg·m"),
    "inertia": ("kg·m²", "kg·m²"),
    "origin": ("m", "m"),
    "rotation": ("rad", "rad"),
    "axis": ("1", "1"),
    "gravity": ("m/s²", "m/s²"),
    "damping": ("N·m·s/rad", "N·s/m"),
    **dict.fromkeys(("friction", "negative friction"), joint_units("effort")),
    "armature": ("kg·m²", "kg"),
    "stiffness": ("N·m/rad", "N/m"),
    "rest": joint_units("position"),
    **dict.fromkeys(("rest torque", "torque offset"), joint_units("effort")),
    **dict.fromkeys(("lower limit", "upper limit"), joint_units("position")),
    "velocity limit": joint_units("velocity"),
    **dict.fromkeys(("effort limit", "lower effort limit"), joint_units("effort")),
    "mimic offset": joint_units("position"),
}

# the property that each parameter of a link or a joint belongs to
PARAMETERS: Mapping[str, str] = {
    **{name: name for name in ("mass", "damping", "friction", "armature")},
    **dict.fromkeys(("friction_positive", "friction_negative"), "friction"),
    "offset": "torque offset",
    **dict.fromkeys(("mx", "my", "mz"), "first moment"),
    **dict.fromkeys(("com_x", "com_y", "com_z"), "com"),
    **dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "inertia"),
    **dict.fromkeys(("origin_x", "origin_y", "origin_z", "dh_a", "dh_d"), "origin"),
    **dict.fromkeys(("turn_x", "turn_y", "turn_z", "dh_alpha", "dh_theta"), "rotation"),
    **dict.fromkeys(("axis_x", "axis_y", "axis_z"), "axis"),
}

# the same for springs
SPRING_PARAMETERS: Mapping[str, str] = {
    "stiffness": "stiffness",
    "rest": "rest",
    "rest_torque": "rest torque",
}


def unit_of(quantity: str, kinds: Sequence[str], units: PartUnits | None = None) -> str:
    """Unit of a named quantity for an arm whose joints have these kinds.

    units: units of parts that the joint kinds do not determine, from `units_along` or a linear
           model; without them, such a part lists all its possible units
    """
    parts = QUANTITIES[quantity].parts
    if units is None or not any(part in units for part in parts):
        return _unit_of(quantity, tuple(kinds))
    return _joined(parts, [units.get(part) or _unit_of_part(part, kinds) for part in parts])


def units_along(
    quantity: str, labels: Sequence[Sequence[str]], slides: Mapping[str, bool]
) -> dict[str, str]:
    """Units of the parts of a quantity that its labels determine, all alternatives per axis.

    slides: joint name -> whether it is prismatic; missing joints may be either
    """
    parts = QUANTITIES[quantity].parts
    return {
        part: unit_alternatives(_label_unit(part, label, slides) for label in names)
        for part, names in zip(parts[len(parts) - len(labels) :], labels, strict=True)
    }


def entry_units(
    quantity: str, unit: str, labels: Sequence[Sequence[str]], slides: Mapping[str, bool]
) -> list[str]:
    """One unit per entry of an array, last axis fastest.

    An arm with both kinds of joints has units such as 'N·m or N per rad or m', revolute first:
    one part per axis; the joint of the entry selects the unit.
    """
    entries = list(product(*labels))
    if has_units_by_label(quantity):
        named = QUANTITIES[quantity].parts
        if len(named) == len(labels):
            return [PER.join(map(_label_unit, named, at, [slides] * len(at))) for at in entries]
    parts = [part.split(OR) for part in unit.split(PER)]
    known = all(label in slides for names in labels for label in names)
    if OR not in unit or len(parts) != len(labels) or not known:
        return [unit] * len(entries)
    return [
        PER.join(part[-1 if slides[label] else 0] for part, label in zip(parts, at, strict=True))
        for at in entries
    ]


def slides_in(model: Mapping[str, Any] | None) -> dict[str, bool]:
    """Joint name -> True if prismatic, for the joints of a model."""
    joints = (model or {}).get("joints", {})
    return {name: joint.get("type") == "prismatic" for name, joint in joints.items()}


def has_units_by_label(quantity: str) -> bool:
    """True if the entries of this quantity have individual units."""
    known = QUANTITIES.get(quantity)
    return known is not None and any(part in _BY_LABEL for part in known.parts)


def same_unit(quantity: str, one: str, other: str) -> bool:
    """True if two units of a quantity are equal, or one is the 'SI' of older files."""
    return one == other or (has_units_by_label(quantity) and _FORMERLY in (one, other))


@cache
def _unit_of(quantity: str, kinds: tuple[str, ...]) -> str:
    parts = QUANTITIES[quantity].parts
    units = [_unit_of_part(part, kinds) for part in parts]
    if any(part in _OPEN for part in parts) or any(OR in unit for unit in units):
        return _joined(parts, units)
    return unit_fraction(parts, _words(kinds)[0])


def _joined(parts: Sequence[str], units: Sequence[str]) -> str:
    """Units joined by 'per'; those of closures in brackets, as in existing files."""
    bracketed = CLOSURE in parts and len(parts) > 1
    return PER.join(f"({unit})" for unit in units) if bracketed else PER.join(units)


def _unit_of_part(part: str, kinds: Sequence[str]) -> str:
    """All alternative units of one part."""
    if part in _OPEN:
        return unit_alternatives(_unit_of_part(each, kinds) for each in _OPEN[part])
    if part == "parameter":
        return unit_alternatives(
            unit for name in PARAMETERS.values() for unit in _of_joints(name, kinds)
        )
    if part == CLOSURE:
        return unit_alternatives(reversed(joint_units("effort")))
    words: Iterable[dict[str, str]] = _words(kinds)
    if part.startswith(SPATIAL_PREFIX):
        part, words = part.removeprefix(SPATIAL_PREFIX), (TURNING, SLIDING)
    return unit_alternatives(unit_fraction([part], each) for each in words)


def _of_joints(name: str, kinds: Sequence[str]) -> Iterable[str]:
    """Units of a property of links or of these joints."""
    turning, sliding = FIGURES[name]
    return (turning if words is TURNING else sliding for words in _words(kinds))


def _label_unit(part: str, label: str, slides: Mapping[str, bool]) -> str:
    """Unit of one label along an axis."""
    owner, _, word = label.rpartition("/")
    if part == "parameter":
        name = SPRING_PARAMETERS.get(word) or PARAMETERS[word]
        return _chosen(FIGURES[name], slides.get(owner))
    if part == "state":
        part, label = word, owner
    return _chosen(joint_units(part), slides.get(label))


def _chosen(units: tuple[str, str], slides: bool | None) -> str:
    return unit_alternatives(units) if slides is None else units[slides]


def _words(kinds: Sequence[str]) -> Sequence[dict[str, str]]:
    """Units of efforts and positions on an arm with these joints."""
    sliding = [kind == "prismatic" for kind in kinds]
    if any(sliding) and not all(sliding):
        return (TURNING, SLIDING)
    return (SLIDING if any(sliding) else TURNING,)


# units at the end of a column name: 'j1 [deg]', 'j1 (rad/s)', 'j1_deg', 'time [ms]'
_BRACKETED = r"(.*?)(?:\[([^\[\]]{1,20})\]|\(([^()]{1,20})\))"
_APPENDED = r"(.*)_((?:degs?|degrees?|rads?|mrad|mm|rpm)(?:_(?:per_)?s(?:ec)?2?)?)"
_RATE = r"(?:[/_ ]|per)+s(?:ec(?:ond)?)?(?:\^|\*\*)?[2²]?"
_UNITS = {
    **dict.fromkeys(("deg", "degs", "degree", "degrees", "°"), "degrees"),
    **dict.fromkeys(("rad", "rads", "radian", "radians"), "rad"),
    **{unit: unit for unit in ("mrad", "rev", "rpm", "mm", "cm", "mNm", "Nmm", "Ncm", "kNm", "mA")},
}
_TIME_UNITS = {"s": "s", "sec": "s", "seconds": "s", "ms": "ms", "us": "us", "µs": "us", "ns": "ns"}


def named_unit(column: str) -> str:
    """The unit that ends the name of a column, without '/s'; '' without a known unit.

    >>> named_unit("shoulder [deg/s]"), named_unit("elbow_rad"), named_unit("position[0]")
    ('degrees', 'rad', '')
    """
    matched = re.fullmatch(_BRACKETED, column) or re.fullmatch(_APPENDED, column)
    if not matched:
        return ""
    unit = "".join(each for each in matched.groups()[1:] if each).strip()
    unit = re.sub(rf"\s*{_RATE}$", "", unit)
    plain = re.sub(r"[ ·.*]", "", unit)
    return _UNITS.get(plain, _UNITS.get(plain.lower(), ""))


def time_and_unit(column: str) -> tuple[str, str]:
    """The name of a column and its unit of time, ('t', 'ms') for 't [ms]'; '' without one."""
    matched = re.fullmatch(_BRACKETED, column) or re.fullmatch(r"(.*)_([mun]s)", column)
    texts = [each for each in matched.groups() if each is not None] if matched else []
    unit = _TIME_UNITS.get(texts[-1].strip().lower(), "") if texts else ""
    return (texts[0].rstrip(" _"), unit) if unit else (column, "")


def require_named_units(
    read: Mapping[str, str], degrees: bool | None, quantity: str, where: str
) -> None:
    """Reject columns whose names have another unit than their values are read in.

    read: the columns of one quantity by joint; a joint may be named 'hinge_deg'
    degrees: True for --degrees, False for --radians
    """
    for joint, column in read.items():
        unit = "" if column.endswith(joint) else named_unit(column)
        angle = quantity != "tau"
        read_in = "degrees" if degrees and angle else "rad"
        if unit in ("", read_in) or (unit == "degrees" and degrees is False):
            continue
        hint = "convert the values to SI units and rename the column"
        if unit in ("degrees", "rad") and angle:
            hint = "remove --degrees, which applies to all columns"
            if unit == "degrees":
                hint = "add --degrees; add --radians if the values are in rad"
        read_in = read_in if unit in ("degrees", "rad") and angle else "SI units"
        message = (
            f"the name of column '{column}' indicates {unit}, but the column is read in {read_in}"
        )
        raise UsageError(message, where=where, hint=hint)
