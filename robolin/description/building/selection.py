"""Moving and locked joints of an arm, and errors in the model options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from robolin.core.arm import Wrench
from robolin.core.choices import WRENCH_MODELS
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, join_and, quote_list
from robolin.description.building.keywords import ModelOptions, Payload
from robolin.description.model import JointEntry, coordinate_names, group_kind
from robolin.description.multi_dof_joints import FLOATING_BASE
from robolin.description.structure import ONE_NUMBER, Tree
from robolin.errors import RobolinError, UsageError


@dataclass(frozen=True)
class Selection:
    """The moving joints, depth first, and the positions of all locked joints.

    Base and tip lock the joints in `off_chain`, without an explicit position.  Joints in `stranded`
    are on the chain but mimic a joint that base and tip lock.
    """

    moving: tuple[JointEntry, ...]
    standing: Mapping[str, float]
    off_chain: tuple[str, ...]
    stranded: tuple[str, ...]


def why_locked(tree: Tree, name: str) -> str:
    """Reason why a joint on the chain is locked without a lock option."""
    leader = tree.mimic[name].leader
    return f"joint '{name}' mimics '{leader}', which is not on the chain, so it is locked"


def selection_problems(tree: Tree, options: ModelOptions) -> Iterator[RobolinError]:
    """Errors in the options lock, base and tip."""
    for name, position in options.lock.items():
        yield from _lock_problems(tree, name, position, options.floating_base)
    unknown = False
    for option, link in (("base", options.base), ("tip", options.tip)):
        if link is not None and link not in tree.links:
            unknown = True
            yield unknown_link(tree, option, link)
    if options.base and options.tip and not unknown and options.base != options.tip:
        ancestors = [joint.parent for joint in tree.inboard(options.tip)]
        if options.base not in ancestors:
            yield RobolinError(
                f"tip: link '{options.tip}' is not a descendant of the base '{options.base}'",
                where=tree.description.source,
                hint=f"choose a base between '{options.tip}' and the root: {quote_list(ancestors)}",
            )


def _lock_problems(
    tree: Tree, name: str, position: float, floating: bool
) -> Iterator[RobolinError]:
    joint = tree.by_name.get(name)
    movable = [
        each.name for each in tree.joints if each.kind in ONE_NUMBER and each.name not in tree.mimic
    ]
    if joint is None:
        yield unknown_joint(tree, "lock", name, movable)
        return
    where = str(joint.location)
    if joint.kind == "fixed":
        message = f"lock: joint '{name}' is fixed and does not move"
        hint = f"omit '{name}'; movable joints are {quote_list(movable)}"
        yield RobolinError(message, where=where, hint=hint)
    elif joint.kind not in ONE_NUMBER:
        message = f"lock: joint '{name}' is {joint.kind}, so its position is not a single number"
        ours = floating and name == FLOATING_BASE
        yield RobolinError(message, where=where, hint=_start_at(joint, ours))
    elif rule := tree.mimic.get(name):
        message = f"lock: joint '{name}' mimics '{rule.leader}' and has no position of its own"
        yield RobolinError(message, where=where, hint=f"lock '{rule.leader}' instead")
    if not isfinite(position):
        yield UsageError(f"lock: the position of joint '{name}' must be finite, got {position}")


def nothing_moves(tree: Tree, selection: Selection, options: ModelOptions) -> RobolinError:
    """The error for an arm without moving joints."""
    if all(joint.kind == "fixed" for joint in tree.joints):
        why = "all joints are fixed"
        hint = "add a movable joint to the robot file, or use --floating-base (floating_base=True)"
    elif selection.stranded:
        why = why_locked(tree, selection.stranded[0])
        leader = tree.mimic[selection.stranded[0]].leader
        hint = f"omit base or tip, or choose a chain in which '{leader}' also moves"
    elif options.lock:
        why = "all joints are locked"
        hint = f"unlock one of {quote_list(list(options.lock))}"
        hint += ", or choose another base or tip" if options.base or options.tip else ""
    else:
        why = "all joints between base and tip are fixed or locked"
        hint = "choose another base or tip, or omit base or tip"
    return RobolinError(
        f"the robot has no movable joint: {why}", where=tree.description.source, hint=hint
    )


def _start_at(joint: JointEntry, floating: bool) -> str:
    if floating:
        return "omit --floating-base, or choose another link with --base"
    return (
        f"use --base {joint.child} to start the chain after this joint, or --tip {joint.parent} "
        "to end the chain before it; both options fix the joint at 0"
    )


def order_problems(
    tree: Tree, independent: Sequence[str], order: Sequence[str]
) -> list[RobolinError]:
    """Errors in the option joints: unknown, repeated and missing names."""
    source = tree.description.source
    problems = [
        _not_independent(tree, name, independent)
        for name in dict.fromkeys(order)
        if name not in independent
    ]
    if twice := [name for name in dict.fromkeys(order) if list(order).count(name) > 1]:
        hint = "name each joint once"
        message = f"joints: the list contains {quote_list(twice)} more than once"
        problems.append(UsageError(message, where=source, hint=hint))
    if missing := [name for name in independent if name not in order]:
        message = f"joints: {quote_list(missing)} missing"
        hint = "name every movable joint; use --lock (lock=) to fix a joint"
        problems.append(UsageError(message, where=source, hint=hint))
    return problems


def _not_independent(tree: Tree, name: str, independent: Sequence[str]) -> RobolinError:
    joint = tree.by_name.get(name)
    if joint is None:
        return unknown_joint(tree, "joints", name, independent)
    rule = tree.mimic.get(name)
    why = f"mimics '{rule.leader}'" if rule else "is fixed or locked"
    hint = f"name the movable joints {quote_list(independent)}"
    return UsageError(f"joints: joint '{name}' {why}", where=str(joint.location), hint=hint)


def unknown_joint(
    tree: Tree, option: str, name: str, known: Sequence[str] | None = None
) -> RobolinError:
    """The error for an option with an unknown joint."""
    owner = tree.by_name.get(name.rpartition(":")[0])
    message, hint = f"{option}: joint '{name}' not found", ""
    if parts := [each for each in tree.by_name if each.startswith(f"{name}:")]:
        message = f"{option}: joint '{name}' has several degrees of freedom"
        hint = f"name the degrees of freedom: {quote_list(parts)}"
    elif owner and name in coordinate_names(owner):
        hint = f"omit '{name}', which is only one degree of freedom of joint '{owner.name}'"
    elif name in tree.links:
        joint = tree.above.get(name)
        hint = f"'{name}' is the root link, which no joint moves"
        if joint:
            fixed = f"a link, fixed to link '{joint.parent}'"
            moved = f"a link: use joint '{joint.name}', which moves it"
            hint = f"'{name}' is {fixed if joint.kind == 'fixed' else moved}"
    else:
        hint = did_you_mean(name, tree.by_name if known is None else known)
    return UsageError(message, where=tree.description.source, hint=hint)


def unknown_link(tree: Tree, option: str, name: str) -> RobolinError:
    """The error for an option with an unknown link."""
    if joint := tree.by_name.get(name):
        hint = f"'{name}' is a joint: use link '{joint.child}', which it moves"
    else:
        hint = did_you_mean(name, tree.links)
    message = f"{option}: link '{name}' not found"
    return UsageError(message, where=tree.description.source, hint=hint)


def value_problems(tree: Tree, options: ModelOptions) -> Iterator[RobolinError]:
    """Errors in the options for gravity, loads, friction and armature."""
    gravity = options.gravity
    components = gravity if isinstance(gravity, tuple) else (gravity or 0.0,)
    if not all(map(isfinite, components)):
        yield UsageError(f"gravity: must be finite, got {_row(components)}")
    yield from _friction_velocity_problems(tree, options.friction_velocity)
    if not options.friction and options.friction_velocity is not None:
        message = "friction_velocity: has no effect without friction"
        yield UsageError(message, hint="remove --no-friction (friction=False)")
    for payload in options.payload:
        yield from _payload_problems(tree, payload)
    for wrench in options.wrenches:
        yield from _wrench_problems(tree, wrench)
    for name, value in options.armature.items():
        if name not in tree.by_name and name not in tree.coordinates:
            yield unknown_joint(tree, "armature", name)
        if not (isfinite(value) and value >= 0.0):
            yield UsageError(
                f"armature: the value of joint '{name}' must be ≥ 0, got {value}",
                hint="use the rotor inertia reflected to the joint: rotor_inertia · gear_ratio²",
            )


def _friction_velocity_problems(
    tree: Tree, option: float | Mapping[str, float] | None
) -> Iterator[RobolinError]:
    hint = "set the velocity v of the smoothing μ tanh(q̇/v), for example 0.01"
    named = option if isinstance(option, Mapping) else {}
    for name in named:
        if name not in tree.by_name and name not in tree.coordinates:
            yield unknown_joint(tree, "friction_velocity", name)
    values = {f"joint '{name}' ": value for name, value in named.items()}
    if option is not None and not isinstance(option, Mapping):
        values = {"": option}
    for where, value in values.items():
        if not (isfinite(value) and value > 0.0):
            yield UsageError(f"friction_velocity: {where}must be > 0, got {value}", hint=hint)


def friction_velocities(
    moving: Sequence[JointEntry], option: float | Mapping[str, float] | None
) -> dict[str, float]:
    """Friction velocities by joint, of the options or of the description; empty for one number.

    Raises:
        RobolinError: joints with friction that have none, although others do
    """
    if option is not None and not isinstance(option, Mapping):
        return {}
    own = {j.name: j.friction_velocity for j in moving if j.friction_velocity is not None}
    values = own if option is None else dict(option)
    missing = [
        joint.name
        for joint in moving
        if any(joint.friction_sides) and not {joint.name, *coordinate_names(joint)} & values.keys()
    ]
    if values and missing:
        first = next(joint for joint in moving if joint.name == missing[0])
        example = f"{max(values.values()):g}"
        raise UsageError(
            "friction_velocity: values are missing for joints with friction: "
            + join_and([repr(name) for name in missing]),
            where="" if option is not None else str(first.at("dynamics")),
            hint=f"write --friction-velocity {example} for all joints, or name every joint",
        )
    return values


def spring_problems(selection: Selection, options: ModelOptions) -> Iterator[RobolinError]:
    """Errors for springs in multi-DoF joints."""
    for joint in selection.moving:
        if options.springs and joint.stiffness and group_kind(joint):
            message, hint = spring_of_several(joint)
            yield RobolinError(message, where=str(joint.at("dynamics")), hint=hint)


def spring_of_several(joint: JointEntry) -> tuple[str, str]:
    """Message and hint for a spring in a multi-DoF joint."""
    message = f"joint '{joint.name}' is {joint.kind} and has a spring of stiffness "
    hint = (
        "springs are supported for revolute and prismatic joints; add --no-springs (springs=False) "
    )
    return f"{message}{joint.stiffness:g}, which is not supported", f"{hint}to remove all springs"


def _payload_problems(tree: Tree, payload: Payload) -> Iterator[RobolinError]:
    if payload.frame not in tree.links:
        yield unknown_link(tree, "payload", payload.frame)
    if not (isfinite(payload.mass) and payload.mass >= 0.0):
        yield UsageError(
            f"payload: the mass on link '{payload.frame}' must be ≥ 0, got {payload.mass:g} kg",
            hint="a payload adds mass to the link; omit the option for no payload",
        )
    if not all(map(isfinite, payload.position)):
        yield UsageError(f"payload: the position must be finite, got {_row(payload.position)}")


def _wrench_problems(tree: Tree, wrench: Wrench) -> Iterator[RobolinError]:
    if wrench.frame not in tree.links:
        yield unknown_link(tree, "wrench", wrench.frame)
    if wrench.model not in WRENCH_MODELS:
        hint = f"choose one of {', '.join(WRENCH_MODELS)}"
        yield UsageError(f"wrench_frame: unknown value '{wrench.model}'", hint=hint)
    load = (*wrench.force, *wrench.moment)
    if not all(map(isfinite, load)):
        yield UsageError(
            f"wrench: the wrench on link '{wrench.frame}' must be finite, got {_row(load)}"
        )


def _row(values: tuple[float, ...]) -> str:
    return ", ".join(map(str, values))
