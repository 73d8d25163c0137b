"""What a verb answers: named arrays, the joints they belong to, and what they include."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from robolin.arrays import Floats
from robolin.errors import RobolinError


@dataclass(frozen=True, eq=False)
class Array:
    """One named answer.

    values: shape batch + (len(labels[0]), len(labels[1]), …), with one batch axis or none
    labels: the names along each axis that is not the batch
    column: the word after the joint in column names of a vector, as in `elbow/effort`
    """

    name: str
    values: Floats
    labels: tuple[tuple[str, ...], ...]
    unit: str
    column: str | None = None

    @property
    def rank(self) -> int:
        """How many axes belong to the quantity itself: 0 a scalar, 1 a vector, 2 a matrix."""
        return len(self.labels)

    @property
    def batch(self) -> int | None:
        """How many rows there are, or None for one state."""
        return self.values.shape[0] if self.values.ndim > self.rank else None

    def column_names(self) -> list[str]:
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


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of one verb, with everything needed to understand it and to ask again.

    inputs:    base name of every file read, and its SHA-256
    time:      shape (rows,), in seconds, where the trajectory had it
    model:     the figures of the arm's description, for telling what changed in it
    reference: set where the result is stored for others to be checked against
    files:     option -> the path given for it, as far as the question has just been asked
    """

    verb: str
    arrays: tuple[Array, ...]
    joints: tuple[str, ...]
    contract: Mapping[str, Any]
    options: Mapping[str, Any]
    inputs: Mapping[str, str]
    time: Floats | None = None
    model: Mapping[str, Any] | None = None
    reference: Reference | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Floats:
        """The values of an array by its name, or 'time'."""
        for known, values in self.stored():
            if known == name:
                return values
        raise KeyError(name)

    @property
    def batch(self) -> int | None:
        """How many rows there are, or None for one state."""
        return self.arrays[0].batch

    def stored(self) -> Iterator[tuple[str, Floats]]:
        """Every array by name, in the order files keep them."""
        if self.time is not None:
            yield "time", self.time
        for array in self.arrays:
            yield array.name, array.values

    def rows(self, first: int, stop: int) -> Result:
        """Some of the rows."""
        arrays = tuple(replace(array, values=array.values[first:stop]) for array in self.arrays)
        time = None if self.time is None else self.time[first:stop]
        return replace(self, arrays=arrays, time=time)


@dataclass(frozen=True)
class Footer:
    """What a result includes and where it comes from, as far as only its last row tells."""

    contract: Mapping[str, Any]
    inputs: Mapping[str, str]
    model: Mapping[str, Any] | None = None
    reference: Reference | None = None


@dataclass(frozen=True, eq=False)
class ResultStream:
    """A result that comes in parts, each with some of the rows, in order.

    ending:    asked once, with the number of rows, when all parts have come
    most_rows: a number of rows that is surely not exceeded, if that can be told beforehand
    """

    parts: Iterable[Result]
    ending: Callable[[int], Footer]
    most_rows: Callable[[], int | None] = lambda: None


def whole(result: Result) -> ResultStream:
    """A result that is all there, as a flow of one part."""
    ending = Footer(result.contract, result.inputs, result.model, result.reference)
    return ResultStream((result,), lambda _: ending, lambda: result.batch)


def flat(result: Result) -> tuple[list[str], Floats]:
    """The result as one table: column names, and values of shape (rows, columns)."""
    rows = 1 if result.batch is None else result.batch
    names: list[str] = []
    parts: list[Floats] = []
    if result.time is not None:
        names.append("time")
        parts.append(result.time.reshape(rows, 1))
    for array in result.arrays:
        entries = array.column_names()
        names += entries
        parts.append(array.values.reshape(rows, len(entries)))
    return names, np.concatenate(parts, axis=1)


def require_finite(result: Result) -> None:
    """Refuse to hand out a number that is not one, naming where it would have stood."""
    for array in result.arrays:
        finite = np.isfinite(array.values)
        if finite.all():
            continue
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = [array.name]
        if array.batch is not None:
            where.append(f"row {place[0] + 1}")
            place = place[1:]
        where += [names[i] for i, names in zip(place, array.labels, strict=True)]
        raise RobolinError(
            f"{result.verb} has no finite answer here: the numbers overflow",
            where=", ".join(where),
            hint="look for a state or a parameter many orders of magnitude away from the others",
        )
