"""Gradient of a cost along a motion, by the adjoint of the linearized model.

A cost of the states x = [q; q̇] of all rows changes by δJ = Σ c(k)* δx(k).  From row to row
x(k+1) = Φ(k) x(k) + Γ(k) u, so one sweep backward in time,

    λ(k) = c(k) + Φ(k)* λ(k+1)          ∂J/∂x(k) = λ(k)          ∂J/∂u = Σ Γ(k)* λ(k+1)

gives the complete gradient, by the torques of every row and by every parameter, at little more
than the cost of the motion itself.  Φ and Γ are those of `sensitivity`; both agree to round-off.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, require_same_rows
from robolin.core.choices import Torques
from robolin.core.configuration import kinematic_block
from robolin.core.notebook import DisplayMixin
from robolin.core.progress import track
from robolin.core.records import dataclass
from robolin.evaluation.evaluate import Engine, EngineChoice
from robolin.evaluation.methods import Method

# weights of the torques at both ends of a step, at its start, middle and end
_SHARES = {
    "continuous": np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]),
    "stepwise": np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]),
}


@dataclass(frozen=True, eq=False, repr=False)
class CostGradient(DisplayMixin):
    """Gradient of a cost with respect to the initial state, the torques and the parameters.

    The first row of `q`, `qd` and `parameter` is the gradient with respect to the initial state and
    the arm; row k is the gradient with respect to changes in that row only.

    Fields:
        time: (rows,) in s
        q: gradient with respect to the positions of each row (rows, n), per rad or m
        qd: gradient with respect to the velocities of each row (rows, n), per rad/s or m/s
        tau: gradient with respect to the torques of each row (rows, n), per N·m or N
        parameter: gradient with respect to the parameters in `names` (rows, p), if they change from
            this row on, per unit of each parameter
        names: parameter names: those of `parameter_names`, then of `geometry_names`

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> arrays = (motion.time, motion.q, motion.qd, motion.tau)
        >>> robolin.cost_gradient(arm, *arrays, dcost_dq=motion.q).tau.shape
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
) -> CostGradient:
    """Gradient of a cost with respect to initial state, torques and parameters of a motion.

    The cost depends on states; if it also depends on torques, add ∂cost/∂τ to `.tau`
    of the result.

    Args:
        arm: the arm, from `robolin.load`
        time: (rows,) in s, increasing
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        tau: torques (rows, n) in N·m or N; None if `qdd` is set
        qdd: accelerations (rows, n) in rad/s² or m/s², instead of tau
        dcost_dq: derivative of the cost with respect to the positions (rows, n), per rad or m
        dcost_dqd: derivative of the cost with respect to the velocities (rows, n), per rad/s or m/s
        torques: "continuous", or "stepwise" if each row's torque is constant until the next row
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `CostGradient`

    Raises:
        RobolinError: a motion that does not fit the arm, times that do not increase, closed loops,
            or invalid values
        UsageError: `arm` is not an `Arm`, neither tau nor qdd, or an invalid method, engine or
            number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> arrays = (motion.time, motion.q, motion.qd, motion.tau)
        >>> miss = np.zeros_like(motion.q)
        >>> miss[-1] = motion.q[-1] - [0.9, -0.4]
        >>> robolin.cost_gradient(arm, *arrays, dcost_dq=miss).q[0].round(4)
        array([ 0.1398, -0.2664])
    """
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
    nominal = nominal_motion(arm, time, q, qd, tau, qdd, torques, options)
    slopes = (("dcost_dq", dcost_dq), ("dcost_dqd", dcost_dqd))
    require_same_rows({"q": q, **dict(slopes)}, vectors={"time": time})
    cost = np.concatenate([per_row(arm, *slope, nominal.rows) for slope in slopes], axis=-1)
    names, n = all_parameter_names(arm, geometry=True), arm.n
    adjoint, effort = cost.copy(), np.zeros((nominal.rows, n))
    parameter = np.zeros((nominal.rows, len(names)))
    for k, step, forced in _backward(arm, nominal, torques, options):
        pulled = forced.T @ adjoint[k + 1]
        adjoint[k] += step.T @ adjoint[k + 1]
        effort[k] += pulled[:n]
        effort[k + 1] += pulled[n : 2 * n]
        parameter[k] = parameter[k + 1] + pulled[2 * n :]
    return CostGradient(nominal.time, adjoint[:, :n], adjoint[:, n:], effort, parameter, names)


def _backward(
    arm: Arm, nominal: NominalMotion, torques: Torques, options: EngineChoice
) -> Iterator[tuple[int, Floats, Floats]]:
    """Iterate over steps from last to first: index, Φ, and Γ by all inputs.

    The columns of Γ are the torques of the step's first row, of its last row, and the parameters.
    """
    columns = 2 * arm.n + len(all_parameter_names(arm, geometry=True))
    slices = list(step_slices(nominal, columns))
    for steps in track("cost gradient", reversed(slices), len(slices)):
        part = nominal.some(steps)
        model = linearize_forward(arm, part.q, part.qd, part.tau, **options)
        inverse = model.dqdd_dtau
        shared = [inverse * share[:, None, None] for share in _SHARES[torques]]
        by_parameter = -inverse @ parameter_columns(arm, part, model.qdd, True, options)
        forced = np.concatenate([*shared, by_parameter], axis=-1)
        steps_forward = step_matrices(model, kinematic_block(arm, part.qd), forced, part.step)
        yield from reversed([(k, *each) for k, each in enumerate(steps_forward, start=steps.start)])
