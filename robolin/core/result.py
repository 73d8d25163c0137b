"""Results of commands: named arrays with joints, units and model assumptions; their checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

from robolin.core.arrays import Numbers, all_finite, as_array, kind_of, np
from robolin.core.notebook import DisplayMixin, equal_values
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from polars import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Array(DisplayMixin):
    """One named array of a `Result`: numbers, the names along their axes, and their unit.

    Two arrays are equal if their values, names, labels and units are equal.

    Fields:
        name: the quantity, such as 'tau'
        values: shape (len(labels[0]), len(labels[1]), …), optionally with a leading axis of rows;
            float64, complex128 or int64, in `unit`
        labels: the names along each axis, except the axis of the rows
        unit: such as 'N·m', or 'N·m or N' for an arm with revolute and prismatic joints
        column: the word after the joint in column names of a vector, as in `elbow/effort`
        axes: kind of each axis, such as 'state', 'input', 'output' or 'mode'; '' for an axis
            without a kind, and () if no axis has a kind

    Raises:
        UsageError: the number of axis names differs from the number of axes

    Example:
        >>> tau = robolin.Array("tau", np.zeros((5, 2)), (("shoulder", "elbow"),), "N·m", "effort")
        >>> tau, tau.batch, tau.column_names()
        (<Array tau (5, 2) [N·m]>, 5, ['shoulder/effort', 'elbow/effort'])
    """

    name: str
    values: Numbers
    labels: tuple[tuple[str, ...], ...]
    unit: str
    column: str | None = None
    axes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", as_array(self.values))
        if self.axes and len(self.axes) != len(self.labels):
            message = (
                f"array '{self.name}' has {len(self.labels)} axes, but {len(self.axes)} axis names"
            )
            raise UsageError(message, hint="name all axes, or omit all axis names")

    def __repr__(self) -> str:
        return f"<Array {self.summary}>"

    @property
    def summary(self) -> str:
        """Name, shape and unit as one line."""
        return f"{self.name} {self.values.shape} [{self.unit}]"

    @property
    def rank(self) -> int:
        """Number of axes, without the rows: 0 for a scalar, 1 for a vector, 2 for a matrix."""
        return len(self.labels)

    @property
    def batch(self) -> int | None:
        """Number of rows, or None for one state."""
        return self.values.shape[0] if self.values.ndim > self.rank else None

    def axis_kind(self, axis: int) -> str:
        """Kind of an axis.

        Args:
            axis: index into `labels`

        Returns:
            such as 'state' or 'mode'; '' if `axes` does not name it
        """
        return self.axes[axis] if self.axes else ""

    def column_names(self) -> list[str]:
        """Column names of a table, last axis fastest; a complex entry has two columns."""
        parts = kind_of(self.values).parts
        return [f"{name}{part}" for name in self.entry_names() for part in parts]

    def entry_names(self) -> list[str]:
        """One name per entry, last axis fastest."""
        if self.rank == 1 and self.column is not None:
            return [f"{label}/{self.column}" for label in self.labels[0]]
        return ["/".join((self.name, *labels)) for labels in product(*self.labels)]


@dataclass(frozen=True)
class Reference:
    """Tolerances and input files of a reference result, which other results are checked against.

    tolerances: 'rtol' and 'atol' by array, '*' for all others
    files:      option -> its file, as a path relative to the folder of the result
    """

    tolerances: Mapping[str, Mapping[str, float]]
    files: Mapping[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Result(DisplayMixin):
    """Result of one command, with everything needed to interpret and reproduce it.

    `result["tau"]` returns the values of an array, or raises UsageError; `"tau" in result` tests
    whether the array exists, and `dict(result)` contains all arrays.  Two results are equal if all
    their fields are equal; `result - other` is their difference.

    Fields:
        verb: the command, as on the command line
        arrays: every `Array`, with its name, values, labels and unit
        joints: the names of the joints, in the order of the values
        contract: model assumptions: what is included in the numbers, as in `arm.contract`
        options: the options of the command, by the names of flags
        inputs: base name of every file read -> its SHA-256
        time: shape (rows,), float64, int64 or datetime64, as in the trajectory, or None
        model: numeric values of the arm's description, to detect changes in it
        reference: tolerances and files of a reference result, or None
        files: option -> its path, for a result that was just computed
        compared: for a difference: array -> the largest magnitude in either result

    Example:
        >>> arm = robolin.load("two-link")
        >>> result = robolin.answer(arm, "inverse", robolin.States(q=[0.3, -0.7]))
        >>> result, result["tau"].round(4)
        (<Result of inverse: tau (2,) [N·m]>, array([18.5756,  4.5178]))
    """

    verb: str
    arrays: tuple[Array, ...]
    joints: tuple[str, ...]
    contract: Mapping[str, Any]
    options: Mapping[str, Any]
    inputs: Mapping[str, str]
    time: Numbers | None = None
    model: Mapping[str, Any] | None = None
    reference: Reference | None = None
    files: Mapping[str, str] = field(default_factory=dict, compare=False)
    compared: Mapping[str, float] | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> Numbers:
        """The values of an array, or the times."""
        for known, values in self.stored():
            if known == name:
                return values
        hint = f"available arrays: {', '.join(self.keys())}"
        raise UsageError(f"array '{name}' not found", hint=hint)

    def __contains__(self, name: object) -> bool:
        return any(known == name for known, _ in self.stored())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """The names of all arrays, also 'time' if there is one, for `dict(result)`."""
        return [known for known, _ in self.stored()]

    def __repr__(self) -> str:
        return f"<Result of {self.verb}: {', '.join(a.summary for a in self.arrays)}>"

    def __sub__(self, other: Any) -> Result:
        """Difference of all numbers to another result of the same shape."""
        return difference_of(self, other)

    def to_dict(self) -> dict[str, Any]:
        """Verb, joints, times, arrays, units, labels, contract, options and inputs by name."""
        from robolin.core.summary import dict_of

        return dict_of(self)

    def to_polars(self) -> DataFrame:
        """Polars data frame with one row per state and the columns of the CSV."""
        from robolin.core.summary import polars_of

        return polars_of(self)

    def to_pandas(self) -> Any:
        """pandas data frame with one row per state and the columns of the CSV.

        Raises:
            RobolinError: pandas is not installed
        """
        from robolin.core.summary import pandas_of

        return pandas_of(self)

    def plot(self, *only: str, style: str = "light") -> Figure:
        """Plot arrays with matplotlib.

        Args:
            only: names of the arrays to plot (default: the main arrays of the command)
            style: 'light', 'dark', 'paper' (column widths of journals) or 'presentation'

        Returns:
            a `matplotlib.figure.Figure`, which notebooks display and `savefig` writes

        Raises:
            UsageError: an unknown array, or an unknown style
            RobolinError: no array that can be plotted, or matplotlib is not installed
        """
        figure: Figure = renderers("figure")(self, only, style)
        return figure

    def _repr_html_(self) -> str:
        """HTML for a notebook: tables with names and units, and the contract."""
        return str(renderers("html")(self))

    @property
    def batch(self) -> int | None:
        """Number of rows, or None for one state."""
        return self.arrays[0].batch

    @property
    def size(self) -> int:
        """Number of values in all arrays together."""
        return sum(values.size for _, values in self.stored())

    def stored(self) -> Iterator[tuple[str, Numbers]]:
        """Every array by name, in the order of result files."""
        if self.time is not None:
            yield "time", self.time
        for array in self.arrays:
            yield array.name, array.values

    def rows(self, first: int, stop: int) -> Result:
        """Result with a range of the rows.

        Args:
            first: index of the first row
            stop: index after the last row

        Returns:
            a `Result` whose arrays have shape (rows, …)

        Raises:
            UsageError: a result of one state

        Example:
            >>> states = robolin.States(q=np.zeros((5, 2)))
            >>> robolin.answer(robolin.load("two-link"), "inverse", states).rows(1, 3)
            <Result of inverse: tau (2, 2) [N·m]>
        """
        if self.batch is None:
            raise UsageError(
                "the result is for one state and has no rows",
                hint="use a result that was computed from a trajectory",
            )
        arrays = tuple(replace(array, values=array.values[first:stop]) for array in self.arrays)
        time = None if self.time is None else self.time[first:stop]
        # the files of the request give all rows, not this range
        return replace(self, arrays=arrays, time=time, files={})


@dataclass(frozen=True)
class Footer:
    """Metadata of a stream that is complete only after the last row.

    plan: plan and part number of a result that is part of a plan
    """

    contract: Mapping[str, Any]
    inputs: Mapping[str, str]
    model: Mapping[str, Any] | None = None
    reference: Reference | None = None
    plan: Mapping[str, Any] | None = None


def rows_unknown() -> int | None:
    """Row limit of a stream of unknown length: None."""
    return None


@dataclass(frozen=True, eq=False)
class ResultStream:
    """A result in chunks of rows, for recordings larger than memory.

    Iterate over `parts` once, inside the `with` block of `robolin.answer_stream`.

    Fields:
        parts: `Result` objects with consecutive rows; one part for a single state
        ending: function to call once after the last part, with the number of rows; returns an
            object with the `.contract`, `.inputs` and `.model` of the entire result
        most_rows: function that returns an upper bound of the number of rows, or None
        live: whether each part should be delivered immediately

    Example:
        >>> arm, states = robolin.load("two-link"), robolin.States(q=np.zeros((5, 2)))
        >>> with robolin.answer_stream(arm, "inverse", states, chunk_rows=2) as stream:
        ...     [part["tau"].shape for part in stream.parts]
        [(2, 2), (2, 2), (1, 2)]
    """

    parts: Iterable[Result]
    ending: Callable[[int], Footer]
    most_rows: Callable[[], int | None] = rows_unknown
    live: bool = False


def stream_of_one_part(result: Result) -> ResultStream:
    """A complete result as a stream of one part."""
    ending = Footer(result.contract, result.inputs, result.model, result.reference)
    return ResultStream((result,), lambda _: ending, lambda: result.batch)


def checked_stream(answer: Result | ResultStream) -> ResultStream:
    """The parts of a result, all finite; parts of a stream are checked when computed."""
    if isinstance(answer, ResultStream):
        return answer
    require_finite(answer)
    return stream_of_one_part(answer)


SHOWN_BY = {
    "figure": "robolin.display.plots.draw_panels:figure_of",
    "html": "robolin.display.terminal.table:html_of",
}


def renderers(kind: str) -> Callable[..., Any]:
    """Import the function that renders a result as this kind."""
    module, _, function = SHOWN_BY[kind].partition(":")
    renderer: Callable[..., Any] = getattr(import_module(module), function)
    return renderer


def difference_of(one: Result, other: Any) -> Result:
    """Subtract results array by array; their labels, shapes and times must be equal."""
    # unwrap a result that was read from a file
    other = getattr(other, "result", other)
    if not isinstance(other, type(one)):
        raise UsageError(f"{other!r} is not a Result", hint="subtract a Result")
    mine, others = ({a.name: a for a in each.arrays} for each in (one, other))
    shared = [name for name in mine if name in others]
    if not shared:
        raise UsageError(
            f"the results have no array in common: {one!r}, {other!r}",
            hint="subtract results of the same command",
        )
    arrays, largest = [], {}
    for name in shared:
        left, right = mine[name], others[name]
        if left.labels != right.labels or left.values.shape != right.values.shape:
            where, hint = f"array '{name}'", "compare results with the same joints and rows"
            raise UsageError("labels or shapes differ", where=where, hint=hint)
        arrays.append(replace(left, values=left.values - right.values))
        largest[name] = max(_largest(left.values), _largest(right.values))
    if (one.time is None) != (other.time is None) or not equal_values(one.time, other.time):
        raise UsageError("the times differ", hint="compare results with the same rows")
    return replace(one, arrays=tuple(arrays), compared=largest)


def _largest(values: Numbers) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


# dtype kinds of arrays and of times
_NUMBERS, _TIMES = "fciubM", "fiuM"
# names that files use for other entries
RESERVED_NAMES = ("time", "joints", "meta")


def validate_result(result: Result) -> None:
    """Reject a result whose arrays have invalid names or shapes, or different numbers of rows."""
    if not result.arrays:
        raise UsageError("the result has no arrays")
    arrays: Iterable[object] = result.arrays
    for each in arrays:
        if not isinstance(each, Array):
            hint = "pass robolin.Array(name, values, labels, unit)"
            raise UsageError(f"{each!r} is not a robolin.Array", hint=hint)
    _require_times(result)
    names = [name for name, _ in result.stored()]
    for text in (result.verb, *names, *result.joints):
        if not isinstance(text, str) or not text:
            raise UsageError(f"{text!r} is not a valid name", hint="give a non-empty string")
    for name in RESERVED_NAMES:
        if any(array.name == name for array in result.arrays):
            raise UsageError(f"array name '{name}' is reserved", hint="rename the array")
    if len(set(names)) < len(names):
        raise UsageError(f"two arrays have the same name: {', '.join(names)}")
    for array in result.arrays:
        _require_sound_array(array)
    counts = {array.name: array.batch for array in result.arrays}
    if result.time is not None:
        counts["time"] = len(result.time)
    if 0 in counts.values():
        raise UsageError("the result has no rows", hint="pass at least one row")
    if len(set(counts.values())) > 1:
        rows_by_name = ", ".join(f"{name}: {rows}" for name, rows in counts.items())
        hint = "use one row per state in every array, or no row axis for a single state"
        raise UsageError(f"the arrays have different numbers of rows: {rows_by_name}", hint=hint)


def _require_times(result: Result) -> None:
    time = result.time
    if time is not None and not (
        isinstance(time, np.ndarray) and time.ndim == 1 and time.dtype.kind in _TIMES
    ):
        message = f"time: must be an array of numbers with one axis, got {type(time).__name__}"
        raise UsageError(message, hint="pass numpy.array([0.0, 0.1, …])")


def _require_sound_array(array: Array) -> None:
    """Reject an array whose shape does not match its labels."""
    where, values = f"array '{array.name}'", array.values
    texts = [*(label for axis in array.labels for label in axis), array.unit]
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise UsageError(
            f"{wrong[0]!r} is not a string", where=where, hint="use strings for labels and units"
        )
    if values.dtype.kind not in _NUMBERS:
        raise UsageError(f"the values must be numbers, got {values.dtype}", where=where)
    labelled = tuple(map(len, array.labels))
    rows = values.ndim - len(labelled)
    if rows not in (0, 1) or values.shape[rows:] != labelled:
        message = f"the values have shape {values.shape}, but the labels require {labelled}"
        hint = "only one axis of rows may precede the labelled axes"
        raise UsageError(message, where=where, hint=hint)


def require_finite(result: Result) -> None:
    """Reject a result with NaN or infinity; the error names the entry."""
    for array in result.arrays:
        if all_finite(array.values):
            continue
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array.values))[0])
        where = [array.name]
        if array.batch is not None:
            where.append(f"row {index[0] + 1}")
            index = index[1:]
        where += [names[i] for i, names in zip(index, array.labels, strict=True)]
        raise RobolinError(
            f"{result.verb}: the result is not finite because numbers overflow",
            where=", ".join(where),
            hint="check for a state or parameter that is many orders of magnitude too large",
        )
