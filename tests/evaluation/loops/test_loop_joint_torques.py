"""Torques of loop joints: the same linkage cut elsewhere, and their power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Frame, Link, Loop, Pose
from tests.evaluation.loops.closed_arms import Closed, relative, sample

# measured at 2e-15
AGREE = 1e-12


def cut_at_the_pivot() -> Arm:
    """The four-bar with its rocker hung on the coupler: its pin is a joint, its pivot a closure.

    Links are rocker, coupler and crank from the tip; the rocker's own frame stays where it was.
    """
    arm = robolin.load("four-bar")
    rocker, coupler, crank = arm.links_tip_to_base
    end = arm.loops[0].first.pose
    shift = tuple(-x for x in arm.loops[0].second.pose.translation)
    centre = tuple(a + b for a, b in zip(rocker.inertia.com, shift, strict=True))
    pin = replace(rocker.joint, name="pin", pose=end)
    hung = Link("rocker", pin, 2, replace(rocker.inertia, com=centre))
    foot = Frame("foot", 1, Pose(translation=shift))
    pivot = Frame("ground", 4, rocker.joint.pose)
    return replace(
        arm,
        links_tip_to_base=(hung, coupler, crank),
        joint_names=("drive", "knee", "pin"),
        loops=(Loop("pivot", "point", foot, pivot),),
        frames={},
    )


@pytest.mark.parametrize("torque", [0.0, 3.0])
def test_a_drive_at_the_cut_is_a_joints_torque_elsewhere(torque: float) -> None:
    """Torque about the pin moves the four-bar the same, as a closure or as a joint."""
    arm, other = robolin.load("four-bar"), cut_at_the_pivot()
    for angle in (-0.4, 0.2, 0.5):
        here = robolin.close(arm, [angle, 0.0, 0.0], [0.7, 0.0, 0.0], hold="drive")
        turned = here.q[2] - here.q[0] - here.q[1]
        rates = here.qd[2] - here.qd[0] - here.qd[1]
        q, qd = np.array([*here.q[:2], turned]), np.array([*here.qd[:2], rates])

        # the joint rotates the rocker relative to the coupler, the closure the coupler relative to
        # the rocker
        effort = np.array([1.0, -0.5, 0.0])
        closing = robolin.loop_joint_torques(
            arm, here.q, {"pin": [0.0, 0.0, -torque, 0.0, 0.0, 0.0]}
        )
        qdd = robolin.forward(arm, here.q, here.qd, effort + closing)
        true = robolin.forward(other, q, qd, effort + np.array([0.0, 0.0, torque]))
        assert relative(qdd[:2], true[:2]) < AGREE


@pytest.mark.parametrize("closed", sample(), ids=lambda closed: closed.arm.name)
def test_constrained_directions_change_loop_forces_only(closed: Closed) -> None:
    """A force between constrained frames is balanced by the closure: τ_a = L* w."""
    loop, rows = closed.arm.loops[0], robolin.loop_constraints(closed.arm, closed.q)
    w = np.random.default_rng(3).normal(size=6)
    if loop.kind == "point":
        w[:3] = 0.0
    torques = robolin.loop_joint_torques(closed.arm, closed.q, {loop.name: w})
    held = np.concatenate([w[3:], w[:3]])[: 6 if loop.kind == "rigid" else 3]
    pulled = np.einsum("bij,i->bj", rows.jacobian[:, : len(held)], held)
    before = robolin.loop_forces(closed.arm, closed.q, closed.qd, closed.tau)
    after = robolin.loop_forces(closed.arm, closed.q, closed.qd, closed.tau + torques)

    assert relative(torques, pulled) < AGREE
    assert np.abs(after.qdd - before.qdd).max() < 1e-10 * np.abs(before.qdd).max()


def test_invalid_loop_wrenches_are_rejected() -> None:
    """Names of loops, six numbers, and finite ones."""
    arm, q = robolin.load("four-bar"), np.zeros(3)
    with pytest.raises(robolin.UsageError, match="loop 'pim' not found") as caught:
        robolin.loop_joint_torques(arm, q, {"pim": np.zeros(6)})
    assert "pin" in caught.value.hint
    with pytest.raises(robolin.RobolinError, match="': the wrench must have 6 numbers, got shape"):
        robolin.loop_joint_torques(arm, q, {"pin": [1.0, 2.0]})
    with pytest.raises(robolin.RobolinError, match="must be finite"):
        robolin.loop_joint_torques(arm, q, {"pin": [np.nan] * 6})
