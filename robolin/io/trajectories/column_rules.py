"""Map the columns of recordings of other programs to robolin's column names.

Options of the user come first; without any, the layout is detected from the names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from robolin.core.arm import Arm
from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.text import did_you_mean, pluralize, quote_list
from robolin.core.text_parsing import FlagText, parse_per_joint
from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.column_layouts import TextsOf, detect_layout, names_without_case
from robolin.io.trajectories.columns import any_native, zero_based_columns

TIME_COLUMN = "time"
# new name of a column 'time' if another column is the time
_NOT_THE_TIME = "time (not used)"
TIME_NAMES = ("t", "stamp", "timestamp", "__time", "Time", "time_s", "times")

# motor currents become efforts by the torque constants
CURRENT = "current"
_WORDS = {**{word: short for short, word in COLUMN_WORDS.items()}, CURRENT: "tau"}
_PLACEHOLDERS = ("{joint}", "{index}", "{number}")
# a range of column indices, 2:8, or one index
_RANGE = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?")
_INDEXED_RULE = rf"(?:{'|'.join([*_WORDS, TIME_COLUMN])})={_RANGE.pattern}"
_INDEXED_RULES = re.compile(rf"{_INDEXED_RULE}(?:,{_INDEXED_RULE})+")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a recording.

    columns:   'position=PATTERN' for each quantity, with {joint}, {index} (from 0) or {number};
               'position=2:8' by column index from 0, without the last one;
               'JOINT/position=COLUMN' for one joint, 'time=COLUMN' for the time
    header:    whether the first line of a text contains the column names
    join:      how rows of several files are joined, by 'row' or by 'time'
    torque_constants: effort per current of each joint, in N·m/A or N/A, for columns of motor
               currents: 'current=PATTERN', or 'JOINT/current' in the file
    time:      the column with the time, if it has another name
    degrees:   whether angles and their rates are in degrees
    turning:   for each joint whether it is revolute, so that `degrees` applies
    time_unit: unit of the time: 'ns', 'us', 'ms' or 's'; seconds count from the first row
    carry:     columns that are copied to the result
    differentiate: how velocities and accelerations come from positions, such as 'savgol:0.1'
    radians:   whether the user states that angles are in rad, for files without known units
    free_turns: whether velocities of a joint are not derivatives of its positions
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

    def about(self, quantities: Sequence[str]) -> ReadOptions:
        """The options for a file that has only these quantities ('q', 'tau')."""
        words = [word for word, name in _WORDS.items() if name in quantities]
        kept = [text for text in self.columns if _quantity(text) in (*words, TIME_COLUMN)]
        return replace(self, columns=tuple(kept))

    def selected_joints(self, joints: Sequence[str]) -> Sequence[str]:
        """The joints to read."""
        return joints if self.only is None else self.only


AS_IT_IS = ReadOptions()


def read_options_from(arm: Arm, flags: Mapping[str, Any]) -> ReadOptions:
    """Options from command-line flags by name."""
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
    )


def _torque_constants(arm: Arm, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    typed = FlagText("--torque-constants", text)
    constants = parse_per_joint(typed, arm, angular=False)
    if 0.0 in constants:
        joint = arm.joint_names[constants.index(0.0)]
        hint = "set one number per joint, effort per current in N·m/A or N/A"
        raise typed.wrong(f"joint '{joint}' has no torque constant", hint)
    return tuple(constants)


def separate_rules(text: str) -> list[str]:
    """Split 'position=2:8,velocity=8:14' at its commas; any other rule is one rule."""
    return text.split(",") if _INDEXED_RULES.fullmatch(text.replace(" ", "")) else [text]


@dataclass(frozen=True)
class NativeColumns:
    """The columns of a file under robolin's names, and what was assumed.

    naming: columns that contain joint names
    """

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()


def canonical_columns(
    columns: Sequence[str],
    joints: Sequence[str],
    rules: ReadOptions,
    where: str,
    texts_of: TextsOf = lambda _: None,
) -> NativeColumns:
    """Rename every column of a recording to robolin's name for it."""
    renamed: dict[str, str] = {}
    placed: dict[int, str] = {}
    naming: tuple[str, ...] = ()
    columns, notes = _without_mark(columns, rules)
    selected = rules.selected_joints(joints)
    patterns = [text for text in rules.columns if _left_side(text) != TIME_COLUMN]
    _require_each_once([_left_side(text) for text in patterns])
    if patterns:
        for text in patterns:
            if by_index := _columns_in_range(text, columns, joints, selected, where):
                _add_columns(placed, text, by_index)
            else:
                by_name = _columns_of_rule(text, columns, joints, selected, where)
                _add_columns(renamed, text, by_name)
    elif renamed := zero_based_columns(columns, joints):
        notes.append(f"columns are numbered from 0; order of the joints: {', '.join(joints)}")
    elif not any_native(columns, joints, selected):
        columns, note = names_without_case(columns, joints)
        notes += note
        if not any_native(columns, joints, selected):
            renamed, naming, note = detect_layout(columns, joints, selected, texts_of, where)
            notes += note
    named = _named_time(rules)
    taken = {**renamed, **{columns[i]: name for i, name in placed.items()}}
    time = _time_column(columns, taken, named, where)
    if time is not None and time in taken:
        message = f"column '{time}' is mapped to '{taken[time]}' by another rule"
        raise UsageError(message, where="--columns and --time", hint="keep one of them")
    if time is not None and time != TIME_COLUMN:
        renamed = {**renamed, TIME_COLUMN: _NOT_THE_TIME, time: TIME_COLUMN}
        if named is None:
            notes.append(f"time is taken from the column '{time}'")
    names = [placed.get(i, renamed.get(name, name)) for i, name in enumerate(columns)]
    names = _with_currents(names, selected, rules, where)
    return NativeColumns(tuple(names), tuple(notes), naming)


def _with_currents(
    names: Sequence[str], joints: Sequence[str], rules: ReadOptions, where: str
) -> list[str]:
    """Name columns of motor currents as efforts; the reader multiplies them by the constants."""
    typed = any(_quantity(text) == CURRENT for text in rules.columns)
    native = {f"{joint}/{CURRENT}": column_name("tau", joint) for joint in joints}
    found = [name for name in names if name in native]
    if rules.torque_constants is None:
        if typed:
            hint = "add --torque-constants with one number per joint in N·m/A, or use effort="
            raise UsageError("currents require torque constants", where="--columns", hint=hint)
        return list(names)
    if not (typed or found):
        hint = f"name the columns of currents, for example --columns {CURRENT}=PATTERN"
        raise UsageError("no column has currents", where="--torque-constants", hint=hint)
    if typed and any(_quantity(text) == COLUMN_WORDS["tau"] for text in rules.columns):
        hint = "keep the currents or the efforts"
        raise UsageError("the file has currents and efforts", where="--columns", hint=hint)
    if typed:
        return list(names)
    if efforts := [name for name in names if name in native.values()]:
        message = f"'{found[0]}' and '{efforts[0]}' are in the same file"
        hint = "remove --torque-constants to use the efforts"
        raise RobolinError(message, where=where, hint=hint)
    return [native.get(name, name) for name in names]


def _without_mark(columns: Sequence[str], rules: ReadOptions) -> tuple[Sequence[str], list[str]]:
    """Strip a comment sign before the first name, unless an option names the column so."""
    first = columns[0] if columns else ""
    plain = first.lstrip("#% ")
    specified = (*(text.partition("=")[2].strip() for text in rules.columns), rules.time)
    if plain == first or not plain or first in specified or plain in columns:
        return columns, []
    return (plain, *columns[1:]), [f"the first column '{first}' is read as '{plain}'"]


def _require_each_once(words: Sequence[str]) -> None:
    for word in words:
        if words.count(word) > 1:
            raise UsageError(f"'{word}' is given twice", where="--columns", hint="keep one of them")


def _left_side(text: str) -> str:
    return text.partition("=")[0].strip()


def _quantity(text: str) -> str:
    return _left_side(text).rpartition("/")[2]


def _named_time(rules: ReadOptions) -> str | None:
    """The column that an option names as the time."""
    named = [
        text.partition("=")[2].strip() for text in rules.columns if _left_side(text) == TIME_COLUMN
    ]
    named += [] if rules.time is None else [rules.time]
    if len(set(named)) > 1:
        message, hint = (
            f"the time column must be unique, got {quote_list(named)}",
            "keep one of them",
        )
        raise UsageError(message, where="--columns and --time", hint=hint)
    return named[0] if named else None


_Column = TypeVar("_Column", str, int)


def time_index(names: Sequence[str], rules: ReadOptions) -> int | None:
    """The time column of one of several files: the one named, else one with a usual name."""
    usual = [name for name in (TIME_COLUMN, *TIME_NAMES) if name in names]
    name = named if (named := _named_time(rules)) in names else None
    name = name or (usual[0] if TIME_COLUMN in usual or len(usual) == 1 else None)
    return None if name is None else list(names).index(name)


def _add_columns(renamed: dict[_Column, str], text: str, added: Mapping[_Column, str]) -> None:
    """Add the columns of a rule, and reject columns that another rule has renamed."""
    for name, native in added.items():
        if renamed.get(name, native) != native:
            message = f"column '{name}' is mapped to '{renamed[name]}' by another rule"
            raise UsageError(message, where=f"--columns={text}", hint="keep one of them")
        renamed[name] = native


def _columns_in_range(
    text: str, columns: Sequence[str], joints: Sequence[str], selected: Sequence[str], where: str
) -> dict[int, str]:
    """The columns of a rule such as position=2:8, by index; {} for any other rule."""
    word, _, span = (part.strip() for part in text.partition("="))
    matched = _RANGE.fullmatch(span)
    if word not in _WORDS or not matched:
        return {}
    first = int(matched[1])
    stop = first + 1 if matched[2] is None else int(matched[2])
    flag = f"--columns={text}"
    if stop - first != len(joints):
        hint = (
            f"columns count from 0, without the last one: {word}={first}:{first + len(joints)} "
            f"for {', '.join(joints)}"
        )
        message = f"must have one column per joint, {len(joints)}, got {max(stop - first, 0)}"
        raise UsageError(message, where=flag, hint=hint)
    if stop > len(columns):
        hint = f"the last range of the file is {max(len(columns) - len(joints), 0)}:{len(columns)}"
        message = f"{flag} exceeds the {pluralize(len(columns), 'column')} of the file"
        raise RobolinError(message, where=where, hint=hint)
    return {
        first + i: column_name(_WORDS[word], joint)
        for i, joint in enumerate(joints)
        if joint in selected
    }


def _columns_of_rule(
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
        raise UsageError("must have the form QUANTITY=PATTERN", where=flag, hint=hint)
    if not any(placeholder in pattern for placeholder in _PLACEHOLDERS):
        hint = "for example position=/joint_states/{joint}/position, or by index position=2:8"
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
        hint = did_you_mean(
            example, columns, "check the column names in the first line of the file"
        )
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


def _time_column(
    columns: Sequence[str], renamed: Mapping[str, str], named: str | None, where: str
) -> str | None:
    if named is not None:
        if named not in columns and _RANGE.fullmatch(named) and named.isdecimal():
            named = columns[int(named)] if int(named) < len(columns) else named
        if named not in columns:
            hint = did_you_mean(named, columns)
            raise RobolinError(f"unknown column '{named}'", where=where, hint=hint)
        return named
    if TIME_COLUMN in columns:
        return TIME_COLUMN
    candidates = [name for name in TIME_NAMES if name in columns and name not in renamed]
    if len(candidates) > 1:
        hint = f"choose one: --time {candidates[0]}"
        raise RobolinError(
            f"the time column is ambiguous: {quote_list(candidates)}", where=where, hint=hint
        )
    return candidates[0] if candidates else None
