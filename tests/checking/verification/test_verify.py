"""Correct arms pass, and defects of arms are reported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.checking.verification.checks import WHY
from robolin.core.arm import Arm, Frame, Inertia, Joint, Limits, Link, Pose
from robolin.description.robot_source import bundled_names
from tests.published import URDF, needs_published_files
from tests.robots import (
    WRENCH_MODELS,
    arm_name,
    grouped_arm,
    random_arm,
    with_follower,
    with_wrench,
)

without_kernels = pytest.mark.usefixtures("without_kernels")

FULLY = ("two-link",)
LINKAGES = ("four-bar", "five-bar")
GRIPPER = "panda-fingers"
# the others have tests of their own
PLAIN = [name for name in bundled_names() if name not in (*LINKAGES, GRIPPER)]


def assert_passes(verification: robolin.Verification) -> None:
    assert not verification.failed, [
        (check.family, check.name, check.error) for check in verification.failed
    ]
    assert verification.passed, verification.defects


def assert_reasons(verification: robolin.Verification) -> None:
    """Every comparison states its bound and the reason."""
    compared = [check for check in verification.checks if check.error is not None]
    assert len(compared) > 40
    assert all(check.why in WHY and check.bound is not None for check in compared)
    assert verification.worst.share == max(check.share for check in compared)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_bundled_arms_pass(name: str) -> None:
    """Nothing is out of bounds for any arm that comes with robolin, and bounds have reasons."""
    verification = robolin.verify(robolin.load(name), samples=None if name in FULLY else 1)
    assert_passes(verification)
    assert_reasons(verification)


def _unusual() -> list[Arm]:
    """Random chains and trees with everything that the contract can include."""
    arms = [with_follower(random_arm(5, 4, armature=True, damping=True, friction_velocity=0.3))]
    for seed, model in enumerate(WRENCH_MODELS):
        arm = random_arm(60 + seed, 4, tree=seed == 1, damping=True, friction_velocity=0.3)
        arms.append(replace(with_wrench(arm, model, seed), name=f"{arm.name}-{model}"))
    return arms


@pytest.mark.slow
@without_kernels
@pytest.mark.parametrize("arm", _unusual(), ids=arm_name)
def test_dissipation_loads_and_mimic_joints_pass(arm: Arm) -> None:
    """Damping, friction, rotors, wrenches and mimic joints pass the checks."""
    verification = robolin.verify(arm, samples=2)
    assert_passes(verification)
    verdicts = {check.name: check.verdict for check in verification.checks}
    assert (
        verdicts["dissipation and load torques = damping + friction + virtual work of the wrenches"]
        == "passed"
    )


@pytest.mark.slow
@without_kernels
def test_floating_base_passes() -> None:
    """Multi-DoF joints are checked along their twists, not along their angles."""
    verification = robolin.verify(grouped_arm(3, ("floating", "revolute")), samples=1)
    assert_passes(verification)
    checks = {check.name: check for check in verification.checks}
    assert checks["dtau_dq = ∂tau/∂q"].verdict == "passed"
    assert checks["q̇ᵀτ = rate of change of the total energy"].verdict == "passed"
    assert checks["Ṁ - 2C is skew-symmetric"].verdict == "passed"
    assert checks["dmass_matrix_dq = ∂mass_matrix/∂q"].verdict == "passed"
    reasons = {check.detail for check in verification.checks if check.verdict == "not applicable"}
    assert any("divides by the inertia of every link, but" in each for each in reasons)


@pytest.mark.slow
@pytest.mark.parametrize("arm", LINKAGES)
def test_loops_are_checked_closed(arm: str) -> None:
    """Closures, their motion and its linearization are compared, with kernels and digits."""
    verification = robolin.verify(robolin.load(arm), samples=2)
    assert_passes(verification)
    assert_reasons(verification)
    passed = {check.name: check for check in verification.checks if check.verdict == "passed"}
    for name in ("L = ∂gap/∂q", "dlam_dq = ∂lam/∂q", "only τ and dissipation change the energy"):
        assert passed[name].family == "loops"
    assert "5 algorithms" in passed["closed: compiled kernels = plain Python"].detail
    assert {"closures", "forward-closed", "forward-closed-recursive"} <= passed.keys()


@pytest.mark.slow
@without_kernels
def test_states_that_cannot_be_closed_are_counted() -> None:
    """A loop that no state can close is reported, and nothing is compared."""
    arm = robolin.load("four-bar")
    far = Frame("far", arm.base, Pose(translation=(9.0, 0.0, 0.0)))
    torn = replace(arm, loops=(replace(arm.loops[0], second=far),))
    checks = [c for c in robolin.verify(torn, samples=2).checks if c.family == "loops"]
    (check,) = (c for c in checks if c.name == "closed loops in all states")
    assert check.detail == "2 of 2 states could not be projected onto the loop constraints"


@pytest.mark.slow
def test_arms_with_grippers_are_checked_in_diagonalizing_velocities() -> None:
    """Elimination is used there, and its results pass the same identities and digits.

    Recursions with free joints do not apply to followers, and every one of them says so.
    """
    verification = robolin.verify(robolin.load(GRIPPER), samples=1)
    assert_passes(verification)
    assert_reasons(verification)
    verdicts = {check.name: check.verdict for check in verification.checks}
    for name in ("M = m m*", "ν̇ + C(q, ν) = ε", "undiagonalize inverts diagonalize"):
        assert verdicts[name] == "passed"
    for verb in ("mass-matrix-factor", "forward-diagonalized", "rate-control", "undiagonalize"):
        assert verdicts[f"{verb}-conventional"] == "passed"

    reason = "joint 'panda_finger_joint2' mimics 'panda_finger_joint1'"
    silent = [check for check in verification.checks if check.error is None and not check.detail]
    details = {check.name: check.detail for check in verification.checks if check.error is None}
    assert not silent
    assert details["forward: articulated bodies = mass matrix and elimination"] == reason
    assert details["linearize-forward: Algorithm 6 = Algorithm 4"] == reason


def _with_idle_tip(arm: Arm) -> Arm:
    return replace(
        arm,
        links_tip_to_base=(
            replace(arm.links_tip_to_base[0], inertia=Inertia()),
            *arm.links_tip_to_base[1:],
        ),
    )


@without_kernels
def test_a_joint_that_moves_nothing_is_a_defect() -> None:
    """The joint is named with a remedy; inverse dynamics are still checked, forward are not."""
    verification = robolin.verify(_with_idle_tip(random_arm(3, 4, prismatic=False)), samples=3)
    checks = {check.name: check for check in verification.checks}
    (defect,) = verification.defects

    assert not verification.passed
    assert not verification.failed
    assert "joint 'joint3' moves no inertia" in defect
    assert "--armature joint3=VALUE" in defect
    assert checks["dtau_dq = ∂tau/∂q"].verdict == "passed"
    assert checks["M M⁻¹ = 1"].detail == "joint 'joint3' moves no inertia"


def _wrist(lower: float) -> Arm:
    """z, y, z with a body on the last joint only: singular where the middle joint is at zero."""
    body = Inertia(1.0, (0.2, 0.1, 0.3), (0.02, 0.001, 0.002, 0.03, 0.003, 0.04))
    axes, links = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), []
    for k, axis in enumerate(reversed(axes), start=1):
        limits = Limits(lower, 2.0) if k == 2 else Limits(-1.0, 1.0)
        joint = Joint(f"joint{k}", "revolute", Pose(), axis, limits)
        links.append(Link(f"link{k}", joint, k + 1, body if k == 1 else Inertia()))
    return Arm("wrist", tuple(links), {}, ("joint3", "joint2", "joint1"))


@pytest.mark.slow
@without_kernels
def test_a_singular_pose_is_a_defect_and_left_out() -> None:
    """Where axes of massless links line up nothing can be divided; elsewhere all is checked."""
    verification = robolin.verify(_wrist(lower=0.0), samples=3)
    (defect,) = verification.defects

    assert "joint 'joint3' moves no inertia" in defect
    assert "in 1 of 3 states, excluded from the checks" in defect
    assert len(verification.condition) == 2
    assert not verification.failed
    assert {check.name for check in verification.checks if check.verdict == "passed"} >= {
        "M M⁻¹ = 1"
    }
    assert robolin.verify(_wrist(lower=0.5), samples=3).passed


@pytest.mark.slow
@without_kernels
def test_an_all_but_singular_pose_is_a_defect() -> None:
    """A condition number of 1e12 leaves forward results no digits to speak of."""
    verification = robolin.verify(_wrist(lower=1e-6), samples=4)
    (defect,) = verification.defects

    assert "nearly singular" in defect
    assert verification.condition.max() < 1e12


@pytest.mark.slow
@without_kernels
@needs_published_files
@pytest.mark.parametrize(
    ("stem", "defect"),
    [
        ("double_pendulum", ""),
        ("iris", ""),
        ("allegro_left_hand", ""),
        ("romeo_laas_small", "joint 'r_gripper_joint' moves no inertia"),
    ],
)
def test_published_files_pass_or_have_a_defect(stem: str, defect: str) -> None:
    """Rotors without Coriolis forces, damping far above inertia, joints that move nothing."""
    verification = robolin.verify(robolin.load(URDF / f"{stem}.urdf"), samples=1)

    assert not verification.failed
    assert (
        any(defect in text for text in verification.defects) if defect else not verification.defects
    )


@pytest.mark.slow
@without_kernels
def test_the_same_seed_gives_the_same_verification() -> None:
    """Two runs agree in every number; another seed uses other states.

    Bounds have reasons on random arms too.
    """
    arm = random_arm(8, 2)
    one, same, other = (robolin.verify(arm, samples=2, seed=seed) for seed in (1, 1, 2))

    assert one.checks == same.checks
    assert np.array_equal(one.states["q"], same.states["q"])
    assert not np.array_equal(one.states["q"], other.states["q"])
    assert_reasons(one)


@pytest.mark.parametrize("options", [{"samples": 0}, {"seed": -1}, {"against": "drake"}])
def test_options_that_make_no_sense(options: dict[str, object]) -> None:
    """They are rejected before anything is computed."""
    with pytest.raises(robolin.UsageError):
        robolin.verify(random_arm(8, 2), **options)
