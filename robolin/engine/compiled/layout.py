"""Memory layout of an arm's parameters for kernels: a table of doubles, a table of integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.core.arrays import AnyArray
from robolin.engine.parameters import FrameRow, Parameters, first_of_subtrees

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


def arm_tables(parameters: Parameters) -> ArmTables:
    parents = [0, *(row.parent for row in parameters.links)]
    return ArmTables(
        parameters,
        parameters.n,
        len(parameters.order),
        variant_of(parameters),
        float_table(parameters),
        int_table(parameters, first_of_subtrees(parents)),
    )


def variant_of(parameters: Parameters) -> Variant:
    return Variant(
        serial=parameters.serial,
        all_turn=all(row.is_revolute for row in parameters.links),
        mimics=parameters.mimics,
        smooth_friction=parameters.friction_velocity is not None,
        load_models=tuple(load.model for load in parameters.loads),
        grouped=parameters.grouped,
        roams=parameters.roaming is not None,
        travels=parameters.travelling,
        rigid_closures=tuple(closure.rigid for closure in parameters.closures),
        seat=parameters.seat,
        springs=parameters.springs,
        group_rotors=parameters.group_rotors,
        group_translations=bool(parameters.group_translations),
        one_sided_friction=parameters.one_sided_friction,
        own_friction_velocities=parameters.own_friction_velocities,
    )


def float_table(parameters: Parameters) -> np.ndarray:
    """All real parameters of the arm, in the order of this module."""
    tip = parameters.tip
    head = [
        *parameters.gravity,
        parameters.friction_velocity or 0.0,
        *parameters.origin,
        *tip.axes,
        *tip.point,
        *(parameters.roaming or (0.0,) * 9),
    ]
    links = [
        number
        for row in parameters.links
        for number in (
            *row.rotation,
            *row.offset,
            row.mass,
            *row.com,
            *row.rotary,
            row.armature,
            row.damping,
            row.friction,
            row.ratio,
            row.mimic_offset or -0.0,
            *row.direction,
        )
    ]
    loads = [
        number
        for load in parameters.loads
        for number in (*load.axes, *load.point, *load.force, *load.moment)
    ]
    closures = [
        number for frame in _closed_frames(parameters) for number in (*frame.axes, *frame.point)
    ]
    rows = parameters.links
    springs = [x for row in rows if parameters.springs for x in (row.stiffness, row.rest)]
    biases = [row.friction_bias for row in parameters.links if parameters.one_sided_friction]
    own, default = parameters.own_friction_velocities, parameters.friction_velocity or 0.0
    velocities = [row.friction_velocity or default for row in rows if own]
    return np.array(head + links + loads + closures + springs + biases + velocities)


def _closed_frames(parameters: Parameters) -> list[FrameRow]:
    """Both frames of every closure."""
    return [frame for each in parameters.closures for frame in (each.first, each.second)]


def int_table(parameters: Parameters, first: list[int]) -> np.ndarray:
    """All integer parameters of the arm; entry k of a table belongs to link k."""
    n, m = parameters.n, len(parameters.order)
    tables = np.zeros((LINK_TABLES, n + 2), dtype=np.int64)
    for k, row in enumerate(parameters.links, start=1):
        order = (row.parent, first[k], row.is_revolute, row.coordinate, row.is_mimic)
        tables[:PLACE, k] = (*order, row.joint_body, row.joint_parent, row.origin_fixed)
        tables[TRAVELS, k] = row.frame_travels
    for k in range(n, 0, -1):
        parent = tables[PARENT, k]
        tables[BRANCH_ROOT, k] = k if parent > n else tables[BRANCH_ROOT, parent]
    tables[PLACE, 1 : m + 1] = parameters.order
    for k, row in enumerate(parameters.links, start=1):
        if not row.is_mimic:
            tables[LEADER, row.coordinate] = k
    partnered = [k for k, row in enumerate(parameters.links, start=1) if row.joint_body != k]
    tables[PARTNERED, : len(partnered) + 1] = (len(partnered), *partnered)
    loads = [load.link for load in parameters.loads]
    links = [parameters.tip.link, *loads, *(frame.link for frame in _closed_frames(parameters))]
    return np.concatenate([tables.ravel(), np.array(links, dtype=np.int64)])
