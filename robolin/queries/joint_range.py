"""States and arms that can be answered but are likely to be a mistake: said in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from math import degrees, inf, pi, radians

import numpy as np

from robolin.core.arm import Arm, Joint
from robolin.core.arrays import Floats
from robolin.core.text import quote_list
from robolin.core.units import joint_unit

# an angle a turn beyond its range, or a slide ten times its travel, is no overshoot
_TURN = 2.0 * pi
_TRAVELS = 10.0

# rows that are gone through together: a row of a few joints by itself takes longer to begin with
_TOGETHER = 64


class JointRangeMonitor:
    """How far positions went, joint by joint, whatever the number of rows."""

    def __init__(self, arm: Arm) -> None:
        self._joints = arm.joints
        self._lowest, self._highest = np.full(arm.n, inf), np.full(arm.n, -inf)
        self._nearest = np.full(arm.n, inf)
        self._rows = 0

    def look(self, q: Floats) -> None:
        """Take note of one state (n,) or of rows (rows, n)."""
        rows = np.atleast_2d(q)
        # what is not a number is somebody else's to complain about
        self._lowest = np.fmin(self._lowest, column_min(rows))
        self._highest = np.fmax(self._highest, column_max(rows))
        self._nearest = np.fmin(self._nearest, column_min(np.abs(rows)))
        self._rows += len(rows)

    def warnings(self) -> Iterator[str]:
        """What is likely to be wrong with the positions, in one sentence for each kind."""
        spans = [*zip(self._joints, self._lowest.tolist(), self._highest.tolist(), strict=True)]
        far = [(joint, low, high) for joint, low, high in spans if _is_far(joint, low, high)]
        turned = [each for each in far if self._rows > 1 and _fits_in_degrees(*each)]
        if turned:
            joint, low, high = turned[0]
            yield (
                f"positions look like degrees, but are taken as rad: {_names(turned)}; "
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
        for joint, low, high in (each for each in far if each not in turned):
            lower, upper = _range(joint)
            value = high if high - upper > lower - low else low
            unit = joint_unit("position", joint.turns)
            told = f"joint '{joint.name}' is at {value:.6g} {unit}, far outside its limits"
            as_angle = f"; {value:.6g}deg would be {radians(value):.4g} rad" * joint.turns
            yield f"{told} of {_limits(joint)}{as_angle}"


def massless_warning(arm: Arm) -> str:
    """A sentence if nothing that moves has any inertia, else ''."""
    bodies = [link.inertia for link in arm.links]
    drives = any(link.joint.armature for link in arm.links)
    if drives or any(body.mass or any(body.rotary) for body in bodies):
        return ""
    return (
        f"{arm.name}: nothing that moves has a mass, so torques, mass matrix and energies are 0: "
        "give the links their <inertial> (URDF) or mass (YAML)"
    )


def _is_far(joint: Joint, low: float, high: float) -> bool:
    lower, upper = _range(joint)
    beyond = max(lower - low, high - upper)
    return beyond > (_TURN if joint.turns else _TRAVELS * max(upper - lower, 0.0))


def _fits_in_degrees(joint: Joint, low: float, high: float) -> bool:
    """Whether an angle that goes too far in rad would stay within its limits in degrees."""
    lower, upper = _range(joint)
    return joint.turns and degrees(lower) <= low and high <= degrees(upper)


def _is_away(joint: Joint, low: float, high: float, nearest: float) -> bool:
    """Whether an angle without limits stays beyond a turn, and within one if it is in degrees."""
    unlimited = joint.turns and _range(joint) == (-inf, inf)
    return unlimited and nearest > _TURN and max(-low, high) <= degrees(_TURN)


def _range(joint: Joint) -> tuple[float, float]:
    limits = joint.limits
    lower, upper = limits.lower, limits.upper
    if joint.kind == "continuous" or lower is None or upper is None:
        return -inf, inf
    return lower, upper


def _limits(joint: Joint) -> str:
    lower, upper = _range(joint)
    return f"{lower:.6g} to {upper:.6g}"


def _names(found: list[tuple[Joint, float, float]]) -> str:
    return quote_list([joint.name for joint, _, _ in found])


def column_min(rows: Floats) -> Floats:
    """The least number of each column (n,) of rows (rows, n); NaN only where there is none."""
    return _reduced(np.minimum, np.fmin, rows)


def column_max(rows: Floats) -> Floats:
    """The greatest number of each column (n,)."""
    return _reduced(np.maximum, np.fmax, rows)


def _reduced(plain: np.ufunc, tolerant: np.ufunc, rows: Floats) -> Floats:
    found = _folded(plain, rows)
    # those that leave NaN aside take longer
    return _folded(tolerant, rows) if np.isnan(found).any() else found


def _folded(ufunc: np.ufunc, rows: Floats) -> Floats:
    whole = len(rows) - len(rows) % _TOGETHER
    folds = rows[:whole].reshape(-1, _TOGETHER * rows.shape[1])
    found: Floats = ufunc.reduce(rows[whole:] if whole < len(rows) else rows[:1], axis=0)
    if not whole:
        return found
    first: Floats = ufunc.reduce(ufunc.reduce(folds, axis=0).reshape(_TOGETHER, -1), axis=0)
    return np.asarray(ufunc(first, found))
