"""Reference trajectory and initial state of a simulation: typed, or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from robolin.control.simulation.torques import Prescription, ReferenceMotion
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats, Mask
from robolin.core.configuration import difference, integrate
from robolin.core.records import dataclass
from robolin.core.text import join_and, pluralize
from robolin.core.text_parsing import FlagText, parse_per_joint
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.constant_inputs import prescribed_joints
from robolin.io.trajectories.read import read_trajectory
from robolin.io.trajectories.trajectory import Trajectory
from robolin.queries.feedback_file import StoredFeedback
from robolin.queries.request import QueryContext, display_name
from robolin.queries.state_monitor import noted_angles
from robolin.queries.values import missing_columns_text


@dataclass(frozen=True, eq=False)
class ReferenceTrajectory:
    """Positions at times from 0 s; velocities and accelerations are 0 if the file has none.

    origin: time of the first row in the file
    """

    name: str
    time: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    origin: float = 0.0

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
    time = require_increasing_time(read, name, "add a column 'time' in s")
    if (origin := float(time[0])) != 0.0:
        context.note(
            f"{name}: 0 s in the simulation is the first row, at {origin:.12g} s in the file"
        )
        time = time - origin
    assert read.q is not None, "q is required"
    still = np.zeros_like(read.q)
    for quantity in optional:
        if getattr(read, quantity) is None:
            context.warn(f"{name}: {missing_columns_text(quantity)}")
    qd, qdd = (still if each is None else each for each in (read.qd, read.qdd))
    return ReferenceTrajectory(name, time, read.q, qd, qdd, origin)


def require_increasing_time(read: Trajectory, name: str, why: str) -> Floats:
    """Return the time of each row in s; `why` is the hint if the time column is missing."""
    if read.time is None:
        raise RobolinError("column 'time' is missing", where=name, hint=why)
    time = np.asarray(read.seconds, dtype=np.float64)
    if (falls := np.flatnonzero(np.diff(time) <= 0.0)).size:
        row = int(falls[0])
        message = f"time must increase, but does not from row {row + 1} to row {row + 2}"
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
        several = {
            arm.joint_names[j]
            for group in arm.groups
            for j in arm.coordinate_indices(group).values()
        }
        rules = replace(rules, only=tuple(only), free_turns=bool(several & {*only}))
    read = read_trajectory(path, arm.joint_names, tuple(needs), tuple(optional), rules)
    name = display_name(path)
    files[name] = read.digest
    context.note(*(f"{name}: {note}" for note in read.notes))
    return read, name


@dataclass(frozen=True, eq=False)
class Start:
    """Initial q and q̇, a description of their source, and the flag that set each of them."""

    q: Floats
    qd: Floats
    start_text: str
    origins: dict[str, str]


def simulation_start(
    context: QueryContext,
    files: dict[str, str],
    reference: StoredFeedback | ReferenceTrajectory | None,
    prescribed: PrescribedTrajectory | None,
) -> Start:
    """Return the initial state; prescribed joints start as in their file unless flags set them."""
    start = _unprescribed_start(context, files, reference)
    if prescribed is None:
        return start
    _note_start_mismatch(context, prescribed, start)
    return _with_prescribed_start(context, prescribed, start)


def _unprescribed_start(
    context: QueryContext,
    files: dict[str, str],
    reference: StoredFeedback | ReferenceTrajectory | None,
) -> Start:
    initial, typed = context.question.text("initial"), context.states.typed
    if initial is not None:
        return _first_rows(context, initial, files)
    if reference is not None and not typed:
        return _near(context, reference)
    origins: dict[str, str] = {name: f"--{name}" for name in ("q", "qd") if name in typed}
    q, qd = (np.array(_typed(context, name)) for name in ("q", "qd"))
    start_text = f"{' and '.join(origins.values())} given" if origins else "at rest at q = 0"
    return Start(q, qd, start_text, origins)


def _first_rows(context: QueryContext, initial: str, files: dict[str, str]) -> Start:
    read, file = read_with_notes(context, initial, ("q",), ("qd",), files)
    assert read.q is not None, "q is required"
    rows, origins = f"{pluralize(read.rows, 'row')} of {file}", {"q": "--initial"}
    if read.qd is None:
        return Start(read.q, np.zeros_like(read.q), f"{rows}, at rest", origins)
    return Start(read.q, read.qd, rows, origins | {"qd": "--initial"})


def _near(context: QueryContext, reference: StoredFeedback | ReferenceTrajectory) -> Start:
    """Start of the gains' or controller's reference, plus --offset."""
    q, qd = reference.start
    text = context.question.text("offset")
    if text is None:
        what = "gains" if isinstance(reference, StoredFeedback) else "motion"
        return Start(q, qd, f"start of the {what} in {reference.name}", {})
    offset = parse_per_joint(FlagText("--offset", text), context.arm, True)
    noted_angles(context, "offset", offset)
    return Start(
        integrate(context.arm, q, offset), qd, f"--offset from the start of {reference.name}", {}
    )


def _typed(context: QueryContext, name: str) -> list[float]:
    """Parse q or qd, one value per joint; zeros if absent."""
    text = context.states.typed.get(name)
    if text is None:
        return [0.0] * context.arm.n
    values = parse_per_joint(FlagText(f"--{name}", text), context.arm, True, name == "q")
    return noted_angles(context, name, values)


def _note_start_mismatch(
    context: QueryContext, prescribed: PrescribedTrajectory, start: Start
) -> None:
    """Note if prescribed joints do not start as in their file."""
    state = {"q": start.q, "qd": start.qd}
    own, typed = (
        prescribed.initial_state(state, prescribed.known),
        [name for name in prescribed.known if name in start.origins],
    )
    other = [name for name in typed if (own[name] != state[name]).any()]
    if other:
        flags = [*dict.fromkeys(start.origins[name] for name in other)]
        have = f"set by {join_and(flags)}, instead of the values in the file"
        context.note(f"{prescribed.name}: prescribed joints start with {join_and(other)} {have}")


def _with_prescribed_start(
    context: QueryContext, prescribed: PrescribedTrajectory, start: Start
) -> Start:
    """Replace the initial state of prescribed joints by their file's, unless flags set it."""
    taken = [name for name in prescribed.known if name not in start.origins]
    if not taken:
        return start
    text = context.question.text("offset")
    if "q" in taken and text is not None:
        offset = np.array(parse_per_joint(FlagText("--offset", text), context.arm, True))
        for j in np.flatnonzero(offset * prescribed.is_prescribed):
            message = (
                f"{prescribed.name} already sets the initial position of joint "
                f"'{context.arm.joint_names[j]}'"
            )
            hint = (
                "remove the joint from --offset, or remove the positions of the joint from the file"
            )
            raise UsageError(message, where=f"--offset={text}", hint=hint)
    state = prescribed.initial_state({"q": start.q, "qd": start.qd}, taken)
    origin = f"{' and '.join(taken)} of prescribed joints from {prescribed.name}"
    return replace(start, q=state["q"], qd=state["qd"], start_text=f"{start.start_text}; {origin}")


@dataclass(frozen=True, eq=False)
class PrescribedTrajectory:
    """Rows (rows, n) of a file for prescribed joints, 0 for the other joints.

    times:  time of each row in s
    is_prescribed: 1 for every prescribed coordinate (n,), 0 for the others
    known:  which of q and qd the file contains
    """

    name: str
    named: str
    is_prescribed: Floats
    times: Floats
    rows: ReferenceMotion
    known: tuple[str, ...]

    @property
    def prescription(self) -> Prescription:
        """Accelerations, interpolated linearly between rows and constant outside."""
        alone = replace(self.rows, arrays={"qdd": self.rows.arrays["qdd"]})
        origin = f"of {self.name}, interpolated linearly between rows"
        return Prescription(self.named, lambda t: alone.at(t)["qdd"], origin)

    def initial_state(
        self, state: Mapping[str, AnyArray], taken: Sequence[str]
    ) -> dict[str, AnyArray]:
        """Return `state` with the quantities `taken` of prescribed joints at 0 s."""
        start = {"q": self.positions(0.0), "qd": self.rows.at(0.0)["qd"]}
        own = self.is_prescribed != 0.0
        return {**state, **{name: np.where(own, start[name], state[name]) for name in taken}}

    def positions(self, time: float) -> Floats:
        """Interpolate q (n,): rotations of multi-DoF joints geodesically, others linearly."""
        rows = self.rows.arrays["q"]
        straight = np.array([np.interp(time, self.times, column) for column in rows.T])
        return np.where(self._bodies, self.rows.at(time)["q"], straight)

    def tracking_error(self, time: float, q: AnyArray) -> dict[str, float]:
        """Return the largest position error of prescribed joints, in m and in rad.

        q: positions (..., n)

        Empty if the file has no positions, or `time` is outside its rows.
        """
        if "q" not in self.known or not self.times[0] <= time <= self.times[-1]:
            return {}
        arm, target = self.rows.arm, self.positions(time)
        apart = np.array(q - target)
        # angles of a multi-DoF joint are known up to multiples of 2π
        angles = [j for j in _group_coordinates(arm) if arm.joints[j].turns]
        apart[..., angles] -= 2.0 * np.pi * np.round(apart[..., angles] / (2.0 * np.pi))
        error = np.abs(np.where(self._bodies, difference(arm, target, q), apart))
        turns, own = np.array([joint.turns for joint in arm.joints]), self.is_prescribed != 0.0
        units = {"m": own & ~turns, "rad": own & turns}
        return {unit: float(error[..., mask].max()) for unit, mask in units.items() if mask.any()}

    @property
    def _bodies(self) -> Mask:
        """Mask (n,) of multi-DoF joints with all coordinates prescribed."""
        arm, mask = self.rows.arm, np.zeros(self.is_prescribed.shape, dtype=bool)
        for group in arm.groups:
            own = sorted(arm.coordinate_indices(group).values())
            mask[own] = self.is_prescribed[own].all()
        return mask


def _group_coordinates(arm: Arm) -> list[int]:
    return [j for group in arm.groups for j in arm.coordinate_indices(group).values()]


def read_prescribed(
    context: QueryContext, files: dict[str, str], reference: ReferenceTrajectory | None
) -> PrescribedTrajectory | None:
    """Read the --prescribe-from file and add it to `files`; None without the option.

    reference: the trajectory to track, which has the same clock
    """
    named, path = (context.question.text(name) for name in ("prescribe", "prescribe-from"))
    if named is None or path is None:
        return None
    arm = context.arm
    is_prescribed = prescribed_joints(arm, named, "--prescribe")
    joints = [arm.joint_names[j] for j in np.flatnonzero(is_prescribed)]
    read, name = read_with_notes(context, path, ("qdd",), ("q", "qd"), files, joints)
    time = require_increasing_time(read, name, "add a column 'time' in s")
    if reference is not None and reference.origin != 0.0:
        time = time - reference.origin
    columns = {"q": read.q, "qd": read.qd, "qdd": read.qdd}
    known = tuple(each for each in ("q", "qd") if columns[each] is not None)
    still = np.zeros((read.rows, arm.n))
    full = {each: still if rows is None else rows for each, rows in columns.items()}
    return PrescribedTrajectory(
        name, named, is_prescribed, time, ReferenceMotion(arm, time, full), known
    )
