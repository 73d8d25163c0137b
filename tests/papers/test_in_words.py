"""Systems, uses and claims that the papers tell in words, without a formula of their own."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

import robolin
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.counting import count_operations
from robolin.engine.generic_chain import generic_chain
from tests.dynamics.running import gap, run_on
from tests.operator_algebra.subjects import (
    EXACT,
    Subject,
    any_arm,
    apart,
    diagonal_blocks,
    divided,
    papers,
)
from tests.operator_algebra.test_linearization import composite
from tests.robots import random_arm, random_states

# a body that turns about its centre of mass
BODY = """
robolin: 1
name: body
gravity: [0, 0, 0]
joints: [{name: hip, type: spherical, parent: base, child: body}]
links:
  - {name: body, mass: 2, com: [0, 0, 0],
     inertia: {ixx: 0.7, iyy: 1.1, izz: 1.3, ixy: 0.1, ixz: -0.2, iyz: 0.05}}
"""


def test_L_section_1_feedback() -> None:
    """Torques of the motion and gains of its linear model: the arm does as the model says.

    From 1e-5 rad beside the pose, what is left out is of the second order: 1e-4 of the way back.
    """
    arm, x = robolin.load("two-link"), np.array([1e-5, -1e-5, 0.0, 0.0])
    model = robolin.state_space(arm, [0.3, -0.7])
    law = robolin.lqr(model, 1.0, 0.01)
    motion = robolin.simulate(
        arm, model.q + x[:2], duration=0.2, dt=0.002, every=20, control=law.feedback()
    )
    closed = model.A - model.B @ law.K
    true = np.array([expm(closed * t) @ x for t in motion.time])
    found = np.concatenate([motion.q - model.q, motion.qd], axis=-1)
    assert gap(found, true) <= 1e-4
    assert np.linalg.eigvals(model.A).real.max() > 0.0 > np.linalg.eigvals(closed).real.max()


@any_arm
def test_L_section_4_1(at: Subject) -> None:
    """E_φ and E_ψ are nilpotent: as many shifts as there are links leave nothing."""
    for shift in (at.op.E_phi.dense(), at.op.E_psi.dense()):
        assert apart(np.linalg.matrix_power(shift, at.op.n), np.zeros_like(shift)) == 0.0
    if at.op.n > 1:
        assert np.abs(at.op.E_phi.dense()).max() == 1.0


@papers
def test_F_proof_of_identity_2(at: Subject) -> None:
    """τ̄Pτ̄* = τ̄P, and r = P + q with q(k) = Σ PH*D⁻¹HP over all hinges outboard of link k."""
    op = at.op
    assert apart(op.tau_bar @ op.P @ op.tau_bar.T, op.tau_bar @ op.P) <= divided(at)
    given_way = op.P @ op.H.T @ op.Dinv @ op.H @ op.P
    r, q = (composite(at, diagonal_blocks(each)) for each in (op.M, given_way))
    assert apart(r, diagonal_blocks(op.P) + q - diagonal_blocks(given_way)) <= divided(at)


@pytest.mark.slow
def test_O_section_2_accuracy() -> None:
    """Articulated bodies are more accurate than composite bodies and elimination.

    On eight chains, beside 50 digits: less of an error in the geometric mean, and 1e-12 at most.
    """
    shares = []
    for seed in range(8):
        arm = random_arm(500 + seed, 6)
        s = random_states(arm, 1, seed)
        tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
        given = {"q": s.q[0].tolist(), "qd": s.qd[0].tolist(), "tau": tau[0].tolist()}
        with mpmath.workdps(50):
            exact = {name: np.array([*map(mpmath.mpf, x)]) for name, x in given.items()}
            true = run_on(arm, "forward", exact, number=mpmath.mpf)["qdd"].astype(float)
        ways = ("forward", "forward-conventional")
        recursion, elimination = (gap(run_on(arm, name, given)["qdd"], true) for name in ways)
        assert recursion <= 1e-12
        shares.append(elimination / recursion)
    assert np.exp(np.log(shares).mean()) > 1.2


def test_D_section_1_one_body() -> None:
    """A rigid body that turns: Jω̇ + ω x Jω = T, ω no rate of its angles, and ω*(ω x Jω) = 0."""
    arm = robolin.load(BODY)
    s = random_states(arm, 5)
    J = np.array([[0.7, 0.1, -0.2], [0.1, 1.1, 0.05], [-0.2, 0.05, 1.3]])
    gyroscopic = np.cross(s.qd, s.qd @ J)
    assert gap(robolin.inverse(arm, s.q, s.qd, s.qdd), s.qdd @ J + gyroscopic) <= EXACT
    assert np.abs(np.einsum("bi,bi->b", s.qd, gyroscopic)).max() <= EXACT * np.abs(gyroscopic).max()
    # the way it goes is a turn by ω, to rounding over the step, and the rate of no angles
    later = robolin.advanced(arm, s.q, 1e-6 * s.qd)
    assert np.abs(robolin.difference(arm, s.q, later) / 1e-6 - s.qd).max() <= 1e-8
    assert np.abs((later - s.q) / 1e-6 - s.qd).max() > 0.1


def test_D_section_8_cost() -> None:
    """A link more costs Algorithm 8.1, in its general form, 2.2 times what it costs `forward`."""

    def per_link(name: str) -> int:
        algorithm = ALGORITHMS[name]
        costs = [
            count_operations(generic_chain(n), algorithm.run, algorithm.needs).algorithm.values()
            for n in (3, 4)
        ]
        return sum(costs[1]) - sum(costs[0])

    share = per_link("forward-diagonalized-unnormalized") / per_link("forward")
    assert apart(round(share, 1), 2.2) == 0.0
