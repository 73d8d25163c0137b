"""Axes of joints: which of them have a direction, and that direction."""

from __future__ import annotations

from math import hypot

from robolin.arm import Vector3

# stands for an axis that the reader has complained about: nothing is concluded from it
UNREAD: Vector3 = (0.0, 0.0, 0.0)

# of lengths between these, squares keep their digits
SHORTEST, LONGEST = 1e-150, 1e150


def without_direction(axis: Vector3) -> str:
    """Why an axis has no direction that could be computed; nothing if it has one."""
    length = hypot(*axis)
    if length == 0.0:
        return "has no direction"
    if length < SHORTEST:
        return f"is shorter than {SHORTEST:g}, and its direction is lost in rounding"
    return f"is longer than {LONGEST:g}" if length > LONGEST else ""


def unit(axis: Vector3) -> Vector3:
    """The axis at length one; one that already is stays as it is, bit for bit."""
    x, y, z = axis
    length = hypot(x, y, z)
    return axis if length == 1.0 else (x / length, y / length, z / length)
