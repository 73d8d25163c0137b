"""Which joints have a motor, and whether the others are asked for a torque they cannot give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.text import did_you_mean
from robolin.core.units import unit_of
from robolin.errors import RobolinError, UsageError

# a torque below this share of the largest one in its state, or of 1, is rounding
NEGLIGIBLE_TORQUE = 1e-9

JointNames = Sequence[str] | str | None


# `actuated="all"` gives every joint a motor, also those that the description has as passive
ALL_JOINTS = "all"


def actuated_places(arm: Arm, actuated: JointNames, passive: JointNames) -> tuple[int, ...]:
    """The places in q of the joints with a motor: those named, or all but those named.

    By default they are those that the description has, which are all unless it says otherwise.
    """
    if actuated is not None and passive is not None:
        raise UsageError("actuated and passive both say which joints have a motor", where="passive")
    if actuated is not None and not _means_all(arm, actuated):
        places = joint_places(arm, "actuated", actuated)
    else:
        described = arm.passive_joints if actuated is None else ()
        without = joint_places(arm, "passive", described if passive is None else passive)
        places = tuple(i for i in range(arm.n) if i not in without)
    if not places:
        hint = "name one that has: --actuated JOINT, or --actuated all"
        raise UsageError("no joint has a motor", where="actuated", hint=hint)
    return places


def _means_all(arm: Arm, names: Sequence[str] | str) -> bool:
    """Whether this is the word for all joints and not the name of one."""
    named = [names] if isinstance(names, str) else list(names)
    return named == [ALL_JOINTS] and ALL_JOINTS not in arm.joint_names


def joint_places(arm: Arm, keyword: str, names: Sequence[str] | str) -> tuple[int, ...]:
    """Where the named joints stand in q; a joint with several freedoms stands for all of them."""
    wanted = [names] if isinstance(names, str) else list(names)
    groups = {group.name: sorted(arm.places(group).values()) for group in arm.groups}
    found: list[int] = []
    for name in wanted:
        if name in groups:
            found += groups[name]
        elif name in arm.joint_names:
            found.append(arm.joint_names.index(name))
        else:
            hint = did_you_mean(str(name), (*arm.joint_names, *groups))
            raise UsageError(f"{keyword}: '{arm.name}' has no joint '{name}'", hint=hint)
    return tuple(sorted(set(found)))


def passive_places(arm: Arm, actuated: Iterable[int]) -> list[int]:
    """The places in q of the joints without a motor."""
    driven = set(actuated)
    return [i for i in range(arm.n) if i not in driven]


def negligible_torque(tau: Floats) -> Floats:
    """(..., 1): below what a torque of each state is nothing but rounding."""
    largest: Floats = np.abs(tau).max(axis=-1, initial=0.0, keepdims=True)
    return NEGLIGIBLE_TORQUE * np.maximum(1.0, largest)


def require_no_passive_torque(arm: Arm, tau: Floats, actuated: Sequence[int]) -> Floats:
    """The torques with exact zeros at passive joints, which must not be asked for any."""
    without = passive_places(arm, actuated)
    if not without:
        return tau
    asked = np.abs(tau[..., without])
    if (asked > negligible_torque(tau)).any():
        raise passive_torque(arm, tau, without)
    tau = tau.copy()
    tau[..., without] = 0.0
    return tau


def passive_torque(arm: Arm, tau: Floats, without: Sequence[int]) -> RobolinError:
    """The complaint about the largest torque that a joint without a motor would have to give."""
    rows = tau.reshape(-1, arm.n)[:, list(without)]
    row, at = np.unravel_index(int(np.abs(rows).argmax()), rows.shape)
    joint = arm.joints[without[int(at)]]
    size = f"{rows[row, at]:.4g} {unit_of('tau', [joint.kind])}"
    state = f"state {row}: " if len(rows) > 1 else ""
    return RobolinError(
        f"{state}joint '{joint.name}' is passive and would have to give {size} here",
        where=arm.source,
        hint="trim (--trim) finds an equilibrium nearby; --actuated all gives all joints a motor",
    )
