"""The point that a linear answer holds about: positions, velocities, accelerations, torques."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from robolin.answering.motion import Run, Values
from robolin.arm import Arm
from robolin.quantities.quantity_table import COLUMN_WORDS
from robolin.quantities.units import unit_of
from robolin.results.result import Array

POINT = ("q", "qd", "qdd", "tau")


def completed_point(values: Values, run: Run) -> Values:
    """The state with its accelerations and torques, whichever of these were given."""
    point = {name: values[name] for name in POINT if name in values}
    if "tau" not in point:
        point["tau"] = run("inverse", point)["tau"]
    elif "qdd" not in point:
        point["qdd"] = run("forward", point)["qdd"]
    return {name: point[name] for name in POINT}


def point_arrays(
    arm: Arm, point: Values, batch: tuple[int, ...], told: Collection[str] = ()
) -> Iterator[Array]:
    """What of a point is not `told` already; what is the same in all rows is in each of them."""
    kinds = [joint.kind for joint in arm.joints]
    for name, values in point.items():
        if name not in told:
            rows = np.broadcast_to(values, (*batch, arm.n))
            yield Array(name, rows, (arm.joint_names,), unit_of(name, kinds), COLUMN_WORDS[name])
