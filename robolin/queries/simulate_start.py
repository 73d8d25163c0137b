"""Where a simulation starts: as typed, in a file, or where what leads the arm begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robolin.control.simulation.reference import Prescription, ReferenceMotion
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats, Mask
from robolin.core.configuration import advanced, difference
from robolin.core.number_parsing import FlagText
from robolin.core.text import join_and, pluralize
from robolin.errors import UsageError
from robolin.evaluation.prescribed_joints import prescribed_joints
from robolin.queries.feedback_file import StoredFeedback
from robolin.queries.joint_values import parse_per_joint
from robolin.queries.query_context import QueryContext
from robolin.queries.reference_trajectory import (
    ReferenceTrajectory,
    read_with_notes,
    require_increasing_time,
)


@dataclass(frozen=True, eq=False)
class Start:
    """q and q̇ to start from, where they come from in words, and by which flag each was given."""

    q: Floats
    qd: Floats
    begun: str
    given: dict[str, str]


def simulation_start(
    posed: QueryContext,
    files: dict[str, str],
    way: StoredFeedback | ReferenceTrajectory | None,
    told: PrescribedTrajectory | None,
) -> Start:
    """Where the motion starts; joints that a file moves start where it has them, unless told."""
    start = _beginning(posed, files, way)
    if told is None:
        return start
    _tell_of_other_start(posed, told, start)
    return _begun_as_told(posed, told, start)


def _beginning(
    posed: QueryContext, files: dict[str, str], way: StoredFeedback | ReferenceTrajectory | None
) -> Start:
    initial, typed = posed.question.text("initial"), posed.states.typed
    if initial is not None:
        return _first_rows(posed, initial, files)
    if way is not None and not typed:
        return _near(posed, way)
    given: dict[str, str] = {name: f"--{name}" for name in ("q", "qd") if name in typed}
    q, qd = (np.array(_typed(posed, name)) for name in ("q", "qd"))
    begun = f"{' and '.join(given.values())} given" if given else "at rest at q = 0"
    return Start(q, qd, begun, given)


def _first_rows(posed: QueryContext, initial: str, files: dict[str, str]) -> Start:
    read, file = read_with_notes(posed, initial, ("q",), ("qd",), files)
    assert read.q is not None, "positions are needed"
    rows, given = f"{pluralize(read.rows, 'row')} of {file}", {"q": "--initial"}
    if read.qd is None:
        return Start(read.q, np.zeros_like(read.q), f"{rows}, at rest", given)
    return Start(read.q, read.qd, rows, given | {"qd": "--initial"})


def _near(posed: QueryContext, way: StoredFeedback | ReferenceTrajectory) -> Start:
    """Where gains or a motion to follow begin, or as far from there as was asked for."""
    q, qd = way.start
    text = posed.question.text("offset")
    if text is None:
        what = "the gains of " if isinstance(way, StoredFeedback) else ""
        return Start(q, qd, f"where {what}{way.name} begin{'s' * (not what)}", {})
    offset = parse_per_joint(FlagText("--offset", text), posed.arm, True)
    return Start(advanced(posed.arm, q, offset), qd, f"--offset from where {way.name} begins", {})


def _typed(posed: QueryContext, name: str) -> list[float]:
    """What was given for q or qd, one value per joint."""
    text = posed.states.typed.get(name)
    if text is None:
        return [0.0] * posed.arm.n
    return parse_per_joint(FlagText(f"--{name}", text), posed.arm, True)


def _tell_of_other_start(posed: QueryContext, told: PrescribedTrajectory, start: Start) -> None:
    """Say so where joints do not start as the file that moves them has them."""
    state = {"q": start.q, "qd": start.qd}
    own, given = told.begun(state, told.known), [name for name in told.known if name in start.given]
    other = [name for name in given if (own[name] != state[name]).any()]
    if other:
        flags = [*dict.fromkeys(start.given[name] for name in other)]
        have = (
            f"{join_and(flags)} {'has' if len(flags) == 1 else 'have'} them, not as the file does"
        )
        posed.note(f"{told.name}: prescribed joints start with {join_and(other)} as {have}")


def _begun_as_told(posed: QueryContext, told: PrescribedTrajectory, start: Start) -> Start:
    """The same with prescribed joints as their file has them, as far as nobody says otherwise."""
    taken = [name for name in told.known if name not in start.given]
    if not taken:
        return start
    text = posed.question.text("offset")
    if "q" in taken and text is not None:
        offset = np.array(parse_per_joint(FlagText("--offset", text), posed.arm, True))
        for j in np.flatnonzero(offset * told.driven):
            message = f"joint '{posed.arm.joint_names[j]}' starts where {told.name} has it"
            hint = "leave it out there, or take its positions out of the file"
            raise UsageError(message, where=f"--offset={text}", hint=hint)
    state = told.begun({"q": start.q, "qd": start.qd}, taken)
    origin = f"{' and '.join(taken)} of prescribed joints from {told.name}"
    return replace(start, q=state["q"], qd=state["qd"], begun=f"{start.begun}; {origin}")


@dataclass(frozen=True, eq=False)
class PrescribedTrajectory:
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


def prescribed_rows(posed: QueryContext, files: dict[str, str]) -> PrescribedTrajectory | None:
    """What the file that was given tells joints to do, noted among the inputs; None without one."""
    named, path = (posed.question.text(name) for name in ("prescribe", "prescribe-from"))
    if named is None or path is None:
        return None
    arm = posed.arm
    driven = prescribed_joints(arm, named, "--prescribe")
    joints = [arm.joint_names[j] for j in np.flatnonzero(driven)]
    read, name = read_with_notes(posed, path, ("qdd",), ("q", "qd"), files, joints)
    time = require_increasing_time(read, name, "accelerations between rows need it")
    told = {"q": read.q, "qd": read.qd, "qdd": read.qdd}
    known = tuple(each for each in ("q", "qd") if told[each] is not None)
    still = np.zeros((read.rows, arm.n))
    full = {each: still if rows is None else rows for each, rows in told.items()}
    return PrescribedTrajectory(name, named, driven, time, ReferenceMotion(arm, time, full), known)
