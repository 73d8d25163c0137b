"""Torques as a linear function of the parameters of links and joints, and which of them count."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robolin.analysis.link_parameters import parameters
from robolin.api.run_options import run_options
from robolin.core.arm import NO_TURN, Arm, Joint, Matrix3
from robolin.core.array_checks import batch_of, joint_arrays, require_arm
from robolin.core.arrays import AnyArray, Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.core.notebook import DisplayMixin
from robolin.core.rotations import axis_to_z, transpose, turned_rotary
from robolin.dynamics.inverse.regressor import FRICTION_COLUMN
from robolin.evaluation.evaluate import Engine, RunOptions, evaluate
from robolin.evaluation.methods import Method

# a singular value below this share of the largest is told by no torque sensor; angles that a file
# rounds to five digits make parameters count by 1e-6 that do not in truth
RANK_BELOW = 1e-5

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Regressor(DisplayMixin):
    """τ = matrix · parameters + offset.

    Fields:
        matrix: Y (..., n, p), N·m or N per unit of each parameter
        parameters: π (p,) as the arm has them: kg, kg·m, kg·m², N·m·s/rad, N·m
        names: `link/mass`, `link/mx`, …, `joint/damping`, …, in the order of the columns
        offset: what external wrenches take (..., n) in N·m or N

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.regressor(arm, [0.3, -0.7]).names[:4]
        ('upper/mass', 'upper/mx', 'upper/my', 'upper/mz')
    """

    matrix: Floats
    parameters: Floats
    names: tuple[str, ...]
    offset: Floats


@dataclass(frozen=True)
class Identifiable(DisplayMixin):
    """Which parameters the torques of some motions can tell.

    Fields:
        rank: how many numbers they determine: of parameters, or of sums of them
        share: (p,), 1 if a parameter is determined by itself, 0 if it has no effect at all, and
            in between if only sums with others are; the shares add up to the rank
        names: of the parameters, in the order of `share`
        condition: the largest singular value of the stacked regressor, its columns brought to
            length one, beside the smallest that counts: how well the motions excite what they do

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
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Regressor:
    """The regressor of inverse dynamics for a motion, in the axes of the description's links.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        a `Regressor`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, or closed
            loops
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd, qdd = [0.3, -0.7], [0.5, -1.2], [0.8, 0.4]
        >>> linear = robolin.regressor(arm, q, qd, qdd)
        >>> (linear.matrix @ linear.parameters).round(4)
        array([20.8844,  5.1432])
        >>> robolin.inverse(arm, q, qd, qdd).round(4)
        array([20.8844,  5.1432])
    """
    how = run_options(method, engine, jobs, loop_method)
    require_arm(arm)
    motion = {"q": q, "qd": qd, "qdd": qdd}
    listed = parameters(arm)
    found = evaluate(arm, "regressor", motion, **how)["regressor"]
    springs = (
        evaluate(arm, "spring-regressor", {"q": q}, **how)["spring_regressor"]
        if arm.has_springs
        else None
    )
    return Regressor(
        matrix=public_columns(arm, found, springs),
        parameters=np.array([p.value for p in listed]),
        names=tuple(p.label for p in listed),
        offset=_offset(arm, motion, how, found.shape[:-2]),
    )


def public_columns(arm: Arm, found: Floats, springs: Floats | None = None) -> Floats:
    """Columns (..., n, p) of the parameters from those of the algorithms.

    found:   (..., n, links, 13)
    springs: (..., n, links, 2) where the arm has springs
    """
    turned = found.copy()
    for i, link in enumerate(arm.links):
        _to_link_axes(axis_to_z(link.joint.axis), turned[..., i, :])
    negative = _split_friction(arm, turned)
    flat = turned.reshape(*found.shape[:-2], -1)
    if springs is not None:
        flat = np.concatenate([flat, springs.reshape(*found.shape[:-2], -1)], axis=-1)
    if negative is not None:
        flat = np.concatenate([flat, negative], axis=-1)
    return np.ascontiguousarray(flat[..., [p.place for p in parameters(arm)]])


def _split_friction(arm: Arm, columns: Floats) -> Floats | None:
    """The columns (..., n, links) of friction for negative velocities; None if none is one-sided.

    Those for positive velocities take the place of the column r t, with t = tanh(q̇ / e) and r the
    ratio of a mimic joint: (μ + δ t) t = μ₊ t (1 + t) / 2 + μ₋ t (1 - t) / 2.
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
    loop_method: LoopMethod | None = None,
) -> Identifiable:
    """What the torques of these motions, taken together, tell about the parameters.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        tolerance: the share of the largest singular value below which a combination counts for
            nothing
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        an `Identifiable`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, or closed
            loops
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> motions = np.random.default_rng(0).normal(size=(3, 50, 2))
        >>> told = robolin.identifiable(arm, *motions)
        >>> told.rank, len(told.names)
        (9, 24)
        >>> round(float(told.share.sum()), 6)
        9.0
    """
    how = run_options(method, engine, jobs, loop_method)
    arrays = joint_arrays(arm, {"q": q, "qd": qd, "qdd": qdd})
    batch = batch_of(arrays)
    rows = [np.broadcast_to(a, (*batch, arm.n)).reshape(-1, arm.n) for a in arrays.values()]
    names = tuple(p.label for p in parameters(arm))
    triangle = np.zeros((0, len(names)))
    for first in range(0, len(rows[0]), _ROWS_AT_ONCE):
        part = (values[first : first + _ROWS_AT_ONCE] for values in rows)
        Y = regressor(arm, *part, **how).matrix
        # only the triangle of all rows so far is kept: it has the same singular values
        stacked = np.concatenate([triangle, Y.reshape(-1, len(names))])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    return _rank_and_shares(triangle, names, tolerance)


def _rank_and_shares(stacked: Floats, names: tuple[str, ...], tolerance: float) -> Identifiable:
    """Rank and shares from singular vectors, every column brought to length one."""
    length = np.linalg.norm(stacked, axis=0)
    # a column that is rounding beside its neighbours has no effect
    counts = length > tolerance * length.max(initial=0.0)
    unit = np.where(counts, stacked / np.where(counts, length, 1.0), 0.0)
    _, sizes, directions = np.linalg.svd(unit, full_matrices=False)
    rank = int(np.sum(sizes > tolerance * sizes.max(initial=0.0)))
    share = np.where(counts, np.sum(directions[:rank] ** 2, axis=0), 0.0)
    condition = float(sizes[0] / sizes[rank - 1]) if rank else 0.0
    return Identifiable(rank, share, names, condition)


def _to_link_axes(turn: Matrix3, columns: Floats) -> None:
    """Turn a link's columns, in place, from axes with the joint along z to the link's own."""
    if turn != NO_TURN:
        moments, rotary = columns[..., 1:4], columns[..., 4:10]
        columns[..., 1:4] = np.einsum("...a,ab->...b", moments, _turned_vectors(turn)) + 0.0
        columns[..., 4:10] = np.einsum("...a,ab->...b", rotary, _turned_rotaries(turn)) + 0.0


def _turned_vectors(turn: Matrix3) -> Floats:
    """s in the algorithm's axes from s in the link's: s' = Eᵀ s."""
    return np.reshape(turn, (3, 3)).T


def _turned_rotaries(turn: Matrix3) -> Floats:
    """The same for xx xy xz yy yz zz: J' = Eᵀ J E, column by column."""
    back = transpose(turn)
    return np.array([turned_rotary(back, (a, b, c, d, e, f)) for a, b, c, d, e, f in np.eye(6)]).T


def _offset(
    arm: Arm, motion: dict[str, JointValues], how: RunOptions, shape: tuple[int, ...]
) -> Floats:
    """What the wrenches take: the torques with them less those without."""
    if not arm.wrenches:
        return np.zeros(shape)
    loose = replace(arm, wrenches=())
    with_them, without = (evaluate(a, "inverse", motion, **how)["tau"] for a in (arm, loose))
    return with_them - without


# how far to either side a joint is looked at: all angles there are, half a metre where a slide has
# no limits, and no further than ten where it has
ANY_ANGLE, SOME_WAY, FAR_AWAY = np.pi, 0.5, 10.0


def random_configurations(arm: Arm, count: int, seed: int = 0) -> AnyArray:
    """q of shape (count, n), anywhere between the joints' limits with equal chance."""
    low, high = np.array([_range(joint) for joint in arm.joints]).T
    return low + (high - low) * np.random.default_rng(seed).random((count, arm.n))


def random_motions(arm: Arm, count: int, seed: int = 0) -> tuple[AnyArray, AnyArray, AnyArray]:
    """q as above, with q̇ of about 1 and q̈ of about 2, each of shape (count, n)."""
    rng = np.random.default_rng([seed, 1])
    qd, qdd = rng.normal(size=(2, count, arm.n))
    return random_configurations(arm, count, seed), qd, 2.0 * qdd


def _range(joint: Joint) -> tuple[float, float]:
    """The joint's limits, or as far as it makes sense to look where it has none or remote ones."""
    lower, upper = joint.limits.lower, joint.limits.upper
    reach = ANY_ANGLE if joint.turns else SOME_WAY
    if lower is None:
        lower = -reach if upper is None else upper - 2.0 * reach
    if upper is None:
        upper = lower + 2.0 * reach
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    half = min(half, ANY_ANGLE if joint.turns else FAR_AWAY)
    return middle - half, middle + half
