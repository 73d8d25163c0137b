"""Simulation of one robot and of many, compared with MuJoCo's rollout and Pinocchio's aba."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import Disagreement
from benchmarks.peers import installed
from benchmarks.subjects import States, Subject, panda
from benchmarks.timing import Contestant, Effort, compared, interleaved, progress

STEP = 1e-3
# neighbouring motions diverge slowly, so that round-off stays small over a second
AGREE_WITHIN = 1e-9
COMPARED_STEPS = 500


def measured(effort: Effort) -> dict[str, Any]:
    """µs per state and step, and the difference of the final states."""
    arms, steps = (200, 50) if effort.quick else (1_000, 1_000)
    subject = panda()
    states = subject.states(arms)
    # slow motion with gravity compensation: a tumbling robot amplifies differences in the last bit
    states["qd"] = 0.2 * states["qd"]
    states["tau"] = robolin.inverse(subject.arm, states["q"], engine="compiled")
    contestants = {"robolin": Contestant(lambda rows: _robolin(subject, states, rows, steps), arms)}
    gap = None
    if (peer := installed(subject).get("Pinocchio")) is not None:
        few = 2 if effort.quick else 10
        contestants["Pinocchio"] = Contestant(
            lambda rows: _pinocchio(peer, states, rows, steps), few
        )
        ours = _robolin(subject, states, few, steps)
        gap = _checked(ours, _pinocchio(peer, states, few, steps))
    progress(f"{subject.title}: {arms} at once, {steps} steps")
    times = interleaved(contestants, min(effort.rounds, 5))
    per_step = {name: [each / steps for each in values] for name, values in times.items()}
    return {
        "arm": subject.title,
        "arms": arms,
        "steps": steps,
        "gap": gap,
        "programs": compared(per_step),
        "one": _one(effort, subject, states),
    }


def _one(effort: Effort, subject: Subject, states: States) -> dict[str, Any]:
    """µs per step of one robot, every step stored, in one call from Python."""
    steps = 500 if effort.quick else 10_000
    q, qd, tau = (states[name][0] for name in ("q", "qd", "tau"))
    clock: dict[str, Any] = {"duration": steps * STEP, "dt": STEP}

    def ours(count: int) -> Any:
        return robolin.simulate(subject.arm, q, qd, **clock, tau=tau, limits=False, jobs=1).q

    def single_steps(count: int) -> Any:
        few: dict[str, Any] = {"duration": count * STEP, "dt": STEP}
        # a function of time runs step by step, on the same kernels
        push = lambda t, q, qd: tau  # noqa: E731
        return robolin.simulate(subject.arm, q, qd, **few, tau=push, limits=False, jobs=1).q

    contestants = {
        "robolin": Contestant(ours, steps),
        "robolin, step by step": Contestant(single_steps, steps // 10),
    }
    if (rollout := _mujoco_rollout(subject, q, qd, tau, steps)) is not None:
        states_after = rollout(steps)[0, :, 1 : 1 + subject.arm.n]
        # a robot that tumbles for longer amplifies rounding
        few = min(steps, COMPARED_STEPS)
        _checked(ours(steps)[1 : few + 1], states_after[:few])
        contestants["MuJoCo rollout"] = Contestant(rollout, steps)
    progress(f"{subject.title}: one robot, {steps} steps")
    times = interleaved(contestants, effort.rounds)
    return {"steps": steps, "programs": compared(times)}


def _mujoco_rollout(
    subject: Subject, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, steps: int
) -> Any:
    """MuJoCo's own C loop with RK4 on the same robot; None without MuJoCo."""
    if (peer := installed(subject).get("MuJoCo")) is None:
        return None
    import mujoco
    from mujoco import rollout

    model = copy(peer.model)
    data = mujoco.MjData(model)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    data.qpos[:], data.qvel[:] = q, qd
    start = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    control = np.tile(tau, (1, steps, 1))

    def run(count: int) -> Any:
        return rollout.rollout(model, data, start, control)[0]

    return run


def _robolin(subject: Subject, states: States, rows: int, steps: int) -> np.ndarray:
    """q and q̇ of the first robots after `steps` steps, on one core."""
    q, qd, tau = (states[name][:rows] for name in ("q", "qd", "tau"))
    clock: dict[str, Any] = {"duration": steps * STEP, "dt": STEP, "every": None}
    motion = robolin.simulate(subject.arm, q, qd, **clock, tau=tau, limits=False, jobs=1)
    return np.concatenate([motion.q[:, -1], motion.qd[:, -1]], axis=1)


def _pinocchio(peer: Any, states: States, rows: int, steps: int) -> np.ndarray:
    """The same in Pinocchio, robot by robot and step by step."""
    import pinocchio as pin

    model, data, h = peer.model, peer.data, STEP
    last = np.empty((rows, 2 * model.nv))
    for i in range(rows):
        q, v, tau = (states[name][i].copy() for name in ("q", "qd", "tau"))
        for _ in range(steps):
            a1 = pin.aba(model, data, q, v, tau).copy()
            v2 = v + 0.5 * h * a1
            a2 = pin.aba(model, data, q + 0.5 * h * v, v2, tau).copy()
            v3 = v + 0.5 * h * a2
            a3 = pin.aba(model, data, q + 0.5 * h * v2, v3, tau).copy()
            v4 = v + h * a3
            a4 = pin.aba(model, data, q + h * v3, v4, tau).copy()
            q = q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        last[i] = np.concatenate([q, v])
    return last


def _checked(ours: np.ndarray, theirs: np.ndarray) -> float:
    gap = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not gap <= AGREE_WITHIN:
        raise Disagreement(f"the last states are {gap:.1e} apart, {AGREE_WITHIN:.0e} would be fine")
    return gap
