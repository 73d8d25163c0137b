"""What a simulation answers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from robolin.input_checks import Array


@dataclass(frozen=True, eq=False)
class Simulation:
    """A motion, row by row: arrays (..., rows) and (..., rows, n), batch axes first.

    work:         what torques and loads have done to the arm, less what friction took
    energy_error: kinetic and potential energy, less their beginning and the work
    saturated:    where a torque was cut off at its joint's limit
    lyapunov:     what a controller brings down: kinetic energy, and ½ e* k e of a pose; xᵀ P x
    """

    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    kinetic_energy: Array
    potential_energy: Array
    work: Array
    energy_error: Array
    saturated: Array
    lyapunov: Array | None = None
    position_error: Array | None = None
    orientation_error: Array | None = None

    @property
    def energy_drift(self) -> Array:
        """The largest energy error of each motion, in J."""
        return np.abs(self.energy_error).max(axis=-1)


def stacked(motions: Sequence[Simulation], batch: tuple[int, ...]) -> Simulation:
    """Motions over the same times, in the order of the batch, as one."""
    first, arrays = motions[0], {}
    for field in fields(Simulation):
        parts = [getattr(motion, field.name) for motion in motions]
        if field.name == "time" or parts[0] is None:
            arrays[field.name] = parts[0]
        else:
            arrays[field.name] = np.stack(parts).reshape(*batch, *parts[0].shape)
    return Simulation(**arrays) if batch else first
