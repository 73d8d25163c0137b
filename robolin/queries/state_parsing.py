"""What is made of states: values per joint, how their file is meant, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Protocol

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.number_parsing import FlagText
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS, extensions, with_nan
from robolin.io.trajectories.column_rules import ReadOptions, read_options_from
from robolin.io.trajectories.trajectory import Chunk, split_chunk
from robolin.queries.joint_values import parse_per_joint, quaternion_names
from robolin.queries.states import NAN, States

if TYPE_CHECKING:
    from robolin.core.arm import Arm


# what is typed in degrees; ξ has the unit of velocities and is no motion of a joint
ANGULAR = ("q", "qd", "qdd", "dq", "dqd", "dqdd")


def parse_state_quantity(states: States, arm: Arm, quantity: str) -> list[float]:
    """One state's quantity, one value per joint."""
    typed = FlagText(f"--{quantity}", states.typed[quantity])
    return parse_per_joint(typed, arm, quantity in ANGULAR, quantity == "q")


def joints_by_quaternion(states: States, arm: Arm) -> list[str]:
    """The joints whose angles were typed as a quaternion."""
    names = quaternion_names(arm).items()
    return [joint for joint, parts in names if f"{parts[3]}=" in states.typed.get("q", "")]


def rules_of_file(states: States, arm: Arm) -> ReadOptions:
    """How the file with the states is meant, for this arm."""
    return read_options_from(arm, states.recording)


def with_trajectory(states: States, path: str, rows: str | None) -> States:
    """The same of another file, and of these rows of it."""
    other = copy(states)
    object.__setattr__(other, "trajectory", path)
    object.__setattr__(other, "rows", rows)
    return other


def reject_samples(states: States, needed: str) -> None:
    """Refuse samples where they would have no effect; `needed` is what they go with."""
    if states.samples is not None or states.seed is not None:
        name = "--samples" if states.samples is not None else "--seed"
        raise UsageError("has no effect here", where=name, hint=f"it goes with {needed}")


def require_nan_support(states: States, form: str) -> None:
    """Refuse a format that has no place for rows without an answer."""
    if states.on_bad_row == NAN and form in FORMATS and not FORMATS[form].holds_nan:
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(f"{form.upper()} has no NaN", where="--on-bad-row=nan", hint=hint)


_ROWS_AT_ONCE = 16384


class BatchSource(Protocol):
    """Rows in chunks, and what is known of all of them; a `TrajectoryStream` is one.

    has_columns: whether quantities that are missing were to be expected as columns
    size:        how large all of it is, in the units that chunks count, if that can be told
    derived:     the quantities among those given that are derivatives of others
    lines:       what a contract tells of the way they were read
    time_unit:   what the time counts, where that is known
    """

    has_columns: bool

    @property
    def name(self) -> str: ...
    @property
    def given(self) -> tuple[str, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def derived(self) -> tuple[str, ...]: ...
    @property
    def lines(self) -> dict[str, str]: ...
    @property
    def time_unit(self) -> str | None: ...
    @property
    def size(self) -> int | None: ...
    def chunks(self, rows: int | None, *, gaps: bool) -> Iterator[Chunk]: ...
    def most_rows(self) -> int | None: ...
    def inputs(self) -> dict[str, str]: ...


class ArrayRows:
    """The rows of arrays of shape (rows, n), all with the same number of rows."""

    name = "arrays"
    notes = ()
    derived = ()
    time_unit = None
    has_columns = False

    def __init__(self, arm: Arm, arrays: Mapping[str, Floats]) -> None:
        self._arrays = arrays
        self.given = tuple(arrays)
        self.lines: dict[str, str] = {}
        for name, values in arrays.items():
            if values.shape[1] != arm.n:
                message = (
                    f"{name} has {values.shape[1]} values in a row, '{arm.name}' {arm.n} joints"
                )
                hint = f"the joints are, in order: {', '.join(arm.joint_names)}"
                raise UsageError(message, hint=hint)
        lengths = {name: len(values) for name, values in arrays.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} has {rows}" for name, rows in lengths.items())
            raise UsageError(f"the arrays differ in their number of rows: {listed}")
        self.size = next(iter(lengths.values()))
        if not self.size:
            raise UsageError("the arrays have no row", hint="shape (rows, n)")

    def chunks(self, rows: int | None, *, gaps: bool) -> Iterator[Chunk]:
        """All rows; those that are not finite are refused by their number, or let through."""
        bad = ~np.all([np.isfinite(each).all(axis=1) for each in self._arrays.values()], axis=0)
        if bad.any() and not gaps:
            row = int(np.argmax(bad))
            names = [
                name for name, each in self._arrays.items() if not np.isfinite(each[row]).all()
            ]
            raise UsageError(f"{names[0]} has a number that is not finite", where=f"row {row + 1}")
        columns = {name: np.where(bad[:, None], np.nan, x) for name, x in self._arrays.items()}
        whole = Chunk(self.size, columns, None, lambda row: f"row {row + 1}", bad, (0, self.size))
        yield from split_chunk(whole, lambda: rows or _ROWS_AT_ONCE)

    def most_rows(self) -> int:
        return self.size

    def inputs(self) -> dict[str, str]:
        """No file was read."""
        return {}
