"""A base that moves, section VIII of Rodriguez and Kreutz-Delgado [F], equations 74 to 79."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Wrench
from tests.dynamics.world import STEP, bodies, placed
from tests.operator_algebra.subjects import apart
from tests.robots import TOOL, arm_name, grouped_arm, random_states

# sums of a few hundred products; what divides by 𝓜 loses the digits of its condition, up to 1e3
EXACT = 1e-12

every = pytest.mark.parametrize(
    "arm",
    [
        grouped_arm(1, ("floating", "revolute", "revolute", "prismatic")),
        grouped_arm(2, ("floating", "revolute", "revolute", "revolute", "revolute")),
    ],
    ids=arm_name,
)


def base(arm: Arm) -> list[int]:
    """Where the spin and the velocity of the base stand in public order: rx ry rz x y z."""
    at = arm.coordinate_indices(arm.groups[0])
    return [at[part] for part in ("rx", "ry", "rz", "x", "y", "z")]


@every
def test_F_eq_74_to_77(arm: Arm) -> None:
    """H(N+1) is the identity: T(N+1) is all of f(N+1), the rate of the arm's momentum.

    Newton and Euler for the whole arm about the base's origin, in the base's axes, with the base
    held at rest while the hinges move.
    """
    s = random_states(arm, 3)
    at = base(arm)
    qd = s.qd.copy()
    qd[:, at] = 0.0
    for q, rate, speed in zip(s.q, qd, s.qdd, strict=True):
        still = speed.copy()
        still[at] = 0.0
        tau = robolin.inverse(arm, q, rate, still)[at]
        R, true = _momentum_rate(arm, q, rate, still)
        assert apart(tau, np.concatenate([R.T @ true[:3], R.T @ true[3:]])) <= EXACT


def _momentum_rate(arm: Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray):
    """Axes of the base, and the wrench about it that bodies' accelerations and weight call for.

    ċ and Ṙ of all bodies are complex steps; the rate of momentum made of them is a difference of
    eighth order over steps of 0.01, which errs by 1e-16 of the ninth derivative.
    """
    masses, centres, rotary = bodies(arm)
    body = arm.groups[0].body

    def moving(t: float):
        here, there = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
        at = placed(arm, here + 1j * STEP * there)
        c = at.p + (at.R @ centres[..., None])[..., 0]
        spin = (at.R.imag / STEP) @ np.swapaxes(at.R.real, -1, -2)
        w = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
        inertia = at.R.real @ rotary @ np.swapaxes(at.R.real, -1, -2)
        push = masses[:, None] * (c.imag / STEP)
        turn = np.einsum("kij,kj->ki", inertia, w) + np.cross(c.real - p, push)
        return np.concatenate([turn.sum(0), push.sum(0)])

    at = placed(arm, q)
    R, p = at.R[body - 1], at.p[body - 1]
    c = at.p + (at.R @ centres[..., None])[..., 0]
    h = 1e-2
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    rate = sum(x * (moving(i * h) - moving(-i * h)) for i, x in weights.items()) / h
    weight = masses[:, None] * np.array(arm.gravity)
    load = np.concatenate([np.cross(c - p, weight).sum(0), weight.sum(0)])
    return R, rate - load


@every
def test_F_eq_78_and_79(arm: Arm) -> None:
    """T = 𝓜Ẇ + C + J*f(0), and Ẇ = 𝓜⁻¹[T - C - J*f(0)] by every way of forward dynamics."""
    s = random_states(arm, 4)
    tip = np.random.default_rng(arm.n).normal(size=6) * 3.0
    pulled = Wrench(TOOL, "dead", tuple((-tip[3:]).tolist()), tuple((-tip[:3]).tolist()))
    loaded = replace(arm, wrenches=(pulled,))
    J = robolin.jacobian(arm, s.q, frame=TOOL).jacobian
    C = robolin.inverse(arm, s.q, s.qd)
    M = robolin.mass_matrix(arm, s.q)
    T = np.einsum("bij,bj->bi", M, s.qdd) + C + np.einsum("bij,i->bj", J, tip)

    assert apart(robolin.inverse(loaded, s.q, s.qd, s.qdd), T) <= EXACT
    condition = float(np.linalg.cond(M).max())
    for way in ("a", "b", "c", "d", "conventional"):
        qdd = robolin.forward(loaded, s.q, s.qd, T, method=way)
        assert apart(qdd, s.qdd) <= 10.0 * (EXACT + 1e-15 * condition), way
