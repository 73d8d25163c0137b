"""Layouts of recordings of other programs, orientations, and hints for missing columns.

A layout is only used if all joints of the robot match it and no other layout; a note reports it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from robolin.core.quantity_table import COLUMN_WORDS, column_name, named_unit
from robolin.core.records import dataclass
from robolin.core.text import closest_match, did_you_mean, quote_list
from robolin.errors import RobolinError
from robolin.io.trajectories.read_options import listed_names

_SHORT = {word: short for short, word in COLUMN_WORDS.items()}

_NAME = "name"

# position[0], position.0, position0
_INDEX = r"(\[\d+\]|\.?\d+)"

_INDEXED = rf"(.*?)({'|'.join([*_SHORT, _NAME])}){_INDEX}"

# the same in plural, and other words
_PLURALS = {
    **dict.fromkeys(("positions", "angles"), "position"),
    "velocities": "velocity",
    "accelerations": "acceleration",
    **dict.fromkeys(("efforts", "torques", "torque"), "effort"),
}

_INDEXED_PLURAL = rf"(.*?)({'|'.join(_PLURALS)}){_INDEX}"

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
        note = "columns are numbered; joint order"
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
    singular = {word for _, word in lists}
    for name in columns:
        if match := re.fullmatch(_INDEXED_PLURAL, name):
            word = _PLURALS[match[2]]
            if word not in singular:
                index = int(match[3].strip("[.]"))
                lists.setdefault((match[1], word), {}).setdefault(index, name)
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
    message = (
        f"column '{naming}' contains the name of the joint in column '{column}', and the name "
        "may differ between rows"
    )
    return RobolinError(message, where=where, hint=hint)


def names_without_case(
    columns: Sequence[str], joints: Sequence[str]
) -> tuple[Sequence[str], list[str]]:
    """Columns with joint names in the robot's case, and a note; unchanged if that is ambiguous.

    'Joint_1/position' is 'joint_1/position' if no column contains the name of a joint.
    """
    folded = {joint.casefold(): joint for joint in joints}
    if not folded or len(folded) != len(joints):
        return columns, []
    if any(joint in name for name in columns for joint in joints):
        return columns, []
    longest = sorted(folded, key=len, reverse=True)
    # a name ends where its letters and digits end
    joint_name = rf"(?<![^\W_])({'|'.join(map(re.escape, longest))})(?![^\W_])"
    names = [
        re.sub(
            joint_name, lambda match: folded.get(match[0].casefold(), match[0]), name, flags=re.I
        )
        for name in columns
    ]
    native = {n.casefold(): n for n in (column_name(w, j) for w in COLUMN_WORDS for j in joints)}
    names = [native.get(name.casefold(), name) for name in names]
    changed = [i for i in range(len(names)) if names[i] != columns[i]]
    if not changed or len(set(names)) != len(set(columns)):
        return columns, []
    old, new = columns[changed[0]], names[changed[0]]
    note = f"upper and lower case of joint names is ignored: '{old}' is read as '{new}'"
    return names, [note]


def detect_layout(
    columns: Sequence[str],
    joints: Sequence[str],
    selected: Sequence[str],
    texts_of: TextsOf,
    where: str,
) -> tuple[dict[str, str], tuple[str, ...], list[str]]:
    """Detect columns with a common prefix, numbered columns, or columns named as the joints."""
    prefixes = list(dict.fromkeys(_prefixes(columns, selected)))
    if len(prefixes) > 1:
        hint = f"select a prefix: --columns position={prefixes[0]}{{joint}}/position"
        message = (
            f"several sets of columns contain positions, with the prefixes {quote_list(prefixes)}"
        )
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
    absent = [joint for joint in selected if joint not in columns]
    near = closest_match(absent[0], columns, 0.75) if 2 * len(absent) < len(selected) else None
    if near and near not in joints:
        message = f"column '{near}' is not a joint of the robot, and joint '{absent[0]}' is missing"
        hint = f"rename '{near}' if it is '{absent[0]}', or lock the joint with --lock JOINT=VALUE"
        raise RobolinError(message, where=where, hint=hint)
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
        return RobolinError(message, where=where, hint="keep only one of the repeated columns")
    if both := [part for part in EULER_ANGLES if _written(columns, f"{joint}:{part}")]:
        return RobolinError(
            f"joint '{joint}' has both a quaternion and {', '.join(both)}",
            where=where,
            hint="remove the columns of the quaternion or of the angles",
        )
    return None


def behind_a_prefix(
    quantity: str, names: Sequence[str], unused: Sequence[str], where: str
) -> RobolinError | None:
    """The error if most of the missing names exist with a common prefix, else None."""
    before = [c.removesuffix(name) for name in names for c in unused if c.endswith(f"/{name}")]
    prefix = max(before, key=before.count, default="")
    absent = [name for name in names if f"{prefix}{name}" not in unused]
    if not prefix or not 0 < 2 * len(absent) < len(names):
        return None
    missing = listed_names([f"{prefix}{name}" for name in absent])
    hint = _rules_behind(prefix, quantity, names, absent[0], unused)
    message = f"the columns with the prefix '{prefix}' do not include {missing}"
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
        suggestion = f"if '{near}' is '{prefix}{absent}', rename the column, or "
        hint = suggestion + hint.replace("COLUMN'", f"{near}'")
    return hint


def missing_hint(quantity: str, names: Sequence[str], unused: Sequence[str]) -> str:
    """A hint for missing columns: a similar name, or the known names; --degrees."""
    hint = (
        _columns_of_joints(quantity, names, unused)
        or _similar_column(names, unused)
        or _numbered_columns(quantity, unused, len(names))
        or _column_styles(quantity, unused, len(names))
    )
    endings = ("deg", "degrees")
    in_degrees = any(c.lower().endswith(endings) or named_unit(c) == "degrees" for c in unused)
    if quantity in ("q", "qd", "qdd") and in_degrees:
        hint += "; add --degrees if the values are in degrees"
    return hint


# names that other programs use for a quantity, whole words or parts of words
_USUAL_WORDS = {
    "q": ("q",),
    "qd": ("qd", "dq", "qdot"),
    "qdd": ("qdd", "ddq", "qddot"),
    "tau": (),
}
_USUAL_PARTS = {
    "q": ("pos", "angle", "theta"),
    "qd": ("vel", "speed", "rate"),
    "qdd": ("acc",),
    "tau": ("tau", "torque", "eff", "moment", "force"),
}
_COMMANDED = ("target", "desired", "command", "cmd", "ref")
_DERIVATIVES = {"d", "dd", "dot", "ddot"}
_MOST_COMPARED = 10_000


def _columns_of_joints(quantity: str, names: Sequence[str], unused: Sequence[str]) -> str:
    """A hint with the pattern of columns that contain the names of several joints."""
    joints, known = [name.removesuffix(column_name(quantity, "")) for name in names], {*unused}
    parts = [each.partition(joints[0]) for each in unused[:_MOST_COMPARED] if joints[0] in each]
    patterns = [
        (before + after, f"{before}{{joint}}{after}")
        for before, _, after in parts
        if before + after
        and ("/" not in after or (not before and _commanded(quantity, after) is not None))
        and known.issuperset(before + j + after for j in joints)
    ]
    return _pattern_hint(quantity, patterns) if len(names) > 1 else ""


def _numbered_columns(quantity: str, unused: Sequence[str], count: int) -> str:
    """A hint with the patterns of columns that are numbered from 0 or 1, one for every joint."""
    numbered: dict[tuple[str, str], set[int]] = {}
    for column in unused[:_MOST_COMPARED]:
        if matched := re.fullmatch(r"(.*?)(\d{1,4})(\D*)", column, re.ASCII | re.DOTALL):
            numbered.setdefault((matched[1], matched[3]), set()).add(int(matched[2]))
    patterns = [
        (before, f"{before}{placeholder}{after}")
        for (before, after), indices in numbered.items()
        for first, placeholder in enumerate(("{index}", "{number}"))
        if before and indices == {*range(first, first + count)}
    ]
    return _pattern_hint(quantity, patterns)


def _pattern_hint(quantity: str, patterns: Sequence[tuple[str, str]]) -> str:
    """The hint with the most likely of these patterns, each after its constant text."""
    if not patterns:
        return ""
    word, names = COLUMN_WORDS[quantity], [pattern for _, pattern in patterns]
    usual = [
        (commanded, pattern)
        for name, pattern in patterns
        if (commanded := _commanded(quantity, name)) is not None
    ]
    if not usual and quantity == "q" and len(names) == 1 and named_unit(names[0]):
        usual = [(False, names[0])]
    if not usual:
        return f"add --columns '{word}=PATTERN', where PATTERN is one of {quote_list(names, 4)}"
    best = min(usual, key=lambda each: each[0])[1]
    others = [name for name in names if name != best]
    listed = f"; other columns: {quote_list(others, 4)}" if others else ""
    return f"add --columns '{word}={best}'{listed}"


def _commanded(quantity: str, name: str) -> bool | None:
    """Return True for a usual name of commanded values; None if the name is not usual."""
    last = re.split(r"[./]", name.lower().rstrip("./[]_"))[-1]
    words = [word for word in re.split(r"[^a-z]+", last) if word]
    usual = any(word in _USUAL_WORDS[quantity] for word in words) or any(
        part in word for part in _USUAL_PARTS[quantity] for word in words
    )
    if not usual or _DERIVATIVES & {*words}:
        return None
    return any(part in word for part in _COMMANDED for word in words)


def _column_styles(quantity: str, unused: Sequence[str], count: int) -> str:
    """A hint for missing columns: indices of a file without a header, or known names."""
    if unused and all(map(str.isdecimal, unused)):
        first, word = min(map(int, unused)), COLUMN_WORDS[quantity]
        example = f"--columns {word}={first}:{first + count}"
        return f"the file has no header: select columns by index, counted from 0, such as {example}"
    styles = f"{column_name(quantity, '<joint>')}, {quantity}_<joint>, <joint>.{quantity}"
    known = f"name columns {styles}, or number the columns {quantity}1 … or {quantity}[0] …"
    hint = f"{known}; map other names with --columns {COLUMN_WORDS[quantity]}=PATTERN"
    if quantity == "tau":
        hint += ", motor currents with --columns current=PATTERN --torque-constants VALUES"
    return hint


def _similar_column(names: Sequence[str], unused: Sequence[str]) -> str:
    for name in names:
        if near := closest_match(name, unused, cutoff=0.75):
            if near.endswith("/current") and name.endswith("/effort"):
                # currents are not efforts: they need gains
                pattern = "{joint}/current"
                return f"add --columns 'current={pattern}' --torque-constants VALUES [N·m/A]"
            return f"if '{near}' is '{name}', add --columns '{name}={near}'"
    return ""
