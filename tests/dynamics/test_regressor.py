"""τ = Y π: the regressor against inverse dynamics, against changed arms and against Pinocchio.

Both sides round a few dozen terms of the size of the largest torque: 1e-13 of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Inertia
from robolin.description.robot_source import bundled_names
from tests.dynamics.running import gap
from tests.dynamics.world import link_positions, spreading
from tests.robots import (
    WRENCH_MODELS,
    arm_name,
    random_arm,
    random_body,
    random_states,
    sample_arms,
    with_follower,
    with_springs,
    with_wrench,
)

ROUNDING = 1e-13

LOSSY = random_arm(81, 7, tree=True, armature=True, damping=True, friction_velocity=0.3)
ARMS = [
    *sample_arms(26),
    LOSSY,
    with_follower(LOSSY),
    with_follower(random_arm(82, 5)),
    with_springs(LOSSY),
    with_springs(with_follower(LOSSY)),
    *(with_wrench(random_arm(83, 5, tree=True), model) for model in WRENCH_MODELS),
    *(robolin.load(name, open_loops=True) for name in bundled_names()),
    robolin.load("panda", floating_base=True),
]


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_regressor_times_parameters_is_the_torque(arm: Arm) -> None:
    """Y π, plus the torques of wrenches, equals inverse dynamics."""
    s = random_states(arm, 2)
    regressor = robolin.regressor(arm, s.q, s.qd, s.qdd)

    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    assert gap(regressor.matrix @ regressor.parameters + regressor.offset, tau) <= ROUNDING


@pytest.mark.parametrize(
    "arm", [LOSSY, with_follower(LOSSY), robolin.load("ur5"), robolin.load("panda-fingers")],
    ids=arm_name,
)  # fmt: skip
def test_every_column_belongs_to_its_name(arm: Arm) -> None:
    """Another body on any one link changes the torques by that link's ten columns alone."""
    rng = np.random.default_rng(4)
    s = random_states(arm, 3)
    Y = robolin.regressor(arm, s.q, s.qd, s.qdd)
    before = robolin.inverse(arm, s.q, s.qd, s.qdd)
    for k, link in enumerate(arm.links_tip_to_base):
        body = random_body(rng)
        links = (
            *arm.links_tip_to_base[:k],
            replace(link, inertia=body),
            *arm.links_tip_to_base[k + 1 :],
        )
        tau = robolin.inverse(replace(arm, links_tip_to_base=links), s.q, s.qd, s.qdd)

        at = Y.names.index(f"{link.name}/mass")
        change = mass_parameters(body) - mass_parameters(link.inertia)
        assert gap(Y.matrix[..., at : at + 10] @ change, tau - before, np.abs(tau).max()) < ROUNDING


def mass_parameters(body: Inertia) -> np.ndarray:
    """m, m c and the inertia about the link's origin, computed from second moments.

    Σ = ½ tr(I) 1 - I about the centre becomes Σ + m c cᵀ about the origin, and J = tr(Σ) 1 - Σ.
    """
    xx, xy, xz, yy, yz, zz = body.rotary
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    c, second = np.array(body.com), 0.5 * np.trace(I) * np.eye(3) - I
    total = second + body.mass * np.outer(c, c)
    J = np.trace(total) * np.eye(3) - total
    return np.array([body.mass, *(body.mass * c), *J[np.triu_indices(3)]])


@pytest.mark.parametrize(
    "name, field",
    [("damping", "damping"), ("armature", "armature"), ("friction", "friction")],
)
def test_columns_of_joints(name: str, field: str) -> None:
    """More damping, rotor inertia or friction of a joint takes torque from that joint alone."""
    arm = with_follower(LOSSY)
    s = random_states(arm, 3)
    Y = robolin.regressor(arm, s.q, s.qd, s.qdd)
    before = robolin.inverse(arm, s.q, s.qd, s.qdd)
    for k, link in enumerate(arm.links_tip_to_base):
        joint = replace(link.joint, **{field: getattr(link.joint, field) + 1.0})
        links = (
            *arm.links_tip_to_base[:k],
            replace(link, joint=joint),
            *arm.links_tip_to_base[k + 1 :],
        )
        tau = robolin.inverse(replace(arm, links_tip_to_base=links), s.q, s.qd, s.qdd)

        column = Y.matrix[..., Y.names.index(f"{joint.name}/{name}")]
        assert gap(column, tau - before, np.abs(tau).max()) < ROUNDING
        assert np.count_nonzero(np.abs(column).max(axis=0)) == 1


def test_columns_of_springs() -> None:
    """A stiffer spring relaxed at 0, or another k · rest, takes torque from its joint alone."""
    arm = with_springs(with_follower(LOSSY))
    s = random_states(arm, 3)
    Y = robolin.regressor(arm, s.q, s.qd, s.qdd)
    before = robolin.inverse(arm, s.q, s.qd, s.qdd)
    for k, link in enumerate(arm.links_tip_to_base):
        stiffness, rest = link.joint.stiffness, link.joint.rest
        others = {
            "stiffness": (stiffness + 1.0, stiffness * rest / (stiffness + 1.0)),
            "rest_torque": (stiffness, rest + 1.0 / stiffness),
        }
        for name, (stiff, relaxed) in others.items():
            joint = replace(link.joint, stiffness=stiff, rest=relaxed)
            links = list(arm.links_tip_to_base)
            links[k] = replace(link, joint=joint)
            other = replace(arm, links_tip_to_base=tuple(links))
            tau = robolin.inverse(other, s.q, s.qd, s.qdd)
            column = Y.matrix[..., Y.names.index(f"{joint.name}/{name}")]
            assert gap(column, tau - before, np.abs(tau).max()) < ROUNDING


def test_only_arms_with_springs_have_their_columns() -> None:
    """Arms without springs, and arms that omit them, have no such parameters."""
    arm = with_springs(LOSSY)
    names = robolin.regressor(LOSSY, 0.0).names
    assert robolin.regressor(replace(arm, springs=False), 0.0).names == names
    assert set(robolin.regressor(arm, 0.0).names) - set(names) == {
        f"{link.joint.name}/{part}" for link in arm.links for part in ("stiffness", "rest_torque")
    }


def test_friction_has_columns_only_where_it_acts() -> None:
    """Without a smoothing velocity friction is off and has no column."""
    names = robolin.regressor(robolin.load("panda"), 0.0).names

    assert not [name for name in names if name.endswith("/friction")]
    assert len(names) == 7 * 12


# our xx xy xz yy yz zz among Pinocchio's m, mx, my, mz, xx, xy, yy, xz, yz, zz
PINOCCHIOS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


@pytest.mark.parametrize(
    "arm",
    [
        *(robolin.load(name, damping=False, open_loops=True) for name in bundled_names()),
        *(random_arm(90 + n, n, tree=n % 2 == 0) for n in (3, 6, 9)),
    ],
    ids=arm_name,
)
def test_against_pinocchio(arm: Arm) -> None:
    """Every column is that of Pinocchio's regressor, link frame by link frame."""
    pin = pytest.importorskip("pinocchio")
    from tests.dynamics.pinocchio_reference import model_from_arm, velocity_indices

    model = model_from_arm(arm)
    data, indices = model.createData(), velocity_indices(model, arm)
    S = np.zeros((model.nv, arm.n))
    S[indices] = spreading(arm)
    s = random_states(arm, 4)
    full = np.zeros((4, model.nv))
    full[:, indices] = link_positions(arm, s.q)
    regressor = robolin.regressor(arm, s.q, s.qd, s.qdd)

    for row in range(4):
        motion = full[row], S @ s.qd[row], S @ s.qdd[row]
        theirs = S.T @ pin.computeJointTorqueRegressor(model, data, *motion)
        size = np.abs(theirs).max()
        for k, link in enumerate(arm.links_tip_to_base):
            at = regressor.names.index(f"{link.name}/mass")
            body = 10 * (model.getJointId(link.joint.name) - 1)
            true = theirs[:, body : body + 10][:, PINOCCHIOS]
            columns = regressor.matrix[row][:, at : at + 10]
            assert gap(columns, true, size) <= ROUNDING, (k, link.name)
