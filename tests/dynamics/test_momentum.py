"""Centre of mass and momentum: Newton's laws, complex steps, and Pinocchio.

Some 1e-15 of the largest entry are seen; 1e-12 is allowed as for other inverse results.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Inertia
from tests.dynamics.running import complex_step, gap
from tests.dynamics.world import link_positions, spreading
from tests.robots import (
    arm_name,
    bundled_arms,
    grouped_arm,
    random_arm,
    random_states,
    with_follower,
)

EXACT = 1e-12

ARMS = (
    random_arm(1, 4),
    random_arm(2, 7, tree=True, armature=True),
    with_follower(random_arm(3, 6)),
    *bundled_arms(),
)
every_arm = pytest.mark.parametrize("arm", ARMS, ids=arm_name)


@every_arm
def test_velocity_and_momentum_are_their_matrices_times_rates(arm: Arm) -> None:
    """ċ = J_c q̇, h = A q̇, and the linear momentum is the mass times ċ."""
    s = random_states(arm, 2)
    centroidal = robolin.momentum(arm, s.q, s.qd)
    size = float(np.abs(centroidal.momentum_matrix).max())

    velocity = np.einsum("bij,bj->bi", centroidal.com_jacobian, s.qd)
    momentum = np.einsum("bij,bj->bi", centroidal.momentum_matrix, s.qd)
    assert gap(centroidal.com_velocity, velocity) <= EXACT
    assert gap(centroidal.momentum, momentum, made_of=size) <= EXACT
    assert (
        gap(centroidal.momentum[:, 3:], centroidal.mass[:, None] * centroidal.com_velocity) <= EXACT
    )


@every_arm
def test_the_jacobian_is_the_derivative_of_the_centre(arm: Arm) -> None:
    """J_c = ∂c/∂q, and Ȧ q̇ is the rate of A q̇ while q̈ = 0, by complex steps."""
    s = random_states(arm, 2)
    state = {"q": s.q, "qd": s.qd}
    momentum = robolin.momentum(arm, s.q, s.qd)
    along = complex_step(arm, "momentum", state, "q")
    rate = np.einsum("bij,bj->bi", along["momentum"], s.qd)
    drift = np.einsum("bij,bj->bi", along["com_velocity"], s.qd)

    assert gap(momentum.com_jacobian, along["com"]) <= EXACT
    assert gap(momentum.momentum_matrix_rate_qd, rate) <= EXACT
    assert gap(momentum.com_jacobian_rate_qd, drift) <= EXACT


@pytest.mark.parametrize("kinds", [("floating", "revolute", "prismatic"), ("floating", "planar")])
def test_only_gravity_accelerates_a_floating_arm(kinds: tuple[str, ...]) -> None:
    """Joint torques do not move the centre of mass: A q̈ + Ȧ q̇ = [0; m g] without loads."""
    arm = grouped_arm(4, kinds)
    s = random_states(arm, 2)
    joints = np.array([not name.startswith("joint0") for name in arm.joint_names])
    tau = np.where(joints, s.dtau, 0.0)
    qdd = robolin.forward(arm, s.q, s.qd, tau)
    momentum = robolin.momentum(arm, s.q, s.qd)
    rate = np.einsum("bij,bj->bi", momentum.momentum_matrix, qdd) + momentum.momentum_matrix_rate_qd
    weight = momentum.mass[:, None] * np.concatenate([np.zeros(3), arm.gravity])

    condition = np.linalg.cond(robolin.mass_matrix(arm, s.q)).max()
    assert gap(rate, weight, made_of=float(np.abs(qdd).max())) <= 10 * (EXACT + 1e-15 * condition)


@every_arm
def test_pinocchio(arm: Arm) -> None:
    """Pinocchio's centre of mass, its Jacobian, centroidal map and the map's rate."""
    pin = pytest.importorskip("pinocchio")
    from tests.dynamics.pinocchio_reference import model_from_arm, velocity_indices

    model, s = model_from_arm(arm), random_states(arm, 3)
    data, S = model.createData(), np.zeros((model.nv, arm.n))
    S[velocity_indices(model, arm)] = spreading(arm)
    full = np.zeros((3, model.nv))
    full[:, velocity_indices(model, arm)] = link_positions(arm, s.q)
    momentum = robolin.momentum(arm, s.q, s.qd)
    # Pinocchio has the linear half first
    swapped = [3, 4, 5, 0, 1, 2]
    for i in range(3):
        q, v = pin.integrate(model, pin.neutral(model), full[i]), S @ s.qd[i]
        com = pin.centerOfMass(model, data, q, v, np.zeros(model.nv)).copy()
        acceleration = data.acom[0].copy()
        J = pin.jacobianCenterOfMass(model, data, q) @ S
        pin.computeCentroidalMapTimeVariation(model, data, q, v)
        A, rate = data.Ag[swapped] @ S, data.dAg[swapped] @ v

        assert gap(momentum.com[i], com) <= EXACT
        assert gap(momentum.com_jacobian[i], J) <= EXACT
        assert gap(momentum.com_jacobian_rate_qd[i], acceleration) <= EXACT
        assert gap(momentum.momentum_matrix[i], A) <= EXACT
        assert gap(momentum.momentum_matrix_rate_qd[i], rate) <= EXACT


def test_massless_arms_have_no_centre_of_mass() -> None:
    """An arm of massless links is rejected by name."""
    arm = robolin.load("two-link")
    light = replace(
        arm,
        links_tip_to_base=tuple(replace(link, inertia=Inertia()) for link in arm.links_tip_to_base),
    )
    with pytest.raises(
        robolin.RobolinError, match="the centre of mass is undefined: no moving link has mass"
    ):
        robolin.momentum(light, 0.0)
