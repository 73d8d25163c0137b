"""A result on one screen: headline, main arrays first, short joint names, assumptions last."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product

from robolin.core.arrays import np
from robolin.core.choices import base_verb, is_swept
from robolin.core.notebook import ROUNDED_ZERO
from robolin.core.quantity_table import OR, PER
from robolin.core.records import dataclass
from robolin.core.result import Array, Result
from robolin.core.text import TIE, join_and, pluralize
from robolin.display.terminal.show import RowSummary, shown_stability

_POINT = ("q", "qd", "qdd", "tau")


@dataclass(frozen=True)
class Screen:
    """Layout of a command on a terminal.

    what:   words for the headline
    first:  arrays to show first; the others follow in their own order
    hidden: contract entries that the headline states, or that only --assumptions shows
    brief:  further entries that are omitted if all lines have to fit a screen
    """

    what: str
    first: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    brief: frozenset[str] = frozenset()


SCREENS: dict[str, Screen] = {
    "inverse": Screen("joint torques", ("tau",)),
    "forward": Screen("joint accelerations", ("qdd",)),
    "mass-matrix": Screen("mass matrix"),
    "linearize-inverse": Screen("derivatives of tau", ("dtau_dq", "mass_matrix", "dtau_dqd")),
    "linearize-forward": Screen("derivatives of qdd", ("dqdd_dq", "dqdd_dtau", "dqdd_dqd")),
    "jacobian": Screen("Jacobian", ("jacobian", "position", "rotation")),
    "ik": Screen("inverse kinematics", ("q", "position_error", "orientation_error")),
    "momentum": Screen("centre of mass and momentum", ("mass", "com", "com_velocity", "momentum")),
    "diagonalize": Screen("diagonalized dynamics", ("nu", "epsilon", "coriolis", "D", "m")),
    "regressor": Screen("regressor", ("regressor",)),
    "excite": Screen(
        "exciting motion",
        ("q", "qd", "tau"),
        frozenset({"motion", "identifiable", "condition"}),
    ),
    "sensitivity": Screen("sensitivity of the motion"),
    "state-space": Screen("linear model", ("A", "B", "C", "D")),
    "poles": Screen("poles", ("poles", "frequency", "damping", "decay", "stability")),
    "lqr": Screen("LQR gains", ("K", "poles")),
    "response": Screen("response of the linear model"),
    "optimize": Screen(
        "optimal motion", ("q",), frozenset({"goal", "method", "cost", "cost by iteration"})
    ),
    "retime": Screen("fastest motion along the path", ("q", "qd", "tau")),
    "simulate": Screen("simulated motion", ("q", "qd", "tau"), brief=frozenset({"integrator"})),
}
_PLAIN_SCREEN = Screen("")


def screen_of(result: Result) -> Screen:
    """The screen of the command of a result."""
    return SCREENS.get(base_verb(result.verb), _PLAIN_SCREEN)


# entries of a vector that are listed instead of its range
_FEW = 3
# arrays in the table of poles
POLE_COLUMNS = ("poles", "frequency", "damping", "decay", "stability")


@dataclass(frozen=True)
class ShortNames:
    """Short labels for joints, with a legend; empty if the names are short already."""

    labels: Mapping[str, str]
    legend: str

    def of(self, label: str) -> str:
        """Shorten a label such as 'panda_joint1' or 'panda_joint1/position'."""
        name, slash, kind = label.partition("/")
        return f"{self.labels.get(name, name)}{slash}{kind}"


def short_names(joints: Sequence[str]) -> ShortNames:
    """Shorten joint names by their common prefix and suffix: panda_joint1 becomes j1."""
    same = {name: name for name in joints}
    if len(joints) < 2 or max(map(len, joints)) <= 4:
        return ShortNames(same, "")
    numbers = [re.fullmatch(r"(.*?)(\d+)", name) for name in joints]
    stems = {match[1] for match in numbers if match}
    if all(numbers) and len(stems) == 1:
        words = re.findall(r"[A-Za-z]+", stems.pop())
        letter = words[-1][0].lower() if words else "j"
        short = [f"{letter}{match[2]}" for match in numbers if match]
        legend = f"{short[0]}..{short[-1]} = {joints[0]}..{joints[-1]}"
        return ShortNames(dict(zip(joints, short, strict=True)), legend)
    prefix = _common_words(joints)
    suffix = _common_words([name[::-1] for name in joints])[::-1]
    for first, last in ((prefix, suffix), ("", suffix), (prefix, "")):
        short = [name[len(first) : len(name) - len(last)] for name in joints]
        if first + last and all(short) and len({*short}) == len(short):
            parts = [f"prefix '{first}'"] if first else []
            parts += [f"suffix '{last}'"] if last else []
            legend = f"joint names are shown without the {join_and(parts)}"
            return ShortNames(dict(zip(joints, short, strict=True)), legend)
    return ShortNames(same, "")


def _common_words(names: Sequence[str]) -> str:
    """The common prefix of all names up to its last separator."""
    count = 0
    for letters in zip(*names, strict=False):
        if len({*letters}) > 1:
            break
        count += 1
    prefix = names[0][:count]
    return prefix[: max(prefix.rfind(mark) for mark in "_-./ ") + 1]


def shortened(result: Result, names: ShortNames) -> Result:
    """The result with short labels, its main arrays first and its operating point last."""
    first = screen_of(result).first
    rank = {name: i for i, name in enumerate(first)}
    point = len(rank) + 1

    def key(array: Array) -> int:
        if is_swept(result.verb) and array is result.arrays[0]:
            return -1
        return rank.get(array.name, point if array.name in _POINT else len(rank))

    arrays = [
        replace(array, labels=tuple(tuple(map(names.of, axis)) for axis in array.labels))
        for array in sorted(result.arrays, key=key)
    ]
    joints = (result.model or {}).get("joints", {})
    model = {**(result.model or {}), "joints": {names.of(name): joints[name] for name in joints}}
    named = tuple(map(names.of, result.joints))
    return replace(result, arrays=tuple(arrays), joints=named, model=model)


def main_arrays(result: Result) -> frozenset[str]:
    """Names of the arrays to show in full, or else with their range; all others are listed."""
    first = screen_of(result).first
    return frozenset(first or (array.name for array in result.arrays if array.name not in _POINT))


def state_blocks(array: Array) -> list[Array]:
    """Split a matrix over positions and velocities, such as A or K, into one block per kind."""
    if array.rank != 2 or array.batch is not None:
        return [array]
    rows, columns = (_kinds(axis) for axis in array.labels)
    kinds = {kind for kind, _, _ in (*rows, *columns)}
    if kinds == {""} or not kinds <= _STATE_KINDS:
        return [array]
    several = (len(rows) > 1, len(columns) > 1)
    blocks = [_block(array, row, column, several) for row in rows for column in columns]
    if array.unit.count(PER) == 1:
        above, below = array.unit.split(PER)
        units = product(units_by_kind(above, len(rows)), units_by_kind(below, len(columns)))
        pairs = zip(blocks, units, strict=True)
        blocks = [replace(block, unit=PER.join(unit)) for block, unit in pairs]
    return sorted(blocks, key=is_plain)


def units_by_kind(part: str, kinds: int) -> list[str]:
    """The unit of each kind along an axis: those of a matrix list the kinds in order."""
    alternatives = part.split(OR)
    each, rest = divmod(len(alternatives), kinds)
    if rest or not each:
        return [part] * kinds
    return [OR.join(alternatives[i * each : (i + 1) * each]) for i in range(kinds)]


_LabelKind = tuple[str, slice, tuple[str, ...]]
_STATE_KINDS = frozenset({"", "position", "velocity", "acceleration", "effort"})


def _kinds(labels: tuple[str, ...]) -> list[_LabelKind]:
    """Consecutive labels of one kind: its name, their slice, and the labels without it."""
    kinds: list[_LabelKind] = []
    start = 0
    for kind, group in groupby(labels, key=lambda label: label.partition("/")[2]):
        members = list(group)
        stop = start + len(members)
        kinds.append((kind, slice(start, stop), tuple(name.partition("/")[0] for name in members)))
        start = stop
    return kinds


def _block(array: Array, row: _LabelKind, column: _LabelKind, several: tuple[bool, bool]) -> Array:
    (of_rows, take, names), (of_columns, pick, heads) = row, column
    kinds = [f"{of_rows} rows"] if several[0] else []
    kinds += [f"{of_columns} columns"] if several[1] else []
    return replace(
        array,
        name=", ".join((array.name, *kinds)),
        values=array.values[take, pick],
        labels=(names, heads),
        axes=("", ""),
    )


def headline(result: Result, rows: RowSummary) -> str:
    """One line: the robot, the quantity and the state, or the verdict of a stability analysis."""
    verb = base_verb(result.verb)
    arm = str(result.contract.get("arm", "")).partition(" (")[0]
    # the rows of a response are frequencies or times at one state
    batch = result.batch is not None and verb != "response"
    verdict = VERDICTS[verb](result, rows) if verb in VERDICTS else ""
    what = verdict or screen_of(result).what or verb
    if verb == "jacobian" and "frame" in result.contract:
        what = f"Jacobian of {str(result.contract['frame']).replace(chr(39), '')}"
    if "weights" in result.options:
        # their unit is the inverse of that of the weighted quantity
        what = what.replace("derivatives of", "gradients of weights ·")
    where = _rows(result, rows.total) if batch else _state(result)
    if batch and verdict:
        # the verdict counts the rows
        source = where.partition(" of ")[2]
        what = what.replace(" rows", f" rows of {source}", 1) if source else what
    elif where:
        # the positions of ik are a start, not the state of the result
        at = "from" if verb == "ik" else "at"
        what += f", {where}" if batch else f"{',' * bool(verdict)} {at} {where}"
    return f"{arm}: {what}" if arm else what


def _rows(result: Result, rows: int) -> str:
    if base_verb(result.verb) == "simulate" and result.time is not None:
        return f"{result.time[0]:g} to {result.time[-1]:g} s"
    source = result.options.get("trajectory")
    if isinstance(source, list):
        source = pluralize(len(source), "recording")
    return f"{pluralize(rows, 'row')}{f' of {source}' if source else ''}"


def _state(result: Result) -> str:
    parts = []
    zero = str(result.contract.get("state", ""))
    torque = str(result.contract.get("torque", ""))
    for name in _POINT:
        if name == "tau" and torque.startswith("holding"):
            parts.append((name, "holding torques"))
        elif name in result.options:
            text = str(result.options[name])
            parts.append((name, text if len(text) <= 40 else f"{text[:37]}…"))
        elif "zero" in zero and re.search(rf"\b{name}\b", zero):
            parts.append((name, "0"))
    if torque.startswith("zero"):
        parts.append(("tau", "0"))
    # a line does not end between a name and its value
    return ", ".join(f"{name} = {text}".replace(" ", TIE) for name, text in parts)


def _of_poles(result: Result, rows: RowSummary) -> str:
    if not all(name in result for name in POLE_COLUMNS):
        return ""
    if result.batch is not None:
        return _of_pole_rows(rows)
    stability, decay = shown_stability(result), result["decay"]
    unstable, marginal = int((stability < 0).sum()), int((stability == 0).sum())
    count = len(stability)
    if not unstable and not marginal:
        return f"stable, {count} poles, slowest mode decays at {decay.min():.4g} 1/s"
    parts = []
    if unstable:
        parts.append(
            f"{unstable} of {count} poles unstable, fastest mode grows at {-decay.min():.4g} 1/s"
        )
    if marginal:
        parts.append(f"{marginal} marginal" if parts else f"{marginal} of {count} poles marginal")
    return "; ".join(parts)


def _of_pole_rows(rows: RowSummary) -> str:
    """The verdict about a trajectory."""
    unstable, marginal = rows.stability[-1], rows.stability[0]
    ends = rows.extremes("decay")
    least = float(np.min(ends[0])) if ends is not None else 0.0
    if unstable:
        return (
            f"unstable in {unstable} of {rows.total} rows, fastest mode grows at {-least:.4g} 1/s"
        )
    if marginal:
        others = ", stable in the others" if marginal < rows.total else ""
        return f"marginal in {marginal} of {rows.total} rows{others}"
    return f"stable in all rows, slowest mode decays at {least:.4g} 1/s"


def _of_gains(result: Result, rows: RowSummary) -> str:
    if "poles" not in result:
        return ""
    if result.batch is not None:
        stable = rows.stability[1]
        of_rows = "all rows" if stable == rows.total else f"{stable} of {rows.total} rows"
        return f"LQR gains, closed loop stable in {of_rows}" if rows.stability else ""
    poles = result["poles"]
    inside = (np.abs(poles) < 1.0) if "dt" in result.options else (poles.real < 0.0)
    if inside.all():
        return f"LQR gains, closed loop stable ({len(poles)} poles)"
    return f"LQR gains, closed loop: {int((~inside).sum())} of {len(poles)} poles not stable"


def _of_motion(result: Result, rows: RowSummary) -> str:
    goal, cost, method = (str(result.contract.get(key, "")) for key in ("goal", "cost", "method"))
    value, end, defect = cost.partition(" =")[0], cost.rpartition(", ")[2], method.rpartition(", ")
    return f"goal {goal}, cost {value}, {end}, {defect[2]}" if goal and cost else ""


def _of_excitation(result: Result, rows: RowSummary) -> str:
    known, condition = (result.contract.get(key, "") for key in ("identifiable", "condition"))
    determined = str(known).partition(";")[0]
    return f"exciting motion, {determined}, condition number {condition}" if determined else ""


def _of_simulation(result: Result, rows: RowSummary) -> str:
    ending = result.contract.get("return")
    return f"simulated motion, {_rows(result, rows.total)}, {ending}" if ending else ""


# errors below this one, in m or rad, depend on rounding only
_EXACT = 1e-12


def _of_reached_pose(result: Result, rows: RowSummary) -> str:
    """A goal that is not reached is an error, so that every result reaches it."""
    errors = {"m": "position_error", "rad": "orientation_error"}
    sizes = {unit: float(result[name]) for unit, name in errors.items() if name in result}
    texts = [
        f"{size:.2g} {unit}" if size > _EXACT else f"below {_EXACT:g} {unit}"
        for unit, size in sizes.items()
    ]
    return ", error ".join(filter(None, ("goal reached", " and ".join(texts))))


VERDICTS: dict[str, Callable[[Result, RowSummary], str]] = {
    "poles": _of_poles,
    "lqr": _of_gains,
    "optimize": _of_motion,
    "simulate": _of_simulation,
    "excite": _of_excitation,
    "ik": _of_reached_pose,
}


def one_line(
    array: Array, rows: RowSummary, numbers: Callable[[list[float]], list[str]], floor: float
) -> str:
    """A main array that does not fit the screen: its range, and the flag to show it.

    floor: an array whose entries are all smaller is round-off
    """
    title = f"{array.name} [{array.unit}]" if array.unit not in ("", "1") else array.name
    values = array.values
    if array.batch is None and not values.any():
        return f"{title}: zero"
    if is_identity(array):
        return f"{title}: identity"
    ends = (values.real, values.real) if array.batch is None else rows.extremes(array.name)
    if ends is None:
        return f"{title}: {_shape(array, rows)} (--only {array.name})"
    low_high = [float(ends[0].min()), float(ends[1].max())]
    if not any(low_high):
        return f"{title}: zero"
    if max(map(abs, low_high)) < floor:
        return f"{title}: {ROUNDED_ZERO}"
    if array.batch is None and array.rank == 1 and len(values) <= _FEW and values.dtype.kind == "f":
        return f"{title}: {', '.join(text.strip() for text in numbers(values.tolist()))}"
    kind = ", real parts" if values.dtype.kind == "c" else ""
    low, high = (text.strip() for text in numbers(low_high))
    return f"{title}: {_shape(array, rows)}{kind} from {low} to {high} (--only {array.name})"


def name_and_shape(
    array: Array, rows: RowSummary, numbers: Callable[[list[float]], list[str]], floor: float
) -> str:
    """An array in the list of those left out: its name, and its value or shape."""
    if is_identity(array) and array.batch is None:
        return f"{array.name} identity"
    largest = abs(array.values).max(initial=0.0) if array.batch is None else np.inf
    if array.values.ndim and (largest < floor or not largest):
        return f"{array.name} {ROUNDED_ZERO if largest else 'zero'}"
    if array.values.ndim == 0 and array.values.dtype.kind in "fi":
        value = array.values.item()
        return f"{array.name} {value if isinstance(value, int) else numbers([value])[0].strip()}"
    if array.name in _POINT or (array.batch is not None and array.rank < 2):
        return array.name
    return f"{array.name} ({_shape(array, rows)})"


def _shape(array: Array, rows: RowSummary) -> str:
    """The shape of an array with all its rows."""
    shape = array.values.shape if array.batch is None else (rows.total, *array.values.shape[1:])
    return " × ".join(map(str, shape))


def is_plain(array: Array) -> bool:
    """True for zeros and identities of one state, which need no table."""
    return array.batch is None and (not array.values.any() or is_identity(array))


def is_identity(array: Array) -> bool:
    """True for a square matrix, or for one in each shown row, with ones only on its diagonal."""
    values, n = array.values, array.values.shape[-1] if array.rank == 2 else 0
    if array.rank != 2 or values.shape[-2] != n:
        return False
    identity = [[float(i == j) for j in range(n)] for i in range(n)]
    matrices = values.reshape(-1, n, n).tolist() if n else []
    return all(matrix == identity for matrix in matrices)
