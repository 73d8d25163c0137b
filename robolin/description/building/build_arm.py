"""Construction of an arm from a description and model options.

Fixed and locked joints are removed: their links are merged into the moving link that carries
them and become frames.  The moving links are numbered in reverse depth-first order, so that
children come before parents and every subtree is a contiguous range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from math import hypot, sqrt
from typing import Any, cast

from robolin.core.arm import (
    GROUP_FREEDOMS,
    ORIGIN,
    Arm,
    Frame,
    Group,
    Inertia,
    Joint,
    JointKind,
    Link,
    Loop,
    Pose,
    Vector3,
    with_load_options,
)
from robolin.core.arm_parts import (
    NO_BODY,
    apply,
    compose,
    inverse_rotation,
    merged_inertia,
    placed,
    unit,
    without_direction,
)
from robolin.core.text import quote_list
from robolin.description.building.contract import contract_of
from robolin.description.building.keywords import ModelOptions
from robolin.description.building.selection import (
    Selection,
    friction_velocities,
    nothing_moves,
    order_problems,
    selection_problems,
    spring_problems,
    value_problems,
)
from robolin.description.model import (
    STANDARD_GRAVITY,
    Description,
    JointEntry,
    LoopEnd,
    LoopEntry,
    coordinate_names,
    group_kind,
    model_dict_of,
    standing_pose,
)
from robolin.description.multi_dof_joints import (
    FLOATING_BASE,
    floating_problems,
    joints_of_group,
    with_base_joint,
)
from robolin.description.structure import Tree, tree_of
from robolin.errors import RobolinError, UsageError, raise_all

DEFAULTS = ModelOptions()


def build(
    description: Description,
    options: ModelOptions = DEFAULTS,
    source: str | None = None,
    notes: Sequence[str] = (),
    loaded_with: Mapping[str, Any] | None = None,
) -> Arm:
    """Build the arm of a description with model options.

    source:      name of the source, if it differs from the name of the file
    notes:       additional notes for the contract
    loaded_with: arguments that load the same arm again
    """
    if options.floating_base:
        raise_all([*floating_problems(description)])
        description = with_base_joint(description, options.base_joint)
    tree = tree_of(description)
    selection, joint_names = _selected(tree, options)
    frames = _frames(tree, selection)
    if options.floating_base and options.base:
        frames = _seen_from(options.base, frames)
    moving, one = selection.moving, options.friction_velocity
    in_file = options.friction and any(joint.friction_velocity is not None for joint in moving)
    own = friction_velocities(moving, one) if in_file or one is not None else {}
    # a joint without friction takes the largest
    velocity = max(own.values()) if own else None if isinstance(one, Mapping) else one
    contract: dict[str, Any] = {}
    arm = Arm(
        name=description.name,
        links_tip_to_base=_links(tree, selection, frames, options, own),
        frames=frames,
        joint_names=joint_names,
        groups=_groups(selection, frames),
        floating_base=options.floating_base,
        locked_joints=_still(tree, selection),
        gravity=_gravity(options.gravity, description.gravity or STANDARD_GRAVITY),
        damping=options.damping,
        springs=options.springs,
        friction_velocity=velocity,
        wrenches=tuple(options.wrenches),
        loops=_loops(tree, selection, frames, options),
        dh_rows=tuple(joint.dh for joint in selection.moving if joint.dh is not None),
        named_poses=_poses(description, joint_names),
        contract=contract,
        model_dict=model_dict_of(description),
        tip=_tip(tree, frames, options),
        source=description.source if source is None else source,
        digest=description.digest,
    )
    # the contract describes the arm, so it needs a complete arm
    contract |= contract_of(tree, selection, options, arm, notes)
    return with_load_options(arm, loaded_with)


def _selected(tree: Tree, options: ModelOptions) -> tuple[Selection, tuple[str, ...]]:
    """The moving and locked joints, and the independent joints in public order."""
    if options != DEFAULTS and (
        problems := [*selection_problems(tree, options), *value_problems(tree, options)]
    ):
        raise_all(problems)
    selection = _select(tree, options)
    moving = selection.moving
    problems = [] if moving else [nothing_moves(tree, selection, options)]
    if options.springs and any(joint.stiffness and group_kind(joint) for joint in moving):
        problems += spring_problems(selection, options)
    names = {
        joint.name: coordinate_names(joint) for joint in moving if joint.name not in tree.mimic
    }
    order = independent = tuple(name for several in names.values() for name in several)
    if options.joints is not None:
        # the name of a multi-DoF joint stands for all of its coordinates
        order = tuple(name for entry in options.joints for name in names.get(entry, (entry,)))
        problems += order_problems(tree, independent, order)
    if problems:
        raise_all(problems)
    return selection, order


def _select(tree: Tree, options: ModelOptions) -> Selection:
    """Select the moving joints; a mimic joint of a locked joint is locked too."""
    chain = _chain(tree, options)
    moving: list[JointEntry] = []
    standing: dict[str, float] = {}
    off_chain: list[str] = []
    stranded: list[str] = []
    for joint in tree.joints:
        rule = tree.mimic.get(joint.name)
        leader = rule.leader if rule else joint.name
        if joint.kind == "fixed":
            continue
        if joint.name in chain and leader in chain and leader not in options.lock:
            moving.append(joint)
        else:
            position = options.lock.get(leader, 0.0)
            standing[joint.name] = rule.ratio * position + rule.offset if rule else position
            if leader not in options.lock:
                (stranded if joint.name in chain else off_chain).append(joint.name)
    return Selection(tuple(moving), standing, tuple(off_chain), tuple(stranded))


def _chain(tree: Tree, options: ModelOptions) -> set[str]:
    """The joints between base and tip: outboard of the base, inboard of the tip."""
    base = options.base or tree.description.root
    free = {FLOATING_BASE} if options.floating_base else set()
    if options.tip is not None:
        path = takewhile(lambda joint: joint.child != base, tree.inboard(options.tip))
        return free | {joint.name for joint in path}
    outboard = {base}
    for joint in tree.joints:
        if joint.parent in outboard:
            outboard.add(joint.child)
            free.add(joint.name)
    return free


def _loops(
    tree: Tree, selection: Selection, frames: Mapping[str, Frame], options: ModelOptions
) -> tuple[Loop, ...]:
    """The moving loop closures; none with the option to open loops."""
    if options.open_loops or not tree.description.loops:
        return ()
    raise_all(list(loop_problems(tree, selection, frames)))
    return loops_of(tree, frames)[0]


def _gravity(value: Vector3 | float | None, own: Vector3) -> Vector3:
    """The requested gravity; a magnitude has the direction of the description's own, or -z."""
    if value is None or isinstance(value, tuple):
        return own if value is None else value
    x, y, z = unit(STANDARD_GRAVITY if without_direction(own) else own)
    return (x * value, y * value, z * value) if value else ORIGIN


def _poses(
    description: Description, joint_names: Sequence[str]
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The named poses for these joints; positions of all other joints are ignored."""
    return tuple(
        (pose.name, tuple(pose.positions.get(name, 0.0) for name in joint_names))
        for pose in description.poses
    )


def _tip(tree: Tree, frames: Mapping[str, Frame], options: ModelOptions) -> Frame | None:
    """The frame chosen as the tip, or the only moving link without children."""
    if options.tip:
        return frames[options.tip]
    parents, root = {joint.parent for joint in tree.joints}, frames[tree.description.root]
    ends = [
        frame for name, frame in frames.items() if name not in parents and frame.link != root.link
    ]
    return ends[0] if len(ends) == 1 else None


def _still(tree: Tree, selection: Selection) -> tuple[str, ...]:
    """Joints that could move but are locked or off the chain."""
    moving = {joint.name for joint in selection.moving}
    movable = (joint.name for joint in tree.joints if joint.kind != "fixed")
    return tuple(name for name in movable if name not in moving)


def _frames(tree: Tree, selection: Selection) -> dict[str, Frame]:
    """Every link of the description as a frame on the moving link, or the base, it is fixed to."""
    last = sum(len(coordinate_names(joint)) for joint in selection.moving)
    number, k = {}, last + 1
    for joint in selection.moving:
        k -= len(coordinate_names(joint))
        number[joint.child] = k
    root = tree.description.root
    frames = {root: Frame(root, last + 1)}
    for joint in tree.joints:
        if joint.child in number:
            frames[joint.child] = Frame(joint.child, number[joint.child])
        else:
            carrier = frames[joint.parent]
            pose = standing_pose(joint, selection.standing.get(joint.name, 0.0))
            frames[joint.child] = Frame(joint.child, carrier.link, compose(carrier.pose, pose))
    return frames


def _seen_from(base: str, frames: Mapping[str, Frame]) -> dict[str, Frame]:
    """The frames, with those on the floating body relative to the link chosen as its base."""
    body, back = frames[base].link, inverse_rotation(frames[base].pose)
    moved = {
        name: Frame(name, body, compose(back, frame.pose)) if frame.link == body else frame
        for name, frame in frames.items()
    }
    return {**moved, base: Frame(base, body)}


def _links(
    tree: Tree,
    selection: Selection,
    frames: Mapping[str, Frame],
    options: ModelOptions,
    velocities: Mapping[str, float],
) -> tuple[Link, ...]:
    """The moving links from tip to base, each with the bodies merged into it."""
    bodies = _bodies(tree, frames, options)
    carried: dict[int, list[str]] = {}
    for frame in frames.values():
        carried.setdefault(frame.link, []).append(frame.name)
    links = []
    for joint in reversed(selection.moving):
        k = frames[joint.child].link
        inboard = frames[joint.parent]
        *inner, outermost = _joints(tree, joint, inboard.pose, options.armature, velocities)
        chosen = options.base if options.floating_base and joint.name == FLOATING_BASE else None
        name = chosen or joint.child
        link = Link(
            name=name,
            joint=outermost,
            parent=k + 1 if inner else inboard.link,
            inertia=_body(joint, bodies.get(k, [])),
            merged=tuple(other for other in carried[k] if other != name),
        )
        links.append(link)
        links.extend(_weightless(inner, k, inboard.link))
    return tuple(links)


def _weightless(inner: Sequence[Joint], body: int, inboard: int) -> Iterator[Link]:
    """The massless virtual links of a multi-DoF joint without its body, outermost first."""
    for k, joint in enumerate(reversed(inner), start=body + 1):
        innermost = k == body + len(inner)
        yield Link(joint.name, joint, inboard if innermost else k + 1, NO_BODY)


def _groups(selection: Selection, frames: Mapping[str, Frame]) -> tuple[Group, ...]:
    """The multi-DoF joints, in public order, with their virtual links."""
    groups = []
    for joint in selection.moving:
        if kind := group_kind(joint):
            body = frames[joint.child].link
            innermost = body + len(GROUP_FREEDOMS[kind]) - 1
            groups.append(Group(joint.name, kind, tuple(range(innermost, body - 1, -1))))
    return tuple(groups)


def _bodies(
    tree: Tree, frames: Mapping[str, Frame], options: ModelOptions
) -> dict[int, list[Inertia]]:
    """The bodies of each numbered link, in that link's frame: own, merged and payload."""
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
        return merged_inertia(parts)
    except ZeroDivisionError as error:
        message = f"joint '{joint.name}': the masses of its child link and of the links fixed to "
        message += "it sum to zero"
        hint = "look for a negative mass among these links"
        raise RobolinError(message, where=str(joint.location), hint=hint) from error


def _joints(
    tree: Tree,
    joint: JointEntry,
    carrier: Pose,
    armature: Mapping[str, float],
    velocities: Mapping[str, float],
) -> Iterator[Joint]:
    """Place a joint on the moving link that carries its parent; one joint per coordinate."""
    pose = compose(carrier, joint.pose)
    if kind := group_kind(joint):
        yield from joints_of_group(joint, kind, pose, armature, velocities)
        return
    yield Joint(
        name=joint.name,
        kind=cast(JointKind, joint.kind),
        pose=pose,
        axis=unit(joint.axis),
        limits=joint.limits,
        damping=joint.damping,
        friction=joint.friction,
        friction_negative=joint.friction_negative,
        friction_velocity=velocities.get(joint.name),
        armature=armature.get(joint.name, joint.armature),
        mimic=tree.mimic.get(joint.name),
        actuated=joint.actuated,
        stiffness=joint.stiffness,
        rest=joint.rest,
    )


# tolerated violation, in m or rad, of a closure whose joints are all locked
CLOSED_WITHIN = 1e-6

OPEN_LOOPS = "add --open-loops (open_loops=True) to ignore the loop constraints"


def loops_of(tree: Tree, frames: Mapping[str, Frame]) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
    """The loops with moving joints, and the loops whose joints are all locked."""
    loops = [_loop(entry, frames) for entry in tree.description.loops]
    moving = tuple(loop for loop in loops if loop.first.link != loop.second.link)
    return moving, tuple(loop for loop in loops if loop not in moving)


def _loop(entry: LoopEntry, frames: Mapping[str, Frame]) -> Loop:
    return Loop(entry.name, entry.kind, _end(entry.first, frames), _end(entry.second, frames))


def _end(end: LoopEnd, frames: Mapping[str, Frame]) -> Frame:
    carrier = frames[end.link]
    return Frame(end.link, carrier.link, compose(carrier.pose, end.pose))


def loop_problems(
    tree: Tree, selection: Selection, frames: Mapping[str, Frame]
) -> Iterator[RobolinError]:
    """Loops cut by base or tip, and open loops whose joints are all locked."""
    cut = {*selection.off_chain, *selection.stranded}
    rigid = loops_of(tree, frames)[1]
    still = {loop.name: loop for loop in rigid}
    for entry in tree.description.loops:
        if through := [name for name in _loop_frames_joints(tree, entry) if name in cut]:
            yield UsageError(
                f"loop '{entry.name}' contains {quote_list(through)}, which the base or tip locks",
                where=str(entry.location),
                hint=f"{OPEN_LOOPS}, or use --lock (lock=) to fix a joint and keep the loops",
            )
        elif entry.name in still and (gap := _gap(still[entry.name])) > CLOSED_WITHIN:
            unit = "m" if entry.kind == "point" else "m or rad"
            message = f"loop '{entry.name}' has a constraint violation of {gap:.3g} {unit}"
            yield RobolinError(
                f"{message}, and all of its joints are locked",
                where=str(entry.location),
                hint="lock the joints at positions that close the loop, or unlock one of them; "
                f"{OPEN_LOOPS}",
            )


def _loop_frames_joints(tree: Tree, entry: LoopEntry) -> list[str]:
    """The joints around a loop, from one end to the other."""
    first, second = (
        [joint.name for joint in tree.inboard(end.link)] for end in (entry.first, entry.second)
    )
    return [name for name in (*first, *second) if (name in first) != (name in second)]


def _gap(loop: Loop) -> float:
    """Distance between two frames of one link, in m; if rigid, also their small angle in rad."""
    one, other = loop.first.pose, loop.second.pose
    distance = hypot(*(a - b for a, b in zip(one.translation, other.translation, strict=True)))
    return max(distance, _turn(one, other)) if loop.kind == "rigid" else distance


def _turn(one: Pose, other: Pose) -> float:
    """|R₁ - R₂| / √2, the angle between two frames if it is small."""
    pairs = zip(one.rotation, other.rotation, strict=True)
    return hypot(*(a - b for a, b in pairs)) / sqrt(2.0)
