"""An arm as a linear system about a point: ẋ = drift + A x + B u, y = y₀ + C x + D u."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

import numpy as np

from robolin.control.actuation import JointNames, actuated_places
from robolin.control.model_outputs import OutputRows, output_rows
from robolin.control.operating_point import (
    HOLD_AT_POINT,
    EngineOptions,
    OperatingPoint,
    operating_point,
)
from robolin.control.state_space import StateSpace
from robolin.core.arm import Arm
from robolin.core.array_checks import require_arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import Discretization
from robolin.core.configuration import kinematic_block
from robolin.core.units import unit_of
from robolin.engine.compiled.buffer_pool import BufferPool
from robolin.errors import UsageError
from robolin.evaluation.evaluate import Engine

# numbers of A and B together whose memory is used again: below, new memory costs nothing, and
# above, it would be kept for too long
LEAST_POOLED, MOST_POOLED = 1 << 14, 1 << 20
_pool = BufferPool()


def state_space(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues | None = None,
    tau: JointValues | str = HOLD_AT_POINT,
    *,
    actuated: JointNames = None,
    passive: JointNames = None,
    outputs: Sequence[str] | str = ("q", "qd"),
    reference: str = "world",
    dt: float | None = None,
    method: Discretization = "zoh",
    engine: Engine = "auto",
    jobs: int | None = None,
) -> StateSpace:
    """The linear model of an arm about a state, or about each of many.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s² that tau="hold" keeps; None for 0
        tau: torques (..., n) in N·m, or forces in N; "hold" for those that keep qdd
        actuated: the joints with a motor, or "all"; None for those that the description has
        passive: or those without one
        outputs: q, qd, qdd, tau, 'elbow/position', or frames: 'tool0', 'tool0/velocity', 'tool0/vx'
        reference: 'frame' gives what frames do in their own axes
        dt: the sample time in s of a discrete model; None for a continuous one
        method: how it is made discrete: "zoh", "foh", "tustin" or "euler"
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor

    Returns:
        a `StateSpace`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, a joint
            without inertia, a state off its closures, or a passive joint that would have to give
            a torque
        UsageError: no arm, a joint, output or method that does not exist, a dt that is not positive

    Example:
        >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
        >>> model.A.round(4)
        array([[  0.    ,   0.    ,   1.    ,   0.    ],
               [  0.    ,   0.    ,   0.    ,   1.    ],
               [  7.3105,   2.4496,   0.    ,   0.    ],
               [-21.4279, -10.9902,   0.    ,   0.    ]])
        >>> model.inputs
        ('shoulder/effort', 'elbow/effort')
    """
    require_arm(arm)
    if dt is None and method != "zoh":
        hint = "dt is the sample time of a model that is made discrete"
        raise UsageError("it has no effect without dt", where="method", hint=hint)
    driven = actuated_places(arm, actuated, passive)
    running: EngineOptions = {"engine": engine, "jobs": jobs}
    point = operating_point(arm, q, qd, qdd, tau, driven, running)
    rows = output_rows(arm, point, outputs, reference)
    model = _on_closures(arm, point, rows, driven) if arm.loops else _free(arm, point, rows, driven)
    return model if dt is None else model.discretize(dt, method)


def _free(arm: Arm, point: OperatingPoint, rows: OutputRows, driven: Sequence[int]) -> StateSpace:
    """x = [δq; δq̇] of all joints."""
    to_input = _columns(point.dqdd_dtau, driven)
    block = kinematic_block(arm, point.qd) if arm.groups else None
    A, B = _matrices(block, point.dqdd_dq, point.dqdd_dqd, to_input)
    C, D = _output_matrices(rows, point.dqdd_dq, point.dqdd_dqd, to_input, driven)
    drift = np.concatenate([point.qd, point.qdd], axis=-1)
    units = {
        f"{joint.name}/{word}": unit_of(quantity, [joint.kind])
        for quantity, word in (("q", "position"), ("qd", "velocity"))
        for joint in arm.joints
    }
    return _model(arm, point, rows, driven, (A, B, C, D, drift), units)


def _on_closures(
    arm: Arm, point: OperatingPoint, rows: OutputRows, driven: Sequence[int]
) -> StateSpace:
    """x = [Nᵀδq; Nᵀδq̇] of the independent motions, with δq = N z and δq̇ = N ż + G z."""
    N, G = point.basis, point.along_rate
    assert N is not None
    assert G is not None
    across = np.moveaxis(N, -1, -2)
    along_q = point.dqdd_dq @ N + point.dqdd_dqd @ G
    along_qd, to_input = point.dqdd_dqd @ N, _columns(point.dqdd_dtau, driven)
    A, B = _matrices(None, across @ along_q, across @ along_qd, across @ to_input)
    projected = OutputRows(
        rows.names,
        rows.units,
        rows.y,
        rows.of_q @ N + rows.of_qd @ G,
        rows.of_qd @ N,
        rows.of_qdd,
        rows.of_tau,
    )
    C, D = _output_matrices(projected, along_q, along_qd, to_input, driven)
    drift = np.concatenate([across @ point.qd[..., None], across @ point.qdd[..., None]], axis=-2)
    kinds = [joint.kind for joint in arm.joints]
    units = {
        f"motion{i + 1}/{word}": unit_of(quantity, kinds)
        for quantity, word in (("q", "position"), ("qd", "velocity"))
        for i in range(N.shape[-1])
    }
    return _model(arm, point, rows, driven, (A, B, C, D, drift[..., 0]), units)


def _matrices(
    block: Floats | None, along_q: Floats, along_qd: Floats, to_input: Floats
) -> tuple[Floats, Floats]:
    """A = [[K, 1], [∂q̈/∂q, ∂q̈/∂q̇]] and B = [0; ∂q̈/∂u]."""
    *batch, n, inputs = to_input.shape
    A, B = _room_for((*batch, 2 * n, 2 * n), (*batch, 2 * n, inputs))
    A[..., :n, :], B[..., :n, :] = 0.0, 0.0
    if block is not None:
        A[..., :n, :n] = block
    np.einsum("...ii->...i", A[..., :n, n:])[...] = 1.0
    A[..., n:, :n], A[..., n:, n:] = along_q, along_qd
    B[..., n:, :] = to_input
    return A, B


def _room_for(*shapes: tuple[int, ...]) -> list[Floats]:
    """Memory for arrays of these shapes, side by side; parts of a long motion use it in turns."""
    ends = [0, *accumulate(map(prod, shapes))]
    pooled = LEAST_POOLED <= ends[-1] <= MOST_POOLED
    block = _pool.take(ends[-1]) if pooled else np.empty(ends[-1])
    parts = zip(ends, ends[1:], shapes, strict=False)
    return [block[start:stop].reshape(shape) for start, stop, shape in parts]


def _columns(matrix: Floats, places: Sequence[int]) -> Floats:
    """The columns at these places; the matrix itself where that is all of them."""
    return matrix if len(places) == matrix.shape[-1] else matrix[..., list(places)]


def _output_matrices(
    rows: OutputRows,
    along_q: Floats,
    along_qd: Floats,
    to_input: Floats,
    driven: Sequence[int],
) -> tuple[Floats, Floats]:
    """C = [∂y/∂q, ∂y/∂q̇] and D = ∂y/∂u, q̈ being what the arm does."""
    of_q, of_qd, D = rows.of_q, rows.of_qd, _columns(rows.of_tau, driven)
    if rows.of_qdd.any():
        of_q, of_qd = of_q + rows.of_qdd @ along_q, of_qd + rows.of_qdd @ along_qd
        D = D + rows.of_qdd @ to_input
    batch = to_input.shape[:-2]
    shared = np.broadcast_shapes(of_q.shape[:-2], of_qd.shape[:-2])
    halves = [np.broadcast_to(half, shared + half.shape[-2:]) for half in (of_q, of_qd)]
    C = np.concatenate(halves, axis=-1)
    return np.broadcast_to(C, batch + C.shape[-2:]), np.broadcast_to(D, batch + D.shape[-2:])


def _model(
    arm: Arm,
    point: OperatingPoint,
    rows: OutputRows,
    driven: Sequence[int],
    matrices: tuple[Floats, Floats, Floats, Floats, Floats],
    states: dict[str, str],
) -> StateSpace:
    inputs = {f"{arm.joint_names[i]}/effort": unit_of("tau", [arm.joints[i].kind]) for i in driven}
    A, B, C, D, drift = matrices
    return StateSpace(
        A=A,
        B=B,
        C=C,
        D=D,
        drift=drift,
        y=rows.y,
        q=point.q,
        qd=point.qd,
        qdd=point.qdd,
        tau=point.tau,
        states=tuple(states),
        inputs=tuple(inputs),
        outputs=rows.names,
        units=states | inputs | dict(zip(rows.names, rows.units, strict=True)),
        arm=arm,
        actuated=tuple(driven),
        freedoms=len(states) // 2,
        basis=point.basis,
    )
