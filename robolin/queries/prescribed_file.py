"""Accelerations over time in a file, of the joints that move as they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robolin.control.simulation.prescribed_motion import Prescription
from robolin.control.simulation.reference import ReferenceMotion
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats, Mask
from robolin.core.configuration import difference
from robolin.evaluation.prescribed_joints import prescribed_joints
from robolin.queries.query_context import PosedQuestion
from robolin.queries.reference_trajectory import read_noted, rising_times


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

    def begun(self, state: Mapping[str, AnyArray], taken: Sequence[str]) -> dict[str, AnyArray]:
        """A state to start from, where these joints have what is taken of the file at 0 s."""
        start = {"q": self.positions(0.0), "qd": self.rows.at(0.0)["qd"]}
        own = self.driven != 0.0
        return {**state, **{name: np.where(own, start[name], state[name]) for name in taken}}

    def positions(self, time: float) -> Floats:
        """q (n,) at a moment: bodies turn the short way, single freedoms go straight."""
        rows = self.rows.arrays["q"]
        straight = np.array([np.interp(time, self.times, column) for column in rows.T])
        return np.where(self._bodies, self.rows.at(time)["q"], straight)

    def missed(self, time: float, q: AnyArray) -> dict[str, float]:
        """How far these joints are at most from where the file has them, in m and in rad.

        q: positions (..., n)

        Nothing is said of a moment or of positions that the file does not have.
        """
        if "q" not in self.known or not self.times[0] <= time <= self.times[-1]:
            return {}
        arm, meant = self.rows.arm, self.positions(time)
        apart = np.array(q - meant)
        # the angles of a body are known up to whole turns
        angles = [j for j in _group_places(arm) if arm.joints[j].turns]
        apart[..., angles] -= 2.0 * np.pi * np.round(apart[..., angles] / (2.0 * np.pi))
        way = np.abs(np.where(self._bodies, difference(arm, meant, q), apart))
        turns, own = np.array([joint.turns for joint in arm.joints]), self.driven != 0.0
        units = {"m": own & ~turns, "rad": own & turns}
        return {unit: float(way[..., mask].max()) for unit, mask in units.items() if mask.any()}

    @property
    def _bodies(self) -> Mask:
        """The coordinates (n,) of joints with several freedoms all of which the file moves."""
        arm, found = self.rows.arm, np.zeros(self.driven.shape, dtype=bool)
        for group in arm.groups:
            own = sorted(arm.places(group).values())
            found[own] = self.driven[own].all()
        return found


def _group_places(arm: Arm) -> list[int]:
    return [j for group in arm.groups for j in arm.places(group).values()]


def prescribed_rows(posed: PosedQuestion, files: dict[str, str]) -> PrescribedRows | None:
    """What the file that was given tells joints to do, noted among the inputs; None without one."""
    named, path = (posed.question.text(name) for name in ("prescribe", "prescribe-from"))
    if named is None or path is None:
        return None
    arm = posed.arm
    driven = prescribed_joints(arm, named, "--prescribe")
    joints = [arm.joint_names[j] for j in np.flatnonzero(driven)]
    read, name = read_noted(posed, path, ("qdd",), ("q", "qd"), files, joints)
    time = rising_times(read, name, "accelerations between rows need it")
    told = {"q": read.q, "qd": read.qd, "qdd": read.qdd}
    known = tuple(each for each in ("q", "qd") if told[each] is not None)
    still = np.zeros((read.rows, arm.n))
    full = {each: still if rows is None else rows for each, rows in told.items()}
    return PrescribedRows(name, named, driven, time, ReferenceMotion(arm, time, full), known)
