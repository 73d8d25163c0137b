"""What the axes of a result are: joints, links, or a fixed number of entries.

("joint",)           one number per joint, such as a torque
("joint", "joint")   a matrix between joints
(6, "joint")         a spatial vector per joint, such as a Jacobian
("link", 6)          a spatial vector per link
()                   one number
"""

from __future__ import annotations

from typing import Literal

Axis = Literal["joint", "link"] | int
Shape = tuple[Axis, ...]

NUMBER: Shape = ()
VECTOR: Shape = ("joint",)
MATRIX: Shape = ("joint", "joint")


def sizes(shape: Shape, joints: int, links: int) -> tuple[int, ...]:
    """How long each axis is on an arm with so many independent joints and links."""
    lengths = {"joint": joints, "link": links}
    return tuple(axis if isinstance(axis, int) else lengths[axis] for axis in shape)
