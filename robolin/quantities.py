"""The one table of everything robolin names: unit, symbol, axes and the word in column names.

Units are those of turning joints, of sliding joints, or of both where an arm has both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """What a name stands for.

    parts:  what its unit is made of: the numerator, then everything it is taken per
    symbol: how it is written on paper
    axes:   what each of its axes counts: 'joint', 'link', …, or how many entries there are
    column: the word after the joint in column names of a vector, as in `elbow/effort`
    """

    parts: tuple[str, ...]
    symbol: str
    axes: tuple[str | int, ...] = ()
    column: str | None = None


_N, _NN, _6N = ("joint",), ("joint", "joint"), (6, "joint")
_MN = ("closure", "joint")
_X, _U, _Y = "model state", "model input", "model output"
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
    "A": Quantity((_X, _X), "A", ("model state", "model state")),
    "B": Quantity((_X, _U), "B", ("model state", "input")),
    "C": Quantity((_Y, _X), "C", ("output", "model state")),
    "drift": Quantity((_X,), "ẋ₀", ("model state",)),
    "y": Quantity((_Y,), "y₀", ("output",)),
    "basis": Quantity(("number",), "N, δq = N z", ("joint", "motion")),
    "K": Quantity((_U, _X), "K", ("input", "model state")),
    "P": Quantity(("number", _X, _X), "P", ("model state", "model state")),
    "Q": Quantity(("number", _X, _X), "Q", ("model state", "model state")),
    "R": Quantity(("number", _U, _U), "R", ("input", "input")),
    "residual": Quantity(("number",), "what is left of the Riccati equation"),
    "cost_to_go": Quantity(("number",), "xᵀPx"),
    "poles": Quantity(("rate",), "λ", ("mode",)),
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

# the words of vectors over joints, which files have as `<joint>/<word>`
COLUMN_WORDS = {name: each.column for name, each in QUANTITIES.items() if each.column}

# figures of links and joints: their units where a joint turns, and where it slides
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
    "friction": ("N·m", "N"),
    "armature": ("kg·m²", "kg"),
    **dict.fromkeys(("lower limit", "upper limit"), ("rad", "m")),
    "velocity limit": ("rad/s", "m/s"),
    "effort limit": ("N·m", "N"),
    "mimic offset": ("rad", "m"),
}
_PARAMETERS = {
    **dict.fromkeys(("mx", "my", "mz"), "first moment"),
    **dict.fromkeys(("com_x", "com_y", "com_z"), "com"),
    **dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "inertia"),
    **dict.fromkeys(("origin_x", "origin_y", "origin_z", "dh_a", "dh_d"), "origin"),
    **dict.fromkeys(("turn_x", "turn_y", "turn_z", "dh_alpha", "dh_theta"), "rotation"),
    **dict.fromkeys(("axis_x", "axis_y", "axis_z"), "axis"),
}

# how often an effort, a position, a second and √J occur as factors
_BASE: dict[str, dict[str, int]] = {
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
    "mass": {"kg": 1},
    "speed": {"m": 1, "s": -1},
    "point acceleration": {"m": 1, "s": -2},
    "momentum": {"effort": 1, "s": 1},
}

# what has an angular and a linear half, whatever the joints do
SPATIAL = "spatial "
# parts whose unit is told by the label: `elbow/velocity` of a state, `forearm/mass`
_BY_LABEL = ("state", "parameter")
# what was stored for such arrays before their units were spelled out
_FORMERLY = "SI"

_TURNING = {"effort": "N·m", "position": "rad"}
_SLIDING = {"effort": "N", "position": "m"}
_ORDER = ("kg", "effort", "J", "W", "√J", "position", "rad", "m", "s")
_OR, _PER = " or ", " per "


def column_name(quantity: str, joint: str) -> str:
    """The column of a file that has this quantity of a joint."""
    return f"{joint}/{COLUMN_WORDS[quantity]}"


def unit_of(quantity: str, kinds: Sequence[str]) -> str:
    """The unit of a named quantity of an arm whose joints have these kinds."""
    return _unit_of(quantity, tuple(kinds))


@cache
def _unit_of(quantity: str, kinds: tuple[str, ...]) -> str:
    parts, words = QUANTITIES[quantity].parts, _words(kinds)
    if len(words) > 1 or any(part.startswith(SPATIAL) for part in parts):
        return _PER.join(_either(part, words) for part in parts)
    return _written(_exponents(parts), words[0])


def closure_unit(quantity: str, kinds: Sequence[str], points: bool) -> str:
    """The unit of forces that keep loops closed; `points` where no loop keeps directions."""
    force = "N" if points else "N or N·m"
    per = [f"({_either(part, _words(kinds))})" for part in QUANTITIES[quantity].parts[1:]]
    return _PER.join([f"({force})", *per]) if per else force


def labelled_unit(
    quantity: str, labels: Sequence[Sequence[str]], slides: Mapping[str, bool]
) -> str:
    """The unit of a quantity whose labels tell it, in all its spellings along each axis.

    slides: whether a joint of this name slides; one that is not there may do either
    """
    parts = QUANTITIES[quantity].parts
    along = [
        dict.fromkeys(_label_unit(part, label, slides) for label in names)
        for part, names in zip(parts, labels, strict=True)
    ]
    return _PER.join(_OR.join(units) for units in along)


def entry_units(
    quantity: str, unit: str, labels: Sequence[Sequence[str]], slides: Mapping[str, bool]
) -> list[str]:
    """One unit per entry of an array, last axis fastest.

    An arm with both kinds of joints has units such as 'N·m or N per rad or m', the turning
    joint's first: one part per axis, decided by the joint that stands there.
    """
    entries = list(product(*labels))
    if has_units_by_label(quantity):
        named = QUANTITIES[quantity].parts
        if len(named) == len(labels):
            return [_PER.join(map(_label_unit, named, at, [slides] * len(at))) for at in entries]
    parts = [part.split(_OR) for part in unit.split(_PER)]
    known = all(label in slides for names in labels for label in names)
    if _OR not in unit or len(parts) != len(labels) or not known:
        return [unit] * len(entries)
    return [
        _PER.join(part[-1 if slides[label] else 0] for part, label in zip(parts, at, strict=True))
        for at in entries
    ]


def slides_in(model: Mapping[str, Any] | None) -> dict[str, bool]:
    """Whether each joint of a model slides, as far as its figures tell."""
    joints = (model or {}).get("joints", {})
    return {name: figures.get("type") == "prismatic" for name, figures in joints.items()}


def has_units_by_label(quantity: str) -> bool:
    """Whether entries of this quantity have units of their own."""
    known = QUANTITIES.get(quantity)
    return known is not None and any(part in _BY_LABEL for part in known.parts)


def same_unit(quantity: str, one: str, other: str) -> bool:
    """Whether two units of a quantity are the same, also where one was stored as just 'SI'."""
    return one == other or (has_units_by_label(quantity) and _FORMERLY in (one, other))


def _label_unit(part: str, label: str, slides: Mapping[str, bool]) -> str:
    """The unit that one label along an axis stands for."""
    owner, _, word = label.rpartition("/")
    if part == "parameter":
        return _chosen(FIGURES[_PARAMETERS.get(word, word)], slides.get(owner))
    if part == "state":
        part, label = word, owner
    units = _written(_BASE[part], _TURNING), _written(_BASE[part], _SLIDING)
    return _chosen(units, slides.get(label))


def _chosen(units: tuple[str, str], slides: bool | None) -> str:
    return _OR.join(dict.fromkeys(units)) if slides is None else units[slides]


def _words(kinds: Sequence[str]) -> Sequence[dict[str, str]]:
    """How efforts and positions are spelled on an arm with these joints."""
    sliding = [kind == "prismatic" for kind in kinds]
    if any(sliding) and not all(sliding):
        return (_TURNING, _SLIDING)
    return (_SLIDING if any(sliding) else _TURNING,)


def _either(part: str, words: Sequence[dict[str, str]]) -> str:
    """The unit of one part, in every spelling it has."""
    if part.startswith(SPATIAL):
        part, words = part.removeprefix(SPATIAL), (_TURNING, _SLIDING)
    return _OR.join(dict.fromkeys(_written(_BASE[part], each) for each in words))


def _exponents(parts: Sequence[str]) -> dict[str, int]:
    total: Counter[str] = Counter(_BASE[parts[0]])
    for part in parts[1:]:
        total.subtract(_BASE[part])
    return dict(total)


def _written(exponents: dict[str, int], words: dict[str, str]) -> str:
    above = [(words.get(f, f), exponents.get(f, 0)) for f in _ORDER if exponents.get(f, 0) > 0]
    below = [(words.get(f, f), -exponents.get(f, 0)) for f in _ORDER if exponents.get(f, 0) < 0]
    top = _product(above) or "1"
    if not below:
        return top
    bottom = _product(below)
    return f"{top}/({bottom})" if "·" in bottom else f"{top}/{bottom}"


def _product(factors: Iterable[tuple[str, int]]) -> str:
    return "·".join(word + {1: "", 2: "²", 3: "³"}[power] for word, power in factors)
