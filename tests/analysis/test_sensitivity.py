"""Sensitivities along a motion, against simulating again with changed inputs.

The change of the simulation, divided by the size s of the change of inputs, differs from the
sensitivity by terms of order s. The measure is the largest difference relative to the largest
sensitivity. It must fall in proportion to s until it is below 1e-6, where the two integrations' own
errors show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

import robolin
from robolin.analysis.nominal_motion import nominal_motion
from robolin.core.arm import Arm, Inertia
from robolin.core.arm_parts import apply, merged_inertia
from robolin.core.configuration import difference, integrate
from tests.analysis.motions import Motion, Swing, moved, pushed, rebuilt, simulated, swing
from tests.robots import grouped_arm, random_arm, with_follower, with_springs, with_wrench

SIZES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
EACH = np.array(SIZES)[:, None]
ENOUGH = 1e-6

LOSSY = random_arm(21, 4, tree=True, armature=True, damping=True, friction_velocity=0.5)
ARMS = (
    robolin.load("two-link"),
    robolin.load("panda"),
    LOSSY,
    with_follower(random_arm(23, 4, damping=True)),
    with_wrench(random_arm(24, 4), "dead"),
    with_springs(with_follower(random_arm(25, 4, armature=True, damping=True))),
)


@lru_cache
def nominal(index: int) -> tuple[Swing, Motion]:
    start = swing(ARMS[index], seed=index)
    return start, start.motion()


def gaps(
    start: Swing, motion: Motion, sensitivity: robolin.Sensitivity, again: Sequence[Motion]
) -> list[float]:
    """The measure for every size of change."""
    true = np.concatenate([sensitivity.dq, sensitivity.dqd], axis=-1)
    gaps = []
    for s, other in zip(SIZES, again, strict=True):
        delta = difference(start.arm, motion.q, other.q), other.qd - motion.qd
        gaps.append(np.abs(np.concatenate(delta, axis=-1) / s - true).max() / np.abs(true).max())
    return gaps


def side_by_side(start: Swing) -> list[Motion]:
    """Motions of a swing whose states or torques are one for each size, simulated together."""
    both = start.motion()
    every = range(len(SIZES))
    return [Motion(both.time, both.q[:, i], both.qd[:, i], both.tau) for i in every]


def assert_first_order(errors: list[float]) -> None:
    """Each tenth of the size leaves a tenth of the difference, down to a millionth."""
    for larger, smaller in pairwise(errors):
        assert smaller <= max(0.13 * larger, ENOUGH), errors
    assert errors[-1] <= ENOUGH, errors


# each arm has kernels of its own; a quick run compiles those of one
every = pytest.mark.parametrize(
    "index",
    [
        pytest.param(i, id=arm.name, marks=[] if arm.name == "two-link" else [pytest.mark.slow])
        for i, arm in enumerate(ARMS)
    ],
)


@pytest.mark.slow
@every
def test_initial_state(index: int) -> None:
    """A small change of the initial state changes the motion as predicted."""
    start, motion = nominal(index)
    dq, dqd = 0.02 * np.random.default_rng(1).normal(size=(2, start.arm.n))
    sensitivity = robolin.sensitivity(
        start.arm, motion.time, motion.q, motion.qd, motion.tau, dq=dq, dqd=dqd
    )

    again = side_by_side(moved(start, EACH * dq, EACH * dqd))
    assert_first_order(gaps(start, motion, sensitivity, again))


@every
def test_torques(index: int) -> None:
    """So does a small change of the torques that grows and falls with time."""
    start, motion = nominal(index)
    push = 0.02 * np.abs(motion.tau).mean() * np.random.default_rng(2).normal(size=start.arm.n)

    def more(t: float) -> np.ndarray:
        return push * (1.0 + 2.0 * t)

    history = np.array([more(t) for t in motion.time])
    sensitivity = robolin.sensitivity(
        start.arm, motion.time, motion.q, motion.qd, motion.tau, dtau=history
    )

    still = replace(start, q=start.q + 0.0 * EACH, qd=start.qd + 0.0 * EACH)
    again = side_by_side(pushed(still, lambda t: EACH * more(t)))
    assert_first_order(gaps(start, motion, sensitivity, again))


@every
def test_parameters(index: int) -> None:
    """The same for changes of masses, centres of mass, inertias, damping and rotors together."""
    start, motion = nominal(index)
    arm = start.arm
    change = parameter_changes(arm)
    sensitivity = robolin.sensitivity(
        arm, motion.time, motion.q, motion.qd, motion.tau, parameters=change
    )

    again = [rebuilt(start, {name: s * x for name, x in change.items()}).motion() for s in SIZES]
    assert_first_order(gaps(start, motion, sensitivity, again))


def parameter_changes(arm: Arm) -> dict[str, float]:
    """A few percent of everything, with the sizes that links have."""
    rng = np.random.default_rng(3)
    scale = {"mass": 0.05, "damping": 0.02, "friction": 0.02, "armature": 0.002}
    scale |= {"stiffness": 0.1, "rest": 0.02}
    sizes = {
        name: scale.get(name.rpartition("/")[2], 0.01 if "/com_" in name else 0.001)
        for name in robolin.parameter_names(arm)
    }
    return {name: float(size * rng.normal()) for name, size in sizes.items()}


def test_payload() -> None:
    """A point mass added to a frame that is merged into a link changes the motion as predicted."""
    arm, mass, position = robolin.load("panda"), 0.2, (0.02, -0.01, 0.05)
    start = swing(arm, seed=5)
    motion = start.motion()
    frame = arm.frames["panda_link8"]
    tip = arm.link(frame.link)

    def loaded(s: float) -> Swing:
        point = Inertia(s * mass, apply(frame.pose, position))
        heavier = replace(tip, inertia=merged_inertia([tip.inertia, point]))
        links = tuple(heavier if link is tip else link for link in arm.links_tip_to_base)
        return replace(start, arm=replace(arm, links_tip_to_base=links))

    sensitivity = robolin.sensitivity(
        arm,
        motion.time,
        motion.q,
        motion.qd,
        motion.tau,
        payload=[("panda_link8", mass, position)],
    )
    assert_first_order(gaps(start, motion, sensitivity, [loaded(s).motion() for s in SIZES]))


@pytest.mark.slow
def test_floating_base() -> None:
    """Bodies that move freely are changed along twists in their own axes."""
    arm = grouped_arm(3, ("floating", "revolute", "revolute"))
    q, qd, dq, dqd, push = 0.5 * np.random.default_rng(6).normal(size=(5, arm.n))
    run = {"duration": 0.05, "dt": 0.0005}
    motion = robolin.simulate(arm, q, qd, tau=push, **run)
    sensitivity = robolin.sensitivity(
        arm, motion.time, motion.q, motion.qd, motion.tau, dq=dq, dqd=dqd, dtau=push
    )
    changed = (integrate(arm, q, EACH * dq), qd + EACH * dqd)
    again = robolin.simulate(arm, *changed, tau=push + EACH * push, **run)

    start = Swing(arm, q, qd, lambda t: push, motion.time)
    rows = [replace(motion, q=again.q[i], qd=again.qd[i]) for i in range(len(SIZES))]
    assert_first_order(gaps(start, motion, sensitivity, rows))

    # a heavier arm, in one size
    sensitivity = robolin.sensitivity(
        arm, motion.time, motion.q, motion.qd, motion.tau, parameters=heavier(arm, 1.0)
    )
    more = rebuilt(start, heavier(arm, 1e-5)).arm
    again = robolin.simulate(more, q, qd, tau=push, **run)
    np.testing.assert_allclose(
        (again.qd - motion.qd) / 1e-5,
        sensitivity.dqd,
        rtol=0,
        atol=1e-4 * np.abs(sensitivity.dqd).max(),
    )


def test_free_bodies_half_way() -> None:
    """The middle of a step of a freely rotating body is accurate to the fourth order, too."""
    arm = grouped_arm(3, ("floating", "revolute", "revolute"))
    q, qd = np.random.default_rng(8).normal(size=(2, arm.n))
    motion = robolin.simulate(arm, q, qd, duration=0.16, dt=0.005)

    def error(step: int) -> float:
        rows = slice(None, None, 2 * step)
        motion_rows = (motion.time[rows], motion.q[rows], motion.qd[rows], motion.tau[rows], None)
        middle = nominal_motion(arm, *motion_rows, "continuous", {}).q[:, 1]
        return float(np.abs(difference(arm, motion.q[step :: 2 * step], middle)).max())

    # a sixteenth at half the step, where the third order would leave an eighth
    assert error(2) / error(4) < 1 / 13


def heavier(arm: Arm, size: float) -> dict[str, float]:
    return {f"{link.name}/mass": 0.1 * size for link in arm.links_tip_to_base if link.inertia.mass}


@every
def test_matrices_hold_every_change(index: int) -> None:
    """The matrices times changes equal the results for these changes, to round-off."""
    start, motion = nominal(index)
    arm = start.arm
    rows = motion.time, motion.q, motion.qd, motion.tau
    rng = np.random.default_rng(7)
    dq, dqd, dtau = rng.normal(size=(3, arm.n))
    change = parameter_changes(arm)
    all_of_them = robolin.sensitivity_matrices(arm, *rows)
    one = robolin.sensitivity(arm, *rows, dq=dq, dqd=dqd, dtau=dtau, parameters=change)

    pi = np.array([change[name] for name in all_of_them.names])
    x = all_of_them.transition @ np.concatenate([dq, dqd])
    x = x + all_of_them.torque @ dtau + all_of_them.parameter @ pi
    true = np.concatenate([one.dq, one.dqd], axis=1)
    np.testing.assert_allclose(x, true, rtol=0, atol=1e-12 * np.abs(true).max())
    np.testing.assert_array_equal(all_of_them.transition[0], np.eye(2 * arm.n))


@pytest.mark.slow
def test_closed_form_of_a_damped_prismatic_joint() -> None:
    """m q̈ = F - d q̇ from rest: the changes with m, d and F are known, and met to 1e-11.

    Runge–Kutta at a step of 2 ms and a time constant of 0.5 s errs by about (h/T)⁴/120 a step.
    """
    arm = random_arm(7, 1)
    (link,) = arm.links_tip_to_base
    joint = replace(link.joint, kind="prismatic", damping=2.0)
    body = replace(link.inertia, mass=1.0)
    arm = replace(
        arm, links_tip_to_base=(replace(link, joint=joint, inertia=body),), gravity=(0.0, 0.0, 0.0)
    )
    m, d, F, t = 1.0, 2.0, 3.0, np.linspace(0.0, 1.0, 501)
    decay = np.exp(-d * t / m)
    qd = F / d * (1 - decay)
    q = F / d * (t - m / d * (1 - decay))
    matrices = robolin.sensitivity_matrices(arm, t, q[:, None], qd[:, None], np.full((501, 1), F))

    by = {name: matrices.parameter[:, 1, i] for i, name in enumerate(matrices.names)}
    assert np.abs(by["link0/mass"] + F * t / m**2 * decay).max() < 1e-11
    assert (
        np.abs(by["joint0/damping"] + F / d**2 * (1 - decay) - F * t / (d * m) * decay).max()
        < 1e-11
    )
    assert np.abs(matrices.torque[:, 1, 0] - (1 - decay) / d).max() < 1e-11
    assert np.abs(matrices.transition[:, 1, 1] - decay).max() < 1e-11


def test_accelerations_serve_as_well_as_torques() -> None:
    """A motion given with its accelerations has the sensitivities of the one with its torques."""
    start, motion = nominal(1)
    arm = start.arm
    qdd = robolin.forward(arm, motion.q, motion.qd, motion.tau)
    by_tau = robolin.sensitivity(arm, motion.time, motion.q, motion.qd, motion.tau, dq=0.1)
    by_qdd = robolin.sensitivity(arm, motion.time, motion.q, motion.qd, qdd=qdd, dq=0.1)

    np.testing.assert_allclose(by_qdd.dqd, by_tau.dqd, rtol=0, atol=1e-9)


def test_error_falls_with_the_fourth_power_of_the_step() -> None:
    """Twice as many rows leave a sixteenth of the error, for both q and q̇."""
    fine = swing(robolin.load("two-link"), seed=0, duration=0.8, step=0.0025)
    motion = fine.motion()

    def end(every: int) -> np.ndarray:
        rows = slice(None, None, every)
        matrices = robolin.sensitivity_matrices(
            fine.arm, motion.time[rows], motion.q[rows], motion.qd[rows], motion.tau[rows]
        )
        return np.concatenate([matrices.transition[-1], matrices.parameter[-1]], axis=1)

    true = end(1)
    errors = [np.abs(end(every) - true).max() for every in (16, 8)]
    assert 12.0 < errors[0] / errors[1] < 20.0


def test_torques_held_from_row_to_row() -> None:
    """Torques that jump at every row need to be declared stepwise, and are then met as well."""
    arm = robolin.load("two-link")
    time = np.linspace(0.0, 0.4, 41)
    rng = np.random.default_rng(8)
    tau = robolin.inverse(arm, [0.3, -0.7]) + 2.0 * rng.normal(size=(41, 2))
    dq = np.array([0.1, -0.2])
    fine = 20

    def jumping(q: np.ndarray) -> Motion:
        rows, qd = [(q, np.zeros(2))], np.zeros(2)
        for i in range(40):
            inner = np.linspace(time[i], time[i + 1], fine + 1)
            part = simulated(arm, inner, q, qd, lambda t, i=i: tau[i])
            q, qd = part.q[-1], part.qd[-1]
            rows.append((q, qd))
        positions, velocities = np.array(rows).swapaxes(0, 1)
        return Motion(time, positions, velocities, tau)

    motion, s = jumping(np.array([0.3, -0.7])), 1e-6
    true = (jumping(np.array([0.3, -0.7]) + s * dq).q - motion.q) / s

    def gap(torques: str) -> float:
        sensitivity = robolin.sensitivity(
            arm, time, motion.q, motion.qd, tau, dq=dq, torques=torques
        )
        return float(np.abs(sensitivity.dq - true).max() / np.abs(true).max())

    assert gap("stepwise") < 1e-5
    assert gap("continuous") > 1e-4


def test_long_motions_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of steps per chunk makes no difference."""
    import robolin.analysis.sensitivity as module

    start, motion = nominal(0)
    rows = motion.time, motion.q, motion.qd, motion.tau
    full = robolin.sensitivity_matrices(start.arm, *rows)
    monkeypatch.setattr(module, "_AT_ONCE", 200_000)
    parts = robolin.sensitivity_matrices(start.arm, *rows)

    np.testing.assert_allclose(parts.parameter, full.parameter, rtol=0, atol=1e-14)


BAD = [
    ({"parameters": {"lower/mas": 0.1}}, "did you mean 'lower/mass'"),
    (
        {"parameters": {"tip/mass": 0.1}},
        "use link 'lower', which contains it, or add a point mass: --payload-change",
    ),
    ({"parameters": {"elbow/friction": 0.1}}, "--friction-velocity"),
    ({"payload": [("tipp", 0.1, (0, 0, 0))]}, "did you mean 'tip'"),
    ({"payload": [("base", 0.1, (0, 0, 0))]}, "payload: link 'base' is fixed to the base"),
    ({"dtau": np.zeros((7, 2))}, "dtau: has shape 7x2, but the trajectory has 401 rows"),
    ({"torques": "smooth"}, "continuous or stepwise"),
    ({"time": np.zeros(401)}, "time: must increase, but row 1 has 0 s and row 2 has 0 s"),
    ({"tau": None}, "the trajectory requires torques tau or accelerations qdd"),
    (
        {"dq": [0.1]},
        "dq: must have 2 values along its last axis, one per joint of 'two-link', got 1",
    ),
    ({"dq": np.zeros((3, 2))}, "dq: must have one axis, got 2"),
    ({"dqd": [0.1, np.nan]}, "dqd: must be finite, got a non-finite value at joint 'elbow'"),
    ({"parameters": {"lower/mass": np.inf}}, "lower/mass: the change must be finite, got inf"),
    ({"parameters": {"lower/mass": "0.1"}}, "lower/mass: the change must be a number, got '0.1'"),
    ({"payload": [("tip",)]}, "pass (link, mass) or (link, mass, (x, y, z))"),
    (
        {"payload": [("tip", 0.1, (0, 0))]},
        "payload: the position must be three numbers, got (0, 0)",
    ),
]


@pytest.mark.parametrize("wrong, message", BAD, ids=[message for _, message in BAD])
def test_invalid_inputs_are_reported(wrong: dict[str, object], message: str) -> None:
    """Invalid parameters, rows and times are errors with the reason."""
    start, motion = nominal(0)
    arguments = {"time": motion.time, "q": motion.q, "qd": motion.qd, "tau": motion.tau} | wrong
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.sensitivity(start.arm, **arguments)
    assert message in str(caught.value)


def test_closed_loops_are_refused() -> None:
    """Loop equations are not part of the integrated model."""
    arm = robolin.load("four-bar")
    with pytest.raises(
        robolin.RobolinError,
        match="linearization along a trajectory does not support closed loops such as 'pin'",
    ):
        robolin.sensitivity(arm, [0.0, 1.0], np.zeros((2, arm.n)), 0.0, 0.0, dq=0.1)
