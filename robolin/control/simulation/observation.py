"""A motion that was integrated, looked at row by row: torques, accelerations, energies, errors."""

from __future__ import annotations

from functools import partial

import numpy as np

from robolin.control.simulation.controllers import Controller
from robolin.control.simulation.equations import Equations
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulated_motion import FeedbackCost, Simulation
from robolin.core.arrays import Floats, Mask
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import evaluate


def observed_motion(
    schedule: Schedule,
    kept: Floats,
    equations: Equations,
    integrals: Floats,
    controller: Controller | None,
    cost: FeedbackCost | None = None,
) -> Simulation:
    """Everything there is to say about the states that were kept."""
    arm, how, time = equations.arm, equations.how, schedule.moments()
    q, qd = equations.state(kept)
    work = equations.parts(kept)[2]
    tau, qdd, saturated = _driven(equations, time, q, qd, integrals)
    energies = evaluate(arm, "energy", {"q": q, "qd": qd}, **how)
    kinetic = energies["kinetic_energy"]
    total = kinetic + energies["potential_energy"]
    error = None if controller is None else controller.error(q)
    falling = None
    if controller is not None:
        falling = controller.lyapunov(time, q, qd, kinetic, integrals)
    # rows were the first axis so far: they go behind the batch
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
        energy_error=placed(total - total[0] - work),
        saturated=placed(saturated),
        lyapunov=None if falling is None else placed(falling),
        position_error=None if error is None else placed(error.position),
        orientation_error=None if error is None else placed(error.orientation),
        integrals=placed(integrals) if integrals.shape[-1] else None,
        cost=cost,
    )


def _driven(
    equations: Equations, time: Floats, q: Floats, qd: Floats, integrals: Floats
) -> tuple[Floats, Floats, Mask]:
    """Torques of the motors at each moment, accelerations, and which torques were cut."""
    tau, qdd, saturated = np.empty_like(q), np.empty_like(q), np.empty(q.shape, dtype=bool)
    for row, t in enumerate(time.tolist()):
        drive, state = equations.torque.with_integrals(integrals[row]), (t, q[row], qd[row])
        try:
            wanted = drive.wanted(*state)
            tau[row] = drive.cut(wanted)
            total = drive.in_all(*state, tau[row])
            saturated[row] = tau[row] != wanted
            qdd[row] = equations.accelerations(*state, total)
            tau[row] = drive.of_motors(*state, tau[row], total)
        except RobolinError as error:
            message = f"at t = {t:g} s: {error.message}"
            raise RobolinError(message, where=error.where, hint=error.hint) from error
    return tau, qdd, saturated
