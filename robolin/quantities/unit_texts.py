"""How units are written, of turning joints and of sliding ones, and of the figures of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

OR, PER = " or ", " per "

# how often an effort, a position, a second and √J occur as factors
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


@cache
def joint_units(part: str) -> tuple[str, str]:
    """The unit of a position, a velocity, an effort … where a joint turns, and where it slides."""
    return written([part], TURNING), written([part], SLIDING)


def joint_unit(part: str, turns: bool) -> str:
    """The unit of a position, a velocity, an effort … of one joint."""
    return joint_units(part)[not turns]


def either(units: Iterable[str]) -> str:
    """Each of these units once."""
    return OR.join(dict.fromkeys(part for unit in units for part in unit.split(OR)))


def rate_of(unit: str) -> str:
    """The unit of how fast something in this unit changes, be it a velocity or an integral."""
    velocities = zip(joint_units("velocity"), joint_units("acceleration"), strict=True)
    rates, integral = dict(velocities), "·s"
    return OR.join(
        each.removesuffix(integral) if each.endswith(integral) else rates.get(each, f"{each}/s")
        for each in unit.split(OR)
    )


def written(parts: Sequence[str], words: dict[str, str]) -> str:
    """The unit of the first part per all others, as one fraction."""
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
    "friction": joint_units("effort"),
    "armature": ("kg·m²", "kg"),
    **dict.fromkeys(("lower limit", "upper limit"), joint_units("position")),
    "velocity limit": joint_units("velocity"),
    "effort limit": joint_units("effort"),
    "mimic offset": joint_units("position"),
}

# the figure that each parameter of a link or a joint is a part of
PARAMETERS: Mapping[str, str] = {
    **{name: name for name in ("mass", "damping", "friction", "armature")},
    **dict.fromkeys(("mx", "my", "mz"), "first moment"),
    **dict.fromkeys(("com_x", "com_y", "com_z"), "com"),
    **dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "inertia"),
    **dict.fromkeys(("origin_x", "origin_y", "origin_z", "dh_a", "dh_d"), "origin"),
    **dict.fromkeys(("turn_x", "turn_y", "turn_z", "dh_alpha", "dh_theta"), "rotation"),
    **dict.fromkeys(("axis_x", "axis_y", "axis_z"), "axis"),
}
