"""Reference trajectory of a controller, read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robolin.core.arrays import Floats
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.errors import RobolinError
from robolin.io.trajectories.read import read_trajectory
from robolin.io.trajectories.trajectory import Trajectory
from robolin.queries.request import QueryContext, display_name


@dataclass(frozen=True, eq=False)
class ReferenceTrajectory:
    """Positions at times; velocities and accelerations are 0 if the file has none."""

    name: str
    time: Floats
    q: Floats
    qd: Floats
    qdd: Floats

    @property
    def times(self) -> Floats:
        """Time of each row in s."""
        return self.time

    @property
    def start(self) -> tuple[Floats, Floats]:
        """Initial q and qd."""
        return self.q[0], self.qd[0]


def read_reference(context: QueryContext, files: dict[str, str]) -> ReferenceTrajectory | None:
    """Read the --follow file and add it to `files`; None without the option."""
    path = context.question.text("follow")
    if path is None:
        return None
    optional = ("qd", "qdd") if context.question.text("control") == "computed-torque" else ("qd",)
    read, name = read_with_notes(context, path, ("q",), optional, files)
    time = require_increasing_time(read, name, "a controller has to know when to be where")
    assert read.q is not None, "q is required"
    still = np.zeros_like(read.q)
    for quantity in optional:
        if getattr(read, quantity) is None:
            context.warn(f"{name}: no {COLUMN_WORDS[quantity]} columns, so they are taken as 0")
    qd, qdd = (still if each is None else each for each in (read.qd, read.qdd))
    return ReferenceTrajectory(name, time, read.q, qd, qdd)


def require_increasing_time(read: Trajectory, name: str, why: str) -> Floats:
    """Return the time of each row in s; `why` is the hint if the time column is missing."""
    if read.time is None:
        raise RobolinError("there is no column 'time'", where=name, hint=why)
    time = np.asarray(read.seconds, dtype=np.float64)
    if (falls := np.flatnonzero(np.diff(time) <= 0.0)).size:
        row = int(falls[0])
        message = f"time does not rise from row {row + 1} to row {row + 2}"
        raise RobolinError(message, where=name)
    return time


def read_with_notes(
    context: QueryContext,
    path: str,
    needs: Sequence[str],
    optional: Sequence[str],
    files: dict[str, str],
    only: Sequence[str] | None = None,
) -> tuple[Trajectory, str]:
    """Read a trajectory of all joints or of `only`; add it to `files` and emit its notes."""
    arm, rules = context.arm, context.rules.about((*needs, *optional))
    if only is not None:
        several = {arm.joint_names[j] for group in arm.groups for j in arm.places(group).values()}
        rules = replace(rules, only=tuple(only), free_turns=bool(several & {*only}))
    read = read_trajectory(path, arm.joint_names, tuple(needs), tuple(optional), rules)
    name = display_name(path)
    files[name] = read.digest
    context.note(*(f"{name}: {note}" for note in read.notes))
    return read, name
