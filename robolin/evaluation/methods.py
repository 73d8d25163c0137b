"""Methods that a user can select, the limits of `auto`, and errors of unsuitable methods.

Do not import NumPy here: the command line builds its flags from this module at startup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from robolin.core.text import join_and, quote_list
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.core.arm import Arm


Method = Literal[
    "auto",
    "operator",
    "conventional",
    "bias-free",
    "bias-free-links",
    "three-sweeps",
    "three-sweeps-links",
    "two-sweeps",
    "a",
    "b",
    "c",
    "d",
]
METHODS: tuple[str, ...] = get_args(Method)

# hint: no method can be selected with prescribed joints
METHOD_NOT_SELECTABLE = (
    "omit the method: robolin selects elimination for robots with mimic joints, and recursions for "
    "other robots"
)

# the four recursions for forward dynamics, by the letters they have in their paper
METHOD_ALIASES: Mapping[str, str] = {
    "a": "bias-free",
    "b": "bias-free-links",
    "c": "three-sweeps",
    "d": "operator",
}

# methods of every verb with several algorithms, and further ones of forward dynamics
COMMON_METHODS = ("auto", "operator", "conventional")
FORWARD_METHODS = (
    *METHOD_ALIASES,
    *(name for name in METHOD_ALIASES.values() if name not in COMMON_METHODS),
    *("three-sweeps-links", "two-sweeps"),
)

# joints up to which elimination beats the recursions on the compiled engine, as measured in
# docs/explain/performance.md; one state on floats follows the same rule for the same bits
CONVENTIONAL_UP_TO = {"linearize-forward": 12, "perturb-forward": 8, "mass-matrix-inverse": 10}


def reject_unused_method(verbs: Sequence[str], method: str) -> None:
    """Reject a method that none of the verbs has."""
    from robolin.dynamics.catalogue import algorithms_by_method

    if method not in METHODS:
        raise UsageError(f"unknown method '{method}'", hint=f"methods: {join_and(METHODS)}")
    requested = METHOD_ALIASES.get(method, method)
    if requested != "auto" and not any(requested in algorithms_by_method(verb) for verb in verbs):
        others = sorted({each for verb in verbs for each in algorithms_by_method(verb)})
        hint = f"use 'auto', or {join_and(others)}"
        raise UsageError(
            f"method '{method}' is not available for {quote_list(verbs)}", where="method", hint=hint
        )


def why_not_with_groups(arm: Arm) -> str:
    """Reason why algorithms that invert link inertias reject multi-DoF joints."""
    group = arm.groups[0]
    return (
        f"divides by the inertia of every link, but '{group.name}' is {group.kind}: its "
        "virtual links have no inertia"
    )


def not_with_groups(arm: Arm, verb: str) -> RobolinError:
    group = arm.groups[0]
    carried = f"choose a base after this joint: --base {arm.link(group.body).name}"
    return RobolinError(
        f"{verb}: {why_not_with_groups(arm)}",
        where=arm.source,
        hint="omit --floating-base" if arm.floating_base else carried,
    )


def not_with_mimic(arm: Arm, another_method: bool) -> RobolinError:
    mimics = {
        link.joint.name: link.joint.mimic for link in arm.links_tip_to_base if link.joint.mimic
    }
    follower, mimic = next(iter(mimics.items()))
    other = "use the method 'auto' or 'conventional', or " if another_method else ""
    return RobolinError(
        f"the articulated-body algorithm requires independent joints, but '{follower}' "
        f"mimics '{mimic.leader}'",
        where=arm.source,
        hint=f"{other}lock the mimicked joint: --lock {mimic.leader}=0",
    )


def require_regressor_kernel(arm: Arm) -> None:
    """Reject arms whose regressor has columns that its kernel lacks, so that Y π is not τ."""
    if arm.has_one_sided_friction and arm.friction_velocity is not None:
        raise RobolinError(
            "regressor: its kernel does not support one-sided friction, which needs two "
            "columns per joint",
            where=arm.source,
            hint="use robolin.regressor, or omit friction_velocity (--friction-velocity)",
        )
    if arm.has_springs:
        names = ", ".join(f"'{link.joint.name}'" for link in arm.links if link.joint.stiffness)
        raise RobolinError(
            f"regressor: its kernel does not support joint springs: {names}",
            where=arm.source,
            hint="use robolin.regressor, or remove the springs (--no-springs, springs=False)",
        )
