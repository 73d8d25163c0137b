"""Arms with a floating base: against Pinocchio's free flyer, far away, and with all options.

Bundled Panda always; Solo12, ANYmal, TIAGo Pro and Panda with its hand if the published files are
available.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.arm_parts import rotation_from_rpy
from robolin.core.configuration import integrate, matrix_of, quaternion_from_rpy
from robolin.description.robot_source import bundled_path
from tests.dynamics.running import gap_by_state
from tests.published import URDF, needs_published_files
from tests.robots import States, random_states

STATES = 2
FILES = [bundled_path("panda")] + [
    pytest.param(URDF / f"{name}.urdf", marks=needs_published_files)
    for name in ("solo12", "anymal", "tiago_pro", "panda")
]


def free(path: Path, **options: object) -> Arm:
    return robolin.load(path, floating_base=True, damping=False, **options)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_pinocchios_free_flyer(path: Path) -> None:
    """τ, 𝓜, A_D, B_D to 1e-12; 𝓜⁻¹, A_C, B_C to 1e-12 + 1e-15 cond(𝓜); q̈ to ten times that.

    Measured: 2e-15 on the inverse side, 3e-12 on the forward side (cond(𝓜) from 4e3 to 5e5).
    """
    pytest.importorskip("pinocchio")
    from tests.dynamics.grouped_reference import free_flyer_from_urdf, grouped_reference

    arm = free(path)
    states = random_states(arm, STATES)
    true = grouped_reference(free_flyer_from_urdf(path, arm), arm, states)
    motion = (states.q, states.qd, states.qdd)
    assert gap_by_state(robolin.inverse(arm, *motion), true.tau).max() <= 1e-12
    inverse = robolin.linearize_inverse(arm, *motion)
    for name in ("mass_matrix", "dtau_dqd", "dtau_dq"):
        assert gap_by_state(getattr(inverse, name), getattr(true, name)).max() <= 1e-12, name

    tolerance = 1e-12 + 1e-15 * np.linalg.cond(true.mass_matrix)
    for method in ("conventional",) if arm.has_mimic else ("conventional", "operator"):
        qdd = robolin.forward(arm, states.q, states.qd, true.tau, method=method)
        assert (gap_by_state(qdd, true.qdd) <= 10.0 * tolerance).all()
        forward = robolin.linearize_forward(arm, states.q, states.qd, true.tau, method=method)
        for name in ("dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
            error = gap_by_state(getattr(forward, name), getattr(true, name))
            assert (error <= tolerance).all(), (method, name)
    _assert_perturbations(arm, states, true, tolerance)


def _assert_perturbations(arm: Arm, s: States, true: object, tolerance: np.ndarray) -> None:
    changes = {"dtau_dq": s.dq, "dtau_dqd": s.dqd, "mass_matrix": s.dqdd}
    expected = sum(np.einsum("bij,bj->bi", getattr(true, n), x) for n, x in changes.items())
    change = robolin.perturb_inverse(arm, s.q, s.qd, s.qdd, s.dq, s.dqd, s.dqdd)
    assert gap_by_state(change, expected).max() <= 1e-12
    changes = {"dqdd_dq": s.dq, "dqdd_dqd": s.dqd, "dqdd_dtau": s.dtau}
    expected = sum(np.einsum("bij,bj->bi", getattr(true, n), x) for n, x in changes.items())
    change = robolin.perturb_forward(arm, s.q, s.qd, true.tau, s.dq, s.dqd, s.dtau)
    assert (gap_by_state(change, expected) <= 10.0 * tolerance).all()


def test_a_kilometre_away_no_digit_is_lost() -> None:
    """The position of the arm in the world enters no result: the bits are those at the origin."""
    arm = free(bundled_path("panda"))
    s = random_states(arm, 4)
    at = arm.coordinate_indices(arm.groups[0])
    far = s.q.copy()
    far[:, [at[part] for part in "xyz"]] += np.array([1000.0, -700.0, 333.0])
    home, away = (robolin.linearize_inverse(arm, q, s.qd, s.qdd) for q in (s.q, far))
    for name in ("mass_matrix", "dtau_dqd", "dtau_dq"):
        assert np.array_equal(getattr(home, name), getattr(away, name)), name
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    home, away = (robolin.linearize_forward(arm, q, s.qd, tau) for q in (s.q, far))
    for name in ("qdd", "dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
        assert np.array_equal(getattr(home, name), getattr(away, name)), name


def test_a_world_wrench_depends_on_the_position_of_the_arm() -> None:
    """A force about the world's origin has a torque about the base that grows with distance."""
    load = {"panda_link0": (0.0, 0.0, 5.0, 0.0, 0.0, 0.0)}
    loaded = free(bundled_path("panda"), wrench=load, wrench_frame="world", gravity=0.0)
    rpy, r, F = (0.3, -0.7, 1.1), np.array([3.0, -2.0, 1.0]), np.array([0.0, 0.0, 5.0])
    q = np.concatenate([rpy, r, np.zeros(7)])
    tau = robolin.inverse(loaded, q, 0.0, 0.0)
    # the base balances the applied wrench: F, and -r x F about the base, in its own axes
    R = np.reshape(rotation_from_rpy(*rpy), (3, 3))
    expected = np.concatenate([R.T @ np.cross(r, F), -R.T @ F])
    np.testing.assert_allclose(tau[:6], expected, atol=1e-13)


def test_a_base_that_is_held_moves_as_a_fixed_arm() -> None:
    """With the base at rest in the root's pose, the joints' torques are those of the fixed arm.

    The same sums about another point: 1e-13.
    """
    fixed, loose = robolin.load("panda"), robolin.load("panda", floating_base=True)
    s = random_states(fixed, 5)
    lead = np.zeros((5, 6))
    q, qd, qdd = (np.concatenate([lead, x], axis=1) for x in (s.q, s.qd, s.qdd))
    tau = robolin.inverse(loose, q, qd, qdd)
    assert gap_by_state(tau[:, 6:], robolin.inverse(fixed, s.q, s.qd, s.qdd)).max() <= 1e-13
    # at rest the wrench that holds the base compensates the gravity of all links
    still = robolin.inverse(loose, q, 0.0, 0.0)
    mass = sum(link.inertia.mass for link in loose.links)
    np.testing.assert_allclose(still[:, 3:6], np.tile([0.0, 0.0, 9.81 * mass], (5, 1)), atol=1e-12)


def test_another_link_as_the_floating_base() -> None:
    """--base selects the floating link: the same motion of one rigid chain at another link.

    Kinetic energy ½ q̇*𝓜q̇ of the locked arm, to round-off of sums of that size (1e-12).
    """
    lock = dict.fromkeys((f"panda_joint{i}" for i in range(1, 7)), 0.4)
    root = free(bundled_path("panda"), lock=lock)
    there = free(bundled_path("panda"), lock=lock, base="panda_link4")
    assert there.joint_names == root.joint_names
    assert there.link(there.groups[0].body).name == "panda_link4"
    rng = np.random.default_rng(0)
    twist, rate = rng.normal(size=6), 0.7

    # where link 4 is on the rigid body, seen from the root link
    frame = root.frames["panda_link4"].pose
    R, p = np.reshape(frame.rotation, (3, 3)), np.array(frame.translation)
    w, u = twist[:3], twist[3:]
    seen = np.concatenate([R.T @ w, R.T @ (u + np.cross(w, p))])
    energies = []
    for arm, speed in ((root, twist), (there, seen)):
        v = np.concatenate([speed, [rate]])
        energies.append(0.5 * v @ robolin.mass_matrix(arm, np.zeros(7)) @ v)
    assert energies[0] == pytest.approx(energies[1], rel=1e-12)


def test_free_fall() -> None:
    """Without torques, a resting arm falls: its base accelerates with gravity, no joint moves.

    q̈ of the joints is zero to rounding times cond(𝓜) = 1e4: 1e-10 of g.
    """
    arm = free(bundled_path("panda"))
    s = random_states(arm, 3)
    qdd = robolin.forward(arm, s.q, 0.0, 0.0)
    assert np.linalg.norm(qdd[:, 3:6], axis=1) == pytest.approx(9.81, rel=1e-10)
    assert np.abs(np.delete(qdd, [3, 4, 5], axis=1)).max() <= 1e-9


def test_momentum_changes_by_gravity_alone() -> None:
    """Joint torques do not change linear momentum and angular momentum about the falling mass.

    The momentum in the world is read off the base's rows of 𝓜 q̇. Its rate along q̇ and q̈, by
    central differences of step 1e-5 (third derivatives up to 1e3, rounding 1e-15 / 1e-5), is the
    gravity force and its torque about the origin, which comes from the potential energy alone.
    """
    arm, h = free(bundled_path("panda")), 1e-5
    s = random_states(arm, 5)
    tau = np.concatenate([np.zeros((5, 6)), s.qdd[:, 6:]], axis=1)
    qdd = robolin.forward(arm, s.q, s.qd, tau)

    def momentum(t: float) -> np.ndarray:
        q = integrate(arm, s.q, t * s.qd + 0.5 * t * t * qdd)
        return in_the_world(q, robolin.mass_matrix(arm, q), s.qd + t * qdd)

    weight = -in_the_world(s.q, np.eye(arm.n), robolin.inverse(arm, s.q))
    rate = (momentum(h) - momentum(-h)) / (2.0 * h)
    assert np.abs(rate - weight).max() <= 1e-7 * np.abs(weight).max()


def in_the_world(q: np.ndarray, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """[torque about the origin; force] of the base's rows of matrix times vector, in its axes."""
    along = np.einsum("...ij,...j->...i", matrix, vector)[:, :6]
    R = matrix_of(quaternion_from_rpy(q[:, :3]))
    torque, force = (np.einsum("bij,bj->bi", R, half) for half in (along[:, :3], along[:, 3:]))
    return np.concatenate([torque + np.cross(q[:, 3:6], force), force], axis=1)


BAD = {
    "lock": (
        {"lock": {"base": 1.0}},
        "panda.urdf:9: lock: joint 'base' is floating, so its position is not a single number",
        "--floating-base",
    ),
    "lock one freedom": (
        {"lock": {"base:x": 1.0}},
        "panda.urdf: lock: joint 'base:x' not found",
        "is only one degree of freedom of joint",
    ),
    "unknown base": ({"base": "nowhere"}, "panda.urdf: base: link 'nowhere' not found", ""),
    "order": (
        {"joints": ["base", "base:x"]},
        "panda.urdf: joints: the list contains 'base:x' more than once",
        "",
    ),
}


@pytest.mark.parametrize(("options", "message", "hint"), BAD.values(), ids=BAD)
def test_wrong_options(options: dict[str, object], message: str, hint: str) -> None:
    """Invalid options of a floating base are errors with a hint."""
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.load("panda", floating_base=True, **options)
    assert message in str(caught.value)
    assert hint in str(caught.value)


def test_the_order_of_joints_may_name_the_base_as_one() -> None:
    """`joints` accepts the name of the joint for all its coordinates, in their own order."""
    names = [f"panda_joint{i}" for i in range(1, 8)]
    arm = robolin.load("panda", floating_base=True, joints=[*names, "base"])
    parts = tuple(f"base:{part}" for part in ("rx", "ry", "rz", "x", "y", "z"))
    assert arm.joint_names == (*names, *parts)


def test_armature_of_the_base_or_of_one_coordinate() -> None:
    """A rotor on the joint applies to each of its coordinates, unless a coordinate has its own."""
    arm = robolin.load("panda", floating_base=True, armature={"base": 0.5, "base:x": 0.2})
    plain = robolin.load("panda", floating_base=True)
    more = robolin.mass_matrix(arm, 0.3) - robolin.mass_matrix(plain, 0.3)
    expected = np.diag([0.5, 0.5, 0.5, 0.2, 0.5, 0.5] + [0.0] * 7)
    assert np.abs(more - expected).max() <= 1e-14


def test_the_contract_lists_the_floating_base() -> None:
    """Contract and inspection name the floating link and the meaning of its numbers."""
    arm = robolin.load("panda", floating_base=True)
    assert arm.contract["base"].startswith("floating: joint 'base' between the world and")
    assert "in the axes of link 'panda_link0'" in arm.contract["freedoms"]
    assert "world's axes" in arm.contract["gravity"]


def test_a_joint_called_base_conflicts_with_the_floating_base(tmp_path: Path) -> None:
    """The name of the floating joint must be unique."""
    text = bundled_path("panda").read_text().replace('"panda_joint1"', '"base"')
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    with pytest.raises(
        robolin.RobolinError, match="floating base: the robot file has a joint 'base'"
    ):
        robolin.load(file, floating_base=True)
    file.write_text(text.replace('"base"', '"base:rz"'))
    with pytest.raises(
        robolin.RobolinError, match="floating base: the robot file has a joint 'base:rz'"
    ):
        robolin.load(file, floating_base=True)
