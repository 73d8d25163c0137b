"""Derive velocities and accelerations from the positions and times of a recording.

central: central differences of second order, for any spacing of rows (numpy.gradient)
savgol:  Savitzky-Golay filter, a cubic fitted to 11 rows, for equidistant rows (SciPy)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Mask
from robolin.errors import RobolinError

WINDOW, DEGREE = 11, 3
# largest relative deviation of a time step from the mean
UNEVEN_ROWS = 1e-3

_WORDS = {
    "central": "central differences of second order",
    "savgol": f"Savitzky-Golay over {WINDOW} rows, cubic",
}

# values (rows, n) and the order of the derivative
Derivative = Callable[[Floats, int], Floats]


def derivation_line(names: Sequence[str], method: str) -> str:
    """The line about derived quantities in a contract."""
    return f"{' and '.join(names)} from positions and time by {_WORDS[method]}"


def with_derivatives(
    columns: Mapping[str, Floats],
    names: Sequence[str],
    seconds: Floats,
    method: str,
    file: str,
) -> dict[str, Floats]:
    """The columns with 'qd' and 'qdd' added, if they are in `names`.

    Accelerations are the derivative of velocities if the file has them, else the second
    derivative of positions.
    """
    fewest = WINDOW if method == "savgol" else 3
    if len(seconds) < fewest:
        message = f"{len(seconds)} rows are too few for derivatives"
        raise RobolinError(message, where=file, hint=f"it takes {fewest} rows")
    derivative = _savgol(seconds, file) if method == "savgol" else _central(seconds)
    derived = dict(columns)
    if "qd" in names:
        derived["qd"] = derivative(columns["q"], 1)
    if "qdd" in names:
        velocities = columns.get("qd")
        derived["qdd"] = (
            derivative(columns["q"], 2) if velocities is None else derivative(velocities, 1)
        )
    return derived


def _central(seconds: Floats) -> Derivative:
    def derivative(values: Floats, order: int) -> Floats:
        for _ in range(order):
            values = np.gradient(values, seconds, axis=0, edge_order=2)
        return values

    return derivative


def _savgol(seconds: Floats, file: str) -> Derivative:
    try:
        from scipy.signal import savgol_filter
    except ImportError:
        hint = "pip install 'robolin[recordings]', or --differentiate central"
        raise RobolinError("savgol needs the package scipy", where=file, hint=hint) from None
    steps = np.diff(seconds)
    step = seconds[-1] / (len(seconds) - 1)
    off = np.abs(steps - step) > UNEVEN_ROWS * step
    if off.any():
        row = int(np.argmax(off))
        message = f"row {row + 2} comes {steps[row]:.6g} s after the one before, others {step:.6g}"
        hint = "savgol needs rows at one distance; --differentiate central does not"
        raise RobolinError(message, where=file, hint=hint)

    def derivative(values: Floats, order: int) -> Floats:
        settings: dict[str, Any] = {"deriv": order, "delta": step, "axis": 0, "mode": "interp"}
        derivatives: Floats = savgol_filter(values, WINDOW, DEGREE, **settings)
        return derivatives

    return derivative


def require_no_gaps(gaps: Mask | None, method: str, file: str) -> None:
    """Reject NaN rows if the method fits a curve through them."""
    if method == "savgol" and gaps is not None and gaps.any():
        message = "there are rows without numbers, through which no curve can be fitted"
        hint = "--differentiate central leaves out their neighbours alone"
        raise RobolinError(message, where=file, hint=hint)


def require_no_jumps(
    q: Floats, joints: Sequence[str], turning: Sequence[bool], location: Callable[[int], str]
) -> None:
    """Reject angles that jump by more than half a rotation, which have no useful derivative."""
    jumps = np.abs(np.diff(q, axis=0)) > np.pi
    jumps[:, [not turns for turns in turning]] = False
    if jumps.any():
        row, joint = (int(i) for i in np.argwhere(jumps)[0])
        message = (
            f"joint '{joints[joint]}' jumps from {q[row, joint]:.4g} to "
            f"{q[row + 1, joint]:.4g} rad, more than half a turn"
        )
        hint = "angles have to go on beyond ±pi: numpy.unwrap(angles)"
        raise RobolinError(message, where=location(row + 1), hint=hint)
