"""Backward pass of the acceleration form, in NumPy: the reference of the compiled one.

Knots are an exact double integrator with the accelerations a as inputs, and the torques
τ = ID(q, v, a) are residuals of the cost:

    v(k+1) = v(k) + dt a(k),   q(k+1) = q(k) + dt v(k+1)
    δτ = M δa + Jq δq + Jv δv

A change of a acts like a change of v times dt.  With E the state matrix and S = Eᵀ P(k+1) E, the
quadratic model of the cost in (δa, δq, δv) therefore needs only additions besides JᵀhJ:

    W = [dt² Svv, dt Svq, dt Svv; ·, Sqq, Sqv; ·, ·, Svv] + [M Jq Jv]ᵀ h [M Jq Jv] + diag(0, hq, hv)

Eliminating the rows of δa leaves P(k) and p(k); their solution is δa = -(k + K δx).
Sums run in the order of the indices, without LAPACK: compiled code gives the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robolin.core.arrays import Floats


class StageCost(NamedTuple):
    """Terms ½ w (y - r)² + ½ ρ e² of y = (q, v, τ) at all knots, each array (knots, 3, n).

    e = y + u - clamp(y + u, lower, upper) with the scaled multiplier u: the augmented Lagrangian
    of lower ≤ y ≤ upper.  The last knot has no torque: its weights are 0 and limits infinite.
    """

    weight: Floats
    reference: Floats
    lower: Floats
    upper: Floats
    multiplier: Floats
    penalty: Floats


class Gains(NamedTuple):
    """δa = -(k + K δx) and the cost-to-go ½ δxᵀ P δx + pᵀ δx of every knot.

    decrease: kᵀ ∂cost/∂a summed over the knots: twice the cost that a full step saves
    """

    k: Floats
    K: Floats
    P: Floats
    p: Floats
    decrease: float


class NotPositive(ArithmeticError):
    """The model of the cost at a knot has no minimum in the accelerations."""


def stage_terms(cost: StageCost, y: Floats) -> tuple[Floats, Floats]:
    """Gradient and diagonal Hessian of the terms by y, each (knots, 3, n).

    A limit acts outside; an equation lower = upper always, also where it holds exactly.
    """
    shifted = y + cost.multiplier
    e = shifted - np.minimum(np.maximum(shifted, cost.lower), cost.upper)
    gradient = cost.weight * (y - cost.reference) + cost.penalty * e
    acts = (e != 0.0) | (cost.lower == cost.upper)
    return gradient, cost.weight + np.where(acts, cost.penalty, 0.0)


def stage_cost(cost: StageCost, y: Floats) -> float:
    """Sum of all terms: over the knots first, then over quantities and joints."""
    shifted = y + cost.multiplier
    e = shifted - np.minimum(np.maximum(shifted, cost.lower), cost.upper)
    r = y - cost.reference
    terms = cost.weight * (r * r) + cost.penalty * (e * e)
    per_joint = np.zeros(y.shape[1:])
    for knot in terms:
        per_joint += knot
    total = 0.0
    for value in per_joint.ravel().tolist():
        total += value
    return 0.5 * total


def backward_pass(
    dt: float,
    y: Floats,
    jacobians: tuple[Floats, Floats, Floats],
    cost: StageCost,
    terminal: tuple[Floats, Floats],
    damping: float = 0.0,
) -> Gains:
    """Gains of all knots, from the last to the first.

    Args:
        dt: time between knots in s
        y: q, v and τ of the knots (N + 1, 3, n)
        jacobians: ∂τ/∂a, ∂τ/∂q and ∂τ/∂v of the knots, each (N, n, n)
        cost: terms of the knots
        terminal: further Hessian (2n, 2n) and gradient (2n,) at the last knot
        damping: added to the diagonal of the Hessian by the accelerations
    """
    M, Jq, Jv = jacobians
    N, n = len(M), M.shape[-1]
    gradient, hessian = stage_terms(cost, y)
    P, p = np.zeros((N + 1, 2 * n, 2 * n)), np.zeros((N + 1, 2 * n))
    K, k = np.zeros((N, n, 2 * n)), np.zeros((N, n))
    joint = np.arange(2 * n)
    P[N] = terminal[0]
    P[N][joint, joint] += hessian[N, :2].ravel()
    p[N] = terminal[1] + gradient[N, :2].ravel()
    decrease = 0.0
    for knot in reversed(range(N)):
        W = propagated(dt, P[knot + 1], p[knot + 1])
        J = np.concatenate([M[knot], Jq[knot], Jv[knot]], axis=1)
        scaled = np.concatenate([hessian[knot, 2][:, None] * J, gradient[knot, 2][:, None]], axis=1)
        diagonal = np.arange(n)
        W[diagonal, diagonal] += damping
        for i, group in ((1, slice(n, 2 * n)), (2, slice(2 * n, 3 * n))):
            rows = np.arange(3 * n)[group]
            W[rows, rows] += hessian[knot, i - 1]
            W[rows, -1] += gradient[knot, i - 1]
        for i in range(n):
            W += J[i][:, None] * scaled[i][None, :]
        saved = W[:n, -1].copy()
        k[knot], K[knot] = eliminate_inputs(W, n)
        for i in range(n):
            decrease += k[knot, i] * saved[i]
        upper = np.triu(W[n:, n:-1])
        P[knot] = upper + np.triu(upper, 1).T
        p[knot] = W[n:, -1]
    return Gains(k, K, P, p, decrease)


def propagated(dt: float, P: Floats, p: Floats) -> Floats:
    """Cost-to-go of the next knot as a function of (δa, δq, δv): (3n, 3n + 1) with the gradient."""
    n = len(p) // 2
    q, v = slice(0, n), slice(n, 2 * n)
    a_, q_, v_ = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
    Svq = dt * P[q, q] + P[v, q]
    Sqv = dt * P[q, q] + P[q, v]
    Svv = dt * Sqv + (dt * P[v, q] + P[v, v])
    sv = dt * p[q] + p[v]
    W = np.zeros((3 * n, 3 * n + 1))
    W[a_, a_], W[a_, q_], W[a_, v_], W[a_, -1] = dt * dt * Svv, dt * Svq, dt * Svv, dt * sv
    W[q_, q_], W[q_, v_], W[q_, -1] = P[q, q], Sqv, p[q]
    W[v_, v_], W[v_, -1] = Svv, sv
    return W


def eliminate_inputs(W: Floats, n: int) -> tuple[Floats, Floats]:
    """Eliminate the first n rows of the upper triangle W (m, m + 1) in place; return k and K.

    Rows from n on become the Schur complement; k (n,) and K (n, m - n) solve the first n rows.
    """
    inverse = np.zeros(n)
    for i in range(n):
        if not W[i, i] > 0.0:
            raise NotPositive
        inverse[i] = 1.0 / W[i, i]
        ratio = W[i, i + 1 : -1] * inverse[i]
        W[i + 1 :, i + 1 :] -= ratio[:, None] * W[i, i + 1 :][None, :]
    X = np.zeros((n, W.shape[1] - n))
    for i in reversed(range(n)):
        row = W[i, n:].copy()
        for j in range(i + 1, n):
            row -= W[i, j] * X[j]
        X[i] = row * inverse[i]
    return X[:, -1], X[:, :-1]


def step_of(dt: float, gains: Gains) -> Floats:
    """Full step (N + 1, 3, n) of q, v and a; the double integrator scales it exactly."""
    N, n = gains.k.shape
    step = np.zeros((N + 1, 3, n))
    for knot in range(N):
        dx = step[knot, :2].ravel()
        da = -gains.k[knot]
        for j in range(2 * n):
            da = da - gains.K[knot, :, j] * dx[j]
        step[knot, 2] = da
        step[knot + 1, 1] = step[knot, 1] + dt * da
        step[knot + 1, 0] = step[knot, 0] + dt * step[knot + 1, 1]
    return step
