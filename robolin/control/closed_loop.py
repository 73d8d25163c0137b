"""The nonlinear arm under a linear regulator: the control law, and what a motion has cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robolin.arm import Arm
from robolin.arrays import JointValues
from robolin.control.regulator import Regulator
from robolin.control.scipy_needed import scipy_part
from robolin.control.time_varying import TimeVaryingRegulator
from robolin.errors import UsageError
from robolin.geometry.configuration import difference
from robolin.input_checks import Array, array_of
from robolin.simulation.feedback_control import FeedbackControl
from robolin.simulation.simulated_motion import Simulation


@dataclass(frozen=True, eq=False)
class FeedbackCost:
    """What a motion of the nonlinear arm cost, beside what the linear model says.

    Fields:
        spent: ∫ xᵀQx + uᵀRu + 2xᵀNu dt along the motion (...); its sum where there is a dt
        left: xᵀ P x at its end (...)
        predicted: xᵀ P x at its beginning (...), which spent + left come to for small x

    Example:
        >>> arm = robolin.load("acrobot")
        >>> model = robolin.state_space(arm, [np.pi, 0.0], passive="shoulder")
        >>> regulator = robolin.lqr(model, Q={"q": 10, "qd": 1})
        >>> law = regulator.feedback()
        >>> motion = robolin.simulate(arm, [np.pi + 1e-3, 0.0], duration=5.0, control=law)
        >>> cost = regulator.motion_cost(motion)
        >>> bool(abs(cost.spent + cost.left - cost.predicted) < 1e-3 * cost.predicted)
        True
    """

    spent: Array
    left: Array
    predicted: Array


def feedback(regulator: Regulator) -> FeedbackControl:
    """The regulator as a control law for `simulate`: τ = τ₀ - K x at the joints with a motor."""
    require_plain(regulator)
    model = regulator.model
    if model.dt is not None:
        hint = "regulator.sampled_motion(q, qd, samples=…) holds them"
        raise UsageError("the gains are for torques held between samples", where="dt", hint=hint)
    return FeedbackControl(
        K=regulator.K,
        q=model.q,
        qd=model.qd,
        tau=model.tau,
        actuated=[model.arm.joint_names[i] for i in model.actuated],
        basis=model.basis,
        P=regulator.P,
    )


def require_plain(regulator: Regulator) -> None:
    """One regulator, whose state is that of the arm."""
    model = regulator.model
    if model.batch:
        raise UsageError(f"there are {model.batch} regulators", hint="take one point, or tvlqr")
    if len(model.states) > 2 * model.freedoms:
        hint = "leave out the integrals, or integrate them in a torque function of your own"
        raise UsageError("integral action has states of its own, which an arm has not", hint=hint)


def feedback_along(regulator: TimeVaryingRegulator, start: float = 0.0) -> FeedbackControl:
    """The regulator along a motion as a control law: gains and reference between its rows."""
    model = regulator.model
    if model.basis is not None:
        raise UsageError("a motion with closed loops changes its coordinates from row to row")
    assert model.dt is not None, "models along a motion are sampled"
    return FeedbackControl(
        K=regulator.K,
        q=model.q,
        qd=model.qd,
        tau=model.tau,
        actuated=[model.arm.joint_names[i] for i in model.actuated],
        time=start + model.dt * np.arange(len(regulator.K)),
        P=regulator.P,
    )


def feedback_cost(regulator: Regulator, motion: Simulation) -> FeedbackCost:
    """The cost of a simulated motion, and xᵀ P x beside it.

    By Simpson's rule over its rows; of a discrete regulator, the sum over all rows but the last.
    """
    model = regulator.model
    x = states_of(regulator, motion.q, motion.qd)
    u = (motion.tau - model.tau)[..., list(model.actuated)]
    rate = _rate(x, u, regulator.Q, regulator.R)
    rate = rate + 2.0 * np.einsum("...i,ij,...j->...", x, regulator.N, u)
    spent = _integral(motion, rate) if model.dt is None else rate[..., :-1].sum(axis=-1)
    return FeedbackCost(spent, regulator.cost(x[..., -1, :]), regulator.cost(x[..., 0, :]))


def law_cost(
    arm: Arm, law: FeedbackControl, Q: Array, R: Array, motion: Simulation
) -> FeedbackCost:
    """The same for a control law about one point that says P, without a cross term."""
    driven = [arm.joint_names.index(name) for name in law.actuated or arm.joint_names]
    x = _states(arm, law.q, law.qd, law.basis, motion.q, motion.qd)
    u = (motion.tau - np.asarray(law.tau, dtype=float))[..., driven]
    to_go = np.einsum("...i,ij,...j->...", x, np.asarray(law.P, dtype=float), x)
    return FeedbackCost(_integral(motion, _rate(x, u, Q, R)), to_go[..., -1], to_go[..., 0])


def _rate(x: Array, u: Array, Q: Array, R: Array) -> Array:
    """xᵀQx + uᵀRu."""
    return np.einsum("...i,ij,...j->...", x, Q, x) + np.einsum("...i,ij,...j->...", u, R, u)


def _integral(motion: Simulation, rate: Array) -> Array:
    integrate = scipy_part("integrate", "the cost of a motion")
    found: Array = integrate.simpson(rate, x=motion.time, axis=-1)
    return found


def states_of(regulator: Regulator, q: JointValues, qd: JointValues) -> Array:
    """x (..., N) of states of the arm, as the regulator sees them."""
    model = regulator.model
    return _states(model.arm, model.q, model.qd, model.basis, q, qd)


def _states(
    arm: Arm,
    q0: JointValues,
    qd0: JointValues,
    basis: ArrayLike | None,
    q: JointValues,
    qd: JointValues,
) -> Array:
    dq, dqd = difference(arm, q0, q), array_of(arm, "qd", qd) - array_of(arm, "qd", qd0)
    if basis is not None:
        dq, dqd = dq @ np.asarray(basis), dqd @ np.asarray(basis)
    return np.concatenate([dq, dqd], axis=-1)
