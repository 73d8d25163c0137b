"""Result of a simulation, and the cost of a motion under state feedback.

The cost is accumulated per step and not per stored row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, fields
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from robolin.control.simulation.controllers import Controller, Law
from robolin.control.simulation.equations import Equations
from robolin.control.simulation.feedback_control import StateFeedback
from robolin.control.simulation.schedule import Schedule
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.core.natural_scales import natural_scales, rounding_share
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import unit_of
from robolin.core.records import dataclass
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import evaluate

# relative energy error above which the integration is considered inaccurate
_MAX_ENERGY_ERROR = 1e-2
# relative energy error that functions report
_GROSS_ERROR = 0.1
# marks fields that `robolin.testing` does not store
NOT_STORED = {"stored": False}


@dataclass(frozen=True, eq=False, repr=False)
class FeedbackCost(DisplayMixin):
    """Cost of a motion of the nonlinear arm, and the cost that the linear model predicts.

    Fields:
        spent: ∫ xᵀQx + uᵀRu + 2xᵀNu dt along the motion (...); a sum if there is a dt
        left: cost-to-go xᵀ P x at the end (...)
        predicted: cost-to-go xᵀ P x at the start (...), approximated by spent + left for small x

    Example:
        >>> arm = robolin.load("acrobot")
        >>> model = robolin.state_space(arm, [np.pi, 0.0])
        >>> law = robolin.lqr(model, Q={"q": 10, "qd": 1}).feedback()
        >>> motion = robolin.simulate(arm, [np.pi + 1e-3, 0.0], duration=5.0, dt=0.01, control=law)
        >>> cost = motion.cost
        >>> bool(abs(cost.spent + cost.left - cost.predicted) < 1e-3 * cost.predicted)
        True
    """

    spent: Floats
    left: Floats
    predicted: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(DisplayMixin):
    """A simulated motion: one row per time, after the batch axes.

    Fields:
        time: (rows,) in s
        q: positions (..., rows, n) in rad or m
        qd: velocities (..., rows, n) in rad/s or m/s
        qdd: accelerations (..., rows, n) in rad/s² or m/s²
        tau: applied torques (..., rows, n) in N·m or N
        kinetic_energy: (..., rows) in J
        potential_energy: (..., rows) in J
        work: work of torques and loads on the arm, minus frictional losses (..., rows) in J
        energy_error: change of kinetic plus potential energy, minus the work (..., rows) in J
        saturated: True where a torque reached its effort limit (..., rows, n)
        lyapunov: Lyapunov function (..., rows): kinetic energy, and ½ eᵀ k e of a pose, in J;
            xᵀ P x of a regulator; None without a controller
        position_error: distance of a frame to its target (..., rows) in m; None without a target
        orientation_error: angle of a frame to its target (..., rows) in rad; None without a target
        integrals: integrals of a regulator with integral action (..., rows, i); else None
        cost: the `FeedbackCost` of a regulator, integrated along the steps and independent of the
            stored rows; None without weights
        control: the control law; None without one

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.5, every=250)
        >>> motion.time, motion.q.shape
        (array([0.  , 0.25, 0.5 ]), (3, 2))
        >>> bool(motion.energy_drift < 1e-8)
        True
    """

    time: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    kinetic_energy: Floats
    potential_energy: Floats
    work: Floats
    energy_error: Floats
    saturated: Mask
    lyapunov: Floats | None = None
    position_error: Floats | None = None
    orientation_error: Floats | None = None
    integrals: Floats | None = None
    cost: FeedbackCost | None = field(default=None, metadata=NOT_STORED)
    control: Law | None = field(default=None, compare=False, metadata=NOT_STORED)

    @property
    def energy_drift(self) -> Floats:
        """Largest energy error of each motion, in J."""
        drift: Floats = np.abs(self.energy_error).max(axis=-1)
        return drift


class EnergyCheck:
    """Energies of a motion, collected part by part, and the text about a large energy error.

    kinetic: largest kinetic energy of each motion (...) in J
    error:   largest energy error of each motion (...) in J
    """

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self.kinetic = self.error = self._moved = np.array(-np.inf)
        self._energies = self._tau = self._distance = np.array(-np.inf)

    def update(self, motion: Simulation) -> None:
        """Add the rows of a part."""
        energies = np.abs([motion.kinetic_energy, motion.potential_energy, motion.work])
        moved = np.maximum(energies[0], energies[2]).max(axis=-1)
        self.kinetic = np.maximum(self.kinetic, motion.kinetic_energy.max(axis=-1))
        self.error = np.maximum(self.error, motion.energy_drift)
        self._moved = np.maximum(self._moved, moved)
        self._energies = np.maximum(self._energies, energies.max(axis=-1))
        self._tau = np.maximum(self._tau, np.abs(motion.tau).max(axis=-2))
        self._distance = np.maximum(self._distance, np.abs(motion.q).max(axis=-2))

    def text(self, flags: bool = True) -> str:
        """A warning if the energy error is large compared with the exchanged energy.

        flags: name flags; False names keywords, and only reports a gross error
        """
        lost, moved, dashes = self.error, self._moved, "--" * flags
        most = _MAX_ENERGY_ERROR if flags else _GROSS_ERROR
        beyond = (lost > most * moved) & (lost > self._rounding())
        if not flags:
            # stored rows may be at rest, with no exchanged energy
            beyond &= lost > _MAX_ENERGY_ERROR * self._scale()
        if not beyond.any():
            return ""
        worst = np.unravel_index(np.argmax(np.where(beyond, lost, 0.0)), lost.shape)
        return (
            f"the energy error is {lost[worst]:.3g} J, compared with {moved[worst]:.3g} J of "
            f"exchanged energy; use a smaller {dashes}dt or {dashes}rtol"
        )

    def _rounding(self) -> Floats:
        """Round-off of energies (...) in J.

        Energies and work are sums of terms as large as weight times reach, and torques times
        positions, which may cancel.
        """
        exerted = (self._tau * np.maximum(1.0, self._distance)).sum(axis=-1)
        scale: Floats = self._scale() + self._energies.sum(axis=0) + exerted
        return rounding_share("energy_error") * scale

    def _scale(self) -> float:
        """Weight times reach in J."""
        gravity = float(np.linalg.norm(self._arm.gravity))
        scales = natural_scales(self._arm.model_dict, gravity)
        return scales.of_unit(unit_of("kinetic_energy", ()))


def stacked_motions(motions: Sequence[Simulation], batch: tuple[int, ...]) -> Simulation:
    """Stack motions over the same times into one, in the order of the batch."""
    first, arrays = motions[0], {}
    for each in fields(Simulation):
        parts = [getattr(motion, each.name) for motion in motions]
        if each.name in ("time", "control") or parts[0] is None:
            arrays[each.name] = parts[0]
        elif each.name == "cost":
            arrays[each.name] = _stacked_costs(parts, batch)
        else:
            arrays[each.name] = np.stack(parts).reshape(*batch, *parts[0].shape)
    return Simulation(**arrays) if batch else first


def _stacked_costs(costs: Sequence[FeedbackCost], batch: tuple[int, ...]) -> FeedbackCost:
    parts = {
        each.name: np.stack([getattr(cost, each.name) for cost in costs]).reshape(batch)
        for each in fields(FeedbackCost)
    }
    return FeedbackCost(**parts)


@dataclass(frozen=True, eq=False)
class RecordedRates:
    """Commanded torques and accelerations (rows, …, n) that the integrator has stored.

    missing: the rows without them
    """

    command: Floats
    qdd: Floats
    missing: list[int]

    def of_rows(self, count: int) -> RecordedRates:
        """The first rows."""
        return RecordedRates(self.command[:count], self.qdd[:count], self.missing)


def observed_motion(
    time: Floats,
    kept: Floats,
    equations: Equations,
    integrals: Floats,
    controller: Controller | None,
    cost: FeedbackCost | None = None,
    recorded: RecordedRates | None = None,
    initial_energy: Floats | None = None,
) -> Simulation:
    """Build the `Simulation` of the stored states: torques, accelerations, energies and errors.

    Without an initial energy, the first row has it.
    """
    arm, run_options = equations.arm, equations.run_options
    q, qd = equations.state(kept)
    work = equations.parts(kept)[2]
    tau, qdd, saturated = _evaluate_rows(equations, time, q, qd, integrals, recorded)
    energies = evaluate(arm, "energy", {"q": q, "qd": qd}, **run_options)
    kinetic = energies["kinetic_energy"]
    total = kinetic + energies["potential_energy"]
    first = total[0] if initial_energy is None else initial_energy
    error = None if controller is None else controller.error(q)
    falling = None
    if controller is not None:
        falling = controller.lyapunov(time, q, qd, kinetic, integrals)
    # move the rows from the first axis behind the batch axes
    placed = partial(np.moveaxis, source=0, destination=q.ndim - 2)
    return Simulation(
        time=time,
        kinetic_energy=placed(kinetic),
        potential_energy=placed(energies["potential_energy"]),
        q=placed(q),
        qd=placed(qd),
        qdd=placed(qdd),
        tau=placed(tau),
        work=placed(work),
        energy_error=placed(total - first - work),
        saturated=placed(saturated),
        lyapunov=None if falling is None else placed(falling),
        position_error=None if error is None else placed(error.position),
        orientation_error=None if error is None else placed(error.orientation),
        integrals=placed(integrals) if integrals.shape[-1] else None,
        cost=cost,
    )


def _evaluate_rows(
    equations: Equations,
    time: Floats,
    q: Floats,
    qd: Floats,
    integrals: Floats,
    recorded: RecordedRates | None,
) -> tuple[Floats, Floats, Mask]:
    """Motor torques, accelerations and saturation at each time."""
    if recorded is None:
        tau, qdd, saturated = np.empty_like(q), np.empty_like(q), np.empty(q.shape, dtype=bool)
        rows: Sequence[int] = range(len(time))
    else:
        tau, qdd = equations.torque.cut(recorded.command), recorded.qdd
        saturated, rows = tau != recorded.command, recorded.missing
    for row in rows:
        t = float(time[row])
        drive, state = equations.torque.with_integrals(integrals[row]), (t, q[row], qd[row])
        try:
            command = drive.command(*state)
            tau[row] = drive.cut(command)
            total = drive.total(*state, tau[row])
            saturated[row] = tau[row] != command
            qdd[row] = equations.accelerations(*state, total)
            tau[row] = drive.motor_share(*state, tau[row], total)
        except RobolinError as error:
            message = f"at t = {t:g} s: {error.message}"
            raise RobolinError(message, where=error.where, hint=error.hint) from error
    return tau, qdd, saturated


# largest distance of a step or row from a sample, as a fraction of the sample time
ON_TIME = 1e-6
# nodes of Gauss–Legendre quadrature on every adaptive step: exact up to degree 13
_NODES = 7

# returns the integrals (..., i) of the control law at a time t and a state y
IntegralsAt = Callable[[float, Floats], Floats]


class RunningCost:
    """∫ xᵀQx + uᵀRu + 2xᵀNu dt, or its sum over samples, over the time range of the gains.

    With fixed steps the integral is a state of the integrator, and `Equations.rate` calls `rate`;
    only complete steps within the time range of the gains count.  With adaptive steps it is a
    quadrature of the dense output on every step, so that the cost changes no step size.
    """

    counting: bool

    def __init__(self, law: StateFeedback, schedule: Schedule, batch: tuple[int, ...]) -> None:
        self._law, self._schedule, self._batch = law, schedule, batch
        times, self._dt = law.times, law.cost_dt
        self._begin, self._end = 0.0, schedule.duration
        if times is not None:
            self._begin, self._end = max(0.0, times[0]), min(self._end, times[-1])
        self._samples = self._sample_times(0.0 if times is None else float(times[0]))
        self.counting = False
        self._spent, self._pending = np.zeros(batch), np.zeros(batch)
        self._first: Floats | None = None
        self._last: Floats | None = None
        self._sampled = 0

    @property
    def integrated(self) -> bool:
        """True if the cost is an integral over time; otherwise it is a sum over samples."""
        return self._dt is None

    def _sample_times(self, origin: float) -> Floats:
        """Times of the samples within the motion, for a cost that is a sum."""
        if self._dt is None:
            return np.zeros(0)
        first = max(0, ceil(-origin / self._dt - ON_TIME))
        last = int((self._end - origin) / self._dt + ON_TIME)
        return origin + self._dt * np.arange(first, last + 1, dtype=np.float64)

    def rate(
        self, t: float, q: Floats, qd: Floats, integrals: Floats, tau: Floats
    ) -> Floats | float:
        """Rate (...) of the cost; 0 during steps that do not count."""
        return self._law.cost_rate(t, q, qd, integrals, tau) if self.counting else 0.0

    def look(self, equations: Equations, t: float, y: Floats, integrals_at: IntegralsAt) -> None:
        """Record the state y at time t, before the fixed step that begins there."""
        if not self.integrated:
            self._sample(equations, t, y, integrals_at)
            return
        counts = bool(self._counts(np.array(t)))
        if counts != self.counting:
            value = self._to_go(equations, t, y, integrals_at)
            if counts:
                self._first = value
            else:
                self._last = value
        self.counting = counts

    def _counts(self, t: Floats) -> Mask:
        """True for steps from times t that are within the time range of the gains."""
        step = np.minimum(self._schedule.longest, self._schedule.duration - t)
        room = ON_TIME * step
        return (t >= self._begin - room) & (t + step <= self._end + room)

    def unchanged_steps(self, first: int, last: int) -> int:
        """The last of these steps, exclusive, up to which all count like the first or none."""
        counts = self._counts(np.arange(first, last, dtype=np.float64) * self._schedule.step)
        return first + int(np.argmin(counts == counts[0])) if (counts != counts[0]).any() else last

    def _sample(self, equations: Equations, t: float, y: Floats, integrals_at: IntegralsAt) -> None:
        """Add the cost of the previous sample, if there is a sample at time t."""
        assert self._dt is not None, "the cost is a sum over samples"
        at = self._samples[self._sampled] if self._sampled < len(self._samples) else np.inf
        if abs(t - at) > ON_TIME * self._dt:
            return
        integrals = integrals_at(t, y)
        q, qd = equations.state(y)
        tau = equations.motor_torque(t, q, qd, integrals)
        self._spent = self._spent + self._pending
        self._pending = self._law.cost_rate(t, q, qd, integrals, tau)
        self._last = self._law.cost_to_go(t, q, qd, integrals)
        self._first = self._last if self._first is None else self._first
        self._sampled += 1

    def _to_go(
        self, equations: Equations, t: float, y: Floats, integrals_at: IntegralsAt
    ) -> Floats:
        return self._law.cost_to_go(t, *equations.state(y), integrals_at(t, y))

    def after_steps(
        self, equations: Equations, y: Floats, integrals_at: IntegralsAt
    ) -> FeedbackCost | None:
        """Cost after the last fixed step; None if gains or samples do not match the steps."""
        end = self._schedule.duration
        if not self.integrated:
            self._sample(equations, end, y, integrals_at)
            return self._cost(self._spent) if self._sampled == len(self._samples) else None
        if self.counting:
            self._last = self._to_go(equations, end, y, integrals_at)
        return self._cost(equations.cost(y).copy())

    def along(self, equations: Equations, solution: Any) -> FeedbackCost | None:
        """Cost of a motion with adaptive steps, from its dense output.

        Args:
            equations: equations of the motion
            solution: SciPy's `OdeSolution`, y as a function of t
        """

        def integrals_at(t: float, y: Floats) -> Floats:
            return equations.integrals(y)

        if not self.integrated:
            for t in self._samples.tolist():
                self._sample(equations, t, solution(t), integrals_at)
            return self._cost(self._spent)
        if self._end <= self._begin:
            return None
        breaks = [] if self._law.times is None else self._law.times.tolist()
        every = [self._begin, *solution.ts, *breaks, self._end]
        edges = np.unique(np.clip(every, self._begin, self._end))
        nodes, shares = np.polynomial.legendre.leggauss(_NODES)
        self.counting = True
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            half = 0.5 * (stop - start)
            for node, share in zip(nodes.tolist(), shares.tolist(), strict=True):
                t = start + half * (1.0 + node)
                self._spent = self._spent + half * share * self._rate_at(equations, t, solution(t))
        self._first, self._last = (
            self._to_go(equations, t, solution(t), integrals_at) for t in (self._begin, self._end)
        )
        return self._cost(self._spent)

    def _rate_at(self, equations: Equations, t: float, y: Floats) -> Floats | float:
        (q, qd), integrals = equations.state(y), equations.integrals(y)
        return self.rate(t, q, qd, integrals, equations.motor_torque(t, q, qd, integrals))

    def _cost(self, spent: Floats) -> FeedbackCost | None:
        if self._first is None or self._last is None:
            return None
        return FeedbackCost(spent, self._last, self._first)
