"""Physically consistent least squares: a convex programme, solved by a barrier method.

    minimize   ½ |R x - z|² + ½ Σ_links λ |P₀^-½ (P(x) - P₀) P₀^-½|² + ½ Σ ((x - x₀) / spread)²
    subject to P(x) ≻ 0 for every link, and x ≥ 0 for damping, friction and armature

R and z are the triangular factor of the weighted regressor and of the torques.  P₀ is the
pseudo-inertia of the robot file.  Its measure does not depend on units or frames: λ = 100 means
that the file is trusted to 10 %.  Newton's method minimizes t f(x) - Σ log det P - Σ log x for
growing t, from the file's own values, which are strictly inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.analysis.identify.pseudo_inertia import BASIS, pseudo_inertia
from robolin.core.arrays import Floats, Integers
from robolin.errors import RobolinError

# the factor of t from one centre to the next, and the largest duality gap, in units of the cost:
# half a squared standard deviation
_GROWTH, _GAP = 20.0, 1e-7
_MOST_STEPS = 80
# half the squared Newton decrement at which a point is a centre
_CENTRED = 1e-6


@dataclass(frozen=True, eq=False)
class ConvexFit:
    """The data of one programme.

    factor:   R (p, p), upper triangular
    target:   z (p,)
    start:    x₀ (p,), strictly inside the constraints
    bodies:   index of the first of the ten parameters of every link that is fitted
    trust:    λ of every body
    positive: indices of the parameters that must be ≥ 0
    spread:   (p,) standard deviations of the prior of all other parameters, infinite for none
    """

    factor: Floats
    target: Floats
    start: Floats
    bodies: Sequence[int]
    trust: Floats
    positive: Integers
    spread: Floats


def solve_consistent(fit: ConvexFit) -> Floats:
    """The minimizer x (p,), with every body strictly possible."""
    rows = np.concatenate([fit.factor, root := _square_root(prior_weight(fit))])
    targets = np.concatenate([fit.target, root @ fit.start])
    # in units of the columns, and relative to the minimum without constraints: f = ½ |L y|²
    size = np.linalg.norm(rows, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    Q, L = np.linalg.qr(rows / size)
    best = np.linalg.lstsq(L, Q.T @ targets, rcond=1e-15)[0] / size
    L = L * size
    count = 4 * len(fit.bodies) + len(fit.positive)
    if not count:
        return np.asarray(best)
    x, scale = fit.start.copy(), 1.0
    t = count / max(_cost(L, x - best), _GAP)
    while True:
        x = _centre(fit, L, best, x, t)
        scale = max(_cost(L, x - best), 1.0)
        if count / t <= _GAP * scale:
            return x
        t *= _GROWTH


def _square_root(weight: Floats) -> Floats:
    """S with SᵀS = weight, for a positive semidefinite weight."""
    sizes, axes = np.linalg.eigh(weight)
    return np.asarray(np.sqrt(np.maximum(sizes, 0.0))[:, None] * axes.T)


def prior_weight(fit: ConvexFit) -> Floats:
    """Second derivative of the prior (p, p)."""
    weight = np.diag(1.0 / fit.spread**2)
    for first, trust in zip(fit.bodies, fit.trust, strict=True):
        part = slice(first, first + 10)
        inverse: Floats = np.linalg.inv(pseudo_inertia(fit.start[part])).astype(np.float64)
        weight[part, part] += trust * _metric(inverse)
    return weight


def _metric(inverse: Floats) -> Floats:
    """tr(P⁻¹ Eₐ P⁻¹ E_b) (..., 10, 10), the second derivative of -log det P."""
    turned = inverse[..., None, :, :] @ BASIS
    shape = (*inverse.shape[:-2], 10, 16)
    back = np.swapaxes(turned, -1, -2).reshape(shape)
    return np.asarray(turned.reshape(shape) @ np.swapaxes(back, -1, -2))


def _cost(L: Floats, y: Floats) -> float:
    image = L @ y
    return float(0.5 * image @ image)


def _places(fit: ConvexFit) -> Integers:
    """Indices (bodies, 10) of the parameters of all bodies."""
    return np.array(fit.bodies, dtype=np.intp)[:, None] + np.arange(10)


def _barrier(fit: ConvexFit, x: Floats) -> float:
    """-Σ log det P - Σ log x, infinite outside."""
    if (x[fit.positive] <= 0.0).any():
        return np.inf
    try:
        factors = np.linalg.cholesky(pseudo_inertia(x[_places(fit)]))
    except np.linalg.LinAlgError:
        return np.inf
    diagonals = np.diagonal(factors, axis1=-2, axis2=-1)
    return float(-np.sum(np.log(x[fit.positive])) - 2.0 * np.sum(np.log(diagonals)))


def _barrier_rows(fit: ConvexFit, x: Floats) -> tuple[Floats, Floats]:
    """B and c: the barrier has the slope -Bᵀc and the second derivative BᵀB at x."""
    places, n = _places(fit), len(fit.positive)
    rows = np.zeros((n + 10 * len(places), x.size))
    rows[np.arange(n), fit.positive] = 1.0 / x[fit.positive]
    inner = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(x[places])))[:, None]
    # for P = S Sᵀ, tr(P⁻¹ Eₐ P⁻¹ E_b) is the product of the symmetric S⁻¹ Eₐ S⁻ᵀ and S⁻¹ E_b S⁻ᵀ,
    # entry by entry: those above the diagonal count twice
    above, twice = np.triu_indices(4), np.sqrt(2.0 - np.eye(4))
    parts = (twice * (inner @ BASIS @ np.swapaxes(inner, -1, -2)))[..., above[0], above[1]]
    for i, (place, part) in enumerate(zip(places, parts, strict=True)):
        rows[n + 10 * i : n + 10 * (i + 1), place] = part.T
    return rows, np.concatenate([np.ones(n), np.tile(np.eye(4)[above], len(places))])


def _centre(fit: ConvexFit, L: Floats, best: Floats, x: Floats, t: float) -> Floats:
    """Minimize t f + barrier by Newton steps with backtracking, from x.

    A step is a least squares problem.  Its normal equations would lose twice as many digits, all
    of them for recordings without noise.
    """
    root, decrement = np.sqrt(t) * L, np.inf
    for _ in range(_MOST_STEPS):
        bent, pull = _barrier_rows(fit, x)
        rows = np.concatenate([root, bent])
        scale = 1.0 / np.linalg.norm(rows, axis=0)
        target = np.concatenate([root @ (best - x), pull])
        R = np.asarray(np.linalg.qr(np.column_stack([rows * scale, target]), mode="r"))
        image = R[: x.size, -1]
        step = scale * np.linalg.solve(R[: x.size, :-1], image)
        decrement = float(image @ image)
        if decrement < 2.0 * _CENTRED:
            return x
        length, value = 1.0, t * _cost(L, x - best) + _barrier(fit, x)
        while not (
            t * _cost(L, x + length * step - best) + _barrier(fit, x + length * step)
            <= value - 0.1 * length * decrement + 1e-13 * abs(value)
        ):
            length *= 0.5
            if length < 1e-9:
                # rounding hides further progress
                return x
        x = x + length * step
    if decrement > 1.0:
        raise RobolinError("the physically consistent fit did not converge")
    return x
