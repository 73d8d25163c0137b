"""Equations of motion as one flat state vector and its rate, for any choice of velocities."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from robolin.control.simulation.feedback_control import StateFeedback
from robolin.control.simulation.torques import EffortLimits, PrescribedMotion, Torque
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import STATE_FORMS, StateForm
from robolin.core.configuration import coordinates_of, embedded, embedded_rates, has_groups
from robolin.core.records import dataclass
from robolin.errors import UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate
from robolin.evaluation.quick_calls import quick_call

# for each form: algorithms to its velocities, back to q̇, and for its dynamics
_ALGORITHMS = {
    "xi": (
        "diagonalize-unnormalized",
        "undiagonalize-unnormalized",
        "forward-diagonalized-unnormalized",
    ),
    "nu": ("diagonalize", "undiagonalize", "forward-diagonalized"),
}
DIAGONAL_FORMS = tuple(_ALGORITHMS)


class Accelerations(Protocol):
    """Accelerations q̈ (..., n) at time t for q, q̇ and τ of shape (..., n); τ may be (n,)."""

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats: ...


@dataclass(frozen=True)
class FreeMotion:
    """Accelerations of an arm without additional constraints."""

    arm: Arm
    run_options: RunOptions

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        quick = quick_call(self.arm, "forward", self.run_options.get("engine", "auto"))
        qdd: Floats | None = quick(q, qd, tau)
        if qdd is not None:
            return qdd
        return evaluate(self.arm, "forward", {"q": q, "qd": qd, "tau": tau}, **self.run_options)[
            "qdd"
        ]


class StateRates(NamedTuple):
    """Rates of the state: q̇ and the rate of the velocities, with the torque that causes it."""

    qd: Floats
    velocities: Floats
    tau: Floats


class VelocityChoice(Protocol):
    """Velocity coordinates other than q̇."""

    def of(self, q: Floats, qd: Floats) -> Floats: ...
    def qd(self, q: Floats, values: Floats) -> Floats: ...
    def rates(self, t: float, q: Floats, values: Floats, torque: Torque) -> StateRates: ...


@dataclass(frozen=True)
class JointRates:
    """q̇ itself, with accelerations from the articulated-body algorithm or from constraints."""

    accelerations: Accelerations

    def of(self, q: Floats, qd: Floats) -> Floats:
        return qd

    def qd(self, q: Floats, values: Floats) -> Floats:
        return values

    def rates(self, t: float, q: Floats, values: Floats, torque: Torque) -> StateRates:
        tau = torque(t, q, values)
        return StateRates(values, self.accelerations(t, q, values, tau), tau)


@dataclass(frozen=True)
class DiagonalizingVelocities:
    """ξ or ν, by the two sweeps of algorithm 8.1; dense elimination if there are mimic joints."""

    arm: Arm
    name: StateForm
    run_options: RunOptions

    def of(self, q: Floats, qd: Floats) -> Floats:
        values: dict[str, JointValues] = {"q": q, "qd": qd, "tau": 0.0}
        return evaluate(self.arm, _ALGORITHMS[self.name][0], values, **self.run_options)[self.name]

    def qd(self, q: Floats, values: Floats) -> Floats:
        force = "epsilon" if self.name == "nu" else "kappa"
        inputs: dict[str, JointValues] = {"q": q, self.name: values, force: 0.0}
        return evaluate(self.arm, _ALGORITHMS[self.name][1], inputs, **self.run_options)["qd"]

    def rates(self, t: float, q: Floats, values: Floats, torque: Torque) -> StateRates:
        tau = torque(t, q, self.qd(q, values) if torque.depends_on_state else values)
        inputs = {"q": q, self.name: values, "tau": tau}
        rates = evaluate(self.arm, _ALGORITHMS[self.name][2], inputs, **self.run_options)
        return StateRates(rates["qd"], rates[f"{self.name}d"], tau)


def velocities_of(
    arm: Arm, form: StateForm, accelerations: Accelerations | None, run_options: RunOptions
) -> VelocityChoice:
    """Velocity coordinates by name."""
    if form == "rates":
        return JointRates(accelerations or FreeMotion(arm, run_options))
    if form not in STATE_FORMS:
        raise UsageError(f"unknown state '{form}'", hint=f"states: {', '.join(STATE_FORMS)}")
    if accelerations is not None:
        message = f"the state '{form}' does not support closed loops"
        raise UsageError(message, hint="use the state 'rates'")
    return DiagonalizingVelocities(arm, form, run_options)


class CostRate(Protocol):
    """Rate of a cost (...) at time t, for states, integrals and motor torques."""

    def rate(
        self, t: float, q: Floats, qd: Floats, integrals: Floats, tau: Floats
    ) -> Floats | float: ...


class Equations:
    """dy/dt of y: positions, velocities, work, integrals of the control law, and cost.

    Each of them is one contiguous block for all states, as the kernels require.
    """

    arm: Arm
    run_options: RunOptions
    batch: tuple[int, ...]
    velocities: VelocityChoice
    torque: Drive
    accelerations: Accelerations

    def __init__(
        self,
        arm: Arm,
        batch: tuple[int, ...],
        velocities: VelocityChoice,
        torque: Drive,
        accelerations: Accelerations,
        run_options: RunOptions,
        cost: CostRate | None = None,
    ) -> None:
        self.arm, self.run_options, self.batch, self._cost = arm, run_options, batch, cost
        self.velocities, self.torque, self.accelerations = velocities, torque, accelerations
        self._count, self._curved = prod(batch), has_groups(arm)
        self._size = 0

    def start(self, q: Floats, qd: Floats) -> Floats:
        """Initial y."""
        x = embedded(self.arm, q) if self._curved else q
        self._size = x.shape[-1]
        v = self.velocities.of(q, qd)
        more = self._count * (1 + self.torque.integrals + (self._cost is not None))
        return np.concatenate([x.ravel(), v.ravel(), np.zeros(more)])

    def parts(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions, velocities and work as views; y may have leading axes."""
        count, lead = self._count, (*y.shape[:-1], *self.batch)
        first, second = count * self._size, count * (self._size + self.arm.n)
        if not lead:
            # a single state already has the right shape; this path is called often
            return y[:first], y[first:second], y[second, ...]
        return (
            y[..., :first].reshape(*lead, self._size),
            y[..., first:second].reshape(*lead, self.arm.n),
            y[..., second : second + count].reshape(lead),
        )

    def integrals(self, y: Floats) -> Floats:
        """Integrals of the control law (..., i), as a view."""
        start, lead = self._count * (self._size + self.arm.n + 1), (*y.shape[:-1], *self.batch)
        stop = start + self._count * self.torque.integrals
        own = y[..., start:stop]
        return own.reshape(*lead, self.torque.integrals) if lead else own

    def cost(self, y: Floats) -> Floats:
        """Accumulated cost (...), as a view."""
        return y[..., y.shape[-1] - self._count :].reshape((*y.shape[:-1], *self.batch))

    @property
    def has_cost(self) -> bool:
        """True if y contains a cost."""
        return self._cost is not None

    @property
    def curved(self) -> bool:
        """True if positions are embedded: y then has more of them than the arm has joints."""
        return self._curved

    @property
    def of_rates(self) -> bool:
        """True if the velocities in y are q̇ itself."""
        return isinstance(self.velocities, JointRates)

    def state(self, y: Floats) -> tuple[Floats, Floats]:
        """q and q̇ of y."""
        x, v, _ = self.parts(y)
        q = self.positions(x)
        return q, self.velocities.qd(q, v)

    def positions(self, x: Floats) -> Floats:
        return coordinates_of(self.arm, x) if self._curved else x

    def rate(self, t: float, y: Floats, out: Floats) -> None:
        """Write dy/dt into `out`."""
        x, v, _ = self.parts(y)
        dx, dv, work = self.parts(out)
        q, z = self.positions(x), self.integrals(y)
        qd, dv[...], tau = self.velocities.rates(t, q, v, self.torque.with_integrals(z))
        dx[...] = embedded_rates(self.arm, x, qd) if self._curved else qd
        work[...] = self._power(q, qd, tau)
        if self.torque.integrals:
            self.integrals(out)[...] = self.torque.integral_rates(t, q, qd, z)
        if self._cost is not None:
            motor = tau if self.torque.only_motors else self.motor_torque(t, q, qd, z)
            self.cost(out)[...] = self._cost.rate(t, q, qd, z, motor)

    def move(self, y: Floats, change: Floats, h: float) -> None:
        """Add a change to y in place; positions change by h times the new velocities instead."""
        x, v, _ = self.parts(y)
        rest = x.size
        y[rest:] += change[rest:]
        qd = self.velocities.qd(self.positions(x), v)
        x += h * (embedded_rates(self.arm, x, qd) if self._curved else qd)

    def motor_torque(self, t: float, q: Floats, qd: Floats, integrals: Floats) -> Floats:
        """Motor torques for these integrals of the control law."""
        return self.torque.with_integrals(integrals).motor_torque(t, q, qd)

    def _power(self, q: Floats, qd: Floats, tau: Floats) -> Floats:
        """Power of torques and loads, in W."""
        quick = quick_call(self.arm, "power", self.run_options.get("engine", "auto"))
        power: Floats | None = quick(q, qd, tau)
        if power is not None:
            return power
        driven = {"q": q, "qd": qd, "tau": tau}
        return evaluate(self.arm, "power", driven, **self.run_options)["power"]

    def replace(self, y: Floats, q: Floats, qd: Floats) -> None:
        """Overwrite the state in y, in place; the work is unchanged."""
        x, v, _ = self.parts(y)
        x[...] = embedded(self.arm, q) if self._curved else q
        v[...] = self.velocities.of(q, qd)


@dataclass(frozen=True, eq=False)
class Drive:
    """The torque on every joint.

    command:     commanded motor torque
    limits:      effort limits of the motors
    disturbance: external torque, not subject to effort limits
    law:         control law whose integrals are part of the state
    prescribed:  motion of prescribed joints, which determines their torques
    """

    command: Torque
    limits: EffortLimits
    disturbance: Torque | None = None
    law: StateFeedback | None = None
    prescribed: PrescribedMotion | None = None

    @property
    def depends_on_state(self) -> bool:
        """True if the torque depends on the state."""
        more = self.disturbance is not None and self.disturbance.depends_on_state
        return self.command.depends_on_state or more or self.prescribed is not None

    @property
    def only_motors(self) -> bool:
        """True if motors provide the complete torque."""
        return self.disturbance is None and self.prescribed is None

    @property
    def integrals(self) -> int:
        """Number of integrals in the state."""
        return 0 if self.law is None else self.law.memory

    def with_integrals(self, values: Floats) -> Drive:
        """The torque for fixed integrals (..., i)."""
        return (
            self
            if self.law is None
            else replace(self, command=self.law.with_integrals(values), law=None)
        )

    def integral_rates(self, t: float, q: Floats, qd: Floats, values: Floats) -> Floats:
        """Rates of the integrals (..., i)."""
        assert self.law is not None, "the control law has integral states"
        return self.law.memory_rate(t, q, qd, values)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self.total(t, q, qd, self.cut(self.command(t, q, qd)))

    def cut(self, tau: Floats) -> Floats:
        """Saturate a torque at the effort limits."""
        return tau.clip(*self.limits)

    def total(self, t: float, q: Floats, qd: Floats, motor: Floats) -> Floats:
        """Motor torque plus disturbance, with the torques of prescribed joints."""
        total = motor if self.disturbance is None else motor + self.disturbance(t, q, qd)
        return total if self.prescribed is None else self.prescribed.torques(t, q, qd, total)

    def motor_torque(self, t: float, q: Floats, qd: Floats) -> Floats:
        """Motor torques, without disturbances."""
        motor = self.cut(self.command(t, q, qd))
        if self.prescribed is None:
            return motor
        return self.motor_share(t, q, qd, motor, self.total(t, q, qd, motor))

    def motor_share(self, t: float, q: Floats, qd: Floats, motor: Floats, total: Floats) -> Floats:
        """Motor torques; those of prescribed joints are the torques that their motion requires."""
        if self.prescribed is None:
            return motor
        taken = total if self.disturbance is None else total - self.disturbance(t, q, qd)
        return np.where(self.prescribed.driven != 0.0, taken, motor)
