"""States of a query as plain data, and the named poses among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Never

from robolin.core.arm import Arm
from robolin.core.choices import Join, OnBadRow, TimeUnit
from robolin.core.labelled_values import labelled
from robolin.core.notebook import equal_values
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.core.text_parsing import FlagText, parse_per_joint, parse_rows, text_of
from robolin.errors import RobolinError, UsageError
from robolin.io.format_table import FORMATS, base_name, extensions, with_nan
from robolin.io.trajectories.read_options import (
    ALL_ROWS,
    ReadOptions,
    RowSlice,
    parse_differentiation,
    parse_sample_time,
)
from robolin.queries.option_specs import (
    EXCLUDES,
    ROW_OPTIONS,
    SAMPLES,
    STATE_QUANTITIES,
    STATES_OPTION,
    TRAJECTORY,
    TRAJECTORY_OPTIONS,
    Verb,
    check_conflicts,
    conflict,
)
from robolin.queries.question import coerce_option

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    from robolin.core.arm import Arm
    from robolin.core.arrays import Floats

    StateValues = ArrayLike | Mapping[str, float] | str | None
    from robolin.core.result import Array
    from robolin.queries.request import QueryContext


NAN = "nan"

# pose that pictures show if no state is given
HOME = "home"

_ANY = Verb("states", "", "")

# options for files and samples, in the order of the records
_OPTIONS = {
    **{name: TRAJECTORY[name] for name in ("trajectory", "on-bad-row")},
    **SAMPLES,
    **TRAJECTORY_OPTIONS,
    **ROW_OPTIONS,
}


@dataclass(frozen=True, init=False, eq=False)
class States:
    """One state, every row of a file or of arrays, or random states.

    A quantity is one number per joint in the arm's order, shape (n,); a mapping from joints to
    numbers, 0 for missing joints; text as on the command line, for q also the name of a pose; or
    an array of shape (rows, n).
    Two `States` are equal if their texts are identical and their arrays are equal.

    Args:
        q: positions, in rad or m; docs/reference/conventions.md explains multi-DoF joints
        qd: velocities, in rad/s or m/s
        qdd: accelerations, in rad/s² or m/s²
        tau: torques, in N·m or N; 'hold' for the torques that give zero acceleration
        nu, epsilon: diagonalizing velocities, in √J, and torques, in √J/s, for the inverse
            transform of `diagonalize`
        xi, kappa: unnormalized velocities, in rad/s or m/s, and torques, in N·m or N
        qdr, qddr: reference velocities and accelerations of the Slotine–Li regressor
        state: a .yaml or .toml file with some of these quantities

    Fields:
        values: quantity -> one state as text, or an array of shape (rows, n), in rad or m, rad/s
            or m/s, and so on
        trajectory: a recording, such as .csv, .parquet, .npz or .mat; several files of one
            recording as 'a.csv+b.csv'; '-' for CSV on standard input
        on_bad_row: for rows without a result: 'error' raises an error, 'nan' writes NaN
        samples: number of random states within the joint limits, for commands that accept several
        seed: random seed
        columns: column names of the file, such as 'position=/states/{joint}/position', or a .yaml
            or .toml file with such rules
        time: name of the time column, if it is not 'time'
        time_unit: unit of the time, 'ns', 'us', 'ms' or 's'; time starts at the first row
        sample_time: time between two rows in s, for a file without a time column
        degrees: True if angles in the file are in degrees
        radians: True if they are in rad, for files that do not declare their unit
        no_header: True if the first line of the file is a row; `columns` then has indices, such
            as 'position=1:7,velocity=7:13'
        join: rows of several files, 'a.csv+b.csv', are joined by 'row' (default) or by 'time'
        torque_constants: effort at each joint per ampere of motor current, in N·m per A, or N per
            A for prismatic joints: '11.9,9.8' or 'elbow=9.8,shoulder=11.9'
        differentiate: 'central', 'savgol' or 'savgol:SECONDS[:ORDER]' computes velocities and
            accelerations from positions
        carry: columns of the file to copy into the result
        rows: rows of the file, such as '1000:2000', counted from 0; the end row is excluded
        stride: use every stride-th row

    Raises:
        UsageError: an unknown quantity, a value that is not a number, or incompatible options
        RobolinError: an invalid `state` or `columns` file
        FileError: a `state` or `columns` file that cannot be read

    Example:
        >>> robolin.States(q=[0.3, -0.7], qd={"elbow": 0.5}).values
        {'q': '0.3,-0.7', 'qd': 'elbow=0.5'}
        >>> robolin.States(q="elbow=30deg", tau="hold").values
        {'q': 'elbow=30deg', 'tau': 'hold'}
        >>> robolin.States(q=[0.5, 0.0]) == robolin.States(q="0.5,0.0")
        True
    """

    values: Mapping[str, str | Floats]
    trajectory: str | None
    on_bad_row: str | None
    samples: int | None
    seed: int | None
    columns: tuple[str, ...] | None
    time: str | None
    time_unit: str | None
    sample_time: str | None
    degrees: bool | None
    radians: bool | None
    no_header: bool | None
    join: str | None
    torque_constants: str | None
    differentiate: str | None
    carry: tuple[str, ...] | None
    rows: str | None
    stride: int | None

    def __init__(
        self,
        *,
        q: StateValues = None,
        qd: StateValues = None,
        qdd: StateValues = None,
        tau: StateValues = None,
        nu: StateValues = None,
        epsilon: StateValues = None,
        xi: StateValues = None,
        kappa: StateValues = None,
        qdr: StateValues = None,
        qddr: StateValues = None,
        trajectory: str | PathLike[str] | None = None,
        on_bad_row: OnBadRow | None = None,
        samples: int | None = None,
        seed: int | None = None,
        columns: Sequence[str] | Mapping[str, str] | str | None = None,
        time: str | None = None,
        time_unit: TimeUnit | None = None,
        sample_time: float | None = None,
        degrees: bool = False,
        radians: bool = False,
        no_header: bool = False,
        join: Join | None = None,
        torque_constants: str | Sequence[float] | Mapping[str, float] | None = None,
        differentiate: str | None = None,
        carry: Sequence[str] | str | None = None,
        state: str | PathLike[str] | None = None,
        rows: str | None = None,
        stride: int | None = None,
        **unknown: Never,
    ) -> None:
        arguments = locals()
        for name in unknown:
            raise UsageError(f"unknown state quantity or option '{name}'", hint=_suggestion(name))
        values = {
            name: _values(name, arguments[name])
            for name in STATE_QUANTITIES
            if arguments[name] is not None
        }
        if state is not None:
            values = _with_file(values, str(state))
        for label, spec in _OPTIONS.items():
            name = label.replace("-", "_")
            object.__setattr__(self, name, coerce_option(_ANY, label, spec, arguments[name]))
        object.__setattr__(self, "values", values)
        self._validate()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, States) and equal_values(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.typed.items())), self.trajectory, self.rows))

    def _validate(self) -> None:
        check_conflicts(_OPTIONS, state_options(self))
        mixed = [name for name in self.values if name not in self.arrays]
        if self.arrays and mixed:
            hint = "pass every quantity as an array of shape (rows, n)"
            raise UsageError(
                f"{mixed[0]} has one state, but other quantities have several rows", hint=hint
            )
        assert self.row_slice, "invalid rows cause an error"
        if self.differentiate is not None:
            parse_differentiation(self.differentiate)
        if self.sample_time is not None:
            parse_sample_time(self.sample_time)

    @property
    def typed(self) -> dict[str, str]:
        """The quantities of one state, as text."""
        return {name: value for name, value in self.values.items() if isinstance(value, str)}

    @property
    def arrays(self) -> dict[str, Floats]:
        """The quantities given as arrays (rows, n)."""
        return {name: value for name, value in self.values.items() if not isinstance(value, str)}

    @property
    def files(self) -> dict[str, str]:
        """The file of the states, by its flag."""
        return {} if self.trajectory is None else {"trajectory": self.trajectory}

    @property
    def options(self) -> dict[str, Any]:
        """Options as a result records them: the file by its base name."""
        options = state_options(self)
        return {
            **self.typed,
            **{name: options[name] for name in options if name not in self.values},
            **{name: base_name(path) for name, path in self.files.items()},
        }

    @property
    def recording(self) -> dict[str, Any]:
        """Read options of the file by flag; None if absent."""
        return {name: getattr(self, name.replace("-", "_")) for name in TRAJECTORY_OPTIONS}

    @property
    def row_slice(self) -> RowSlice:
        """The selected rows of the file."""
        if self.rows is None:
            return ALL_ROWS if self.stride is None else RowSlice(stride=self.stride)
        return RowSlice(*parse_rows(FlagText("--rows", self.rows)), self.stride or 1)


def state_options(states: States) -> dict[str, Any]:
    """Return all options that were given, by flag; arrays also as the option 'states'."""
    options = {name: getattr(states, name.replace("-", "_")) for name in _OPTIONS}
    present = {name: value for name, value in options.items() if value is not None}
    arrays = {STATES_OPTION: "arrays"} if states.arrays else {}
    return {**states.values, **present, **arrays}


def _with_file(values: dict[str, str | Floats], path: str) -> dict[str, str | Floats]:
    """Add the quantities of a state file to those given."""
    from robolin.queries.option_files import read_state_file

    state = read_state_file(path, STATE_QUANTITIES)
    for name in state:
        if name in values:
            raise conflict("state", EXCLUDES, [name], f"remove --{name}, or {name} from {path}")
    return {**state, **values}


def _values(name: str, value: Any) -> str | Floats:
    """Convert one state to text, and anything with rows to an array."""
    if isinstance(value, str | Mapping):
        return text_of(value)
    names = labelled(name, value)
    if names is not None:
        if any(getattr(each, "ndim", 0) or hasattr(each, "__len__") for each in names.values()):
            hint = (
                "write the table to a file for trajectory=, or pass .to_numpy() in the order "
                "of the joints"
            )
            raise UsageError(f"{name} must be an array, got a labelled table", hint=hint)
        return text_of({label: float(each) for label, each in names.items()})
    import numpy as np

    from robolin.core.arrays import real_numbers

    try:
        array = np.array(real_numbers(name, value), dtype=np.float64)
    except RobolinError as error:
        hint = error.hint or "pass one number per joint, or a mapping from joints to numbers"
        raise UsageError(error.message, hint=hint) from error
    if array.ndim > 2:
        hint = "use at most one batch axis"
        raise UsageError(f"{name} must have shape (n,) or (rows, n), got {array.shape}", hint=hint)
    if array.ndim == 2:
        array.flags.writeable = False
        return array
    return text_of(np.atleast_1d(array))


def _suggestion(name: str) -> str:
    """Hint for an unknown keyword: the quantity of that column, or a similar name."""
    by_column = {column: quantity for quantity, column in COLUMN_WORDS.items()}
    if name in by_column:
        return f"use '{by_column[name]}'"
    return did_you_mean(
        name, [*STATE_QUANTITIES, *(each.replace("-", "_") for each in _OPTIONS), "state"]
    )


def home_or_zero(*arms: Arm) -> States:
    """The 'home' pose if all arms have it, otherwise the zero position."""
    return States(q=HOME) if all(HOME in dict(arm.named_poses) for arm in arms) else States()


# notes on how a file was read: `inspect` and --assumptions show them
_OF_READING = ("compiled by MuJoCo", "mechanicalReduction is ignored")


def notes_of_arm(arm: Arm) -> list[str]:
    """Notes of the arm's contract on its results, prefixed by its name."""
    notes = arm.contract.get("notes", ())
    return [f"{arm.name}: {note}" for note in notes if not note.startswith(_OF_READING)]


def rules_of_file(states: States, arm: Arm) -> ReadOptions:
    """Rules for reading the states' file, for this arm."""
    return read_options_from(arm, states.recording)


def with_trajectory(states: States, path: str, rows: str | None) -> States:
    """Return the states with another file and row selection."""
    other = copy(states)
    object.__setattr__(other, "trajectory", path)
    object.__setattr__(other, "rows", rows)
    return other


def require_nan_support(states: States, form: str) -> None:
    """Reject NaN for failed rows in a format that cannot store NaN."""
    if states.on_bad_row == NAN and form in FORMATS and not FORMATS[form].holds_nan:
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(
            f"{form.upper()} cannot represent NaN", where="--on-bad-row=nan", hint=hint
        )


def pose_contract(context: QueryContext, arrays: Sequence[Array] = ()) -> dict[str, Any]:
    """The positions of all poses that --q and --goal select, {} without any.

    The name of a pose is an option of the result, so `check` reads the pose again.  The positions
    in the contract show whether the robot file has changed them since.  A note lists the joints of
    a pose, or of one state, that are outside their limits.
    """
    arm = context.arm
    q = (context.states.typed.get("q") or "").strip()
    names = dict.fromkeys((q, (context.question.text("goal") or "").strip()))
    poses = {name: positions for name, positions in arm.named_poses if name in names}
    for name, positions in poses.items():
        if outside := "; ".join(_outside(arm, positions)):
            context.note(f"pose '{name}' is outside the joint limits: {outside}")
    typed = q and q not in poses and context.question.verb not in _OWN_LIMIT_CHECKS
    if typed and (outside := "; ".join(_outside(arm, _one_state(context, q, arrays)))):
        context.note(f"q is outside the joint limits: {outside}")
    return {"pose": {name: list(positions) for name, positions in poses.items()}} if poses else {}


# verbs that report positions beyond the limits themselves
_OWN_LIMIT_CHECKS = frozenset({"simulate", "ik", "optimize"})
# written limits and angles in degrees differ by rounding
_LIMIT_ROUNDING = 1e-6


def _one_state(context: QueryContext, text: str, arrays: Sequence[Array]) -> Sequence[float]:
    """Positions of the state: those of an equilibrium after --trim, otherwise --q."""
    if context.question.flag("trim"):
        points = [array.values for array in arrays if array.name == "q"]
        return points[0].ravel().tolist() if points else []
    return parse_per_joint(FlagText("--q", text), context.arm, True, True)


def _outside(arm: Arm, positions: Sequence[float]) -> Iterator[str]:
    for joint, position in zip(arm.joints, positions, strict=False):
        limits, rounding = joint.limits, _LIMIT_ROUNDING * max(1.0, abs(position))
        low = limits.lower is None or position >= limits.lower - rounding
        high = limits.upper is None or position <= limits.upper + rounding
        # a warning about the state reports positions that are far outside
        far = limits.far_outside(position, position, turns=joint.turns)
        if not (low and high) and not far and joint.kind != "continuous":
            # import here: most states and help pages need no reader of robot files
            from robolin.description.named_poses import outside_limits

            yield outside_limits(joint.name, limits, position, joint.turns)


def read_options_from(arm: Arm, flags: Mapping[str, Any]) -> ReadOptions:
    """Options from command-line flags by name."""
    sample_time = flags.get("sample-time")
    return ReadOptions(
        columns=flags.get("columns") or (),
        time=flags.get("time"),
        degrees=bool(flags.get("degrees")),
        turning=tuple(joint.turns for joint in arm.joints),
        time_unit=flags.get("time-unit"),
        carry=flags.get("carry") or (),
        differentiate=flags.get("differentiate"),
        radians=bool(flags.get("radians")),
        free_turns=bool(arm.groups),
        header=not flags.get("no-header"),
        join=flags.get("join") or "row",
        torque_constants=_torque_constants(arm, flags.get("torque-constants")),
        sample_time=None if sample_time is None else parse_sample_time(sample_time),
    )


def _torque_constants(arm: Arm, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    typed = FlagText("--torque-constants", text)
    constants = parse_per_joint(typed, arm, angular=False)
    if 0.0 in constants:
        joint = arm.joint_names[constants.index(0.0)]
        hint = "set one constant per joint: effort at the joint per ampere, N·m per A or N per A"
        raise typed.wrong(f"joint '{joint}' has no torque constant", hint)
    return tuple(constants)
