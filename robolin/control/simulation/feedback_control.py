"""Controllers in joint space: state feedback, PD, and computed torque."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.simulation.torques import ReferenceMotion, reference_of
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, as_joint_array, reject_tensor
from robolin.core.configuration import change_between
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate


@dataclass(frozen=True, eq=False, repr=False)
class FeedbackControl(DisplayMixin):
    """τ = τ₀ - K x at the actuated joints; x is the deviation of q, then of q̇, from q₀ and q̇₀.

    With integral action, x also contains the integrals z, whose initial value is 0.

    Fields:
        K: gains (m, N), or (rows, m, N) at times (rows,), linearly interpolated; N is 2 n plus one
            for every integral
        q: positions of the operating point (n,) or (rows, n), in rad or m
        qd: its velocities (n,) or (rows, n), in rad/s or m/s
        tau: its torques (n,) or (rows, n), in N·m or N
        actuated: names of the m actuated joints; None for all joints if K has n rows, else for
            those in the robot file
        time: time of each row (rows,), in s; None for one operating point
        basis: (n, d) for arms with closed loops, where x = [basisᵀ δq; basisᵀ δq̇]
        P: (N, N) or (rows, N, N); if it is set, `Simulation.lyapunov` is xᵀ P x
        integrals: (i, N) or (rows, i, N), ż = integrals x; None without integral action
        dt: sample time in s of torques that are constant between samples, where z grows by
            dt integrals x; None for continuous feedback
        Q: weights of x (N, N) in the cost xᵀQx + uᵀRu + 2xᵀNu, with u = τ - τ₀ at the actuated
            joints; the simulation accumulates the cost; None for no cost
        R: weights of u (m, m); required with Q; P is also required
        N: cross weights of x and u (N, m); None for 0
        cost_dt: sample time in s of a cost that is a sum over samples; None for `dt`; if `dt` is
            also None, the cost is an integral
        arm: the arm of the design; `simulate` rejects other arms; None accepts every arm

    Example:
        >>> arm = robolin.load("acrobot")
        >>> model = robolin.state_space(arm, [np.pi, 0.0])
        >>> law = robolin.lqr(model, Q={"q": 10, "qd": 1}).feedback()
        >>> motion = robolin.simulate(arm, [np.pi + 0.05, 0.0], duration=5.0, dt=0.01, control=law)
        >>> bool(abs(motion.q[-1] - [np.pi, 0.0]).max() < 1e-3)
        True
    """

    K: ArrayLike
    q: JointValues
    qd: JointValues = 0.0
    tau: JointValues = 0.0
    actuated: Sequence[str] | None = None
    time: ArrayLike | None = None
    basis: ArrayLike | None = None
    P: ArrayLike | None = None
    integrals: ArrayLike | None = None
    dt: float | None = None
    Q: ArrayLike | None = None
    R: ArrayLike | None = None
    N: ArrayLike | None = None
    cost_dt: float | None = None
    arm: Arm | None = None


@dataclass(frozen=True, eq=False, repr=False)
class PDControl(DisplayMixin):
    """τ = kp (q₀ - q) + kd (q̇₀ - q̇), plus the static torque of gravity and loads if `hold`.

    Fields:
        q: target positions, (n,) or (rows, n), in rad or m
        qd: target velocities, (n,) or (rows, n), in rad/s or m/s
        kp: N·m/rad or N/m, one number or one for each joint (n,)
        kd: N·m·s/rad or N·s/m, one number or one for each joint (n,)
        hold: compensate gravity and external loads
        time: time of each row (rows,), in s; None for one pose

    Example:
        >>> arm, law = robolin.load("two-link"), robolin.PDControl([0.3, -0.7], kp=50.0, kd=10.0)
        >>> motion = robolin.simulate(arm, [0.0, 0.0], duration=6.0, dt=0.01, control=law)
        >>> motion.q[-1].round(3)
        array([ 0.3, -0.7])
    """

    q: JointValues
    qd: JointValues = 0.0
    kp: ArrayLike = 100.0
    kd: ArrayLike = 20.0
    hold: bool = True
    time: ArrayLike | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ComputedTorque(DisplayMixin):
    """Inverse-dynamics control: the torque for q̈₀ + kp (q₀ - q) + kd (q̇₀ - q̇).

    The error e of each joint then satisfies ë + kd ė + kp e = 0, independently of other joints.

    Fields:
        q: target positions, (n,) or (rows, n), in rad or m
        qd: target velocities, (n,) or (rows, n), in rad/s or m/s
        qdd: target accelerations, (n,) or (rows, n), in rad/s² or m/s²
        kp: 1/s², one number or one for each joint (n,)
        kd: 1/s, one number or one for each joint (n,)
        time: time of each row (rows,), in s; None for one pose

    Example:
        >>> arm, law = robolin.load("two-link"), robolin.ComputedTorque([0.3, -0.7], kp=4.0, kd=4.0)
        >>> motion = robolin.simulate(arm, [0.0, 0.0], duration=1.0, control=law)
        >>> motion.q[-1] / [0.3, -0.7], round(1 - 3 * np.exp(-2), 8)
        (array([0.59399415, 0.59399415]), np.float64(0.59399415))
    """

    q: JointValues
    qd: JointValues = 0.0
    qdd: JointValues = 0.0
    kp: ArrayLike = 100.0
    kd: ArrayLike = 20.0
    time: ArrayLike | None = None


def driven_joints(arm: Arm, law: FeedbackControl) -> Sequence[str]:
    """Names of the joints that a control law actuates."""
    if law.actuated is not None:
        return law.actuated
    rows = np.shape(law.K)[-2:-1]
    described = [name for name in arm.joint_names if name not in arm.passive_joints]
    return described if rows == (len(described),) else arm.joint_names


class StateFeedback:
    """Torques of a FeedbackControl.

    memory: number of integrals
    motors: indices of the actuated joints
    dt:     sample time of torques that are constant between samples
    """

    dt: float | None
    motors: list[int]
    basis: Floats | None
    memory: int
    cost_dt: float | None

    depends_on_state = True

    def __init__(self, arm: Arm, law: FeedbackControl) -> None:
        names = driven_joints(arm, law)
        if unknown := [name for name in names if name not in arm.joint_names]:
            hint = f"joints: {', '.join(arm.joint_names)}"
            raise UsageError(
                f"actuated joint '{unknown[0]}' of the feedback not found in '{arm.name}'",
                hint=hint,
            )
        for name, value in (("dt", law.dt), ("cost_dt", law.cost_dt)):
            if value is not None and not (isfinite(value) and value > 0.0):
                hint = "give a time in s"
                raise UsageError(f"{name}: must be > 0, got {value!r}", hint=hint)
        self.dt, self._arm = law.dt, arm
        self.motors = [arm.joint_names.index(name) for name in names]
        # a view if all joints are actuated
        self._driven = slice(None) if self.motors == [*range(arm.n)] else self.motors
        self.basis = None if law.basis is None else np.asarray(law.basis, dtype=float)
        dof = arm.n if self.basis is None else self.basis.shape[-1]
        self.memory = 0 if law.integrals is None else int(np.shape(law.integrals)[-2])
        size = 2 * dof + self.memory
        matrices = {"K": _matrix("K", law.K, (len(self.motors), size))}
        if law.P is not None:
            matrices["P"] = _matrix("P", law.P, (size, size))
        if law.integrals is not None:
            matrices["integrals"] = _matrix("integrals", law.integrals, (self.memory, size))
        self.weights: Floats | None = _cost_weights(law, size, len(self.motors))
        self.cost_dt = law.dt if law.cost_dt is None else law.cost_dt
        motion = {"q": law.q, "qd": law.qd, "tau": law.tau}
        self.reference: ReferenceMotion = reference_of(arm, law.time, motion, matrices)

    def _state(self, at: dict[str, Floats], q: Floats, qd: Floats, integrals: Floats) -> Floats:
        dq, dqd = change_between(self._arm, at["q"], q), qd - at["qd"]
        if self.basis is not None:
            dq, dqd = dq @ self.basis, dqd @ self.basis
        return np.concatenate([dq, dqd, integrals], axis=-1)

    def rows(self, end: float) -> dict[str, Floats]:
        """Reference and gains: one of each, or (rows, …) up to the first row after the end."""
        time, arrays = self.reference.time, self.reference.arrays
        if time is None:
            return arrays
        return {name: array[: np.searchsorted(time, end) + 1] for name, array in arrays.items()}

    @property
    def times(self) -> Floats | None:
        """Time of each row of gains (rows,), in s; None for one operating point."""
        return self.reference.time

    @property
    def has_cost(self) -> bool:
        """True if the law has weights."""
        return self.weights is not None

    def cost_rate(self, t: float, q: Floats, qd: Floats, integrals: Floats, tau: Floats) -> Floats:
        """Cost rate xᵀQx + uᵀRu + 2xᵀNu (...), for motor torques tau (..., n)."""
        assert self.weights is not None, "the control law has weights"
        at = self.reference.at(t)
        x = self._state(at, q, qd, integrals)
        u = (tau - at["tau"])[..., self._driven]
        both = np.concatenate([x, u], axis=-1)
        return _quadratic(both, self.weights)

    def cost_to_go(self, t: float, q: Floats, qd: Floats, integrals: Floats) -> Floats:
        """Cost-to-go xᵀ P x (...)."""
        at = self.reference.at(t)
        x = self._state(at, q, qd, integrals)
        return _quadratic(x, at["P"])

    def with_integrals(self, integrals: Floats) -> GivenIntegrals:
        """The torque for fixed integrals (..., i)."""
        return GivenIntegrals(self, integrals)

    def memory_rate(self, t: float, q: Floats, qd: Floats, integrals: Floats) -> Floats:
        """Rates of the integrals (..., i)."""
        if not self.memory:
            return np.zeros_like(integrals)
        at = self.reference.at(t)
        x = self._state(at, q, qd, integrals)
        rate = np.zeros_like(integrals)
        for i in range(x.shape[-1]):
            rate += at["integrals"][:, i] * x[..., i, None]
        return rate

    def torque(self, t: float, q: Floats, qd: Floats, integrals: Floats) -> Floats:
        at = self.reference.at(t)
        x = self._state(at, q, qd, integrals)
        tau = np.empty(q.shape)
        tau[...] = at["tau"]
        driven = tau[..., self._driven]
        # fixed summation order: results do not depend on the batch
        for i, gains in enumerate(at["K"].T):
            driven -= gains * x[..., i, None]
        tau[..., self._driven] = driven
        return tau

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self.torque(t, q, qd, np.zeros((*q.shape[:-1], self.memory)))

    def error(self, q: Floats) -> None:
        return None

    def lyapunov(self, time: Floats, q: Floats, qd: Floats, kinetic: Floats, memory: Floats) -> Any:
        """xᵀ P x in every row."""
        if "P" not in self.reference.arrays:
            return None
        values = np.empty_like(kinetic)
        for row, t in enumerate(time.tolist()):
            values[row] = self.cost_to_go(t, q[row], qd[row], memory[row])
        return values


@dataclass(frozen=True, eq=False)
class GivenIntegrals:
    """Torque of a regulator for fixed integrals."""

    law: StateFeedback
    integrals: Floats
    depends_on_state: bool = True

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self.law.torque(t, q, qd, self.integrals)


class TrackingController:
    """Torques of PDControl and ComputedTorque."""

    law: PDControl | ComputedTorque

    depends_on_state = True

    def __init__(self, arm: Arm, law: PDControl | ComputedTorque, run_options: RunOptions) -> None:
        self._arm, self._run_options, self.law = arm, run_options, law
        self.kp: Floats = _gain(arm, "kp", law.kp)
        self.kd: Floats = _gain(arm, "kd", law.kd)
        motion = {"q": law.q, "qd": law.qd}
        if isinstance(law, ComputedTorque):
            motion["qdd"] = law.qdd
        self.reference: ReferenceMotion = reference_of(arm, law.time, motion)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        at = self.reference.at(t)
        feedback = self.kp * change_between(self._arm, q, at["q"]) + self.kd * (at["qd"] - qd)
        if isinstance(self.law, ComputedTorque):
            return self._inverse(q, qd, at["qdd"] + feedback)
        if self.law.hold:
            return feedback + self._inverse(q, np.zeros_like(qd), np.zeros_like(qd))
        return feedback

    def positions(self, end: float) -> Floats:
        """Target positions: (n,), or (rows, n) up to the first row after the end."""
        q, time = self.reference.arrays["q"], self.reference.time
        return q if time is None or q.ndim == 1 else q[: np.searchsorted(time, end) + 1]

    def _inverse(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        values = {"q": q, "qd": qd, "qdd": qdd}
        return evaluate(self._arm, "inverse", values, **self._run_options)["tau"]

    def error(self, q: Floats) -> None:
        return None

    def lyapunov(
        self, time: Floats, q: Floats, qd: Floats, kinetic: Floats, memory: Floats
    ) -> None:
        return None


def _matrix(name: str, value: ArrayLike, shape: tuple[int, int]) -> Floats:
    reject_tensor(name, value)
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise RobolinError(f"{name}: must be an array of numbers: {error}") from error
    if array.ndim not in (2, 3) or array.shape[-2:] != shape:
        message = f"{name}: must have shape {shape} for this robot, got {array.shape}"
        raise RobolinError(message, hint="check that the gains are for this robot")
    return array


def _cost_weights(law: FeedbackControl, states: int, motors: int) -> Floats | None:
    """[[Q, N], [Nᵀ, R]], the joint weights of x and u; None without Q."""
    if law.Q is None:
        if law.R is not None or law.N is not None:
            raise UsageError("the cost requires Q", hint="set both Q and R, or omit both")
        return None
    if law.R is None:
        raise UsageError("the cost requires R", hint="set both Q and R, or omit both")
    if law.P is None:
        hint = "set P, because the cost after the end is xᵀ P x, or omit the weights"
        raise UsageError("the cost requires P", hint=hint)
    Q, R = _matrix("Q", law.Q, (states, states)), _matrix("R", law.R, (motors, motors))
    N = np.zeros((states, motors)) if law.N is None else _matrix("N", law.N, (states, motors))
    if any(each.ndim > 2 for each in (Q, R, N)):
        raise UsageError("each weight must be a single matrix that applies to all times")
    return np.block([[Q, N], [N.T, R]])


def _quadratic(x: Floats, matrix: Floats) -> Floats:
    """xᵀ matrix x of vectors (..., i)."""
    value: Floats = np.einsum("...i,ij,...j->...", x, matrix, x)
    return value


def _gain(arm: Arm, name: str, value: ArrayLike) -> Floats:
    gain = as_joint_array(arm, name, value)
    if not (np.isfinite(gain).all() and (gain >= 0.0).all()):
        raise RobolinError(f"{name}: must be finite and ≥ 0", hint="use gains ≥ 0")
    return gain
