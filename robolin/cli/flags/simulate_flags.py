"""Where a motion starts, how long it lasts and what drives it: the flags of `simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import click

from robolin.cli.flags.flag import STATE, TIME, TORQUE, bundled, flag
from robolin.cli.flags.flag_values import Typed, figure, number, per_joint
from robolin.cli.flags.model_flags import file_name
from robolin.cli.flags.state_flags import HOLD
from robolin.errors import UsageError
from robolin.files.formats import extensions, trajectory_formats

if TYPE_CHECKING:
    from robolin.arm import Arm
    from robolin.simulation.controllers import PoseControl, RateControl
    from robolin.simulation.schedule import Integrator, Schedule

RATE, POSE = "rate", "pose"


@dataclass(frozen=True)
class Start:
    """Where the motion starts: one state by flags, or one per row of a file."""

    q: str | None
    qd: str | None
    initial: str | None
    velocities: str

    def values(self, arm: Arm, name: str) -> list[float]:
        """What was typed for q or qd, one value per joint."""
        text = {"q": self.q, "qd": self.qd}[name]
        return [0.0] * arm.n if text is None else per_joint(Typed(f"--{name}", text), arm, True)


@dataclass(frozen=True)
class Clock:
    """How long, and by what steps."""

    duration: float
    dt: float | None
    rtol: float | None
    atol: float | None
    integrator: str | None
    every: int | None
    rows: int | None

    def schedule(self, many: bool) -> Schedule:
        """When to step and when to look: by itself at every step, or for many only at the ends."""
        from robolin.simulation.schedule import scheduled

        return scheduled(
            self.duration,
            cast("Integrator | None", self.integrator),
            self.dt,
            self.rtol,
            self.atol,
            self.every or (None if many else 1),
            self.rows,
        )

    def asks_for_rows(self, schedule: Schedule) -> bool:
        """Whether a flag says which moments to keep between the ends."""
        return any((self.every,) if schedule.fixed else (self.rows, self.dt))


@dataclass(frozen=True)
class Drive:
    """What gives the torque."""

    tau: str | None
    trajectory: str | None
    control: str | None
    gain: str | None
    target: str | None
    position_gain: str | None
    orientation_gain: str | None
    ignore_limits: bool

    @property
    def holds(self) -> bool:
        return self.tau is not None and self.tau.partition("+")[0].strip() == HOLD

    def constant(self, arm: Arm) -> list[float]:
        """The torque that is there at all times, besides what holds the arm."""
        text = self.tau or ""
        if self.holds:
            text = text.partition("+")[2].strip()
        return per_joint(Typed("--tau", text), arm, False) if text else [0.0] * arm.n

    def law(self, arm: Arm) -> RateControl | PoseControl | None:
        """The control law that was asked for."""
        from robolin.simulation.controllers import PoseControl, RateControl

        if self.control is None:
            return None
        gain = 1.0 if self.gain is None else _one_or_per_joint(Typed("--gain", self.gain), arm)
        if self.control == RATE:
            return RateControl(gain)
        if self.target is None:
            hint = "for example --target tool0=0.4,0,0.5,0,90deg,0"
            raise UsageError("needs a --target", where="--control=pose", hint=hint)
        frame, position, rotation = _pose(Typed("--target", self.target))
        stiffness = {
            name: _one_or_three(Typed(f"--{name.replace('_', '-')}", text))
            for name in ("position_gain", "orientation_gain")
            if (text := getattr(self, name)) is not None
        }
        return PoseControl(frame, position, rotation, gain, **stiffness)


def _one_or_per_joint(typed: Typed, arm: Arm) -> float | list[float]:
    one = "," not in typed.text and "=" not in typed.text
    return number(typed, typed.text) if one else per_joint(typed, arm, False)


def _one_or_three(typed: Typed) -> float | list[float]:
    values = [number(typed, item) for item in typed.text.split(",")]
    if len(values) not in (1, 3):
        raise typed.wrong(f"{len(values)} numbers, not 1 or 3", "one for all axes, or X,Y,Z")
    return values[0] if len(values) == 1 else values


def _pose(typed: Typed) -> tuple[str, list[float], list[list[float]]]:
    from robolin.geometry.rotations import rotation_from_rpy

    frame, equals, place = typed.text.rpartition("=")
    figures = [figure(typed, item) for item in place.split(",")]
    if not equals or not frame or len(figures) != 6:
        hint = "for example tool0=0.4,0,0.5,0,90deg,0"
        raise typed.wrong("this is not FRAME=X,Y,Z,ROLL,PITCH,YAW", hint)
    if any(degrees for _, degrees in figures[:3]):
        raise typed.wrong("X,Y,Z are in m, not in deg")
    x, y, z, roll, pitch, yaw = (value for value, _ in figures)
    R = rotation_from_rpy(roll, pitch, yaw)
    return frame.strip(), [x, y, z], [list(R[i : i + 3]) for i in (0, 3, 6)]


_START = [
    flag("--q", section=STATE, metavar="VALUES", help="Positions to start from.  [default: 0]"),
    flag("--qd", section=STATE, metavar="VALUES", help="Velocities to start with.  [default: 0]"),
    flag(
        "--initial",
        section=STATE,
        metavar="FILE",
        help=f"Start from every row of a {extensions(trajectory_formats())} "
        "file at once, and answer with "
        "where each of them ends; with --every, --rows or a --dt from row to row, with all rows.",
    ),
    flag(
        "--state",
        "velocities",
        section=STATE,
        type=click.Choice(("rates", "xi", "nu")),
        default="rates",
        show_default=True,
        help="Velocities to integrate: those of the joints, or diagonalizing ones.",
    ),
]

_TIME = [
    flag("--duration", section=TIME, metavar="S", required=True, help="How long, in seconds."),
    flag(
        "--dt",
        section=TIME,
        metavar="S",
        help="Step of the fixed-step integrator rk4; else the time from row to row.  "
        "[default: 0.001]",
    ),
    flag(
        "--rtol",
        section=TIME,
        metavar="R",
        help="Adapt steps to keep this relative tolerance; needs SciPy.",
    ),
    flag(
        "--atol", section=TIME, metavar="A", help="Absolute tolerance.  [default: that of --rtol]"
    ),
    flag(
        "--integrator",
        section=TIME,
        type=click.Choice(("rk4", "dop853", "rk45", "radau")),
        help="Method: rk4 takes fixed steps, the others adapt them; radau is for strong damping "
        "of light links.  [default: rk4; dop853 with a tolerance]",
    ),
    flag(
        "--every",
        section=TIME,
        type=click.IntRange(min=1),
        metavar="N",
        help="Steps of rk4 from row to row.  [default: 1]",
    ),
    flag(
        "--rows",
        section=TIME,
        type=click.IntRange(min=2),
        metavar="N",
        help="How many rows, where steps adapt.  [default: 101, or one every --dt]",
    ),
]

_TORQUE = [
    flag(
        "--tau",
        section=TORQUE,
        metavar="VALUES",
        help="Torques (forces of sliding joints) for all times; 'hold' carries weight and loads "
        "at every moment, 'hold+VALUES' both.  [default: 0]",
    ),
    flag(
        "--trajectory",
        section=TORQUE,
        metavar="FILE",
        help="Torques from the columns time and JOINT/effort of a "
        f"{extensions(trajectory_formats())} file, on straight lines between its rows, as in the "
        "nearest row outside them.",
    ),
    flag(
        "--control",
        section=TORQUE,
        type=click.Choice((RATE, POSE)),
        help="Torques from a controller: rate brakes the arm, epsilon = -c nu; pose draws a frame "
        "to a target as well.  Both make up for weight, loads and losses.",
    ),
    flag(
        "--gain",
        section=TORQUE,
        metavar="C|VALUES",
        help="The controller's c in 1/s, one number or one per joint.  [default: 1]",
    ),
    flag(
        "--target",
        section=TORQUE,
        metavar="FRAME=X,Y,Z,ROLL,PITCH,YAW",
        help="The pose of a frame to go to, in the root link's axes, for --control pose.",
    ),
    flag(
        "--position-gain",
        section=TORQUE,
        metavar="K|X,Y,Z",
        help="Pull per metre to the target, in N/m.  [default: 100]",
    ),
    flag(
        "--orientation-gain",
        section=TORQUE,
        metavar="K|X,Y,Z",
        help="Pull of each axis of the frame to the target's, in N m.  [default: 10]",
    ),
    flag(
        "--ignore-limits",
        section=TORQUE,
        is_flag=True,
        help="Let torques exceed the effort limits of the description.",
    ),
]


def _start(q: str | None, qd: str | None, initial: str | None, velocities: str) -> Start:
    if initial is not None and (typed := [f"--{n}" for n, v in (("q", q), ("qd", qd)) if v]):
        hint = "give the state either by flags or by a file"
        where = f"--initial={initial}"
        raise UsageError(f"cannot go together with {' and '.join(typed)}", where=where, hint=hint)
    return Start(q, qd, initial and file_name(initial), velocities)


def _clock(
    duration: str, integrator: str | None, every: int | None, rows: int | None, **typed: str | None
) -> Clock:
    def read(name: str, text: str | None) -> float | None:
        return None if text is None else number(Typed(f"--{name}", text), text)

    length = read("duration", duration)
    assert length is not None, "click insists on a duration"
    numbers = {name: read(name, text) for name, text in typed.items()}
    return Clock(length, **numbers, integrator=integrator, every=every, rows=rows)


def _drive(**typed: Any) -> Drive:
    drive = Drive(**typed)
    ways = {"--tau": drive.tau, "--trajectory": drive.trajectory, "--control": drive.control}
    chosen = [name for name, value in ways.items() if value is not None]
    if len(chosen) > 1:
        hint = "the torque comes from one of them"
        raise UsageError(f"cannot go together with {chosen[1]}", where=chosen[0], hint=hint)
    _require_control(drive, ("gain",), (RATE, POSE))
    _require_control(drive, ("target", "position_gain", "orientation_gain"), (POSE,))
    if drive.trajectory is not None:
        file_name(drive.trajectory)
    return drive


def _require_control(drive: Drive, names: Sequence[str], laws: Sequence[str]) -> None:
    for name in names:
        if getattr(drive, name) is not None and drive.control not in laws:
            hint = f"it is for --control {' or '.join(laws)}"
            raise UsageError("has no effect here", where=f"--{name.replace('_', '-')}", hint=hint)


start_options = bundled("start", _START, _start)
clock_options = bundled("clock", _TIME, _clock)
drive_options = bundled("drive", _TORQUE, _drive)
