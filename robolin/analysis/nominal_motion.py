"""Nominal motion divided into steps, with states at the start, middle and end of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import (
    AnyArray,
    JointValues,
    as_joint_array,
    require_arm,
    require_same_rows,
    seconds_of,
)
from robolin.core.choices import TORQUES, Torques
from robolin.core.configuration import difference, integrate, kinematic_block
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import EngineChoice, evaluate


@dataclass(frozen=True)
class NominalMotion:
    """A motion of several rows, or some of its steps.

    time:       shape (rows,), of the complete motion
    step:       length of each step, shape (steps,)
    q, qd, tau: shape (steps, 3, n), at the start, the middle and the end of each step
    """

    time: AnyArray
    step: AnyArray
    q: AnyArray
    qd: AnyArray
    tau: AnyArray

    @property
    def rows(self) -> int:
        return len(self.time)

    def some(self, steps: slice) -> NominalMotion:
        """Select steps."""
        q, qd, tau = self.q[steps], self.qd[steps], self.tau[steps]
        return NominalMotion(self.time, self.step[steps], q, qd, tau)

    def at_stages(self, values: AnyArray, torques: Torques) -> AnyArray:
        """Values per row, (rows, n), at the stages of every step, (steps, 3, n)."""
        begin, end = values[:-1], values[1:] if torques == "continuous" else values[:-1]
        return np.stack([begin, 0.5 * (begin + end), end], axis=1)


def nominal_motion(
    arm: Arm,
    time: ArrayLike,
    q: JointValues,
    qd: JointValues,
    tau: JointValues | None,
    qdd: JointValues | None,
    torques: Torques,
    options: EngineChoice,
) -> NominalMotion:
    """Build the motion from rows of time, q, q̇ and either τ or q̈; τ takes precedence.

    With h the step, 0 its start and 1 its end, cubics give the motion in the middle,
        q = ½ (q₀ + q₁) + h/8 (q̇₀ - q̇₁)     q̇ = ½ (q̇₀ + q̇₁) + h/8 (q̈₀ - q̈₁)
        q̈ = 3/(2h) (q̇₁ - q̇₀) - ¼ (q̈₀ + q̈₁)
    each with an error of order h⁴.
    """
    require_arm(arm)
    _require_known(arm, torques)
    motion = {"q": q, "qd": qd, "tau": tau, "qdd": qdd}
    require_same_rows(motion, vectors={"time": time})
    times = checked_times(time)
    rows = len(times)
    q_rows, qd_rows = per_row(arm, "q", q, rows), per_row(arm, "qd", qd, rows)
    (q0, q1), (v0, v1) = (_ends(values) for values in (q_rows, qd_rows))
    if tau is not None:
        tau0, tau1 = _ends(per_row(arm, "tau", tau, rows))
        tau1 = tau1 if torques == "continuous" else tau0
        a0 = evaluate(arm, "forward", {"q": q0, "qd": v0, "tau": tau0}, **options)["qdd"]
        a1 = evaluate(arm, "forward", {"q": q1, "qd": v1, "tau": tau1}, **options)["qdd"]
    elif qdd is not None:
        a0, a1 = _ends(per_row(arm, "qdd", qdd, rows))
        tau0 = evaluate(arm, "inverse", {"q": q0, "qd": v0, "qdd": a0}, **options)["tau"]
        tau1 = evaluate(arm, "inverse", {"q": q1, "qd": v1, "qdd": a1}, **options)["tau"]
    else:
        raise UsageError("the trajectory requires torques tau or accelerations qdd")

    step = np.diff(times)
    h = step[:, None]
    q_mid = _half_way(arm, h, q0, q1, v0, v1)
    v_mid = 0.5 * (v0 + v1) + 0.125 * h * (a0 - a1)
    a_mid = 1.5 * (v1 - v0) / h - 0.25 * (a0 + a1)
    tau_mid = evaluate(arm, "inverse", {"q": q_mid, "qd": v_mid, "qdd": a_mid}, **options)["tau"]
    stages = ((q0, q_mid, q1), (v0, v_mid, v1), (tau0, tau_mid, tau1))
    return NominalMotion(times, step, *(np.stack(each, axis=1) for each in stages))


def _half_way(
    arm: Arm, h: AnyArray, q0: AnyArray, q1: AnyArray, v0: AnyArray, v1: AnyArray
) -> AnyArray:
    """Configuration in the middle of a step, along ξ from q₀ to q₁ = q₀ ⊕ δ.

    ξ = ½ δ + h/8 (ξ̇₀ - ξ̇₁) with ξ̇₀ = q̇₀ and, for a rotating body,
    ξ̇₁ = q̇₁ + ½ δ x q̇₁ to the required order; else ξ̇₁ = q̇₁
    """
    delta = difference(arm, q0, q1)
    rate = v1
    if arm.groups:
        # the block is -δ x, for the joints where that is not zero
        rate = v1 - 0.5 * np.einsum("...ij,...j->...i", kinematic_block(arm, delta), v1)
    return integrate(arm, q0, 0.5 * delta + 0.125 * h * (v0 - rate))


def per_row(arm: Arm, name: str, value: JointValues, rows: int) -> AnyArray:
    """Broadcast values to (rows, n)."""
    array = _finite(arm, name, value)
    if array.ndim > 2 or (array.ndim == 2 and len(array) != rows):
        shape = "x".join(str(size) for size in array.shape)
        hint = f"pass {arm.n} values per row of the trajectory, or {arm.n} values for all rows"
        raise RobolinError(
            f"{name}: has shape {shape}, but the trajectory has {rows} rows", hint=hint
        )
    return np.broadcast_to(array, (rows, arm.n))


def first_row(arm: Arm, name: str, value: JointValues) -> AnyArray:
    """Values of shape (n,), for the initial state of a motion."""
    array = _finite(arm, name, value)
    if array.ndim > 1:
        hint = "pass values for the first row only"
        raise RobolinError(f"{name}: must have one axis, got {array.ndim}", hint=hint)
    return array


def _finite(arm: Arm, name: str, value: JointValues) -> AnyArray:
    array = as_joint_array(arm, name, value)
    finite = np.isfinite(array)
    if not finite.all():
        index = np.argwhere(~finite)[0]
        row = f" in row {index[0] + 1}" if len(index) > 1 else ""
        joint = arm.joint_names[int(index[-1])]
        raise RobolinError(
            f"{name}: must be finite, got a non-finite value at joint '{joint}'{row}"
        )
    return array


def _ends(values: AnyArray) -> tuple[AnyArray, AnyArray]:
    return values[:-1], values[1:]


def checked_times(time: ArrayLike, where: str = "") -> AnyArray:
    """Check times of two or more increasing rows; `where` names their source."""
    times = seconds_of(time, where)
    if times.ndim != 1 or len(times) < 2:
        hint = "use linearize-forward for a single state"
        raise RobolinError("the trajectory must have at least two rows", where=where, hint=hint)
    later = np.diff(times) > 0.0
    if not later.all():
        row = int(np.argmin(later))
        raise RobolinError(
            f"time: must increase, but row {row + 1} has {times[row]:g} s and row {row + 2} "
            f"has {times[row + 1]:g} s",
            where=where,
            hint="sort the rows by time",
        )
    return times


def _require_known(arm: Arm, torques: str) -> None:
    if torques not in TORQUES:
        hint = f"use {' or '.join(TORQUES)}"
        raise UsageError(f"torques: unknown value '{torques}'", hint=hint)
    if arm.loops:
        raise RobolinError(
            "linearization along a trajectory does not support closed loops such as "
            f"'{arm.loops[0].name}'",
            where=arm.source,
            hint="add --open-loops (open_loops=True) to ignore the loop constraints",
        )


def torque_history(
    time: AnyArray, tau_time: AnyArray | None, tau: AnyArray, where: str = ""
) -> AnyArray:
    """Interpolate torques of another file, (rows, n), linearly at the times of a motion."""
    if tau_time is None:
        if len(tau) != len(time):
            message = (
                f"the torques have {len(tau)} rows and no time, but the trajectory has "
                f"{len(time)} rows"
            )
            hint = "add a column 'time', or use the same number of rows as the trajectory"
            raise RobolinError(message, where=where, hint=hint)
        return tau
    times = checked_times(tau_time, where)
    if time[0] < times[0] or time[-1] > times[-1]:
        raise RobolinError(
            f"the torques cover {times[0]:g} s to {times[-1]:g} s, but the trajectory covers "
            f"{time[0]:g} s to {time[-1]:g} s",
            where=where,
            hint="add rows with zero torque before and after",
        )
    return np.stack([np.interp(time, times, column) for column in tau.T], axis=1)
