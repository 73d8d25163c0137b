"""Conversion of states to joint values, rules for their file, and validation."""

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


# quantities that accept degrees; ξ is not the velocity of a joint
ANGULAR = ("q", "qd", "qdd", "dq", "dqd", "dqdd")


def parse_state_quantity(states: States, arm: Arm, quantity: str) -> list[float]:
    """Parse a quantity of one state, one value per joint."""
    typed = FlagText(f"--{quantity}", states.typed[quantity])
    return parse_per_joint(typed, arm, quantity in ANGULAR, quantity == "q")


def joints_by_quaternion(states: States, arm: Arm) -> list[str]:
    """Joints whose rotation was typed as a quaternion."""
    names = quaternion_names(arm).items()
    return [joint for joint, parts in names if f"{parts[3]}=" in states.typed.get("q", "")]


def rules_of_file(states: States, arm: Arm) -> ReadOptions:
    """Rules for reading the states' file, for this arm."""
    return read_options_from(arm, states.recording)


def with_trajectory(states: States, path: str, rows: str | None) -> States:
    """Return the states with another file and row selection."""
    other = copy(states)
    object.__setattr__(other, "trajectory", path)
    object.__setattr__(other, "rows", rows)
    return other


def reject_samples(states: States, required: str) -> None:
    """Reject samples without effect; `required` is the option that they require."""
    if states.samples is not None or states.seed is not None:
        name = "--samples" if states.samples is not None else "--seed"
        raise UsageError("has no effect here", where=name, hint=f"it goes with {required}")


def require_nan_support(states: States, form: str) -> None:
    """Reject NaN for failed rows in a format that cannot store NaN."""
    if states.on_bad_row == NAN and form in FORMATS and not FORMATS[form].holds_nan:
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(f"{form.upper()} has no NaN", where="--on-bad-row=nan", hint=hint)


_ROWS_PER_CHUNK = 16384


class BatchSource(Protocol):
    """Rows in chunks, with properties of all rows; a `TrajectoryStream` is one.

    has_columns: missing quantities could have been columns, so their absence is worth a warning
    size:        total size in the units of the chunks, if known
    derived:     given quantities that are derivatives of others
    lines:       contract entries about reading
    time_unit:   unit of the time, if known
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
    """Rows of arrays of shape (rows, n), all with the same number of rows."""

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
        """Yield all rows; reject non-finite ones by their number, or pass them on as gaps."""
        bad = ~np.all([np.isfinite(each).all(axis=1) for each in self._arrays.values()], axis=0)
        if bad.any() and not gaps:
            row = int(np.argmax(bad))
            names = [
                name for name, each in self._arrays.items() if not np.isfinite(each[row]).all()
            ]
            raise UsageError(f"{names[0]} has a number that is not finite", where=f"row {row + 1}")
        columns = {name: np.where(bad[:, None], np.nan, x) for name, x in self._arrays.items()}
        all_rows = Chunk(
            self.size, columns, None, lambda row: f"row {row + 1}", bad, (0, self.size)
        )
        yield from split_chunk(all_rows, lambda: rows or _ROWS_PER_CHUNK)

    def most_rows(self) -> int:
        return self.size

    def inputs(self) -> dict[str, str]:
        """Return {}: arrays come from no file."""
        return {}
