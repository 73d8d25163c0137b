"""Physical parameters of an arm, and small changes of them.

Torques are linear in the parameters that `core/arm_parameters.py` lists.  The physical parameters
are the rest position of springs, the centre of mass c and the inertia I about it.
`physical_to_linear_map` converts small changes of physical to linear parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robolin.core.arm import ORIGIN, Arm, Inertia, Vector3
from robolin.core.arm_parameters import OF_LINK as OF_LINK
from robolin.core.arm_parameters import OF_SPRING as OF_SPRING
from robolin.core.arm_parameters import Parameter as Parameter
from robolin.core.arm_parameters import base_to_tip, linear_values, steiner
from robolin.core.arm_parameters import parameters as parameters
from robolin.core.arm_parts import apply
from robolin.core.arrays import AnyArray
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError

NATURAL_OF_LINK = ("mass", "com_x", "com_y", "com_z", *OF_LINK[4:])
NATURAL_OF_SPRING = ("stiffness", "rest")

# link, mass, and optionally the position in the link's frame (default: its origin)
PayloadChange = tuple[str, float] | tuple[str, float, Vector3]


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
    for _, link in base_to_tip(arm):
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


def _natural_columns(body: Inertia) -> AnyArray:
    """Derivatives of m, s and J by m and c, of shape (10, 4)."""
    c = np.array(body.com)
    columns = np.zeros((10, 4))
    columns[:, 0] = [1.0, *c, *steiner(c, c)]
    for i, axis in enumerate(np.eye(3)):
        columns[1 + i, 1 + i] = body.mass
        columns[4:, 1 + i] = 2.0 * body.mass * steiner(c, axis)
    return columns


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
