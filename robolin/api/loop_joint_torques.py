"""Drives in the joints that close loops, as torques of the joints of the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm, Loop
from robolin.core.array_checks import as_joint_array, require_arm, require_loops, require_same_rows
from robolin.core.arrays import Floats
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import evaluate

WRENCH = 6


def loop_joint_torques(arm: Arm, q: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Floats:
    """Torques of the tree's joints that do what drives, springs or brakes in closing joints do.

    A wrench w between the two frames of a closure takes as much power at the joints of the tree as
    at the frames: τ_a = (J₁ - J₂)* w.  Added to `tau`, it is felt by `forward`, `loop_forces` and
    whatever else takes torques; what the closure resists changes its forces alone.

    Args:
        arm: the arm, from `robolin.load`, with loops
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        wrenches: by the name of a loop, moment and force (..., 6) in N·m and N, in world axes at
            the closure, on the first of its frames; the second feels the opposite

    Returns:
        torques (..., n) in N·m, or forces of sliding joints in N

    Raises:
        RobolinError: an arm without loops, a shape that does not fit, a value that is not finite
        UsageError: no arm, or no loop of this name

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.loop_joint_torques(arm, state.q, {"pin": [0, 0, 2.0, 0, 0, 0]}).round(3) + 0.0
        array([ 2.,  2., -2.])
    """
    require_arm(arm)
    require_loops(arm)
    positions = as_joint_array(arm, "q", q)
    require_same_rows({"q": q, **{f"wrench '{name}'": wrench for name, wrench in wrenches.items()}})
    loops = {loop.name: loop for loop in arm.loops}
    found: Floats = np.zeros_like(positions)
    for name, wrench in wrenches.items():
        if name not in loops:
            hint = did_you_mean(name, list(loops), f"loops: {', '.join(loops)}")
            raise UsageError(f"there is no loop '{name}'", hint=hint)
        J = _relative_jacobian(arm, positions, loops[name])
        found = found + np.einsum("...ij,...i->...j", J, _wrench(name, wrench))
    return found


def _relative_jacobian(arm: Arm, q: Floats, loop: Loop) -> Floats:
    """J₁ - J₂ (..., 6, n): how the first frame moves, seen from the second."""
    first, second = (
        evaluate(replace(arm, tip=frame), "jacobian", {"q": q, "qd": 0.0})["jacobian"]
        for frame in (loop.first, loop.second)
    )
    difference: Floats = first - second
    return difference


def _wrench(name: str, wrench: ArrayLike) -> Floats:
    values = np.asarray(wrench, dtype=float)
    if values.shape[-1:] != (WRENCH,):
        raise RobolinError(
            f"loop '{name}': a wrench of shape {values.shape} is not a moment and a force",
            hint="six numbers: mx, my, mz in N·m, then fx, fy, fz in N",
        )
    if not np.isfinite(values).all():
        raise RobolinError(f"loop '{name}': the wrench has a value that is not finite")
    return values
