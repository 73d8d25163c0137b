"""Optimal motions compared with Crocoddyl and IPOPT, and the parts of an iteration.

Crocoddyl has its own interpreter, because it requires an older Pinocchio.  CROCODDYL_PYTHON names
one with `pip install crocoddyl==3.2.1 pin==4.0.0`; without it, Crocoddyl is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import Disagreement
from benchmarks.timing import Effort, in_turns, progress, spread
from robolin.control.optimization.acceleration_form import AccelerationForm
from robolin.control.optimization.augmented_lagrangian import satisfy
from robolin.control.optimization.optimal_motion import cost_parts, guesses
from robolin.control.optimization.optimize import motion_problem
from robolin.description.robot_source import bundled_path
from tests.robots import random_states

PAYLOAD = ("panda_hand_tcp", 1.5)
STEP, KNOTS, LIMITED_KNOTS = 0.01, 100, 60
Q, R = 1.0, 1e-3
JOINT_WAY = (0.4, 0.4, -0.4, 0.4, 0.4, -0.4, 0.4)
LIMITED_WAY = (1.0, 0.6, -0.5, 0.8, 0.5, 0.6, 0.8)
SCALES = (1.0, 0.6, 0.45)
# final weights of a joint goal and of a pose
FINAL = {"joint goal": 1e3, "pose goal": 1e4}
# relative differences of the costs: of the same optimum, and of one with active limits
AGREE_WITHIN = {"joint goal": 1e-8, "pose goal": 1e-7}
LIMITED_WITHIN, MOST_VIOLATION = 1e-5, 1e-4

Solve = Callable[[], dict[str, Any]]


def measured(effort: Effort) -> dict[str, Any]:
    """ms of a solve, cost and iterations of each problem and program."""
    arm = robolin.load("panda", payload=PAYLOAD, damping=False)
    rounds = 2 if effort.quick else 15
    progress("Panda + 1.5 kg: optimal motions")
    setting = {"arm": "Panda, 7 joints, with 1.5 kg", "knots": KNOTS}
    return setting | {
        "problems": _against_crocoddyl(arm, rounds),
        "iteration": _iteration(arm, rounds),
        "limits": _against_ipopt(arm, rounds, quick=effort.quick),
    }


def _options(arm: Any) -> dict[str, dict[str, Any]]:
    """Arguments of `robolin.optimize` for each problem."""
    home = np.array(arm.poses["home"])
    there = robolin.jacobian(arm, home + np.multiply(0.7, JOINT_WAY), frame=PAYLOAD[0])
    goals = {
        "joint goal": home + JOINT_WAY,
        "pose goal": robolin.PoseGoal(PAYLOAD[0], there.position, there.rotation),
    }
    common = {"q": home, "duration": KNOTS * STEP, "dt": STEP, "R": R, "limits": False}
    return {
        name: {"goal": goal, "Q": {"qd": Q, "q": 0.0}, "final": FINAL[name], "starts": 1, **common}
        for name, goal in goals.items()
    }


def _solver(arm: Any, options: Mapping[str, Any]) -> Solve:
    """The solver alone, as Crocoddyl's `solve` is timed: memory is allocated before."""
    own = {name: value for name, value in options.items() if name not in ("goal", "starts")}
    problem = motion_problem(arm, options["goal"], **own)
    cost, tolerances = problem.stage_cost(), problem.tolerances()
    [guess] = guesses(problem, 1, 0, None)

    def run() -> dict[str, Any]:
        form = AccelerationForm(arm, problem.dt, problem.start, guess, cost, problem.terminal())
        began = time.perf_counter()
        form.roll_out()
        converged, _ = satisfy(form, tolerances, 1e-12, 500)
        seconds = time.perf_counter() - began
        total = sum(cost_parts(problem, form.y()).values())
        iterations = form.progress.iterations
        return _solved(seconds, iterations, total, converged)

    return run


def _solved(seconds: float, iterations: int, cost: float, converged: bool) -> dict[str, Any]:
    return {"seconds": seconds, "iterations": iterations, "cost": cost, "converged": converged}


def _call(arm: Any, options: Mapping[str, Any]) -> Solve:
    """A call of `robolin.optimize`, with gains, defect and two simulated replays."""

    def run() -> dict[str, Any]:
        began = time.perf_counter()
        result = robolin.optimize(arm, **options)
        seconds = time.perf_counter() - began
        return _solved(seconds, result.iterations, result.cost, result.converged)

    return run


def _against_crocoddyl(arm: Any, rounds: int) -> dict[str, Any]:
    problems = _options(arm)
    peer = Crocoddyl.started(arm, problems)
    answers: dict[str, Any] = {}
    for name, options in problems.items():
        runs = {"robolin, solve": _solver(arm, options), "robolin, call": _call(arm, options)}
        if peer is not None:
            runs[peer.versions] = lambda name=name: peer.solve(name)
        answers[name] = _summary(in_turns(runs, rounds))
        if peer is not None:
            costs = [answers[name][each]["cost"] for each in ("robolin, solve", peer.versions)]
            gap = abs(costs[0] / costs[1] - 1.0)
            answers[name]["gap"] = gap
            if not gap <= AGREE_WITHIN[name]:
                raise Disagreement(f"{name}: the costs are {gap:.1e} apart")
    if peer is not None:
        peer.stop()
    return answers


class Crocoddyl:
    """Crocoddyl in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], versions: str) -> None:
        self._process, self.versions = process, versions

    @classmethod
    def started(cls, arm: Any, problems: Mapping[str, Mapping[str, Any]]) -> Crocoddyl | None:
        """The process with these problems; None, with the reason printed, if it is of no use."""
        python = os.environ.get("CROCODDYL_PYTHON")
        if not python:
            progress("Crocoddyl is left out: CROCODDYL_PYTHON names no interpreter that has it")
            return None
        script = str(Path(__file__).with_name("crocoddyl_script.py"))
        process = subprocess.Popen(
            [python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        answer = _exchange(process, json.dumps(_request(arm, problems)))
        if answer is None or answer["reason"]:
            process.kill()
            process.communicate()
            progress(
                f"Crocoddyl is left out: {answer['reason'] if answer else 'it does not start'}"
            )
            return None
        return cls(process, answer["versions"])

    def solve(self, name: str) -> dict[str, Any]:
        answer = _exchange(self._process, name)
        assert answer is not None, "Crocoddyl ended"
        return answer

    def stop(self) -> None:
        self._process.communicate()


def _exchange(process: subprocess.Popen[str], line: str) -> dict[str, Any] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return None
    answer = process.stdout.readline()
    return json.loads(answer) if answer else None


def _request(arm: Any, problems: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    states = random_states(arm, 20, 7)
    q, qd, tau = states.q, states.qd, 10.0 * states.dtau
    qdd = robolin.forward(arm, q, qd, tau)
    arrays = {"q": q, "qd": qd, "tau": tau, "qdd": qdd}
    requests = {}
    for name, options in problems.items():
        goal = options["goal"]
        common = {"q": options["q"].tolist(), "dt": STEP, "knots": KNOTS, "Q": Q, "R": R}
        common["final"] = options["final"]
        if isinstance(goal, robolin.PoseGoal):
            position, turn = np.asarray(goal.position), np.asarray(goal.rotation)
            own = {"frame": goal.frame, "place": position.tolist(), "turn": turn.tolist()}
        else:
            own = {"goal": goal.tolist()}
        requests[name] = common | own
    return {
        "urdf": str(bundled_path("panda")),
        "payload": PAYLOAD,
        "states": {name: values.tolist() for name, values in arrays.items()},
        "problems": requests,
    }


def _summary(runs: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    answers = {}
    for name, rounds in runs.items():
        last, times = rounds[-1], [1e3 * each["seconds"] for each in rounds]
        assert last["converged"], f"{name} converges"
        quantiles = spread(times)
        answers[name] = {
            "ms": quantiles.low,
            "median ms": quantiles.median,
            "iterations": last["iterations"],
            "cost": last["cost"],
        }
    return answers


def _iteration(arm: Any, rounds: int) -> dict[str, float]:
    """µs of the parts of an iteration with 100 knots."""
    options = _options(arm)["joint goal"]
    own = {name: value for name, value in options.items() if name not in ("goal", "starts")}
    problem = motion_problem(arm, options["goal"], **own)
    [guess] = guesses(problem, 1, 0, None)
    form = AccelerationForm(arm, problem.dt, problem.start, guess, problem.stage_cost())
    cost = form.total(form.x, form.tau)
    decrease = form.backward()

    def backward() -> None:
        form.passes.backward(form.x, form.tau, form._jacobians, form.block, 0.0)

    def trial() -> None:
        # a decrease that no step reaches is tried with every fraction: eight trials
        form._search(cost - 2.0 * abs(decrease) - 1e9, decrease)

    parts = {"linearize": (form.linearize, 1), "backward pass": (backward, 1), "trial": (trial, 8)}
    times = {name: 1e6 * _best(run, 20 * rounds) / count for name, (run, count) in parts.items()}
    return times | {"iteration": sum(times.values())}


def _best(run: Callable[[], Any], count: int) -> float:
    best = np.inf
    for _ in range(count):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return float(best)


def _against_ipopt(arm: Any, rounds: int, *, quick: bool) -> dict[str, Any]:
    """Effort limits of the file times a factor: cost, violation in N·m and ms of a call."""
    home = np.array(arm.poses["home"])
    most = np.array([joint.limits.effort for joint in arm.joints])
    answers = {}
    for scale in SCALES[-1:] if quick else SCALES:
        options = {"q": home, "duration": LIMITED_KNOTS * STEP, "dt": STEP, "max_velocity": 100.0}
        options |= {"goal": home + LIMITED_WAY, "max_effort": scale * most}
        [times] = in_turns({"robolin": _call(arm, options)}, rounds).values()
        own = robolin.optimize(arm, **options)
        beyond = float((np.abs(own.tau[:-1]) - scale * most).max())
        entry = {
            "ms": 1e3 * min(each["seconds"] for each in times),
            "iterations": own.iterations,
            "violation": max(beyond, 0.0),
        }
        if not quick:
            entry |= _referee(arm, options, own.cost)
        if entry["violation"] > MOST_VIOLATION:
            raise Disagreement(f"limits times {scale}: {beyond:.1e} N·m beyond")
        answers[str(scale)] = entry
    return answers


def _referee(arm: Any, options: Mapping[str, Any], cost: float) -> dict[str, float]:
    try:
        import casadi  # noqa: F401
    except ImportError:
        progress("IPOPT is left out: CasADi is not installed")
        return {}
    began = time.perf_counter()
    referee = robolin.optimize(arm, **options, solver="ipopt")
    seconds = time.perf_counter() - began
    gap = cost / referee.cost - 1.0
    if not abs(gap) <= LIMITED_WITHIN:
        raise Disagreement(f"the cost is {gap:.1e} above IPOPT's")
    return {"gap": gap, "IPOPT ms": 1e3 * seconds}
