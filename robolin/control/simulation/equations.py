"""The equations of motion as one flat vector and its rate, whatever the velocities are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from robolin.control.simulation.feedback_control import StateFeedback
from robolin.control.simulation.reference import PrescribedMotion
from robolin.control.simulation.torques import EffortLimits, Torque
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import STATE_FORMS, StateForm
from robolin.core.configuration import coordinates_of, embedded, embedded_rates, has_groups
from robolin.errors import UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate
from robolin.evaluation.quick_calls import fast_call

# for each form, the algorithms that lead there, back, and forward in time
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
    """q̈ (..., n) at a moment t, for q, q̇ and τ of shape (..., n); τ may also be (n,)."""

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats: ...


@dataclass(frozen=True)
class FreeMotion:
    """Accelerations of an arm that nothing else constrains."""

    arm: Arm
    how: RunOptions

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        quick = fast_call(self.arm, "forward", self.how.get("engine", "auto"))
        found: Floats | None = quick(q, qd, tau)
        if found is not None:
            return found
        return evaluate(self.arm, "forward", {"q": q, "qd": qd, "tau": tau}, **self.how)["qdd"]


class StateRates(NamedTuple):
    """What the state changes by: q̇, the rate of the velocities, and the torque behind it."""

    qd: Floats
    velocities: Floats
    tau: Floats


class VelocityChoice(Protocol):
    """A choice of velocities beside q̇ itself."""

    def of(self, q: Floats, qd: Floats) -> Floats: ...
    def qd(self, q: Floats, values: Floats) -> Floats: ...
    def rates(self, t: float, q: Floats, values: Floats, torque: Torque) -> StateRates: ...


@dataclass(frozen=True)
class JointRates:
    """q̇ as it is, sped up by articulated bodies or by whatever constrains the arm."""

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
    """ξ or ν, by the two sweeps of algorithm 8.1, or by elimination where joints follow others."""

    arm: Arm
    name: StateForm
    how: RunOptions

    def of(self, q: Floats, qd: Floats) -> Floats:
        values: dict[str, JointValues] = {"q": q, "qd": qd, "tau": 0.0}
        return evaluate(self.arm, _ALGORITHMS[self.name][0], values, **self.how)[self.name]

    def qd(self, q: Floats, values: Floats) -> Floats:
        force = "epsilon" if self.name == "nu" else "kappa"
        given: dict[str, JointValues] = {"q": q, self.name: values, force: 0.0}
        return evaluate(self.arm, _ALGORITHMS[self.name][1], given, **self.how)["qd"]

    def rates(self, t: float, q: Floats, values: Floats, torque: Torque) -> StateRates:
        tau = torque(t, q, self.qd(q, values) if torque.depends_on_state else values)
        given = {"q": q, self.name: values, "tau": tau}
        found = evaluate(self.arm, _ALGORITHMS[self.name][2], given, **self.how)
        return StateRates(found["qd"], found[f"{self.name}d"], tau)


def velocities_of(
    arm: Arm, form: StateForm, accelerations: Accelerations | None, how: RunOptions
) -> VelocityChoice:
    """The velocities of that name."""
    if form == "rates":
        return JointRates(accelerations or FreeMotion(arm, how))
    if form not in STATE_FORMS:
        raise UsageError(f"there is no state '{form}'", hint=f"states are {', '.join(STATE_FORMS)}")
    if accelerations is not None:
        raise UsageError(f"constraints cannot be kept in {form}", hint="take the state 'rates'")
    return DiagonalizingVelocities(arm, form, how)


class CostRate(Protocol):
    """The rate of a cost (...) at a time t, for states, integrals and torques of the motors."""

    def rate(
        self, t: float, q: Floats, qd: Floats, integrals: Floats, tau: Floats
    ) -> Floats | float: ...


class Equations:
    """dy/dt of y: positions, velocities, the work done so far, integrals of a control law, a cost.

    Each of them is one unbroken block for all states, so that kernels read it as it lies.
    """

    def __init__(
        self,
        arm: Arm,
        batch: tuple[int, ...],
        velocities: VelocityChoice,
        torque: Drive,
        accelerations: Accelerations,
        how: RunOptions,
        cost: CostRate | None = None,
    ) -> None:
        self.arm, self.how, self._batch, self._cost = arm, how, batch, cost
        self.velocities, self.torque, self.accelerations = velocities, torque, accelerations
        self._count, self._curved = prod(batch), has_groups(arm)
        self._size = 0

    def start(self, q: Floats, qd: Floats) -> Floats:
        """y at the beginning."""
        x = embedded(self.arm, q) if self._curved else q
        self._size = x.shape[-1]
        v = self.velocities.of(q, qd)
        more = self._count * (1 + self.torque.integrals + (self._cost is not None))
        return np.concatenate([x.ravel(), v.ravel(), np.zeros(more)])

    def parts(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions, velocities and work as views; y may have leading axes of its own."""
        count, lead = self._count, (*y.shape[:-1], *self._batch)
        first, second = count * self._size, count * (self._size + self.arm.n)
        if not lead:
            # one state, which is asked for again and again, is in shape
            return y[:first], y[first:second], y[second, ...]
        return (
            y[..., :first].reshape(*lead, self._size),
            y[..., first:second].reshape(*lead, self.arm.n),
            y[..., second : second + count].reshape(lead),
        )

    def integrals(self, y: Floats) -> Floats:
        """Integrals of a control law (..., i), as a view."""
        start, lead = self._count * (self._size + self.arm.n + 1), (*y.shape[:-1], *self._batch)
        stop = start + self._count * self.torque.integrals
        own = y[..., start:stop]
        return own.reshape(*lead, self.torque.integrals) if lead else own

    def cost(self, y: Floats) -> Floats:
        """The cost so far (...), as a view."""
        return y[..., y.shape[-1] - self._count :].reshape((*y.shape[:-1], *self._batch))

    @property
    def curved(self) -> bool:
        """Whether positions are embedded: y then has more of them than the arm has joints."""
        return self._curved

    @property
    def of_rates(self) -> bool:
        """Whether the velocities in y are q̇ itself."""
        return isinstance(self.velocities, JointRates)

    def state(self, y: Floats) -> tuple[Floats, Floats]:
        """q and q̇ of y."""
        x, v, _ = self.parts(y)
        q = self.positions(x)
        return q, self.velocities.qd(q, v)

    def positions(self, x: Floats) -> Floats:
        return coordinates_of(self.arm, x) if self._curved else x

    def rate(self, t: float, y: Floats, out: Floats) -> None:
        """dy/dt, written into `out`."""
        x, v, _ = self.parts(y)
        dx, dv, work = self.parts(out)
        q, z = self.positions(x), self.integrals(y)
        qd, dv[...], tau = self.velocities.rates(t, q, v, self.torque.with_integrals(z))
        dx[...] = embedded_rates(self.arm, x, qd) if self._curved else qd
        work[...] = self._power(q, qd, tau)
        if self.torque.integrals:
            self.integrals(out)[...] = self.torque.integral_rates(t, q, qd, z)
        if self._cost is not None:
            given = tau if self.torque.only_motors else self.motor_torque(t, q, qd, z)
            self.cost(out)[...] = self._cost.rate(t, q, qd, z, given)

    def motor_torque(self, t: float, q: Floats, qd: Floats, integrals: Floats) -> Floats:
        """The torques of the motors, while the integrals of a control law are these."""
        return self.torque.with_integrals(integrals).motor_torque(t, q, qd)

    def _power(self, q: Floats, qd: Floats, tau: Floats) -> Floats:
        """What torques and loads do, in W."""
        quick = fast_call(self.arm, "power", self.how.get("engine", "auto"))
        found: Floats | None = quick(q, qd, tau)
        if found is not None:
            return found
        driven = {"q": q, "qd": qd, "tau": tau}
        return evaluate(self.arm, "power", driven, **self.how)["power"]

    def replace(self, y: Floats, q: Floats, qd: Floats) -> None:
        """Write another state into y, in place; the work stays."""
        x, v, _ = self.parts(y)
        x[...] = embedded(self.arm, q) if self._curved else q
        v[...] = self.velocities.of(q, qd)


@dataclass(frozen=True, eq=False)
class Drive:
    """The torque on every joint.

    wanted:      what motors are asked for
    limits:      the torques that each of them can give
    disturbance: what comes from elsewhere, which no motor's limit cuts off
    law:         the control law whose integrals grow along with the motion
    prescribed:  what joints that move as they are told take for it
    """

    wanted: Torque
    limits: EffortLimits
    disturbance: Torque | None = None
    law: StateFeedback | None = None
    prescribed: PrescribedMotion | None = None

    @property
    def depends_on_state(self) -> bool:
        """Whether the state matters."""
        more = self.disturbance is not None and self.disturbance.depends_on_state
        return self.wanted.depends_on_state or more or self.prescribed is not None

    @property
    def only_motors(self) -> bool:
        """Whether every torque is one of the motors."""
        return self.disturbance is None and self.prescribed is None

    @property
    def integrals(self) -> int:
        """How many integrals grow along with the motion."""
        return 0 if self.law is None else self.law.memory

    def with_integrals(self, values: Floats) -> Drive:
        """The torque as long as these integrals (..., i) stay what they are."""
        return self if self.law is None else replace(self, wanted=self.law.given(values), law=None)

    def integral_rates(self, t: float, q: Floats, qd: Floats, values: Floats) -> Floats:
        """How fast the integrals (..., i) grow."""
        assert self.law is not None, "only laws with integrals are asked"
        return self.law.memory_rate(t, q, qd, values)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self.in_all(t, q, qd, self.cut(self.wanted(t, q, qd)))

    def cut(self, tau: Floats) -> Floats:
        """What motors give of a torque."""
        return tau.clip(*self.limits)

    def in_all(self, t: float, q: Floats, qd: Floats, given: Floats) -> Floats:
        """What motors give, and with it the disturbance."""
        total = given if self.disturbance is None else given + self.disturbance(t, q, qd)
        return total if self.prescribed is None else self.prescribed.torques(t, q, qd, total)

    def motor_torque(self, t: float, q: Floats, qd: Floats) -> Floats:
        """The torques of the motors alone, without disturbances."""
        given = self.cut(self.wanted(t, q, qd))
        if self.prescribed is None:
            return given
        return self.of_motors(t, q, qd, given, self.in_all(t, q, qd, given))

    def of_motors(self, t: float, q: Floats, qd: Floats, given: Floats, total: Floats) -> Floats:
        """What motors give, those of joints that move as told being asked for what it takes."""
        if self.prescribed is None:
            return given
        taken = total if self.disturbance is None else total - self.disturbance(t, q, qd)
        return np.where(self.prescribed.driven != 0.0, taken, given)
