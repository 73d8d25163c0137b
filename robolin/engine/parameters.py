"""Numeric parameters of an arm for the algorithms: one row per link, every joint axis along z.

With each joint axis along the z axis of its link frame, link poses are cheapest to compute.
Frames, loads and inertias are transformed to these frames once, here.
The inertial frame has the axes of the description's root and its origin at the first joint,
because rounding errors grow with the square of the distance between the arm and that origin.
If a floating base or a long prismatic joint moves all links, the inertial frame moves with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from robolin.core.arm import (
    NO_TURN,
    ORIGIN,
    Arm,
    Frame,
    Joint,
    Matrix3,
    Rotary,
    Vector3,
    Wrench,
    travelling,
)
from robolin.core.arm_parts import axis_to_z, matmul, rotate_point, transpose, turned_rotary
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import float_sum
from robolin.dynamics.algorithm import Shape
from robolin.engine.compiled import layout

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class LinkRow:
    """The constants of one link and the joint inboard of it."""

    name: str
    parent: int
    is_revolute: bool
    rotation: Matrix3
    offset: Vector3
    mass: float
    com: Vector3
    rotary: Rotary
    armature: float
    damping: float
    friction: float
    coordinate: int
    ratio: float
    mimic_offset: float
    is_mimic: bool
    # of a multi-DoF joint: its body, its parent link, and this axis in the axes of the body
    joint_body: int
    joint_parent: int
    direction: Vector3 = (0.0, 0.0, 1.0)
    origin_fixed: bool = True
    # whether the inertial frame moves along with long travel
    frame_travels: bool = False
    stiffness: float = 0.0
    rest: float = 0.0
    friction_bias: float = 0.0
    # of joints with their own; None for the value of the arm
    friction_velocity: float | None = None


@dataclass(frozen=True)
class LoadRow:
    """An external wrench, with the sign of the wrench that the arm exerts."""

    link: int
    model: str
    axes: Matrix3
    point: Vector3
    force: Vector3
    moment: Vector3


@dataclass(frozen=True)
class FrameRow:
    """A frame on a link, in the link's axes."""

    link: int
    axes: Matrix3
    point: Vector3


DEFAULT_TIP = FrameRow(1, NO_TURN, ORIGIN)


@dataclass(frozen=True)
class ClosureRow:
    """A loop closure between two frames, and the index of its first equation."""

    row: int
    rigid: bool
    first: FrameRow
    second: FrameRow

    @property
    def size(self) -> int:
        return 6 if self.rigid else 3


@dataclass(frozen=True)
class Parameters:
    """All numeric parameters of an arm; links tip to base, `order[c]` is the index of c in q.

    origin:   origin of the inertial frame in the description's root frame
    tip:      frame of kinematic results
    roaming:  columns: motion of the inertial frame per metre of base translation; None if fixed
    closures: loop closures
    seat:     number of the link that the inertial frame is attached to; 0 for `origin`
    """

    links: tuple[LinkRow, ...]
    loads: tuple[LoadRow, ...]
    gravity: Vector3
    friction_velocity: float | None
    order: tuple[int, ...]
    joint_names: tuple[str, ...]
    origin: Vector3 = ORIGIN
    tip: FrameRow = DEFAULT_TIP
    roaming: Matrix3 | None = None
    closures: tuple[ClosureRow, ...] = ()
    seat: int = 0

    @property
    def closure_rows(self) -> int:
        return sum(closure.size for closure in self.closures)

    @property
    def n(self) -> int:
        return len(self.links)

    def sizes(self, shape: Shape) -> tuple[int, ...]:
        """Length of each axis of a result on this arm."""
        lengths = {"joint": len(self.order), "link": self.n, "closure": self.closure_rows}
        return tuple(axis if isinstance(axis, int) else lengths[axis] for axis in shape)

    @property
    def serial(self) -> bool:
        return all(link.parent == k + 1 for k, link in enumerate(self.links, start=1))

    @property
    def grouped(self) -> bool:
        return any(row.joint_body != k for k, row in enumerate(self.links, start=1))

    @property
    def springs(self) -> bool:
        return any(row.stiffness for row in self.links)

    @property
    def group_translations(self) -> tuple[LinkRow, ...]:
        """Links of the translations of multi-DoF joints."""
        rows = enumerate(self.links, start=1)
        return tuple(row for k, row in rows if row.joint_body != k and not row.is_revolute)

    @property
    def group_rotors(self) -> bool:
        return any(row.armature for row in self.group_translations)

    @property
    def one_sided_friction(self) -> bool:
        return any(row.friction_bias for row in self.links)

    @property
    def own_friction_velocities(self) -> bool:
        return any(row.friction_velocity is not None for row in self.links)

    @property
    def mimics(self) -> bool:
        return len(self.order) < self.n

    @property
    def travelling(self) -> bool:
        return any(row.frame_travels for row in self.links)


def at_rest(parameters: Parameters) -> Parameters:
    """The same parameters with a fixed inertial frame, as in the papers."""
    rows = tuple(
        replace(row, origin_fixed=row.is_revolute, frame_travels=False) for row in parameters.links
    )
    return replace(parameters, links=rows, roaming=None)


def with_frame_at_lightest_end(parameters: Parameters) -> Parameters:
    """The same arm with its inertial frame on the end of least mass, for single precision.

    Floats have seven digits: an inertia about a distant point is lost in mass times distance
    squared.  A light wrist keeps its digits, and links nearer to the base are heavy enough.
    """
    carrying = {row.parent for row in parameters.links}
    ends = [k for k in range(1, parameters.n + 1) if k not in carrying]
    return replace(parameters, seat=min(ends, key=lambda k: parameters.links[k - 1].mass))


def parameters_of(arm: Arm) -> Parameters:
    """Compute the parameters of an arm in the link frames of the algorithms."""
    axes = {arm.base: NO_TURN}
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        axes[k] = axis_to_z(link.joint.axis)
    origin, roaming, order = _origin(arm), _roaming(arm), _order(arm)
    loads = tuple(
        load
        for wrench in arm.wrenches
        if (load := _load(arm, wrench, axes, origin)).link != arm.base
    )
    tip = _frame_row(arm, arm.tip, axes, origin) if arm.tip else DEFAULT_TIP
    return Parameters(
        tuple(_link_rows(arm, axes, origin, roaming, order)),
        loads,
        arm.gravity,
        arm.friction_velocity,
        order,
        arm.joint_names,
        origin,
        tip,
        roaming,
        _closures(arm, axes, origin),
    )


def _order(arm: Arm) -> tuple[int, ...]:
    """Indices in q of the coordinates, in the order of the links that their joints move."""
    pairs = zip(arm.links_tip_to_base, arm.coordinates, strict=True)
    return tuple(index for link, index in pairs if link.joint.mimic is None)


def _link_rows(
    arm: Arm,
    axes: dict[int, Matrix3],
    origin: Vector3,
    roaming: Matrix3 | None,
    order: tuple[int, ...],
) -> Iterator[LinkRow]:
    """Rows of all links from tip to base, in frames whose z axis is the joint axis."""
    along = travelling(arm) if arm.slides else ()
    number = {index: c for c, index in enumerate(order, start=1)}
    joined = {k: group for group in arm.groups for k in group.links}
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        joint, mimic, offset = link.joint, link.joint.mimic, link.joint.pose.translation
        if link.parent == arm.base:
            offset = _minus(offset, origin)
        inward, body = transpose(axes[link.parent]), transpose(axes[k])
        friction, bias = _friction(joint) if arm.friction_velocity is not None else (0.0, 0.0)
        inmost, outmost = (joined[k].links[0], joined[k].body) if k in joined else (k, k)
        yield LinkRow(
            name=joint.name,
            parent=link.parent,
            is_revolute=joint.turns,
            rotation=matmul(inward, matmul(joint.pose.rotation, axes[k])),
            offset=rotate_point(inward, offset),
            mass=link.inertia.mass,
            com=rotate_point(body, link.inertia.com),
            rotary=turned_rotary(body, link.inertia.rotary),
            armature=joint.armature,
            damping=joint.damping if arm.damping else 0.0,
            friction=friction,
            coordinate=number[arm.coordinates[k - 1]],
            ratio=mimic.ratio if mimic else 1.0,
            mimic_offset=mimic.offset if mimic else 0.0,
            is_mimic=mimic is not None,
            joint_body=outmost,
            joint_parent=arm.link(inmost).parent,
            direction=rotate_point(transpose(axes[outmost]), joint.axis),
            origin_fixed=joint.turns or (roaming is not None and inmost == arm.base - 1),
            frame_travels=k in along,
            stiffness=joint.stiffness if arm.springs else 0.0,
            rest=joint.rest if arm.springs else 0.0,
            friction_bias=bias,
            friction_velocity=None if arm.friction_velocity is None else joint.friction_velocity,
        )


def _friction(joint: Joint) -> tuple[float, float]:
    """Mean friction of both directions, and half the difference positive - negative."""
    positive, negative = joint.friction_sides
    if joint.friction_negative is None:
        return positive, 0.0
    return 0.5 * (positive + negative), 0.5 * (positive - negative)


def _closures(arm: Arm, axes: dict[int, Matrix3], origin: Vector3) -> tuple[ClosureRow, ...]:
    rows: list[ClosureRow] = []
    for loop in arm.loops:
        row = rows[-1].row + rows[-1].size if rows else 0
        ends = (_frame_row(arm, frame, axes, origin) for frame in (loop.first, loop.second))
        rows.append(ClosureRow(row, loop.kind == "rigid", *ends))
    return tuple(rows)


def _frame_row(arm: Arm, frame: Frame, axes: dict[int, Matrix3], origin: Vector3) -> FrameRow:
    inward = transpose(axes[frame.link])
    point = frame.pose.translation
    if frame.link == arm.base:
        point = _minus(point, origin)
    return FrameRow(frame.link, matmul(inward, frame.pose.rotation), rotate_point(inward, point))


def _load(arm: Arm, wrench: Wrench, axes: dict[int, Matrix3], origin: Vector3) -> LoadRow:
    frame = arm.frames[wrench.frame]
    inward = transpose(axes[frame.link])
    # users give the wrench applied to the arm; the papers use the wrench that the arm exerts
    force, moment = _negative(wrench.force), _negative(wrench.moment)
    if wrench.model == "world":
        return LoadRow(frame.link, "world", NO_TURN, _negative(origin), force, moment)
    return LoadRow(
        link=frame.link,
        model=wrench.model,
        axes=matmul(inward, frame.pose.rotation),
        point=rotate_point(inward, frame.pose.translation),
        force=force,
        moment=moment,
    )


def _origin(arm: Arm) -> Vector3:
    """Origin of the inertial frame: the first joint, or the mean of several on the base."""
    roots = [link.joint.pose for link in arm.links_tip_to_base if link.parent == arm.base]
    middle = [float_sum(pose.translation[i] for pose in roots) / len(roots) for i in range(3)]
    return (middle[0], middle[1], middle[2])


def _roaming(arm: Arm) -> Matrix3 | None:
    """Motion of the inertial frame per coordinate of a floating base that carries all links.

    The dynamics do not depend on the position of such an arm; moving the frame along avoids
    rounding errors from large distances.
    """
    on_base = [
        k for k, link in enumerate(arm.links_tip_to_base, start=1) if link.parent == arm.base
    ]
    group = next((group for group in arm.groups if group.links[0] in on_base), None)
    ends = [end for loop in arm.loops for end in (loop.first, loop.second)]
    on_world = any(frame.link == arm.base for frame in (*ends, arm.tip) if frame)
    if group is None or len(on_base) > 1 or on_world:
        return None
    joints = [arm.link(k).joint for k in group.links[:3]]
    directions = [ORIGIN if joint.turns else joint.axis for joint in joints]
    columns = [rotate_point(joints[0].pose.rotation, direction) for direction in directions]
    x, y, z = (tuple(column[i] for column in columns) for i in range(3))
    return (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])


def _minus(a: Vector3, b: Vector3) -> Vector3:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _negative(a: Vector3) -> Vector3:
    return _minus(ORIGIN, a)


def first_of_subtrees(parents: Sequence[int]) -> list[int]:
    """The lowest link number in the subtree of each link; subtrees are contiguous ranges."""
    first = list(range(len(parents)))
    for k in range(1, len(parents)):
        parent = parents[k]
        if parent < len(parents):
            first[parent] = min(first[parent], first[k])
    return first


def float_table(parameters: Parameters) -> np.ndarray:
    """All real parameters of the arm, in the order of `layout`."""
    import numpy as np

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
    import numpy as np

    n, m = parameters.n, len(parameters.order)
    tables = np.zeros((layout.LINK_TABLES, n + 2), dtype=np.int64)
    for k, row in enumerate(parameters.links, start=1):
        order = (row.parent, first[k], row.is_revolute, row.coordinate, row.is_mimic)
        tables[: layout.PLACE, k] = (*order, row.joint_body, row.joint_parent, row.origin_fixed)
        tables[layout.TRAVELS, k] = row.frame_travels
    for k in range(n, 0, -1):
        parent = tables[layout.PARENT, k]
        tables[layout.BRANCH_ROOT, k] = k if parent > n else tables[layout.BRANCH_ROOT, parent]
    tables[layout.FIRST, n + 1] = 1
    tables[layout.PLACE, 1 : m + 1] = parameters.order
    for k, row in enumerate(parameters.links, start=1):
        if not row.is_mimic:
            tables[layout.LEADER, row.coordinate] = k
    partnered = [k for k, row in enumerate(parameters.links, start=1) if row.joint_body != k]
    tables[layout.PARTNERED, : len(partnered) + 1] = (len(partnered), *partnered)
    loads = [load.link for load in parameters.loads]
    links = [parameters.tip.link, *loads, *(frame.link for frame in _closed_frames(parameters))]
    return np.concatenate([tables.ravel(), np.array(links, dtype=np.int64)])
