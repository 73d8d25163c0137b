"""Optimal motions: optima of other solvers, limits, goals, gains, and failures with reasons."""

from __future__ import annotations

import re
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import robolin
from robolin.control.optimization import optimize as optimize_module
from robolin.control.optimization.acceleration_form import AccelerationForm
from robolin.control.optimization.backward_pass import StageCost
from robolin.control.optimization.problem import motion_problem
from robolin.core.arrays import Floats
from tests.cli.command import robolin as run
from tests.cli.command import run_ok
from tests.robots import random_arm
from tests.work import count_calls

SLIDER = """
robolin: 1
name: slider
joints:
  - {name: slide, type: prismatic, parent: base, child: body, axis: [1, 0, 0]}
links:
  - {name: base}
  - {name: body, mass: 2.0}
"""
INERTIA = "mass: 0.5, inertia: {ixx: 0.01, iyy: 0.01, izz: 0.01}"


def test_a_mass_follows_the_closed_form() -> None:
    """Least ∫τ² from rest to rest is a cubic: peak force 6 m d / T², cost 12 m² d² / T³."""
    arm = robolin.load(SLIDER)
    optimum = robolin.optimize(arm, [1.0], duration=2.0, dt=0.005, Q=0.0)
    assert optimum.converged
    assert abs(optimum.cost / (12.0 * 4.0 / 8.0) - 1.0) < 0.01
    assert abs(optimum.tau[0, 0] / (6.0 * 2.0 / 4.0) - 1.0) < 0.01
    s = optimum.time / 2.0
    np.testing.assert_allclose(optimum.q[:, 0], 3.0 * s**2 - 2.0 * s**3, atol=3e-3)


def test_an_effort_limit_of_a_mass_switches_once() -> None:
    """Barely more than the force of bang-bang motion: the force is at its limit nearly always."""
    arm = robolin.load(SLIDER)
    least = 4.0 * 2.0 * 1.0 / 1.0**2
    optimum = robolin.optimize(arm, [1.0], duration=1.0, Q=0.0, max_effort=1.05 * least)
    assert np.abs(optimum.tau).max() <= 1.05 * least * (1.0 + 2e-6)
    assert (np.abs(optimum.tau[:-1, 0]) > 0.99 * 1.05 * least).mean() > 0.5
    with pytest.raises(robolin.RobolinError, match=r"needs .* N at .* effort limit"):
        robolin.optimize(arm, [1.0], duration=1.0, Q=0.0, max_effort=0.9 * least)


@pytest.mark.parametrize("limits", [{}, {"max_effort": [20.0, 6.0]}, {"max_velocity": [1.3, 3.0]}])
def test_two_link_is_as_good_as_ipopt(limits: dict[str, list[float]]) -> None:
    """The cost is IPOPT's to 1e-5, with and without active limits, which hold to 1e-6."""
    pytest.importorskip("casadi")
    arm = robolin.load("two-link")
    own, referee = (
        robolin.optimize(arm, [1.0, -0.5], duration=1.0, dt=0.05, solver=solver, **limits)
        for solver in ("own", "ipopt")
    )
    assert abs(own.cost / referee.cost - 1.0) < 1e-5
    for name, values in limits.items():
        used = own.tau[:-1] if name == "max_effort" else own.qd
        assert (np.abs(used).max(axis=0) <= np.array(values) * (1.0 + 2e-6)).all()
        assert np.abs(used / values).max() > 0.999


@pytest.mark.parametrize("scale", [0.6, 0.45])
def test_box_ddp_keeps_torques_within_their_limits(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No torque is above its limit, some are at it, and the cost is that of the solve before."""
    arm = robolin.load("panda", payload=("panda_hand_tcp", 1.5), damping=False)
    home = np.array(arm.poses["home"])
    goal = home + np.array([1.0, 0.6, -0.5, 0.8, 0.5, 0.6, 0.8])
    most = scale * np.array([joint.limits.effort for joint in arm.joints])
    options = {"q": home, "duration": 0.6, "dt": 0.01, "max_velocity": 100.0, "max_effort": most}
    polished = robolin.optimize(arm, goal, **options)
    assert (np.abs(polished.tau[:-1]) <= most).all()
    assert (np.abs(polished.tau[:-1]) >= most * (1.0 - 1e-9)).sum() >= 9
    assert polished.defect < 1e-12
    assert max(polished.goal_error.values()) < 1e-6
    name = "robolin.control.optimization.optimize.polish_accelerations"
    monkeypatch.setattr(name, lambda *arguments: None)
    plain = robolin.optimize(arm, goal, **options)
    assert polished.cost == pytest.approx(plain.cost, rel=1e-7)
    assert np.abs(polished.q - plain.q).max() < 1e-4
    # gains of the same problem stabilize both
    np.testing.assert_allclose(polished.K, plain.K, atol=1e-3 * np.abs(plain.K).max())


@pytest.mark.parametrize("scale", [0.6, 0.45])
def test_torques_at_their_limits_satisfy_the_optimality_conditions(scale: float) -> None:
    """The gradient of the cost by free torques is 0; at a limit, the cost falls beyond it only."""
    arm = robolin.load("panda", payload=("panda_hand_tcp", 1.5), damping=False)
    home = np.array(arm.poses["home"])
    goal = home + np.array([1.0, 0.6, -0.5, 0.8, 0.5, 0.6, 0.8])
    most = scale * np.array([joint.limits.effort for joint in arm.joints])
    options = {"q": home, "duration": 0.6, "dt": 0.01, "max_velocity": 100.0, "max_effort": most}
    optimum, cost = (
        robolin.optimize(arm, goal, **options),
        motion_problem(arm, goal, **options).stage_cost(),
    )
    gradient, by_end = torque_gradients(optimum, cost)
    tau = optimum.tau[:-1]
    free = np.abs(tau) < most * (1.0 - 1e-9)
    # multipliers of the goal, from the free torques alone
    multipliers, *_ = np.linalg.lstsq(by_end[free], -gradient[free], rcond=None)
    residual = (gradient + by_end @ multipliers) / np.abs(gradient).max()
    assert np.abs(residual[free]).max() < 1e-8
    assert (~free).sum() >= 9
    assert (residual[~free] * np.sign(tau[~free])).max() < 0.0


def torque_gradients(motion: robolin.OptimalMotion, cost: StageCost) -> tuple[Floats, Floats]:
    """Derivatives by the torques: of the cost (N, n), and of the last state (N, n, 2n)."""
    arm, dt, N = motion.arm, motion.dt, len(motion.time) - 1
    n, one = arm.n, np.eye(arm.n)
    y = np.stack([motion.q, motion.qd, motion.tau], axis=1)
    slope = cost.weight * (y - cost.reference)
    model = robolin.linearize_forward(arm, motion.q[:N], motion.qd[:N], motion.tau[:N])
    gradient, by_end = np.zeros((N, n)), np.zeros((N, n, 2 * n))
    adjoint, end = np.zeros(2 * n), np.eye(2 * n)
    for k in reversed(range(N)):
        # semi-implicit Euler: the new velocity moves the position
        velocity = np.hstack([dt * model.dqdd_dq[k], one + dt * model.dqdd_dqd[k]])
        A = np.vstack([np.hstack([one, 0.0 * one]) + dt * velocity, velocity])
        B = np.vstack([dt * dt * model.dqdd_dtau[k], dt * model.dqdd_dtau[k]])
        gradient[k], by_end[k] = slope[k, 2] + B.T @ adjoint, B.T @ end
        adjoint, end = slope[k, :2].ravel() + A.T @ adjoint, A.T @ end
    return gradient, by_end


def test_a_polish_that_fails_keeps_the_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """The motion before the polish is the result, bit by bit."""
    arm, options = robolin.load("two-link"), {"duration": 1.0, "dt": 0.05, "max_effort": [20, 6]}
    package = "robolin.control.optimization"

    def spoil(form: AccelerationForm, limits: object) -> bool:
        form.x[1:] += 0.1
        form.block[...] = 0.0
        form.progress.costs.append(1e3)
        form.progress.fractions.append(1.0)
        return False

    monkeypatch.setattr(f"{package}.acceleration_form.AccelerationForm.polish", spoil)
    kept = robolin.optimize(arm, [1.0, -0.5], **options)
    monkeypatch.setattr(f"{package}.optimize.polish_accelerations", lambda *arguments: None)
    plain = robolin.optimize(arm, [1.0, -0.5], **options)
    for name in ("q", "tau", "K", "costs"):
        assert np.array_equal(getattr(kept, name), getattr(plain, name))


def test_position_limits_hold() -> None:
    """A motion that would swing beyond a position limit stays within it."""
    text = SLIDER.replace("axis: [1, 0, 0]", "axis: [1, 0, 0], limits: {lower: -0.02, upper: 2}")
    arm = robolin.load(text)
    optimum = robolin.optimize(arm, [1.0], qd=[-1.0], duration=1.0, Q=0.0)
    free = robolin.optimize(arm, [1.0], qd=[-1.0], duration=1.0, Q=0.0, limits=False)
    assert free.q.min() < -0.04
    assert optimum.q.min() >= -0.02 - 3e-6
    assert optimum.cost > free.cost


def test_motion_satisfies_the_dynamics_and_its_gains_correct_it() -> None:
    """Independent forward dynamics agree to round-off, and feedback removes an initial error."""
    arm = robolin.load("two-link")
    optimum = robolin.optimize(arm, [1.0, -0.5], duration=1.0)
    assert optimum.defect < 1e-12
    assert max(optimum.goal_error.values()) < 1e-6
    without, with_gains = (max(error.values()) for error in optimum.replay_errors)
    assert with_gains < 0.01 * without
    start = optimum.q[0] + [0.05, -0.03]
    again = robolin.simulate(
        arm, start, duration=1.0, dt=2e-3, every=None, control=optimum.feedback()
    )
    assert np.abs(again.q[-1] - optimum.q[-1]).max() < 0.01


def test_pose_goal_follow_and_warm_start() -> None:
    """A pose is reached, a motion is followed, and a warm start ends in the same optimum."""
    arm = robolin.load("two-link")
    goal = robolin.PoseGoal("tip", [1.2, 0.5, 0.0])
    optimum = robolin.optimize(arm, goal, duration=1.0, dt=0.05)
    there = robolin.jacobian(arm, optimum.q[-1], frame="tip").position
    np.testing.assert_allclose(there, [1.2, 0.5, 0.0], atol=2e-6)
    followed = robolin.optimize(arm, follow=optimum, dt=0.05)
    assert np.abs(followed.q - optimum.q).max() < 0.05
    again = robolin.optimize(arm, goal, duration=1.0, dt=0.05, initial=optimum)
    assert abs(again.cost / optimum.cost - 1.0) < 1e-6
    assert again.iterations <= optimum.iterations
    soft = robolin.optimize(arm, [1.0, -0.5], duration=1.0, dt=0.05, final=10.0)
    assert max(soft.goal_error.values()) > 1e-4
    held = robolin.optimize(arm, "hold", q=[0.3, 0.2], duration=0.5, dt=0.05, Q={"q": 1e6})
    assert np.abs(held.q - [0.3, 0.2]).max() < 1e-3


def test_a_held_panda_stays() -> None:
    """Without weights of positions, a Panda would sag by 1.6 deg to save effort, and return."""
    arm = robolin.load("panda")
    held = robolin.optimize(arm, "hold", q=arm.poses["home"], duration=1.0)
    assert held.converged
    assert np.abs(held.q - arm.poses["home"]).max() < 1e-4


@pytest.mark.slow
def test_cart_pole_swings_up_as_cheaply_as_ipopt() -> None:
    """A passive pole is swung up with held torques; IPOPT finds the same local optimum."""
    pytest.importorskip("casadi")
    arm = robolin.load("cart-pole")
    own, referee = (
        robolin.optimize(arm, [0.0, np.pi], duration=2.0, dt=0.05, solver=solver, starts=6)
        for solver in ("own", "ipopt")
    )
    assert own.method == "torque"
    assert own.cost < 1.001 * referee.cost
    assert own.tau[:, 1].max() == 0.0
    assert max(own.replay_errors[1].values()) < 1e-3


def test_a_start_that_diverges_is_dropped_and_counted() -> None:
    """Torques of a billion newton metres leave the other starts and print no warning."""
    arm = robolin.load("acrobot")
    wild = SimpleNamespace(time=np.array([0.0, 1.0]), q=np.zeros((2, 2)), tau=np.full((2, 2), 1e9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimum = robolin.optimize(
            arm, [0.1, -0.2], duration=1.0, dt=0.05, starts=3, initial=wild, final=10.0
        )
    assert (optimum.starts, optimum.diverged) == (3, 1)
    assert np.isfinite(optimum.q).all()
    assert np.isfinite(optimum.K).all()


@pytest.mark.slow
def test_acrobot_swings_up_within_eight_newton_metres() -> None:
    """∫10u² over 4 s with 100 RK4 knots is at most 560; Drake's collocation finds 706."""
    arm = robolin.load("acrobot")
    optimum = robolin.optimize(
        arm, [np.pi, 0.0], duration=4.0, max_effort=8.0, Q=0.0, R=10.0, starts=5, seed=1,
        iterations=300,
    )  # fmt: skip
    assert optimum.cost <= 560.0
    # the polish leaves no torque above its limit
    assert np.abs(optimum.tau).max() == 8.0
    assert max(optimum.replay_errors[1].values()) < 1e-4


def test_failures() -> None:
    """Every failure names the joint, the number and what to do."""
    panda = robolin.load("panda")
    home = panda.poses["home"]
    cases = [
        (
            (panda, [9.0] * 7),
            {"q": home},
            "goal position of joint 'panda_joint1' is 9 rad, outside",
        ),
        ((panda, home), {"q": 0.0}, "start position of joint 'panda_joint4' is 0 rad, outside"),
        (
            (panda, home),
            {"q": home, "qd": 5.0},
            "starts at 5 rad/s, faster than its velocity limit of",
        ),
        (
            (panda, home),
            {"q": home, "max_effort": 1.0},
            "cannot hold the goal position: joint 'panda_joint2' needs",
        ),
        (
            (panda, robolin.PoseGoal("panda_hand_tcp", [2.0, 0.0, 0.0])),
            {"q": home},
            r"does not reach the goal: .* mm away from the goal",
        ),
    ]
    for arguments, options, message in cases:
        with pytest.raises(robolin.RobolinError, match=message):
            robolin.optimize(*arguments, duration=1.0, dt=0.1, **options)
    with pytest.raises(robolin.RobolinError, match="closed loops"):
        robolin.optimize(robolin.load("four-bar"), 0.0, duration=1.0)
    with pytest.raises(robolin.RobolinError, match="'base' is a floating joint"):
        robolin.optimize(robolin.load("two-link", floating_base=True), 0.0, duration=1.0)
    with pytest.raises(robolin.UsageError, match="requires a motor at every joint"):
        robolin.optimize(robolin.load("acrobot"), [np.pi, 0.0], duration=1.0, method="acceleration")
    with pytest.raises(robolin.UsageError, match="a goal or a motion to follow is required"):
        robolin.optimize(panda, duration=1.0)


def test_passive_joints_name_what_the_best_motion_misses() -> None:
    """A distance is that of a motion within the limits; else the error has the limit."""
    arm = robolin.load("acrobot")
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.optimize(arm, [np.pi, 0.0], duration=1.0, max_effort=0.01, starts=1, iterations=60)
    message = r"exceeds the effort limit of joint 'elbow' by (\S+) N·m \(limit 0.01 N·m\)"
    beyond = re.search(message, str(caught.value))
    # 0.01 N·m for 1 s changes the energy by far less than the upright position needs
    assert beyond is not None
    assert float(beyond.group(1)) > 0.01
    assert "rad from the goal" not in str(caught.value)
    assert "--max-effort" in (caught.value.hint or "")

    with pytest.raises(robolin.RobolinError, match="joint 'elbow' still moves at") as caught:
        robolin.optimize(arm, [np.pi, 0.0], duration=0.1, starts=1, iterations=60)
    assert "to the goal: the best motion" in str(caught.value)
    assert "more --iterations" in (caught.value.hint or "")
    assert "max" not in (caught.value.hint or "")


def test_too_few_iterations_name_what_is_missing() -> None:
    """The error has the goal or the limit that the motion misses, and more iterations reach it."""
    arm = robolin.load("two-link")
    for options, message in (
        ({}, r"did not converge in 1 iteration: the motion ends \S+ rad from the goal, and joint"),
        (
            {"max_effort": [20.0, 6.0]},
            r"the motion exceeds the effort limit of joint '\w+' by ",
        ),
    ):
        with pytest.raises(robolin.RobolinError, match=message) as caught:
            robolin.optimize(arm, [1.0, -0.5], duration=1.0, dt=0.05, iterations=1, **options)
        assert "--iterations 10" in (caught.value.hint or "")
        assert robolin.optimize(arm, [1.0, -0.5], duration=1.0, dt=0.05, **options).converged


@pytest.mark.slow
def test_a_tree_of_thirty_joints_moves_to_its_goal() -> None:
    arm = random_arm(6, 30, tree=True)
    optimum = robolin.optimize(arm, np.full(30, 0.2), duration=1.0, dt=0.05)
    assert optimum.converged
    assert optimum.defect < 1e-12
    assert max(optimum.goal_error.values()) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seed"), [(10, 0), (20, 0), (30, 1), (30, 2)])
def test_long_chains_move_to_their_goal(n: int, seed: int) -> None:
    """Chains of random links, with heavy coupling, reach the goal at rest within the iterations."""
    arm = random_arm(seed, n, tree=False)
    motion = robolin.optimize(arm, np.full(n, 0.2), duration=1.0, dt=0.05, limits=False)
    assert motion.defect < 1e-12
    assert max(motion.goal_error.values()) < 1e-5
    assert motion.converged or (n, seed) == (30, 1)
    # the cost of the first feasible motion is many times larger
    assert motion.cost < 0.5 * motion.costs[0]


def test_joints_with_several_degrees_of_freedom_are_refused() -> None:
    """Floating bases and spherical joints have no vector of positions; the error names them."""
    for arm, word in (
        (robolin.load("two-link", floating_base=True), "'base' is a floating joint"),
        (robolin.load(BALL), "'ball' is a spherical joint"),
    ):
        for solve in (partial(robolin.optimize, duration=1.0), robolin.receding):
            with pytest.raises(robolin.RobolinError, match=word) as caught:
                solve(arm, 0.0)
            assert "lock the joint" in (caught.value.hint or "")


BALL = """
robolin: 1
name: pendulum
joints:
  - {name: ball, type: spherical, parent: base, child: body}
links:
  - {name: base}
  - {name: body, mass: 2.0, com: [0, 0, -0.5], inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1}}
"""


def test_too_short_a_duration_names_one_that_works() -> None:
    """The hint has a duration, and the motion exists in it."""
    arm = robolin.load(SLIDER)
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.optimize(arm, [1.0], duration=0.5, dt=0.01, Q=0.0, max_effort=8.0)
    shortest = float(caught.value.hint.split()[2])
    # bang-bang motion takes √(4 m d / F) = 1 s
    assert 0.95 < shortest < 1.15
    assert robolin.optimize(arm, [1.0], duration=shortest, dt=0.01, Q=0.0, max_effort=8.0)


def test_command_stores_gains_that_simulate_runs(tmp_path: Path) -> None:
    """The file is a motion with gains; `simulate --feedback` ends at the goal."""
    path, again = tmp_path / "m.npz", tmp_path / "again.npz"
    ran = run_ok(
        "optimize", "two-link", "--goal", "1,-0.5", "--duration", "1", "--dt", "0.02", "-o", path
    )
    assert "goal: " in ran.err
    assert "with gains" in ran.err
    optimum = robolin.optimize(robolin.load("two-link"), [1.0, -0.5], duration=1.0, dt=0.02)
    with np.load(path) as stored:
        for name in ("q", "qd", "qdd", "tau", "K", "P"):
            np.testing.assert_array_equal(stored[name], getattr(optimum, name))
    run_ok("simulate", "two-link", "--feedback", path, "--duration", "1", "-o", again)
    with np.load(again) as stored:
        np.testing.assert_allclose(stored["q"][-1], [1.0, -0.5], atol=5e-3)
    assert run_ok("check", path).code == 0
    assert "--goal" in run("optimize", "two-link", "--duration", "1").err


@pytest.mark.slow
def test_mimic_joints_and_trees() -> None:
    """A gripper with a mimic finger, and a tree, have optimal motions too."""
    arm = robolin.load("panda-fingers")
    q = np.array([*robolin.load("panda").poses["home"], 0.02])
    goal = q + np.array([0.2, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.01])
    optimum = robolin.optimize(arm, goal[: arm.n], q=q[: arm.n], duration=1.0, dt=0.1)
    assert optimum.converged
    assert optimum.defect < 1e-12


@pytest.mark.slow
def test_a_simulated_motion_beyond_its_limits_is_reported(tmp_path: Path) -> None:
    """Gains about a motion at 100 % of a limit may exceed it; --limit-scale 0.9 leaves room."""
    path = str(tmp_path / "motion.npz")
    goal = "2.4,0.3,0,-1.5,0,1.57,0.785"
    words = ("optimize", "panda", "--q", "home", "--goal", goal, "-o", path)

    ran = run_ok(*words, "--duration", "1.14")

    (warning,) = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
    assert "the simulation with gains exceeds the limits: velocity 10" in warning
    assert warning.endswith("use --limit-scale 0.9")
    (replay,) = [line for line in ran.err.splitlines() if "replay: " in line]
    assert "velocity 10" in replay
    assert replay.endswith("of the limit")
    stored = robolin.read_result(path)
    simulated = robolin.simulate(
        robolin.load("panda"),
        stored.arrays["q"][0],
        duration=1.14,
        dt=1.14e-3,
        every=10,
        control=robolin.optimize(
            robolin.load("panda"), stored.arrays["q"][-1], q=stored.arrays["q"][0], duration=1.14
        ).feedback(),
    )
    assert 1.03 < np.abs(simulated.qd).max() / 2.175 < 1.05
    ran = run_ok(*words, "--duration", "1.3", "--limit-scale", "0.9")
    assert "exceeds" not in ran.err


def uniform_chain(n: int) -> robolin.Arm:
    """Joints about z, y and x in turns, links of 1 kg and 0.2 m, 400 N·m and 5 rad/s."""
    links, joints = ["  - {name: base}"], []
    axes = ("[0, 0, 1]", "[0, 1, 0]", "[1, 0, 0]")
    for i in range(n):
        parent, height = ("base", 0.0) if i == 0 else (f"l{i - 1}", 0.2)
        joints.append(
            f"  - {{name: j{i}, type: revolute, parent: {parent}, child: l{i}, "
            f"axis: {axes[i % 3]}, origin: {{xyz: [0, 0, {height}]}}, "
            "limits: {lower: -3, upper: 3, velocity: 5, effort: 400}}"
        )
        links.append(
            f"  - {{name: l{i}, mass: 1.0, com: [0, 0, 0.1], "
            "inertia: {ixx: 0.01, iyy: 0.01, izz: 0.002}}"
        )
    text = "\n".join(["robolin: 1", f"name: chain-{n}", "joints:", *joints, "links:", *links])
    return robolin.load(text + "\n")


@pytest.mark.slow
def test_a_long_chain_reaches_joint_and_pose_goals_within_its_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search that leaves the goal is repeated from the first guess, with a stiff goal."""
    searches = count_calls(monkeypatch, optimize_module, "_held_at_goal")
    goal = np.random.default_rng(30).uniform(-0.5, 0.5, 26)
    motion = robolin.optimize(uniform_chain(26), goal, duration=1.5, dt=0.03)
    assert motion.converged
    assert np.abs(motion.q[-1] - goal).max() < 1e-6
    assert 5.0 * (1.0 - 1e-5) < np.abs(motion.qd).max() < 5.0 * (1.0 + 1e-5)
    assert np.abs(motion.tau).max() <= 400.0
    arm = uniform_chain(16)
    there = robolin.jacobian(arm, goal[:16], frame="l15")
    pose = robolin.PoseGoal("l15", there.position, there.rotation)
    motion = robolin.optimize(arm, pose, duration=1.5, dt=0.05, starts=1)
    assert max(motion.goal_error.values()) < 1e-6
    assert np.abs(motion.tau).max() <= 400.0
    assert len(searches) == 2


def test_a_joint_without_motion_and_motor_does_not_hide_the_reason() -> None:
    """Position limits 0 to 0 and an effort limit of 0 have no relative violation."""
    text = SLIDER + "  - {name: hand, mass: 0.5}\n"
    hand = (
        "  - {name: hand, type: revolute, parent: body, child: hand, axis: [1, 0, 0], "
        "limits: {lower: 0, upper: 0, velocity: 0, effort: 0}}\nlinks:"
    )
    arm = robolin.load(text.replace("links:", hand).replace("mass: 0.5", INERTIA))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion = robolin.optimize(arm, [1.0, 0.0], duration=1.0)
    assert np.abs(motion.q[:, 1]).max() < 1e-9
    assert not motion.tau[:, 1].any()


def test_options_of_other_programs_have_a_hint(tmp_path: Path) -> None:
    command = ["optimize", "two-link", "--goal", "1,0", "--duration", "1"]
    assert "--ignore-limits" in run(*command, "--limits", "none").err
    assert "--method" in run(*command, "--integrator", "rk4").err
    loose, tight = (
        run_ok(*command, "--tolerance", tolerance, "-o", str(tmp_path / "a.npz")).err
        for tolerance in ("1e-3", "1e-12")
    )
    assert loose != tight
    assert "--tolerance" in run(*command, "--tolerance", "0").err
