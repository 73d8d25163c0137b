"""An equilibrium near a given pose, when not every joint has a motor.

At rest the arm asks its joints for torques g(q).  Those of passive joints must vanish; on closed
loops, what no combination of motors does to the motions that the closures leave free.  Newton's
method takes the least change of q that does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robolin.api.closed_loops import close, linearize_loops
from robolin.api.inverse_and_forward import inverse
from robolin.api.linear_models import linearize_inverse
from robolin.api.mass_matrices import mass_matrix
from robolin.control.operating_point import (
    NEGLIGIBLE_TORQUE,
    JointNames,
    actuated_places,
    independent_motions,
    joint_places,
    passive_places,
)
from robolin.core.arm import Arm
from robolin.core.array_checks import as_joint_array, require_arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.configuration import advanced, difference
from robolin.core.notebook import DisplayMixin
from robolin.core.units import unit_of
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.loops.loop_dynamics import without_closures

ITERATIONS = 100
# the largest step of a joint, in rad or m: the equilibrium sought is one nearby
LONGEST_TRIM_STEP = 0.5
SHORTEST_SHARE = 1e-4
# singular values below this share of the largest move nothing
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Trim(DisplayMixin):
    """An equilibrium: the arm rests at q under tau.

    Fields:
        q: positions (n,) in rad or m
        tau: torques (n,) in N·m or N, 0 at passive joints
        moved: the change from the pose given (n,) in rad or m
        residual: the largest torque that is left at a passive joint, in N·m or N
        iterations: steps of Newton's method

    Example:
        >>> arm = robolin.load("acrobot")
        >>> found = robolin.trim(arm, [3.0, 0.1])
        >>> bool(found.residual < 1e-9), found.tau[0].item()
        (True, 0.0)
    """

    q: Floats
    tau: Floats
    moved: Floats
    residual: float
    iterations: int


class _Pose(NamedTuple):
    """What is left of the torques at a pose, along the free motions no motor acts on."""

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
    """The equilibrium nearest to q, and the torques of the motors that hold it.

    Args:
        arm: the arm, from `robolin.load`
        q: one pose (n,) in rad or m, in the order of `arm.joint_names`
        actuated: the joints with a motor, or "all"; None for those that the description has
        passive: or those without one
        keep: joints that stay where they are
        limits: keep within the position limits of the description

    Returns:
        a `Trim`

    Raises:
        RobolinError: no equilibrium nearby, told with the best one found
        UsageError: no arm, several poses, or a joint that does not exist

    Example:
        >>> arm = robolin.load("acrobot")
        >>> robolin.trim(arm, [3.0, 0.1], keep="elbow").q.round(6)
        array([3.101601, 0.1     ])
    """
    require_arm(arm)
    start = as_joint_array(arm, "q", q)
    if start.ndim != 1:
        raise UsageError(f"trim takes one pose, not {start.shape[:-1]}", where="q")
    driven = list(actuated_places(arm, actuated, passive))
    kept = set(joint_places(arm, "keep", keep))
    names = [arm.joint_names[i] for i in kept]
    pose = _pose(arm, close(arm, start, hold=names).q, driven)
    iterations = 0
    while iterations < ITERATIONS and np.abs(pose.left).max(initial=0.0) > 1e-14 * pose.size:
        nearer = _stepped(arm, pose, driven, kept, names, limits)
        if nearer is None:
            break
        pose, iterations = nearer, iterations + 1
    residual = _residual(arm, pose, driven)
    return Trim(pose.q, pose.tau, difference(arm, start, pose.q), residual, iterations)


def _pose(arm: Arm, q: Floats, driven: list[int]) -> _Pose:
    """The torques at rest, those of the motors, and what these leave."""
    tree = without_closures(arm)
    wanted = inverse(tree, q)
    basis = independent_motions(arm, q) if arm.loops else np.eye(arm.n)
    push = basis[driven].T
    force = basis.T @ wanted
    torque = np.linalg.lstsq(push, force, rcond=RANK_TOLERANCE)[0]
    tau = np.zeros(arm.n)
    tau[driven] = torque
    if arm.loops:
        # M q̈ = -force near an equilibrium, where its other changes vanish
        inertia = basis.T @ mass_matrix(tree, q) @ basis
        jacobian = -inertia @ basis.T @ linearize_loops(arm, q, tau=tau).dqdd_dq @ basis
    else:
        jacobian = linearize_inverse(arm, q).dtau_dq
    U, sizes, _ = np.linalg.svd(push)
    rank = int((sizes > RANK_TOLERANCE * sizes.max(initial=1.0)).sum())
    out_of_reach = U[:, rank:].T
    left = force - push @ torque
    size = max(1.0, float(np.abs(wanted).max()))
    return _Pose(q, tau, out_of_reach @ left, out_of_reach @ jacobian, basis, basis @ left, size)


def _stepped(
    arm: Arm, pose: _Pose, driven: list[int], kept: set[int], names: list[str], limits: bool
) -> _Pose | None:
    """A pose with less left, by the least step; None where no step helps."""
    stuck = set(kept)
    while True:
        step = _least_step(pose, sorted(stuck))
        beyond = _beyond(arm, pose.q, step) if limits else set()
        if beyond <= stuck:
            break
        stuck |= beyond
    share = min(1.0, LONGEST_TRIM_STEP / max(float(np.abs(step).max()), LONGEST_TRIM_STEP))
    if limits:
        share = min(share, _room(arm, pose.q, step))
    while share > SHORTEST_SHARE:
        moved = close(arm, advanced(arm, pose.q, share * step), hold=names).q
        tried = _pose(arm, moved, driven)
        if np.linalg.norm(tried.left) < np.linalg.norm(pose.left):
            return tried
        share *= 0.5
    return None


def _least_step(pose: _Pose, stuck: list[int]) -> Floats:
    """The smallest change of q that takes away what is left, to first order."""
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


def _beyond(arm: Arm, q: Floats, step: Floats) -> set[int]:
    """Joints at a limit that the step would take beyond it."""
    lower, upper = _bounds(arm)
    out = ((q >= upper) & (step > 0.0)) | ((q <= lower) & (step < 0.0))
    return {int(i) for i in np.flatnonzero(out)}


def _room(arm: Arm, q: Floats, step: Floats) -> float:
    """The share of a step that ends at the first limit."""
    lower, upper = _bounds(arm)
    room = np.where(step > 0.0, upper - q, q - lower)
    moving = np.abs(step) > 0.0
    shares = room[moving] / np.abs(step[moving])
    return float(max(0.0, shares.min(initial=1.0)))


def _residual(arm: Arm, pose: _Pose, driven: list[int]) -> float:
    """What is left at a passive joint, which must be rounding."""
    left = float(np.abs(pose.passive).max(initial=0.0))
    if left <= NEGLIGIBLE_TORQUE * pose.size:
        return left
    without = passive_places(arm, driven)
    at = max(without, key=lambda i: abs(pose.passive[i]))
    unit = unit_of("tau", [arm.joints[at].kind])
    raise RobolinError(
        f"no equilibrium was found near this pose: at the best one, passive joint "
        f"'{arm.joint_names[at]}' would have to give {pose.passive[at]:.4g} {unit}",
        where=arm.source,
        hint="start elsewhere, keep fewer joints, or actuate more of them",
    )
