"""Riccati equations of many models by structured doubling, with the same bits as one by one.

Doubling (Chu, Fan and Lin) squares the error of every model in every step, and Newton–Kleinman
steps on the equation of the remaining error bring it to round-off.  SciPy solves the models for
which doubling does not converge, or converges to the smallest solution instead of the stabilizing
one: they differ if an unstable mode has no weight.  The equations are in `riccati`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robolin.control.riccati import (
    DOUBLINGS,
    REFINEMENT_STEPS,
    Weights,
    doubled_sum,
    gains_of,
    largest_entry,
    require_scipy,
    riccati,
)
from robolin.core.arrays import Floats


class Solutions(NamedTuple):
    """K (rows, m, N), P (rows, N, N), and the residual (rows,) relative to the largest term."""

    K: Floats
    P: Floats
    residual: Floats


# largest residual of a solution by doubling; SciPy solves the other models
_DOUBLED = 1e-12


def solve_riccati(A: Floats, B: Floats, weights: Sequence[Weights], discrete: bool) -> Solutions:
    """Solutions of many models (rows, ...); K = 0 and an infinite residual where there is none."""
    require_scipy("linalg", "a Riccati equation")
    stacked = Weights(*(np.stack(parts) for parts in zip(*weights, strict=True)))
    K, P, residual = _by_doubling(A, B, stacked, discrete)
    solved = residual <= _DOUBLED
    solved[solved] = _stable(A[solved] - B[solved] @ K[solved], discrete)
    for i in np.flatnonzero(~solved).tolist():
        try:
            K[i], P[i], residual[i] = riccati(A[i], B[i], weights[i], discrete)
        except np.linalg.LinAlgError:
            K[i], P[i], residual[i] = 0.0, 0.0, np.inf
    return Solutions(K, P, residual)


def _stable(F: Floats, discrete: bool) -> NDArray[np.bool_]:
    """True (rows,) where all poles of a closed loop are strictly stable."""
    poles = np.linalg.eigvals(F)
    size = np.abs(poles) - 1.0 if discrete else poles.real
    return np.asarray(size.max(axis=-1) < 0.0)


def _by_doubling(A: Floats, B: Floats, weights: Weights, discrete: bool) -> Solutions:
    try:
        with np.errstate(all="ignore"):
            return _refined(A, B, weights, _doubled(A, B, weights, discrete), discrete)
    except np.linalg.LinAlgError:
        if len(A) == 1:
            K, P = np.zeros((1, *B.shape[:0:-1])), np.zeros(A.shape)
            return Solutions(K, P, np.full(1, np.inf))
    # one singular matrix stops all models, so solve them one by one
    models = [slice(i, i + 1) for i in range(len(A))]
    each = [_by_doubling(A[i], B[i], Weights(*(x[i] for x in weights)), discrete) for i in models]
    return Solutions(*(np.concatenate(parts) for parts in zip(*each, strict=True)))


def _doubled(A: Floats, B: Floats, weights: Weights, discrete: bool) -> Floats:
    """P of every model: H of the doubled pencil with A, G and H after 2ᵏ steps."""
    Q, R, N = weights
    size, one = A.shape[-1], np.eye(A.shape[-1])
    # remove the cross weights
    divided = np.linalg.solve(R, np.concatenate([_transposed(B), _transposed(N)], axis=-1))
    A = A - B @ divided[..., size:]
    G, H = _symmetric(B @ divided[..., :size]), _symmetric(Q - N @ divided[..., size:])
    if not discrete:
        A, G, H = _cayley(A, G, H)
    active = np.ones(len(A), dtype=bool)
    for _ in range(DOUBLINGS):
        both = np.linalg.solve(one + G @ H, np.concatenate([A, G], axis=-1))
        after, inner = both[..., :size], both[..., size:]
        more = _symmetric(_transposed(A) @ (H @ after))
        G = G + _symmetric(A @ inner @ _transposed(A))
        A = A @ after
        H = np.where(active[:, None, None], H + more, H)
        # a model that is not finite has no solution and is not waited for
        active &= largest_entry(more) > 1e-16 * largest_entry(H)
        if not active.any():
            break
    return H


def _cayley(A: Floats, G: Floats, H: Floats) -> tuple[Floats, Floats, Floats]:
    """Discrete pencil with the same solution; its shift is the mean magnitude of the poles."""
    N, one = A.shape[-1], np.eye(A.shape[-1])
    top, bottom = np.concatenate([A, -G], axis=-1), np.concatenate([-H, -_transposed(A)], axis=-1)
    magnitude = np.linalg.slogdet(np.concatenate([top, bottom], axis=-2))[1] / (2 * N)
    shift = np.exp(magnitude)[:, None, None]
    inverse = np.linalg.inv(A - shift * one)
    G_left = inverse @ G
    W = np.linalg.inv(A - shift * one + _transposed(H @ G_left))
    G = _symmetric(2.0 * shift * G_left @ _transposed(W))
    H = _symmetric(2.0 * shift * _transposed(W) @ H @ inverse)
    return one + 2.0 * shift * W, G, H


# a residual of this many round-off errors per state is not refined
_ROUNDINGS = 2.0


def _refined(A: Floats, B: Floats, weights: Weights, P: Floats, discrete: bool) -> Solutions:
    """Newton–Kleinman steps on the equation of the error, as long as a residual decreases."""
    best, left = _solutions(A, B, weights, P, discrete)
    exact = _ROUNDINGS * A.shape[-1] * np.finfo(float).eps
    rows = np.flatnonzero(best.residual > exact)
    for _ in range(REFINEMENT_STEPS):
        if not len(rows):
            break
        own, some = Weights(*(x[rows] for x in weights)), (A[rows], B[rows])
        error = _error_of_lyapunov(some[0] - some[1] @ best.K[rows], left[rows], discrete)
        better, rest = _solutions(*some, own, best.P[rows] + error, discrete)
        improved = better.residual < best.residual[rows]
        rows = rows[improved]
        left[rows] = rest[improved]
        for old, new in zip(best, better, strict=True):
            old[rows] = new[improved]
        rows = rows[best.residual[rows] > exact]
    return best._replace(residual=np.nan_to_num(best.residual, nan=np.inf))


def _solutions(
    A: Floats, B: Floats, weights: Weights, P: Floats, discrete: bool
) -> tuple[Solutions, Floats]:
    """K, P and relative residuals, and what is left of the equation."""
    K, residual, left = gains_of(A, B, weights, P, discrete)
    return Solutions(K, P, residual), left


# digits of a correction: it is small, and another one follows
_CORRECTION = 1e-3


def _error_of_lyapunov(F: Floats, W: Floats, discrete: bool) -> Floats:
    """X of Fᵀ X + X F + W = 0, or Fᵀ X F - X + W = 0, to a few digits."""
    power, X, one = F, W, np.eye(F.shape[-1])
    if not discrete:
        shift = np.exp(np.linalg.slogdet(F)[1] / F.shape[-1])[:, None, None]
        inverse = np.linalg.inv(F - shift * one)
        power, X = one + 2.0 * shift * inverse, 2.0 * shift * _transposed(inverse) @ W @ inverse
    return _symmetric(doubled_sum(power, X, _CORRECTION)[0])


def _transposed(X: Floats) -> Floats:
    return np.swapaxes(X, -1, -2)


def _symmetric(X: Floats) -> Floats:
    symmetric: Floats = 0.5 * (X + np.swapaxes(X, -1, -2))
    return symmetric
