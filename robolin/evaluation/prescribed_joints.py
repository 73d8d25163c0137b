"""Joints that move as they are told, a base among them: which ones, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robolin.core.arm import Arm
from robolin.core.array_checks import as_joint_array
from robolin.core.arrays import Floats, JointValues
from robolin.core.text import did_you_mean, join_and, quote_list
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError

JointsNamed = str | Sequence[str]

# verbs that can be asked so, and what answers them then
PRESCRIBED_VARIANT: Mapping[str, str] = {
    name.removesuffix("-prescribed"): name
    for name, each in ALGORITHMS.items()
    if "prescribed" in each.needs and not each.verb
}
# why nobody chooses a method then
METHOD_NOT_SELECTABLE = (
    "where joints move as prescribed, the arm decides: elimination if joints follow others, "
    "else recursions"
)


def prescribed_joints(arm: Arm, named: JointsNamed, where: str = "prescribe") -> Floats:
    """1 for every coordinate (n,) of the joints named, 0 for the others.

    named: joints, or 'base' and others of several freedoms, with commas between them or as a list
    """
    try:
        names = named.split(",") if isinstance(named, str) else [str(name) for name in named]
    except TypeError as error:
        hint = "joints by name: 'base', or ['base', 'elbow']"
        raise UsageError(f"{named!r} names no joint", where=where, hint=hint) from error
    driven = np.zeros(arm.n)
    for name in map(str.strip, names):
        own = [each == name or each.startswith(f"{name}:") for each in arm.joint_names]
        if not any(own):
            raise _unknown(arm, name, where)
        driven[own] = 1.0
    if not driven.any():
        raise UsageError("no joint is named", where=where, hint=f"for example {arm.joint_names[0]}")
    require_no_closures(arm, where)
    return driven


def require_no_closures(arm: Arm, where: str = "prescribe") -> None:
    """Refuse closed loops: no torque makes joints move against their closures."""
    if arm.loops:
        names = ", ".join(f"'{loop.name}'" for loop in arm.loops)
        message = f"closed loops ({names}) can contradict what their joints are told"
        hint = (
            "simulate --control pd with --follow moves a drive as closely as its gains; "
            "--open-loops (open_loops=True) leaves the closures out"
        )
        raise UsageError(message, where=where, hint=hint)


def require_prescribed_of_use(
    verbs: Sequence[str], prescribe: JointsNamed | None, method: str = "auto"
) -> None:
    """Refuse joints that move as told where no verb asks what they do, and what asks without."""
    for verb in verbs:
        if verb in ALGORITHMS and "prescribed" in ALGORITHMS[verb].needs:
            asked = next(each for each in PRESCRIBED_VARIANT if verb.startswith(f"{each}-"))
            hint = f"ask for {asked}, and name the joints: prescribe='base', or --prescribe base"
            raise UsageError(f"'{verb}' is asked in another way", hint=hint)
    if prescribe is None:
        return
    if not {*verbs} & {*PRESCRIBED_VARIANT}:
        hint = f"it is for {join_and([*PRESCRIBED_VARIANT])}"
        raise UsageError(f"changes nothing about {quote_list(verbs)}", where="prescribe", hint=hint)
    if method != "auto":
        raise UsageError(
            "cannot go together with prescribe", where="method", hint=METHOD_NOT_SELECTABLE
        )


def prescribed_accelerations(arm: Arm, driven: Floats, qdd: JointValues) -> Floats:
    """Accelerations (..., n) as they are told; one number alone is for one joint, or for rest."""
    told = as_joint_array(arm, "qdd", qdd)
    plain = np.asarray(qdd)
    if plain.ndim == 0 and plain.dtype.kind in "biuf" and arm.n > 1 and told.any():
        name = arm.joint_names[int(np.argmax(driven))]
        hint = f"give one per joint of the arm, or some by name: {{'{name}': {plain:g}}}"
        raise UsageError("one number for several joints", where="qdd", hint=hint)
    return told


def require_prescribed_inputs(arm: Arm, driven: Floats, qdd: Floats, tau: Floats) -> None:
    """Refuse an acceleration of a joint that is free, and a torque of one that is not."""
    for name, values, own, asked in (
        ("qdd", qdd, driven == 0.0, "acceleration"),
        ("tau", tau, driven != 0.0, "torque"),
    ):
        for j in np.flatnonzero((np.abs(values) > 0.0).reshape(-1, arm.n).any(0) & own):
            told = "is free" if asked == "acceleration" else "moves as prescribed"
            message = f"joint '{arm.joint_names[j]}' {told}: its {asked} is what comes out"
            raise UsageError(message, where=name, hint="leave it out there")


def prescribed_line(arm: Arm, driven: Floats, origin: str = "given") -> str:
    """What the contract tells about it; `origin` is where the accelerations come from."""
    names = [name for name, own in zip(arm.joint_names, driven, strict=True) if own]
    whole = {g.name: [f"{g.name}:{part}" for part in g.freedoms] for g in arm.groups}
    for group, parts in whole.items():
        if set(parts) <= set(names):
            first = min(names.index(part) for part in parts)
            names = [*names[:first], group, *(x for x in names[first:] if x not in parts)]
    return f"{', '.join(names)}: accelerations {origin}, torques answered"


def _unknown(arm: Arm, name: str, where: str) -> UsageError:
    if name == "base":
        hint = (
            "let the base move first: --floating-base, or --base-joint; in Python "
            "floating_base=True, or base_joint="
        )
        return UsageError("the base stands still", where=where, hint=hint)
    rules = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    for follower, rule in rules.items():
        if follower == name or follower.startswith(f"{name}:"):
            message = f"joint '{follower}' follows '{rule.leader}'"
            return UsageError(message, where=where, hint=f"name '{rule.leader}': both move then")
    groups = [group.name for group in arm.groups]
    hint = did_you_mean(name, (*groups, *arm.joint_names))
    return UsageError(f"there is no moving joint '{name}'", where=where, hint=hint)
