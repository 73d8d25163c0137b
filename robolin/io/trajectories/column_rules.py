"""Map the columns of recordings of other programs to robolin's column names.

Options of the user come first.  A layout is only detected automatically if all joints of the
robot match it and no other layout, and a note reports it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robolin.core.arm import Arm
from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.text import did_you_mean, quote_list
from robolin.errors import RobolinError, UsageError

TIME_COLUMN = "time"
# new name of a column 'time' if another column is the time
_NOT_THE_TIME = "time (not used)"
TIME_NAMES = ("t", "stamp", "timestamp", "__time", "Time", "time_s")

_WORDS = {word: short for short, word in COLUMN_WORDS.items()}
_PLACEHOLDERS = ("{joint}", "{index}", "{number}")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a recording.

    columns:   'position=PATTERN' for each quantity, with {joint}, {index} (from 0) or {number};
               'JOINT/position=COLUMN' for one joint, 'time=COLUMN' for the time
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

    def about(self, quantities: Sequence[str]) -> ReadOptions:
        """The options for a file that has only these quantities ('q', 'tau')."""
        words = [COLUMN_WORDS[name] for name in quantities]
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
    )


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
    naming: tuple[str, ...] = ()
    columns, notes = _without_mark(columns, rules)
    selected = rules.selected_joints(joints)
    patterns = [text for text in rules.columns if _left_side(text) != TIME_COLUMN]
    _require_each_once([_left_side(text) for text in patterns])
    if patterns:
        for text in patterns:
            _add_columns(renamed, text, _columns_of_rule(text, columns, joints, selected, where))
    elif not _any_native(columns, joints, selected):
        renamed, naming, note = _detect_layout(columns, joints, selected, texts_of, where)
        notes += note
    named = _named_time(rules)
    if (time := _time_column(columns, renamed, named, where)) is not None and time != TIME_COLUMN:
        renamed = {**renamed, TIME_COLUMN: _NOT_THE_TIME, time: TIME_COLUMN}
        if named is None:
            notes.append(f"time is taken from the column '{time}'")
    return NativeColumns(tuple(renamed.get(name, name) for name in columns), tuple(notes), naming)


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


def _add_columns(renamed: dict[str, str], text: str, added: Mapping[str, str]) -> None:
    """Add the columns of a rule, and reject columns that another rule has renamed."""
    for name, native in added.items():
        if renamed.get(name, native) != native:
            message = f"column '{name}' is mapped to '{renamed[name]}' by another rule"
            raise UsageError(message, where=f"--columns={text}", hint="keep one of them")
        renamed[name] = native


def _columns_of_rule(
    text: str, columns: Sequence[str], joints: Sequence[str], selected: Sequence[str], where: str
) -> dict[str, str]:
    """The columns that one rule matches."""
    word, equals, pattern = (part.strip() for part in text.partition("="))
    flag = f"--columns={text}"
    joint, slash, quantity = word.rpartition("/")
    if equals and slash and quantity in _WORDS:
        return {_of_one_joint(flag, joint, joints, pattern, columns, where): word}
    if not equals or word not in _WORDS:
        hint = f"use {', '.join(_WORDS)} as QUANTITY, or JOINT/QUANTITY=COLUMN, or time=COLUMN"
        raise UsageError("must have the form QUANTITY=PATTERN", where=flag, hint=hint)
    if not any(placeholder in pattern for placeholder in _PLACEHOLDERS):
        hint = "for example position=/joint_states/{joint}/position"
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


def _any_native(columns: Sequence[str], joints: Sequence[str], selected: Sequence[str]) -> bool:
    """Return whether a column already has robolin's name; then no layout is detected."""
    known = set(columns)
    for i, joint in enumerate(joints):
        if joint not in selected:
            continue
        for short in COLUMN_WORDS:
            spellings = (column_name(short, joint), f"{short}_{joint}", f"{joint}.{short}")
            if known & {*spellings, f"{short}{i + 1}", f"{short}[{i}]"}:
                return True
    return False


def _detect_layout(
    columns: Sequence[str],
    joints: Sequence[str],
    selected: Sequence[str],
    texts_of: TextsOf,
    where: str,
) -> tuple[dict[str, str], tuple[str, ...], list[str]]:
    """Detect columns with a common prefix, numbered columns, or columns named as the joints."""
    prefixes = list(dict.fromkeys(_prefixes(columns, selected)))
    if len(prefixes) > 1:
        hint = f"choose one: --columns position={prefixes[0]}{{joint}}/position"
        message = f"positions occur several times, with the prefixes {quote_list(prefixes)}"
        raise RobolinError(message, where=where, hint=hint)
    if prefixes:
        (prefix,) = prefixes
        note = f"columns with the prefix '{prefix}' are used"
        return _behind(prefix, columns, selected), (), [note]
    if lists := listed_columns(columns, joints, texts_of, where, selected):
        return dict(lists.renamed), lists.naming, [lists.note]
    if selected and all(joint in columns for joint in selected):
        positions = {joint: column_name("q", joint) for joint in selected}
        return positions, (), ["columns named after joints are read as positions"]
    return {}, (), []


def _prefixes(columns: Sequence[str], joints: Sequence[str]) -> Iterator[str]:
    """Yield the prefixes that precede the positions of all joints."""
    known = set(columns)
    for column in columns:
        ending = column_name("q", joints[0]) if joints else ""
        if ending and column.endswith(ending) and column != ending:
            prefix = column.removesuffix(ending)
            if all(prefix + column_name("q", joint) in known for joint in joints):
                yield prefix


def _behind(prefix: str, columns: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    native = {column_name(short, joint) for short in COLUMN_WORDS for joint in joints}
    return {
        name: rest
        for name in columns
        if name.startswith(prefix) and (rest := name.removeprefix(prefix)) in native
    }


def _time_column(
    columns: Sequence[str], renamed: Mapping[str, str], named: str | None, where: str
) -> str | None:
    if named is not None:
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


_SHORT = {word: short for short, word in COLUMN_WORDS.items()}
_NAME = "name"
# position[0], position.0, position0
_INDEXED = rf"(.*?)({'|'.join([*_SHORT, _NAME])})(\[\d+\]|\.?\d+)"

# columns by prefix and quantity word, each by its index
Lists = Mapping[tuple[str, str], Mapping[int, str]]
# returns the constant text of columns; None if rows differ
TextsOf = Callable[[Sequence[str]], Sequence[str] | None]


@dataclass(frozen=True)
class ListedColumns:
    """Robolin's names by column, the columns that contain joint names, and what was assumed."""

    renamed: Mapping[str, str]
    naming: tuple[str, ...]
    note: str


def listed_columns(
    columns: Sequence[str],
    joints: Sequence[str],
    texts_of: TextsOf,
    where: str,
    selected: Sequence[str],
) -> ListedColumns | None:
    """The columns of numbered lists with an entry per joint; None if positions are not in one.

    Lists with joint names need only have the selected joints.
    """
    lists = _lists(columns)
    position = COLUMN_WORDS["q"]
    prefixes = [prefix for prefix, word in lists if word == position]
    if len(prefixes) != 1:
        return None
    (prefix,) = prefixes
    naming = lists.get((prefix, _NAME), {})
    if naming:
        order = _named(lists, prefix, selected, texts_of, where)
        note = f"joints are named by '{naming[min(naming)]}' …"
    else:
        order = dict(enumerate(joints))
        note = "columns are numbered; order of the joints"
    renamed = {
        entries[i]: column_name(_SHORT[word], joint)
        for (_, word), entries in _useful(lists, prefix, order, named=bool(naming))
        for i, joint in order.items()
    }
    if position not in {name.rpartition("/")[2] for name in renamed.values()}:
        return None
    joint_list = ", ".join(order[i] for i in sorted(order))
    return ListedColumns(renamed, tuple(naming.values()), f"{note}: {joint_list}")


def _lists(columns: Sequence[str]) -> dict[tuple[str, str], dict[int, str]]:
    lists: dict[tuple[str, str], dict[int, str]] = {}
    for name in columns:
        if match := re.fullmatch(_INDEXED, name):
            lists.setdefault((match[1], match[2]), {})[int(match[3].strip("[.]"))] = name
    return lists


def _useful(
    lists: Lists, prefix: str, order: Mapping[int, str], named: bool
) -> list[tuple[tuple[str, str], Mapping[int, str]]]:
    """The lists with an entry for each joint: with the same prefix where joints are named,
    else the only ones of their word, without further entries."""
    complete = []
    for (before, word), entries in lists.items():
        alone = [each for each in lists if each[1] == word] == [(before, word)]
        fits = set(order) <= set(entries) if named else sorted(entries) == sorted(order)
        if word != _NAME and fits and (before == prefix if named else alone):
            complete.append(((before, word), entries))
    return complete


def _named(
    lists: Lists, prefix: str, joints: Sequence[str], texts_of: TextsOf, where: str
) -> dict[int, str]:
    """The joints by their indices in the lists, from the names in the file."""
    naming = lists[prefix, _NAME]
    texts = texts_of([*naming.values()])
    if texts is None:
        first = lists[prefix, COLUMN_WORDS["q"]]
        raise _unreadable(naming[min(naming)], first[min(first)], where)
    indices = {joint: i for i, joint in zip(naming, texts, strict=True)}
    for joint in joints:
        if list(texts).count(joint) != 1:
            problem = "no joint" if joint not in texts else "more than one joint"
            message = f"the columns {quote_list([*naming.values()])} contain {problem} '{joint}'"
            hint = did_you_mean(joint, list(texts), f"the file contains {quote_list([*texts])}")
            raise RobolinError(message, where=where, hint=hint)
    return {indices[joint]: joint for joint in joints}


def _unreadable(naming: str, column: str, where: str) -> RobolinError:
    pattern = re.sub(r"\d+(\]?)$", r"{index}\1", column)
    hint = (
        f"map one joint with --columns 'JOINT/position={column}', or all joints in the "
        f"robot's order with --columns 'position={pattern}'"
    )
    message = f"column '{naming}' names the joint of '{column}', but may differ between rows"
    return RobolinError(message, where=where, hint=hint)
