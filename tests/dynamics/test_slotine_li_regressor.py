"""Y π = 𝓜 q̈ᵣ + C q̇ᵣ + g: the Slotine–Li regressor against its matrices, and against Pinocchio.

Both sides round a few dozen terms of the size of the largest torque: 1e-13 of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_names
from tests.dynamics.running import gap
from tests.dynamics.world import link_positions, spreading
from tests.robots import (
    States,
    arm_name,
    grouped_arm,
    random_arm,
    random_states,
    sample_arms,
    with_follower,
    with_springs,
    with_wrench,
)

ROUNDING = 1e-13

LOSSY = random_arm(81, 7, tree=True, armature=True, damping=True, friction_velocity=0.3)
ARMS = [
    *sample_arms(6),
    LOSSY,
    with_springs(with_follower(LOSSY)),
    with_wrench(random_arm(83, 5, tree=True), "dead"),
    grouped_arm(4, ["floating", "revolute", "planar"], tree=True, armature=True),
    *(robolin.load(name, open_loops=True) for name in bundled_names()),
]


def references(arm: Arm, rows: int) -> tuple[np.ndarray, np.ndarray]:
    qdr, qddr = np.random.default_rng(7).normal(size=(2, rows, arm.n))
    return qdr, qddr


def times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.einsum("bij,bj->bi", matrices, vectors)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_regressor_times_parameters(arm: Arm) -> None:
    """Y π, plus wrenches, is 𝓜 q̈ᵣ + C q̇ᵣ + g with damping at q̇ᵣ and Coulomb friction at q̇."""
    s, (qdr, qddr) = random_states(arm, 3), references(arm, 3)
    computed = robolin.slotine_li_regressor(arm, s.q, s.qd, qdr, qddr)

    smooth = replace(arm, friction_velocity=None)
    viscous = robolin.linearize_inverse(smooth, s.q).dtau_dqd
    friction = robolin.inverse(arm, s.q, s.qd) - robolin.inverse(smooth, s.q, s.qd)
    M, C = robolin.mass_matrix(arm, s.q), robolin.coriolis_matrix(arm, s.q, s.qd)
    expected = times(M, qddr) + times(C, qdr) + robolin.inverse(smooth, s.q)
    expected += times(viscous, qdr) + friction
    assert gap(computed.matrix @ computed.parameters + computed.offset, expected) <= ROUNDING


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_references_equal_to_the_motion(arm: Arm) -> None:
    """With q̇ᵣ = q̇ and q̈ᵣ = q̈ every column is that of the regressor."""
    s = random_states(arm, 3)
    slotine_li = robolin.slotine_li_regressor(arm, s.q, s.qd, s.qd, s.qdd)
    plain = robolin.regressor(arm, s.q, s.qd, s.qdd)

    assert slotine_li.names == plain.names
    assert gap(slotine_li.matrix, plain.matrix) <= ROUNDING
    assert gap(slotine_li.offset, plain.offset) <= ROUNDING


@pytest.mark.parametrize("arm", [LOSSY, ARMS[9]], ids=arm_name)
def test_every_parameter_is_passive(arm: Arm) -> None:
    """sᵀ C s = ½ sᵀ 𝓜̇ s for the columns of every inertial parameter alone.

    𝓜 s and 𝓜̇ s of one parameter are the columns of q̈ᵣ = s, and their change along q̇.
    """
    s, (slip, _) = random_states(arm, 3), references(arm, 3)

    def columns(q: np.ndarray, qdr: np.ndarray | float, qddr: np.ndarray | float) -> np.ndarray:
        regressor = robolin.slotine_li_regressor(arm, q, s.qd, qdr, qddr)
        kinds = [name.rpartition("/")[2] for name in regressor.names]
        return regressor.matrix[..., [kind not in ("damping", "friction") for kind in kinds]]

    def mass_times(q: np.ndarray) -> np.ndarray:
        return np.einsum("bi,bip->bp", slip, columns(q, 0.0, slip) - columns(q, 0.0, 0.0))

    # Richardson extrapolation of central differences: error of step⁴ and round-off / step
    ahead = [
        (mass_times(_moved(arm, s, step)) - mass_times(_moved(arm, s, -step))) / (2.0 * step)
        for step in (2e-3, 4e-3)
    ]
    rate = (4.0 * ahead[0] - ahead[1]) / 3.0
    power = columns(s.q, slip, 0.0) - columns(s.q, 0.0, 0.0)
    assert gap(np.einsum("bi,bip->bp", slip, power), 0.5 * rate) <= 1e-9


def _moved(arm: Arm, s: States, step: float) -> np.ndarray:
    return robolin.integrate(arm, s.q, step * s.qd)


@pytest.mark.parametrize(
    "arm",
    [
        *(robolin.load(name, damping=False, open_loops=True) for name in bundled_names()),
        *(random_arm(90 + n, n, tree=n % 2 == 0) for n in (3, 6, 9)),
    ],
    ids=arm_name,
)
def test_against_pinocchio(arm: Arm) -> None:
    """Y π is M q̈ᵣ + C q̇ᵣ + g of Pinocchio, whose C gives Ṁ - 2 C skew-symmetric too."""
    pin = pytest.importorskip("pinocchio")
    from tests.dynamics.pinocchio_reference import model_from_arm, velocity_indices

    model = model_from_arm(arm)
    data, indices = model.createData(), velocity_indices(model, arm)
    S = np.zeros((model.nv, arm.n))
    S[indices] = spreading(arm)
    s, (qdr, qddr) = random_states(arm, 4), references(arm, 4)
    full = np.zeros((4, model.nv))
    full[:, indices] = link_positions(arm, s.q)
    computed = robolin.slotine_li_regressor(arm, s.q, s.qd, qdr, qddr)
    torques, matrices = (
        computed.matrix @ computed.parameters,
        robolin.coriolis_matrix(arm, s.q, s.qd),
    )

    for row in range(4):
        C = S.T @ pin.computeCoriolisMatrix(model, data, full[row], S @ s.qd[row]) @ S
        M = pin.crba(model, data, full[row])
        M = S.T @ (np.triu(M) + np.triu(M, 1).T) @ S
        g = S.T @ pin.computeGeneralizedGravity(model, data, full[row])
        expected = M @ qddr[row] + C @ qdr[row] + g
        size = np.abs(M).max() * np.abs(s.qd[row]).max()
        assert gap(matrices[row], C, size) <= 1e-12
        assert gap(torques[row], expected) <= 1e-12
