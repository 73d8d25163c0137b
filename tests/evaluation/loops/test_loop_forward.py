"""Accelerations, closure forces and linearization of arms with closed loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Frame, Inertia, Link, Loop, Pose, Wrench
from robolin.evaluation.loop_linear_algebra import evaluate_flat
from robolin.evaluation.loop_projection import LoopMotion
from tests.dynamics.running import run_on
from tests.evaluation.loops.closed_arms import METHODS, Closed, relative, sample
from tests.evaluation.loops.reduced import FIVE_BAR, FOUR_BAR, Linkage, reduced, reduced_change

# measured at 5e-15 in accelerations and 2e-14 in forces; condition numbers are up to 1e3
AGREE = 1e-12
# round-off of a few operations on numbers of one size, measured at 3e-15
TRUE = 1e-13

every_arm = pytest.mark.parametrize("closed", sample(), ids=lambda closed: closed.arm.name)
every_method = pytest.mark.parametrize("method", METHODS)
every_linkage = pytest.mark.parametrize(
    "name, linkage, freedoms", [("four-bar", FOUR_BAR, 1), ("five-bar", FIVE_BAR, 2)]
)


def states(freedoms: int, joints: int, count: int = 4) -> list[tuple[np.ndarray, ...]]:
    """Coordinates, rates and torques within reach of both linkages."""
    rng = np.random.default_rng(freedoms)
    return [
        (rng.uniform(-0.5, 0.5, freedoms), rng.normal(size=freedoms), rng.normal(size=joints))
        for _ in range(count)
    ]


@every_linkage
def test_accelerations_are_those_of_the_energy_model(
    name: str, linkage: Linkage, freedoms: int
) -> None:
    """Lagrange's equation in one or two coordinates, in 60 digits, gives the same motion."""
    arm = robolin.load(name)
    for theta, rate, tau in states(freedoms, arm.n):
        true = reduced(linkage, theta, rate, tau)
        for method in METHODS:
            qdd = robolin.forward(arm, true.q, true.qd, tau, loop_method=method)
            # close to where it would rest, the motion is a difference of larger ones
            assert np.abs(qdd - true.qdd).max() < TRUE * (1.0 + np.abs(true.qdd).max())


@pytest.mark.slow
@every_linkage
def test_linearization_is_that_of_the_energy_model(
    name: str, linkage: Linkage, freedoms: int
) -> None:
    """Along the motions that closures allow, the model has the derivative of the energy model."""
    arm = robolin.load(name)
    for theta, rate, tau in states(freedoms, arm.n, count=2):
        true = reduced(linkage, theta, rate, tau)
        model = robolin.linearize_loops(arm, true.q, true.qd, tau)
        for along in np.eye(2 * freedoms).reshape(-1, 2, freedoms):
            change = reduced_change(linkage, theta, rate, tau, (along[0], along[1]))
            computed = model.dqdd_dq @ change.q + model.dqdd_dqd @ change.qd
            assert relative(computed, change.qdd) < TRUE


@every_linkage
def test_torques_act_as_in_the_energy_model(name: str, linkage: Linkage, freedoms: int) -> None:
    """dqdd_dtau is the effect of a unit of torque on each joint, and is symmetric."""
    arm = robolin.load(name)
    theta, rate, tau = states(freedoms, arm.n)[0]
    at = reduced(linkage, theta, rate, tau)
    model = robolin.linearize_forward(arm, at.q, at.qd, tau)
    true = [reduced(linkage, theta, rate, tau + unit).qdd - at.qdd for unit in np.eye(arm.n)]

    np.testing.assert_allclose(model.dqdd_dtau, np.transpose(true), atol=1e-13)
    np.testing.assert_allclose(model.dqdd_dtau, model.dqdd_dtau.T, atol=1e-13)


@every_arm
def test_methods_agree(closed: Closed) -> None:
    """Accelerations, forces and all derivatives are the same by every method."""
    state = (closed.arm, closed.q, closed.qd, closed.tau)
    true, *others = (robolin.linearize_loops(*state, loop_method=method) for method in METHODS)
    names = [name for name in vars(true) if name not in ("rank", "kept", "rows")]

    for method, computed in zip(METHODS[1:], others, strict=True):
        for name in names:
            assert relative(getattr(computed, name), getattr(true, name)) < AGREE, (method, name)


@every_arm
def test_equations_of_motion_hold(closed: Closed) -> None:
    """The tree under τ and the closures' forces as dead loads moves with closed loops."""
    loop = robolin.loop_forces(closed.arm, closed.q, closed.qd, closed.tau)
    rows = robolin.loop_constraints(closed.arm, closed.q, closed.qd)
    for i in range(len(closed.q)):
        tree = loaded(closed.arm, loop.wrenches, i)
        tau = robolin.inverse(tree, closed.q[i], closed.qd[i], loop.qdd[i])
        assert np.abs(tau - closed.tau[i]).max() < 1e-12 * np.abs(loop.lam).max()
        kept = rows.jacobian[i] @ loop.qdd[i] - rows.bias[i]
        assert np.abs(kept).max() < 1e-12 * np.abs(loop.qdd).max()


def loaded(arm: robolin.Arm, wrenches: dict[str, np.ndarray], state: int) -> robolin.Arm:
    """The open tree with the forces of its closures given as wrenches."""
    frames, loads = dict(arm.frames), []
    for loop in arm.loops:
        wrench = np.zeros(6)
        wrench[: wrenches[loop.name].shape[-1]] = wrenches[loop.name][state]
        for frame, sign in ((loop.first, 1.0), (loop.second, -1.0)):
            if frame.link != arm.base:
                frames[frame.name] = frame
                parts = (tuple((sign * wrench[part]).tolist()) for part in (np.s_[:3], np.s_[3:]))
                loads.append(Wrench(frame.name, "dead", *parts))
    return replace(arm, loops=(), frames=frames, wrenches=tuple(loads))


@every_arm
def test_linearization_against_differences(closed: Closed) -> None:
    """Central differences of accelerations and forces between states that are closed themselves."""
    arm, q, qd, tau = closed.arm, closed.q[0], closed.qd[0], closed.tau[0]
    model = robolin.linearize_loops(arm, q, qd, tau)
    rng = np.random.default_rng(1)
    # differences err by h² and by rounding over h; both are about 1e-9 here
    h = 3e-5
    for _ in range(2):
        way, push = rng.normal(size=(2, arm.n))
        ends = [
            robolin.close(arm, q + sign * h * way, qd + sign * h * push) for sign in (1.0, -1.0)
        ]
        dq, dqd = ends[0].q - ends[1].q, ends[0].qd - ends[1].qd
        moved = [robolin.loop_forces(arm, end.q, end.qd, tau) for end in ends]
        assert (moved[0].kept == moved[1].kept).all()
        for name, change in (("qdd", "dqdd"), ("lam", "dlam")):
            true = getattr(moved[0], name) - getattr(moved[1], name)
            along_q, along_qd = (getattr(model, f"{change}_d{x}") for x in ("q", "qd"))
            assert relative(along_q @ dq + along_qd @ dqd, true) < 1e-7, name


@every_arm
def test_perturbations_are_the_model_times_the_change(closed: Closed) -> None:
    """perturb_forward on an arm with loops is linear in the changes, with the model's matrices."""
    dq, dqd, dtau = np.random.default_rng(2).normal(size=(3, *closed.q.shape))
    state = (closed.arm, closed.q, closed.qd, closed.tau)
    kept = robolin.close_change(*state[:3], dq, dqd)
    changes = (kept.dq, kept.dqd, dtau)
    model = robolin.linearize_forward(*state)
    dqdd = robolin.perturb_forward(*state, *changes)
    matrices = (model.dqdd_dq, model.dqdd_dqd, model.dqdd_dtau)
    true = sum(np.einsum("bij,bj->bi", A, x) for A, x in zip(matrices, changes, strict=True))

    assert relative(dqdd, true) < 1e-13


@every_arm
def test_a_batch_is_its_states(closed: Closed) -> None:
    """Leading axes broadcast, and the result of a state does not depend on the others."""
    arm, tau = closed.arm, closed.tau[:, None]
    loop = robolin.loop_forces(arm, closed.q, closed.qd, tau)
    assert loop.qdd.shape == (2, 2, arm.n)
    assert loop.rank.shape == (2, 2)
    one = robolin.loop_forces(arm, closed.q[0], closed.qd[0], closed.tau[1])

    np.testing.assert_allclose(loop.qdd[1, 0], one.qdd, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loop.lam[1, 0], one.lam, rtol=1e-12, atol=1e-12)


def hinged(arm: robolin.Arm) -> robolin.Arm:
    """The four-bar with its pin held at two points of its axis: a hinge, in 6 equations."""
    (pin,) = arm.loops
    shifted = [
        replace(frame, pose=Pose(translation=(*frame.pose.translation[:2], 0.1)))
        for frame in (pin.first, pin.second)
    ]
    return replace(arm, loops=(pin, Loop("pin above", "point", *shifted)))


def welded() -> tuple[robolin.Arm, np.ndarray]:
    """A four-bar with four hinges, its rocker's foot welded to the ground, and where it is shut."""
    arm = robolin.load("four-bar", open_loops=True)
    crank, coupler, rocker = (
        arm.links_tip_to_base[2],
        arm.links_tip_to_base[1],
        arm.links_tip_to_base[0],
    )
    # the rocker hangs on the coupler's end, upside down
    foot = replace(
        rocker,
        parent=2,
        joint=replace(rocker.joint, name="pin", pose=Pose(translation=(1.2, 0.5, 0.0))),
        inertia=replace(rocker.inertia, com=(0.0, -0.5, 0.0)),
    )
    # a fourth link without mass: the foot rotates about the ground's pivot
    heel = replace(
        rocker,
        name="heel",
        joint=replace(rocker.joint, pose=Pose(translation=(0.0, -1.0, 0.0))),
        inertia=robolin.core.arm.Inertia(),
    )
    links = (replace(heel, parent=2), replace(foot, parent=3), replace(coupler, parent=4),
             replace(crank, parent=5))  # fmt: skip
    ends = (Frame("heel", 1), Frame("base", 5, Pose(translation=(1.2, 0.0, 0.0))))
    names = ("drive", "knee", "pin", "pivot")
    loops = (Loop("weld", "rigid", *ends),)
    return replace(arm, links_tip_to_base=links, joint_names=names, loops=loops), np.zeros(4)


@every_method
def test_redundant_equations_are_left_out(method: str) -> None:
    """A hinge held by 6 equations of rank 2 moves as the pin of 3 equations does."""
    arm = robolin.load("four-bar")
    state = robolin.close(arm, [0.4, 0.0, 0.0], [1.0, 0.0, 0.0], hold="drive")
    pinned = robolin.loop_forces(arm, state.q, state.qd, [1.0, 0.2, -0.3])
    doubled = robolin.loop_forces(
        hinged(arm), state.q, state.qd, [1.0, 0.2, -0.3], loop_method=method
    )

    assert (pinned.rank, doubled.rank) == (2, 2)
    assert (pinned.kept.sum(), doubled.kept.sum()) == (2, 2)
    np.testing.assert_array_equal(doubled.lam[~doubled.kept], 0.0)
    assert relative(doubled.qdd, pinned.qdd) < TRUE
    # however it is shared between the two points, the force on the coupler is one
    together = sum(doubled.wrenches.values())
    assert relative(together, pinned.wrenches["pin"]) < TRUE


@every_method
def test_a_weld_in_the_plane_has_rank_three(method: str) -> None:
    """Four hinges and a rigid closure of 6 equations, 3 of them independent, are the four-bar.

    The tree alone has a joint that moves no mass, which only the second method minds.
    """
    arm, at = welded()
    if method == "schur":
        with pytest.raises(robolin.RobolinError, match="moves no inertia"):
            robolin.loop_forces(arm, at, loop_method=method)
        arm = replace(
            arm,
            links_tip_to_base=(
                replace(arm.links_tip_to_base[0], joint=_geared(arm)),
                *arm.links_tip_to_base[1:],
            ),
        )
    state = robolin.close(arm, [0.3, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], hold="drive")
    loop = robolin.loop_forces(arm, state.q, state.qd, loop_method=method)

    assert loop.rank == 3
    if method != "schur":
        pinned = robolin.load("four-bar")
        true = robolin.close(pinned, [0.3, 0.0, 0.0], [1.0, 0.0, 0.0], hold="drive")
        np.testing.assert_allclose(state.q[:2], true.q[:2], atol=1e-12)
        qdd = robolin.forward(pinned, true.q, true.qd)
        assert relative(loop.qdd[:2], qdd[:2]) < 1e-11


def _geared(arm: robolin.Arm) -> robolin.Joint:
    return replace(arm.links_tip_to_base[0].joint, armature=0.1)


def test_a_locked_linkage_does_not_move() -> None:
    """With as many equations as joints nothing can move, and the closure carries all forces."""
    arm = robolin.load("four-bar", lock={"pivot": 0.0})
    for method in METHODS:
        loop = robolin.loop_forces(arm, 0.0, 0.0, [1.0, 0.0], loop_method=method)
        assert loop.rank == arm.n == 2
        np.testing.assert_allclose(loop.qdd, 0.0, atol=1e-13)


def test_a_dead_point_is_refused_in_motion() -> None:
    """Flat, with all bars in line, rows of the closure contradict each other unless at rest."""
    arm = robolin.load("four-bar")
    short, long = Frame("a", 2, Pose(translation=(0.0, 0.5, 0.0))), arm.loops[0].second
    flat = replace(arm, loops=(Loop("pin", "point", short, replace(long, link=4)),))
    q = np.zeros(3)
    assert robolin.loop_constraints(flat, q).open_by.max() == 0.0
    with pytest.raises(
        robolin.RobolinError,
        match="the constraints are singular: the linkage is at a dead point",
    ):
        robolin.forward(flat, q, [1.0, -2.0, 0.0])
    with pytest.raises(
        robolin.RobolinError,
        match="the constraints are singular: the linkage has reached a dead point",
    ):
        LoopMotion(flat, {})(0.0, q, np.array([1.0, -2.0, 0.0]), np.zeros(3))


def test_motion_that_meets_no_inertia_is_refused() -> None:
    """The acceleration of a free massless wheel is undefined, with every method."""
    arm = robolin.load("five-bar")
    light = [replace(link, inertia=Inertia()) for link in arm.links_tip_to_base]
    for method in METHODS:
        with pytest.raises(
            robolin.RobolinError,
            match="five-bar: the constraints allow a motion without inertia, so its acceleration "
            "is undefined",
        ) as caught:
            robolin.loop_forces(
                replace(arm, links_tip_to_base=tuple(light)), 0.0, loop_method=method
            )
        assert "add mass to the links, or add armature to the joints" in caught.value.hint


def on_a_swivel(arm: robolin.Arm) -> robolin.Arm:
    """The four-bar with a second hinge on the axis of its drive, and nothing between the two."""
    swivel = replace(arm.links_tip_to_base[2].joint, name="swivel")
    rocker = replace(arm.links_tip_to_base[0], parent=5)
    links = (rocker, *arm.links_tip_to_base[1:], Link("swivel", swivel, 5, Inertia()))
    names = ("swivel", *arm.joint_names)
    return replace(arm, links_tip_to_base=links, joint_names=names, frames={})


@every_method
def test_motion_with_round_off_as_inertia_is_rejected(method: str) -> None:
    """Two hinges on one axis rotate freely against each other, in every pose of the linkage."""
    pinned = robolin.load("four-bar")
    true = robolin.close(pinned, [[x, 0.0, 0.0] for x in (-0.4, 0.1, 0.5)], hold="drive")
    arm = on_a_swivel(pinned)
    for q in true.q:
        state = np.array([0.7, q[0] - 0.7, *q[1:]])
        with pytest.raises(
            robolin.RobolinError,
            match="four-bar: the constraints allow a motion without inertia, so its acceleration "
            "is undefined",
        ):
            robolin.loop_forces(arm, state, loop_method=method)
    moved = robolin.forward(pinned, true.q)
    assert np.isfinite(moved).all()


def pinned_at_the_tip(bent: float) -> robolin.Arm:
    """Two rods, the first at 0.3 rad and the second bent off its line, held at their end."""
    tip = tuple(math.fsum(f(angle) for angle in (0.3, 0.3 + bent)) for f in (math.cos, math.sin))
    ends = (
        Frame("a", 1, Pose(translation=(1.0, 0.0, 0.0))),
        Frame("b", 3, Pose(translation=(*tip, 0.0))),
    )
    rods = robolin.load("two-link", damping=False)
    return replace(rods, loops=(Loop("pin", "point", *ends),))


@pytest.mark.parametrize("bent", [1e-4, 1e-5, 1e-6])
@every_method
def test_nearly_in_line_is_not_in_line(method: str, bent: float) -> None:
    """An arm pinned at its tip cannot move, however little it is bent."""
    arm, q = pinned_at_the_tip(bent), np.array([0.3, bent])
    loop = robolin.loop_forces(arm, q, 0.0, [5.0, -2.0], loop_method=method)

    assert loop.rank == 2
    np.testing.assert_allclose(loop.qdd, 0.0, atol=1e-14 / bent**2)


@pytest.mark.parametrize("bent", [1e-4, 1e-5])
def test_the_kernel_keeps_both_rows_as_well(bent: float) -> None:
    """Equations that differ by 1e-5 of their size are two, without a second look by LAPACK."""
    state = {"q": [0.3, bent], "qd": [0.0, 0.0], "tau": [5.0, -2.0]}
    results = run_on(pinned_at_the_tip(bent), "forward-closed", state)
    assert results["kept"].sum() == 2.0


def test_the_kernel_rejects_an_inertia_of_round_off() -> None:
    """The remainder of a zero inertia may be positive, but is too small to divide by."""
    pinned, drives = robolin.load("four-bar"), np.linspace(-0.5, 0.5, 20)
    closed = robolin.close(pinned, [[x, 0.0, 0.0] for x in drives], hold="drive").q
    q = np.insert(closed, 0, 0.7, axis=1)
    q[:, 1] -= 0.7
    still = np.zeros_like(q)
    state = {"q": q, "qd": still, "tau": still}
    arm, options = on_a_swivel(pinned), {"engine": "python", "jobs": None}
    unanswered = evaluate_flat(arm, "forward-closed", state, options)[1]
    assert unanswered.all()


@pytest.mark.parametrize("rows", [1, 3])
def test_noise_of_an_arm_at_rest_is_no_opening_closure(rows: int) -> None:
    """Velocities of 1e-7 rad/s that open a closure are accepted as rest, 1e-3 rad/s are not."""
    arm = robolin.load("four-bar")
    q = robolin.close(arm, [0.4, 0.0, 0.0], hold="drive").q
    still = robolin.forward(arm, q, 0.0, 0.5)
    states, noise = np.tile(q, (rows, 1)), np.array([1e-7, 0.0, 0.0])
    qdd = robolin.forward(arm, states, noise, 0.5)
    assert np.allclose(qdd, still, rtol=0, atol=1e-6)
    with pytest.raises(robolin.RobolinError, match="pin"):
        robolin.forward(arm, states, 1e4 * noise, 0.5)
