"""Warnings about implausible positions and massless models."""

from __future__ import annotations

from collections.abc import Iterator
from math import degrees, inf, pi, radians

import numpy as np

from robolin.core.arm import Arm, Joint
from robolin.core.arrays import Floats
from robolin.core.text import quote_list
from robolin.core.units import joint_unit

_REVOLUTION = 2.0 * pi

# rows reduced together: reducing short rows one by one is slower
_ROWS_PER_BLOCK = 64


class JointRangeMonitor:
    """Running minimum and maximum of each joint's position, compared with its limits."""

    def __init__(self, arm: Arm) -> None:
        self._joints = arm.joints
        self._lowest, self._highest = np.full(arm.n, inf), np.full(arm.n, -inf)
        self._nearest = np.full(arm.n, inf)
        self._rows = 0

    def update(self, q: Floats) -> None:
        """Update the ranges with one state (n,) or rows (rows, n)."""
        rows = np.atleast_2d(q)
        # ignore NaN here: it is reported elsewhere
        self._lowest = np.fmin(self._lowest, column_min(rows))
        self._highest = np.fmax(self._highest, column_max(rows))
        self._nearest = np.fmin(self._nearest, column_min(np.abs(rows)))
        self._rows += len(rows)

    def warnings(self) -> Iterator[str]:
        """Yield one warning per kind of implausible position."""
        spans = [*zip(self._joints, self._lowest.tolist(), self._highest.tolist(), strict=True)]
        far = [(joint, low, high) for joint, low, high in spans if _is_far(joint, low, high)]
        in_degrees = [each for each in far if self._rows > 1 and _fits_in_degrees(*each)]
        if in_degrees:
            joint, low, high = in_degrees[0]
            yield (
                f"positions look like degrees, but are taken as rad: {_names(in_degrees)}; "
                f"'{joint.name}' goes from {low:.6g} to {high:.6g} rad, "
                f"its limits are {_limits(joint)}"
            )
        nearest = zip(spans, self._nearest.tolist(), strict=True)
        away = [each for each, near in nearest if self._rows > 1 and _is_away(*each, near)]
        if away:
            joint, low, high = away[0]
            yield (
                f"positions look like degrees, but are taken as rad: {_names(away)}; "
                f"'{joint.name}' goes from {low:.6g} to {high:.6g} rad, "
                "and never comes within a turn of 0"
            )
        for joint, low, high in (each for each in far if each not in in_degrees):
            lower, upper = _range(joint)
            value = high if high - upper > lower - low else low
            unit = joint_unit("position", joint.turns)
            text = f"joint '{joint.name}' is at {value:.6g} {unit}, far outside its limits"
            as_angle = f"; {value:.6g}deg would be {radians(value):.4g} rad" * joint.turns
            yield f"{text} of {_limits(joint)}{as_angle}"


def massless_warning(arm: Arm) -> str:
    """Return a warning if no moving body has inertia, else ''."""
    bodies = [link.inertia for link in arm.links]
    drives = any(link.joint.armature for link in arm.links)
    if drives or any(body.mass or any(body.rotary) for body in bodies):
        return ""
    return (
        f"{arm.name}: nothing that moves has a mass, so torques, mass matrix and energies are 0: "
        "give the links their <inertial> (URDF) or mass (YAML)"
    )


def _is_far(joint: Joint, low: float, high: float) -> bool:
    limited = joint.kind != "continuous"
    return limited and joint.limits.far_outside(low, high, turns=joint.turns)


def _fits_in_degrees(joint: Joint, low: float, high: float) -> bool:
    """True if the angle exceeds its limits in rad but not in degrees."""
    lower, upper = _range(joint)
    return joint.turns and degrees(lower) <= low and high <= degrees(upper)


def _is_away(joint: Joint, low: float, high: float, nearest: float) -> bool:
    """True if an unlimited angle stays above one revolution in rad, but not in degrees."""
    unlimited = joint.turns and _range(joint) == (-inf, inf)
    return unlimited and nearest > _REVOLUTION and max(-low, high) <= degrees(_REVOLUTION)


def _range(joint: Joint) -> tuple[float, float]:
    limits = joint.limits
    lower, upper = limits.lower, limits.upper
    if joint.kind == "continuous" or lower is None or upper is None:
        return -inf, inf
    return lower, upper


def _limits(joint: Joint) -> str:
    lower, upper = _range(joint)
    return f"{lower:.6g} to {upper:.6g}"


def _names(spans: list[tuple[Joint, float, float]]) -> str:
    return quote_list([joint.name for joint, _, _ in spans])


def column_min(rows: Floats) -> Floats:
    """Minimum of each column (n,) of rows (rows, n); NaN only for columns without numbers."""
    return _reduced(np.minimum, np.fmin, rows)


def column_max(rows: Floats) -> Floats:
    """Maximum of each column (n,) of rows (rows, n)."""
    return _reduced(np.maximum, np.fmax, rows)


def _reduced(plain: np.ufunc, tolerant: np.ufunc, rows: Floats) -> Floats:
    reduced = _folded(plain, rows)
    # the NaN-ignoring functions are slower
    return _folded(tolerant, rows) if np.isnan(reduced).any() else reduced


def _folded(ufunc: np.ufunc, rows: Floats) -> Floats:
    multiple = len(rows) - len(rows) % _ROWS_PER_BLOCK
    folds = rows[:multiple].reshape(-1, _ROWS_PER_BLOCK * rows.shape[1])
    remainder: Floats = ufunc.reduce(rows[multiple:] if multiple < len(rows) else rows[:1], axis=0)
    if not multiple:
        return remainder
    first: Floats = ufunc.reduce(ufunc.reduce(folds, axis=0).reshape(_ROWS_PER_BLOCK, -1), axis=0)
    return np.asarray(ufunc(first, remainder))
