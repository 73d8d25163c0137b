"""Torques of two arms along the same motion, compared joint by joint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.quantity_table import joint_unit
from robolin.errors import RobolinError


@dataclass(frozen=True)
class TorqueChange:
    """Largest change of a joint's torque between two arms.

    row:   the row of the motion with the largest change, counted from 0
    old:   the torque there on the first arm
    new:   the torque there on the second arm
    peak:  largest absolute torque of the first arm along the motion
    unit:  N·m, or N for prismatic joints
    """

    joint: str
    row: int
    old: float
    new: float
    peak: float
    unit: str

    @property
    def change(self) -> float:
        return self.new - self.old

    @property
    def share(self) -> float | None:
        """The change as a fraction of the largest torque; None if that is 0."""
        return self.change / self.peak if self.peak else None


def torque_changes(
    old: Arm, new: Arm, q: Floats, qd: Floats, qdd: Floats
) -> tuple[TorqueChange, ...]:
    """Largest change of torque of every joint along a motion of shape (rows, n).

    Both arms have the same joints, in any order; the motion uses the order of the first.
    """
    _require_same_joints(old, new)
    order = [old.joint_names.index(name) for name in new.joint_names]
    before = np.atleast_2d(inverse(old, q, qd, qdd))
    after = np.empty_like(before)
    after[:, order] = inverse(new, q[:, order], qd[:, order], qdd[:, order])
    return tuple(_changes(old, before, after))


def _changes(arm: Arm, before: Floats, after: Floats) -> Iterator[TorqueChange]:
    for i, joint in enumerate(arm.joints):
        row = int(np.argmax(np.abs(after[:, i] - before[:, i])))
        yield TorqueChange(
            joint.name,
            row,
            float(before[row, i]),
            float(after[row, i]),
            float(np.abs(before[:, i]).max()),
            joint_unit("effort", joint.turns),
        )


def _require_same_joints(old: Arm, new: Arm) -> None:
    odd = sorted(set(old.joint_names) ^ set(new.joint_names))
    if odd:
        owner = old.name if odd[0] in old.joint_names else new.name
        raise RobolinError(
            f"the robots have different joints: '{odd[0]}' is only in '{owner}'",
            where="--torques",
            hint="compare robots with the same joint names",
        )
