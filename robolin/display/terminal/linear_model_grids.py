"""Tables of linear models: poles of one state and of many rows, and responses over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from robolin.core.arrays import np
from robolin.core.natural_scales import UNDECIDED_RATE
from robolin.core.notebook import ROUNDED_ZERO
from robolin.core.quantity_table import PER
from robolin.core.result import Array, Result
from robolin.display.terminal.grid import Grid
from robolin.display.terminal.numbers import matrix_texts
from robolin.display.terminal.result_grids import Formatting, row_corner, shown_row_names
from robolin.display.terminal.screen import units_by_kind
from robolin.display.terminal.show import shown_stability

_STABILITY = {1: "stable", 0: "marginal", -1: "unstable"}
# a longer list of poles begins with the least stable ones
_MANY_POLES = 7
# joints that move at least this much of the largest one are named in a mode
_DOMINANT = 0.5
# columns of an 80-column terminal that the numbers of a pole leave
_NAMES_WIDTH = 16
_FREQUENCY = "omega"
_SLOW = f"{ROUNDED_ZERO} 1/s: below {UNDECIDED_RATE:g} 1/s; round-off determines the sign"
_SLOW_DISCRETE = (
    f"poles below {UNDECIDED_RATE:g} rad/s are also marginal: round-off determines the sign"
)
# outputs and inputs in a table of responses if no joint has both
_FEW_PAIRS = 7


def pole_grid(result: Result, numbers: Callable[[list[float]], list[str]]) -> Grid:
    """Poles with frequency, damping ratio, time constant, stability and dominant joints.

    A conjugate pair takes one line.
    """
    poles, shapes, discrete = result["poles"], result["mode_shape"], _is_discrete(result)
    joints = next(array for array in result.arrays if array.name == "mode_shape").labels[1]
    stability = shown_stability(result)
    kept = [i for i, pole in enumerate(poles) if pole.imag >= 0.0]
    if len(kept) > _MANY_POLES:
        # the least stable ones, which the verdict is about, are on the first screen
        kept.sort(key=lambda i: (stability[i], result["decay"][i]))
    # numbers of poles at 0 would set the format of the others
    still = result["frequency"] < UNDECIDED_RATE
    moving = np.where(still, poles.real if discrete else 0.0, poles)
    frequencies = np.where(still, 0.0, result["frequency"])
    decays = np.where(stability == 0, 0.0, result["decay"])
    real = numbers([float(moving[i].real) for i in kept])
    imaginary = numbers([float(moving[i].imag) for i in kept])
    times = numbers([float(1.0 / abs(decays[i])) if decays[i] else np.inf for i in kept])
    cells = [
        (
            _pole_text(re, im, moving[i], 1)
            if discrete
            else _pole_text(re, im, poles[i], stability[i]),
            ROUNDED_ZERO if still[i] and poles[i] and not discrete else frequency,
            # a pole at 0 has no damping ratio
            "" if still[i] else damping if stability[i] else ROUNDED_ZERO,
            "" if time.strip() == "inf" else time.strip(),
            _STABILITY[int(stability[i])],
            _dominant(np.abs(shapes[i]), joints),
        )
        for i, re, im, frequency, damping, time in zip(
            kept,
            real,
            imaginary,
            numbers([float(frequencies[i]) for i in kept]),
            numbers([0.0 if still[i] else float(result["damping"][i]) for i in kept]),
            times,
            strict=True,
        )
    ]
    widest = max((len(row[-1]) for row in cells), default=0)
    header = (
        "pole" if discrete else "pole [1/s]",
        "freq [rad/s]",
        "damping",
        "time [s]",
        "stability",
    )
    cells = [(*row[:-1], row[-1].ljust(widest)) for row in cells]
    rows = tuple(str(i + 1) for i in range(len(kept)))
    if discrete:
        note = _SLOW_DISCRETE if (stability != result["stability"]).any() else ""
    else:
        note = _SLOW if (still & (poles != 0.0)).any() else ""
    return Grid("", "", rows, (*header, "joints".ljust(widest)), tuple(cells), note)


def _is_discrete(result: Result) -> bool:
    return "dt" in result.options


def _pole_text(real: str, imaginary: str, pole: complex, stability: int) -> str:
    """A pole or a conjugate pair; the real part of a marginal continuous one is round-off."""
    if not stability and 0.0 < abs(pole) < UNDECIDED_RATE:
        return ROUNDED_ZERO
    if not stability and pole.real:
        real = ROUNDED_ZERO
    return f"{real} ± {imaginary.strip()}j" if pole.imag else real


def _dominant(shape: Any, joints: Sequence[str]) -> str:
    """The joints that move most in a mode, as many as leave room for the numbers."""
    largest = shape.max(initial=0.0)
    order = np.argsort(-shape, kind="stable")
    names = [joints[i] for i in order if shape[i] >= _DOMINANT * largest > 0.0][:3]
    while len(names) > 1 and len(" ".join(names)) > _NAMES_WIDTH:
        names.pop()
    text = " ".join(names)
    # both ends of a name that is too long: others may differ from it at either
    half = _NAMES_WIDTH // 2
    return text if len(text) <= _NAMES_WIDTH else f"{text[: half - 1]}…{text[-half:]}"


def pole_rows(write: Formatting, numbers: Callable[[list[float]], list[str]]) -> Grid:
    """The number of unstable poles of every row, and the least stable pole with its joints."""
    result = write.result
    joints = next(array for array in result.arrays if array.name == "mode_shape").labels[1]
    count = min(result.batch or 0, write.rows.shown)
    stability, decay = shown_stability(result)[:count], result["decay"][:count]
    # of a pair of conjugate poles, the one with a positive imaginary part
    rows = zip(stability, decay, result["poles"][:count], strict=True)
    least = [int(np.lexsort((-row.imag, decays, kinds))[0]) for kinds, decays, row in rows]
    poles = [result["poles"][row, i] for row, i in enumerate(least)]
    real = numbers([float(pole.real) for pole in poles])
    imaginary = numbers([float(pole.imag) for pole in poles])
    discrete = _is_discrete(result)
    cells = [
        (
            f"{int((stability[row] < 0).sum())} of {stability.shape[1]}",
            _STABILITY.get(int(stability[row, i]), ""),
            _pole_text(re, im, poles[row], 1 if discrete else stability[row, i]),
            _dominant(np.abs(result["mode_shape"][row, i]), joints),
        )
        for row, (i, re, im) in enumerate(zip(least, real, imaginary, strict=True))
        if np.isfinite(poles[row])
    ]
    names = [
        name for name, pole in zip(shown_row_names(write), poles, strict=True) if np.isfinite(pole)
    ]
    widest = max((len(row[-1]) for row in cells), default=0)
    pole = "least stable pole" if discrete else "least stable pole [1/s]"
    header = ("unstable", "stability", pole, "joints".ljust(widest))
    padded = tuple((*row[:-1], row[-1].ljust(widest)) for row in cells)
    return Grid("", row_corner(result), tuple(names), header, padded, write.rows.note(False))


def response_grids(array: Array, write: Formatting) -> Iterator[Grid]:
    """Responses of each position to the torque of its own joint, one line per row.

    Frequency responses are shown as gain and phase.  Without such pairs, outputs and inputs are
    combined if they are few.
    """
    pairs = _pairs(array)
    if not pairs:
        return
    values = np.stack([array.values[:, i, j] for i, j, _ in pairs], axis=-1)
    columns = tuple(name for _, _, name in pairs)
    own = all("/" not in name for name in columns)
    what = f"{array.name} from each effort to the position of the same joint" if own else array.name
    if array.values.dtype.kind == "c":
        frequencies = tuple(f"{x:.4g}" for x in write.result[_FREQUENCY][: write.rows.shown])
        with np.errstate(divide="ignore"):
            gain = 20.0 * np.log10(np.abs(values[: len(frequencies)]))
        phase = np.degrees(np.angle(values[: len(frequencies)]))
        corner = "omega [rad/s]"
        for title, shown in ((f"{what}: gain [dB]", gain), ("phase [deg]", phase)):
            cells = matrix_texts(shown, min(write.precision, 4))
            note = write.rows.note(False) if shown is phase else ""
            yield Grid(title, corner, frequencies, columns, cells, note)
        return
    unit = _position_unit(array) if own else array.unit
    cells = write.matrix(array, values[: write.rows.shown])
    rows = (row_corner(write.result), shown_row_names(write), columns)
    yield Grid(f"{what} [{unit}]", *rows, cells, write.rows.note(False))


def _pairs(array: Array) -> list[tuple[int, int, str]]:
    """Indices of outputs and inputs, and the name of each pair."""
    outputs, inputs = array.labels
    own = [
        (outputs.index(output), j, name)
        for j, name in enumerate(label.partition("/")[0] for label in inputs)
        if (output := f"{name}/position") in outputs
    ]
    if own:
        return own
    every = [
        (i, j, f"{output} by {label}")
        for i, output in enumerate(outputs)
        for j, label in enumerate(inputs)
    ]
    return every if len(every) <= _FEW_PAIRS else []


def _position_unit(array: Array) -> str:
    """The unit of positions by efforts, of a response of positions and other outputs."""
    kinds = len({label.partition("/")[2] for label in array.labels[0]})
    above, per, below = array.unit.partition(PER)
    return f"{units_by_kind(above, kinds)[0]}{per}{below}" if per else array.unit
