"""Torques of motors, springs or brakes in the joints that close loops."""

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
    """Tree-joint torques equivalent to motors, springs or brakes in loop-closing joints.

    A wrench w between the two frames of a closure has the same power as the joint torques
    τ_a = (J₁ - J₂)* w.  Add them to `tau` of `forward`, `loop_forces` and other functions;
    components along constrained directions change only the constraint forces.

    Args:
        arm: the arm, from `robolin.load`, with loops
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        wrenches: by loop name, moment and force (..., 6) in N·m and N, in world axes at the
            closure, on its first frame; the second frame receives the opposite

    Returns:
        torques (..., n) in N·m, or forces in N for prismatic joints

    Raises:
        RobolinError: an arm without loops, a shape that does not fit, a value that is not finite
        UsageError: not an arm, or an unknown loop

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
    torques: Floats = np.zeros_like(positions)
    for name, wrench in wrenches.items():
        if name not in loops:
            hint = did_you_mean(name, list(loops), f"loops: {', '.join(loops)}")
            raise UsageError(f"there is no loop '{name}'", hint=hint)
        J = _relative_jacobian(arm, positions, loops[name])
        torques = torques + np.einsum("...ij,...i->...j", J, _wrench(name, wrench))
    return torques


def _relative_jacobian(arm: Arm, q: Floats, loop: Loop) -> Floats:
    """Relative Jacobian J₁ - J₂ (..., 6, n) of the first frame with respect to the second."""
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
