"""Equilibrium near a given pose, for arms with passive joints.

The gravity torques g(q) of passive joints must vanish.  With closed loops, the part of g(q) that
no combination of motors can balance on the free motions must vanish.  Newton's method takes the
least-norm change of q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robolin.api.closed_loops import close, linearize_loops
from robolin.api.inverse_and_forward import inverse
from robolin.api.linear_models import linearize_inverse
from robolin.api.mass_matrices import mass_matrix
from robolin.control.operating_point import (
    NEGLIGIBLE_TORQUE,
    JointNames,
    actuated_indices,
    independent_motions,
    joint_indices,
    passive_indices,
)
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, as_joint_array, require_arm
from robolin.core.configuration import difference, integrate
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import unit_of
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.loop_dynamics import without_closures

ITERATIONS = 100
# longest step of a joint, in rad or m, to stay near the initial pose
LONGEST_TRIM_STEP = 0.5
SHORTEST_SHARE = 1e-4
# singular values below this fraction of the largest count as zero
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Trim(DisplayMixin):
    """An equilibrium: the torques tau hold the arm at rest at q.

    Fields:
        q: positions (n,) in rad or m
        tau: torques (n,) in N·m or N, 0 at passive joints
        moved: the change from the initial pose (n,) in rad or m
        residual: the largest remaining torque at a passive joint, in N·m or N
        iterations: number of Newton steps

    Example:
        >>> arm = robolin.load("acrobot")
        >>> result = robolin.trim(arm, [3.0, 0.1])
        >>> bool(result.residual < 1e-9), result.tau[0].item()
        (True, 0.0)
    """

    q: Floats
    tau: Floats
    moved: Floats
    residual: float
    iterations: int


class _Pose(NamedTuple):
    """Residual torques at a pose, along the free motions that no motor acts on."""

    q: Floats
    tau: Floats
    left: Floats
    jacobian: Floats
    basis: Floats
    passive: Floats
    size: float


def trim(
    arm: Arm,
    q: JointValues,
    *,
    actuated: JointNames = None,
    passive: JointNames = None,
    keep: Sequence[str] | str = (),
    limits: bool = True,
) -> Trim:
    """Find the equilibrium nearest to q, and the motor torques that hold the arm there.

    Args:
        arm: the arm, from `robolin.load`
        q: one pose (n,) in rad or m, in the order of `arm.joint_names`
        actuated: names of the actuated joints, or "all"; None for the robot file's
        passive: names of the passive joints, instead of `actuated`
        keep: names of joints whose position does not change
        limits: stay within the position limits in the robot file

    Returns:
        a `Trim`

    Raises:
        RobolinError: no equilibrium nearby; the error describes the best pose
        UsageError: `arm` is not an `Arm`, several poses, or an unknown joint

    Example:
        >>> arm = robolin.load("acrobot")
        >>> robolin.trim(arm, [3.0, 0.1], keep="elbow").q.round(6)
        array([3.101601, 0.1     ])
    """
    require_arm(arm)
    start = as_joint_array(arm, "q", q)
    if start.ndim != 1:
        raise UsageError(f"trim requires one pose, got a batch of {start.shape[:-1]}", where="q")
    driven = list(actuated_indices(arm, actuated, passive))
    kept = set(joint_indices(arm, "keep", keep))
    names = [arm.joint_names[i] for i in kept]
    pose = _pose(arm, close(arm, start, hold=names).q, driven)
    iterations = 0
    while iterations < ITERATIONS and np.abs(pose.left).max(initial=0.0) > 1e-14 * pose.size:
        nearer = _newton_step(arm, pose, driven, kept, names, limits)
        if nearer is None:
            break
        pose, iterations = nearer, iterations + 1
    residual = _residual(arm, pose, driven)
    return Trim(pose.q, pose.tau, difference(arm, start, pose.q), residual, iterations)


def _pose(arm: Arm, q: Floats, driven: list[int]) -> _Pose:
    """Gravity torques, motor torques, and the remaining torques at a pose."""
    tree = without_closures(arm)
    gravity_torque = inverse(tree, q)
    basis = independent_motions(arm, q) if arm.loops else np.eye(arm.n)
    push = basis[driven].T
    force = basis.T @ gravity_torque
    torque = np.linalg.lstsq(push, force, rcond=RANK_TOLERANCE)[0]
    tau = np.zeros(arm.n)
    tau[driven] = torque
    if arm.loops:
        # M q̈ = -force near an equilibrium, where all other changes vanish
        inertia = basis.T @ mass_matrix(tree, q) @ basis
        jacobian = -inertia @ basis.T @ linearize_loops(arm, q, tau=tau).dqdd_dq @ basis
    else:
        jacobian = linearize_inverse(arm, q).dtau_dq
    U, sizes, _ = np.linalg.svd(push)
    rank = int((sizes > RANK_TOLERANCE * sizes.max(initial=1.0)).sum())
    out_of_reach = U[:, rank:].T
    left = force - push @ torque
    size = max(1.0, float(np.abs(gravity_torque).max()))
    return _Pose(q, tau, out_of_reach @ left, out_of_reach @ jacobian, basis, basis @ left, size)


def _newton_step(
    arm: Arm, pose: _Pose, driven: list[int], kept: set[int], names: list[str], limits: bool
) -> _Pose | None:
    """Damped Newton step to a pose with a smaller residual; None if no step reduces it."""
    stuck = set(kept)
    while True:
        step = _least_step(pose, sorted(stuck))
        beyond = _joints_leaving_limits(arm, pose.q, step) if limits else set()
        if beyond <= stuck:
            break
        stuck |= beyond
    share = min(1.0, LONGEST_TRIM_STEP / max(float(np.abs(step).max()), LONGEST_TRIM_STEP))
    if limits:
        share = min(share, _fraction_to_limit(arm, pose.q, step))
    while share > SHORTEST_SHARE:
        candidate = close(arm, integrate(arm, pose.q, share * step), hold=names).q
        tried = _pose(arm, candidate, driven)
        if np.linalg.norm(tried.left) < np.linalg.norm(pose.left):
            return tried
        share *= 0.5
    return None


def _least_step(pose: _Pose, stuck: list[int]) -> Floats:
    """Least-norm change of q that cancels the residual to first order."""
    free = pose.basis
    if stuck:
        _, sizes, Vt = np.linalg.svd(pose.basis[stuck])
        rank = int((sizes > RANK_TOLERANCE).sum())
        free = pose.basis @ Vt[rank:].T
    along = pose.jacobian @ (pose.basis.T @ free)
    if not along.size:
        return np.zeros(len(pose.q))
    return -free @ np.linalg.lstsq(along, pose.left, rcond=RANK_TOLERANCE)[0]


def _bounds(arm: Arm) -> tuple[Floats, Floats]:
    lower = [-np.inf if j.limits.lower is None else j.limits.lower for j in arm.joints]
    upper = [np.inf if j.limits.upper is None else j.limits.upper for j in arm.joints]
    return np.array(lower), np.array(upper)


def _joints_leaving_limits(arm: Arm, q: Floats, step: Floats) -> set[int]:
    """Indices of joints at a limit that the step would leave."""
    lower, upper = _bounds(arm)
    out = ((q >= upper) & (step > 0.0)) | ((q <= lower) & (step < 0.0))
    return {int(i) for i in np.flatnonzero(out)}


def _fraction_to_limit(arm: Arm, q: Floats, step: Floats) -> float:
    """Fraction of a step at which it meets the first limit."""
    lower, upper = _bounds(arm)
    room = np.where(step > 0.0, upper - q, q - lower)
    moving = np.abs(step) > 0.0
    shares = room[moving] / np.abs(step[moving])
    return float(max(0.0, shares.min(initial=1.0)))


def _residual(arm: Arm, pose: _Pose, driven: list[int]) -> float:
    """Largest torque at a passive joint; raise if it is more than round-off."""
    left = float(np.abs(pose.passive).max(initial=0.0))
    if left <= NEGLIGIBLE_TORQUE * pose.size:
        return left
    without = passive_indices(arm, driven)
    at = max(without, key=lambda i: abs(pose.passive[i]))
    unit = unit_of("tau", [arm.joints[at].kind])
    raise RobolinError(
        "no equilibrium found near the initial pose: the best pose requires "
        f"{pose.passive[at]:.4g} "
        f"{unit} at passive joint '{arm.joint_names[at]}'",
        where=arm.source,
        hint="use another initial pose, fix fewer joints, or actuate more joints",
    )
