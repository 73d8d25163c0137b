"""Sensitivity of a motion to its initial state, its torques and the arm's parameters.

The linearized model is integrated along a nominal motion,

    d(δq̇)/dt = 𝓜⁻¹ (δτ - Y δπ) + ∂q̈/∂q̇ δq̇ + ∂q̈/∂q δq          d(δq)/dt = δq̇

with Y the regressor, by the classical Runge–Kutta method, one step from row to row.  In the middle
of a step the nominal motion is interpolated from positions, velocities and accelerations at its
ends, so that the total error is of fourth order in the step.

For a free body, δq is its small twist in its own axes, and d(δq)/dt = δq̇ - q̇ x δq.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from robolin.analysis.identification import regressor
from robolin.analysis.link_parameters import (
    PayloadChange,
    geometry_changes,
    geometry_derivative,
    geometry_names,
    parameter_changes,
    physical_names,
    physical_to_linear_map,
)
from robolin.analysis.nominal_motion import NominalMotion, first_row, nominal_motion, per_row
from robolin.api.linear_models import LinearizedForward, linearize_forward
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, require_arm, require_same_rows
from robolin.core.choices import Torques
from robolin.core.configuration import kinematic_block
from robolin.core.notebook import DisplayMixin
from robolin.core.progress import track
from robolin.core.records import dataclass
from robolin.errors import require_mapping
from robolin.evaluation.evaluate import Engine, EngineChoice
from robolin.evaluation.methods import Method

_AT_ONCE = 64 * 1024 * 1024


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(DisplayMixin):
    """First-order change of a motion.

    Fields:
        time: (rows,) in s
        dq: change of the positions (rows, n) in rad or m
        dqd: change of the velocities (rows, n) in rad/s or m/s

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> arrays = (motion.time, motion.q, motion.qd, motion.tau)
        >>> robolin.sensitivity(arm, *arrays, dq=[0.01, 0]).dq.shape
        (11, 2)
    """

    time: Floats
    dq: Floats
    dqd: Floats


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityMatrices(DisplayMixin):
    """First-order changes of the state x = [q; q̇] at every row.

    Fields:
        time: (rows,) in s
        transition: ∂x/∂x(0) (rows, 2n, 2n)
        torque: ∂x/∂τ for a constant additional torque (rows, 2n, n), per N·m or N
        parameter: ∂x/∂π for the parameters in `names` (rows, 2n, p), per unit of each
        names: parameter names: those of `parameter_names`, then of `geometry_names` if requested

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> arrays = (motion.time, motion.q, motion.qd, motion.tau)
        >>> robolin.sensitivity_matrices(arm, *arrays).transition.shape
        (11, 4, 4)
    """

    time: Floats
    transition: Floats
    torque: Floats
    parameter: Floats
    names: tuple[str, ...]


def sensitivity(
    arm: Arm,
    time: ArrayLike,
    q: JointValues,
    qd: JointValues,
    tau: JointValues | None = None,
    qdd: JointValues | None = None,
    *,
    dq: JointValues = 0.0,
    dqd: JointValues = 0.0,
    dtau: JointValues = 0.0,
    parameters: Mapping[str, float] | None = None,
    payload: Sequence[PayloadChange] = (),
    torques: Torques = "continuous",
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
) -> Sensitivity:
    """First-order change of a motion with known torques or accelerations.

    Args:
        arm: the arm, from `robolin.load`
        time: (rows,) in s, increasing
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        tau: torques (rows, n) in N·m or N; None if `qdd` is set
        qdd: accelerations (rows, n) in rad/s² or m/s², instead of tau
        dq: change of the positions in the first row (n,) in rad or m
        dqd: change of the velocities in the first row (n,) in rad/s or m/s
        dtau: change of the torques, constant (n,) or row by row (rows, n), in N·m or N
        parameters: changes by name, such as {'forearm/mass': 0.1}; names are
            `parameter_names(arm)` and `geometry_names(arm)`
        payload: point masses added, each as (link, mass) or (link, mass, (x, y, z)), in kg and m
        torques: "continuous", or "stepwise" if each row's torque is constant until the next row
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `Sensitivity`

    Raises:
        RobolinError: a motion that does not fit the arm, times that do not increase, closed loops,
            or invalid values
        UsageError: `arm` is not an `Arm`, both or neither of tau and qdd, an unknown parameter, or
            an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> arrays = (motion.time, motion.q, motion.qd, motion.tau)
        >>> result = robolin.sensitivity(arm, *arrays, dq=[0.01, 0.0])
        >>> result.dq[-1].round(4)
        array([ 0.0125, -0.0047])
    """
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
    nominal = nominal_motion(arm, time, q, qd, tau, qdd, torques, options)
    require_same_rows({"q": q, "dtau": dtau}, vectors={"time": time})
    pushes = nominal.at_stages(per_row(arm, "dtau", dtau, nominal.rows), torques)
    require_mapping(parameters=parameters)
    geometric, others = geometry_changes(arm, parameters or {})
    change = parameter_changes(arm, others, payload, geometry_names(arm))
    states = [np.concatenate([first_row(arm, "dq", dq), first_row(arm, "dqd", dqd)])[:, None]]
    for steps in _tracked_slices(nominal, len(change)):
        part, effort = nominal.some(steps), pushes[steps]
        model = linearize_forward(arm, part.q, part.qd, part.tau, **options)
        if change.any():
            effort = effort - regressor(arm, part.q, part.qd, model.qdd, **options).matrix @ change
        if geometric.any():
            geometric_part = geometry_derivative(arm, part.q, part.qd, model.qdd, **options)
            effort = effort - geometric_part.matrix @ geometric
        forced = np.einsum("stij,stj->sti", model.dqdd_dtau, effort)[..., None]
        matrices = step_matrices(model, kinematic_block(arm, part.qd), forced, part.step)
        # results that are not finite are errors of their own
        with np.errstate(over="ignore", invalid="ignore"):
            for step, more in matrices:
                states.append(step @ states[-1] + more)
    solution = np.array(states)[..., 0]
    return Sensitivity(nominal.time, solution[:, : arm.n], solution[:, arm.n :])


def sensitivity_matrices(
    arm: Arm,
    time: ArrayLike,
    q: JointValues,
    qd: JointValues,
    tau: JointValues | None = None,
    qdd: JointValues | None = None,
    *,
    geometry: bool = False,
    torques: Torques = "continuous",
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
) -> SensitivityMatrices:
    """Compute all sensitivities of a motion as matrices.

    Args:
        arm: the arm, from `robolin.load`
        time: (rows,) in s, increasing
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        tau: torques (rows, n) in N·m or N; None if `qdd` is set
        qdd: accelerations (rows, n) in rad/s² or m/s², instead of tau
        geometry: append the parameters of `geometry_names(arm)`
        torques: "continuous", or "stepwise" if each row's torque is constant until the next row
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `SensitivityMatrices`

    Raises:
        RobolinError: a motion that does not fit the arm, times that do not increase, closed loops,
            or invalid values
        UsageError: `arm` is not an `Arm`, both or neither of tau and qdd, an unknown parameter, or
            an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.2, dt=1e-3, every=20)
        >>> arrays = (motion.time, motion.q, motion.qd, motion.tau)
        >>> result = robolin.sensitivity_matrices(arm, *arrays)
        >>> (result.transition[-1] @ [0.01, 0, 0, 0])[:2].round(4)
        array([ 0.0125, -0.0047])
    """
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
    nominal = nominal_motion(arm, time, q, qd, tau, qdd, torques, options)
    solution = np.concatenate(list(sensitivity_blocks(arm, nominal, geometry, options)))
    return split_columns(arm, nominal.time, solution, geometry)


def sensitivity_blocks(
    arm: Arm, nominal: NominalMotion, geometry: bool, options: EngineChoice
) -> Iterator[Floats]:
    """[∂x/∂x(0) ∂x/∂τ ∂x/∂π] of consecutive rows, in blocks of limited memory."""
    n, names = arm.n, all_parameter_names(arm, geometry)
    state, first = np.eye(2 * n, 3 * n + len(names)), 1
    for steps in _tracked_slices(nominal, n + len(names)):
        part = nominal.some(steps)
        model = linearize_forward(arm, part.q, part.qd, part.tau, **options)
        by_parameter = -model.dqdd_dtau @ parameter_columns(arm, part, model.qdd, geometry, options)
        forced = np.concatenate([model.dqdd_dtau, by_parameter], axis=-1)
        block = np.empty((first + len(part.step), *state.shape))
        # the initial state is the first row of the first block
        block[:first] = state
        matrices = step_matrices(model, kinematic_block(arm, part.qd), forced, part.step)
        # results that are not finite are errors of their own
        with np.errstate(over="ignore", invalid="ignore"):
            for i, (step, more) in enumerate(matrices, first):
                state = step @ state
                state[:, 2 * n :] += more
                block[i] = state
        first = 0
        yield block


def split_columns(arm: Arm, time: Floats, solution: Floats, geometry: bool) -> SensitivityMatrices:
    """The matrices of the rows of a block."""
    n, names = arm.n, all_parameter_names(arm, geometry)
    return SensitivityMatrices(
        time=time,
        transition=solution[..., : 2 * n],
        torque=solution[..., 2 * n : 3 * n],
        parameter=solution[..., 3 * n :],
        names=names,
    )


def parameter_names(arm: Arm) -> tuple[str, ...]:
    """Names of the parameters that sensitivities support: `link/mass`, `joint/damping`, …

    Args:
        arm: the arm, from `robolin.load`

    Returns:
        p names, in the order of the columns of `SensitivityMatrices.parameter`

    Raises:
        UsageError: `arm` is not an `Arm`

    Example:
        >>> robolin.parameter_names(robolin.load("two-link"))[:3]
        ('upper/mass', 'upper/com_x', 'upper/com_y')
    """
    require_arm(arm)
    return physical_names(arm)


def all_parameter_names(arm: Arm, geometry: bool) -> tuple[str, ...]:
    """Names of the columns of `parameter_columns`."""
    return physical_names(arm) + (geometry_names(arm) if geometry else ())


def parameter_columns(
    arm: Arm, part: NominalMotion, qdd: Floats, geometry: bool, options: EngineChoice
) -> Floats:
    """∂τ/∂π of every parameter at all stages of some steps, for a fixed motion."""
    columns: Floats = regressor(
        arm, part.q, part.qd, qdd, **options
    ).matrix @ physical_to_linear_map(arm)
    if not geometry:
        return columns
    geometric = geometry_derivative(arm, part.q, part.qd, qdd, **options).matrix
    return np.concatenate([columns, geometric], axis=-1)


def _tracked_slices(nominal: NominalMotion, columns: int) -> Iterable[slice]:
    slices = list(step_slices(nominal, columns))
    return track("sensitivity", slices, len(slices))


def step_slices(nominal: NominalMotion, columns: int) -> Iterator[slice]:
    """Slices of the steps, sized to limit memory."""
    n = nominal.q.shape[-1]
    size = max(1, _AT_ONCE // (8 * 12 * n * (2 * n + columns)))
    for first in range(0, len(nominal.step), size):
        yield slice(first, first + size)


def step_matrices(
    model: LinearizedForward, block: Floats, forced: Floats, step: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """[Φ Γ] of every step: x(next) = Φ x + Γ u for ẋ = A x + B u at its start, middle and end.

    K₁ = C₀     K₂ = C₁ + ½ h A₁ K₁     K₃ = C₁ + ½ h A₁ K₂     K₄ = C₂ + h A₂ K₃
    [Φ Γ] = [1 0] + h/6 (K₁ + 2 K₂ + 2 K₃ + K₄)                 with C = [A B]
    """
    n, columns = forced.shape[-2:]
    C = np.zeros((*forced.shape[:-2], 2 * n, 2 * n + columns))
    C[..., :n, :n], C[..., :n, n : 2 * n] = block, np.eye(n)
    C[..., n:, :n], C[..., n:, n : 2 * n] = model.dqdd_dq, model.dqdd_dqd
    C[..., n:, 2 * n :] = forced
    A, h = C[..., : 2 * n], step[:, None, None]

    K1 = C[:, 0]
    K2 = C[:, 1] + 0.5 * h * (A[:, 1] @ K1)
    K3 = C[:, 1] + 0.5 * h * (A[:, 1] @ K2)
    K4 = C[:, 2] + h * (A[:, 2] @ K3)
    steps = np.eye(2 * n, 2 * n + columns) + h / 6.0 * (K1 + 2.0 * (K2 + K3) + K4)
    return ((one[:, : 2 * n], one[:, 2 * n :]) for one in steps)
