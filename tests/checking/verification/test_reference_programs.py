"""Reference implementations, run on the same arm."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import robolin
from robolin.checking.verification.bodies import dissipation_and_load_torques
from tests.checking.verification.test_mutations import mutate
from tests.robots import random_arm, with_follower, with_wrench

pytestmark = pytest.mark.usefixtures("without_kernels")
only_the_peer = pytest.mark.usefixtures("only_the_peer")

EVERYTHING = {
    "friction_velocity": 0.3,
    "armature": {"panda_joint2": 0.4},
    "wrench": {"panda_link5": (3.0, -2.0, 5.0, 1.0, 0.5, -0.7)},
    "wrench_frame": "dead",
}


def against(verification: robolin.Verification) -> dict[str, Any]:
    return {c.name: c for c in verification.checks if c.family.startswith("against")}


@pytest.mark.slow
@only_the_peer
@pytest.mark.parametrize("peer", ["pinocchio", "mujoco"])
def test_everything_the_contract_includes_is_accounted_for(peer: str) -> None:
    """Damping, friction, rotors and wrenches are in both results, and the report states how."""
    pytest.importorskip(peer)
    verification = robolin.verify(robolin.load("panda", **EVERYTHING), samples=4, against=peer)

    assert not verification.failed
    checks = against(verification)
    assert {"tau", "mass_matrix", "dtau_dqd", "dtau_dq", "qdd"} <= set(checks)
    assert all(check.verdict == "passed" for check in checks.values())
    assert verification.comparison is not None
    assert verification.comparison.read == "read from the file"
    assert set(verification.comparison.accounted) >= {"damping", "armature", "wrench"}


@pytest.mark.slow
@only_the_peer
@pytest.mark.parametrize("peer", ["pinocchio", "mujoco"])
def test_mimic_joints_are_reduced_afterwards(peer: str) -> None:
    """A mimic joint is free in the other program; its results are reduced, and this is reported."""
    pytest.importorskip(peer)
    verification = robolin.verify(robolin.load("panda-fingers"), samples=3, against=peer)
    checks = against(verification)

    assert not verification.failed
    assert checks["dtau_dq"].verdict == "passed"
    assert "mimics" in checks["qdd"].detail
    assert verification.comparison is not None
    assert "coupled" in verification.comparison.accounted["mimic"]


@pytest.mark.slow
@only_the_peer
@pytest.mark.parametrize("peer", ["pinocchio", "mujoco"])
def test_arms_without_a_file_are_built(peer: str) -> None:
    """Trees, prismatic joints, mimic joints and wrenches without a file are compared too."""
    pytest.importorskip(peer)
    tree = random_arm(44, 6, tree=True, armature=True, damping=True)
    for arm in (with_wrench(tree, "world"), with_follower(tree)):
        verification = robolin.verify(arm, samples=3, against=peer)
        assert not verification.failed
        assert verification.comparison is not None
        assert verification.comparison.read.startswith("built")
        assert against(verification)["tau"].verdict == "passed"


@pytest.mark.slow
@only_the_peer
def test_another_structure_than_the_files_is_built() -> None:
    """A locked joint or a payload makes another arm than the file has."""
    pytest.importorskip("pinocchio")
    for options in ({"lock": {"panda_joint3": 0.5}}, {"payload": ("panda_link7", 2.0)}):
        verification = robolin.verify(
            robolin.load("panda", **options), samples=2, against="pinocchio"
        )
        assert not verification.failed
        assert verification.comparison is not None
        assert verification.comparison.read.startswith("built joint by joint")


def test_a_refusal_is_not_a_pass() -> None:
    """MuJoCo rejects bodies without inertia about some axis; the report states this only."""
    pytest.importorskip("mujoco")
    verification = robolin.verify(robolin.load("two-link"), samples=1, against="mujoco")
    (check,) = against(verification).values()
    assert check.verdict == "not run"
    assert "mjMINVAL" in check.detail


def test_a_wrong_result_differs_from_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """One part in 10⁹ in a torque is seen."""
    pytest.importorskip("pinocchio")
    from robolin.checking.verification.peers import compared_with
    from tests.checking.verification.test_mutations import SLIGHTLY, subject

    mutate(monkeypatch, "inverse", "tau", lambda value: value * SLIGHTLY)
    _, checks = compared_with("pinocchio", subject())
    assert {c.name for c in checks if c.verdict == "failed"} >= {"tau"}


def test_a_missing_reference_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the package to install."""
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.verify(random_arm(1, 2), against="pinocchio")
    assert caught.value.hint == "pip install pin"


@pytest.mark.slow
def test_without_mpmath_digits_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that could not run is reported with the package to install."""
    monkeypatch.setitem(sys.modules, "mpmath", None)
    verification = robolin.verify(random_arm(1, 2), samples=1)
    (check,) = [c for c in verification.checks if c.family == "digits"]
    assert check.verdict == "not run"
    assert "pip install mpmath" in check.detail
    assert verification.passed


@pytest.mark.slow
def test_loads_and_dissipation_of_a_plain_arm_are_zero() -> None:
    """Nothing is added to the other program's torques if the arm has no loads or damping."""
    arm = random_arm(12, 4)
    states = robolin.verify(arm, samples=2).states
    assert not dissipation_and_load_torques(arm, states["q"], states["qd"]).any()
