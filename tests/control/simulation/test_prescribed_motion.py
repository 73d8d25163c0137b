"""Motions of arms with a prescribed base or joint."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from tests.dynamics.running import gap

# a bead of 2 kg on a rod on a turntable: a prismatic joint on a revolute one
BEAD = """
robolin: 1
name: bead
gravity: [0, 0, 0]
joints:
  - {name: table, type: continuous, parent: base, child: rod, axis: [0, 0, 1]}
  - {name: slide, type: prismatic, parent: rod, child: bead, axis: [1, 0, 0]}
links:
  - {name: rod}
  - {name: bead, mass: 2, com: [0, 0, 0]}
"""


def test_a_bead_flies_off_a_turntable() -> None:
    """r = r₀ cosh ωt while the table rotates at a constant rate with torque 2 m r ṙ ω.

    The table has no mass.  Steps of 5 ms have errors of about (ω dt)⁴ / 120 = 4e-10 of the way.
    """
    omega, r = 3.0, 0.2
    start = (robolin.load(BEAD), [0.0, r], [omega, 0.0])
    options = {"duration": 0.1, "dt": 0.005, "engine": "python"}
    motion = robolin.simulate(*start, **options, prescribe="table")
    way, speed = r * np.cosh(omega * motion.time), r * omega * np.sinh(omega * motion.time)
    assert gap(motion.q[:, 1], way) <= 1e-9
    assert gap(motion.tau[:, 0], 2.0 * 2.0 * way * speed * omega) <= 1e-8
    assert (motion.qd[:, 0] == omega).all()
    assert np.abs(motion.energy_error).max() <= 1e-8 * motion.kinetic_energy.max()


def test_an_accelerated_base_acts_as_gravity() -> None:
    """Joints move as under another gravity, and the base by its prescribed acceleration."""
    cart = robolin.load("two-link", base_joint="planar")
    still = robolin.load("two-link", gravity=[-2.0, -9.81, 0.0])
    acceleration = {"base:x": 2.0}
    start = np.array([0.0, 0.0, 0.0, 1.0, -0.5])
    options = {"duration": 0.1, "dt": 0.01, "engine": "python"}
    motion = robolin.simulate(cart, start, **options, prescribe="base", qdd=acceleration)
    true = robolin.simulate(still, start[3:], **options)
    # the same steps of the same equations, with different rounding
    assert gap(motion.q[:, 3:], true.q) <= 1e-11
    assert gap(motion.q[:, 0], motion.time**2) <= 1e-12


def test_a_base_prescribed_by_a_function_of_time() -> None:
    """A base that is shaken as A sin ωt has this position, and the energy balance holds.

    Steps of 5 ms of a motion of 2 Hz err by some (ω dt)⁴ / 120: 1e-6.
    """
    far, omega = 0.1, 4.0 * np.pi
    arm = robolin.load("two-link", base_joint="planar")
    shaken = robolin.simulate(
        arm,
        [0.0, 0.0, 0.0, 1.0, -0.5],
        [0.0, far * omega, 0.0, 0.0, 0.0],
        duration=0.1,
        dt=0.005,
        engine="python",
        hold=True,
        prescribe=["base"],
        qdd=lambda t: [0.0, -far * omega**2 * np.sin(omega * t), 0.0, 0.0, 0.0],
    )
    assert gap(shaken.q[:, 1], far * np.sin(omega * shaken.time)) <= 1e-6
    assert np.abs(shaken.energy_error).max() <= 1e-5 * shaken.kinetic_energy.max()
    assert np.abs(shaken.q[-1, 3:] - [1.0, -0.5]).max() > 1e-2


def test_effort_limits_do_not_apply_to_prescribed_joints() -> None:
    """The torque of a prescribed joint may exceed its limit, and is not reported as saturated."""
    arm = robolin.load("ur5")
    acceleration = np.zeros(6)
    acceleration[1] = -900.0
    inputs = {"tau": lambda t, q, qd: np.full(6, 1e3), "qdd": acceleration}
    motion = robolin.simulate(arm, 0.0, duration=0.002, prescribe="shoulder_lift_joint", **inputs)
    assert motion.tau[0, 1] < -2.0 * arm.joints[1].limits.effort
    assert motion.saturated.any(axis=0).tolist() == [True, False, True, True, True, True]
    assert (motion.qdd[:, 1] == -900.0).all()


def test_a_disturbance_is_not_part_of_motor_torques() -> None:
    """The sum of motor torques and the disturbance moves the arm, prescribed joints included.

    Torques of 20 N·m, rounded: 1e-12.
    """
    arm, push = robolin.load("two-link"), robolin.Push([2.0, 3.0])
    options = {"prescribe": "elbow", "qdd": [0.0, 1.0], "disturbance": push, "engine": "python"}
    motion = robolin.simulate(arm, [0.3, -0.7], duration=0.004, **options)
    taken = robolin.inverse(arm, motion.q, motion.qd, motion.qdd)
    assert np.abs(motion.tau - (taken - push.tau)).max() <= 1e-12
    assert (motion.qdd[:, 1] == 1.0).all()


REFUSED = [
    ({"qdd": 1.0}, "qdd: has no effect without prescribe"),
    ({"prescribe": "elbow", "qdd": [1.0, 0.0]}, "'shoulder' is free"),
    ({"prescribe": "elbow", "qdd": lambda t: [1.0, 0.0]}, "'shoulder' is free"),
    (
        {"prescribe": "elbow", "qdd": lambda t: [0.0, np.nan]},
        "at t = 0 s: qdd: must be finite, got nan at joint 'elbow'",
    ),
    ({"prescribe": "elbow", "qdd": np.ones((3, 2))}, "shape"),
    (
        {"prescribe": "elbow", "tau": [0.0, 1.0]},
        "tau: joint 'elbow' is prescribed, so its torque is a result, not an input",
    ),
    (
        {"prescribe": "elbow", "state": "xi"},
        "prescribe: the state 'xi' does not support prescribed joints",
    ),
    (
        {"prescribe": "shoulder,elbow", "qdd": 2.0},
        "one number for several joints is ambiguous",
    ),
    (
        {"prescribe": "shoulder,elbow", "qdd": lambda t: 2.0},
        "one number for several joints is ambiguous",
    ),
    ({"prescribe": "shoulder,elbow", "qdd": lambda t: np.ones((3, 2))}, "shape"),
    ({"prescribe": "elbow", "accelerations": lambda t, q, qd, tau: q}, "accelerations"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_invalid_options_are_rejected(options: dict, message: str) -> None:
    """Options without an effect or a meaning are errors."""
    with pytest.raises(robolin.RobolinError, match=message):
        robolin.simulate(robolin.load("two-link"), 0.0, duration=0.01, **options)


def test_a_scalar_is_for_one_joint_or_zero_for_all() -> None:
    """A number is accepted for an arm with one joint, and 0 for any arm."""
    arm = robolin.load("two-link", lock={"elbow": 0.0})
    motion = robolin.simulate(arm, 0.0, duration=0.01, prescribe="shoulder", qdd=lambda t: 2.0)
    assert (motion.qdd == 2.0).all()
    arm = robolin.load("two-link")
    still = robolin.simulate(arm, 0.0, duration=0.01, prescribe="shoulder,elbow", qdd=lambda t: 0)
    assert (still.q == 0.0).all()


def test_loops_are_rejected() -> None:
    """A loop moves as its closures let it."""
    with pytest.raises(
        robolin.RobolinError,
        match=r"prescribe: prescribed joints are not supported with closed loops \('pin'\)",
    ):
        robolin.simulate(robolin.load("four-bar"), 0.0, duration=0.01, prescribe="drive")
