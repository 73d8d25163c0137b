"""Everything that acts on the joints: what motors are asked for and give, and disturbances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robolin.control.simulation.feedback_control import StateFeedback
from robolin.control.simulation.prescribed_motion import PrescribedMotion
from robolin.control.simulation.torques import EffortLimits, Torque
from robolin.core.arrays import Floats


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
    def of_state(self) -> bool:
        """Whether the state matters."""
        more = self.disturbance is not None and self.disturbance.of_state
        return self.wanted.of_state or more or self.prescribed is not None

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
