"""The gradient of a cost along a motion, by the adjoint of the linearized model.

A cost that depends on the states x = [q; q̇] of all rows changes by δJ = Σ c(k)* δx(k).  With
x(k+1) = Φ(k) x(k) + Γ(k) u from step to step, one sweep backward in time,

    λ(k) = c(k) + Φ(k)* λ(k+1)          ∂J/∂x(0) = λ(0)          ∂J/∂u = Σ Γ(k)* λ(k+1)

gives all of the gradient for little more than the motion itself: what torques of any row and every
parameter would do.  Φ and Γ are those of `sensitivity`, so that both agree to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robolin.analysis.identification import regressor
from robolin.analysis.link_parameters import natural_map, natural_names
from robolin.analysis.nominal_motion import Nominal, Torques, nominal_motion, per_row
from robolin.analysis.sensitivity import parts_of, step_matrices
from robolin.api.linear_models import linearize_forward
from robolin.api.run_options import run_options
from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.evaluation.evaluate import Engine, How, LoopMethod
from robolin.evaluation.methods import Method
from robolin.geometry.configuration import kinematic_block

# how much the torques of the rows at both ends of a step count at its begin, middle and end
_SHARES = {
    "continuous": np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]),
    "stepwise": np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]),
}


@dataclass(frozen=True)
class CostGradient:
    """How a cost changes with everything that makes a motion, to first order.

    Fields:
        q: by the positions of the first row (n,), per rad or m
        qd: by the velocities of the first row (n,), per rad/s or m/s
        tau: by the torques of every row (rows, n), per N·m or N
        parameter: by the parameters in `names` (p,), per unit of each
        names: of the parameters, as `parameter_names` gives them

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> given = (motion.time, motion.q, motion.qd, motion.tau)
        >>> robolin.cost_gradient(arm, *given, dcost_dq=motion.q).tau.shape
        (11, 2)
    """

    q: Floats
    qd: Floats
    tau: Floats
    parameter: Floats
    names: tuple[str, ...]


def cost_gradient(
    arm: Arm,
    time: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    dcost_dq: ArrayLike = 0.0,
    dcost_dqd: ArrayLike = 0.0,
    torques: Torques = "continuous",
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> CostGradient:
    """The gradient of a cost of the states of a motion, by its beginning, its torques and the arm.

    What the cost owes to torques directly is not in it; add that row by row.

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
        loop_method: no effect here; it is for the forward dynamics of closed loops

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
        >>> robolin.cost_gradient(arm, *given, dcost_dq=miss).q.round(4)
        array([0.    , 0.    ])
    """
    how = run_options(method, engine, jobs, loop_method)
    nominal = nominal_motion(arm, time, q, qd, tau, qdd, torques, how)
    slopes = (("dcost_dq", dcost_dq), ("dcost_dqd", dcost_dqd))
    by_row = (_slope(arm, name, value, nominal.rows) for name, value in slopes)
    cost, n = np.concatenate([*by_row], axis=-1), arm.n
    names, effort = natural_names(arm), np.zeros((nominal.rows, n))
    adjoint, parameter = cost[-1], np.zeros(len(names))
    for steps in reversed(list(parts_of(nominal, 2 * n + len(names)))):
        first, matrices = steps.start, _matrices(arm, nominal.some(steps), torques, how)
        for k, (step, forced) in reversed([*enumerate(matrices, start=first)]):
            pulled = forced.T @ adjoint
            effort[k], effort[k + 1] = effort[k] + pulled[:n], effort[k + 1] + pulled[n : 2 * n]
            parameter = parameter + pulled[2 * n :]
            adjoint = cost[k] + step.T @ adjoint
    return CostGradient(adjoint[:n], adjoint[n:], effort, parameter, names)


def _matrices(arm: Arm, part: Nominal, torques: Torques, how: How) -> list[tuple[Floats, Floats]]:
    """Φ and Γ of every step; Γ by the torques at its begin and its end, and by parameters."""
    model = linearize_forward(arm, part.q, part.qd, part.tau, **how)
    Y = regressor(arm, part.q, part.qd, model.qdd, **how).matrix
    inverse = model.dqdd_dtau
    shared = [inverse * share[:, None, None] for share in _SHARES[torques]]
    forced = np.concatenate([*shared, -inverse @ (Y @ natural_map(arm))], axis=-1)
    return list(step_matrices(model, kinematic_block(arm, part.qd), forced, part.step))


def _slope(arm: Arm, name: str, value: ArrayLike, rows: int) -> Floats:
    return per_row(arm, name, value, rows)
