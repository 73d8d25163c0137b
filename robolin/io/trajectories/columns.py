"""Match the columns of a file to quantities and joints, also those of other programs.

Options of the user come first; without any, the layout is detected from the names.
Joint names may contain '/', '_' and '.', so every spelling is built from the robot's joint names
and looked up; column names are never split.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, quote_list
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.trajectories.column_layouts import (
    Orientation,
    TextsOf,
    behind_a_prefix,
    detect_layout,
    missing_hint,
    names_without_case,
    orientations,
)
from robolin.io.trajectories.read_options import (
    CURRENT,
    INDEX_RANGE,
    TIME_COLUMN,
    TIME_NAMES,
    ReadOptions,
    add_columns,
    columns_in_range,
    columns_of_rule,
    left_side,
    listed_names,
    quantity_of,
    range_hint,
    times_with_units,
    without_repeats,
)

_NUMBERED = re.compile(rf"({'|'.join(COLUMN_WORDS)})(?:(\d+)|\[(\d+)\])")

Meaning = tuple[str, int]


@dataclass(frozen=True)
class MatchedColumns:
    """The column index of each quantity for every joint in order; None stands for 0."""

    columns: Mapping[str, tuple[int | None, ...]]
    time: int | None
    notes: tuple[str, ...]
    orientations: tuple[Orientation, ...] = ()


def match(
    columns: Sequence[str],
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    *,
    aside: Collection[int] = (),
    where: str = "",
    only: Collection[str] | None = None,
    by_differences: bool = False,
) -> MatchedColumns:
    """Find the columns of the quantities ('q', 'qd', 'qdd', 'tau') among a file's columns.

    A missing column of a needed quantity is an error.  An optional quantity without any column is
    omitted; one with some columns is 0 for the other joints, and a note reports it.  Columns
    `aside` are used elsewhere.  Only the joints in `only` are read, but indices count all joints.
    If `by_differences` could derive velocities and accelerations, a hint explains how.
    """
    selected = {i: joint for i, joint in enumerate(joints) if only is None or joint in only}
    quantities = (*needs, *(name for name in optional if name not in needs))
    # names of multi-DoF joints contain a colon
    free = "q" in quantities and any(":" in joint for joint in joints)
    quaternions, problems = orientations(columns, selected, where) if free else ((), [])
    used = {i for orientation in quaternions for i in orientation.columns}
    times = [i for i, column in enumerate(columns) if column == "time"]
    left = {i: c for i, c in enumerate(columns) if i not in used and c != "time"}
    matches, others, unclear = _match_names(left, joints, selected, quantities, where)
    unused = [columns[i] for i in others if i not in aside]

    problems += [*unclear, *_duplicates(columns, times, matches, len(joints), where)]
    available = {*matches, *(("q", i) for orientation in quaternions for i in orientation.indices)}
    problems += _missing(available, selected, needs, unused, where, by_differences)
    if problems:
        raise_all(problems)
    present = {name for name, _ in available} if joints else {*quantities}
    indices = {
        name: _column_indices(name, matches, len(joints)) for name in quantities if name in present
    }
    absent = [
        column_name(name, joint)
        for name in indices
        for i, joint in selected.items()
        if (name, i) not in available
    ]
    return MatchedColumns(
        columns=indices,
        time=times[0] if times else None,
        notes=tuple(_notes(columns, indices, joints, absent, unused, quaternions)),
        orientations=quaternions,
    )


def _match_names(
    columns: Mapping[int, str],
    joints: Sequence[str],
    selected: Collection[int],
    quantities: Collection[str],
    where: str,
) -> tuple[dict[Meaning, list[int]], list[int], list[RobolinError]]:
    """Columns by quantity and joint, columns without a meaning, and problems of ambiguous ones."""
    spellings = _spellings(joints)
    matches: dict[Meaning, list[int]] = {}
    others: list[int] = []
    unclear: list[RobolinError] = []
    for i, column in columns.items():
        meanings = [m for m in spellings.get(column, ()) if m[0] in quantities]
        if len(meanings) > 1:
            unclear.append(_ambiguous(column, meanings, joints, where))
        elif meanings and meanings[0][1] in selected:
            matches.setdefault(meanings[0], []).append(i)
        elif (
            not meanings and (numbered := _NUMBERED.fullmatch(column)) and numbered[1] in quantities
        ):
            unclear.append(_out_of_range(column, numbered, len(joints), where))
        else:
            others.append(i)
    return matches, others, unclear


def _spellings(joints: Sequence[str]) -> dict[str, set[Meaning]]:
    table: dict[str, set[Meaning]] = {}
    for i, joint in enumerate(joints):
        for short in COLUMN_WORDS:
            for spelling in (
                column_name(short, joint),
                f"{short}_{joint}",
                f"{joint}.{short}",
                f"{short}{i + 1}",
                f"{short}[{i}]",
            ):
                table.setdefault(spelling, set()).add((short, i))
    return table


def columns_of_joints(
    columns: Sequence[str], joints: Sequence[str], only: Collection[str]
) -> list[str]:
    """The columns that do not belong to other joints than these."""
    spellings = _spellings(joints)
    meanings = {name: [joints[i] for _, i in spellings.get(name, ())] for name in columns}
    return [name for name, owners in meanings.items() if not owners or {*owners} & {*only}]


def _column_indices(
    quantity: str, matches: Mapping[Meaning, Sequence[int]], n: int
) -> tuple[int | None, ...]:
    return tuple(matches[quantity, i][0] if (quantity, i) in matches else None for i in range(n))


def _ambiguous(
    column: str, meanings: Sequence[Meaning], joints: Sequence[str], where: str
) -> RobolinError:
    readings = " or ".join(f"the {COLUMN_WORDS[q]} of '{joints[i]}'" for q, i in sorted(meanings))
    quantity, i = min(meanings)
    return RobolinError(
        f"column '{column}' is ambiguous: {readings}",
        where=where,
        hint=f"rename the column, for example '{joints[i]}.{quantity}'",
    )


def _out_of_range(column: str, numbered: re.Match[str], n: int, where: str) -> RobolinError:
    name = numbered[1]
    return RobolinError(
        f"column '{column}' has no matching joint: the robot has {n} joints",
        where=where,
        hint=f"number columns from {name}1 to {name}{n}, or from {name}[0] to {name}[{n - 1}]",
    )


def _duplicates(
    columns: Sequence[str], times: Sequence[int], matches: Mapping[Meaning, Sequence[int]],
    n: int, where: str,
) -> list[RobolinError]:  # fmt: skip
    problems, repeated, hint = [], [], "remove one column"
    for group in [times, *matches.values()]:
        names = list(dict.fromkeys(columns[i] for i in group))
        if len(names) > 1:
            message = f"the columns {listed_names(names)} have the same meaning"
            problems.append(RobolinError(message, where=where, hint=hint))
        elif len(group) > 1:
            repeated.append(names[0])
    if repeated:
        noun, verb = ("column", "occurs") if len(repeated) == 1 else ("columns", "occur")
        message = f"the {noun} {listed_names(repeated)} {verb} more than once"
        problems.append(RobolinError(message, where=where, hint=hint + range_hint(matches, n)))
    return problems


def _missing(
    available: Collection[Meaning],
    selected: Mapping[int, str],
    needs: Sequence[str],
    unused: Sequence[str],
    where: str,
    by_differences: bool,
) -> list[RobolinError]:
    problems = []
    positions = bool(selected) and all(("q", i) in available for i in selected)
    for quantity in needs:
        names = [
            column_name(quantity, j) for i, j in selected.items() if (quantity, i) not in available
        ]
        if not names:
            continue
        if (partly := behind_a_prefix(quantity, names, unused, where)) is not None:
            problems.append(partly)
            continue
        noun = "column" if len(names) == 1 else "columns"
        hint = missing_hint(quantity, names, unused)
        if quantity in ("qd", "qdd") and by_differences and positions:
            hint = f"compute the missing columns from positions with --differentiate savgol; {hint}"
        if quantity == "q" and len(names) < len(selected):
            hint += "; lock joints without columns with --lock JOINT=VALUE, or use --tip LINK"
        message = f"the {noun} {listed_names(names)} {'is' if len(names) == 1 else 'are'} missing"
        problems.append(RobolinError(message, where=where, hint=hint))
    return problems


def _notes(
    columns: Sequence[str],
    indices: Mapping[str, tuple[int | None, ...]],
    joints: Sequence[str],
    absent: Sequence[str],
    unused: Sequence[str],
    quaternions: Sequence[Orientation],
) -> list[str]:
    notes = [
        f"the angles of '{orientation.joint}' are computed from its normalized quaternion"
        for orientation in quaternions
    ]
    read = [columns[i] for group in indices.values() for i in group if i is not None]
    if any(_NUMBERED.fullmatch(column) for column in read):
        notes.append(f"columns are numbered; joint order: {', '.join(joints)}")
    if absent:
        notes.append(f"missing columns are set to 0: {listed_names(absent)}")
    if unused:
        notes.append(f"unused columns: {_unused_text(unused, joints)}")
    return notes


def _unused_text(unused: Sequence[str], joints: Sequence[str]) -> str:
    """The columns, with a quantity of all joints as one entry."""
    groups: list[str] = []
    for short, word in COLUMN_WORDS.items():
        names = {column_name(short, joint) for joint in joints}
        if len(joints) > 1 and names <= {*unused}:
            plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
            groups.append(f"the {plural} of all joints")
            unused = [column for column in unused if column not in names]
    return ", ".join([*groups, *([listed_names(unused)] if unused else [])])


def zero_based_columns(columns: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    """Columns q0 … q5 or q_0 … q_5 of all joints under robolin's names, by column."""
    known, renamed = set(columns), dict[str, str]()
    # 'q_0' is also the position of a joint named '0'
    separators = [""] if any(map(str.isdecimal, joints)) else ["", "_"]
    for short in COLUMN_WORDS:
        for separator in separators:
            names = [f"{short}{separator}{i}" for i in range(len(joints))]
            beyond = f"{short}{separator}{len(joints)}"
            if joints and known.issuperset(names) and beyond not in known:
                native = [column_name(short, joint) for joint in joints]
                renamed |= dict(zip(names, native, strict=True))
    return renamed


def any_native(columns: Sequence[str], joints: Sequence[str], selected: Sequence[str]) -> bool:
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


# new name of a column 'time' if another column is the time
_NOT_THE_TIME = "time (not used)"


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
    selected = joints if rules.only is None else rules.only
    patterns = [text for text in rules.columns if left_side(text) != TIME_COLUMN]
    _require_each_once([left_side(text) for text in patterns])
    if patterns:
        for text in patterns:
            if by_index := columns_in_range(text, columns, joints, selected, where):
                add_columns(placed, text, by_index)
            else:
                by_name = columns_of_rule(text, columns, joints, selected, where)
                add_columns(renamed, text, by_name)
    elif renamed := zero_based_columns(columns, joints):
        notes.append(f"columns are numbered from 0; joint order: {', '.join(joints)}")
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
        raise UsageError(message, where="--columns and --time", hint="keep only one of these rules")
    if time is not None and time != TIME_COLUMN:
        renamed = {**renamed, TIME_COLUMN: _NOT_THE_TIME, time: TIME_COLUMN}
        if named is None:
            notes.append(f"time is taken from the column '{time}'")
    names = [placed.get(i, renamed.get(name, name)) for i, name in enumerate(columns)]
    names = without_repeats(names, placed) if placed else names
    names = _with_currents(names, selected, rules, where)
    return NativeColumns(tuple(names), tuple(notes), naming)


def _with_currents(
    names: Sequence[str], joints: Sequence[str], rules: ReadOptions, where: str
) -> list[str]:
    """Name columns of motor currents as efforts; the reader multiplies them by the constants."""
    typed = any(quantity_of(text) == CURRENT for text in rules.columns)
    native = {f"{joint}/{CURRENT}": column_name("tau", joint) for joint in joints}
    currents = [name for name in names if name in native]
    if rules.torque_constants is None:
        if typed:
            hint = "add --torque-constants with one number per joint in N·m/A, or use effort="
            raise UsageError("currents require torque constants", where="--columns", hint=hint)
        return list(names)
    if not (typed or currents):
        hint = f"name the columns that contain currents, for example --columns {CURRENT}=PATTERN"
        raise UsageError("no column contains motor currents", where="--torque-constants", hint=hint)
    if typed and any(quantity_of(text) == COLUMN_WORDS["tau"] for text in rules.columns):
        hint = "remove the rules for currents or the rules for efforts"
        raise UsageError("currents and efforts cannot be combined", where="--columns", hint=hint)
    if typed:
        return list(names)
    if efforts := [name for name in names if name in native.values()]:
        message = (
            f"'{currents[0]}' and '{efforts[0]}' are in the same file: the torques are ambiguous"
        )
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
            raise UsageError(f"'{word}' is given twice", where="--columns", hint="keep one rule")


def _named_time(rules: ReadOptions) -> str | None:
    """The column that an option names as the time."""
    named = [
        text.partition("=")[2].strip() for text in rules.columns if left_side(text) == TIME_COLUMN
    ]
    named += [] if rules.time is None else [rules.time]
    if len(set(named)) > 1:
        message = f"the time column must be unique, got {quote_list(named)}"
        hint = "keep only one time column"
        raise UsageError(message, where="--columns and --time", hint=hint)
    return named[0] if named else None


def time_index(names: Sequence[str], rules: ReadOptions) -> int | None:
    """The time column of one of several files: the one named, else one with a usual name."""
    usual = [name for name in (TIME_COLUMN, *TIME_NAMES) if name in names]
    name = named if (named := _named_time(rules)) in names else None
    name = name or (usual[0] if TIME_COLUMN in usual or len(usual) == 1 else None)
    return None if name is None else list(names).index(name)


def _time_column(
    columns: Sequence[str], renamed: Mapping[str, str], named: str | None, where: str
) -> str | None:
    if named is not None:
        if named not in columns and re.fullmatch(INDEX_RANGE, named) and named.isdecimal():
            named = columns[int(named)] if int(named) < len(columns) else named
        if named not in columns:
            hint = did_you_mean(named, columns)
            if " " in named and "=" in named:
                hint = f"separate the rules by commas: --columns 'time={named.replace(' ', ',')}'"
            raise RobolinError(f"unknown column '{named}'", where=where, hint=hint)
        return named
    if TIME_COLUMN in columns:
        return TIME_COLUMN
    candidates = [name for name in TIME_NAMES if name in columns and name not in renamed]
    candidates = candidates or times_with_units(columns, renamed)
    if len(candidates) > 1:
        hint = f"select a column: --time {shlex.quote(candidates[0])}"
        raise RobolinError(
            f"the time column is ambiguous: {quote_list(candidates)}", where=where, hint=hint
        )
    return candidates[0] if candidates else None
