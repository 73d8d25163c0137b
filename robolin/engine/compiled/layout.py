"""Memory layout of an arm's parameters for kernels: a table of doubles, a table of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robolin.core.records import dataclass

if TYPE_CHECKING:
    from robolin.core.arrays import AnyArray
    from robolin.engine.parameters import Parameters

# doubles per link: rotation 9, offset 3, mass, com 3, rotary 6, armature, damping, friction, …
ROTATION, OFFSET, MASS, COM, ROTARY = 0, 9, 12, 13, 16
ARMATURE, DAMPING, FRICTION, RATIO, SHIFT, DIRECTION, LINK_DOUBLES = 22, 23, 24, 25, 26, 27, 30

# before the links: gravity 3, friction velocity, origin 3, the tip's axes 9 and point 3, roaming 9
GRAVITY, FRICTION_VELOCITY, FRAME_ORIGIN, TIP_AXES, TIP_POINT, ROAMING = 0, 3, 4, 7, 16, 19
HEAD_DOUBLES = 28

# after the links, per load: axes 9, point, force, moment
LOAD_DOUBLES = 18

# after the loads, per frame of a closure, the first and then the second: axes 9, point
FRAME_DOUBLES = 12

# after the closures, per link of an arm with springs: stiffness and rest
STIFFNESS, REST, SPRING_DOUBLES = 0, 1, 2
# after the springs, per link of an arm with one-sided friction: its bias
# at the end, per link of an arm with joints that have their own friction velocity: that velocity

# tables of n + 2 integers each, by link; then the links of tip, loads, closures
PARENT, FIRST, TURNS, COORDINATE, FOLLOWS, OUTERMOST, CARRIER, RESTS = 0, 1, 2, 3, 4, 5, 6, 7

# by coordinate: its public index; a list with its length at 0: links with partners outboard;
# by coordinate: the link that its joint moves; by link: whether the inertial frame moves along, and
# the first link of its branch at the base
PLACE, PARTNERED, LEADER, TRAVELS, BRANCH_ROOT, LINK_TABLES = 8, 9, 10, 11, 12, 13


@dataclass(frozen=True)
class Variant:
    """Properties of an arm that a kernel is compiled for; all others are data."""

    serial: bool
    all_turn: bool
    mimics: bool
    smooth_friction: bool
    load_models: tuple[str, ...]
    grouped: bool = False
    roams: bool = False
    travels: bool = False
    rigid_closures: tuple[bool, ...] = ()
    seat: int = 0
    springs: bool = False
    group_rotors: bool = False
    group_translations: bool = False
    one_sided_friction: bool = False
    own_friction_velocities: bool = False

    @property
    def closure_rows(self) -> int:
        return sum(6 if rigid else 3 for rigid in self.rigid_closures)


@dataclass(frozen=True)
class ArmTables:
    """Parameter tables of one arm for kernels, computed once per arm."""

    parameters: Parameters
    n: int
    m: int
    variant: Variant
    doubles: AnyArray
    integers: AnyArray
