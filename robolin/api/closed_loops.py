"""Closed loops: projection onto the constraints, constraint forces, linearization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robolin.api.inverse_and_forward import HOLD, resolve_torque
from robolin.api.result_types import (
    Closed,
    ClosedChange,
    LinearizedLoops,
    LoopConstraints,
    LoopForces,
)
from robolin.api.run_options import evaluate_with_operating_point
from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    batch_of,
    joint_arrays,
    list_of_names,
    require_arm,
    require_loops,
    require_sound,
)
from robolin.core.choices import LoopMethod
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate_arm
from robolin.evaluation.loop_evaluation import CLOSURE_TOLERANCE
from robolin.evaluation.loop_linear_algebra import Closures, closure_rows, row_names
from robolin.evaluation.loop_projection import assemble, assembled_change


def close(
    arm: Arm, q: JointValues, qd: JointValues = 0.0, hold: Sequence[str] | str = ()
) -> Closed:
    """Project a state onto the loop constraints, keeping the joints in `hold` fixed.

    Newton's method takes minimum-norm steps until the positions satisfy the constraints.  The
    change in the velocities has minimum norm.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`, near positions that
            satisfy the constraints
        qd: velocities (..., n) in rad/s or m/s
        hold: names of joints whose position does not change

    Returns:
        a `Closed`

    Raises:
        RobolinError: a loop that cannot be closed from this state, or invalid values
        UsageError: `arm` is not an `Arm`, or an unknown joint in `hold`

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> float(np.abs(robolin.loop_constraints(arm, state.q).open_by).max()) < 1e-12
        True
    """
    require_arm(arm)
    held = _joint_indices(arm, list_of_names("hold", hold))
    batch, flat = _flatten(arm, q=q, qd=qd)
    if arm.loops:
        closed = assemble(arm, flat["q"], flat["qd"], held)
        _require_closed(
            arm,
            closed.open_by,
            "cannot be closed from this position: the constraint violation is {}",
            "m",
        )
        speed = np.maximum(1.0, np.abs(closed.qd).max(axis=-1, initial=0.0))
        left = closed.opening / speed[:, None]
        _require_closed(
            arm,
            left,
            "cannot stay closed at these velocities: the constraint violation is {}",
            "m/s",
        )
        flat = {"q": closed.q, "qd": closed.qd}
    return Closed(flat["q"].reshape(*batch, arm.n), flat["qd"].reshape(*batch, arm.n))


def close_change(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    dq: JointValues = 0.0,
    dqd: JointValues = 0.0,
    hold: Sequence[str] | str = (),
) -> ClosedChange:
    """Project a small change of state onto the linearized constraints, keeping `hold` fixed.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`, on the constraints
        qd: velocities (..., n) in rad/s or m/s
        dq: change of positions (..., n) in rad or m
        dqd: change of velocities (..., n) in rad/s or m/s
        hold: names of joints whose position does not change

    Returns:
        a `ClosedChange`

    Raises:
        RobolinError: an arm without loops, an array with the wrong shape, a value that is not
            finite
        UsageError: `arm` is not an `Arm`, or an unknown joint in `hold`

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> change = robolin.close_change(arm, state.q, dq=[0.01, 0, 0], hold="drive")
        >>> robolin.perturb_forward(arm, state.q, dq=change.dq).shape
        (3,)
    """
    require_arm(arm)
    require_loops(arm)
    held = _joint_indices(arm, list_of_names("hold", hold))
    batch, flat = _flatten(arm, q=q, qd=qd, dq=dq, dqd=dqd)
    closures = Closures(arm, flat["q"], flat["qd"])
    changes = assembled_change(closures, flat["dq"], flat["dqd"], held=held)
    return ClosedChange(*(change.reshape(*batch, arm.n) for change in changes))


def loop_constraints(arm: Arm, q: JointValues, qd: JointValues = 0.0) -> LoopConstraints:
    """Loop constraints at a state: violation, rate of the violation, Jacobian and bias.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s

    Returns:
        a `LoopConstraints`

    Raises:
        RobolinError: an arm without loops, an array with the wrong shape, a value that is not
            finite
        UsageError: `arm` is not an `Arm`

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> found = robolin.loop_constraints(arm, state.q)
        >>> found.jacobian.shape, found.rows
        ((3, 3), ('pin/fx', 'pin/fy', 'pin/fz'))
    """
    require_arm(arm)
    require_loops(arm)
    batch, flat = _flatten(arm, q=q, qd=qd)
    closures = Closures(arm, flat["q"], flat["qd"])
    count = len(row_names(arm))
    return LoopConstraints(
        open_by=closures.open_by.reshape(*batch, count),
        opening=closures.opening.reshape(*batch, count),
        jacobian=closures.jacobian.reshape(*batch, count, arm.n),
        bias=closures.bias.reshape(*batch, count),
        rows=row_names(arm),
    )


def loop_forces(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues = 0.0,
    loop_method: LoopMethod = "null-space",
) -> LoopForces:
    """Accelerations and constraint forces under given torques.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`, on the constraints
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N
        loop_method: solver of the loop constraints: "null-space", "kkt" or "schur"

    Returns:
        a `LoopForces`

    Raises:
        RobolinError: an arm without loops, an array with the wrong shape, a value that is not
            finite, violated loop constraints, or a dead point
        UsageError: `arm` is not an `Arm`, or an unknown method

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.loop_forces(arm, state.q).wrenches["pin"].round(4)
        array([-1.4621,  5.9577,  0.    ])
    """
    require_arm(arm)
    require_loops(arm)
    options: RunOptions = {"loop_method": loop_method}
    result = evaluate_arm(arm, "loop-forces", {"q": q, "qd": qd, "tau": tau}, **options)
    return LoopForces(**result, rows=row_names(arm))


def linearize_loops(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues | str = HOLD,
    loop_method: LoopMethod = "null-space",
) -> LinearizedLoops:
    """Linearize accelerations and constraint forces about a state and its torques.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`, on the constraints
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for torques with q̈ = 0, as for
            `linearize_forward`
        loop_method: solver of the loop constraints: "null-space", "kkt" or "schur"

    Returns:
        a `LinearizedLoops`

    Raises:
        RobolinError: an arm without loops, an array with the wrong shape, a value that is not
            finite, violated loop constraints, or a dead point
        UsageError: `arm` is not an `Arm`, an unknown method, or an invalid text for tau

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.linearize_loops(arm, state.q).dqdd_dq.round(4)
        array([[ 15.4735,   0.7061,   5.3068],
               [-14.0098,  -0.6393,  -4.8048],
               [  7.8163,   0.3567,   2.6807]])
    """
    require_arm(arm)
    require_loops(arm)
    options: RunOptions = {"loop_method": loop_method}
    values = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, options)}
    result, point = evaluate_with_operating_point(arm, "linearize-loops", values, options)
    q, qd, tau = (point[name] for name in values)
    return LinearizedLoops(**result, rows=row_names(arm), q=q, qd=qd, tau=tau)


def _flatten(arm: Arm, **values: JointValues) -> tuple[tuple[int, ...], dict[str, Floats]]:
    """Batch shape, and checked values of shape (B, n)."""
    arrays = joint_arrays(arm, values)
    batch = batch_of(arrays)
    flat = {
        name: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n).copy()
        for name, array in arrays.items()
    }
    for row in range(len(flat["q"])):
        require_sound(arm, {name: array[row] for name, array in flat.items()})
    return batch, flat


def _joint_indices(arm: Arm, names: Sequence[str]) -> list[int]:
    for name in names:
        if name not in arm.joint_names:
            hint = f"joints: {', '.join(arm.joint_names)}"
            raise UsageError(f"hold: joint '{name}' not found", hint=hint)
    return [arm.joint_names.index(name) for name in names]


def _require_closed(arm: Arm, left: Floats, problem: str, unit: str) -> None:
    """Raise for the first state and closure with a violation above round-off."""
    bad = np.argwhere(~(np.abs(left) <= 1e-3 * CLOSURE_TOLERANCE))
    if not len(bad):
        return
    state = int(bad[0][0])
    at = int(np.nan_to_num(np.abs(left[state]), nan=np.inf).argmax())
    loop = next(name for name, rows in closure_rows(arm) if rows.start <= at < rows.stop)
    description = problem.format(f"{abs(left[state, at]):.3g} {unit}")
    prefix = f"state {state}: " if len(left) > 1 else ""
    hint = "hold other joints, or start from a position with a smaller constraint violation"
    raise RobolinError(f"{prefix}loop '{loop}' {description}", hint=hint)
