"""Simulated trajectory as result arrays, with its contract and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from robolin.control.simulation.feedback_control import FeedbackControl
from robolin.control.simulation.simulate import SimulationTask
from robolin.control.simulation.simulated_motion import EnergyCheck, Simulation
from robolin.control.simulation.torques import Push, effort_limits
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.core.natural_scales import natural_scales, rounding_share
from robolin.core.quantity_table import COLUMN_WORDS, unit_of
from robolin.core.records import dataclass
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.core.text import list_some
from robolin.evaluation.constant_inputs import prescribed_joints, prescribed_line
from robolin.queries.feedback_file import ReturnCheck
from robolin.queries.request import QueryContext

_NUMBERS = (
    *("kinetic_energy", "potential_energy", "work", "energy_error", "lyapunov"),
    *("position_error", "orientation_error"),
)
# cost-to-go of a regulator, xᵀ P x
COST_TO_GO = "cost_to_go"
# relative round-off allowed beyond a limit
_ROUNDING = 1e-12
_VELOCITIES = {"rates": "q̇", "xi": "ξ = (I + HφK)* q̇", "nu": "ν = m* q̇"}


@dataclass(frozen=True)
class SimulatedMotion:
    """Origin of a simulated trajectory, and whether only its final state is written."""

    task: SimulationTask
    start_text: str
    torque_text: str
    files: Mapping[str, str]
    ends_only: bool
    returning: ReturnCheck | None = None


def motion_result(
    context: QueryContext, simulated: SimulatedMotion, motion: Simulation, cost: str = ""
) -> Result:
    """Build the result of a simulation and emit its warnings."""
    time = None if simulated.ends_only else _times(motion)
    checks = MotionChecks(simulated.task, simulated.returning)
    checks.update(motion)
    lines = _contract_lines(context, simulated, checks, cost)
    return context.result(_arrays(simulated, motion), lines, dict(simulated.files), time)


def motion_stream(
    context: QueryContext,
    simulated: SimulatedMotion,
    parts: Iterator[Simulation],
    cost: Callable[[Simulation], str],
) -> ResultStream:
    """The same result in parts; its warnings and its contract follow after the last row."""
    checks, last = MotionChecks(simulated.task, simulated.returning), list[Simulation]()

    def results() -> Iterator[Result]:
        for motion in parts:
            checks.update(motion)
            last[:] = [motion]
            arrays = _arrays(simulated, motion)
            yield context.result(arrays, {}, dict(simulated.files), motion.time)

    def ending(_: int) -> Footer:
        lines = _contract_lines(context, simulated, checks, cost(last[0]))
        empty = context.result((), lines, dict(simulated.files))
        return Footer(empty.contract, empty.inputs, empty.model, empty.reference)

    return ResultStream(results(), ending, lambda: simulated.task.schedule.stored_rows)


def _arrays(simulated: SimulatedMotion, motion: Simulation) -> tuple[Array, ...]:
    """Return every column; trajectories of several initial states follow one another."""
    arm = simulated.task.arm
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
    if motion.q.ndim > 2 and not simulated.ends_only:
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


def _contract_lines(
    context: QueryContext, simulated: SimulatedMotion, checks: MotionChecks, cost: str
) -> dict[str, Any]:
    """Lines of the contract; emits the warnings."""
    task = simulated.task
    for text in checks.warnings():
        context.warn(text)
    ending, failed = checks.returning.verdict() if checks.returning else ("", False)
    if ending:
        context.settings.notify("warning" if failed else "summary", ending)
    limits = checks.saturation_text() or "respected, none was reached"
    if task.prescribed is not None:
        limits += f"; {checks.effort_exceeded_text() or 'prescribed joints have none'}"
    return {
        "start": simulated.start_text,
        "integrator": task.schedule.settings_text(),
        "velocities": f"{_VELOCITIES[task.form]}, by {_method_text(task)}",
        **_closures(task),
        "torque": simulated.torque_text,
        "torque limits": limits if task.limits else "ignored",
        **_disturbance(task),
        **_prescribed(task),
        **({"return": ending} if ending else {}),
        **({"cost": cost} if cost else {}),
        "energy error": f"at most {checks.energy_error.max():.3g} J, kinetic energy "
        f"up to {checks.kinetic.max():.3g} J{_among_rows(task)}",
    }


def _among_rows(task: SimulationTask) -> str:
    """Energies between the stored rows are unknown."""
    return "" if task.schedule.fixed and task.schedule.every == 1 else " in the stored rows"


def _method_text(task: SimulationTask) -> str:
    """Name the forward-dynamics method of an arm without loops."""
    if task.arm.has_mimic:
        return "factorization of the mass matrix"
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
    return {"disturbance": f"{listed or 'none'}, {when}; not included in the efforts"}


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


class _RowCounts:
    """Number of rows with a marked joint, and the count of each joint."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names, self._joints = names, np.zeros(len(names), dtype=np.int64)
        self._marked = self._rows = 0

    def add(self, marked: Mask) -> None:
        rows = marked.reshape(-1, len(self._names))
        self._joints += rows.sum(axis=0)
        self._marked += int(rows.any(axis=1).sum())
        self._rows += len(rows)

    def text(self, words: str) -> str:
        """The words with the counts; '' if there are zero."""
        counts = zip(self._names, self._joints.tolist(), strict=True)
        joints = [f"{name} {count}" for name, count in counts if count]
        return f"{words} {self._marked} of {self._rows} rows: {list_some(joints)}" * bool(joints)


class MotionChecks:
    """Limits and energies of a motion, collected part by part.

    kinetic:      largest kinetic energy of each motion (...) in J
    energy_error: largest energy error of each motion (...) in J
    """

    @property
    def kinetic(self) -> Floats:
        return self._energies.kinetic

    @property
    def energy_error(self) -> Floats:
        return self._energies.error

    def __init__(self, task: SimulationTask, returning: ReturnCheck | None = None) -> None:
        self.returning = returning
        self._task, self._arm = task, task.arm
        names = task.arm.joint_names
        self._saturated, self._exceeded, self._passive, self._fast = (
            _RowCounts(names) for _ in range(4)
        )
        self._energies = EnergyCheck(task.arm)
        self._low, self._high = np.full(task.arm.n, np.inf), np.full(task.arm.n, -np.inf)
        self._torque_rounding = _torque_rounding(task.arm)
        limits = [joint.limits.velocity for joint in task.arm.joints]
        self._speed_limits = np.array([np.inf if each is None else each for each in limits])
        self._fastest = np.zeros(task.arm.n)

    def update(self, motion: Simulation) -> None:
        """Add the rows of a part."""
        self._update_counts(motion)
        if self.returning:
            self.returning.update(motion)
        q = motion.q.reshape(-1, self._arm.n)
        self._low = np.minimum(self._low, q.min(axis=0))
        self._high = np.maximum(self._high, q.max(axis=0))
        self._energies.update(motion)

    def _update_counts(self, motion: Simulation) -> None:
        task, arm = self._task, self._arm
        self._saturated.add(motion.saturated)
        passive = np.array([not joint.actuated for joint in arm.joints])
        loaded = passive & (np.abs(motion.tau) > self._torque_rounding)
        if task.prescribed is not None:
            prescribed = prescribed_joints(arm, task.prescribed.joints) != 0.0
            loaded &= ~prescribed
            beyond = effort_limits(arm).exceeded((1.0 - _ROUNDING) * motion.tau)
            self._exceeded.add(prescribed & beyond & task.limits)
        self._passive.add(loaded)
        speeds = np.abs(motion.qd)
        self._fast.add((1.0 - _ROUNDING) * speeds > self._speed_limits)
        self._fastest = np.maximum(self._fastest, speeds.reshape(-1, arm.n).max(axis=0))

    def warnings(self) -> list[str]:
        """Texts about limits and energies that need attention."""
        texts = (
            self.saturation_text(),
            self.effort_exceeded_text(),
            self._passive.text("torques act on passive joints in"),
            self._position_limits_text(),
            self._velocity_limits_text(),
            self._energies.text(),
            self._task.schedule.long_step_text(),
        )
        return [text for text in texts if text]

    def saturation_text(self) -> str:
        """How often torques were saturated, by joint."""
        return self._saturated.text("torques are saturated at the joint limits in")

    def effort_exceeded_text(self) -> str:
        """How often prescribed joints exceed their torque limits, by joint."""
        return self._exceeded.text("prescribed joints exceed their effort limits in")

    def _velocity_limits_text(self) -> str:
        """How often velocity limits are exceeded, by joint, and the largest excess."""
        text = self._fast.text("velocity limits are exceeded in")
        worst = int(np.argmax(self._fastest - self._speed_limits))
        joint = self._arm.joints[worst]
        unit = unit_of("qd", [joint.kind])
        fastest = f"{self._fastest[worst]:.4g} {unit}, limit {self._speed_limits[worst]:.4g} {unit}"
        return f"{text}; {joint.name} reaches {fastest}" if text else ""

    def _position_limits_text(self) -> str:
        """The joints that exceed their position limits: the simulation has no end stops."""
        # a position at its limit differs from it by round-off
        largest = np.maximum(np.abs(self._low), np.abs(self._high))
        margin = _ROUNDING * np.maximum(1.0, largest)
        names = [
            joint.name
            for joint, least, most in zip(
                self._arm.joints, self._low + margin, self._high - margin, strict=True
            )
            if (joint.limits.lower is not None and least < joint.limits.lower)
            or (joint.limits.upper is not None and most > joint.limits.upper)
        ]
        text = f"position limits are exceeded (the simulation has no end stops): {list_some(names)}"
        return text * bool(names)


def _torque_rounding(arm: Arm) -> float:
    """Round-off of torques that balance gravity, in N·m or N."""
    scales = natural_scales(arm.model_dict, float(np.linalg.norm(arm.gravity)))
    unit = unit_of("tau", [joint.kind for joint in arm.joints])
    return rounding_share("tau") * scales.of_unit(unit)
