"""Match the columns of a file to quantities and joints.

Joint names may contain '/', '_' and '.', so every spelling is built from the robot's joint names
and looked up; column names are never split.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.text import closest_match, quote_list
from robolin.errors import RobolinError, raise_all

EULER_ANGLES = ("rx", "ry", "rz")

QUATERNION_PARTS = ("qx", "qy", "qz", "qw")


@dataclass(frozen=True)
class Orientation:
    """A joint whose angles, at these indices in q, come from the quaternion in these columns."""

    joint: str
    indices: tuple[int, ...]
    columns: tuple[int, ...]


def orientations(
    columns: Sequence[str], joints: Mapping[int, str], where: str
) -> tuple[tuple[Orientation, ...], list[RobolinError]]:
    """Find the quaternions of joints in a file, and problems with them.

    An invalid quaternion is returned without columns, so that its angles are not reported missing.
    """
    index = {name: i for i, name in joints.items()}
    quaternions, problems = [], []
    for joint in (name.removesuffix(":rx") for name in index if name.endswith(":rx")):
        angles = [index.get(f"{joint}:{part}") for part in EULER_ANGLES]
        written = {part: _written(columns, f"{joint}:{part}") for part in QUATERNION_PARTS}
        if None in angles or not any(written.values()):
            continue
        known = tuple(angle for angle in angles if angle is not None)
        if problem := _problem(joint, written, columns, where):
            problems.append(problem)
            quaternions.append(Orientation(joint, known, ()))
        else:
            quaternions.append(
                Orientation(joint, known, tuple(written[part][0] for part in QUATERNION_PARTS))
            )
    return tuple(quaternions), problems


def _written(columns: Sequence[str], name: str) -> list[int]:
    spellings = (column_name("q", name), f"q_{name}", f"{name}.q")
    return [i for i, column in enumerate(columns) if column in spellings]


def _problem(
    joint: str, written: Mapping[str, list[int]], columns: Sequence[str], where: str
) -> RobolinError | None:
    if missing := [part for part, indices in written.items() if not indices]:
        names = ", ".join(column_name("q", f"{joint}:{part}") for part in QUATERNION_PARTS)
        return RobolinError(
            f"the quaternion of joint '{joint}' lacks {', '.join(missing)}",
            where=where,
            hint=f"provide all of {names}",
        )
    if twice := [part for part, indices in written.items() if len(indices) > 1]:
        message = f"the quaternion of joint '{joint}' has several columns for {', '.join(twice)}"
        return RobolinError(message, where=where, hint="keep one of them")
    if both := [part for part in EULER_ANGLES if _written(columns, f"{joint}:{part}")]:
        return RobolinError(
            f"joint '{joint}' has both a quaternion and {', '.join(both)}",
            where=where,
            hint="keep the quaternion or the angles",
        )
    return None


_NUMBERED = re.compile(rf"({'|'.join(COLUMN_WORDS)})(?:(\d+)|\[(\d+)\])")

_NAMED_AT_MOST = 6

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

    problems += [*unclear, *_duplicates(columns, [times, *matches.values()], where)]
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
        f"column '{column}' exceeds the number of joints, {n}",
        where=where,
        hint=f"number columns from {name}1 to {name}{n}, or from {name}[0] to {name}[{n - 1}]",
    )


def _duplicates(
    columns: Sequence[str], groups: Sequence[Sequence[int]], where: str
) -> list[RobolinError]:
    problems = []
    for group in groups:
        if len(group) < 2:
            continue
        names = list(dict.fromkeys(columns[i] for i in group))
        if len(names) == 1:
            message = f"column '{names[0]}' occurs {len(group)} times"
        else:
            message = f"the columns {_listed(names)} have the same meaning"
        problems.append(RobolinError(message, where=where, hint="keep one of them"))
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
        if (partly := _behind_a_prefix(quantity, names, unused, where)) is not None:
            problems.append(partly)
            continue
        noun = "column" if len(names) == 1 else "columns"
        hint = _similar(names, unused) or _styles(quantity)
        if quantity in ("qd", "qdd") and by_differences and positions:
            hint = f"compute them from positions with --differentiate savgol; {hint}"
        message = f"the {noun} {_listed(names)} {'is' if len(names) == 1 else 'are'} missing"
        problems.append(RobolinError(message, where=where, hint=hint))
    return problems


def _behind_a_prefix(
    quantity: str, names: Sequence[str], unused: Sequence[str], where: str
) -> RobolinError | None:
    """The error if most of the missing names exist with a common prefix, else None."""
    before = [c.removesuffix(name) for name in names for c in unused if c.endswith(f"/{name}")]
    prefix = max(before, key=before.count, default="")
    absent = [name for name in names if f"{prefix}{name}" not in unused]
    if not prefix or not 0 < 2 * len(absent) < len(names):
        return None
    missing = _listed([f"{prefix}{name}" for name in absent])
    hint = _rules_behind(prefix, quantity, names, absent[0], unused)
    message = f"columns with the prefix '{prefix}' lack {missing}"
    return RobolinError(message, where=where, hint=hint)


def _rules_behind(
    prefix: str, quantity: str, names: Sequence[str], absent: str, unused: Sequence[str]
) -> str:
    """A hint with the --columns options, and the most similar column of an unknown joint."""
    word = COLUMN_WORDS[quantity]
    hint = f"add --columns '{word}={prefix}{{joint}}/{word}' --columns '{absent}=COLUMN'"
    ending, known = f"/{word}", {f"{prefix}{name}" for name in names}
    others = {
        column.removeprefix(prefix).removesuffix(ending): column
        for column in unused
        if column.startswith(prefix) and column.endswith(ending) and column not in known
    }
    if joint := closest_match(absent.removesuffix(ending), others, cutoff=0.75):
        near = others[joint]
        suggestion = f"if '{near}' is '{prefix}{absent}', rename it, or "
        hint = suggestion + hint.replace("COLUMN'", f"{near}'")
    return hint


def _styles(quantity: str) -> str:
    styles = f"{column_name(quantity, '<joint>')}, {quantity}_<joint>, <joint>.{quantity}"
    known = f"name columns {styles}, or number them {quantity}1 … or {quantity}[0] …"
    hint = f"{known}; map other names with --columns {COLUMN_WORDS[quantity]}=PATTERN"
    if quantity == "tau":
        hint += ", motor currents with --columns current=PATTERN --torque-constants VALUES"
    return hint


def _similar(names: Sequence[str], unused: Sequence[str]) -> str:
    for name in names:
        if near := closest_match(name, unused, cutoff=0.75):
            return f"if '{near}' is '{name}', add --columns '{name}={near}'"
    return ""


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
        notes.append(f"columns are numbered; order of the joints: {', '.join(joints)}")
    if absent:
        notes.append(f"missing columns are set to 0: {_listed(absent)}")
    if unused:
        notes.append(f"unused columns: {_listed(unused)}")
    return notes


def _listed(names: Sequence[str]) -> str:
    return quote_list(names, _NAMED_AT_MOST)


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
