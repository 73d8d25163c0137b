"""Accelerations over time in a file, of the joints that move as they are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from robolin.answering.followed_motion import read_noted, rising_times
from robolin.answering.posed_question import PosedQuestion
from robolin.arrays import AnyArray, Floats
from robolin.evaluation.prescribed_joints import prescribed_joints
from robolin.geometry.configuration import difference
from robolin.simulation.prescribed_motion import Prescription
from robolin.simulation.reference import ReferenceMotion


@dataclass(frozen=True, eq=False)
class PrescribedRows:
    """Rows (rows, n) of a file at their times, 0 for joints that are free.

    times:  when each row counts, in s
    driven: 1 for every coordinate (n,) that moves as the file says, 0 for the others
    known:  which of positions and velocities the file has
    """

    name: str
    named: str
    driven: Floats
    times: Floats
    rows: ReferenceMotion
    known: tuple[str, ...]

    @property
    def prescription(self) -> Prescription:
        """Accelerations on straight lines between the rows, as in the nearest row outside."""
        alone = replace(self.rows, arrays={"qdd": self.rows.arrays["qdd"]})
        origin = f"of {self.name}, linear between rows"
        return Prescription(self.named, lambda t: alone.at(t)["qdd"], origin)

    def begun(
        self, q: AnyArray, qd: AnyArray, typed: Mapping[str, str]
    ) -> tuple[AnyArray, AnyArray]:
        """A state to start from, its joints that are told to move as the file has them at 0 s."""
        start, own = self.rows.at(0.0), self.driven != 0.0
        taken = [name for name in self.known if name not in typed]
        state = {"q": q, "qd": qd}
        state |= {name: np.where(own, start[name], state[name]) for name in taken}
        return state["q"], state["qd"]

    def missed(self, time: float, q: AnyArray) -> float | None:
        """How far these joints are from where the file has them, if it says so of that moment."""
        if "q" not in self.known or not self.times[0] <= time <= self.times[-1]:
            return None
        way = difference(self.rows.arm, self.rows.at(time)["q"], q)
        return float(np.abs(way[..., self.driven != 0.0]).max())


def prescribed_rows(posed: PosedQuestion, files: dict[str, str]) -> PrescribedRows | None:
    """What the file that was given tells joints to do, noted among the inputs; None without one."""
    named, path = (posed.question.text(name) for name in ("prescribe", "prescribe-from"))
    if named is None or path is None:
        return None
    arm = posed.arm
    driven = prescribed_joints(arm, named, "--prescribe")
    own = np.flatnonzero(driven)
    joints = tuple(arm.joint_names[j] for j in own)
    read, name = read_noted(posed, path, ("qdd",), ("q", "qd"), files, joints)
    time = rising_times(read, name, "accelerations between rows need it")
    full = {quantity: np.zeros((read.rows, arm.n)) for quantity in ("q", "qd", "qdd")}
    for quantity, values in full.items():
        if (told := getattr(read, quantity)) is not None:
            values[:, own] = told
    known = tuple(each for each in ("q", "qd") if getattr(read, each) is not None)
    rows = ReferenceMotion(arm, time, dict(full))
    return PrescribedRows(name, named, driven, time, rows, known)
