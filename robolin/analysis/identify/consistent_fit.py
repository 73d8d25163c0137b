"""Physically consistent least squares: a convex programme, solved by a barrier method.

    minimize   ½ |R x - z|² + ½ Σ_links λ |P₀^-½ (P(x) - P₀) P₀^-½|² + ½ Σ ((x - x₀) / spread)²
    subject to P(x) ≻ 0 for every link, and x ≥ 0 for damping, friction and armature

R and z are the triangular factor of the weighted regressor and of the torques.  P₀ is the
pseudo-inertia of the robot file.  Its measure does not depend on units or frames: λ = 100 means
that the file is trusted to 10 %.  Newton's method minimizes t f(x) - Σ log det P - Σ log x for
growing t, from the file's own values, which are strictly inside.

Pseudo-inertias: the 4x4 matrices that are positive definite if and only if a body can exist.

    P(π) = [ ½ tr(J) 1 - J    s ]         J  inertia about the origin of the link frame
           [ sᵀ               m ]         s  first moment m c

P is linear in the ten parameters π = (m, s, J), so physical consistency is a convex constraint.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robolin.core.arrays import Floats, Integers
from robolin.core.records import dataclass
from robolin.errors import RobolinError

_ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _basis() -> Floats:
    """∂P/∂π of shape (10, 4, 4)."""
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for i in range(3):
        basis[1 + i, i, 3] = basis[1 + i, 3, i] = 1.0
    for k, (a, b) in enumerate(_ENTRIES, start=4):
        if a == b:
            basis[k, :3, :3] = 0.5 * np.eye(3)
            basis[k, a, a] -= 1.0
        else:
            basis[k, a, b] = basis[k, b, a] = -1.0
    return basis


BASIS = _basis()
BASIS.flags.writeable = False


def pseudo_inertia(values: Floats) -> Floats:
    """P (..., 4, 4) of parameters (..., 10)."""
    return np.asarray(np.einsum("...k,kij->...ij", values, BASIS))


def is_possible(values: Floats) -> bool:
    """Return whether a body with these ten parameters can exist, with a mass at every point ≥ 0.

    Bodies without extent, such as point masses and rods, are possible: a limit of others.
    """
    P = pseudo_inertia(values)
    size = np.sqrt(np.maximum(np.diag(P), 0.0))
    # relative to its own size, so that units do not matter
    scaled = P / np.where(size > 0.0, size, 1.0)[:, None] / np.where(size > 0.0, size, 1.0)
    return bool(np.linalg.eigvalsh(scaled).min() >= -1e-9)


def prior_of(values: Floats, mass: float, length: float) -> Floats:
    """A body near the given one that is strictly possible, for use as a prior (10,).

    A body without extent or mass gets a little of both: 0.1 % of `mass` spread over `length`.
    """
    P = pseudo_inertia(values)
    scale = np.diag([length, length, length, 1.0]) * np.sqrt(mass)
    inverse = np.linalg.inv(scale)
    sizes, axes = np.linalg.eigh(inverse @ P @ inverse)
    if sizes.min() >= 1e-6:
        return np.array(values)
    lifted = scale @ (axes * np.maximum(sizes, 1e-3)) @ axes.T @ scale
    return linear_from_pseudo(lifted)


def linear_from_pseudo(P: Floats) -> Floats:
    """The ten parameters (..., 10) of pseudo-inertias (..., 4, 4)."""
    S = P[..., :3, :3]
    trace = np.trace(S, axis1=-2, axis2=-1)
    J = trace[..., None, None] * np.eye(3) - S
    entries = [J[..., a, b] for a, b in _ENTRIES]
    return np.stack([P[..., 3, 3], *(P[..., i, 3] for i in range(3)), *entries], axis=-1)


def ball_parameters(mass: float, radius: float, centre: Floats) -> Floats:
    """Ten parameters of a ball."""
    x, y, z = centre
    own = 0.4 * mass * radius**2
    return np.array(
        [
            *(mass, mass * x, mass * y, mass * z),
            *(own + mass * (y * y + z * z), -mass * x * y, -mass * x * z),
            *(own + mass * (x * x + z * z), -mass * y * z, own + mass * (x * x + y * y)),
        ]
    )


# the factor of t from one centre to the next, and the largest duality gap as part of the cost,
# whose unit is half a squared standard deviation
_GROWTH, _GAP = 20.0, 1e-12
# the gap that suffices where rounding prevents a smaller one
_LARGEST_GAP = 1e-7
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
    before, t = x, count / max(_cost(L, x - best), _GAP)
    while True:
        # along the path, x is almost linear in 1/t
        ahead = x + (x - before) / _GROWTH
        inside = (ahead[fit.positive] > 0.0).all() and _is_inside(ahead, _places(fit))
        try:
            centre = _centre(fit, L, best, ahead if inside else x, t)
        except np.linalg.LinAlgError:
            centre = None
        if centre is None:
            # rounding ends the path near the boundary; the last centre may suffice
            if _GROWTH * count / t <= _LARGEST_GAP * scale:
                return x
            raise RobolinError("the fit with physically consistent parameters did not converge")
        before, x, scale = x, centre, max(_cost(L, centre - best), 1.0)
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


def _centre(fit: ConvexFit, L: Floats, best: Floats, x: Floats, t: float) -> Floats | None:
    """Minimize t f + barrier by Newton steps with backtracking, from x; None without convergence.

    Changes along a step are computed from the step itself: differences of values would lose the
    digits that count near the minimum.
    """
    places, root = _places(fit), np.sqrt(t)
    decrement = np.inf
    for _ in range(_MOST_STEPS):
        image, rates = L @ (x - best), x[fit.positive]
        # a least-squares problem: normal equations would lose the digits of directions that the
        # data determine poorly
        rows = np.vstack([root * L, *_barrier_rows(fit, x, places)])
        ones = np.tile(np.eye(4).ravel(), len(places))
        targets = np.concatenate([-root * image, ones, np.ones(len(rates))])
        size = np.linalg.norm(rows, axis=0)
        joined = np.column_stack([rows / size, targets])
        factor = np.asarray(np.linalg.qr(joined, mode="r"))
        step = np.linalg.solve(factor[: len(x), : len(x)], factor[: len(x), -1]) / size
        slope = -rows.T @ targets
        decrement = float(-slope @ step)
        if decrement < 2.0 * _CENTRED:
            return x
        moved = L @ step
        linear, square = t * float(moved @ image), t * float(moved @ moved)
        changes = np.concatenate([_relative_changes(x, step, places), step[fit.positive] / rates])
        length = min(1.0, 0.99 / max(-float(changes.min(initial=0.0)), 1e-300))
        while not _is_inside(x + length * step, places) or (
            length * linear + 0.5 * length**2 * square - float(np.log1p(length * changes).sum())
            > -0.1 * length * decrement
        ):
            length *= 0.5
            if length < 1e-9:
                # rounding hides further progress
                return x
        x = x + length * step
    return x if decrement <= 1.0 else None


def _barrier_rows(fit: ConvexFit, x: Floats, places: Integers) -> tuple[Floats, Floats]:
    """Rows B with BᵀB the second derivative of the barriers: of all bodies, and of the signs."""
    C = np.linalg.cholesky(pseudo_inertia(x[places]))
    half = np.linalg.solve(C[:, None], BASIS)
    scaled = np.swapaxes(np.linalg.solve(C[:, None], np.swapaxes(half, -1, -2)), -1, -2)
    bodies = np.zeros((len(places), 16, len(x)))
    for rows, part, values in zip(bodies, places, scaled, strict=True):
        rows[:, part] = values.reshape(10, 16).T
    signs = np.zeros((len(fit.positive), len(x)))
    signs[np.arange(len(fit.positive)), fit.positive] = 1.0 / x[fit.positive]
    return bodies.reshape(-1, len(x)), signs


def _is_inside(x: Floats, places: Integers) -> bool:
    """Return whether all bodies are positive definite in floating-point numbers as well."""
    P = pseudo_inertia(x[places])
    try:
        pivots = np.diagonal(np.linalg.cholesky(P), axis1=-2, axis2=-1) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((pivots > 1e-14 * np.diagonal(P, axis1=-2, axis2=-1)).all())


def _relative_changes(x: Floats, step: Floats, places: Integers) -> Floats:
    """Eigenvalues of C⁻¹ P(step) C⁻ᵀ of all bodies, where C Cᵀ = P(x).

    With a step of length l, log det P grows by Σ log(1 + l μ), and P stays positive if all
    1 + l μ do.
    """
    C = np.linalg.cholesky(pseudo_inertia(x[places]))
    half = np.linalg.solve(C, pseudo_inertia(step[places]))
    scaled = np.linalg.solve(C, np.swapaxes(half, -1, -2))
    return np.asarray(np.linalg.eigvalsh(0.5 * (scaled + np.swapaxes(scaled, -1, -2))).ravel())
