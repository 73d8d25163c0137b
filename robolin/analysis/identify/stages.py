"""Stages of an identification: friction, payload, links; each with the held-out rows as test.

Weights of joints are 1 / RMS of their residuals, and Huber weights limit the influence of single
rows; both follow from two rounds of plain least squares, together with the friction velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robolin.analysis.identify.consistent_fit import ConvexFit, prior_of, solve_consistent
from robolin.analysis.identify.design_rows import DesignRows, ParameterList
from robolin.analysis.identify.recording import ROBUST
from robolin.core.arrays import Floats, Mask

# speed in rad/s or m/s above which a joint moves; at rest it shows stiction, not the model
MOVING_SPEED = 0.03
# friction velocities that are tried
FRICTION_VELOCITIES = (0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005)
# part by which a smaller friction velocity must lower the squared residual to be chosen
_CLEARLY = 0.02
_FIRST_VELOCITY = 0.03
_HUBER = 1.345
_ROUNDS = 2
# residuals below this part of the torques are rounding
_EXACT = 1e-9


class Score(NamedTuple):
    """RMS(measured - predicted) / RMS(measured) of every joint, on held-out rows.

    moving: (n,), rows where the joint moves; NaN for a joint that never does
    all_rows: (n,)
    """

    moving: Floats
    all_rows: Floats

    @property
    def mean(self) -> float:
        """Mean of the joints that move; NaN if none does."""
        known = self.moving[np.isfinite(self.moving)]
        return float(known.mean()) if known.size else float("nan")

    @property
    def mean_all(self) -> float:
        """Mean of all joints over all rows."""
        return float(self.all_rows.mean())

    @property
    def headline(self) -> float:
        """The error of moving rows, or of all rows if no joint moves."""
        return self.mean_all if np.isnan(self.mean) else self.mean


class FitWeights(NamedTuple):
    """weights: (rows, n); v0: friction velocities (n,); sigma: RMS residual (n,)."""

    weights: Floats
    v0: Floats
    sigma: Floats


def scored(design: DesignRows, predicted: Floats) -> Score:
    """Errors of predicted torques (rows, n)."""
    rows = design.rows
    moving = np.abs(rows.qd) > MOVING_SPEED
    residual = rows.tau - predicted

    def ratio(mask: Mask) -> Floats:
        with np.errstate(all="ignore"):
            left = np.sum(np.where(mask, residual, 0.0) ** 2, axis=0)
            return np.asarray(np.sqrt(left / np.sum(np.where(mask, rows.tau, 0.0) ** 2, axis=0)))

    return Score(ratio(moving), ratio(np.ones_like(moving)))


def find_weights(
    design: DesignRows, velocities: Floats | None, base: Floats, *, robust: bool = True
) -> FitWeights:
    """Weights of rows and friction velocities, by rounds of least squares near `base` (p,)."""
    tau = design.rows.tau
    n = tau.shape[1]
    v0 = np.full(n, _FIRST_VELOCITY) if velocities is None else velocities
    sigma = np.maximum(np.sqrt(np.mean(tau**2, axis=0)), 1e-12)
    floor = _EXACT * sigma
    weights = np.ones_like(tau) / sigma
    for _ in range(_ROUNDS):
        x = _plain(design, v0, weights, base)
        residual = tau - design.predicted(x, v0)
        if velocities is None:
            v0, residual = _scan_velocities(design, x, v0, residual)
        sigma = np.maximum(np.sqrt(np.mean(residual**2, axis=0)), floor)
        if robust:
            middle = np.maximum(ROBUST * np.median(np.abs(residual), axis=0), floor)
            share = np.minimum(1.0, _HUBER * middle / np.maximum(np.abs(residual), 1e-300))
            kept = np.minimum(np.abs(residual), _HUBER * middle)
            sigma = np.maximum(np.sqrt(np.mean(kept**2, axis=0)), floor)
        else:
            share = np.ones_like(residual)
        weights = np.sqrt(share) / sigma
    return FitWeights(weights, v0, sigma)


def _plain(design: DesignRows, v0: Floats, weights: Floats, base: Floats) -> Floats:
    """Least squares with the smallest change of `base`, in units of the columns."""
    factor = design.compressed(v0, weights, design.rows.tau)
    R, z = factor[:-1, :-1], factor[:-1, -1]
    size = np.linalg.norm(R, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    change = np.linalg.lstsq(R / size, z - R @ base, rcond=1e-6)[0]
    return np.asarray(base + change / size)


def _scan_velocities(
    design: DesignRows, x: Floats, v0: Floats, residual: Floats
) -> tuple[Floats, Floats]:
    """The friction velocity of every joint that leaves the smallest residual."""
    rows, found, best = design.rows, v0.copy(), residual.copy()
    start, n = design.listed.friction.start, rows.tau.shape[1]
    own = residual + x[start : start + n] * design.all_friction(v0)
    limit = 4.0 * ROBUST * np.median(np.abs(residual), axis=0) + 1e-300
    smallest = np.full(n, np.inf)
    for candidate in FRICTION_VELOCITIES:
        coulomb = design.all_friction(np.full(n, candidate))
        for j in range(n):
            v = rows.qd[:, j]
            columns = np.stack([coulomb[:, j], v, np.ones_like(v)], axis=1)
            left = own[:, j] - columns @ np.linalg.lstsq(columns, own[:, j], rcond=None)[0]
            cost = float(np.sum(np.minimum(np.abs(left), limit[j]) ** 2))
            if cost < smallest[j] * (1.0 - _CLEARLY):
                smallest[j], found[j], best[:, j] = cost, candidate, left
    return found, best


def fit_stage(
    listed: ParameterList,
    factor: Floats,
    start: Floats,
    free: Sequence[int],
    spread: Floats,
    trust: Floats,
) -> tuple[Floats, ConvexFit]:
    """Consistent fit of the free parameters; all others keep the values of `start`.

    factor: `DesignRows.compressed`
    spread: (p,) standard deviations of the prior of parameters that are not inertial
    trust:  λ of every body in `listed.bodies`
    """
    index = np.array(free)
    R, z = factor[:-1, :-1], factor[:-1, -1]
    chosen = set(free)
    bodies = [b for b in listed.bodies if b in chosen]
    place = {name: i for i, name in enumerate(free)}
    signed = [i for i in listed.of("damping", "armature", "friction") if i in chosen]
    fixed = start.copy()
    fixed[index] = 0.0
    inside = start[index].copy()
    positive = np.array([place[i] for i in signed], dtype=np.intp)
    programme = ConvexFit(
        factor=R[:, index],
        target=z - R @ fixed,
        start=inside,
        bodies=[place[b] for b in bodies],
        trust=np.array([trust[listed.bodies.index(b)] for b in bodies]),
        positive=positive,
        spread=spread[index],
    )
    x = start.copy()
    x[index] = solve_consistent(programme)
    return x, programme


def with_untouched(listed: ParameterList, x: Floats, start: Floats) -> Floats:
    """Restore the exact values of the file where the fit changed nothing but rounding."""
    restored = x.copy()
    for first in listed.bodies:
        part = slice(first, first + 10)
        size = float(np.abs(listed.values[part]).max(initial=0.0))
        same = np.array_equal(start[part], listed.values[part])
        if same and float(np.abs(x[part] - start[part]).max()) < 1e-6 * size:
            restored[part] = listed.values[part]
    return restored


def interior_start(listed: ParameterList, values: Floats, spread: Floats) -> Floats:
    """Values near those of the file, strictly inside all constraints."""
    start = values.copy()
    masses = values[listed.bodies]
    mass = max(float(masses.mean()) if len(masses) else 1.0, 1e-3)
    for first in listed.bodies:
        start[first : first + 10] = prior_of(values[first : first + 10], mass, 0.1)
    for i in listed.of("damping", "armature", "friction"):
        start[i] = max(values[i], 1e-3 * spread[i])
    return start


def joint_spreads(design: DesignRows) -> Floats:
    """Weak priors (p,) of damping, armature, friction and offset: the size of the torques."""
    rows, listed = design.rows, design.listed
    tau = np.maximum(np.sqrt(np.mean(rows.tau**2, axis=0)), 1e-9)
    speed = np.maximum(np.sqrt(np.mean(rows.qd**2, axis=0)), 1e-3)
    change = np.maximum(np.sqrt(np.mean(rows.qdd**2, axis=0)), 1e-2)
    names = list(design.arm.joint_names)
    spread = np.full(len(listed.names), np.inf)
    size = {"damping": tau / speed, "armature": tau / change, "friction": tau, "offset": tau}
    for i, name in enumerate(listed.names):
        owner, _, kind = name.rpartition("/")
        if kind in size:
            spread[i] = size[kind][names.index(owner)] if owner in names else size[kind].max()
    return spread
