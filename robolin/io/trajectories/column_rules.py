"""Recordings as other programs write them: their columns under the names that are native here.

What is told by the user comes first.  What is recognized without being told is recognized only
where every joint of the arm is found that way and in no other, and a note says so.
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
# a column of that name where somebody says that the time is another one
_NOT_THE_TIME = "time (left aside)"
TIME_NAMES = ("t", "stamp", "timestamp", "__time", "Time", "time_s")

_WORDS = {word: short for short, word in COLUMN_WORDS.items()}
_PLACES = ("{joint}", "{index}", "{number}")


@dataclass(frozen=True)
class ReadOptions:
    """How a recording is meant.

    columns:   'position=PATTERN' for each quantity, with {joint}, {index} (from 0) or {number};
               'JOINT/position=COLUMN' for one joint, 'time=COLUMN' for the time
    time:      the column with the time, where that is not its name
    degrees:   whether angles and their rates are in degrees
    turning:   for each joint whether it turns, so that degrees can be meant
    time_unit: what the time counts, 'ns', 'us', 'ms' or 's', from the first row on
    carry:     columns that go along into the result
    differentiate: how velocities and accelerations come from positions: 'central' or 'savgol'
    radians:   whether somebody said that angles are in rad, for files whose units nobody knows
    free_turns: whether a joint has velocities that are no derivatives of its positions
    only:      the joints that are asked about; all without.  Numbers count the others, too
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

    def about(self, quantities: Sequence[str]) -> ReadOptions:
        """The rules for a file that is to have these quantities alone ('q', 'tau')."""
        words = [COLUMN_WORDS[name] for name in quantities]
        kept = [text for text in self.columns if _quantity(text) in (*words, TIME_COLUMN)]
        return replace(self, columns=tuple(kept))

    def asked(self, joints: Sequence[str]) -> Sequence[str]:
        """Those of an arm's joints that the file is to tell of."""
        return joints if self.only is None else self.only


AS_IT_IS = ReadOptions()


def read_options_from(arm: Arm, said: Mapping[str, Any]) -> ReadOptions:
    """The rules that flags by name make, for this arm."""
    return ReadOptions(
        columns=said.get("columns") or (),
        time=said.get("time"),
        degrees=bool(said.get("degrees")),
        turning=tuple(joint.turns for joint in arm.joints),
        time_unit=said.get("time-unit"),
        carry=said.get("carry") or (),
        differentiate=said.get("differentiate"),
        radians=bool(said.get("radians")),
        free_turns=bool(arm.groups),
    )


@dataclass(frozen=True)
class NativeColumns:
    """The columns of a file under the names that are looked for, and what was assumed.

    naming: those that say which joint others are about
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
    """Every column of a recording by the name it would have in a native file."""
    renamed: dict[str, str] = {}
    naming: tuple[str, ...] = ()
    columns, notes = _without_mark(columns, rules)
    asked = rules.asked(joints)
    told = [text for text in rules.columns if _left_side(text) != TIME_COLUMN]
    _require_each_once([_left_side(text) for text in told])
    if told:
        for text in told:
            _add_columns(renamed, text, _columns_of_rule(text, columns, joints, asked, where))
    elif not _any_native(columns, joints, asked):
        renamed, naming, note = _detect_layout(columns, joints, asked, texts_of, where)
        notes += note
    named = _named_time(rules)
    if (time := _time_column(columns, renamed, named, where)) is not None and time != TIME_COLUMN:
        renamed = {**renamed, TIME_COLUMN: _NOT_THE_TIME, time: TIME_COLUMN}
        if named is None:
            notes.append(f"time is taken from the column '{time}'")
    return NativeColumns(tuple(renamed.get(name, name) for name in columns), tuple(notes), naming)


def _without_mark(columns: Sequence[str], rules: ReadOptions) -> tuple[Sequence[str], list[str]]:
    """The names without the sign of a comment before the first one, unless that is told."""
    first = columns[0] if columns else ""
    plain = first.lstrip("#% ")
    told = (*(text.partition("=")[2].strip() for text in rules.columns), rules.time)
    if plain == first or not plain or first in told or plain in columns:
        return columns, []
    return (plain, *columns[1:]), [f"the first column '{first}' is taken as '{plain}'"]


def _require_each_once(words: Sequence[str]) -> None:
    for word in words:
        if words.count(word) > 1:
            raise UsageError(f"'{word}' is there twice", where="--columns", hint="keep one of them")


def _left_side(text: str) -> str:
    return text.partition("=")[0].strip()


def _quantity(text: str) -> str:
    return _left_side(text).rpartition("/")[2]


def _named_time(rules: ReadOptions) -> str | None:
    """The column that somebody called the time."""
    named = [
        text.partition("=")[2].strip() for text in rules.columns if _left_side(text) == TIME_COLUMN
    ]
    named += [] if rules.time is None else [rules.time]
    if len(set(named)) > 1:
        message, hint = f"the time is {quote_list(named)}", "keep one of them"
        raise UsageError(message, where="--columns and --time", hint=hint)
    return named[0] if named else None


def _add_columns(renamed: dict[str, str], text: str, found: Mapping[str, str]) -> None:
    """Add columns that a rule names, none of which another one has named before."""
    for name, native in found.items():
        if renamed.get(name, native) != native:
            message = f"the column '{name}' is '{renamed[name]}' by another rule"
            raise UsageError(message, where=f"--columns={text}", hint="keep one of them")
        renamed[name] = native


def _columns_of_rule(
    text: str, columns: Sequence[str], joints: Sequence[str], asked: Sequence[str], where: str
) -> dict[str, str]:
    """The columns that one rule names."""
    word, equals, pattern = (part.strip() for part in text.partition("="))
    flag = f"--columns={text}"
    joint, slash, quantity = word.rpartition("/")
    if equals and slash and quantity in _WORDS:
        return {_of_one_joint(flag, joint, joints, pattern, columns, where): word}
    if not equals or word not in _WORDS:
        hint = f"QUANTITY is one of {', '.join(_WORDS)}; or JOINT/QUANTITY=COLUMN, or time=COLUMN"
        raise UsageError("this is not QUANTITY=PATTERN", where=flag, hint=hint)
    if not any(place in pattern for place in _PLACES):
        hint = "for example position=/joint_states/{joint}/position"
        raise UsageError(f"the pattern has none of {', '.join(_PLACES)}", where=flag, hint=hint)
    names = {_filled(pattern, joint, i): joint for i, joint in enumerate(joints) if joint in asked}
    found = {
        name: column_name(_WORDS[word], joint) for name, joint in names.items() if name in columns
    }
    if not found:
        wanted = next(iter(names), pattern)
        hint = did_you_mean(wanted, columns, "look at the first line of the file")
        raise RobolinError(f"there is no column such as '{wanted}'", where=where, hint=hint)
    return found


def _of_one_joint(
    flag: str,
    joint: str,
    joints: Sequence[str],
    column: str,
    columns: Sequence[str],
    where: str,
) -> str:
    """The column of one joint, if there are such a joint and such a column."""
    if joint not in joints:
        raise UsageError(
            f"there is no joint '{joint}'", where=flag, hint=did_you_mean(joint, list(joints))
        )
    if column not in columns:
        hint = did_you_mean(column, columns, "look at the first line of the file")
        raise RobolinError(f"there is no column '{column}'", where=where, hint=hint)
    return column


def _filled(pattern: str, joint: str, i: int) -> str:
    name = pattern.replace("{joint}", joint)
    return name.replace("{index}", str(i)).replace("{number}", str(i + 1))


def _any_native(columns: Sequence[str], joints: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether a quantity of a joint is called as it is here: then nothing else is looked for."""
    known = set(columns)
    for i, joint in enumerate(joints):
        if joint not in asked:
            continue
        for short in COLUMN_WORDS:
            spellings = (column_name(short, joint), f"{short}_{joint}", f"{joint}.{short}")
            if known & {*spellings, f"{short}{i + 1}", f"{short}[{i}]"}:
                return True
    return False


def _detect_layout(
    columns: Sequence[str],
    joints: Sequence[str],
    asked: Sequence[str],
    texts_of: TextsOf,
    where: str,
) -> tuple[dict[str, str], tuple[str, ...], list[str]]:
    """Columns behind a common prefix, numbered in a list, or called as the joints themselves."""
    prefixes = list(dict.fromkeys(_prefixes(columns, asked)))
    if len(prefixes) > 1:
        hint = f"say which: --columns position={prefixes[0]}{{joint}}/position"
        message = f"positions are there more than once: behind {quote_list(prefixes)}"
        raise RobolinError(message, where=where, hint=hint)
    if prefixes:
        (prefix,) = prefixes
        note = f"columns are taken behind the prefix '{prefix}'"
        return _behind(prefix, columns, asked), (), [note]
    if lists := listed_columns(columns, joints, texts_of, where, asked):
        return dict(lists.renamed), lists.naming, [lists.note]
    if asked and all(joint in columns for joint in asked):
        positions = {joint: column_name("q", joint) for joint in asked}
        return positions, (), ["columns named after joints are taken as positions"]
    return {}, (), []


def _prefixes(columns: Sequence[str], joints: Sequence[str]) -> Iterator[str]:
    """What stands before the position of every joint."""
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
    columns: Sequence[str], renamed: Mapping[str, str], told: str | None, where: str
) -> str | None:
    if told is not None:
        if told not in columns:
            hint = did_you_mean(told, columns)
            raise RobolinError(f"there is no column '{told}'", where=where, hint=hint)
        return told
    if TIME_COLUMN in columns:
        return TIME_COLUMN
    found = [name for name in TIME_NAMES if name in columns and name not in renamed]
    if len(found) > 1:
        hint = f"--time {found[0]} says which"
        raise RobolinError(f"{quote_list(found)} could be the time", where=where, hint=hint)
    return found[0] if found else None


_SHORT = {word: short for short, word in COLUMN_WORDS.items()}
_NAME = "name"
# position[0], position.0, position0
_INDEXED = rf"(.*?)({'|'.join([*_SHORT, _NAME])})(\[\d+\]|\.?\d+)"

# columns by what stands before their word and by that word, each by its number
Lists = Mapping[tuple[str, str], Mapping[int, str]]
# what columns say in every row; None if that is not the same
TextsOf = Callable[[Sequence[str]], Sequence[str] | None]


@dataclass(frozen=True)
class ListedColumns:
    """Native names by those of the file, the columns that name joints, and what was assumed."""

    renamed: Mapping[str, str]
    naming: tuple[str, ...]
    note: str


def listed_columns(
    columns: Sequence[str],
    joints: Sequence[str],
    texts_of: TextsOf,
    where: str,
    asked: Sequence[str],
) -> ListedColumns | None:
    """The columns of lists that have every joint; None where positions are in no such list.

    Lists with names have to have those asked about alone.
    """
    lists = _lists(columns)
    position = COLUMN_WORDS["q"]
    prefixes = [prefix for prefix, word in lists if word == position]
    if len(prefixes) != 1:
        return None
    (prefix,) = prefixes
    naming = lists.get((prefix, _NAME), {})
    if naming:
        order = _named(lists, prefix, asked, texts_of, where)
        note = f"joints are named by '{naming[min(naming)]}' …"
    else:
        order = dict(enumerate(joints))
        note = "columns are numbered; joints taken in this order"
    renamed = {
        entries[i]: column_name(_SHORT[word], joint)
        for (_, word), entries in _useful(lists, prefix, order, named=bool(naming))
        for i, joint in order.items()
    }
    if position not in {name.rpartition("/")[2] for name in renamed.values()}:
        return None
    told = ", ".join(order[i] for i in sorted(order))
    return ListedColumns(renamed, tuple(naming.values()), f"{note}: {told}")


def _lists(columns: Sequence[str]) -> dict[tuple[str, str], dict[int, str]]:
    lists: dict[tuple[str, str], dict[int, str]] = {}
    for name in columns:
        if match := re.fullmatch(_INDEXED, name):
            lists.setdefault((match[1], match[2]), {})[int(match[3].strip("[.]"))] = name
    return lists


def _useful(
    lists: Lists, prefix: str, order: Mapping[int, str], named: bool
) -> list[tuple[tuple[str, str], Mapping[int, str]]]:
    """The lists with an entry for each joint: behind the same prefix where joints are named,
    else the only ones of their word, without further entries."""
    found = []
    for (before, word), entries in lists.items():
        alone = [each for each in lists if each[1] == word] == [(before, word)]
        fits = set(order) <= set(entries) if named else sorted(entries) == sorted(order)
        if word != _NAME and fits and (before == prefix if named else alone):
            found.append(((before, word), entries))
    return found


def _named(
    lists: Lists, prefix: str, joints: Sequence[str], texts_of: TextsOf, where: str
) -> dict[int, str]:
    """The joints by their places in the lists, as the file itself names them."""
    naming = lists[prefix, _NAME]
    texts = texts_of([*naming.values()])
    if texts is None:
        first = lists[prefix, COLUMN_WORDS["q"]]
        raise _unreadable(naming[min(naming)], first[min(first)], where)
    places = {joint: i for i, joint in zip(naming, texts, strict=True)}
    for joint in joints:
        if list(texts).count(joint) != 1:
            problem = "no joint" if joint not in texts else "more than one joint"
            message = f"the columns {quote_list([*naming.values()])} name {problem} '{joint}'"
            hint = did_you_mean(joint, list(texts), f"they name {quote_list([*texts])}")
            raise RobolinError(message, where=where, hint=hint)
    return {places[joint]: joint for joint in joints}


def _unreadable(naming: str, column: str, where: str) -> RobolinError:
    pattern = re.sub(r"\d+(\]?)$", r"{index}\1", column)
    hint = (
        f"--columns 'JOINT/position={column}' says which joint it is, "
        f"--columns 'position={pattern}' that they have the arm's order"
    )
    message = (
        f"the column '{naming}' names the joint of '{column}', "
        "and is not known to be the same in all rows"
    )
    return RobolinError(message, where=where, hint=hint)
