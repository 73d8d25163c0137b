"""What a controller follows: one point, or a motion on straight lines between its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.array_checks import joint_arrays, require_same_rows, seconds_of
from robolin.core.arrays import Floats, JointValues
from robolin.core.configuration import advanced, difference, has_groups
from robolin.errors import RobolinError


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Arrays by name, one of each, or (rows, …) at times (rows,); 'q' turns the short way."""

    arm: Arm
    time: Floats | None
    arrays: dict[str, Floats]

    def at(self, t: float) -> dict[str, Floats]:
        """The arrays at a moment, as in the nearest row outside."""
        if self.time is None:
            return self.arrays
        after = int(np.searchsorted(self.time, t, side="right"))
        if after == 0 or after == len(self.time):
            row = min(after, len(self.time) - 1)
            return {name: array[row] for name, array in self.arrays.items()}
        start, stop = self.time[after - 1], self.time[after]
        share = (t - start) / (stop - start)
        found = {
            name: (1.0 - share) * array[after - 1] + share * array[after]
            for name, array in self.arrays.items()
        }
        if "q" in found and has_groups(self.arm):
            before, later = self.arrays["q"][after - 1], self.arrays["q"][after]
            found["q"] = advanced(self.arm, before, share * difference(self.arm, before, later))
        return found


def reference_of(
    arm: Arm,
    time: ArrayLike | None,
    motion: dict[str, JointValues],
    matrices: dict[str, Floats] | None = None,
) -> ReferenceMotion:
    """A reference with joint values (n,) or (rows, n), and matrices with as many rows."""
    require_same_rows(motion, vectors={"time": time})
    arrays = joint_arrays(arm, motion)
    shapes = dict.fromkeys(arrays, (arm.n,))
    for name, matrix in (matrices or {}).items():
        arrays[name], shapes[name] = matrix, matrix.shape[-2:]
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise RobolinError(f"{name} of the controller is not finite")
    if time is None:
        for name, array in arrays.items():
            if array.shape != shapes[name]:
                hint = "time says when a reference of several rows is where"
                raise RobolinError(f"{name} has the shape {array.shape}", hint=hint)
        return ReferenceMotion(arm, None, arrays)
    moments = seconds_of(time)
    if moments.ndim != 1 or not len(moments) or not (np.diff(moments) > 0.0).all():
        raise RobolinError("time of the controller is not a row of rising numbers")
    for name, array in arrays.items():
        if array.ndim > len(shapes[name]) and len(array) != len(moments):
            raise RobolinError(f"{name} has {len(array)} rows, time has {len(moments)}")
        arrays[name] = np.broadcast_to(array, (len(moments), *shapes[name]))
    return ReferenceMotion(arm, moments, arrays)
