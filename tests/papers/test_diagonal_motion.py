"""Diagonalized dynamics [D] in motion: global coordinates, Algorithm 8.1 and both control laws."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import robolin
from robolin.analysis.curvature import independent_symbols
from robolin.control.simulation.controllers import SteeringController
from robolin.core.arm import Arm
from tests.control.simulation.motions import gentle_state
from tests.dynamics.world import STEP, frame_in_world
from tests.operator_algebra.subjects import EXACT, Subject, apart
from tests.operator_algebra.test_diagonalized import ell, m
from tests.robots import TOOL, arm_name, random_arm, random_states

WRONG = 1e-3


def sliding(seed: int) -> Subject:
    """An arm that only slides, free of weight: its mass matrix never changes."""
    arm = random_arm(seed, 4)
    links = tuple(
        replace(link, joint=replace(link.joint, kind="prismatic")) for link in arm.links_tip_to_base
    )
    return Subject(
        replace(arm, name=f"{arm.name}-sliding", links_tip_to_base=links, gravity=(0.0, 0.0, 0.0))
    )


@pytest.mark.parametrize("at", [sliding(3), sliding(4)], ids=str)
def test_D_eq_2_2_to_2_4(at: Subject) -> None:
    """Where m* is the gradient of ϑ = m*θ, the motion is ϑ̈ = ε = ℓT and nothing else."""
    op = at.op
    elsewhere = robolin.operators(at.arm, at.q + 0.7)

    assert apart(m(elsewhere), m(op)) <= EXACT
    assert apart(m(op).T @ at.qdd, ell(op) @ at.tau) <= EXACT
    assert apart(m(op) @ m(op).T, robolin.mass_matrix(at.arm, at.q)) <= EXACT

    diagonalized = robolin.diagonalize(at.arm, at.q, at.qd, at.tau)
    assert apart(diagonalized.m, m(elsewhere)) <= EXACT
    assert apart(diagonalized.m.T @ at.qdd, diagonalized.epsilon) <= EXACT
    assert robolin.curvature(at.arm, at.q).flat


def test_D_lemma_2_2() -> None:
    """R₁₂₁₂ of two rods in closed form; no symbol at all for an arm that slides."""
    q = random_states(robolin.load("two-link"), 20).q
    cos = np.cos(q[:, 1])
    # 𝓜 = [[5/3 + cos, 1/3 + cos/2], [., 1/3]]
    det = (5 / 3 + cos) / 3 - (1 / 3 + cos / 2) ** 2
    true = cos / 2 * (5 / 9 - 1 / 9 - 1 / 4) / det
    computed = robolin.curvature(robolin.load("two-link"), q).symbols[:, 0, 1, 0, 1]
    assert apart(computed, true) <= EXACT

    at = sliding(3)
    flat = robolin.curvature(at.arm, at.q)
    size = float(np.abs(robolin.mass_matrix(at.arm, at.q)).max())
    assert flat.flat
    assert apart(flat.symbols, np.zeros_like(flat.symbols), made_of=size) <= EXACT


@pytest.mark.parametrize("joints", [2, 3, 4, 5])
def test_D_lemma_2_2_number_of_symbols(joints: int) -> None:
    """As many symbols are independent as the symmetries leave: N²(N²-1)/12."""
    free = joints**4 - _symmetries(joints)
    assert apart(float(len(independent_symbols(joints))), float(free)) == 0.0
    assert free == joints**2 * (joints**2 - 1) // 12


def _symmetries(n: int) -> int:
    """The rank of R_hijk = -R_ihjk = -R_hikj = R_jkhi and of the cyclic sum, written as rows."""
    number = {index: i for i, index in enumerate(product(range(n), repeat=4))}
    rows = set()
    for h, i, j, k in number:
        for terms in (
            ((h, i, j, k, 1), (i, h, j, k, 1)),
            ((h, i, j, k, 1), (h, i, k, j, 1)),
            ((h, i, j, k, 1), (j, k, h, i, -1)),
            ((h, i, j, k, 1), (h, j, k, i, 1), (h, k, i, j, 1)),
        ):
            rows.add(tuple(sorted((number[term[:4]], term[4]) for term in terms)))
    pivots: dict[int, dict[int, Fraction]] = {}
    for terms in rows:
        row: dict[int, Fraction] = {}
        for column, sign in terms:
            row[column] = row.get(column, Fraction(0)) + sign
        _eliminate({column: x for column, x in row.items() if x}, pivots)
    return len(pivots)


def _eliminate(row: dict[int, Fraction], pivots: dict[int, dict[int, Fraction]]) -> None:
    """Reduce a row by the pivot rows; the remainder becomes the pivot of its first column."""
    while row and min(row) in pivots:
        first = min(row)
        share = row[first] / pivots[first][first]
        for column, x in pivots[first].items():
            row[column] = row.get(column, Fraction(0)) - share * x
        row = {column: x for column, x in row.items() if x}
    if row:
        pivots[min(row)] = row


@pytest.mark.parametrize("joints", [2, 4, 5])
def test_misprint_D_lemma_2_2(joints: int) -> None:
    """N(N+1)/2 is another number, except by accident at N = 3."""
    assert apart(joints * (joints + 1) / 2, float(len(independent_symbols(joints)))) > WRONG


@pytest.mark.slow
@pytest.mark.parametrize("state", ["xi", "nu"])
@pytest.mark.parametrize("name", ["two-link", "ur5"])
def test_D_algorithm_8_1(name: str, state: str) -> None:
    """Integrated with q, ξ and ν take an arm where articulated bodies take it.

    RK4 at 0.5 ms from a quarter of a radian per second errs by 1e-12 in a twentieth of a second.
    """
    arm = robolin.load(name)
    start, short = gentle_state(arm), {"duration": 0.05, "dt": 5e-4, "every": 50}
    plain = robolin.simulate(arm, *start, **short)
    other = robolin.simulate(arm, *start, state=state, **short)

    assert apart(other.q, plain.q) <= 1e-10
    assert apart(other.qd, plain.qd) <= 1e-10


@pytest.mark.parametrize("name", ["two-link", "ur5"])
def test_D_control_8_1(name: str) -> None:
    """With ε = -cν the kinetic energy falls as exp(-2ct); RK4 at 2 ms errs by 1e-10."""
    arm = robolin.load(name)
    law = {"control": robolin.RateControl(1.5), "limits": False}
    motion = robolin.simulate(arm, *gentle_state(arm), duration=0.2, dt=2e-3, every=20, **law)

    true = motion.kinetic_energy[0] * np.exp(-3.0 * motion.time)
    assert apart(motion.kinetic_energy, true) <= 1e-8


class Drawn:
    """An arm on its way to a pose: e, Ẏ, J₁₂ of the twelve numbers Y, ν, and both gains."""

    def __init__(self, arm: Arm) -> None:
        s = random_states(arm, 2, 3)
        self.arm, self.q, self.qd = arm, s.q[1], s.qd[1]
        self.k, self.c = 40.0, np.linspace(0.5, 2.0, arm.n)
        R, p = frame_in_world(arm, TOOL, s.q[0])
        gains = {"position_gain": self.k, "orientation_gain": self.k, "gain": self.c}
        self.law = robolin.PoseControl(TOOL, p, R, **gains)
        goal = np.concatenate([p, R.T.ravel()])
        stepped = self.q + 1j * STEP * np.eye(arm.n)
        self.J = np.stack([self._pose(row).imag / STEP for row in stepped], axis=-1)
        self.e = goal - self._pose(self.q)
        self.op = robolin.operators(arm, self.q)
        self.nu = m(self.op).T @ self.qd

    def _pose(self, q: np.ndarray) -> np.ndarray:
        R, p = frame_in_world(self.arm, TOOL, q)
        return np.concatenate([p, R.T.ravel()])

    def falling(self, epsilon: np.ndarray) -> float:
        """d/dt (½ ν*ν + ½ e*ke)."""
        return float(self.nu @ epsilon - self.k * self.e @ (self.J @ self.qd))

    @property
    def braking(self) -> float:
        return float(-(self.c * self.nu) @ self.nu)

    @property
    def size(self) -> float:
        """Size of the two terms that cancel."""
        return float(np.abs(self.k * self.e * (self.J @ self.qd)).sum())


drawn = pytest.mark.parametrize(
    "arm", [random_arm(71, 6, prismatic=False), random_arm(72, 7, armature=True)], ids=arm_name
)


@drawn
def test_D_control_8_2(arm: Arm) -> None:
    """The torque of `PoseControl` is ε = -cν + ℓJ*ke, under which ½ν*ν + ½e*ke falls by ν*cν."""
    at = Drawn(arm)
    tau = SteeringController(arm, at.law, {})(0.0, at.q, at.qd)
    epsilon = robolin.diagonalize(arm, at.q, at.qd, tau).epsilon
    law = -at.c * at.nu + ell(at.op) @ (at.J.T @ (at.k * at.e))
    heavy = float(np.abs(ell(at.op) @ robolin.inverse(arm, at.q)).max())

    assert apart(epsilon, law, made_of=heavy) <= EXACT
    assert apart(at.falling(epsilon), at.braking, made_of=at.size) <= EXACT


@drawn
def test_misprint_D_eq_8_6(arm: Arm) -> None:
    """With -c₂HψBe as printed, the Lyapunov function does not fall by ν*cν."""
    at = Drawn(arm)
    printed = -at.c * at.nu - at.k * (at.op.D_half @ (ell(at.op) @ (at.J.T @ at.e)))
    assert apart(at.falling(printed), at.braking, made_of=at.size) > WRONG
