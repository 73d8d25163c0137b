"""An arm as the numbers its algorithms run on: one row per link, every joint axis along z.

Choosing the link frames so that each joint turns about, or slides along, its own z axis makes the
placement of a link the cheapest it can be.  Frames, loads and bodies are carried over once, here.
The inertial frame has the axes of the description's root and its origin at the first joint,
because rounding errors grow with the square of the distance between the arm and that origin.
"""

from __future__ import annotations

from dataclasses import dataclass

from robolin.arm import IDENTITY, ORIGIN, Arm, Matrix3, Rotary, Vector3, Wrench
from robolin.rotations import matmul, rotate, transpose, turned_rotary


@dataclass(frozen=True, slots=True)
class LinkRow:
    """The constants of one link and the joint inboard of it."""

    name: str
    parent: int
    turns: bool
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
    shift: float
    follows: bool


@dataclass(frozen=True, slots=True)
class LoadRow:
    """An external wrench as the arm exerts it on its surroundings."""

    link: int
    model: str
    axes: Matrix3
    point: Vector3
    force: Vector3
    moment: Vector3


@dataclass(frozen=True)
class Parameters:
    """All numbers of an arm; links tip to base, `order[c]` the public place of coordinate c."""

    links: tuple[LinkRow, ...]
    loads: tuple[LoadRow, ...]
    gravity: Vector3
    friction_velocity: float | None
    order: tuple[int, ...]
    joint_names: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.links)

    @property
    def serial(self) -> bool:
        return all(link.parent == k + 1 for k, link in enumerate(self.links, start=1))

    @property
    def mimics(self) -> bool:
        return len(self.order) < self.n


def parameters_of(arm: Arm) -> Parameters:
    """The arm's numbers, in the frames the algorithms want."""
    axes = {arm.base: IDENTITY}
    for k, link in enumerate(arm.links, start=1):
        axes[k] = _axis_to_z(link.joint.axis)
    origin = _origin(arm)

    # coordinates are numbered from the tip like links, by the link their own joint moves
    leaders = [k for k, link in enumerate(arm.links, start=1) if link.joint.mimic is None]
    order = tuple(arm.coordinates[k - 1] for k in leaders)
    number = {public: c for c, public in enumerate(order, start=1)}

    rows = []
    for k, link in enumerate(arm.links, start=1):
        joint, inward = link.joint, transpose(axes[link.parent])
        offset = joint.pose.translation
        if link.parent == arm.base:
            offset = _minus(offset, origin)
        body = transpose(axes[k])
        rows.append(
            LinkRow(
                name=joint.name,
                parent=link.parent,
                turns=joint.turns,
                rotation=matmul(inward, matmul(joint.pose.rotation, axes[k])),
                offset=rotate(inward, offset),
                mass=link.inertia.mass,
                com=rotate(body, link.inertia.com),
                rotary=turned_rotary(body, link.inertia.rotary),
                armature=joint.armature,
                damping=joint.damping if arm.damping else 0.0,
                friction=joint.friction if arm.friction_velocity is not None else 0.0,
                coordinate=number[arm.coordinates[k - 1]],
                ratio=joint.mimic.ratio if joint.mimic else 1.0,
                shift=joint.mimic.offset if joint.mimic else 0.0,
                follows=joint.mimic is not None,
            )
        )
    loads = tuple(
        load
        for wrench in arm.wrenches
        if (load := _load(arm, wrench, axes, origin)).link != arm.base
    )
    return Parameters(
        tuple(rows), loads, arm.gravity, arm.friction_velocity, order, arm.joint_names
    )


def _load(arm: Arm, wrench: Wrench, axes: dict[int, Matrix3], origin: Vector3) -> LoadRow:
    frame = arm.frames[wrench.frame]
    inward = transpose(axes[frame.link])
    # the user says what is applied to the arm; the papers count what the arm exerts
    force, moment = _negative(wrench.force), _negative(wrench.moment)
    if wrench.model == "world":
        return LoadRow(frame.link, "world", IDENTITY, _negative(origin), force, moment)
    return LoadRow(
        link=frame.link,
        model=wrench.model,
        axes=matmul(inward, frame.pose.rotation),
        point=rotate(inward, frame.pose.translation),
        force=force,
        moment=moment,
    )


def _origin(arm: Arm) -> Vector3:
    """Where the inertial frame sits: the first joint, or the middle of several on the base."""
    roots = [link.joint.pose for link in arm.links if link.parent == arm.base]
    middle = [sum(pose.translation[i] for pose in roots) / len(roots) for i in range(3)]
    return (middle[0], middle[1], middle[2])


def _axis_to_z(axis: Vector3) -> Matrix3:
    """A rotation whose third column is the axis: exact for axes along x, y or z."""
    x, y, z = axis
    if z == 1.0 and x == y == 0.0:
        return IDENTITY
    # the smallest component is the safest to turn against
    i = min(range(3), key=lambda j: abs(axis[j]))
    other = tuple(1.0 if j == i else 0.0 for j in range(3))
    first = _cross(other, axis)
    size = (first[0] ** 2 + first[1] ** 2 + first[2] ** 2) ** 0.5
    u = (first[0] / size, first[1] / size, first[2] / size)
    v = _cross(axis, u)
    return (u[0], v[0], x, u[1], v[1], y, u[2], v[2], z)


def _cross(a: tuple[float, ...], b: tuple[float, ...]) -> Vector3:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _minus(a: Vector3, b: Vector3) -> Vector3:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _negative(a: Vector3) -> Vector3:
    return _minus(ORIGIN, a)
