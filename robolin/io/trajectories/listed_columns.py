"""Quantities in lists, position[0] position[1] …: of joints that name[0] … name, or in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.text import did_you_mean, quoted
from robolin.errors import RobolinError

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
            message = f"the columns {quoted([*naming.values()])} name {problem} '{joint}'"
            hint = did_you_mean(joint, list(texts), f"they name {quoted([*texts])}")
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
