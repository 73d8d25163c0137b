"""The nonlinear arm under a discrete regulator: torques held from sample to sample."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from robolin.arrays import JointValues
from robolin.control.closed_loop import require_plain, states_of
from robolin.control.regulator import Regulator
from robolin.errors import UsageError
from robolin.input_checks import Array, array_of
from robolin.simulation.simulate import simulate
from robolin.simulation.simulated_motion import Simulation
from robolin.simulation.torques import effort_limits


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
    dt, model = _sample_time(regulator), regulator.model
    for name, count in (("samples", samples), ("steps", steps)):
        if not isinstance(count, int) or count < 1:
            raise UsageError(f"{name} is {count!r}, not a whole number from 1")
    most = effort_limits(model.arm) if limits else np.full(model.arm.n, np.inf)
    at, rate = array_of(model.arm, "q", q), array_of(model.arm, "qd", qd)
    pieces = []
    for _ in range(samples):
        wanted = _torque(regulator, at, rate)
        tau = np.clip(wanted, -most, most)
        piece = simulate(
            model.arm, at, rate, duration=dt, dt=dt / steps, every=None, tau=tau, limits=False
        )
        cut = np.broadcast_to(tau != wanted, piece.saturated.shape)
        pieces.append(replace(piece, saturated=cut))
        at, rate = piece.q[-1], piece.qd[-1]
    return _joined(pieces, dt)


def _sample_time(regulator: Regulator) -> float:
    require_plain(regulator)
    if regulator.model.dt is None:
        hint = "simulate(..., control=regulator.feedback()) is for continuous gains"
        raise UsageError("the gains are not for torques held between samples", hint=hint)
    return regulator.model.dt


def _torque(regulator: Regulator, q: Array, qd: Array) -> Array:
    """τ₀ - K x at the joints with a motor."""
    tau = np.array(regulator.model.tau)
    tau[list(regulator.model.actuated)] -= regulator.K @ states_of(regulator, q, qd)
    return tau


def _joined(pieces: list[Simulation], dt: float) -> Simulation:
    """The first row of every piece and the last of all, times and work going on."""
    done = np.cumsum([piece.work[-1] for piece in pieces])
    before = np.concatenate([[0.0], done])
    arrays = {}
    for field in fields(Simulation):
        parts = [getattr(piece, field.name) for piece in pieces]
        if parts[0] is not None:
            arrays[field.name] = np.stack([part[0] for part in parts] + [parts[-1][-1]])
    whole = Simulation(**arrays)
    energy = whole.kinetic_energy + whole.potential_energy
    return replace(
        whole,
        time=np.arange(len(pieces) + 1) * np.float64(dt),
        work=before,
        energy_error=energy - energy[0] - before,
    )
