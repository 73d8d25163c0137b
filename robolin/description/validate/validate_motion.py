"""What is odd once fixed joints are merged: joints that move nothing, links that weigh nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import hypot

from robolin.arm import Arm, Inertia, Link, Vector3
from robolin.description.building.merge import inertia_about, merged_inertia, placed
from robolin.description.model import Description, Finding, JointEntry
from robolin.description.validate.validation_ids import finding

# what rounding leaves of an inertia about an axis through the mass, against one across it
NEGLIGIBLE_AXIS_INERTIA = 1e-12
AXES: tuple[Vector3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def link_sizes(arm: Arm) -> Mapping[str, float]:
    """For every link that moves, how far apart its joints, frames and centre of mass are.

    Links merged into one share its size; those on the base have none, they do not move.
    """
    sizes = [
        hypot(*link.inertia.com) + hypot(*link.joint.pose.translation)
        for link in arm.links_tip_to_base
    ]
    for link in arm.links_tip_to_base:
        if link.parent != arm.base:
            reach = hypot(*link.joint.pose.translation)
            sizes[link.parent - 1] = max(sizes[link.parent - 1], reach)
    for frame in arm.frames.values():
        if frame.link != arm.base:
            reach = hypot(*frame.pose.translation)
            sizes[frame.link - 1] = max(sizes[frame.link - 1], reach)
    return {
        name: sizes[frame.link - 1] for name, frame in arm.frames.items() if frame.link != arm.base
    }


def motion_findings(description: Description, arm: Arm) -> Iterator[Finding]:
    """Joints that nothing resists, and weightless links that carry others."""
    entries = {joint.name: joint for joint in description.joints}
    carried = _carried(arm)
    idle = {k for k, body in enumerate(carried, start=1) if _unresisted(arm.link(k), body)}
    # a leader and its followers are one coordinate: one of them that is resisted is enough
    resisted = {arm.coordinates[k - 1] for k in range(1, arm.base) if k not in idle}
    for k in range(arm.base - 1, 0, -1):
        link, joint = arm.link(k), entries[arm.joint_of(k)]
        if k in arm.stand_ins:
            continue
        if k in idle and arm.coordinates[k - 1] not in resisted:
            yield _no_inertia(joint, carried[k - 1])
        elif link.inertia == Inertia() and carried[k - 1].mass:
            place = joint.place
            message = (
                f"link '{link.name}' moves but weighs nothing, though it carries links that do"
            )
            hint = "fine between joints with different axes; otherwise the forward verbs fail"
            yield finding("massless-link", place, message, hint)


def _no_inertia(joint: JointEntry, body: Inertia) -> Finding:
    why = "nothing it carries has mass" if body == Inertia() else "its load has none about it"
    if joint.kind == "prismatic":
        why = "nothing it carries has mass"
    message = f"joint '{joint.name}' meets no inertia: {why}; forward verbs will fail there"
    hint = f"give link '{joint.child}' its mass and inertia, or --armature {joint.name}=VALUE, "
    return finding("no-inertia-at-joint", joint.place, message, hint + "or lock it")


def _carried(arm: Arm) -> list[Inertia]:
    """For links 1, 2, …: all that moves with the link at q = 0, as one body in its frame."""
    parts: list[list[Inertia]] = [[link.inertia] for link in arm.links_tip_to_base]
    carried: list[Inertia] = []
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        body = _sum(parts[k - 1])
        carried.append(body)
        if link.parent != arm.base:
            parts[link.parent - 1].append(placed(body, link.joint.pose))
    return carried


def _sum(parts: list[Inertia]) -> Inertia:
    """The parts as one body; masses that cancel are reported as negative, here they are none."""
    try:
        return merged_inertia(parts)
    except ZeroDivisionError:
        return Inertia()


def _unresisted(link: Link, body: Inertia) -> bool:
    """Whether the joint's own entry of the mass matrix vanishes, in this pose and so in all.

    It does not depend on the joint's position, and with possible bodies it is a sum of terms
    that are not negative: zero in one pose of the outer joints means every term is zero.
    """
    if link.joint.armature > 0.0:
        return False
    if not link.joint.turns:
        return body.mass <= 0.0
    across = max(abs(inertia_about(body, axis)) for axis in AXES)
    return inertia_about(body, link.joint.axis) <= NEGLIGIBLE_AXIS_INERTIA * across
