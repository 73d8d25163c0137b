"""Control laws of linear regulators on the nonlinear arm, and the cost of a motion."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import numpy as np

from robolin.control.regulator import Regulator
from robolin.control.riccati import require_scipy
from robolin.control.simulation.feedback_control import FeedbackControl, driven_joints
from robolin.control.simulation.simulated_motion import ON_TIME, FeedbackCost, Simulation
from robolin.control.simulation.torques import reference_of
from robolin.control.state_space import StateSpace
from robolin.control.time_varying import TimeVaryingRegulator
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Integers, is_real_number
from robolin.core.configuration import difference
from robolin.errors import UsageError

# discretizations that keep the arm's states; the others mix torques into the state
OWN_STATES = (None, "zoh", "euler")
# fewest rows for a cost, and the relative change allowed when every other row is dropped
_FEWEST_ROWS = 5
_RESOLVED = 1e-2


def feedback(regulator: Regulator, allow_mismatch: bool = False) -> FeedbackControl:
    """Convert a regulator to a control law for `simulate`: τ = τ₀ - K x at actuated joints."""
    model = regulator.model
    if model.batch:
        raise UsageError(
            f"must be a single regulator, got a batch of {model.batch}",
            hint="select one operating point, or use tvlqr",
        )
    if model.method not in OWN_STATES:
        message = (
            f"the states of a model discretized by {model.method} differ from the robot's states"
        )
        raise UsageError(message, where="method", hint="use zoh or euler")
    return FeedbackControl(
        K=regulator.K,
        q=model.q,
        qd=model.qd,
        tau=model.tau,
        actuated=[model.arm.joint_names[i] for i in model.actuated],
        basis=model.basis,
        P=regulator.P,
        integrals=_integral_rates(regulator),
        dt=model.dt,
        Q=regulator.Q,
        R=regulator.R,
        N=regulator.N,
        arm=None if allow_mismatch else model.arm,
    )


def _integral_rates(regulator: Regulator) -> Floats | None:
    """Rates (i, N) of the integrals per closed-loop state; None without integral action."""
    model, own = regulator.model, 2 * regulator.model.dof
    extra = len(model.states) - own
    if not extra:
        return None
    rates = model.A[own:] - model.B[own:] @ regulator.K
    if model.dt is None:
        return rates
    rates[:, own:] -= np.eye(extra)
    return rates / model.dt


def feedback_along(
    regulator: TimeVaryingRegulator, start: float = 0.0, allow_mismatch: bool = False
) -> FeedbackControl:
    """Convert a time-varying regulator to a control law, interpolated between its rows."""
    model = regulator.model
    if model.basis is not None:
        raise UsageError(
            "trajectories with closed loops are not supported: their independent coordinates "
            "change between rows"
        )
    if not (is_real_number(start) and isfinite(start)):
        raise UsageError(f"start: must be a time in s, got {start!r}", hint="pass a time in s")
    assert model.dt is not None, "a model along a trajectory has a sample time"
    return FeedbackControl(
        K=regulator.K,
        q=model.q,
        qd=model.qd,
        tau=model.tau,
        actuated=[model.arm.joint_names[i] for i in model.actuated],
        time=start + model.dt * np.arange(len(regulator.K)),
        P=regulator.P,
        Q=regulator.Q,
        R=regulator.R,
        N=regulator.N,
        cost_dt=model.dt,
        arm=None if allow_mismatch else model.arm,
    )


def feedback_cost(regulator: Regulator, motion: Simulation) -> FeedbackCost:
    """Compute the cost of a simulated motion and the cost that the linear model predicts.

    A motion under this regulator returns the cost that the integrator accumulated.  Any other
    motion uses Simpson's rule over its rows, or for a discrete regulator the sum over samples
    (without the last one).
    """
    _require_motion(regulator.model, motion)
    return law_cost(regulator.model.arm, feedback(regulator), motion)


def feedback_cost_along(
    regulator: TimeVaryingRegulator, motion: Simulation, start: float = 0.0
) -> FeedbackCost:
    """Compute both costs along a trajectory, from `start` to the last common row."""
    _require_motion(regulator.model, motion)
    return law_cost(regulator.model.arm, feedback_along(regulator, start), motion)


def _require_motion(model: StateSpace, motion: object) -> None:
    """Require a motion with the joints of the model's arm and the same number of integrals."""
    if not isinstance(motion, Simulation):
        hint = "pass the result of robolin.simulate(arm, q, control=regulator.feedback(), …)"
        raise UsageError(f"{motion!r} is not a simulated trajectory", hint=hint)
    joints, own = motion.q.shape[-1], 0 if motion.integrals is None else motion.integrals.shape[-1]
    if joints != model.arm.n or own != len(model.states) - 2 * model.dof:
        hint = "simulate the same robot with this regulator"
        needed = f"{model.arm.n} and {len(model.states) - 2 * model.dof}"
        raise UsageError(
            f"the trajectory has {joints} joints and {own} integral states, but the regulator "
            f"has {needed}",
            hint=hint,
        )


def law_cost(arm: Arm, law: FeedbackControl, motion: Simulation) -> FeedbackCost:
    """Compute the same costs for a control law with P and weights."""
    if motion.cost is not None and _same_law(motion.control, law):
        return motion.cost
    dt = law.dt if law.cost_dt is None else law.cost_dt
    weights = [np.zeros(1) if each is None else np.asarray(each) for each in (law.Q, law.R, law.N)]
    rows = _cost_rows(law, motion, dt)
    point = _reference_arrays(arm, law, motion.time[rows])
    driven = [arm.joint_names.index(name) for name in driven_joints(arm, law)]
    x = _states(arm, law, point, motion, rows)
    u = (motion.tau[..., rows, :] - point["tau"])[..., driven]
    Q, R, N = weights
    rate = sum(
        factor * np.einsum("...i,ij,...j->...", left, matrix, right)
        for factor, left, matrix, right in ((1.0, x, Q, x), (1.0, u, R, u), (2.0, x, N, u))
        if matrix.any()
    )
    first, last = (
        np.einsum("...i,ij,...j->...", x[..., at, :], P, x[..., at, :])
        for at, P in zip((0, -1), _costs_to_go(arm, law, motion.time[rows]), strict=True)
    )
    spent = _integral(motion.time[rows], rate) if dt is None else rate[..., :-1].sum(axis=-1)
    return FeedbackCost(spent, last, first)


def _same_law(first: object, second: FeedbackControl) -> bool:
    """Return whether two control laws are equal, ignoring the arm they are restricted to."""
    if not isinstance(first, FeedbackControl):
        return False
    return replace(first, arm=None) == replace(second, arm=None)


def _cost_rows(law: FeedbackControl, motion: Simulation, dt: float | None) -> Integers:
    """Rows at which the cost is evaluated: all rows within the gains' time, or the samples."""
    time, begin, end = motion.time, 0.0, motion.time[-1]
    if law.time is not None:
        gain_times = np.asarray(law.time, dtype=float)
        begin, end = gain_times[0], min(end, gain_times[-1])
    if dt is None:
        return np.flatnonzero((time >= begin) & (time <= end))
    samples = begin + dt * np.arange(int((end - begin) / dt + ON_TIME) + 1)
    rows = np.searchsorted(time, samples - ON_TIME * dt)
    if (np.abs(time[rows] - samples) > ON_TIME * dt).any():
        hint = "simulate with one stored row per sample"
        raise UsageError(
            "the cost of sampled control requires a row at every sample time", hint=hint
        )
    return rows


def _reference_arrays(arm: Arm, law: FeedbackControl, time: Floats) -> dict[str, Floats]:
    """Reference q, q̇ and τ at each time, or once if the law has no time axis."""
    motion = {"q": law.q, "qd": law.qd, "tau": law.tau}
    reference = reference_of(arm, law.time, motion)
    if law.time is None:
        return reference.arrays
    at = [reference.at(t) for t in time.tolist()]
    return {name: np.stack([each[name] for each in at]) for name in motion}


def _costs_to_go(arm: Arm, law: FeedbackControl, time: Floats) -> tuple[Floats, Floats]:
    """Cost-to-go matrices P at the first and last time."""
    reference = reference_of(arm, law.time, {}, {"P": np.asarray(law.P, dtype=float)})
    return reference.at(float(time[0]))["P"], reference.at(float(time[-1]))["P"]


def _integral(time: Floats, rate: Floats) -> Floats:
    """Integrate by Simpson's rule; raise if half of the rows give a different value."""
    integrate = require_scipy("integrate", "the cost of a motion")
    total: Floats = integrate.simpson(rate, x=time, axis=-1)
    half = np.unique([*range(0, len(time), 2), len(time) - 1])
    coarse = integrate.simpson(rate[..., half], x=time[half], axis=-1)
    if len(time) < _FEWEST_ROWS or (np.abs(total - coarse) > _RESOLVED * np.abs(total)).any():
        raise UsageError(
            f"the {len(time)} rows of the trajectory are too far apart to integrate the cost",
            hint="simulate the robot with this regulator, or store more rows (every=1)",
        )
    return total


def _states(
    arm: Arm, law: FeedbackControl, point: dict[str, Floats], motion: Simulation, rows: Integers
) -> Floats:
    """State x (..., rows, N) of the control law along a motion."""
    dq = difference(arm, point["q"], motion.q[..., rows, :])
    dqd = motion.qd[..., rows, :] - point["qd"]
    if law.basis is not None:
        dq, dqd = dq @ np.asarray(law.basis), dqd @ np.asarray(law.basis)
    more = () if motion.integrals is None else (motion.integrals[..., rows, :],)
    return np.concatenate([dq, dqd, *more], axis=-1)
