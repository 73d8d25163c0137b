"""What a verb answers: named arrays, the joints they belong to, and what they include."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.notebook import DisplayMixin
from robolin.core.results.number_kind import kind_of
from robolin.core.results.subtraction import difference_of
from robolin.core.results.table_columns import dict_of, pandas_of, polars_of
from robolin.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from polars import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Array(DisplayMixin):
    """One named array of a `Result`: numbers, the names along their axes, and their unit.

    Two are equal if they have the same numbers and say the same of them.

    Fields:
        name: what is answered, such as 'tau'
        values: shape (len(labels[0]), len(labels[1]), …), with one axis of rows before them or
            none; float64, complex128 or int64, in `unit`
        labels: the names along each axis that is not that of the rows
        unit: such as 'N·m', or 'N·m or N' where some joints turn and others slide
        column: the word after the joint in column names of a vector, as in `elbow/effort`
        axes: what each axis counts, such as 'state', 'input', 'output' or 'mode'; '' where that
            goes without saying, and nothing at all where it does for all of them

    Raises:
        UsageError: some axes named and others not

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
        object.__setattr__(self, "values", np.asarray(self.values))
        if self.axes and len(self.axes) != len(self.labels):
            message = f"'{self.name}' has {len(self.labels)} axes, and {len(self.axes)} are named"
            raise UsageError(message, hint="name every axis or none")

    def __repr__(self) -> str:
        return f"<Array {self.summary}>"

    @property
    def summary(self) -> str:
        """Name, shape and unit in a few words."""
        return f"{self.name} {self.values.shape} [{self.unit}]"

    @property
    def rank(self) -> int:
        """How many axes belong to the quantity itself: 0 a scalar, 1 a vector, 2 a matrix."""
        return len(self.labels)

    @property
    def batch(self) -> int | None:
        """How many rows there are, or None for one state."""
        return self.values.shape[0] if self.values.ndim > self.rank else None

    def axis_kind(self, axis: int) -> str:
        """What an axis counts.

        Args:
            axis: which of `labels`, from 0 on

        Returns:
            such as 'state' or 'mode', '' where that goes without saying
        """
        return self.axes[axis] if self.axes else ""

    def column_names(self) -> list[str]:
        """One name per column of a table, last axis fastest; complex entries have two."""
        parts = kind_of(self.values).parts
        return [f"{name}{part}" for name in self.entry_names() for part in parts]

    def entry_names(self) -> list[str]:
        """One name per entry, last axis fastest."""
        if self.rank == 1 and self.column is not None:
            return [f"{label}/{self.column}" for label in self.labels[0]]
        return ["/".join((self.name, *labels)) for labels in product(*self.labels)]


@dataclass(frozen=True)
class Reference:
    """What makes a result one to check others against.

    tolerances: how close others must come, 'rtol' and 'atol' by array, '*' for all others
    files:      option -> the file given for it, as a path from the folder of the result
    """

    tolerances: Mapping[str, Mapping[str, float]]
    files: Mapping[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Result(DisplayMixin):
    """The answer of one verb, with everything needed to understand it and to ask again.

    `result["tau"]` is the values of the array of that name, a UsageError where there is none, and
    `"tau" in result` whether there is one.  Two are equal if they have the same numbers and say
    the same of them; `result - other` is by how much they differ.

    Fields:
        verb: the verb that was asked, as on the command line
        arrays: every `Array`, with its name, values, labels and unit
        joints: the names of the joints, in the order of the values
        contract: what is included in the numbers and what is not, as `arm.contract` says it
        options: what was asked, by the names of flags
        inputs: the last name of every file read -> its SHA-256
        time: shape (rows,), float64, int64 or datetime64, as the trajectory had it, or None
        model: the figures of the arm's description, for telling what changed in it
        reference: set where the result is stored for others to be checked against
        files: option -> the path given for it, as far as the question has just been asked
        compared: set where this is a difference: array -> the largest number in either result

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
        known_names = ", ".join(known for known, _ in self.stored())
        raise UsageError(f"there is no array '{name}'", hint=f"arrays here are {known_names}")

    def __contains__(self, name: object) -> bool:
        return any(known == name for known, _ in self.stored())

    def __repr__(self) -> str:
        return f"<Result of {self.verb}: {', '.join(a.summary for a in self.arrays)}>"

    def __sub__(self, other: Any) -> Result:
        """By how much every number is larger than in another result of the same shape."""
        return difference_of(self, other)

    def to_dict(self) -> dict[str, Any]:
        """Verb, joints, times, arrays, units, labels, contract, options and inputs by name."""
        return dict_of(self)

    def to_polars(self) -> DataFrame:
        """A data frame of Polars with one row per state and the columns of the CSV."""
        return polars_of(self)

    def to_pandas(self) -> Any:
        """A data frame of pandas with one row per state and the columns of the CSV.

        Raises:
            RobolinError: pandas is not installed
        """
        return pandas_of(self)

    def plot(self, *only: str) -> Figure:
        """A figure of matplotlib.

        Args:
            only: names of arrays to draw; those that are looked at first if there are none

        Returns:
            the figure, which a notebook shows and `savefig` writes

        Raises:
            UsageError: an array that is not there
            RobolinError: nothing that can be drawn, or matplotlib is not installed
        """
        figure: Figure = renderers("figure")(self, only)
        return figure

    def _repr_html_(self) -> str:
        """What a notebook shows: tables with names and units, and the contract."""
        return str(renderers("html")(self))

    @property
    def batch(self) -> int | None:
        """How many rows there are, or None for one state."""
        return self.arrays[0].batch

    @property
    def size(self) -> int:
        """How many numbers there are in all arrays together."""
        return sum(values.size for _, values in self.stored())

    def stored(self) -> Iterator[tuple[str, Numbers]]:
        """Every array by name, in the order files keep them."""
        if self.time is not None:
            yield "time", self.time
        for array in self.arrays:
            yield array.name, array.values

    def rows(self, first: int, stop: int) -> Result:
        """Some of the rows, as a result of their own.

        Args:
            first: the first of them, counted from 0
            stop: the first one that is left out

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
            raise UsageError("the result is of one state", hint="rows are those of trajectories")
        arrays = tuple(replace(array, values=array.values[first:stop]) for array in self.arrays)
        time = None if self.time is None else self.time[first:stop]
        # no question has these rows alone for its answer
        return replace(self, arrays=arrays, time=time, files={})


@dataclass(frozen=True)
class Footer:
    """What a result includes and where it comes from, as far as only its last row tells.

    plan: which part of which plan it is, where it is one
    """

    contract: Mapping[str, Any]
    inputs: Mapping[str, str]
    model: Mapping[str, Any] | None = None
    reference: Reference | None = None
    plan: Mapping[str, Any] | None = None


def rows_unknown() -> int | None:
    """How many rows a stream will have, where nobody can tell."""
    return None


@dataclass(frozen=True, eq=False)
class ResultStream:
    """A result that comes in parts, for recordings that are larger than memory.

    It can be gone through once, within the `with` of `robolin.answer_stream`.

    Fields:
        parts: a `Result` with some of the rows each, in order; of one state there is one part
        ending: called once, with the number of rows, when all parts have come: an object with
            the `.contract`, `.inputs` and `.model` of the whole
        most_rows: called without anything: a number of rows that is surely not exceeded, or None
        live: whether somebody waits for each part

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
    """A result that is all there, as a stream of one part."""
    ending = Footer(result.contract, result.inputs, result.model, result.reference)
    return ResultStream((result,), lambda _: ending, lambda: result.batch)


SHOWN_BY = {
    "figure": "robolin.display.plots.draw_panels:figure_of",
    "html": "robolin.display.terminal.html_table:html_of",
}


def renderers(kind: str) -> Callable[..., Any]:
    """The function that makes this of a result."""
    module, _, function = SHOWN_BY[kind].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


SWEEP = "sweep"


def is_swept(verb: str) -> bool:
    """Whether the first array has the values that the others are answers for."""
    return verb.partition(" ")[0] == SWEEP


def base_verb(verb: str) -> str:
    """The verb that was asked, once or for several values."""
    return verb.removeprefix(f"{SWEEP} ")
