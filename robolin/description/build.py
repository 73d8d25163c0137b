"""A description and a choice of options become an arm.

Fixed and locked joints disappear: their links are merged into the moving link that carries
them and live on as frames.  The moving links are numbered against the public walk, so that
children come before parents and every subtree is a contiguous range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from robolin.arm import (
    Arm,
    Frame,
    Inertia,
    Joint,
    JointKind,
    Link,
    Pose,
    Vector3,
)
from robolin.description.contract import contract_of
from robolin.description.merge import merged, placed, standing, unit
from robolin.description.model import Description, JointEntry
from robolin.description.option_checks import value_problems
from robolin.description.options import ModelOptions
from robolin.description.selection import (
    Selection,
    movement_problems,
    public_order,
    select,
    selection_problems,
)
from robolin.description.tree import Tree, tree_of
from robolin.errors import RobolinError, raise_all
from robolin.rotations import apply, compose

STANDARD_GRAVITY: Vector3 = (0.0, 0.0, -9.81)
DEFAULTS = ModelOptions()


def build(description: Description, options: ModelOptions = DEFAULTS) -> Arm:
    """The arm that a description is under the given options."""
    tree = tree_of(description)
    raise_all([*selection_problems(tree, options), *value_problems(tree, options)])
    selection = select(tree, options)
    joint_names, order_problems = public_order(tree, selection, options.joints)
    raise_all([*movement_problems(tree, selection, options), *order_problems])

    frames = _frames(tree, selection)
    arm = Arm(
        name=description.name,
        links=_links(tree, selection, frames, options),
        frames=frames,
        joint_names=joint_names,
        still_joints=_still(tree, selection),
        gravity=options.gravity or description.gravity or STANDARD_GRAVITY,
        damping=options.damping,
        friction_velocity=options.friction_velocity,
        wrenches=tuple(options.wrenches),
        source=description.source,
        digest=description.digest,
    )
    return replace(arm, contract=contract_of(tree, selection, options, arm))


def _still(tree: Tree, selection: Selection) -> tuple[str, ...]:
    """Joints that could move but are locked or off the chain."""
    moving = {joint.name for joint in selection.moving}
    movable = (joint.name for joint in tree.joints if joint.kind != "fixed")
    return tuple(name for name in movable if name not in moving)


def _frames(tree: Tree, selection: Selection) -> dict[str, Frame]:
    """Every link of the description on the moving link, or the base, that carries it."""
    count = len(selection.moving)
    number = {joint.child: count - i for i, joint in enumerate(selection.moving)}
    root = tree.description.root
    frames = {root: Frame(root, count + 1)}
    for joint in tree.joints:
        if joint.child in number:
            frames[joint.child] = Frame(joint.child, number[joint.child])
        else:
            carrier = frames[joint.parent]
            pose = standing(joint, selection.standing.get(joint.name, 0.0))
            frames[joint.child] = Frame(joint.child, carrier.link, compose(carrier.pose, pose))
    return frames


def _links(
    tree: Tree, selection: Selection, frames: Mapping[str, Frame], options: ModelOptions
) -> tuple[Link, ...]:
    """The moving links from tip to base, each with all it carries."""
    bodies = _bodies(tree, frames, options)
    carried: dict[int, list[str]] = {}
    for frame in frames.values():
        carried.setdefault(frame.link, []).append(frame.name)
    links = []
    for joint in reversed(selection.moving):
        k = frames[joint.child].link
        inboard = frames[joint.parent]
        link = Link(
            name=joint.child,
            joint=_joint(tree, joint, inboard.pose, options.armature),
            parent=inboard.link,
            inertia=_body(joint, bodies.get(k, [])),
            merged=tuple(name for name in carried[k] if name != joint.child),
        )
        links.append(link)
    return tuple(links)


def _bodies(
    tree: Tree, frames: Mapping[str, Frame], options: ModelOptions
) -> dict[int, list[Inertia]]:
    """What each numbered link is made of, in that link's frame: own, merged and payload."""
    bodies: dict[int, list[Inertia]] = {}
    for entry in tree.description.links:
        if entry.inertia is not None:
            frame = frames[entry.name]
            bodies.setdefault(frame.link, []).append(placed(entry.inertia, frame.pose))
    for payload in options.payload:
        frame = frames[payload.frame]
        point = Inertia(payload.mass, apply(frame.pose, payload.position))
        bodies.setdefault(frame.link, []).append(point)
    return bodies


def _body(joint: JointEntry, parts: list[Inertia]) -> Inertia:
    try:
        return merged(parts)
    except ZeroDivisionError as error:
        message = f"the masses that joint '{joint.name}' carries add up to zero"
        hint = "a mass below zero cancels the others; check the masses merged into this link"
        raise RobolinError(message, where=str(joint.place), hint=hint) from error


def _joint(tree: Tree, joint: JointEntry, carrier: Pose, armature: Mapping[str, float]) -> Joint:
    """A moving joint, of a kind that moves, placed on the moving link that carries its parent."""
    return Joint(
        name=joint.name,
        kind=cast(JointKind, joint.kind),
        pose=compose(carrier, joint.pose),
        axis=unit(joint.axis),
        limits=joint.limits,
        damping=joint.damping,
        friction=joint.friction,
        armature=armature.get(joint.name, joint.armature),
        mimic=tree.mimic.get(joint.name),
    )
