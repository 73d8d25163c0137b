"""Linear models of arms with closed loops, against energies of few coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from tests.evaluation.loops.reduced import FIVE_BAR, FOUR_BAR, Linkage, reduced, reduced_change

# the coordinates of the energy models among robolin's joints
CASES = [("four-bar", FOUR_BAR, (0,), [0.4]), ("five-bar", FIVE_BAR, (0, 2), [0.3, -0.2])]
each = pytest.mark.parametrize("name, linkage, free, theta", CASES, ids=[c[0] for c in CASES])


@each
def test_poles_are_those_of_the_energies(
    name: str, linkage: Linkage, free: tuple[int, ...], theta: list[float]
) -> None:
    """At rest, poles of the projected model are those of Lagrange's equation in θ."""
    arm = robolin.load(name)
    rest = [0.0] * len(theta)
    q = reduced(linkage, theta, rest, [0.0] * arm.n).q
    passive = [joint for i, joint in enumerate(arm.joint_names) if i not in free]
    model = robolin.state_space(arm, q, passive=passive)

    d, tau = len(theta), model.tau
    units = np.eye(d).tolist()
    along = [reduced_change(linkage, theta, rest, tau, (unit, rest)) for unit in units]
    stiffness = np.stack([change.qdd[list(free)] for change in along], axis=1)
    true = np.linalg.eigvals(
        np.block([[np.zeros((d, d)), np.eye(d)], [stiffness, 0.0 * stiffness]])
    )

    poles = model.poles().values
    true = true[np.lexsort((true.imag, true.real, np.abs(true)))]
    # the squares of poles are entries of the model, known to rounding
    assert np.abs(poles**2 - true**2).max() <= 1e-10 * np.abs(true**2).max()


@each
def test_poles_along_a_motion_are_those_of_its_rows(
    name: str, linkage: Linkage, free: tuple[int, ...], theta: list[float]
) -> None:
    """Models of many states have the poles and mode shapes that each of them has alone."""
    arm = robolin.load(name)
    rest = [0.0] * len(theta)
    still = [0.0] * arm.n
    near = [[k * x for x in theta] for k in (1.0, 0.9, 0.7)]
    q = np.stack([reduced(linkage, each, rest, still).q for each in near])
    poles = robolin.state_space(arm, q).poles()
    for i, row in enumerate(q):
        alone = robolin.state_space(arm, row).poles()
        # the same LAPACK on the same matrices, one by one or in a row
        assert np.allclose(poles.values[i], alone.values, rtol=1e-12, atol=0.0)
        assert np.allclose(poles.shapes[i], alone.shapes, rtol=1e-10, atol=1e-12)


@each
def test_models_of_moving_loops_are_differences(
    name: str, linkage: Linkage, free: tuple[int, ...], theta: list[float]
) -> None:
    """While the linkage moves, A holds for the coordinates z = Nᵀ(q - q₀) it is written in."""
    arm = robolin.load(name)
    rng = np.random.default_rng(4)
    point = reduced(linkage, theta, rng.normal(size=len(theta)), [0.0] * arm.n)
    tau = rng.normal(size=arm.n)
    model = robolin.state_space(arm, point.q, point.qd, tau=tau)
    N = model.basis
    assert N is not None
    h, d = 1e-5, N.shape[1]

    def rates(z: np.ndarray, zd: np.ndarray) -> np.ndarray:
        """ż and z̈ at the state with these coordinates."""
        q = robolin.close(arm, point.q + N @ z).q
        for _ in range(3):
            q = robolin.close(arm, q + N @ (z - N.T @ (q - point.q))).q
        L = robolin.loop_constraints(arm, q).jacobian
        stacked = np.concatenate([N.T, L])
        speed = np.concatenate([N.T @ point.qd + zd, np.zeros(len(L))])
        qd = np.linalg.lstsq(stacked, speed, rcond=None)[0]
        return np.concatenate([N.T @ qd, N.T @ robolin.forward(arm, q, qd, tau)])

    zero = np.zeros(d)
    steps = [(h * unit, zero) for unit in np.eye(d)] + [(zero, h * unit) for unit in np.eye(d)]
    A = np.stack([(rates(*x) - rates(*(-each for each in x))) / (2.0 * h) for x in steps], axis=1)
    # central differences: h² of the third derivative, and rounding over h
    assert np.abs(A - model.A).max() <= 1e-7 * np.abs(A).max()
    assert np.allclose(model.drift, rates(zero, zero), rtol=1e-9, atol=1e-9)


def test_closed_loops_need_one_motor_per_free_motion() -> None:
    """A motor at the crank holds a four-bar; two free motions need two motors."""
    four = robolin.load("four-bar")
    q = robolin.close(four, [0.5, 0.0, 0.0], hold="drive").q
    model = robolin.state_space(four, q, actuated="drive")
    assert model.states == ("motion1/position", "motion1/velocity")
    assert np.abs(model.qdd).max() < 1e-12
    assert not model.tau[1:].any()

    five = robolin.load("five-bar")
    q = robolin.close(five, [0.3, 0.0, -0.2, 0.0], hold=["left_shoulder", "right_shoulder"]).q
    with pytest.raises(robolin.RobolinError, match="is passive, but equilibrium requires"):
        robolin.state_space(five, q, actuated="left_shoulder")


@pytest.mark.slow
def test_the_cost_of_a_regulated_linkage_equals_its_prediction() -> None:
    """The five-bar on one motor is stabilized, its cost within 1 % of xᵀ P x."""
    arm = robolin.load("five-bar")
    trim = robolin.trim(arm, [0.1, 0.0, 0.0, 0.0], actuated="left_shoulder")
    model = robolin.state_space(arm, trim.q, actuated="left_shoulder")
    regulator = robolin.lqr(model)
    start = robolin.close(arm, trim.q + 1e-3 * np.eye(4)[0], hold="left_shoulder")
    motion = robolin.simulate(arm, start.q, duration=0.3, dt=0.01, control=regulator.feedback())
    cost = regulator.motion_cost(motion)
    assert abs(cost.spent + cost.left - cost.predicted) <= 0.01 * cost.predicted
