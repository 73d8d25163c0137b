"""Parameters of an arm's links and joints: names, values and changes.

Torques are linear in ten numbers per moving link, all in the link's own frame:

    mass      m
    mx my mz  the first moment s = m c
    ixx … izz the rotary inertia J about the frame's origin

and in the damping, the armature and the Coulomb friction of every joint.  If joints have
springs k (q - rest), torques are linear in `stiffness` k and in `rest_torque` k · rest.  The
physical parameters are the rest position, the centre of mass c and the inertia I about it,
J = I + m K(c) with K(c) = |c|² 1 - c cᵀ.
`physical_to_linear_map` converts small changes of physical to linear parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robolin.core.arm import ORIGIN, Arm, Inertia, Link, Vector3
from robolin.core.arm_parts import apply
from robolin.core.arrays import AnyArray
from robolin.core.text import did_you_mean
from robolin.dynamics.algebra.comparison import REGRESSOR_COLUMNS, SPRING_COLUMNS
from robolin.errors import RobolinError, UsageError

OF_LINK = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
NATURAL_OF_LINK = ("mass", "com_x", "com_y", "com_z", *OF_LINK[4:])
OF_JOINT = ("damping", "armature", "friction")
OF_SPRING = ("stiffness", "rest_torque")
NATURAL_OF_SPRING = ("stiffness", "rest")
# parameters of a joint with one-sided friction, instead of `friction`
OF_SIDES = ("friction_positive", "friction_negative")

# link, mass, and optionally the position in the link's frame (default: its origin)
PayloadChange = tuple[str, float] | tuple[str, float, Vector3]

_TRIANGLE = np.triu_indices(3)


@dataclass(frozen=True)
class Parameter:
    """One parameter that torques are linear in.

    column: index of its column in the algorithm's output, link by link; columns of springs, and
        of friction for negative velocities, follow those of all links
    """

    column: int
    owner: str
    name: str
    value: float

    @property
    def label(self) -> str:
        return f"{self.owner}/{self.name}"


def parameters(arm: Arm) -> tuple[Parameter, ...]:
    """All parameters, links base to tip, each followed by those of the joint that moves it."""
    return tuple(
        parameter
        for i, (k, link) in enumerate(_base_to_tip(arm))
        for parameter in (*_of_link(arm, k, link, i * REGRESSOR_COLUMNS), *_of_spring(arm, k, i))
    )


def joint_slides(arm: Arm) -> dict[str, bool]:
    """Map joint names to whether the joint is prismatic, which determines units."""
    return {link.joint.name: link.joint.kind == "prismatic" for link in arm.links}


def physical_names(arm: Arm) -> tuple[str, ...]:
    """Labels of `parameters`, with centres of mass instead of first moments."""
    linear, intuitive = (*OF_LINK, *OF_SPRING), (*NATURAL_OF_LINK, *NATURAL_OF_SPRING)
    natural = dict(zip(linear, intuitive, strict=True))
    return tuple(f"{p.owner}/{natural.get(p.name, p.name)}" for p in parameters(arm))


def physical_to_linear_map(arm: Arm) -> AnyArray:
    """∂(linear parameters)/∂(physical parameters), of shape (p, p).

    mass       at constant centre of mass and inertia about it: s, J grow by c, K(c)
    com_x …    s by m, J by m ∂K/∂c
    stiffness  at constant rest position: the rest torque grows by it
    rest       the rest torque by the stiffness
    all else   by itself
    """
    listed = parameters(arm)
    change = np.eye(len(listed))
    first = {p.owner: at for at, p in enumerate(listed) if p.name == OF_LINK[0]}
    for _, link in _base_to_tip(arm):
        if link.name in first:
            at = first[link.name]
            change[at : at + 10, at : at + 4] = _natural_columns(link.inertia)
    springs = {p.owner: at for at, p in enumerate(listed) if p.name == OF_SPRING[0]}
    for link in arm.links:
        if link.joint.name in springs:
            at = springs[link.joint.name]
            change[at + 1, at : at + 2] = link.joint.rest, link.joint.stiffness
    return change


def parameter_changes(
    arm: Arm,
    named: Mapping[str, float],
    payloads: Sequence[PayloadChange] = (),
    others: Sequence[str] = (),
) -> AnyArray:
    """δπ of shape (p,) for small changes of physical parameters and for added point masses.

    others: names that are valid elsewhere, for suggestions
    """
    names = physical_names(arm)
    natural = np.zeros(len(names))
    for name, change in named.items():
        if name not in names:
            raise _unknown(arm, name, (*names, *others))
        natural[names.index(name)] += sound_change(name, change)
    total = physical_to_linear_map(arm) @ natural
    for payload in payloads:
        at, block = _payload(arm, *_mass_and_position(payload))
        total[at : at + 10] += block
    return total


def _base_to_tip(arm: Arm) -> Iterator[tuple[int, Link]]:
    return ((k, arm.link(k)) for k in range(len(arm.links), 0, -1))


def _of_link(arm: Arm, k: int, link: Link, start: int) -> Iterator[Parameter]:
    # a multi-DoF joint has one body, its outermost link
    inner = {number for group in arm.groups for number in group.links if number != group.body}
    if k not in inner:
        for i, value in enumerate(linear_values(link.inertia)):
            yield Parameter(start + i, link.name, OF_LINK[i], value)
    joint = link.joint
    applied = (joint.damping if arm.damping else 0.0, joint.armature)
    for i, (name, value) in enumerate(zip(OF_JOINT, applied, strict=False), start=10):
        yield Parameter(start + i, joint.name, name, value)
    if arm.friction_velocity is None:
        return
    if joint.friction_negative is None:
        yield Parameter(start + 12, joint.name, OF_JOINT[2], joint.friction)
        return
    before = REGRESSOR_COLUMNS + (SPRING_COLUMNS if arm.has_springs else 0)
    extra = len(arm.links) * before + start // REGRESSOR_COLUMNS
    for column, name, value in zip(
        (start + 12, extra), OF_SIDES, joint.friction_sides, strict=True
    ):
        yield Parameter(column, joint.name, name, value)


def _of_spring(arm: Arm, k: int, i: int) -> Iterator[Parameter]:
    """Spring parameters of a single-DoF joint; they follow all others."""
    if arm.has_springs and not any(k in group.links for group in arm.groups):
        start, joint = len(arm.links) * REGRESSOR_COLUMNS + i * SPRING_COLUMNS, arm.link(k).joint
        yield Parameter(start, joint.name, OF_SPRING[0], joint.stiffness)
        yield Parameter(start + 1, joint.name, OF_SPRING[1], joint.stiffness * joint.rest)


def linear_values(body: Inertia) -> list[float]:
    """m, m c and J of a body."""
    c = np.array(body.com)
    J = np.array(body.rotary) + body.mass * _steiner(c, c)
    return [body.mass, *(body.mass * c).tolist(), *J.tolist()]


def _natural_columns(body: Inertia) -> AnyArray:
    """Derivatives of m, s and J by m and c, of shape (10, 4)."""
    c = np.array(body.com)
    columns = np.zeros((10, 4))
    columns[:, 0] = [1.0, *c, *_steiner(c, c)]
    for i, axis in enumerate(np.eye(3)):
        columns[1 + i, 1 + i] = body.mass
        columns[4:, 1 + i] = 2.0 * body.mass * _steiner(c, axis)
    return columns


def _steiner(a: AnyArray, b: AnyArray) -> AnyArray:
    """(a·b) 1 - ½ (a bᵀ + b aᵀ), its xx xy xz yy yz zz; K(c) for a = b = c."""
    outer = np.outer(a, b)
    return (np.dot(a, b) * np.eye(3) - 0.5 * (outer + outer.T))[_TRIANGLE]


def sound_change(name: str, change: object) -> float:
    """Convert a change to a finite number, or raise."""
    if isinstance(change, bool) or not isinstance(change, (int, float, np.floating, np.integer)):
        raise UsageError(f"the change must be a number, got {change!r}", where=name)
    if not np.isfinite(change):
        raise UsageError(f"the change must be finite, got {change}", where=name)
    return float(change)


def _mass_and_position(payload: PayloadChange) -> tuple[str, float, Vector3]:
    hint = "give (link, mass) or (link, mass, (x, y, z))"
    if not isinstance(payload, (tuple, list)) or len(payload) not in (2, 3):
        raise UsageError(f"payload: invalid value {payload!r}", hint=hint)
    link, mass, *position_given = payload
    position = position_given[0] if position_given else ORIGIN
    if len(position) != 3:
        raise UsageError(
            f"payload: the position must be three numbers, got {position!r}", hint=hint
        )
    x, y, z = (sound_change(f"payload on '{link}'", value) for value in position)
    return str(link), sound_change(f"payload on '{link}'", mass), (x, y, z)


def _payload(arm: Arm, frame: str, mass: float, position: Vector3) -> tuple[int, AnyArray]:
    """Index of the first parameter of the link that carries the frame, and the increments."""
    if frame not in arm.frames:
        hint = did_you_mean(frame, arm.frames, f"links: {', '.join(arm.frames)}")
        raise UsageError(f"payload: link '{frame}' not found", hint=hint)
    attachment = arm.frames[frame]
    if attachment.link == arm.base:
        raise UsageError(
            f"payload: link '{frame}' is fixed to the base", hint="choose a moving link"
        )
    point = Inertia(mass, apply(attachment.pose, position))
    listed = [(p.owner, p.name) for p in parameters(arm)]
    return listed.index((arm.link(attachment.link).name, "mass")), np.array(linear_values(point))


def _unknown(arm: Arm, name: str, names: Sequence[str]) -> RobolinError:
    """Error for an unknown parameter, with the most likely reason."""
    owner, _, quantity = name.rpartition("/")
    carriers = {part: link.name for link in arm.links_tip_to_base for part in link.merged}
    if owner in carriers:
        hint = (
            f"change link '{carriers[owner]}', into which it is merged, or add a point mass: "
            f"--payload-change {owner}:MASS"
        )
        return UsageError(
            f"link '{owner}' is merged and has no parameters of its own", where=name, hint=hint
        )
    if quantity.partition("_")[0] == "friction" and arm.friction_velocity is None:
        hint = "add --friction-velocity to include Coulomb friction"
        return UsageError("Coulomb friction is not in the model", where=name, hint=hint)
    hint = did_you_mean(name, names, f"parameters have names like '{names[0]}'")
    return UsageError("parameter not found", where=name, hint=hint)
