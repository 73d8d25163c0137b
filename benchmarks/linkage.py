"""Closed-loop dynamics of a four-bar: kernel, LAPACK and Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import Disagreement
from benchmarks.timing import Contestant, Effort, compared, interleaved, progress
from robolin.evaluation.loop_projection import LoopMotion

STEP = 1e-3
# redundant constraints are dropped here and regularized there
AGREE_WITHIN = 1e-9

Motion = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def measured(effort: Effort) -> dict[str, Any]:
    """µs per evaluation of q̈, and per simulation step with projection onto the constraints."""
    arm = robolin.load("four-bar")
    state = robolin.close(arm, [0.5, 0.0, 0.0], [1.0, 0.0, 0.0], hold="drive")
    calls, steps = (50, 50) if effort.quick else (2_000, 1_000)
    motions = _motions(arm)
    true = motions["robolin"](state.q, state.qd, np.zeros(arm.n))
    gaps = {
        name: _checked(motion(state.q, state.qd, np.zeros(arm.n)), true)
        for name, motion in motions.items()
    }
    progress(f"{arm.name}: {calls} evaluations, {steps} steps")
    times = interleaved(
        {name: Contestant(_repeated(motion, state), calls) for name, motion in motions.items()},
        min(effort.rounds, 5),
    )

    def simulated(count: int) -> Any:
        clock: dict[str, Any] = {"duration": count * STEP, "dt": STEP, "every": None}
        return robolin.simulate(arm, state.q, state.qd, **clock, engine="compiled")

    per_step = interleaved({"robolin": Contestant(simulated, steps)}, min(effort.rounds, 5))
    return {
        "arm": arm.name,
        "evaluations": compared(times),
        "steps": compared(per_step),
        "gaps": gaps,
    }


def _motions(arm: robolin.Arm) -> dict[str, Motion]:
    """q̈ as a function of q, q̇ and τ, for every implementation."""
    kernel = LoopMotion(arm, {"engine": "compiled"})
    lapack = LoopMotion(arm, {"engine": "compiled"}, method="kkt")
    motions: dict[str, Motion] = {
        "robolin": lambda q, qd, tau: kernel(0.0, q, qd, tau),
        "by LAPACK": lambda q, qd, tau: lapack(0.0, q, qd, tau),
    }
    if find_spec("pinocchio"):
        motions["Pinocchio"] = _pinocchio(arm)
    return motions


def _pinocchio(arm: robolin.Arm) -> Motion:
    """constraintDynamics on the same joints, in the arm's joint order."""
    import pinocchio as pin

    from tests.dynamics.pinocchio_reference import model_from_arm

    model = model_from_arm(arm)
    assert list(model.names)[1:] == list(arm.joint_names), "states are handed over as they are"
    ends = []
    for frame in (arm.loops[0].first, arm.loops[0].second):
        pose = pin.SE3(np.reshape(frame.pose.rotation, (3, 3)), np.array(frame.pose.translation))
        still = frame.link == arm.base
        ends += [0 if still else model.getJointId(arm.link(frame.link).joint.name), pose]
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL
    )
    closures, constraint_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    closures.append(closure)
    constraint_data.append(closure.createData())
    data, settings = model.createData(), pin.ProximalSettings(1e-12, 1e-8, 20)
    pin.initConstraintDynamics(model, data, closures, constraint_data)

    def motion(q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        qdd = pin.constraintDynamics(model, data, q, qd, tau, closures, constraint_data, settings)
        return np.array(qdd)

    return motion


def _repeated(motion: Motion, state: Any) -> Callable[[int], None]:
    tau = np.zeros(len(state.q))

    def run(count: int) -> None:
        for _ in range(count):
            motion(state.q, state.qd, tau)

    return run


def _checked(computed: np.ndarray, true: np.ndarray) -> float:
    gap = float(np.abs(computed - true).max() / np.abs(true).max())
    if not gap <= AGREE_WITHIN:
        raise Disagreement(f"accelerations are {gap:.1e} apart, {AGREE_WITHIN:.0e} would be fine")
    return gap
