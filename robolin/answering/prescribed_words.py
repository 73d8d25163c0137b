"""What joints that move as they are told were told, in the words of the contract."""

from __future__ import annotations

from collections.abc import Sequence

from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.description.building.contract import grouped_by_value


def accelerations_told(arm: Arm, driven: Floats, qdd: Sequence[float] | None) -> str:
    """Where the accelerations come from: typed, with their values, or nobody.

    driven: 1 for every coordinate (n,) that moves as told, 0 for the others
    """
    if qdd is None:
        return "zero (not given)"
    named = zip(arm.joint_names, qdd, driven.tolist(), strict=True)
    values = {name: float(value) for name, value, own in named if own}
    return f"given ({grouped_by_value(values) or 'zero'})"
