"""Natural scales of a robot: the torque, energy or velocity that its weight and size imply.

A value far below the natural scale of its quantity is rounding.  With the total mass m, the reach
L and gravity g, every unit has one: m g L for torques and energies, m g for forces, √(L/g) for
times, √(g/L) for angular velocities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import hypot, sqrt
from typing import Any

from robolin.core.quantity_table import OR, PER
from robolin.core.records import dataclass

# kg, m, s as exponents; radians have no dimension
_DIMENSIONS = {
    "kg": (1.0, 0.0, 0.0),
    "m": (0.0, 1.0, 0.0),
    "s": (0.0, 0.0, 1.0),
    "rad": (0.0, 0.0, 0.0),
    "1": (0.0, 0.0, 0.0),
    "N": (1.0, 1.0, -2.0),
    "J": (1.0, 2.0, -2.0),
    "√J": (0.5, 1.0, -1.0),
    "W": (1.0, 2.0, -3.0),
}
_POWERS = {"²": 2, "³": 3}
# rounding error after many operations, relative to the natural scale
ROUNDING = 1e-12
# poles that are slower, in 1/s, depend on rounded numbers: an angle of 90° with nine digits in a
# robot file adds 1e-8 1/s² to a stiffness that is zero, and moves a double pole at 0 by its root
UNDECIDED_RATE = 1e-4
# kinetic energies are quadratic in velocities; work and energy error need few operations
_OWN_ROUNDING = {
    "kinetic_energy": 1e-24,
    "lyapunov": 1e-24,
    "work": 2e-14,
    "energy_error": 2e-14,
}


@dataclass(frozen=True)
class NaturalScales:
    """Mass in kg, reach in m and gravity in m/s² of a robot; zeros where they are not known."""

    mass: float = 0.0
    reach: float = 0.0
    gravity: float = 0.0

    def in_motion(self, qd: float, qdd: float) -> NaturalScales:
        """The scales of a motion, with its accelerations in place of gravity.

        Args:
            qd: the largest velocity in rad/s
            qdd: the largest acceleration in rad/s²
        """
        return replace(self, gravity=max(self.reach * qd * qd, self.reach * qdd))

    def of_unit(self, unit: str) -> float:
        """The largest natural scale of a unit such as 'N·m or N'; 0 where there is none."""
        alternatives = unit.split(OR)
        # more than two are not one quantity of revolute and prismatic joints
        if PER in unit or len(alternatives) > 2 or not (self.mass and self.reach and self.gravity):
            return 0.0
        return max(self._of_one(each) for each in alternatives)

    def _of_one(self, unit: str) -> float:
        if unit == "rad":
            return 1.0
        dimension = _dimension(unit)
        if dimension is None or not any(dimension):
            return 0.0
        kg, m, s = dimension
        time = sqrt(self.reach / self.gravity)
        try:
            return float(self.mass**kg * self.reach**m * time**s)
        except OverflowError:
            # a stored model may have any length
            return 0.0


NO_SCALES = NaturalScales()


def rounding_share(name: str) -> float:
    """The fraction of the natural scale below which values of this array are rounding."""
    return _OWN_ROUNDING.get(name, ROUNDING)


def natural_scales(model: Mapping[str, Any] | None, gravity: float) -> NaturalScales:
    """The natural scales of a robot.

    Args:
        model: `Arm.model_dict` or `Result.model`
        gravity: in m/s²
    """
    links = (model or {}).get("links", {}).values()
    joints = (model or {}).get("joints", {}).values()
    mass = 0.0
    for link in links:
        mass += link.get("mass", 0.0)
    reach = max((hypot(*link.get("com", ())) for link in links), default=0.0)
    for joint in joints:
        reach += hypot(*joint.get("origin", ()))
    return NaturalScales(mass, reach, gravity)


def contract_gravity(contract: Mapping[str, Any]) -> float:
    """The size of gravity in m/s² as a contract states it; 0 where it states none."""
    stated, _, _ = str(contract.get("gravity", "")).partition(" m/s²")
    try:
        return hypot(*(float(each) for each in stated.split(",")))
    except ValueError:
        return 0.0


def _dimension(unit: str) -> tuple[float, float, float] | None:
    """Exponents of kg, m and s; None for a unit that is not a product of known ones."""
    exponents = [0.0, 0.0, 0.0]
    above, *below = unit.split("/")
    for sign, part in ((1.0, above), *((-1.0, each) for each in below)):
        for factor in part.strip("()").split("·"):
            power = _POWERS.get(factor[-1:], 1)
            dimension = _DIMENSIONS.get(factor[:-1] if power > 1 else factor)
            if dimension is None:
                return None
            for i, exponent in enumerate(dimension):
                exponents[i] += sign * power * exponent
    return exponents[0], exponents[1], exponents[2]
