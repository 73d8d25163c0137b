"""The gradient of a cost along a motion, by the adjoint of the linearized model.

A cost of the states x = [q; q̇] of all rows changes by δJ = Σ c(k)* δx(k).  From row to row
x(k+1) = Φ(k) x(k) + Γ(k) u, so one sweep backward in time,

    λ(k) = c(k) + Φ(k)* λ(k+1)          ∂J/∂x(k) = λ(k)          ∂J/∂u = Σ Γ(k)* λ(k+1)

gives the whole gradient for little more than the motion itself: by the torques of every row and by
every parameter.  Φ and Γ are those of `sensitivity`, so both agree to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robolin.analysis.nominal_motion import NominalMotion, nominal_motion, per_row
from robolin.analysis.sensitivity import (
    all_parameter_names,
    parameter_columns,
    step_matrices,
    step_slices,
)
from robolin.api.linear_models import linearize_forward
from robolin.api.run_options import run_options
from robolin.core.arm import Arm
from robolin.core.array_checks import require_same_rows
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import LoopMethod, Torques
from robolin.core.configuration import kinematic_block
from robolin.core.notebook import DisplayMixin
from robolin.evaluation.evaluate import Engine, RunOptions
from robolin.evaluation.methods import Method

# how much the torques of the rows at both ends of a step count at its begin, middle and end
_SHARES = {
    "continuous": np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]),
    "stepwise": np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]),
}


@dataclass(frozen=True)
class CostGradient(DisplayMixin):
    """How a cost changes, to first order, with everything that makes a motion.

    The first row of `q`, `qd` and `parameter` is the gradient by the beginning and the arm; row k
    is what changes that happen only there would do.

    Fields:
        time: (rows,) in s
        q: by the positions of each row (rows, n), per rad or m
        qd: by the velocities of each row (rows, n), per rad/s or m/s
        tau: by the torques of each row (rows, n), per N·m or N
        parameter: by the parameters in `names`, changed from each row on (rows, p), per unit of
            each
        names: of the parameters, as `parameter_names` and then `geometry_names` give them

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> given = (motion.time, motion.q, motion.qd, motion.tau)
        >>> robolin.cost_gradient(arm, *given, dcost_dq=motion.q).tau.shape
        (11, 2)
    """

    time: Floats
    q: Floats
    qd: Floats
    tau: Floats
    parameter: Floats
    names: tuple[str, ...]


def cost_gradient(
    arm: Arm,
    time: ArrayLike,
    q: JointValues,
    qd: JointValues,
    tau: JointValues | None = None,
    qdd: JointValues | None = None,
    *,
    dcost_dq: JointValues = 0.0,
    dcost_dqd: JointValues = 0.0,
    torques: Torques = "continuous",
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> CostGradient:
    """The gradient of a cost of a motion's states, by its beginning, its torques and the arm.

    What the cost owes to torques directly is not in it; that is added row by row.

    Args:
        arm: the arm, from `robolin.load`
        time: (rows,) in s, rising
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        tau: torques (rows, n) in N·m or N; or else qdd
        qdd: accelerations (rows, n) in rad/s² or m/s², where tau is not given
        dcost_dq: the cost's derivative by the positions of each row (rows, n), per rad or m
        dcost_dqd: by the velocities of each row (rows, n), per rad/s or m/s
        torques: "continuous", or "stepwise" where each row's torque is held until the next
        method: "auto", "operator" or "conventional": by which algorithm, see docs/algorithms.md
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        a `CostGradient`

    Raises:
        RobolinError: a motion that is no motion of the arm, times that do not rise, closed loops,
            values that are not sound
        UsageError: no arm, neither of tau and qdd, or a method, engine or number of jobs that does
            not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> given = (motion.time, motion.q, motion.qd, motion.tau)
        >>> miss = np.zeros_like(motion.q)
        >>> miss[-1] = motion.q[-1] - [0.9, -0.4]
        >>> robolin.cost_gradient(arm, *given, dcost_dq=miss).q[0].round(4)
        array([ 0.1398, -0.2664])
    """
    how = run_options(method, engine, jobs, loop_method)
    nominal = nominal_motion(arm, time, q, qd, tau, qdd, torques, how)
    slopes = (("dcost_dq", dcost_dq), ("dcost_dqd", dcost_dqd))
    require_same_rows({"q": q, **dict(slopes)}, vectors={"time": time})
    cost = np.concatenate([per_row(arm, *slope, nominal.rows) for slope in slopes], axis=-1)
    names, n = all_parameter_names(arm, geometry=True), arm.n
    adjoint, effort = cost.copy(), np.zeros((nominal.rows, n))
    parameter = np.zeros((nominal.rows, len(names)))
    for k, step, forced in _backward(arm, nominal, torques, how):
        pulled = forced.T @ adjoint[k + 1]
        adjoint[k] += step.T @ adjoint[k + 1]
        effort[k] += pulled[:n]
        effort[k + 1] += pulled[n : 2 * n]
        parameter[k] = parameter[k + 1] + pulled[2 * n :]
    return CostGradient(nominal.time, adjoint[:, :n], adjoint[:, n:], effort, parameter, names)


def _backward(
    arm: Arm, nominal: NominalMotion, torques: Torques, how: RunOptions
) -> Iterator[tuple[int, Floats, Floats]]:
    """Each step from the last to the first, its Φ, and its Γ by everything that forces it.

    Columns of Γ are the torques of the row it begins with, those of the next, and parameters.
    """
    columns = 2 * arm.n + len(all_parameter_names(arm, geometry=True))
    for steps in reversed(list(step_slices(nominal, columns))):
        part = nominal.some(steps)
        model = linearize_forward(arm, part.q, part.qd, part.tau, **how)
        inverse = model.dqdd_dtau
        shared = [inverse * share[:, None, None] for share in _SHARES[torques]]
        by_parameter = -inverse @ parameter_columns(arm, part, model.qdd, True, how)
        forced = np.concatenate([*shared, by_parameter], axis=-1)
        found = step_matrices(model, kinematic_block(arm, part.qd), forced, part.step)
        yield from reversed([(k, *each) for k, each in enumerate(found, start=steps.start)])
