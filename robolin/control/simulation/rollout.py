"""Rollouts: fixed steps in compiled code, bit-identical to the step-by-step integrator."""

from __future__ import annotations

import ctypes
from math import prod
from time import perf_counter
from typing import Any, Literal

import numpy as np

from robolin.control.simulation.controllers import BrakingController
from robolin.control.simulation.equations import Equations, FreeMotion
from robolin.control.simulation.feedback_control import (
    ComputedTorque,
    StateFeedback,
    TrackingController,
)
from robolin.control.simulation.integrators import FixedSteps, Look
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulated_motion import RecordedRates, RunningCost
from robolin.control.simulation.torques import (
    ConstantTorque,
    FunctionTorque,
    HoldingTorque,
    InterpolatedTorque,
    Push,
    ReferenceMotion,
    Torque,
)
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, as_joint_array
from robolin.core.records import dataclass
from robolin.core.threads import cores, run_in_threads
from robolin.engine.compiled.kernels import can_compile, host_width
from robolin.engine.compiled.native import NativeKernel
from robolin.engine.compiled.straight_kernel import StraightKernel
from robolin.evaluation.evaluate import FEW_STATES, MIN_LANES
from robolin.evaluation.state_call import fastest_kernel_of

# torque of a table: one value, linear between rows, or a pulse
TorqueTableKind = Literal["constant", "linear", "pulse"]
# control laws; "table" is a torque that does not depend on the state
CommandKind = Literal["table", "tracking", "computed", "feedback", "braking", "rate-control"]

# arms that run all their steps together: a multiple of the lanes, small enough for the caches
TILE = 16
# seconds of compiled code between two reports of progress, in which Ctrl-C waits
CHUNK_SECONDS = 0.05
# steps of the first chunk, and of a chunk after a step that needed the step-by-step integrator
FIRST_CHUNK = 16


@dataclass(frozen=True)
class RolloutCode:
    """Everything that the code of a rollout depends on; arms and numbers are data.

    scheme:      "rk4", or "euler" for semi-implicit Euler
    command:     the control law
    table:       torque of a table: the complete command, or added to gravity compensation
    hold:        add the static torque of gravity and loads
    disturbance: torque of a table that effort limits do not cut; None for none
    moving:      the reference of the law has several rows
    integrals:   integrals of the law are states
    cost:        the cost is a state
    """

    scheme: str
    command: CommandKind
    table: TorqueTableKind = "constant"
    hold: bool = False
    disturbance: TorqueTableKind | None = None
    moving: bool = False
    integrals: bool = False
    cost: bool = False

    @property
    def constant(self) -> bool:
        """True for torques that depend neither on time nor on the state."""
        own = self.command == "table" and self.table == "constant" and not self.hold
        return own and self.disturbance in (None, "constant")


class Rollout:
    """Compiled steps of one motion; `FixedSteps` runs the others."""

    def __init__(
        self,
        recipe: _Recipe,
        equations: Equations,
        schedule: Schedule,
        account: RunningCost | None,
    ) -> None:
        from robolin.control.simulation.rollout_code import FIELDS, NUMBERS, rollout_module

        self._names, self._number_names = FIELDS, NUMBERS
        self._recipe, self._schedule, self._account = recipe, schedule, account
        module = rollout_module(recipe.code())
        kinds = (*[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4)
        self._roll = module.function("roll", ctypes.c_int64, *kinds)
        self._batch, self._count = equations.batch, prod(equations.batch)
        self._jobs = equations.run_options.get("jobs") or cores()
        self._chunk = FIRST_CHUNK

    def start(self, fixed: FixedSteps, look: Look) -> None:
        """Prepare the memory."""
        self._y, self._before, self._look = fixed.y, fixed.before, look
        workers = max(1, min(self._jobs, self._count // TILE))
        self._workers = [self._worker() for _ in range(workers)]
        edges = [self._count * w // workers // TILE * TILE for w in range(workers)]
        self._edges = [*edges, self._count]

    def begin_part(self, fixed: FixedSteps) -> RecordedRates:
        """Return new arrays in which the rates of the stored rows of a part appear."""
        shape = (len(fixed.kept), *self._batch, self._recipe.arm.n)
        recorded = RecordedRates(np.empty(shape), np.empty(shape), fixed.stepwise)
        self._arrays = {
            "kept_y": fixed.kept,
            "kept_command": recorded.command,
            "kept_qdd": recorded.qdd,
        }
        for name, values in self._arrays.items():
            # the code counts rows from the start of the motion
            origin = values.ctypes.data - fixed.first * values.strides[0]
            for fields, _, _ in self._workers:
                fields[self._names.index(name)] = origin
        return recorded

    def _worker(self) -> tuple[Any, Any, Any]:
        """Fields and numbers of one thread, with memory and kernel tables of its own."""
        recipe, schedule = self._recipe, self._schedule
        tables = {name: kernel.table() for name, kernel in recipe.kernels.items()}
        n, memory = recipe.arm.n, recipe.memory
        states = 2 * n + memory
        per_arm = 5 * (states + 2) + 3 * n + 1 + states
        size = TILE * per_arm + 2 * n + recipe.reference_size + 2 * states + n + 64
        workspace, zeros = np.zeros(size), np.zeros(n)
        values: dict[str, Any] = {
            **recipe.values,
            **{name: table.address for name, table in tables.items()},
            "y": self._y,
            "before": self._before,
            "workspace": workspace,
            "zeros": zeros,
            "n": n,
            "count": self._count,
            "every": schedule.every or 0,
            "steps": schedule.steps,
            "tile": TILE,
            "memory": memory,
        }
        fields = (ctypes.c_int64 * len(self._names))()
        for i, name in enumerate(self._names):
            fields[i] = _address_or_number(values.get(name, 0))
        every = {"dt": schedule.step, "duration": schedule.duration, **recipe.numbers}
        numbers = (ctypes.c_double * len(self._number_names))(
            *(every.get(name, 0.0) for name in self._number_names)
        )
        return fields, numbers, (values, tables)

    def steps(self, first: int, last: int) -> int:
        """Run steps of a chunk that begins at `first`; return the number of the next step.

        The result is `first` if this step needs the step-by-step integrator.
        """
        stop = min(last, first + self._chunk)
        if self._account is not None:
            self._look(first, first * self._schedule.step, self._y)
            stop = self._account.unchanged_steps(first, stop)
            for fields, _, _ in self._workers:
                fields[self._names.index("counting")] = self._account.counting
        saved, began = (self._y.copy(), self._before.copy()), perf_counter()
        reached = self._run(first, stop)
        if reached < stop:
            self._chunk = FIRST_CHUNK
            self._y[...], self._before[...] = saved
            return self._run(first, reached) if reached > first else first
        spent = max(perf_counter() - began, 1e-6)
        steps = int((stop - first) * CHUNK_SECONDS / spent)
        self._chunk = max(1, min(steps, 4 * self._chunk))
        return reached

    def _run(self, first: int, stop: int) -> int:
        results = [stop] * len(self._workers)

        def work(worker: int) -> None:
            fields, numbers, _ = self._workers[worker]
            arms = self._edges[worker : worker + 2]
            results[worker] = self._roll(fields, numbers, *arms, first, stop)

        if len(self._workers) == 1:
            work(0)
        else:
            run_in_threads(work, len(self._workers), keep_alive=self._workers)
        return min(results)


def _address_or_number(value: Any) -> int:
    return value.ctypes.data if isinstance(value, np.ndarray) else int(value)


class _Recipe:
    """Data of the compiled code: kernels of the arm, arrays and numbers."""

    def __init__(self, equations: Equations, schedule: Schedule) -> None:
        self.arm: Arm = equations.arm
        self.scheme = schedule.integrator
        self.values: dict[str, Any] = {}
        self.numbers: dict[str, float] = {}
        self.options: dict[str, Any] = {}
        self.memory: int = 0
        self.reference_size: int = 0
        count = prod(equations.batch)
        self._width = MIN_LANES if count == 1 else None
        stages = 4 if self.scheme == "rk4" else 1
        self._blocks = stages * schedule.steps * -(-count // host_width())
        self.kernels: dict[str, NativeKernel | StraightKernel] = {
            name: self._kernel(name) for name in ("forward", "power")
        }

    def code(self) -> RolloutCode:
        return RolloutCode(self.scheme, **self.options)

    def _kernel(self, verb: str) -> NativeKernel | StraightKernel:
        return fastest_kernel_of(self.arm, verb, self._width, self._blocks)

    def use_inverse(self, verb: str = "inverse") -> None:
        self.kernels["inverse"] = self._kernel(verb)

    def array(self, name: str, values: AnyArray) -> None:
        self.values[name] = np.ascontiguousarray(values, dtype=np.float64)

    def table(self, name: str, torque: Torque, batch: tuple[int, ...]) -> str | None:
        """Add a torque that depends on time only; return its kind, None if it is another."""
        if isinstance(torque, ConstantTorque):
            values = torque.values
            if values.ndim > 1:
                values = np.broadcast_to(values, (*batch, self.arm.n))
            self.array(name, values)
            self.values[f"{name}_stride"] = self.arm.n if values.ndim > 1 else 0
            return "constant"
        if isinstance(torque, InterpolatedTorque):
            self.array(name, torque.values)
            self.array(f"{name}_time", torque.time)
            self.values[f"{name}_rows"] = len(torque.time)
            return "linear"
        if isinstance(torque, FunctionTorque) and isinstance(torque.function, Push):
            push = torque.function
            values = as_joint_array(self.arm, "tau", push.tau)
            if values.ndim > 1:
                return None
            self.array(name, values)
            self.numbers |= {f"{name}_start": push.start, f"{name}_stop": push.stop}
            return "pulse"
        return None

    def reference(self, motion: ReferenceMotion, names: tuple[str, ...]) -> None:
        for name in names:
            self.array(name, motion.arrays[name])
        if motion.time is not None:
            self.array("time", motion.time)
            self.values["rows"] = len(motion.time)
            self.options["moving"] = True
            self.reference_size = sum(motion.arrays[name][0].size for name in names)


def rollout_of(
    equations: Equations, schedule: Schedule, account: RunningCost | None
) -> Rollout | None:
    """Compiled steps for these equations; None if only the step-by-step integrator can run them."""
    options = equations.run_options
    enough = prod(equations.batch) * schedule.steps >= FEW_STATES
    engine = options.get("engine", "auto")
    if engine == "python" or (engine == "auto" and not enough) or not prod(equations.batch):
        return None
    if engine == "auto" and not can_compile():
        return None
    if equations.curved or not equations.of_rates:
        return None
    if not isinstance(equations.accelerations, FreeMotion):
        return None
    recipe = _Recipe(equations, schedule)
    if not (_add_command(recipe, equations) and _add_drive(recipe, equations)):
        return None
    if account is not None and not recipe.options.get("cost"):
        return None
    return Rollout(recipe, equations, schedule, account)


def _add_drive(recipe: _Recipe, equations: Equations) -> bool:
    """Add limits and disturbance; return whether the code supports them."""
    drive = equations.torque
    if drive.prescribed is not None:
        return False
    recipe.array("least", drive.limits.least)
    recipe.array("most", drive.limits.most)
    if drive.disturbance is None:
        return True
    kind = recipe.table("push", drive.disturbance, equations.batch)
    recipe.options["disturbance"] = kind
    return kind is not None


def _add_command(recipe: _Recipe, equations: Equations) -> bool:
    """Add the control law; return whether the code supports it."""
    command, batch = equations.torque.command, equations.batch
    if isinstance(command, TrackingController):
        _add_tracking(recipe, command)
    elif isinstance(command, StateFeedback):
        if command.basis is not None:
            return False
        _add_feedback(recipe, command, equations)
    elif isinstance(command, BrakingController):
        gain = np.broadcast_to(command.gain, (recipe.arm.n,))
        recipe.options["command"] = "braking" if command.uniform else "rate-control"
        recipe.use_inverse("inverse-from-rest" if command.uniform else "rate-control")
        recipe.array("kp", -gain if command.uniform else gain)
    else:
        added = command.more if isinstance(command, HoldingTorque) else command
        kind, hold = recipe.table("command", added, batch), added is not command
        recipe.options |= {"command": "table", "table": kind, "hold": hold}
        if hold:
            recipe.use_inverse()
        return kind is not None
    return True


def _add_tracking(recipe: _Recipe, command: TrackingController) -> None:
    computed = isinstance(command.law, ComputedTorque)
    hold = computed or bool(getattr(command.law, "hold", False))
    recipe.options |= {"command": "computed" if computed else "tracking", "hold": hold}
    if hold:
        recipe.use_inverse()
    for name, gain in (("kp", command.kp), ("kd", command.kd)):
        recipe.array(name, np.broadcast_to(gain, (recipe.arm.n,)))
    recipe.reference(command.reference, ("q", "qd", "qdd") if computed else ("q", "qd"))


def _add_feedback(recipe: _Recipe, command: StateFeedback, equations: Equations) -> None:
    names: tuple[str, ...] = ("q", "qd", "tau", "K")
    recipe.options["command"] = "feedback"
    if command.memory:
        recipe.options["integrals"], recipe.memory = True, command.memory
        names = (*names, "integrals")
    recipe.values["motors"] = np.array(command.motors, dtype=np.int64)
    recipe.values["motor_count"] = len(command.motors)
    recipe.reference(command.reference, names)
    if equations.has_cost and command.weights is not None:
        recipe.options["cost"] = True
        recipe.array("weights", command.weights)
