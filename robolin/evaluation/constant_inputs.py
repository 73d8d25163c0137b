"""Inputs that are constant over all rows: prescribed joints, and gains of the momentum observer.

Prescribed joints, a moving base included, have accelerations that the user sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, isfinite, log

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, as_joint_array, np, require_real
from robolin.core.text import did_you_mean, join_and, quote_list
from robolin.core.text_parsing import parse_names
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError
from robolin.evaluation.methods import METHOD_NOT_SELECTABLE

JointsNamed = str | Sequence[str]

# verb -> its algorithm with prescribed joints
PRESCRIBED_VARIANT: Mapping[str, str] = {
    name.removesuffix("-prescribed"): name
    for name, each in ALGORITHMS.items()
    if "prescribed" in each.needs and not each.verb
}


def prescribed_joints(arm: Arm, named: JointsNamed, where: str = "prescribe") -> Floats:
    """Array (n,): 1 for every coordinate of the named joints, 0 for the others.

    named: joints, multi-DoF joints or 'base', comma-separated or as a list
    """
    try:
        names = parse_names(named) if isinstance(named, str) else [str(name) for name in named]
    except TypeError as error:
        hint = "pass joint names: 'base', or ['base', 'elbow']"
        raise UsageError(f"{named!r} is not a joint name", where=where, hint=hint) from error
    prescribed = np.zeros(arm.n)
    for name in map(str.strip, names):
        own = [each == name or each.startswith(f"{name}:") for each in arm.joint_names]
        if not any(own):
            raise _unknown(arm, name, where)
        prescribed[own] = 1.0
    if not prescribed.any():
        raise UsageError(
            "the list of joints is empty",
            where=where,
            hint=f"name at least one joint, for example {arm.joint_names[0]}",
        )
    require_no_closures(arm, where)
    return prescribed


def require_no_closures(arm: Arm, where: str = "prescribe") -> None:
    """Reject closed loops: no torque moves joints against their constraints."""
    if arm.loops:
        names = ", ".join(f"'{loop.name}'" for loop in arm.loops)
        message = f"prescribed joints are not supported with closed loops ({names})"
        hint = (
            "use simulate --control pd with --follow to track a motion, or add --open-loops "
            "(open_loops=True) to ignore the loop constraints"
        )
        raise UsageError(message, where=where, hint=hint)


def require_prescribed_of_use(
    verbs: Sequence[str], prescribe: JointsNamed | None, method: str = "auto"
) -> None:
    """Reject prescribed joints for verbs without such a variant, and the variant by name."""
    for verb in verbs:
        if verb in ALGORITHMS and "prescribed" in ALGORITHMS[verb].needs:
            plain = next(each for each in PRESCRIBED_VARIANT if verb.startswith(f"{each}-"))
            hint = f"use {plain} with prescribe='base' (--prescribe base)"
            raise UsageError(f"'{verb}' is not a public command", hint=hint)
    if prescribe is None:
        return
    if not {*verbs} & {*PRESCRIBED_VARIANT}:
        hint = f"omit prescribe: only {join_and([*PRESCRIBED_VARIANT])} support it"
        raise UsageError(f"has no effect on {quote_list(verbs)}", where="prescribe", hint=hint)
    if method != "auto":
        raise UsageError(
            "cannot be used with prescribe", where="method", hint=METHOD_NOT_SELECTABLE
        )


def prescribed_accelerations(arm: Arm, prescribed: Floats, qdd: JointValues) -> Floats:
    """Prescribed accelerations (..., n); a single nonzero number is allowed for one joint only."""
    accelerations = as_joint_array(arm, "qdd", qdd)
    plain = np.asarray(qdd)
    if plain.ndim == 0 and plain.dtype.kind in "biuf" and arm.n > 1 and accelerations.any():
        name = arm.joint_names[int(np.argmax(prescribed))]
        hint = f"pass one value per joint, or values by name: {{'{name}': {plain:g}}}"
        raise UsageError("one number for several joints is ambiguous", where="qdd", hint=hint)
    return accelerations


def require_prescribed_inputs(arm: Arm, prescribed: Floats, qdd: Floats, tau: Floats) -> None:
    """Reject an acceleration of a free joint, and a torque of a prescribed one."""
    for name, values, own, quantity in (
        ("qdd", qdd, prescribed == 0.0, "acceleration"),
        ("tau", tau, prescribed != 0.0, "torque"),
    ):
        for j in np.flatnonzero((np.abs(values) > 0.0).reshape(-1, arm.n).any(0) & own):
            state = "is free" if quantity == "acceleration" else "is prescribed"
            message = (
                f"joint '{arm.joint_names[j]}' {state}, so its {quantity} is a result, not an input"
            )
            raise UsageError(message, where=name, hint="omit the value of this joint")


def prescribed_line(arm: Arm, prescribed: Floats, origin: str = "given") -> str:
    """Contract entry of prescribed joints; `origin` is the source of the accelerations."""
    names = [name for name, own in zip(arm.joint_names, prescribed, strict=True) if own]
    coordinates = {g.name: [f"{g.name}:{part}" for part in g.coordinates] for g in arm.groups}
    for group, parts in coordinates.items():
        if set(parts) <= set(names):
            first = min(names.index(part) for part in parts)
            names = [*names[:first], group, *(x for x in names[first:] if x not in parts)]
    return f"{', '.join(names)}: accelerations {origin}, torques computed"


def _unknown(arm: Arm, name: str, where: str) -> UsageError:
    if name == "base":
        hint = "add --floating-base or --base-joint (in Python floating_base=True or base_joint=)"
        return UsageError("the base is fixed", where=where, hint=hint)
    rules = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    for follower, rule in rules.items():
        if follower == name or follower.startswith(f"{name}:"):
            message = f"joint '{follower}' mimics '{rule.leader}'"
            return UsageError(
                message, where=where, hint=f"name '{rule.leader}': its mimic joints move with it"
            )
    groups = [group.name for group in arm.groups]
    hint = did_you_mean(name, (*groups, *arm.joint_names))
    return UsageError(f"movable joint '{name}' not found", where=where, hint=hint)


# algorithms with the constant inputs `observer_decay` and `observer_rate`
OBSERVERS = ("momentum-observer", "momentum-observer-start")

# seconds until the estimate of a constant torque is right to 1 %
SETTLING_TIME = 0.1
_SETTLED = log(100.0)


def observer_gain(settling_time: float) -> float:
    """K in 1/s: the error exp(-K t) of the estimate of a constant torque is 1 % at this time."""
    return _SETTLED / _positive("settling_time", settling_time)


def observer_inputs(arm: Arm, dt: float, settling_time: float) -> dict[str, Floats]:
    """Inputs (n,) of the algorithm for rows every `dt` seconds."""
    decay = exp(-observer_gain(settling_time) * _positive("dt", dt))
    return {"observer_decay": np.full(arm.n, decay), "observer_rate": np.full(arm.n, 1.0 / dt)}


def _positive(name: str, value: float) -> float:
    require_real(**{name: value})
    if not (isfinite(value) and value > 0.0):
        message, hint = f"must be above 0 s, got {value:g}", "use a time in s, for example 0.001"
        raise UsageError(message, where=name, hint=hint)
    return value
