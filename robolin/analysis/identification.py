"""Regressor of the dynamic parameters (torques are linear in them), and identifiability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robolin.core.arm import NO_TURN, Arm, Joint, Matrix3
from robolin.core.arm_parameters import parameters
from robolin.core.arm_parts import axis_to_z, transpose, turned_rotary
from robolin.core.arrays import (
    AnyArray,
    Floats,
    JointValues,
    batch_of,
    joint_arrays,
    require_arm,
    require_real,
)
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.dynamics.inverse.regressor import FRICTION_COLUMN
from robolin.errors import UsageError
from robolin.evaluation.evaluate import Engine, EngineChoice, evaluate
from robolin.evaluation.methods import Method

# no torque sensor resolves singular values below this fraction of the largest; angles rounded to
# five digits in a file produce spurious ones of 1e-6
RANK_BELOW = 1e-5

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Regressor(DisplayMixin):
    """Regressor of the torques: τ = matrix · parameters + offset.

    Fields:
        matrix: Y (..., n, p), N·m or N per unit of each parameter
        parameters: π (p,), the values of the arm: kg, kg·m, kg·m², N·m·s/rad, N·m
        names: `link/mass`, `link/mx`, …, `joint/damping`, …, in the order of the columns
        offset: torques of external wrenches (..., n) in N·m or N

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.regressor(arm, [0.3, -0.7]).names[:4]
        ('upper/mass', 'upper/mx', 'upper/my', 'upper/mz')
    """

    matrix: Floats
    parameters: Floats
    names: tuple[str, ...]
    offset: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Identifiable(DisplayMixin):
    """Parameters that can be identified from the torques of given motions.

    Fields:
        rank: number of identifiable parameters or linear combinations
        share: (p,), 1 if a parameter is identifiable, 0 if it has no effect, in between if only
            combinations with others are identifiable; the sum is the rank
        names: names of the parameters, in the order of `share`
        condition: ratio of the largest to the smallest significant singular value of the stacked
            regressor with unit columns: how well the motions excite the parameters

    Example:
        >>> arm = robolin.load("two-link")
        >>> motions = np.random.default_rng(0).normal(size=(3, 50, 2))
        >>> robolin.identifiable(arm, *motions).rank
        9
    """

    rank: int
    share: Floats
    names: tuple[str, ...]
    condition: float


def regressor(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    offsets: bool = False,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
) -> Regressor:
    """Regressor of the inverse dynamics for a motion, in the axes of the robot file's links.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        offsets: True appends a column `joint/offset` for a constant torque of every joint, whose
            value in the arm is 0: a sensor offset
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `Regressor`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, or closed
            loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd, qdd = [0.3, -0.7], [0.5, -1.2], [0.8, 0.4]
        >>> linear = robolin.regressor(arm, q, qd, qdd)
        >>> (linear.matrix @ linear.parameters).round(4)
        array([20.8844,  5.1432])
        >>> robolin.inverse(arm, q, qd, qdd).round(4)
        array([20.8844,  5.1432])
    """
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
    return _regressor(arm, "regressor", {"q": q, "qd": qd, "qdd": qdd}, offsets, options)


def slotine_li_regressor(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    qdr: JointValues,
    qddr: JointValues,
    *,
    offsets: bool = False,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
) -> Regressor:
    """Slotine–Li regressor Y(q, q̇, q̇ᵣ, q̈ᵣ) of adaptive and passivity-based control.

    Y π = 𝓜 q̈ᵣ + C(q, q̇) q̇ᵣ + gravity + springs + damping q̇ᵣ + Coulomb friction at q̇, with the
    Coriolis matrix of `coriolis_matrix`, for which 𝓜̇ - 2 C is skew-symmetric.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdr: reference velocities (..., n) in rad/s or m/s, such as q̇_d - Λ (q - q_d)
        qddr: reference accelerations (..., n) in rad/s² or m/s²
        offsets: True for a column `JOINT/offset` per joint, as in `regressor`
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `Regressor`, with the columns of `regressor`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, or closed
            loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd, qdr, qddr = [0.3, -0.7], [0.5, -1.2], np.array([0.4, -1.0]), np.array([0.8, 0.4])
        >>> Y = robolin.slotine_li_regressor(arm, q, qd, qdr, qddr)
        >>> (Y.matrix @ Y.parameters).round(4)
        array([20.878 ,  5.1593])
        >>> M, C = robolin.mass_matrix(arm, q), robolin.coriolis_matrix(arm, q, qd)
        >>> (M @ qddr + C @ qdr + robolin.inverse(arm, q)).round(4)
        array([20.878 ,  5.1593])
    """
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
    motion = {"q": q, "qd": qd, "qdr": qdr, "qddr": qddr}
    return _regressor(arm, "slotine-li-regressor", motion, offsets, options)


def _regressor(
    arm: Arm,
    algorithm: str,
    motion: dict[str, JointValues],
    offsets: bool,
    options: EngineChoice,
) -> Regressor:
    require_arm(arm)
    listed = parameters(arm)
    algorithm_columns = evaluate(arm, algorithm, motion, **options)["regressor"]
    springs = (
        evaluate(arm, "spring-regressor", motion, **options)["spring_regressor"]
        if arm.has_springs
        else None
    )
    matrix = public_columns(arm, algorithm_columns, springs)
    extra = offset_names(arm) if offsets else ()
    return Regressor(
        matrix=with_offset_columns(matrix) if offsets else matrix,
        parameters=np.array([*(p.value for p in listed), *(0.0 for _ in extra)]),
        names=(*(p.label for p in listed), *extra),
        offset=_offset(arm, motion, options, algorithm_columns.shape[:-2]),
    )


def public_columns(arm: Arm, algorithm_columns: Floats, springs: Floats | None = None) -> Floats:
    """Convert the algorithm's columns to those of the parameters (..., n, p).

    algorithm_columns: (..., n, links, 13)
    springs:           (..., n, links, 2) if the arm has springs
    """
    columns = algorithm_columns.copy()
    for i, link in enumerate(arm.links):
        _to_link_axes(axis_to_z(link.joint.axis), columns[..., i, :])
    negative = _split_friction(arm, columns)
    rows, (links, count) = algorithm_columns.shape[:-2], algorithm_columns.shape[-2:]
    flat = columns.reshape(*rows, links * count)
    if springs is not None:
        flat = np.concatenate([flat, springs.reshape(*rows, 2 * links)], axis=-1)
    if negative is not None:
        flat = np.concatenate([flat, negative], axis=-1)
    return np.ascontiguousarray(flat[..., [p.column for p in parameters(arm)]])


def offset_names(arm: Arm) -> tuple[str, ...]:
    """Names of the columns for constant torques, one per joint."""
    return tuple(f"{name}/offset" for name in arm.joint_names)


def with_offset_columns(matrix: Floats) -> Floats:
    """The regressor (..., n, p) with a column per joint for constant torques, (..., n, p + n)."""
    ones = np.broadcast_to(np.eye(matrix.shape[-2]), (*matrix.shape[:-1], matrix.shape[-2]))
    return np.concatenate([matrix, ones], axis=-1)


def _split_friction(arm: Arm, columns: Floats) -> Floats | None:
    """Columns (..., n, links) of friction for negative velocities; None if none is one-sided.

    The column r t, with t = tanh(q̇ / e) and r the ratio of a mimic joint, becomes the one for
    positive velocities: (μ + δ t) t = μ₊ t (1 + t) / 2 + μ₋ t (1 - t) / 2.
    """
    if not arm.has_one_sided_friction or arm.friction_velocity is None:
        return None
    negative = np.zeros(columns.shape[:-1])
    for i, link in enumerate(arm.links):
        joint = link.joint
        ratio = joint.mimic.ratio if joint.mimic else 1.0
        if joint.friction_negative is not None and ratio:
            both = columns[..., i, FRICTION_COLUMN].copy()
            t = both / ratio
            negative[..., i] = 0.5 * both * (1.0 - t)
            columns[..., i, FRICTION_COLUMN] = 0.5 * both * (1.0 + t)
    return negative


def identifiable(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    tolerance: float = RANK_BELOW,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
) -> Identifiable:
    """Determine which parameters can be identified from the torques of these motions.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        tolerance: fraction of the largest singular value below which a combination is not
            identifiable
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        an `Identifiable`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, or closed
            loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> motions = np.random.default_rng(0).normal(size=(3, 50, 2))
        >>> told = robolin.identifiable(arm, *motions)
        >>> told.rank, len(told.names)
        (9, 24)
        >>> round(float(told.share.sum()), 6)
        9.0
    """
    require_arm(arm)
    require_real(tolerance=tolerance)
    if not tolerance >= 0.0:
        raise UsageError(f"must be ≥ 0, got {tolerance!r}", where="tolerance")
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
    arrays = joint_arrays(arm, {"q": q, "qd": qd, "qdd": qdd})
    batch = batch_of(arrays)
    rows = [np.broadcast_to(a, (*batch, arm.n)).reshape(-1, arm.n) for a in arrays.values()]
    names = tuple(p.label for p in parameters(arm))
    triangle = np.zeros((0, len(names)))
    for first in range(0, len(rows[0]), _ROWS_AT_ONCE):
        part = (values[first : first + _ROWS_AT_ONCE] for values in rows)
        Y = regressor(arm, *part, **options).matrix
        # keep only the triangular factor of all rows so far: it has the same singular values
        stacked = np.concatenate([triangle, Y.reshape(-1, len(names))])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    return _rank_and_shares(triangle, names, tolerance)


def _rank_and_shares(stacked: Floats, names: tuple[str, ...], tolerance: float) -> Identifiable:
    """Rank and shares from singular vectors, with columns scaled to unit length."""
    length = np.linalg.norm(stacked, axis=0)
    # a column that is round-off compared with the others has no effect
    counts = length > tolerance * length.max(initial=0.0)
    unit = np.where(counts, stacked / np.where(counts, length, 1.0), 0.0)
    _, sizes, directions = np.linalg.svd(unit, full_matrices=False)
    rank = int(np.sum(sizes > tolerance * sizes.max(initial=0.0)))
    share = np.where(counts, np.sum(directions[:rank] ** 2, axis=0), 0.0)
    condition = float(sizes[0] / sizes[rank - 1]) if rank else 0.0
    return Identifiable(rank, share, names, condition)


def _to_link_axes(rotation: Matrix3, columns: Floats) -> None:
    """Rotate a link's columns, in place, from axes with the joint along z to the link's own."""
    if rotation != NO_TURN:
        s, rotary = columns[..., 1:4], columns[..., 4:10]
        columns[..., 1:4] = np.einsum("...a,ab->...b", s, _vector_rotation(rotation)) + 0.0
        columns[..., 4:10] = np.einsum("...a,ab->...b", rotary, _inertia_rotation(rotation)) + 0.0


def _vector_rotation(rotation: Matrix3) -> Floats:
    """Rotation of first moments from the link's to the algorithm's axes: s' = Eᵀ s."""
    return np.reshape(rotation, (3, 3)).T


def _inertia_rotation(rotation: Matrix3) -> Floats:
    """Rotation of inertias xx xy xz yy yz zz: J' = Eᵀ J E, column by column."""
    back = transpose(rotation)
    return np.array([turned_rotary(back, (a, b, c, d, e, f)) for a, b, c, d, e, f in np.eye(6)]).T


def _offset(
    arm: Arm, motion: dict[str, JointValues], options: EngineChoice, shape: tuple[int, ...]
) -> Floats:
    """Torques of the external wrenches: with them minus without them."""
    if not arm.wrenches:
        return np.zeros(shape)
    loose = replace(arm, wrenches=())
    motion = {"qdd": 0.0, **motion}
    with_them, without = (evaluate(a, "inverse", motion, **options)["tau"] for a in (arm, loose))
    return with_them - without


# sampled range of joints: all angles, half a metre for prismatic joints without limits, and at
# most ten metres with limits
ANY_ANGLE, SOME_WAY, FAR_AWAY = np.pi, 0.5, 10.0


def random_configurations(arm: Arm, count: int, seed: int = 0) -> AnyArray:
    """Uniformly distributed q (count, n) within the joint limits."""
    low, high = np.array([_range(joint) for joint in arm.joints]).T
    return low + (high - low) * np.random.default_rng(seed).random((count, arm.n))


def random_motions(arm: Arm, count: int, seed: int = 0) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Uniformly distributed q, with q̇ of about 1 and q̈ of about 2, each of shape (count, n)."""
    rng = np.random.default_rng([seed, 1])
    qd, qdd = rng.normal(size=(2, count, arm.n))
    return random_configurations(arm, count, seed), qd, 2.0 * qdd


def _range(joint: Joint) -> tuple[float, float]:
    """Joint limits, or a sensible range if they are missing or very large."""
    lower, upper = joint.limits.lower, joint.limits.upper
    reach = ANY_ANGLE if joint.turns else SOME_WAY
    if lower is None:
        lower = -reach if upper is None else upper - 2.0 * reach
    if upper is None:
        upper = lower + 2.0 * reach
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    half = min(half, ANY_ANGLE if joint.turns else FAR_AWAY)
    return middle - half, middle + half
