"""Closures of arms of any size: which equations are independent does not depend on the unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Frame, Link, Pose
from robolin.evaluation.loop_linear_algebra import independent_row_mask
from tests.evaluation.loops.closed_arms import METHODS

# powers of two, so that lengths are scaled without rounding: from 1 pm to 268 000 km for a metre;
# beyond that, rounding alone opens the closures by more than the 1e-6 m that are accepted
SCALES = (2.0**-40, 2.0**-10, 2.0**10, 2.0**28)
# the condition number of these equations is below 100
AGREE = 1e-12


def tilt() -> np.ndarray:
    """A rotation without zeros, which leaves rounding in the equations that are dependent."""
    orthogonal, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    return orthogonal * np.sign(np.linalg.det(orthogonal))


def scaled(arm: Arm, scale: float) -> Arm:
    """The arm with all lengths multiplied, tilted in space; times and masses are kept."""
    turn = tilt()

    def longer(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(scale * each for each in values)

    def moved(pose: Pose, on_base: bool) -> Pose:
        R, p = np.reshape(pose.rotation, (3, 3)), np.array(pose.translation)
        R, p = (turn @ R, turn @ p) if on_base else (R, p)
        return Pose(tuple(R.ravel().tolist()), longer(tuple(p.tolist())))

    def link(each: Link) -> Link:
        joint = replace(each.joint, pose=moved(each.joint.pose, each.parent == arm.base))
        inertia = replace(
            each.inertia,
            com=longer(each.inertia.com),
            rotary=tuple(scale**2 * i for i in each.inertia.rotary),
        )
        return replace(each, joint=joint, inertia=inertia)

    def frame(each: Frame) -> Frame:
        return replace(each, pose=moved(each.pose, each.link == arm.base))

    return replace(
        arm,
        name=f"{arm.name}-{scale:g}",
        links_tip_to_base=tuple(link(each) for each in arm.links_tip_to_base),
        frames={name: frame(each) for name, each in arm.frames.items()},
        loops=tuple(
            replace(each, first=frame(each.first), second=frame(each.second)) for each in arm.loops
        ),
        gravity=longer(tuple((turn @ arm.gravity).tolist())),
    )


def close(computed: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.abs(computed - expected).max() <= AGREE * np.abs(expected).max())


@pytest.mark.parametrize("scale", SCALES)
def test_accelerations_do_not_depend_on_the_size_of_a_linkage(scale: float) -> None:
    """Lengths and gravity times s: positions and accelerations stay, torques are times s²."""
    usual = robolin.load("four-bar")
    state = robolin.close(usual, [0.4, 0.0, 0.0], [1.3, 0.0, 0.0], hold="drive")
    tau = np.array([0.7, 0.0, 0.0])
    arm = scaled(usual, scale)
    expected = robolin.forward(usual, state.q, state.qd, tau)
    for method in METHODS:
        qdd = robolin.forward(arm, state.q, state.qd, scale**2 * tau, loop_method=method)
        assert close(qdd, expected), method
    assert robolin.loop_forces(arm, state.q, state.qd, scale**2 * tau).rank == 2
    held = robolin.state_space(usual, state.q, state.qd)
    model = robolin.state_space(arm, state.q, state.qd)
    assert len(model.states) == len(held.states) == 2
    assert close(model.A, held.A)
    assert close(scale**2 * model.B, held.B)


@pytest.mark.parametrize("scale", (1.0, *SCALES))
def test_the_rank_is_that_of_the_scaled_rows(scale: float) -> None:
    """Two of three rows are independent: one is the sum of the others up to round-off."""
    rows = np.random.default_rng(5).normal(size=(4, 2, 5))
    L = scale * np.concatenate([rows, rows.sum(axis=1, keepdims=True) * (1.0 + 1e-15)], axis=1)
    kept = independent_row_mask(L)
    assert (kept.sum(axis=1) == 2).all()
    for each, mask in zip(L, kept, strict=True):
        assert np.linalg.matrix_rank(each[mask]) == 2
