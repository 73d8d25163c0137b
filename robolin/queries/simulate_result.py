"""Simulated trajectory as result arrays, with its contract and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robolin.control.simulation.feedback_control import FeedbackControl
from robolin.control.simulation.simulate import SimulationTask
from robolin.control.simulation.simulated_motion import Simulation
from robolin.control.simulation.torques import Push, effort_limits
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.core.natural_scales import natural_scales, rounding_share
from robolin.core.quantity_table import COLUMN_WORDS, unit_of
from robolin.core.results.result import Array, Result
from robolin.core.text import list_some
from robolin.evaluation.prescribed_joints import prescribed_joints, prescribed_line
from robolin.queries.request import QueryContext

_NUMBERS = (
    *("kinetic_energy", "potential_energy", "work", "energy_error", "lyapunov"),
    *("position_error", "orientation_error"),
)
# cost-to-go of a regulator, xᵀ P x
COST_TO_GO = "cost_to_go"
# relative energy error above which the integration is considered inaccurate
_MAX_ENERGY_ERROR = 1e-2
# relative round-off allowed beyond a limit
_ROUNDING = 1e-12
_VELOCITIES = {"rates": "q̇", "xi": "ξ = (I + HφK)* q̇", "nu": "ν = m* q̇"}


@dataclass(frozen=True)
class SimulatedMotion:
    """A simulated trajectory, its origin, and whether only its final state is written."""

    task: SimulationTask
    motion: Simulation
    start_text: str
    torque_text: str
    files: Mapping[str, str]
    ends_only: bool
    cost: str = ""

    @property
    def many(self) -> bool:
        return bool(self.motion.q.ndim > 2)


def motion_result(context: QueryContext, simulated: SimulatedMotion) -> Result:
    """Build the result of a simulation and emit its warnings."""
    arm, motion = simulated.task.arm, simulated.motion
    for text in (
        _saturation_text(arm, motion),
        effort_exceeded_text(simulated.task, motion),
        _passive_torques(simulated.task, motion),
        _position_limits_text(arm, motion),
        _velocity_limits_text(arm, motion),
        energy_drift_text(arm, motion),
    ):
        if text:
            context.warn(text)
    time = None if simulated.ends_only else _times(motion)
    lines = _contract_lines(simulated)
    return context.result(_arrays(simulated), lines, dict(simulated.files), time)


def _arrays(simulated: SimulatedMotion) -> tuple[Array, ...]:
    """Return every column; trajectories of several initial states follow one another."""
    arm, motion = simulated.task.arm, simulated.motion
    kinds = [joint.kind for joint in arm.joints]
    arrays = [
        Array(
            name,
            _rows(simulated, getattr(motion, name), 1),
            (arm.joint_names,),
            unit_of(name, kinds),
            word,
        )
        for name, word in COLUMN_WORDS.items()
    ]
    for name in _NUMBERS:
        values = getattr(motion, name)
        if values is not None:
            column = COST_TO_GO if name == "lyapunov" and _regulated(simulated) else name
            arrays.append(Array(column, _rows(simulated, values, 0), (), unit_of(column, kinds)))
    if simulated.many and not simulated.ends_only:
        starts, samples = motion.q.shape[0], len(motion.time)
        numbers = np.repeat(np.arange(1.0, starts + 1.0), samples)
        arrays.append(Array("initial", numbers, (), unit_of("initial", kinds)))
    return tuple(arrays)


def _regulated(simulated: SimulatedMotion) -> bool:
    return isinstance(simulated.task.control, FeedbackControl)


def _rows(simulated: SimulatedMotion, values: Floats, rank: int) -> Floats:
    if simulated.ends_only:
        return np.ascontiguousarray(values[:, -1])
    return np.ascontiguousarray(values).reshape(-1, *values.shape[values.ndim - rank :])


def _times(motion: Simulation) -> Floats:
    return np.tile(motion.time, motion.q.shape[0] if motion.q.ndim > 2 else 1)


def _prescribed(task: SimulationTask) -> dict[str, str]:
    """Contract entry of prescribed joints."""
    if task.prescribed is None:
        return {}
    prescribed = prescribed_joints(task.arm, task.prescribed.joints)
    return {"prescribed": prescribed_line(task.arm, prescribed, task.prescribed.origin)}


def _contract_lines(simulated: SimulatedMotion) -> dict[str, Any]:
    task, motion = simulated.task, simulated.motion
    limits = _saturation_text(task.arm, motion) or "respected, none was reached"
    if task.prescribed is not None:
        limits += f"; {effort_exceeded_text(task, motion) or 'prescribed joints have none'}"
    return {
        "start": simulated.start_text,
        "integrator": task.schedule.settings_text(),
        "velocities": f"{_VELOCITIES[task.form]}, by {_method_text(task)}",
        **_closures(task),
        "torque": simulated.torque_text,
        "torque limits": limits if task.limits else "ignored",
        **_disturbance(task),
        **_prescribed(task),
        **({"cost": simulated.cost} if simulated.cost else {}),
        "energy error": f"at most {motion.energy_drift.max():.3g} J, kinetic energy "
        f"up to {motion.kinetic_energy.max():.3g} J",
    }


def _method_text(task: SimulationTask) -> str:
    """Name the forward-dynamics method of an arm without loops."""
    if task.arm.has_mimic:
        return "elimination in the mass matrix"
    return "articulated bodies" if task.form == "rates" else "algorithm 8.1"


def _disturbance(task: SimulationTask) -> dict[str, str]:
    """Contract entry of the disturbance torque."""
    push = task.disturbance
    if not isinstance(push, Push):
        return {}
    always = push.start == 0.0 and not np.isfinite(push.stop)
    when = "always" if always else f"from {push.start:g} to {push.stop:g} s"
    pushed = zip(task.arm.joint_names, np.asarray(push.tau).tolist(), strict=True)
    listed = ", ".join(f"{name} {value:g}" for name, value in pushed if value)
    return {"disturbance": f"{listed or 'none'}, {when}; efforts are without it"}


def _closures(task: SimulationTask) -> dict[str, str]:
    """Contract entries of the closed loops: projection or Baumgarte stabilisation."""
    if not task.arm.loops:
        return {}
    if task.baumgarte is None:
        stabilization = "positions and velocities projected onto the loop constraints in every step"
    else:
        alpha, beta = task.baumgarte
        stabilization = f"Baumgarte stabilisation with {alpha:g} and {beta:g} 1/s"
    return {"velocities": "q̇, with loop constraints", "closures": stabilization}


def _saturation_text(arm: Arm, motion: Simulation) -> str:
    """Describe how often torques were saturated, by joint."""
    counts = _counts(arm, motion.saturated)
    return f"torques are saturated at the joint limits in {counts}" if counts else ""


def effort_exceeded_text(task: SimulationTask, motion: Simulation) -> str:
    """Describe how often prescribed joints exceed their torque limits, by joint."""
    if task.prescribed is None or not task.limits:
        return ""
    prescribed = prescribed_joints(task.arm, task.prescribed.joints) != 0.0
    limits = effort_limits(task.arm)
    counts = _counts(task.arm, prescribed & limits.exceeded((1.0 - _ROUNDING) * motion.tau))
    return f"prescribed joints exceed their effort limits in {counts}" if counts else ""


def _passive_torques(task: SimulationTask, motion: Simulation) -> str:
    """Describe how often torques act on passive joints, by joint."""
    passive = np.array([not joint.actuated for joint in task.arm.joints])
    loaded = passive & (np.abs(motion.tau) > _torque_rounding(task.arm))
    if task.prescribed is not None:
        loaded &= prescribed_joints(task.arm, task.prescribed.joints) == 0.0
    counts = _counts(task.arm, loaded)
    return f"torques act on passive joints in {counts}" if counts else ""


def _counts(arm: Arm, marked: Mask) -> str:
    """Number of rows with a marked joint, and the count of each joint; '' if there are zero."""
    rows = marked.reshape(-1, arm.n)
    counts = zip(arm.joint_names, rows.sum(axis=0).tolist(), strict=True)
    joints = [f"{name} {count}" for name, count in counts if count]
    text = f"{int(rows.any(axis=1).sum())} of {len(rows)} rows: {list_some(joints)}"
    return text if joints else ""


def _position_limits_text(arm: Arm, motion: Simulation) -> str:
    """List the joints that exceed their position limits: the simulation has no end stops."""
    q = motion.q.reshape(-1, arm.n)
    # a position at its limit differs from it by round-off
    margin = _ROUNDING * np.maximum(1.0, np.abs(q).max(axis=0))
    low, high = q.min(axis=0) + margin, q.max(axis=0) - margin
    names = [
        joint.name
        for joint, least, most in zip(arm.joints, low, high, strict=True)
        if (joint.limits.lower is not None and least < joint.limits.lower)
        or (joint.limits.upper is not None and most > joint.limits.upper)
    ]
    return (
        f"position limits are exceeded (the simulation has no end stops): {list_some(names)}"
        if names
        else ""
    )


def _velocity_limits_text(arm: Arm, motion: Simulation) -> str:
    """Count the rows in which joints exceed their velocity limits, which the motion ignores."""
    limits = [joint.limits.velocity for joint in arm.joints]
    fastest = np.array([np.inf if limit is None else limit for limit in limits])
    counts = _counts(arm, (1.0 - _ROUNDING) * np.abs(motion.qd) > fastest)
    return f"velocity limits are exceeded in {counts}" if counts else ""


def energy_drift_text(arm: Arm, motion: Simulation) -> str:
    """Return a warning if the energy error is large compared with the exchanged energy."""
    moved = np.maximum(np.abs(motion.kinetic_energy), np.abs(motion.work)).max(axis=-1)
    lost = motion.energy_drift
    beyond = (lost > _MAX_ENERGY_ERROR * moved) & (lost > _energy_rounding(arm, motion))
    if not beyond.any():
        return ""
    worst = np.unravel_index(np.argmax(np.where(beyond, lost, 0.0)), lost.shape)
    return (
        f"the energy error is {lost[worst]:.3g} J for {moved[worst]:.3g} J exchanged; use a "
        "smaller --dt or --rtol"
    )


def _torque_rounding(arm: Arm) -> float:
    """Round-off of torques that balance gravity, in N·m or N."""
    scales = natural_scales(arm.model_dict, float(np.linalg.norm(arm.gravity)))
    unit = unit_of("tau", [joint.kind for joint in arm.joints])
    return rounding_share("tau") * scales.of_unit(unit)


def _energy_rounding(arm: Arm, motion: Simulation) -> Floats:
    """Round-off of energies (...) in J.

    Energies and work are sums of terms as large as weight times reach, and torques times
    positions, which may cancel.
    """
    gravity = float(np.linalg.norm(arm.gravity))
    own = natural_scales(arm.model_dict, gravity).of_unit(unit_of("kinetic_energy", ()))
    sizes = np.abs([motion.kinetic_energy, motion.potential_energy, motion.work])
    distance = np.maximum(1.0, np.abs(motion.q).max(axis=-2))
    exerted = (np.abs(motion.tau).max(axis=-2) * distance).sum(axis=-1)
    scale: Floats = own + sizes.max(axis=-1).sum(axis=0) + exerted
    return rounding_share("energy_error") * scale
