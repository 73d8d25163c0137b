"""States projected onto closures, and states that violate them and are rejected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Link, Pose
from tests.evaluation.loops.closed_arms import Closed, sample
from tests.evaluation.loops.reduced import FIVE_BAR, FOUR_BAR, Linkage, reduced

every_arm = pytest.mark.parametrize("closed", sample(), ids=lambda closed: closed.arm.name)


@pytest.mark.parametrize(
    "name, linkage, held",
    [
        ("four-bar", FOUR_BAR, ["drive"]),
        ("five-bar", FIVE_BAR, ["left_shoulder", "right_shoulder"]),
    ],
)
def test_joints_follow_those_that_are_held(name: str, linkage: Linkage, held: list[str]) -> None:
    """With the free coordinates held, closing is the geometry of circles that meet."""
    arm = robolin.load(name)
    indices = [arm.joint_names.index(joint) for joint in held]
    theta, rate = np.full(len(held), 0.4), np.linspace(1.0, -0.5, len(held))
    true = reduced(linkage, theta, rate, np.zeros(arm.n))
    q, qd = np.zeros((2, arm.n))
    q[indices], qd[indices] = theta, rate
    computed = robolin.close(arm, q, qd, hold=held)

    # gaps are closed to 1e-13 m, and bars are half a metre long
    np.testing.assert_allclose(computed.q, true.q, atol=1e-12)
    np.testing.assert_allclose(computed.qd, true.qd, atol=1e-11)
    np.testing.assert_array_equal(computed.q[indices], theta)
    np.testing.assert_array_equal(computed.qd[indices], rate)


@every_arm
def test_closing_changes_as_little_as_it_can(closed: Closed) -> None:
    """The change of velocity is at right angles to all velocities that closures allow."""
    rng = np.random.default_rng(4)
    wild = rng.normal(size=closed.q.shape)
    state = robolin.close(closed.arm, closed.q, wild)
    L = robolin.loop_constraints(closed.arm, state.q).jacobian

    np.testing.assert_allclose(state.q, closed.q, atol=1e-12)
    assert np.abs(L @ state.qd[..., None]).max() < 1e-12
    for i in range(len(wild)):
        free = np.linalg.svd(L[i])[2][np.linalg.matrix_rank(L[i]) :]
        assert np.abs(free @ (state.qd[i] - wild[i])).max() < 1e-12


@every_arm
def test_changes_are_the_differences_of_closed_states(closed: Closed) -> None:
    """A state moved along a closed change is closed to second order, positions and velocities."""
    arm, step = closed.arm, 1e-4
    dq, dqd = np.random.default_rng(6).normal(size=(2, *closed.q.shape))
    change = robolin.close_change(arm, closed.q, closed.qd, dq, dqd)
    sides = [
        robolin.loop_constraints(arm, closed.q + h * change.dq, closed.qd + h * change.dqd)
        for h in (step, -step)
    ]
    wild = robolin.loop_constraints(arm, closed.q + step * dq, closed.qd + step * dqd)

    # central differences leave h², and large rotations are not in the coordinates of L
    for name in ("open_by", "opening"):
        ahead, behind = (getattr(side, name) for side in sides)
        assert np.abs(ahead - behind).max() < 1e-3 * np.abs(getattr(wild, name)).max()
    again = robolin.close_change(arm, closed.q, closed.qd, change.dq, change.dqd)
    np.testing.assert_allclose(again.dq, change.dq, atol=1e-12)
    np.testing.assert_allclose(again.dqd, change.dqd, atol=1e-12)


def test_held_joints_keep_their_change() -> None:
    """With the crank held, a change of the four-bar is its velocity at unit rate of the crank."""
    arm = robolin.load("four-bar")
    state = robolin.close(arm, [0.5, 0, 0], [1, 0, 0], hold="drive")
    change = robolin.close_change(arm, state.q, state.qd, [1, 0, 0], hold="drive")
    ahead, behind = (
        robolin.close(arm, state.q + h * change.dq, [1, 0, 0], hold="drive") for h in (1e-5, -1e-5)
    )

    np.testing.assert_allclose(change.dq, state.qd, atol=1e-12)
    # central differences: h² and rounding over h
    np.testing.assert_allclose(change.dqd, (ahead.qd - behind.qd) / 2e-5, atol=1e-8)


@pytest.mark.slow
@every_arm
def test_changes_that_open_closures_are_refused(closed: Closed) -> None:
    """perturb_forward rejects changes that violate a loop, in positions or in velocities.

    Large changes and tiny ones are tried in turn from arm to arm.
    """
    arm, dq = closed.arm, np.random.default_rng(7).normal(size=closed.arm.n)
    state = (arm, closed.q[0], closed.qd[0])
    kept = robolin.close_change(*state, dq)

    one, other = (1.0, 1e-9) if arm.n % 2 else (1e-9, 1.0)

    robolin.perturb_forward(*state, dq=one * kept.dq, dqd=one * kept.dqd)
    with pytest.raises(robolin.RobolinError, match="dq: violates the constraints:"):
        robolin.perturb_forward(*state, dq=one * dq)
    with pytest.raises(robolin.RobolinError, match="dqd: violates the constraints:") as caught:
        robolin.perturb_forward(*state, dqd=other * dq)
    assert (
        "(robolin.close_change) to keep the changes of these joints and adapt the other joints"
        in caught.value.hint
    )


@every_arm
def test_closing_from_afar(closed: Closed) -> None:
    """From gaps of centimetres Newton's method ends at rounding, and stays there."""
    away = closed.q + 0.1 * np.random.default_rng(5).normal(size=closed.q.shape)
    open_by = np.abs(robolin.loop_constraints(closed.arm, away).open_by).max()
    state = robolin.close(closed.arm, away)
    left = np.abs(robolin.loop_constraints(closed.arm, state.q).open_by).max()

    assert open_by > 1e-2
    assert left < 1e-12
    np.testing.assert_array_equal(robolin.close(closed.arm, state.q).q, state.q)


@pytest.mark.parametrize("start", [(2.7, -0.2, 1.5), (2.317, 2.294, 0.297)])
def test_closing_does_not_run_away(start: tuple[float, float, float]) -> None:
    """From a metre away joints close without full revolutions, and overshooting is corrected."""
    state = robolin.close(robolin.load("four-bar"), start, hold="drive")
    assert np.abs(state.q - start).max() < np.pi


def parallelogram(at: float) -> robolin.Arm:
    """The four-bar with a coupler and pivots 1 m apart and cranks of 1 m, `at` metres from zero."""
    arm = robolin.load("four-bar")

    def moved(link: Link, translation: tuple[float, float, float]) -> Link:
        return replace(link, joint=replace(link.joint, pose=Pose(translation=translation)))

    positions = {
        "crank": (at, 0.0, 0.0),
        "coupler": (0.0, 1.0, 0.0),
        "rocker": (at + 1.0, 0.0, 0.0),
    }
    links = tuple(moved(link, positions[link.name]) for link in arm.links_tip_to_base)
    first = replace(arm.loops[0].first, pose=Pose(translation=(1.0, 0.0, 0.0)))
    return replace(arm, links_tip_to_base=links, loops=(replace(arm.loops[0], first=first),))


def test_far_from_the_world() -> None:
    """A linkage a thousand kilometres away is closed as exactly as one at the origin."""
    q = np.linspace(-3.0, 3.0, 41)[:, None] * [1.0, -1.0, 1.0]
    gap = robolin.loop_constraints(parallelogram(2.0**20), q).open_by
    assert np.abs(gap).max() < 1e-15


def test_changes_without_closure_velocities() -> None:
    """If both cranks rotate equally, the velocities of closures change by round-off alone."""
    arm, turn = parallelogram(0.3), np.array([1.0, -1.0, 1.0])
    q = np.linspace(0.3, 1.3, 11)[:, None] * turn
    dqdd = robolin.perturb_forward(arm, q, 0.7 * turn, dq=turn)
    model = robolin.linearize_forward(arm, q, 0.7 * turn)
    np.testing.assert_allclose(dqdd, model.dqdd_dq @ turn, rtol=1e-12)


def test_fast_velocities_are_known_less_exactly() -> None:
    """Nine digits of a velocity are enough, however fast it is; six are not."""
    arm = robolin.load("four-bar")
    state = robolin.close(arm, [0.5, 0, 0], [1e4, 0, 0], hold="drive")
    robolin.forward(arm, state.q, state.qd * [1 + 1e-9, 1, 1])
    with pytest.raises(robolin.RobolinError, match="has a velocity violation of"):
        robolin.forward(arm, state.q, state.qd * [1 + 1e-5, 1, 1])


def test_an_arm_without_loops_is_closed_already() -> None:
    """An arm without loops is returned unchanged."""
    arm = robolin.load("two-link")
    state = robolin.close(arm, [0.3, -0.7], [1.0, 2.0])
    np.testing.assert_array_equal(state.q, [0.3, -0.7])
    np.testing.assert_array_equal(state.qd, [1.0, 2.0])


REFUSED = {
    "open": (
        lambda arm: robolin.forward(arm, [0.1, 0, 0]),
        "of loop 'pin' has a constraint violation of 0.115 m (2 of 3 equations are violated)",
    ),
    "opening": (
        lambda arm: robolin.forward(arm, 0.0, [1.0, 0, 0]),
        "of loop 'pin' has a velocity violation of 1.2 m/s (2 of 3 equations are violated)",
    ),
    "one of several": (
        lambda arm: robolin.linearize_forward(arm, [[0.0, 0, 0], [0.1, 0, 0]]),
        "state 1: the closure of loop 'pin'",
    ),
    "not finite": (
        lambda arm: robolin.forward(arm, [np.nan, 0, 0]),
        "q: must be finite, got nan at joint 'drive'",
    ),
    "the model is not stabilizable:": (
        lambda arm: robolin.close(arm, [0.1, 0, 0], hold=["drive", "knee"]),
        "loop 'pin' cannot be closed from this position: the constraint violation is 0.115 m",
    ),
    "held velocities": (
        lambda arm: robolin.close(arm, 0.0, [1.0, 1, 0], hold=["drive", "knee"]),
        "loop 'pin' cannot stay closed at these velocities: the constraint violation is 1.6 m/s",
    ),
    "unknown joint": (
        lambda arm: robolin.close(arm, 0.0, hold="drve"),
        "hold: joint 'drve' not found",
    ),
    "unknown method": (
        lambda arm: robolin.forward(arm, 0.0, loop_method="lu"),
        "unknown loop method 'lu'",
    ),
    "inverse": (
        lambda arm: robolin.inverse(arm, 0.0),
        "four-bar: inverse supports kinematic trees only; this robot has closed loops: 'pin'",
    ),
    "mass matrix": (lambda arm: robolin.mass_matrix(arm, 0.0), "closed loops: 'pin'"),
    "diagonalize": (lambda arm: robolin.diagonalize(arm, 0.0), "closed loops: 'pin'"),
    "no loops": (
        lambda arm: robolin.loop_forces(robolin.load("two-link"), 0.0),
        "the robot 'two-link' has no closed loops",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_rejected_states(what: str) -> None:
    """A state off its closures, and queries for trees only, are errors with a hint."""
    call, message = REFUSED[what]
    with pytest.raises(robolin.RobolinError) as caught:
        call(robolin.load("four-bar"))
    assert message in str(caught.value)
    assert caught.value.hint or what == "not finite"


def test_open_loops_are_the_tree() -> None:
    """Without its closures the linkage is a tree, on which everything works."""
    arm = robolin.load("four-bar", open_loops=True)
    assert arm.loops == ()
    q, qdd = [0.3, -0.7, 0.2], [1.0, 2.0, -1.0]
    tau = robolin.inverse(arm, q, 0.0, qdd)
    np.testing.assert_allclose(robolin.forward(arm, q, 0.0, tau), qdd, atol=1e-12)
