"""Options for reading a recording, as plain data: rules of `--columns`, rows and derivatives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from robolin.core.choices import DIFFERENTIATIONS
from robolin.core.quantity_table import COLUMN_WORDS, column_name, time_and_unit
from robolin.core.records import dataclass
from robolin.core.text import closest_match, did_you_mean, quote_list
from robolin.core.text_parsing import FlagText
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.io.table_file import TableBlock


TIME_COLUMN = "time"

TIME_NAMES = ("t", "stamp", "timestamp", "__time", "Time", "time_s", "times")

# motor currents become efforts by the torque constants
CURRENT = "current"

_WORDS = {**{word: short for short, word in COLUMN_WORDS.items()}, CURRENT: "tau"}

_PLACEHOLDERS = ("{joint}", "{index}", "{number}")

# a range of column indices, 2:8, or one index
INDEX_RANGE = r"([0-9]{1,9})(?::([0-9]{1,9}))?"

# a comma before the next rule, QUANTITY=… or JOINT/QUANTITY=…
_NEXT_RULE = rf",(?=\s*(?:[^,=]*/)?(?:{'|'.join([*_WORDS, TIME_COLUMN])})\s*=)"


@dataclass(frozen=True)
class ReadOptions:
    """How to read a recording.

    columns:   'position=PATTERN' for each quantity, with {joint}, {index} (from 0) or {number};
               'position=2:8' by column index from 0, without the last one;
               'JOINT/position=COLUMN' for one joint, 'time=COLUMN' for the time
    header:    whether the first line of a text contains the column names
    join:      how rows of several files are joined, by 'row' or by 'time'
    torque_constants: effort at each joint per ampere of motor current, in N·m per A or N per A,
               for columns of currents: 'current=PATTERN', or 'JOINT/current' in the file
    time:      the column with the time, if it has another name
    degrees:   whether angles and their rates are in degrees
    turning:   for each joint whether it is revolute, so that `degrees` applies
    time_unit: unit of the time: 'ns', 'us', 'ms' or 's'; seconds count from the first row
    carry:     columns that are copied to the result
    differentiate: how velocities and accelerations come from positions, such as 'savgol:0.1'
    radians:   whether the user states that angles are in rad, for files without known units
    free_turns: whether velocities of a joint are not derivatives of its positions
    sample_time: time between two rows in s, for files without a time column
    only:      the joints to read; all if None.  Indices count the others, too
    measured:  whether efforts are compared with the model, so they determine no accelerations
    """

    columns: tuple[str, ...] = ()
    time: str | None = None
    degrees: bool = False
    turning: tuple[bool, ...] = ()
    time_unit: str | None = None
    carry: tuple[str, ...] = ()
    differentiate: str | None = None
    radians: bool = False
    free_turns: bool = False
    only: tuple[str, ...] | None = None
    measured: bool = False
    header: bool = True
    join: str = "row"
    torque_constants: tuple[float, ...] | None = None
    sample_time: float | None = None

    def about(self, quantities: Sequence[str]) -> ReadOptions:
        """The options for a file that has only these quantities ('q', 'tau')."""
        words = [word for word, name in _WORDS.items() if name in quantities]
        kept = [text for text in self.columns if quantity_of(text) in (*words, TIME_COLUMN)]
        return replace(self, columns=tuple(kept))


AS_IT_IS = ReadOptions()


def times_with_units(columns: Sequence[str], renamed: Mapping[str, str]) -> list[str]:
    """The columns that are named as a time with its unit, 'time [s]'; none that occurs twice."""
    usual = (TIME_COLUMN, *TIME_NAMES)
    named = [(name, *time_and_unit(name)) for name in columns if name not in renamed]
    times = [name for name, plain, unit in named if unit and plain.lower() in usual]
    return [name for name in times if times.count(name) == 1]


_NAMED_AT_MOST = 6


def listed_names(names: Sequence[str]) -> str:
    return quote_list(names, _NAMED_AT_MOST)


def separate_rules(text: str) -> list[str]:
    """Split 'position=2:8,velocity=8:14' at commas before a rule, not at commas in a name."""
    return re.split(_NEXT_RULE, text)


def left_side(text: str) -> str:
    return text.partition("=")[0].strip()


def quantity_of(text: str) -> str:
    return left_side(text).rpartition("/")[2]


_Column = TypeVar("_Column", str, int)


def add_columns(renamed: dict[_Column, str], text: str, added: Mapping[_Column, str]) -> None:
    """Add the columns of a rule, and reject columns that another rule has renamed."""
    for name, native in added.items():
        if renamed.get(name, native) != native:
            message = f"column '{name}' is mapped to '{renamed[name]}' by another rule"
            raise UsageError(
                message, where=f"--columns={text}", hint="keep only one of these rules"
            )
        renamed[name] = native


def columns_in_range(
    text: str, columns: Sequence[str], joints: Sequence[str], selected: Sequence[str], where: str
) -> dict[int, str]:
    """The columns of a rule such as position=2:8, by index; {} for any other rule."""
    word, _, span = (part.strip() for part in text.partition("="))
    matched = re.fullmatch(INDEX_RANGE, span)
    if word not in _WORDS or not matched:
        return {}
    first = int(matched[1])
    stop = first + 1 if matched[2] is None else int(matched[2])
    flag = f"--columns={text}"
    if stop - first != len(joints):
        hint = (
            "the first column is 0, and a range does not include its end: "
            f"{word}={first}:{first + len(joints)} selects {', '.join(joints)}"
        )
        message = (
            f"must select one column for each of the {len(joints)} joints, got "
            f"{max(stop - first, 0)}"
        )
        raise UsageError(message, where=flag, hint=hint)
    if stop > len(columns):
        hint = f"the last possible range is {max(len(columns) - len(joints), 0)}:{len(columns)}"
        message = f"{flag} exceeds the number of columns in the file, {len(columns)}"
        raise RobolinError(message, where=where, hint=hint)
    return {
        first + i: column_name(_WORDS[word], joint)
        for i, joint in enumerate(joints)
        if joint in selected
    }


def range_hint(matches: Mapping[tuple[str, int], Sequence[int]], n: int) -> str:
    """Hint with the indices of the first columns of a quantity that has a repeated column."""
    for quantity in dict.fromkeys(name for (name, _), own in matches.items() if len(own) > 1):
        first = [min(matches.get((quantity, i), [-1])) for i in range(n)]
        if first[0] >= 0 and first == [*range(first[0], first[0] + n)]:
            text = f"--columns {COLUMN_WORDS[quantity]}={first[0]}:{first[0] + n}"
            return f", or select the columns of all joints by index: {text}"
    return ""


def without_repeats(names: Sequence[str], placed: Mapping[int, str]) -> list[str]:
    """Names of columns; those with the name of a column selected by index are not used."""
    chosen = {*placed.values()}
    return [
        f"{name} (not used)" if name in chosen and i not in placed else name
        for i, name in enumerate(names)
    ]


def columns_of_rule(
    text: str, columns: Sequence[str], joints: Sequence[str], selected: Sequence[str], where: str
) -> dict[str, str]:
    """The columns that one rule matches."""
    word, equals, pattern = (part.strip() for part in text.partition("="))
    flag = f"--columns={text}"
    joint, slash, quantity = word.rpartition("/")
    if equals and slash and quantity in _WORDS:
        column = _of_one_joint(flag, joint, joints, pattern, columns, where)
        return {column: column_name(_WORDS[quantity], joint)}
    if not equals or word not in _WORDS:
        hint = f"use {', '.join(_WORDS)} as QUANTITY, or JOINT/QUANTITY=COLUMN, or time=COLUMN"
        if near := closest_match(quantity, _WORDS):
            hint = f"did you mean '{joint}{slash}{near}={pattern or 'PATTERN'}'? {hint}"
        raise UsageError("must have the form QUANTITY=PATTERN", where=flag, hint=hint)
    if not any(placeholder in pattern for placeholder in _PLACEHOLDERS):
        hint = "write for example position=/joint_states/{joint}/position, or by index position=2:8"
        raise UsageError(
            f"the pattern must contain one of {', '.join(_PLACEHOLDERS)}", where=flag, hint=hint
        )
    names = {
        _filled(pattern, joint, i): joint for i, joint in enumerate(joints) if joint in selected
    }
    matches = {
        name: column_name(_WORDS[word], joint) for name, joint in names.items() if name in columns
    }
    if not matches:
        example = next(iter(names), pattern)
        hint = did_you_mean(example, columns, f"the columns are {quote_list(columns)}")
        raise RobolinError(
            f"no column matches the pattern, for example '{example}'", where=where, hint=hint
        )
    return matches


def _of_one_joint(
    flag: str,
    joint: str,
    joints: Sequence[str],
    column: str,
    columns: Sequence[str],
    where: str,
) -> str:
    """The column of one joint; an error if the joint or the column does not exist."""
    if joint not in joints:
        raise UsageError(
            f"unknown joint '{joint}'", where=flag, hint=did_you_mean(joint, list(joints))
        )
    if column not in columns:
        hint = did_you_mean(column, columns, "check the column names in the first line of the file")
        raise RobolinError(f"unknown column '{column}'", where=where, hint=hint)
    return column


def _filled(pattern: str, joint: str, i: int) -> str:
    name = pattern.replace("{joint}", joint)
    return name.replace("{index}", str(i)).replace("{number}", str(i + 1))


@dataclass(frozen=True)
class RowSlice:
    """The rows first, first + stride, … below stop, counted from 0; stop None is the end."""

    first: int = 0
    stop: int | None = None
    stride: int = 1

    def of(self, before: int, rows: int) -> slice:
        """The selected rows among `rows` rows that follow `before` others."""
        stop = rows if self.stop is None else min(rows, self.stop - before)
        start = max(self.first - before, (self.first - before) % self.stride)
        return slice(start, max(start, stop), self.stride)

    def count(self, rows: int) -> int:
        """The number of selected rows in a file with this many rows."""
        return len(range(*self.of(0, rows).indices(rows)))

    def part(self, first: int, rows: int) -> RowSlice:
        """The slice of `rows` selected rows after the first `first` of them."""
        begin = self.first + first * self.stride
        end = begin + rows * self.stride
        stop = end if self.stop is None else min(end, self.stop)
        return RowSlice(begin, stop, self.stride)


ALL_ROWS = RowSlice()


def chosen_rows(choice: RowSlice, block: TableBlock, row: int) -> TableBlock:
    """The selected rows of a block that begins at this row."""
    chosen, location = choice.of(row, len(block.values)), block.location
    return replace(
        block,
        values=block.values[chosen],
        integers={i: values[chosen] for i, values in block.integers.items()},
        location=lambda some: location(chosen.start + chosen.step * some),
    )


def no_row(choice: RowSlice, file: str) -> RobolinError:
    """The error for a recording without any of the selected rows."""
    if choice == ALL_ROWS:
        return RobolinError("the file has no rows after the header", where=file)
    hint = "select other rows with --rows and --stride; the first row is 0"
    return RobolinError("the file has none of the selected rows", where=file, hint=hint)


def parse_sample_time(text: str) -> float:
    """Parse the time between two rows, in s."""
    typed = FlagText("--sample-time", text)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not NARROWEST <= seconds <= WIDEST:
        message = f"must be a time from {NARROWEST:g} to {WIDEST:g} s"
        raise typed.wrong(message, "write for example --sample-time 0.001 for 1000 rows per second")
    return seconds


CENTRAL, SAVGOL = DIFFERENTIATIONS

# in s; beyond these, widths in ticks would not be exact
NARROWEST, WIDEST = 1e-9, 1e6

LOWEST_ORDER, DEFAULT_ORDER, HIGHEST_ORDER = 2, 3, 5

_FORM = f"{CENTRAL}, {SAVGOL} or {SAVGOL}:SECONDS[:ORDER], for example {SAVGOL}:0.1"


class DerivativeMethod(NamedTuple):
    """How velocities and accelerations are computed.

    width: of the windows in s, None for the default; of local polynomials only
    order: of the polynomials
    """

    method: str
    width: float | None = None
    order: int = DEFAULT_ORDER


def parse_differentiation(text: str) -> DerivativeMethod:
    """Parse central, savgol, savgol:SECONDS or savgol:SECONDS:ORDER."""
    typed = FlagText("--differentiate", text)
    method, *numbers = text.split(":")
    if method not in DIFFERENTIATIONS or len(numbers) > (2 if method == SAVGOL else 0):
        raise typed.wrong(f"must be {_FORM}")
    if not numbers:
        return DerivativeMethod(method)
    try:
        width = float(numbers[0])
        order = int(numbers[1]) if len(numbers) == 2 else DEFAULT_ORDER
    except ValueError:
        raise typed.wrong(f"must be {_FORM}") from None
    if not NARROWEST <= width <= WIDEST:
        message = f"the width must be from {NARROWEST:g} to {WIDEST:g} s, got {width:g} s"
        raise typed.wrong(message, f"for example {SAVGOL}:0.1")
    if not LOWEST_ORDER <= order <= HIGHEST_ORDER:
        message = f"the order must be from {LOWEST_ORDER} to {HIGHEST_ORDER}, got {order}"
        raise typed.wrong(message)
    return DerivativeMethod(method, width, order)
