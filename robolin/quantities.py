"""Units of every quantity robolin names, for turning joints, sliding joints and both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

# how often an effort, a position, a second and √J occur as factors
_BASE: dict[str, dict[str, int]] = {
    "position": {"position": 1},
    "velocity": {"position": 1, "s": -1},
    "acceleration": {"position": 1, "s": -2},
    "effort": {"effort": 1},
    "root energy": {"√J": 1},
    "root energy rate": {"√J": 1, "s": -1},
    "energy": {"J": 1},
    "number": {},
    "length": {"m": 1},
    "time": {"s": 1},
}

# numerator first, then what it is taken per
_QUANTITIES: dict[str, tuple[str, ...]] = {
    "time": ("time",),
    "q": ("position",),
    "qd": ("velocity",),
    "qdd": ("acceleration",),
    "tau": ("effort",),
    "dq": ("position",),
    "dqd": ("velocity",),
    "dqdd": ("acceleration",),
    "dtau": ("effort",),
    "mass_matrix": ("effort", "acceleration"),
    "mass_matrix_inverse": ("acceleration", "effort"),
    "dmass_matrix_dq": ("effort", "acceleration", "position"),
    "riemann": ("effort", "acceleration", "position", "position"),
    "curvature": ("number", "position", "position"),
    "coriolis_matrix": ("effort", "velocity"),
    "dtau_dqdd": ("effort", "acceleration"),
    "dtau_dqd": ("effort", "velocity"),
    "dtau_dq": ("effort", "position"),
    "dqdd_dtau": ("acceleration", "effort"),
    "dqdd_dqd": ("acceleration", "velocity"),
    "dqdd_dq": ("acceleration", "position"),
    "factor": ("position", "position"),
    "factor_inverse": ("position", "position"),
    "D": ("effort", "acceleration"),
    "m": ("root energy", "velocity"),
    "ell": ("velocity", "root energy"),
    "nu": ("root energy",),
    "epsilon": ("root energy rate",),
    "coriolis": ("root energy rate",),
    "xi": ("velocity",),
    "kappa": ("effort",),
    "coriolis_unnormalized": ("effort",),
    "kinetic_energy": ("energy",),
    "potential_energy": ("energy",),
    "energy_error": ("energy",),
    "work": ("energy",),
    "lyapunov": ("energy",),
    "xid": ("acceleration",),
    "nud": ("root energy rate",),
    "position": ("length",),
    "rotation": ("number",),
    "twist": ("spatial velocity",),
    "jacobian": ("spatial velocity", "velocity"),
    "jacobian_rate_qd": ("spatial acceleration",),
    "spatial_acceleration": ("spatial acceleration",),
    "classical_acceleration": ("spatial acceleration",),
    "tip_acceleration": ("spatial acceleration",),
    "tip_classical_acceleration": ("spatial acceleration",),
    "link_acceleration": ("spatial acceleration",),
    "link_classical_acceleration": ("spatial acceleration",),
    "free_acceleration": ("spatial acceleration",),
    "dtwist_dq": ("spatial velocity", "position"),
    "dclassical_acceleration_dqd": ("spatial acceleration", "velocity"),
    "dclassical_acceleration_dq": ("spatial acceleration", "position"),
    "dspatial_velocity_dq": ("spatial velocity", "position"),
    "dspatial_acceleration_dqd": ("spatial acceleration", "velocity"),
    "dspatial_acceleration_dq": ("spatial acceleration", "position"),
    "operational_inertia": ("spatial effort", "spatial acceleration"),
    "operational_inertia_inverse": ("spatial acceleration", "spatial effort"),
    "bias_wrench": ("spatial effort",),
}

# what has an angular and a linear half, whatever the joints do
SPATIAL = "spatial "

_TURNING = {"effort": "N·m", "position": "rad"}
_SLIDING = {"effort": "N", "position": "m"}
_ORDER = ("effort", "J", "√J", "position", "m", "s")


def unit_of(quantity: str, kinds: Sequence[str]) -> str:
    """The unit of a named quantity of an arm whose joints have these kinds."""
    parts = _QUANTITIES[quantity]
    sliding = [kind == "prismatic" for kind in kinds]
    words = [_TURNING, _SLIDING]
    if not any(sliding) or all(sliding):
        words = [_SLIDING if any(sliding) else _TURNING]
    if len(words) > 1 or any(part.startswith(SPATIAL) for part in parts):
        return " per ".join(_either(part, words) for part in parts)
    return _written(_exponents(parts), words[0])


def _either(part: str, words: Sequence[dict[str, str]]) -> str:
    """The unit of one part, in every spelling it has."""
    if part.startswith(SPATIAL):
        part, words = part.removeprefix(SPATIAL), (_TURNING, _SLIDING)
    return " or ".join(dict.fromkeys(_written(_BASE[part], each) for each in words))


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
