"""What a simulation answers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from robolin.arrays import Floats, Mask
from robolin.shown import Shown


@dataclass(frozen=True, eq=False)
class Simulation(Shown):
    """A motion, row by row, batch axes first.

    Fields:
        time: (rows,) in s
        q: positions (..., rows, n) in rad or m
        qd: velocities (..., rows, n) in rad/s or m/s
        qdd: accelerations (..., rows, n) in rad/s² or m/s²
        tau: torques (..., rows, n) in N·m or N, as they were applied
        kinetic_energy: (..., rows) in J
        potential_energy: (..., rows) in J
        work: what torques and loads have done to the arm, less what friction took (..., rows) in
            J
        energy_error: kinetic and potential energy, less their beginning and the work (..., rows)
            in J
        saturated: where a torque was cut off at its joint's limit (..., rows, n), True or False
        lyapunov: what a controller brings down (..., rows): kinetic energy, and ½ eᵀ k e of a
            pose, in J; xᵀ P x of a regulator; None without one
        position_error: distance of a frame to its target (..., rows) in m; None without one
        orientation_error: angle of a frame to its target (..., rows) in rad; None without one
        integrals: of a regulator with integral action (..., rows, i); None without

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

    @property
    def energy_drift(self) -> Floats:
        """The largest energy error of each motion, in J."""
        drift: Floats = np.abs(self.energy_error).max(axis=-1)
        return drift


def stacked_motions(motions: Sequence[Simulation], batch: tuple[int, ...]) -> Simulation:
    """Motions over the same times, in the order of the batch, as one."""
    first, arrays = motions[0], {}
    for field in fields(Simulation):
        parts = [getattr(motion, field.name) for motion in motions]
        if field.name == "time" or parts[0] is None:
            arrays[field.name] = parts[0]
        else:
            arrays[field.name] = np.stack(parts).reshape(*batch, *parts[0].shape)
    return Simulation(**arrays) if batch else first
