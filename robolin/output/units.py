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
}

_TURNING = {"effort": "N·m", "position": "rad"}
_SLIDING = {"effort": "N", "position": "m"}
_ORDER = ("effort", "J", "√J", "position", "s")


def unit_of(quantity: str, kinds: Sequence[str]) -> str:
    """The unit of a named quantity of an arm whose joints have these kinds."""
    parts = _QUANTITIES[quantity]
    sliding = [kind == "prismatic" for kind in kinds]
    if any(sliding) and not all(sliding):
        return " per ".join(_either(part) for part in parts)
    return _written(_exponents(parts), _SLIDING if any(sliding) else _TURNING)


def _either(part: str) -> str:
    spellings = [_written(_BASE[part], words) for words in (_TURNING, _SLIDING)]
    return " or ".join(dict.fromkeys(spellings))


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
