"""The nonlinear arm under a discrete regulator: torques held from sample to sample."""

from __future__ import annotations

from robolin.control.closed_loop import feedback
from robolin.control.regulator import Regulator
from robolin.control.simulation.simulate import simulate
from robolin.control.simulation.simulated_motion import Simulation
from robolin.core.arrays import JointValues
from robolin.errors import UsageError


def sampled_motion(
    regulator: Regulator,
    q: JointValues,
    qd: JointValues = 0.0,
    *,
    samples: int,
    steps: int = 10,
    limits: bool = True,
) -> Simulation:
    """The motion from q and q̇ (n,), a row at every sample and one at the end.

    steps: steps of the integrator from sample to sample
    """
    law = feedback(regulator)
    if law.dt is None:
        hint = "simulate(..., control=regulator.feedback()) is for continuous gains"
        raise UsageError("the gains are not for torques held between samples", hint=hint)
    for name, count in (("samples", samples), ("steps", steps)):
        if not isinstance(count, int) or count < 1:
            raise UsageError(f"{name} is {count!r}, not a whole number from 1")
    return simulate(
        regulator.model.arm,
        q,
        qd,
        duration=samples * law.dt,
        dt=law.dt / steps,
        every=steps,
        control=law,
        limits=limits,
    )
