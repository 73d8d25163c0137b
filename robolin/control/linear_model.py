"""Linear model of an arm about a point: ẋ = drift + A x + B u, y = y₀ + C x + D u."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

import numpy as np

from robolin.control.operating_point import (
    HOLD_AT_POINT,
    EngineOptions,
    JointNames,
    OperatingPoint,
    actuated_indices,
    operating_point,
)
from robolin.control.state_space import StateSpace
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, list_of_names, require_arm
from robolin.core.choices import REFERENCES, Discretization
from robolin.core.configuration import kinematic_block
from robolin.core.quantity_table import COLUMN_WORDS, column_name, joint_units, unit_of
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.engine.compiled.plan import BufferPool
from robolin.errors import UsageError
from robolin.evaluation.evaluate import Engine, evaluate_arm
from robolin.evaluation.frames import at_frame

# sizes of A and B, in numbers, whose memory is pooled: smaller arrays are cheap to allocate,
# larger ones would stay allocated for too long
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
    """Linearize an arm about one state or a batch of states.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s² that tau="hold" produces; None for 0
        tau: torques (..., n) in N·m, or forces in N; "hold" for the torques that produce qdd
        actuated: names of the actuated joints, or "all"; None for the robot file's
        passive: names of the passive joints, instead of `actuated`
        outputs: q, qd, qdd, tau, 'elbow/position', or frames: 'tool0', 'tool0/velocity', 'tool0/vx'
        reference: axes of frame outputs: 'world' or 'frame' (the frame's own axes)
        dt: the sample time in s of a discrete model; None for a continuous model
        method: discretization method: "zoh", "foh", "tustin" or "euler"
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `StateSpace`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a joint
            without inertia, violated loop constraints, or a passive joint that would need a torque
        UsageError: `arm` is not an `Arm`, an unknown joint, output or method, or a dt that is not
            positive

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
        hint = "pass the sample time dt"
        raise UsageError("has no effect without dt", where="method", hint=hint)
    driven = actuated_indices(arm, actuated, passive)
    running: EngineOptions = {"engine": engine, "jobs": jobs}
    point = operating_point(arm, q, qd, qdd, tau, driven, running)
    rows = output_rows(arm, point, outputs, reference)
    model = _on_closures(arm, point, rows, driven) if arm.loops else _free(arm, point, rows, driven)
    return model if dt is None else model.discretize(dt, method)


def _free(arm: Arm, point: OperatingPoint, rows: OutputRows, driven: Sequence[int]) -> StateSpace:
    """Model of a tree: x = [δq; δq̇] of all joints."""
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
    """Model with closed loops: x = [Nᵀδq; Nᵀδq̇], with δq = N z and δq̇ = N ż + G z."""
    N, G = point.basis, point.along_rate
    assert N is not None
    assert G is not None
    across = np.moveaxis(N, -1, -2)
    along_q = point.dqdd_dq @ N + point.dqdd_dqd @ G
    along_qd, to_input = point.dqdd_dqd @ N, _columns(point.dqdd_dtau, driven)
    block = across @ kinematic_block(arm, point.qd) @ N if arm.groups else None
    A, B = _matrices(block, across @ along_q, across @ along_qd, across @ to_input)
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
    """A = [[block or 0, 1], [∂q̈/∂q, ∂q̈/∂q̇]] and B = [0; ∂q̈/∂u]."""
    *batch, n, inputs = to_input.shape
    A, B = _allocate((*batch, 2 * n, 2 * n), (*batch, 2 * n, inputs))
    A[..., :n, :], B[..., :n, :] = 0.0, 0.0
    if block is not None:
        A[..., :n, :n] = block
    np.einsum("...ii->...i", A[..., :n, n:])[...] = 1.0
    A[..., n:, :n], A[..., n:, n:] = along_q, along_qd
    B[..., n:, :] = to_input
    return A, B


def _allocate(*shapes: tuple[int, ...]) -> list[Floats]:
    """Allocate adjacent arrays of these shapes; medium sizes come from a buffer pool."""
    ends = [0, *accumulate(map(prod, shapes))]
    pooled = LEAST_POOLED <= ends[-1] <= MOST_POOLED
    block = _pool.take(ends[-1]) if pooled else np.empty(ends[-1])
    parts = zip(ends, ends[1:], shapes, strict=False)
    return [block[start:stop].reshape(shape) for start, stop, shape in parts]


def _columns(matrix: Floats, indices: Sequence[int]) -> Floats:
    """Columns at these indices; the matrix itself if they are all of them."""
    return matrix if len(indices) == matrix.shape[-1] else matrix[..., list(indices)]


def _output_matrices(
    rows: OutputRows,
    along_q: Floats,
    along_qd: Floats,
    to_input: Floats,
    driven: Sequence[int],
) -> tuple[Floats, Floats]:
    """C = [∂y/∂q, ∂y/∂q̇] and D = ∂y/∂u, with q̈ from the forward dynamics."""
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
        dof=len(states) // 2,
        basis=point.basis,
    )


DISPLACEMENT = ("rx", "ry", "rz", "x", "y", "z")
VELOCITY = ("wx", "wy", "wz", "vx", "vy", "vz")
ACCELERATION = ("dwx", "dwy", "dwz", "ax", "ay", "az")
FRAME_WORDS: dict[str, tuple[str, ...]] = {
    "displacement": DISPLACEMENT,
    "velocity": VELOCITY,
    "acceleration": ACCELERATION,
}
FRAME_UNITS = {
    "displacement": joint_units("position"),
    "velocity": joint_units("velocity"),
    "acceleration": joint_units("acceleration"),
}
OUTPUT_MATRICES = ("of_q", "of_qd", "of_qdd", "of_tau")


@dataclass(frozen=True, eq=False)
class OutputRows:
    """Outputs y + of_q δq + of_qd δq̇ + of_qdd δq̈ + of_tau δτ: matrices (..., p, n), y (..., p).

    Matrices that are the same for all models of a batch have no batch axes.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    y: Floats
    of_q: Floats
    of_qd: Floats
    of_qdd: Floats
    of_tau: Floats


def output_rows(
    arm: Arm, point: OperatingPoint, outputs: Sequence[str] | str, reference: str
) -> OutputRows:
    """Rows of all requested outputs, in the requested order."""
    requested = list_of_names("outputs", outputs)
    if not requested:
        raise UsageError(
            "must name at least one output", where="outputs", hint="pass q, qd, or a frame"
        )
    if reference not in REFERENCES:
        raise UsageError(
            f"reference: must be 'world' or 'frame', got '{reference}'",
            hint="use 'world' or 'frame'",
        )
    parts = [_rows(arm, point, each, reference) for each in requested]
    names = [name for part in parts for name in part.names]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"'{twice}' is given twice", where="outputs")
    matrices = {key: _stack([getattr(part, key) for part in parts]) for key in OUTPUT_MATRICES}
    y = np.concatenate([part.y for part in parts], axis=-1)
    return OutputRows(
        tuple(names), tuple(unit for part in parts for unit in part.units), y, **matrices
    )


def _rows(arm: Arm, point: OperatingPoint, output: str, reference: str) -> OutputRows:
    if output in COLUMN_WORDS:
        return _joint_rows(arm, point, output, range(arm.n))
    kind, name, word = _parse_output(arm, output)
    if kind == "joint":
        quantity = next(key for key, each in COLUMN_WORDS.items() if each == word)
        return _joint_rows(arm, point, quantity, [arm.joint_names.index(name)])
    if word:
        quantity = next(key for key, parts in FRAME_WORDS.items() if word in (key, *parts))
        rows = _frame_rows(arm, point, name, quantity, reference)
        return rows if word == quantity else _select_row(rows, FRAME_WORDS[quantity].index(word))
    halves = (
        _frame_rows(arm, point, name, each, reference) for each in ("displacement", "velocity")
    )
    return _concatenate(*halves)


def _parse_output(arm: Arm, output: str) -> tuple[str, str, str]:
    """Parse an output name into kind ('joint' or 'frame'), name and quantity."""
    only, _, rest = output.partition(":")
    text = rest if only in ("joint", "frame") else output
    name, _, word = text.rpartition("/") if "/" in text else (text, "", "")
    frame_words = ("", *FRAME_WORDS, *DISPLACEMENT, *VELOCITY, *ACCELERATION)
    joint = name in arm.joint_names and word in COLUMN_WORDS.values() and only != "frame"
    frame = name in arm.frames and word in frame_words and only != "joint"
    if joint and frame:
        hint = f"write 'joint:{text}' or 'frame:{text}'"
        raise UsageError(
            f"'{output}' is the name of a joint and of a frame", where="outputs", hint=hint
        )
    if joint or frame:
        return ("joint" if joint else "frame"), name, word
    if name in arm.joint_names or name in arm.frames:
        words = [*COLUMN_WORDS.values()] if name in arm.joint_names else list(frame_words[1:])
        raise UsageError(
            f"outputs: '{name}' has no '{word}'"
            if word
            else f"outputs: '{name}' requires a quantity",
            hint=f"choose one of {', '.join(words)}",
        )
    known = (*COLUMN_WORDS, *arm.joint_names, *arm.frames)
    raise UsageError(f"outputs: joint or frame '{name}' not found", hint=did_you_mean(name, known))


def _joint_rows(
    arm: Arm, point: OperatingPoint, quantity: str, indices: Sequence[int]
) -> OutputRows:
    chosen = np.eye(arm.n)[list(indices)]
    none = np.zeros_like(chosen)
    matrices = {f"of_{each}": chosen if each == quantity else none for each in COLUMN_WORDS}
    joints = [arm.joints[i] for i in indices]
    names = tuple(column_name(quantity, joint.name) for joint in joints)
    units = tuple(unit_of(quantity, [joint.kind]) for joint in joints)
    values = getattr(point, quantity)
    chosen_values = values if len(joints) == arm.n else values[..., list(indices)]
    return OutputRows(names, units, chosen_values, **matrices)


def _frame_rows(
    arm: Arm, point: OperatingPoint, frame: str, word: str, reference: str
) -> OutputRows:
    """Six rows of a frame's displacement, velocity or acceleration."""
    placed = at_frame(arm, frame)
    state = {"q": point.q, "qd": point.qd, "qdd": point.qdd}
    moving = evaluate_arm(placed, "jacobian", state)
    J = moving["jacobian"]
    none = np.zeros(J.shape[-2:])
    of_q, of_qd, of_qdd, value = J, none, none, np.zeros(J.shape[:-1])
    if word != "displacement":
        changes = evaluate_arm(placed, "frame-derivatives", state)
    if word == "velocity":
        of_q, of_qd, value = changes["dtwist_dq"], J, moving["twist"]
    elif word == "acceleration":
        of_q, of_qd = changes["dclassical_acceleration_dq"], changes["dclassical_acceleration_dqd"]
        of_qdd, value = J, evaluate_arm(placed, "frame-motion", state)["classical_acceleration"]
    if reference == "frame":
        R, rotated = moving["rotation"], of_q + _rotation_term(value, J)
        of_q, of_qd, of_qdd = (_to_frame_axes(R, X) for X in (rotated, of_qd, of_qdd))
        value = _to_frame_axes(R, value[..., None])[..., 0]
    names = tuple(f"{frame}/{part}" for part in FRAME_WORDS[word])
    units = tuple(unit for unit in FRAME_UNITS[word] for _ in range(3))
    return OutputRows(names, units, value, of_q, of_qd, of_qdd, none)


def _rotation_term(value: Floats, J: Floats) -> Floats:
    """-δθ × h for both halves h of a spatial vector: the rotation of the frame's own axes."""
    turn = np.moveaxis(J[..., :3, :], -1, -2)
    halves = [np.cross(value[..., None, i : i + 3], turn) for i in (0, 3)]
    return np.moveaxis(np.concatenate(halves, axis=-1), -1, -2)


def _to_frame_axes(R: Floats, X: Floats) -> Floats:
    """Express both halves of the six rows of X in the axes of R."""
    back = np.moveaxis(R, -1, -2)
    return np.concatenate([back @ X[..., :3, :], back @ X[..., 3:, :]], axis=-2)


def _stack(parts: Sequence[Floats]) -> Floats:
    """Concatenate rows, with batch axes only if some part has any."""
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    return np.concatenate(
        [np.broadcast_to(part, batch + part.shape[-2:]) for part in parts], axis=-2
    )


def _select_row(rows: OutputRows, at: int) -> OutputRows:
    one = slice(at, at + 1)
    matrices = (rows.of_q, rows.of_qd, rows.of_qdd, rows.of_tau)
    return OutputRows(
        rows.names[one], rows.units[one], rows.y[..., one], *(X[..., one, :] for X in matrices)
    )


def _concatenate(first: OutputRows, second: OutputRows) -> OutputRows:
    matrices = (_stack([getattr(each, key) for each in (first, second)]) for key in OUTPUT_MATRICES)
    y = np.concatenate([first.y, second.y], axis=-1)
    return OutputRows(first.names + second.names, first.units + second.units, y, *matrices)
