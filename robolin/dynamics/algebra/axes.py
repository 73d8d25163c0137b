"""What the axes of a result are: joints, links, equations of closures, or a number of entries.

("joint",)           one number per joint, such as a torque
("joint", "joint")   a matrix between joints
(6, "joint")         a spatial vector per joint, such as a Jacobian
("link", 6)          a spatial vector per link
("closure", "joint") a row per equation of the closures, such as their Jacobian
()                   one number
"""

from __future__ import annotations

from typing import Literal

Axis = Literal["joint", "link", "closure"] | int
Shape = tuple[Axis, ...]

NUMBER: Shape = ()
VECTOR: Shape = ("joint",)
MATRIX: Shape = ("joint", "joint")

# ten numbers of a link, and the damping, armature and friction of its joint
REGRESSOR_COLUMNS = 13
# stiffness and stiffness · rest of the spring of its joint
SPRING_COLUMNS = 2
# a joint turned and slid on the link inboard of it, and its link on it likewise
GEOMETRY_COLUMNS = 12
