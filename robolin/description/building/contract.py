"""The contract of an arm: its model assumptions as text, stored with every result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from robolin.core.arm import FAR_SLID, Arm, Joint, Mimic, Wrench, travelling
from robolin.core.quantity_table import joint_unit
from robolin.core.text import join_and, pluralize
from robolin.description.building.keywords import ModelOptions, Payload
from robolin.description.building.selection import Selection, why_locked
from robolin.description.model import JointEntry
from robolin.description.structure import Tree

NAMED_AT_MOST = 8

_WRENCH_MODELS = {
    "follower": "in the link's axes at its origin, rotating with the link",
    "dead": "in world axes at the link's origin",
    "world": "in world axes about the world's origin",
}


def contract_of(
    tree: Tree, selection: Selection, options: ModelOptions, arm: Arm, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """The contract in print order; every value is a text or a list of texts."""
    joints = [link.joint for link in arm.links]
    root, file = tree.description.root, tree.description.source
    return {
        "arm": f"{arm.name} ({PurePath(file).name})" if file else arm.name,
        "joints": list(arm.joint_names),
        "gravity": _gravity(arm, options.floating_base),
        "base": _base(options, root),
        "tip": f"link '{options.tip}'; joints off the chain are locked"
        if options.tip
        else "whole tree",
        "locked": _locked(tree, selection),
        "mimic": "; ".join(_rule(j.name, j.mimic) for j in joints if j.mimic) or "none",
        "fixed": _fixed(tree),
        "damping": _damping(joints, arm.damping),
        **_springs(joints, arm.springs),
        "friction": _friction(joints, arm.friction_velocity, options.friction),
        "armature": group_by_value({joint.name: joint.armature for joint in joints}) or "none",
        **_passive(arm),
        "payload": "; ".join(map(_payload, options.payload)) or "none",
        "wrench": "; ".join(_wrench(wrench, arm) for wrench in arm.wrenches) or "none",
        **_loops(tree, options, arm),
        **_multi_dof_joints(arm),
        "inertial_frame": _inertial_frame(arm, root, options.floating_base),
        "units": "SI: rad, m, s, kg, N, N·m",
        "ignored": list(tree.description.ignored),
        "notes": [*tree.description.notes, *_notes(tree, selection, options, arm), *notes],
    }


def repr_number(value: float) -> str:
    """The shortest decimal text that converts back to the same number."""
    return repr(value + 0.0).removesuffix(".0")


def group_by_value(values: Mapping[str, float]) -> str:
    """Text of the nonzero values, grouped by value; '' if all are zero."""
    groups: dict[float, list[str]] = {}
    for name, value in values.items():
        if value:
            groups.setdefault(value, []).append(name)
    return ", ".join(_group(value, names, len(values)) for value, names in groups.items())


def _group(value: float, names: Sequence[str], count: int) -> str:
    if len(names) == 1:
        return f"{names[0]} {repr_number(value)}"
    if len(names) == count:
        return f"{repr_number(value)} on all {count} joints"
    if len(names) > NAMED_AT_MOST:
        return f"{repr_number(value)} on {len(names)} of {count} joints"
    return f"{repr_number(value)} on {join_and(names)}"


def _figures(values: Sequence[float]) -> str:
    return ", ".join(map(repr_number, values))


def _gravity(arm: Arm, floats: bool) -> str:
    if not any(arm.gravity):
        return "none"
    axes = "the world's axes" if floats else "the root link's axes"
    return f"{_figures(arm.gravity)} m/s² in {axes}"


def _base(options: ModelOptions, root: str) -> str:
    base = options.base
    if options.floating_base:
        return f"{options.base_joint}: joint 'base' between the world and " + (
            f"link '{base}'; joints inboard of it are locked and their links move with it"
            if base
            else "the root link"
        )
    if base is None or base == root:
        return f"link '{root}', the root"
    return (
        f"link '{base}'; joints inboard of it are locked, "
        f"gravity and world wrenches stay in the axes of the root link '{root}'"
    )


def _locked(tree: Tree, selection: Selection) -> str:
    """Positions of the locked joints; joints off the chain at zero are one entry."""
    standing = selection.standing
    at_zero = [name for name in selection.off_chain if standing[name] == 0.0]
    others = [name for name in standing if name not in at_zero]
    texts = [_standing(tree.by_name[name], standing[name], tree.mimic) for name in others]
    if at_zero:
        texts.append(f"off the chain, at 0: {', '.join(at_zero)}")
    return ", ".join(texts) or "none"


def _standing(joint: JointEntry, position: float, mimic: Mapping[str, Mimic]) -> str:
    text = (
        f"{joint.name} {repr_number(position)} {joint_unit('position', joint.kind != 'prismatic')}"
    )
    return f"{text} (mimics {mimic[joint.name].leader})" if joint.name in mimic else text


def _rule(follower: str, rule: Mimic) -> str:
    factors = {1.0: "", -1.0: "-"}
    text = f"{follower} = {factors.get(rule.ratio, f'{repr_number(rule.ratio)} · ')}{rule.leader}"
    if rule.offset:
        text += f" {'+' if rule.offset > 0 else '-'} {repr_number(abs(rule.offset))}"
    return text


def _fixed(tree: Tree) -> str:
    count = sum(joint.kind == "fixed" for joint in tree.joints)
    return f"{pluralize(count, 'fixed joint')} merged" if count else "none"


def _damping(joints: Sequence[Joint], applied: bool) -> str:
    values = group_by_value({joint.name: joint.damping for joint in joints})
    if not values:
        return "none in the robot file"
    return f"applied: {values}" if applied else f"ignored as requested: {values}"


def _springs(joints: Sequence[Joint], applied: bool) -> dict[str, str]:
    """An entry for arms with joint springs, empty for the others."""
    sprung = [joint for joint in joints if joint.stiffness]
    if not sprung:
        return {}
    text = f"stiffness {group_by_value({joint.name: joint.stiffness for joint in joints})}"
    if rests := group_by_value({joint.name: joint.rest for joint in sprung}):
        text += f"; relaxed at {rests}"
        if not all(joint.rest for joint in sprung):
            text += ", the others at 0"
    else:
        text += "; relaxed at 0"
    return {"springs": f"applied: {text}" if applied else f"ignored as requested: {text}"}


def _friction(joints: Sequence[Joint], velocity: float | None, applied: bool) -> str:
    same = {joint.name: joint.friction for joint in joints if joint.friction_negative is None}
    sides = [_friction_sides(joint) for joint in joints if joint.friction_negative is not None]
    values = ", ".join(filter(None, [group_by_value(same), *sides]))
    if not values:
        return "none in the robot file"
    if not applied:
        return f"ignored as requested: {values}"
    if velocity is None:
        return f"Coulomb friction in the robot file, not applied (no --friction-velocity): {values}"
    smoothed = _smoothing(joints, velocity)
    if sides:
        smoothed += " with μ = (μ₊ + μ₋)/2 + (μ₊ - μ₋)/2 · tanh"
    return f"applied, smoothed as {smoothed}: {values}"


def _smoothing(joints: Sequence[Joint], velocity: float) -> str:
    own = {j.name: j.friction_velocity for j in joints if j.friction_velocity is not None}
    if not own:
        return f"μ tanh(q̇/{repr_number(velocity)})"
    values = ", ".join(f"{name} {repr_number(v)}" for name, v in own.items())
    return f"μ tanh(q̇/v) with v = {values}"


def _friction_sides(joint: Joint) -> str:
    positive, negative = map(repr_number, joint.friction_sides)
    return f"{joint.name} {positive} for q̇ > 0 and {negative} for q̇ < 0"


def _passive(arm: Arm) -> dict[str, str]:
    """An entry for descriptions with passive joints, empty for the others."""
    names = arm.passive_joints
    if not names:
        return {}
    return {"passive": f"{', '.join(names)}: no motor in the robot file"}


def _payload(payload: Payload) -> str:
    position = f" at {_figures(payload.position)} m" if any(payload.position) else ""
    return f"{repr_number(payload.mass)} kg on link '{payload.frame}'{position}"


def _wrench(wrench: Wrench, arm: Arm) -> str:
    model = f"{wrench.model}: {_WRENCH_MODELS[wrench.model]}"
    return (
        f"on link '{wrench.frame}' force {_figures(wrench.force)} N, "
        f"moment {_figures(wrench.moment)} N·m, "
        f"{'carried by the base' if _stands(wrench.frame, arm) else model}"
    )


def _loops(tree: Tree, options: ModelOptions, arm: Arm) -> dict[str, str]:
    """An entry for descriptions with closed loops, empty for the others."""
    if not tree.description.loops:
        return {}
    moving = {loop.name for loop in arm.loops}
    texts = []
    for loop in tree.description.loops:
        text = f"{loop.name} ({loop.kind}: '{loop.first.link}' on '{loop.second.link}')"
        texts.append(text if loop.name in moving else f"{text}, closed by locked joints")
    if options.open_loops:
        return {"loops": f"open as requested: {', '.join(x.name for x in tree.description.loops)}"}
    return {"loops": "closed: " + "; ".join(texts)}


def _stands(link: str, arm: Arm) -> bool:
    """Return True if the link is fixed to the base."""
    return arm.frames[link].link == arm.base


_POSITIONS = {
    "floating": "roll, pitch, yaw and x, y, z",
    "planar": "x, y and the angle",
    "spherical": "roll, pitch and yaw",
}


def _multi_dof_joints(arm: Arm) -> dict[str, str]:
    """An entry for arms with multi-DoF joints, empty for the others."""
    texts = [
        f"{group.name} is {group.kind}: positions "
        + _POSITIONS[group.kind]
        + f" from its joint frame; velocities, accelerations, efforts and changes"
        f" in the axes of link '{arm.link(group.body).name}'"
        for group in arm.groups
    ]
    return {"freedoms": "; ".join(texts)} if texts else {}


def _inertial_frame(arm: Arm, root: str, floats: bool) -> str:
    """The world frame, and the reference point of the computation."""
    on_base = [
        k for k, link in enumerate(arm.links_tip_to_base, start=1) if link.parent == arm.base
    ]
    if len(on_base) == 1 and any(on_base[0] in group.links for group in arm.groups):
        world = "fixed" if floats else f"root link '{root}'"
        origin = f"where link '{arm.link(arm.groups[0].body).name}' is"
        return f"world = {world}; computed about {origin}, which changes no result"
    if arm.slides and (along := travelling(arm)):
        far = f"link '{arm.link(along[-1]).name}' where it has slid over {FAR_SLID:g} m"
        origin = f"the first joint, moved with {far}"
        return f"world = root link '{root}'; computed about {origin}, which changes no result"
    first = sum(link.parent == arm.base for link in arm.links)
    origin = "the first joint" if first == 1 else f"the middle of the {first} first joints"
    return f"world = root link '{root}'; computed about {origin}, which changes no result"


def _notes(tree: Tree, selection: Selection, options: ModelOptions, arm: Arm) -> Iterator[str]:
    """Notes on side effects of the options."""
    moving = {joint.name for joint in selection.moving}
    for name, position in options.lock.items():
        limits = tree.by_name[name].limits
        below = limits.lower is not None and position < limits.lower
        above = limits.upper is not None and position > limits.upper
        if tree.by_name[name].kind != "continuous" and (below or above):
            yield f"joint '{name}' is locked at {repr_number(position)}, outside its limits"
    for name in selection.off_chain:
        if name in tree.mimic and tree.mimic[name].leader in moving:
            leader = tree.mimic[name].leader
            yield f"joint '{name}' mimics '{leader}' but is off the chain: it is locked"
    yield from (why_locked(tree, name) for name in selection.stranded)
    named = options.friction_velocity
    for name in named if isinstance(named, Mapping) else ():
        if name not in moving and name not in arm.joint_names:
            yield f"the friction velocity of joint '{name}' has no effect: the joint does not move"
    for name in options.armature:
        if name not in moving and name not in arm.joint_names:
            yield f"the armature of joint '{name}' has no effect: the joint does not move"
    yield from _idle_loads(options, arm)
    rubs = any(any(link.joint.friction_sides) for link in arm.links)
    if arm.friction_velocity is not None and not rubs:
        yield "the friction velocity has no effect: no moving joint has friction"


def _idle_loads(options: ModelOptions, arm: Arm) -> Iterator[str]:
    """Payloads and wrenches that no torque depends on."""
    for payload in options.payload:
        if payload.mass == 0.0:
            yield f"the payload on link '{payload.frame}' has no mass"
        elif _stands(payload.frame, arm):
            yield f"the payload on link '{payload.frame}' has no effect: the base carries it"
    for wrench in arm.wrenches:
        if _stands(wrench.frame, arm):
            yield f"the wrench on link '{wrench.frame}' has no effect: the base carries it"
