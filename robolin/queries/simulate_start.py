"""Where a simulation starts: as typed, in a file, or where what leads the arm begins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robolin.core.arrays import Floats
from robolin.core.configuration import advanced
from robolin.core.number_parsing import FlagText
from robolin.core.text import counted, listed
from robolin.errors import UsageError
from robolin.queries.feedback_file import StoredFeedback
from robolin.queries.joint_values import per_joint
from robolin.queries.prescribed_file import PrescribedRows
from robolin.queries.query_context import PosedQuestion
from robolin.queries.reference_trajectory import FollowedMotion, read_noted


@dataclass(frozen=True, eq=False)
class Start:
    """q and q̇ to start from, where they come from in words, and by which flag each was given."""

    q: Floats
    qd: Floats
    begun: str
    given: dict[str, str]


def simulation_start(
    posed: PosedQuestion,
    files: dict[str, str],
    way: StoredFeedback | FollowedMotion | None,
    told: PrescribedRows | None,
) -> Start:
    """Where the motion starts; joints that a file moves start where it has them, unless told."""
    start = _beginning(posed, files, way)
    if told is None:
        return start
    _tell_of_other_start(posed, told, start)
    return _begun_as_told(posed, told, start)


def _beginning(
    posed: PosedQuestion, files: dict[str, str], way: StoredFeedback | FollowedMotion | None
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


def _first_rows(posed: PosedQuestion, initial: str, files: dict[str, str]) -> Start:
    read, file = read_noted(posed, initial, ("q",), ("qd",), files)
    assert read.q is not None, "positions are needed"
    rows, given = f"{counted(read.rows, 'row')} of {file}", {"q": "--initial"}
    if read.qd is None:
        return Start(read.q, np.zeros_like(read.q), f"{rows}, at rest", given)
    return Start(read.q, read.qd, rows, given | {"qd": "--initial"})


def _near(posed: PosedQuestion, way: StoredFeedback | FollowedMotion) -> Start:
    """Where gains or a motion to follow begin, or as far from there as was asked for."""
    q, qd = way.start
    text = posed.question.text("offset")
    if text is None:
        what = "the gains of " if isinstance(way, StoredFeedback) else ""
        return Start(q, qd, f"where {what}{way.name} begin{'s' * (not what)}", {})
    offset = per_joint(FlagText("--offset", text), posed.arm, True)
    return Start(advanced(posed.arm, q, offset), qd, f"--offset from where {way.name} begins", {})


def _typed(posed: PosedQuestion, name: str) -> list[float]:
    """What was given for q or qd, one value per joint."""
    text = posed.states.typed.get(name)
    if text is None:
        return [0.0] * posed.arm.n
    return per_joint(FlagText(f"--{name}", text), posed.arm, True)


def _tell_of_other_start(posed: PosedQuestion, told: PrescribedRows, start: Start) -> None:
    """Say so where joints do not start as the file that moves them has them."""
    state = {"q": start.q, "qd": start.qd}
    own, given = told.begun(state, told.known), [name for name in told.known if name in start.given]
    other = [name for name in given if (own[name] != state[name]).any()]
    if other:
        flags = [*dict.fromkeys(start.given[name] for name in other)]
        have = f"{listed(flags)} {'has' if len(flags) == 1 else 'have'} them, not as the file does"
        posed.note(f"{told.name}: prescribed joints start with {listed(other)} as {have}")


def _begun_as_told(posed: PosedQuestion, told: PrescribedRows, start: Start) -> Start:
    """The same with prescribed joints as their file has them, as far as nobody says otherwise."""
    taken = [name for name in told.known if name not in start.given]
    if not taken:
        return start
    text = posed.question.text("offset")
    if "q" in taken and text is not None:
        offset = np.array(per_joint(FlagText("--offset", text), posed.arm, True))
        for j in np.flatnonzero(offset * told.driven):
            message = f"joint '{posed.arm.joint_names[j]}' starts where {told.name} has it"
            hint = "leave it out there, or take its positions out of the file"
            raise UsageError(message, where=f"--offset={text}", hint=hint)
    state = told.begun({"q": start.q, "qd": start.qd}, taken)
    origin = f"{' and '.join(taken)} of prescribed joints from {told.name}"
    return replace(start, q=state["q"], qd=state["qd"], begun=f"{start.begun}; {origin}")
