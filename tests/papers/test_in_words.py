"""Systems, uses and claims that the papers state in words, without a formula of their own."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import robolin
from robolin.analysis.operation_counts import operation_counts
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct_storage import generic_chain
from robolin.engine.parameters import parameters_of
from robolin.engine.run import count_operations
from tests.dynamics.running import complex_step, gap, run_on
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
    """Torques of the motion and gains of its linear model: the arm moves as the model predicts.

    Starting 1e-5 rad off the pose, the neglected terms are of second order: 1e-4 of the way back.
    """
    arm, x = robolin.load("two-link"), np.array([1e-5, -1e-5, 0.0, 0.0])
    model = robolin.state_space(arm, [0.3, -0.7])
    law = robolin.lqr(model, 1.0, 0.01)
    motion = robolin.simulate(
        arm, model.q + x[:2], duration=0.2, dt=0.002, every=20, control=law.feedback()
    )
    closed = model.A - model.B @ law.K
    true = np.array([expm(closed * t) @ x for t in motion.time])
    deviation = np.concatenate([motion.q - model.q, motion.qd], axis=-1)
    assert gap(deviation, true) <= 1e-4
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


@any_arm
def test_F_section_5_A_lagrange(at: Subject) -> None:
    """Newton and Euler's torques are Lagrange's: T = d(∂E/∂θ̇)/dt - ∂E/∂θ + ∂U/∂θ."""
    op, state = at.op, {"q": at.q, "qd": at.qd}
    momentum, slope = (complex_step(at.arm, "energy", state, along) for along in ("qd", "q"))
    assert apart(momentum["kinetic_energy"], op.mass_matrix @ at.qd) <= EXACT
    rate = at.rate(lambda o: o.mass_matrix) @ at.qd + op.mass_matrix @ at.qdd
    torques = rate - slope["kinetic_energy"] + slope["potential_energy"]
    assert apart(torques, robolin.inverse(at.arm, at.q, at.qd, at.qdd)) <= EXACT


@papers
def test_F_section_7_A(at: Subject) -> None:
    """At rest without gravity λ(k) is the acceleration of link k, and z(k) the force of joints
    outboard.

    This force holds link k still while the joints outboard of it follow their torques, by
    elimination in their own part of 𝓜; on the way f = Pα + z.
    """
    arm, op, order, still = at.weightless.arm, at.op, at.op.paper_order, np.zeros(at.op.n)
    T, mass = at.dtau, robolin.mass_matrix(at.arm, at.q)
    z = op.PSI @ op.G @ T
    qdd = robolin.forward(arm, at.q, still, T, method="bias-free")
    alpha = op.phi.T @ op.H.T @ np.linalg.solve(mass, T)
    weighted = op.Dinv @ (T - op.H @ z)
    assert apart(op.psi.T @ op.H.T @ weighted, alpha) <= divided(at)
    assert apart(robolin.operators(arm, at.q, still, qdd).f, op.P @ alpha + z) <= divided(at)
    for k in at.links()[1:]:
        free, moved = list(order[: k - 1]), np.zeros(op.n)
        moved[free] = np.linalg.solve(mass[np.ix_(free, free)], T[free])
        held = robolin.operators(arm, at.q, still, moved).f[6 * k - 6 : 6 * k]
        assert apart(z[6 * k - 6 : 6 * k], held, made_of=np.abs(z).max()) <= divided(at)


def per_link(name: str, joints: tuple[int, ...] = (3, 4)) -> np.ndarray:
    """Cost of each additional link in an algorithm, in its general form."""
    algorithm = ALGORITHMS[name]
    costs = [
        count_operations(generic_chain(n), algorithm.run, algorithm.needs, algorithm.gives)
        for n in joints
    ]
    return np.diff([sum(cost.algorithm.values()) for cost in costs])


def test_F_section_7_costs() -> None:
    """Every link costs Algorithms 1 to 3 and that of VII.D the same."""
    ways = ("-bias-free", "-bias-free-links", "-three-sweeps", "-three-sweeps-links", "")
    for way in ways:
        first, second = per_link(f"forward{way}", (2, 3, 4))
        assert apart(first, second) == 0.0 < first


# a base and a hinge; the base's frame stands `p` away from where it stands at p = 0
ROVER = """
robolin: 1
name: rover
joints:
  - {{name: base, type: floating, parent: ground, child: hull}}
  - {{name: hip, type: revolute, parent: hull, child: leg,
     origin: {{xyz: {hip}}}, axis: [0, 0.6, 0.8]}}
links:
  - {{name: hull, mass: 3, com: {com},
     inertia: {{ixx: 0.7, iyy: 1.1, izz: 1.3, ixy: 0.1, ixz: -0.2, iyz: 0.05}}}}
  - {{name: leg, mass: 1, com: [0.1, 0.2, -0.3],
     inertia: {{ixx: 0.05, iyy: 0.04, izz: 0.03, ixy: 0, ixz: 0, iyz: 0}}}}
"""


def rover(p: np.ndarray) -> robolin.Arm:
    hip, com = (np.subtract(x, p).tolist() for x in ([0.3, -0.1, 0.2], [0.1, 0, 0.2]))
    return robolin.load(ROVER.format(hip=hip, com=com))


def test_F_section_8_point() -> None:
    """The joint of a base may be at any point of it: torques and mass matrix are carried over."""
    p = np.array([0.4, -0.7, 0.2])
    here, there = rover(np.zeros(3)), rover(p)
    places = here.coordinate_indices(here.groups[0])
    spin, shift = ([places[part] for part in parts] for parts in (("rx", "ry", "rz"), "xyz"))
    s = random_states(here, 3)
    X = np.eye(here.n)
    X[np.ix_(shift, spin)] = [[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]]
    q = s.q.copy()
    q[:, shift] += Rotation.from_rotvec(s.q[:, spin]).apply(p)
    qd, qdd = s.qd @ X.T, s.qdd @ X.T

    tau = robolin.inverse(there, q, qd, qdd, engine="python")
    assert gap(tau @ X, robolin.inverse(here, s.q, s.qd, s.qdd, engine="python")) <= EXACT
    mass = X.T @ robolin.mass_matrix(there, q, engine="python") @ X
    assert gap(mass, robolin.mass_matrix(here, s.q, engine="python")) <= EXACT


def test_F_section_9_structure() -> None:
    """The structure of one arm saves operations: nine of ten, where axes are parallel."""
    parameters = parameters_of(robolin.load("two-link"))
    row = next(operation_counts("forward", parameters, fold=True))
    share = sum(row.folded.total.values()) / sum(row.cost.total.values())
    assert apart(round(share, 1), 0.1) == 0.0


@any_arm
def test_F_section_10_C(at: Subject) -> None:
    """The factor by the arm's model is the one that Cholesky finds in 𝓜, tip first, by numbers."""
    order = at.op.paper_order
    inward = np.ix_(order, order)
    numeric = np.linalg.cholesky(robolin.mass_matrix(at.arm, at.q)[inward])
    factor = robolin.mass_matrix_factor(at.arm, at.q)
    assert apart(factor.D[order], np.diag(numeric) ** 2) <= divided(at)
    assert apart(factor.factor[inward], numeric / np.diag(numeric)) <= divided(at)


@pytest.mark.slow
def test_O_section_2_accuracy() -> None:
    """Articulated bodies are more accurate than composite bodies and elimination.

    On eight chains, compared with 50 digits: a smaller error in the geometric mean, and 1e-12 at
    most.
    """
    shares = []
    for seed in range(8):
        arm = random_arm(500 + seed, 6)
        s = random_states(arm, 1, seed)
        tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
        inputs = {"q": s.q[0].tolist(), "qd": s.qd[0].tolist(), "tau": tau[0].tolist()}
        with mpmath.workdps(50):
            exact = {name: np.array([*map(mpmath.mpf, x)]) for name, x in inputs.items()}
            true = run_on(arm, "forward", exact, number=mpmath.mpf)["qdd"].astype(float)
        ways = ("forward", "forward-conventional")
        recursion, elimination = (gap(run_on(arm, name, inputs)["qdd"], true) for name in ways)
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
    later = robolin.integrate(arm, s.q, 1e-6 * s.qd)
    assert np.abs(robolin.difference(arm, s.q, later) / 1e-6 - s.qd).max() <= 1e-8
    assert np.abs((later - s.q) / 1e-6 - s.qd).max() > 0.1


def test_D_section_8_cost() -> None:
    """A link more costs Algorithm 8.1, in its general form, 2.2 times what it costs `forward`."""
    share = per_link("forward-diagonalized-unnormalized") / per_link("forward")
    assert apart(round(share.item(), 1), 2.2) == 0.0
