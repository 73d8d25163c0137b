"""Stages of an identification: friction, payload, links; each with the held-out rows as test.

Weights of joints are 1 / RMS of their residuals, and Huber weights limit the influence of single
rows; both follow from two rounds of plain least squares, together with the friction velocities.

The evidence of the fitted rows decides how much data and prior count.  Neighbouring rows have
similar errors: scores of blocks of time scatter φ times as much as for independent rows, so φ rows
count as one.  With G = WᵀW / φ and A = G + Λ, body i changes by d_i, and MacKay's update

    λ_i ← λ_i γ_i / (d_iᵀ Λ_i d_i)        γ_i = tr (A⁻¹ G)_ii, the number of determined parameters

maximizes the evidence of the data.  λ_i never exceeds the trust that the user sets.  The offsets of
all joints, relative to the torques, share one such weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robolin.analysis.identify.consistent_fit import (
    ConvexFit,
    prior_of,
    prior_weight,
    solve_consistent,
)
from robolin.analysis.identify.design_rows import (
    MOVING_SPEED,
    DesignRows,
    ParameterList,
    column_sizes,
)
from robolin.analysis.identify.deviations import (
    BlockSums,
    Prior,
    Uncertainty,
    score_inflation,
    uncertainty,
)
from robolin.analysis.identify.recording import ROBUST, SmoothRows
from robolin.core.arrays import Floats, Indices, Mask
from robolin.core.text import join_and

# held-out rows of a result
MOST_SHOWN = 20_000
# friction velocities that are tried
FRICTION_VELOCITIES = (0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005)
# part by which a smaller friction velocity must lower the squared residual to be chosen
_CLEARLY = 0.02
_FIRST_VELOCITY = 0.03
_HUBER = 1.345
_ROUNDS = 2
# residuals below this part of the torques are rounding
_EXACT = 1e-9
# part of the rows in each direction from which on a joint shows its friction velocity
_BOTH_WAYS = 0.01
# most updates of the evidence, and the relative change of all weights that ends them
_MOST_UPDATES, _SETTLED = 60, 1e-3
# λ of a body whose values in the file are wrong by 100 %
_CONTRADICTED = 1.0
# smallest factor of a weight in one update, and of the size of the offsets in all
_SMALLEST_STEP, _SMALLEST_OFFSET = 1e-3, 1e-3


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
    """Weights of rows from their residuals, by Huber.

    x: parameters (p,) of the residuals; v0: friction velocities (n,)
    sigma: RMS residual (n,); middle: median of absolute residuals (n,), infinite for equal weights
    """

    x: Floats
    v0: Floats
    sigma: Floats
    middle: Floats

    def weigh(self, columns: Floats, tau: Floats) -> Floats:
        """Weights (rows, n) of rows with these columns and torques."""
        return self.of(tau - columns @ self.x)

    def of(self, residual: Floats) -> Floats:
        """Weights (rows, n) of residuals (rows, n)."""
        share = np.minimum(1.0, _HUBER * self.middle / np.maximum(np.abs(residual), 1e-300))
        return np.asarray(np.sqrt(share) / self.sigma)


class HeldOut(NamedTuple):
    """Errors on held-out rows, and some of the rows, evenly spread.

    scores: of every set of parameters
    predicted: torques (rows, n) of every set
    """

    scores: list[Score]
    rows: SmoothRows
    predicted: list[Floats]


def scored(test: DesignRows, sets: Sequence[Floats], v0: Floats) -> HeldOut:
    """Errors of parameters (p,), in one pass over the rows."""
    n, stride, start = test.arm.n, max(1, -(-test.count // MOST_SHOWN)), 0
    left, size = np.zeros((len(sets), 2, n)), np.zeros((2, n))
    shown: list[list[Floats]] = [[] for _ in sets]
    for rows, columns in test.blocks(v0):
        masks = np.stack([np.abs(rows.qd) > MOVING_SPEED, np.ones_like(rows.qd, dtype=bool)])
        size += np.sum(np.where(masks, rows.tau, 0.0) ** 2, axis=1)
        for i, x in enumerate(sets):
            torques = columns @ x
            left[i] += np.sum(np.where(masks, rows.tau - torques, 0.0) ** 2, axis=1)
            shown[i].append(torques[-start % stride :: stride])
        start += len(rows.time)
    with np.errstate(all="ignore"):
        errors = np.sqrt(left / size)
    scores = [Score(moving, all_rows) for moving, all_rows in errors]
    return HeldOut(scores, test.spread(MOST_SHOWN), [np.concatenate(each) for each in shown])


def find_weights(
    design: DesignRows, velocities: Floats | None, base: Floats, *, robust: bool = True
) -> FitWeights:
    """Weights of rows and friction velocities, by rounds of least squares near `base` (p,).

    design: rows that fit into memory
    """
    n = design.arm.n
    rows = design.spread(design.count)
    v0 = np.full(n, _FIRST_VELOCITY) if velocities is None else velocities
    sigma = np.maximum(design.rms(design.sizes.tau), 1e-12)
    floor, equal = _EXACT * sigma, np.full(n, np.inf)
    weights = FitWeights(base, v0, sigma, equal)
    for _ in range(_ROUNDS):
        x = _plain(design, v0, weights, base)
        residual = rows.tau - design.predicted(x, v0)
        if velocities is None:
            x, v0, residual = _scan_velocities(design, rows, x, v0, residual)
        middle, kept = equal, residual
        if robust:
            middle = np.maximum(ROBUST * np.median(np.abs(residual), axis=0), floor)
            kept = np.minimum(np.abs(residual), _HUBER * middle)
        sigma = np.maximum(np.sqrt(np.mean(kept**2, axis=0)), floor)
        weights = FitWeights(x, v0, sigma, middle)
    return weights


def _plain(design: DesignRows, v0: Floats, weights: FitWeights, base: Floats) -> Floats:
    """Least squares with the smallest change of `base`, in units of the columns."""
    factor = design.compressed(v0, weights.weigh)
    R, z = factor[:-1, :-1], factor[:-1, -1]
    size = column_sizes(R)
    change = np.linalg.lstsq(R / size, z - R @ base, rcond=1e-6)[0]
    return np.asarray(base + change / size)


def _scan_velocities(
    design: DesignRows, rows: SmoothRows, x: Floats, v0: Floats, residual: Floats
) -> tuple[Floats, Floats, Floats]:
    """The friction velocity of every joint that leaves the smallest residual, and its friction."""
    velocities, best, fitted = v0.copy(), residual.copy(), x.copy()
    listed, n = design.listed, design.arm.n
    own = residual + x[listed.friction] * design.all_friction(v0)
    limit = 4.0 * ROBUST * np.median(np.abs(residual), axis=0) + 1e-300
    smallest = np.full(n, np.inf)
    damping = [listed.names.index(f"{name}/damping") for name in design.arm.joint_names]
    reversing = np.flatnonzero(moves_both_ways(rows.qd))
    for candidate in FRICTION_VELOCITIES:
        coulomb = design.all_friction(np.full(n, candidate))
        for j in reversing:
            v = rows.qd[:, j]
            columns = np.stack([coulomb[:, j], v, np.ones_like(v)], axis=1)
            change = np.linalg.lstsq(columns, own[:, j], rcond=None)[0]
            left = own[:, j] - columns @ change
            cost = float(np.sum(np.minimum(np.abs(left), limit[j]) ** 2))
            if cost < smallest[j] * (1.0 - _CLEARLY):
                smallest[j], velocities[j], best[:, j] = cost, candidate, left
                fitted[listed.friction.start + j] = change[0]
                fitted[damping[j]] = x[damping[j]] + change[1]
                fitted[listed.offsets.start + j] = x[listed.offsets.start + j] + change[2]
    return fitted, velocities, best


def moves_both_ways(qd: Floats) -> Mask:
    """Which joints (n,) move in both directions, so that friction is not an offset."""
    shares = [np.mean(way * qd > MOVING_SPEED, axis=0) for way in (1.0, -1.0)]
    return np.asarray(np.minimum(*shares) >= _BOTH_WAYS)


class FitRows(NamedTuple):
    """The weighted rows of a fit.

    factor: `DesignRows.compressed`
    sums: of blocks of time
    both_ways: which joints (n,) move in both directions
    """

    factor: Floats
    sums: BlockSums
    both_ways: Mask


class StageFit(NamedTuple):
    """Fitted parameters (p,), their deviations, and the weights of data and prior in words.

    contradicted: links whose values in the file the data contradict by more than 100 %
    """

    x: Floats
    known: Uncertainty
    weights: str
    contradicted: list[str]


def fit_stage(
    listed: ParameterList,
    rows: FitRows,
    start: Floats,
    free: Sequence[int],
    spread: Floats,
    trust: Floats,
    fixed: Mapping[str, float],
) -> StageFit:
    """Consistent fit of the free parameters; all others keep the values of `start` (p,).

    spread: (p,) standard deviations of the prior of parameters that are not inertial
    trust:  largest λ of every body in `listed.bodies`
    fixed:  values by the user
    """
    index, x = np.array(free, dtype=np.intp), start.copy()
    offsets = [i for i in listed.of("offset") if listed.names[i] not in fixed]
    shown = np.arange(listed.offsets.start, listed.offsets.stop)[rows.both_ways]
    initial = _stage_programme(listed, rows.factor, start, free, spread, trust)
    masks = np.isin(index, offsets), np.isin(index, np.intersect1d(offsets, shown))
    programme, inflation = _evidence(rows.sums, initial, start, index, masks)
    x[index] = solve_consistent(programme)
    x = with_untouched(listed, x, start)
    for name, value in fixed.items():
        x[listed.names.index(name)] = value
    bodies = [slice(first, first + 10) for first in programme.bodies]
    prior = Prior(prior_weight(programme), programme.start, bodies)
    names = [listed.names[index[first]].rpartition("/")[0] for first in programme.bodies]
    changes = [*zip(names, programme.trust, initial.trust, strict=True)]
    less = [name for name, now, before in changes if now < 0.5 * before]
    contradicted = [name for name, now, before in changes if now < _CONTRADICTED < before]
    words = "equal"
    if inflation >= 1.5:
        words = f"{round(inflation)} rows contain as much information as one independent row"
    words += f"; larger assumed errors of the file for {join_and(less)}" if less else ""
    known = uncertainty(rows.sums.divided(inflation), x, prior, index)
    return StageFit(x, known, words, contradicted)


def _evidence(
    sums: BlockSums,
    programme: ConvexFit,
    start: Floats,
    free: Indices,
    masks: tuple[Mask, Mask],
) -> tuple[ConvexFit, float]:
    """The programme with the weights that maximize the evidence without constraints, and φ.

    free:  indices of the parameters of the programme
    masks: which of them are offsets, and which of these the data separate from friction
    """
    grid, inflation, x = np.ix_(free, free), 1.0, start.copy()
    total = np.sum([block.square for block in sums.blocks], axis=0)[grid]
    pull = programme.factor.T @ (programme.target - programme.factor @ programme.start)
    trust, spread = programme.trust.copy(), programme.spread.copy()
    offsets, shown = masks
    widest = spread[offsets]
    for _ in range(_MOST_UPDATES):
        before = np.concatenate([trust, spread[offsets], [inflation]])
        weight = prior_weight(replace(programme, trust=trust, spread=spread))
        scale = 1.0 / np.sqrt(np.maximum(np.diag(total / inflation + weight), 1e-300))
        G, L = (scale[:, None] * each * scale for each in (total / inflation, weight))
        inverse = np.linalg.pinv(G + L, rcond=1e-13, hermitian=True)
        change = inverse @ (scale * pull / inflation)
        determined = np.sum(inverse * G, axis=1)
        x[free] = programme.start + scale * change
        for i, first in enumerate(programme.bodies):
            part = slice(first, first + 10)
            cost = float(change[part] @ L[part, part] @ change[part])
            step = max(float(determined[part].sum()), 1.0) / max(cost, 1e-300)
            trust[i] = min(trust[i] * max(step, _SMALLEST_STEP), programme.trust[i])
        if shown.any():
            square = np.sum((x[free][shown] / spread[shown]) ** 2)
            size = np.sqrt(square / max(float(determined[shown].sum()), 1.0))
            spread[offsets] = np.clip(spread[offsets] * size, _SMALLEST_OFFSET * widest, widest)
        inflation = score_inflation(sums, x, inflation * weight, free)
        now = np.concatenate([trust, spread[offsets], [inflation]])
        if np.allclose(now, before, rtol=_SETTLED, atol=0.0):
            break
    root = np.sqrt(inflation)
    rows = {"factor": programme.factor / root, "target": programme.target / root}
    return replace(programme, trust=trust, spread=spread, **rows), inflation


def _stage_programme(
    listed: ParameterList,
    factor: Floats,
    start: Floats,
    free: Sequence[int],
    spread: Floats,
    trust: Floats,
) -> ConvexFit:
    """The programme of a stage, with equal weights of all rows."""
    index = np.array(free)
    R, z = factor[:-1, :-1], factor[:-1, -1]
    chosen = set(free)
    bodies = [b for b in listed.bodies if b in chosen]
    free_index = {name: i for i, name in enumerate(free)}
    signed = [i for i in listed.of("damping", "armature", "friction") if i in chosen]
    fixed = start.copy()
    fixed[index] = 0.0
    return ConvexFit(
        factor=R[:, index],
        target=z - R @ fixed,
        start=start[index].copy(),
        bodies=[free_index[b] for b in bodies],
        trust=np.array([trust[listed.bodies.index(b)] for b in bodies]),
        positive=np.array([free_index[i] for i in signed], dtype=np.intp),
        spread=spread[index],
    )


def with_untouched(listed: ParameterList, x: Floats, start: Floats) -> Floats:
    """Restore the exact values in the file where the fit changed nothing but rounding."""
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
    sizes, listed = design.sizes, design.listed
    tau = np.maximum(design.rms(sizes.tau), 1e-9)
    speed = np.maximum(design.rms(sizes.qd), 1e-3)
    change = np.maximum(design.rms(sizes.qdd), 1e-2)
    names = list(design.arm.joint_names)
    spread = np.full(len(listed.names), np.inf)
    size = {"damping": tau / speed, "armature": tau / change, "friction": tau, "offset": tau}
    for i, name in enumerate(listed.names):
        owner, _, kind = name.rpartition("/")
        if kind in size:
            spread[i] = size[kind][names.index(owner)] if owner in names else size[kind].max()
    return spread
