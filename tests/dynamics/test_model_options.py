"""The effect of an option on the dynamics is the one mechanics defines.

Tolerances: both sides are sums of a few hundred rounded products, 2e-14 of the largest entry;
results that divide by the mass matrix have 1e-15 cond(𝓜) more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Link, Pose, Wrench
from robolin.description.robot_source import bundled_path
from tests.dynamics.running import gap
from tests.dynamics.world import frame_in_world, load_torque
from tests.robots import (
    TOOL,
    WRENCH_MODELS,
    arm_name,
    random_arm,
    random_rotation,
    random_states,
    with_follower,
    with_wrench,
)

EXACT = 2e-14

RANDOM = [random_arm(100 + n, n, tree=n % 2 == 1, armature=True) for n in (2, 3, 5, 6, 9)]
some = pytest.mark.parametrize("arm", RANDOM, ids=arm_name)


def divided(M: np.ndarray) -> float:
    return 1e-14 + 1e-15 * float(np.linalg.cond(M).max())


def _matrices(model: object) -> list[tuple[str, np.ndarray]]:
    """The matrices of a linear model, without the operating point."""
    matrices = [(name, values) for name, values in vars(model).items() if np.ndim(values) == 3]
    assert len(matrices) == 3
    return matrices


# a joint that follows another


@some
def test_mimic_joints_reduce_the_full_model(arm: Arm) -> None:
    """τ, 𝓜, A_D, B_D are S*τ, S*𝓜S, S*A_D S, S*B_D S of the arm with every joint free."""
    tied = with_follower(arm)
    S, shift = _spreading(arm, tied)
    s = random_states(tied, 2)
    q, qd, qdd = s.q @ S.T + shift, s.qd @ S.T, s.qdd @ S.T
    full, model = (
        robolin.linearize_inverse(arm, q, qd, qdd),
        robolin.linearize_inverse(tied, s.q, s.qd, s.qdd),
    )

    tau = robolin.inverse(tied, s.q, s.qd, s.qdd)
    assert gap(tau, robolin.inverse(arm, q, qd, qdd) @ S) <= EXACT
    for name, true in _matrices(full):
        assert gap(getattr(model, name), S.T @ true @ S) <= EXACT, name
    dM = np.einsum("ai,bj,ck,sabc->sijk", S, S, S, robolin.mass_matrix_derivative(arm, q))
    assert gap(robolin.mass_matrix_derivative(tied, s.q), dM, made_of=1.0) <= EXACT


@some
def test_forward_model_of_mimic_joints_solves_the_reduced_one(arm: Arm) -> None:
    """𝓜⁻¹, -𝓜⁻¹A_D and -𝓜⁻¹B_D of the reduced matrices, and q̈ gives its own torques."""
    tied = with_follower(arm)
    s = random_states(tied, 2)
    tau = robolin.inverse(tied, s.q, s.qd, s.qdd)
    model = robolin.linearize_inverse(tied, s.q, s.qd, s.qdd)
    linearized = robolin.linearize_forward(tied, s.q, s.qd, tau)
    M = model.mass_matrix

    assert gap(linearized.qdd, s.qdd) <= divided(M)
    assert gap(linearized.dqdd_dtau, np.linalg.inv(M)) <= divided(M)
    for name, right in (("dqdd_dqd", model.dtau_dqd), ("dqdd_dq", model.dtau_dq)):
        solved = -np.linalg.solve(M, right)
        assert gap(getattr(linearized, name), solved, made_of=1.0) <= divided(M), name
    change = robolin.perturb_forward(tied, s.q, s.qd, tau, s.dq, s.dqd, s.dtau)
    product = np.einsum("bij,bj->bi", linearized.dqdd_dtau, s.dtau)
    product += np.einsum("bij,bj->bi", linearized.dqdd_dqd, s.dqd)
    product += np.einsum("bij,bj->bi", linearized.dqdd_dq, s.dq)
    assert gap(change, product) <= divided(M)


def _spreading(arm: Arm, tied: Arm) -> tuple[np.ndarray, np.ndarray]:
    """S and b with q of the free arm = S q of the tied arm + b."""
    S, shift = np.zeros((arm.n, tied.n)), np.zeros(arm.n)
    rules = {link.joint.name: link.joint.mimic for link in tied.links}
    for i, name in enumerate(arm.joint_names):
        rule = rules[name]
        leader = rule.leader if rule else name
        S[i, tied.joint_names.index(leader)] = rule.ratio if rule else 1.0
        shift[i] = rule.offset if rule else 0.0
    return S, shift


# the base of the arm


@some
@pytest.mark.parametrize("distance", [1.0, 1000.0])
def test_dynamics_does_not_depend_on_where_the_base_stands(arm: Arm, distance: float) -> None:
    """Moving the base leaves every result as it is.

    The coordinates themselves are rounded: a kilometre away by 1e-13 m, which is all that remains
    because the inertial frame stands at the arm.
    """
    tolerance = EXACT + 1e-15 * distance
    moved = _standing(arm, np.eye(3), distance * np.array([0.6, -0.3, 0.7]))
    assert_same_dynamics(moved, arm, tolerance)


@some
def test_dynamics_does_not_depend_on_the_orientation_of_the_world(arm: Arm) -> None:
    """Rotating base and gravity together leaves every result unchanged."""
    E = np.reshape(random_rotation(np.random.default_rng(1)), (3, 3))
    turned = replace(_standing(arm, E, np.zeros(3)), gravity=tuple(E @ np.array(arm.gravity)))
    assert_same_dynamics(turned, arm, EXACT)


def _standing(arm: Arm, E: np.ndarray, d: np.ndarray) -> Arm:
    links = []
    for link in arm.links_tip_to_base:
        if link.parent == arm.base:
            pose = link.joint.pose
            rotation = E @ np.reshape(pose.rotation, (3, 3))
            moved = Pose(tuple(rotation.ravel()), tuple(E @ np.array(pose.translation) + d))
            link = replace(link, joint=replace(link.joint, pose=moved))
        links.append(link)
    return replace(arm, links_tip_to_base=tuple(links))


def assert_same_dynamics(one: Arm, other: Arm, tolerance: float) -> None:
    s = random_states(other, 2)
    tau = robolin.inverse(other, s.q, s.qd, s.qdd)
    M = robolin.mass_matrix(other, s.q)
    loss = divided(M) + tolerance * float(np.linalg.cond(M).max())

    assert gap(robolin.inverse(one, s.q, s.qd, s.qdd), tau) <= tolerance
    model = robolin.linearize_inverse(one, s.q, s.qd, s.qdd)
    for name, true in _matrices(robolin.linearize_inverse(other, s.q, s.qd, s.qdd)):
        assert gap(getattr(model, name), true, made_of=1.0) <= tolerance, name
    forward = robolin.linearize_forward(one, s.q, s.qd, tau)
    for name, true in _matrices(robolin.linearize_forward(other, s.q, s.qd, tau)):
        assert gap(getattr(forward, name), true, made_of=1.0) <= loss, name


# bodies added and joints locked


@pytest.fixture
def panda_with(tmp_path: Path) -> Callable[[str], Arm]:
    """The Panda's file with a link of the given inertial fixed to its hand."""
    text = bundled_path("panda").read_text(encoding="utf-8")

    def load(inertial: str) -> Arm:
        extra = (
            f'<link name="extra">{inertial}</link>'
            '<joint name="glue" type="fixed"><parent link="panda_hand"/><child link="extra"/>'
            '<origin xyz="0.1 -0.05 0.2" rpy="0.3 -0.4 0.5"/></joint></robot>'
        )
        path = tmp_path / "panda.urdf"
        path.write_text(text.replace("</robot>", extra), encoding="utf-8")
        return robolin.load(path, damping=False)

    return load


def test_a_massless_link_changes_nothing(panda_with: Callable[[str], Arm]) -> None:
    """A massless frame fixed to the hand leaves every bit of the model unchanged."""
    panda = robolin.load("panda", damping=False)
    s = random_states(panda, 2)
    plain = robolin.linearize_inverse(panda, s.q, s.qd, s.qdd)
    framed = robolin.linearize_inverse(panda_with(""), s.q, s.qd, s.qdd)

    for name, true in _matrices(plain):
        assert np.array_equal(getattr(framed, name), true), name


def test_payload_is_an_extra_body(panda_with: Callable[[str], Arm]) -> None:
    """A payload equals a link of that mass, and adds m J*J to 𝓜 and its gravity torque to τ."""
    panda = robolin.load("panda", damping=False)
    s = random_states(panda, 2)
    heavy = panda_with(
        '<inertial><mass value="1.5"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
        "</inertial>"
    )
    where = heavy.frames["extra"].pose.translation
    hand = heavy.frames["panda_hand"].pose
    offset = np.reshape(hand.rotation, (3, 3)).T @ (np.array(where) - np.array(hand.translation))
    loaded = robolin.load("panda", damping=False, payload=("panda_hand", 1.5, tuple(offset)))
    assert_same_dynamics(loaded, heavy, EXACT)

    step = 1e-30
    _, point = frame_in_world(heavy, "extra", s.q[:, None, :] + 1j * step * np.eye(7))
    J = np.swapaxes(point.imag / step, -1, -2)
    more = robolin.mass_matrix(loaded, s.q) - robolin.mass_matrix(panda, s.q)
    assert gap(more, 1.5 * np.swapaxes(J, -1, -2) @ J) <= EXACT
    weight = robolin.inverse(loaded, s.q) - robolin.inverse(panda, s.q)
    assert gap(weight, -1.5 * np.array(panda.gravity) @ J) <= EXACT


def test_locking_a_joint_takes_its_row_and_column() -> None:
    """With joint 4 locked at 0.7 the inverse model is the full one without its row and column."""
    free = robolin.load("panda", damping=False)
    locked = robolin.load("panda", damping=False, lock={"panda_joint4": 0.7})
    rest = [0, 1, 2, 4, 5, 6]
    s = random_states(locked, 2)
    q, qd, qdd = (np.zeros((2, 7)) for _ in range(3))
    q[:, rest], qd[:, rest], qdd[:, rest], q[:, 3] = s.q, s.qd, s.qdd, 0.7

    assert (
        gap(robolin.inverse(locked, s.q, s.qd, s.qdd), robolin.inverse(free, q, qd, qdd)[:, rest])
        <= EXACT
    )
    model = robolin.linearize_inverse(locked, s.q, s.qd, s.qdd)
    for name, true in _matrices(robolin.linearize_inverse(free, q, qd, qdd)):
        assert gap(getattr(model, name), true[:, rest][:, :, rest]) <= EXACT, name


# rotors, damping, friction


@some
def test_armature_adds_to_the_diagonal_only(arm: Arm) -> None:
    """𝓜 grows by the rotors' inertias, τ by them times q̈; A_D and B_D stay."""
    links = tuple(
        replace(link, joint=replace(link.joint, armature=0.0)) for link in arm.links_tip_to_base
    )
    bare = replace(arm, links_tip_to_base=links)
    rotors = np.array([joint.armature for joint in arm.joints])
    s = random_states(arm, 2)
    one = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd)
    two = robolin.linearize_inverse(bare, s.q, s.qd, s.qdd)

    assert gap(one.mass_matrix, two.mass_matrix + np.diag(rotors)) <= EXACT
    assert np.array_equal(one.dtau_dqd, two.dtau_dqd)
    assert np.array_equal(one.dtau_dq, two.dtau_dq)
    tau = robolin.inverse(bare, s.q, s.qd, s.qdd) + rotors * s.qdd
    assert gap(robolin.inverse(arm, s.q, s.qd, s.qdd), tau) <= EXACT


def test_friction_adds_its_loss_and_its_slope() -> None:
    """τ grows by d q̇ + μ tanh(q̇/e), A_D by d + (μ/e) sech²(q̇/e) on its diagonal."""
    arm = random_arm(5, 4, damping=True, friction_velocity=0.3)
    free = replace(arm, damping=False, friction_velocity=None)
    d, mu = (np.array([getattr(j, name) for j in arm.joints]) for name in ("damping", "friction"))
    s = random_states(arm, 2)
    loss = d * s.qd + mu * np.tanh(s.qd / 0.3)
    slope = d + mu / 0.3 / np.cosh(s.qd / 0.3) ** 2

    tau = robolin.inverse(free, s.q, s.qd, s.qdd) + loss
    assert gap(robolin.inverse(arm, s.q, s.qd, s.qdd), tau) <= EXACT
    one = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd)
    two = robolin.linearize_inverse(free, s.q, s.qd, s.qdd)
    assert gap(one.dtau_dqd, two.dtau_dqd + slope[..., None] * np.eye(4)) <= EXACT
    assert gap(robolin.forward(arm, s.q, s.qd, tau), s.qdd) <= divided(one.mass_matrix)


# loads


@some
@pytest.mark.parametrize("model", WRENCH_MODELS)
def test_wrench_costs_its_virtual_work(arm: Arm, model: str) -> None:
    """An arm at rest without gravity needs -(∂p/∂q)* F - (spin)* N, rates by complex step."""
    loaded = replace(with_wrench(arm, model), gravity=(0.0, 0.0, 0.0))
    q = random_states(arm, 2).q

    assert gap(robolin.inverse(loaded, q), load_torque(loaded, q)) <= EXACT


@some
def test_wrench_models_differ_in_the_position_gradient_only(arm: Arm) -> None:
    """The same load in three wrench models gives the same τ, 𝓜, A_D and q̈."""
    s = random_states(arm, 1)
    R, p = (part[0] for part in frame_in_world(arm, TOOL, s.q))
    dead = with_wrench(arm, "dead").wrenches[0]
    F, N = np.array(dead.force), np.array(dead.moment)
    ways = (
        dead,
        Wrench(TOOL, "follower", tuple(R.T @ F), tuple(R.T @ N)),
        Wrench(TOOL, "world", tuple(F), tuple(N + np.cross(p, F))),
    )
    arms = [replace(arm, wrenches=(wrench,)) for wrench in ways]
    taus = [robolin.inverse(loaded, s.q, s.qd, s.qdd) for loaded in arms]
    models = [robolin.linearize_inverse(loaded, s.q, s.qd, s.qdd) for loaded in arms]
    qdds = [robolin.forward(loaded, s.q, s.qd, taus[0]) for loaded in arms]

    for i in (1, 2):
        assert gap(taus[i], taus[0]) <= EXACT
        assert gap(models[i].mass_matrix, models[0].mass_matrix) <= EXACT
        assert gap(models[i].dtau_dqd, models[0].dtau_dqd, made_of=1.0) <= EXACT
        assert gap(qdds[i], qdds[0]) <= 10.0 * divided(models[0].mass_matrix)
        if any(link.joint.turns for link in _path(arm, TOOL)):
            assert gap(models[i].dtau_dq, models[0].dtau_dq) > 1e-3


def _path(arm: Arm, frame: str) -> Iterator[Link]:
    """The links between a frame and the base."""
    k = arm.frames[frame].link
    while k != arm.base:
        yield arm.link(k)
        k = arm.link(k).parent
