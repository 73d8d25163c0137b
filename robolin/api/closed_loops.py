"""Closed loops from Python: arrays in, arrays out, batch axes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robolin.arm import Arm
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import How, LoopMethod
from robolin.input_checks import (
    Array,
    array_of,
    batch_of,
    require_arm,
    require_loops,
    require_sound,
)
from robolin.loops.any_arm import evaluate
from robolin.loops.assemble import assemble, assembled_change
from robolin.loops.closure_arrays import Closures, row_names, rows_of
from robolin.loops.loop_answers import TOLERANCE


@dataclass(frozen=True, eq=False)
class Closed:
    """A state that meets its closures: q and qd (..., n)."""

    q: Array
    qd: Array


@dataclass(frozen=True, eq=False)
class ClosedChange:
    """A small change of state that keeps the closures: dq and dqd (..., n)."""

    dq: Array
    dqd: Array


@dataclass(frozen=True, eq=False)
class LoopConstraints:
    """The closures at a state: L q̈ = bias keeps them, and L q̇ is the rate at which they open.

    open_by (..., m), opening (..., m), jacobian L (..., m, n), bias -L̇ q̇ (..., m);
    rows: the name of each equation, closure and component
    """

    open_by: Array
    opening: Array
    jacobian: Array
    bias: Array
    rows: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LoopForces:
    """The motion of an arm with loops: M q̈ + C = τ + L* λ.

    qdd (..., n), lam (..., m): force, and moment if rigid, on the first frame of each closure, in
    world axes, the second bearing the opposite; rank (...): how many equations are independent;
    kept (..., m): which, the others bearing nothing; rows: the name of each equation
    """

    qdd: Array
    lam: Array
    rank: Array
    kept: Array
    rows: tuple[str, ...]

    @property
    def wrenches(self) -> dict[str, Array]:
        """For every closure its part of lam: (..., 3) or (..., 6)."""
        names = [row.rsplit("/", 1)[0] for row in self.rows]
        return {
            name: self.lam[..., [i for i, other in enumerate(names) if other == name]]
            for name in dict.fromkeys(names)
        }


@dataclass(frozen=True, eq=False)
class LinearizedLoops:
    """q̈ ≈ qdd + dqdd_dtau δτ + dqdd_dqd δq̇ + dqdd_dq δq, and the same for λ.

    It holds for changes that keep the closures: L δq = 0, and L δq̇ = -δL q̇.
    """

    qdd: Array
    dqdd_dtau: Array
    dqdd_dqd: Array
    dqdd_dq: Array
    lam: Array
    dlam_dtau: Array
    dlam_dqd: Array
    dlam_dq: Array
    rank: Array
    kept: Array
    rows: tuple[str, ...]


def close(arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, hold: Sequence[str] | str = ()) -> Closed:
    """The state on its closures, from nearby: the joints in `hold` stay, the others follow.

    Newton's method takes the shortest step that closes the gaps, again and again; velocities
    change as little as they can.
    """
    require_arm(arm)
    held = _places(arm, [hold] if isinstance(hold, str) else hold)
    batch, flat = _flat(arm, q=q, qd=qd)
    if arm.loops:
        found = assemble(arm, flat["q"], flat["qd"], held)
        _require_closed(arm, found.open_by, "cannot be closed from here: {} is left", "m")
        speed = np.maximum(1.0, np.abs(found.qd).max(axis=-1, initial=0.0))
        left = found.opening / speed[:, None]
        _require_closed(arm, left, "cannot stay closed at these velocities: {} is left", "m/s")
        flat = {"q": found.q, "qd": found.qd}
    return Closed(flat["q"].reshape(*batch, arm.n), flat["qd"].reshape(*batch, arm.n))


def close_change(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    dq: ArrayLike = 0.0,
    dqd: ArrayLike = 0.0,
    hold: Sequence[str] | str = (),
) -> ClosedChange:
    """The small change that keeps the closures of a state: those in `hold` stay, others follow."""
    require_arm(arm)
    require_loops(arm)
    held = _places(arm, [hold] if isinstance(hold, str) else hold)
    batch, flat = _flat(arm, q=q, qd=qd, dq=dq, dqd=dqd)
    closures = Closures(arm, flat["q"], flat["qd"])
    changes = assembled_change(closures, flat["dq"], flat["dqd"], held=held)
    return ClosedChange(*(change.reshape(*batch, arm.n) for change in changes))


def loop_constraints(arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0) -> LoopConstraints:
    """How far the closures stand open, how fast they open, their Jacobian and bias."""
    require_arm(arm)
    require_loops(arm)
    batch, flat = _flat(arm, q=q, qd=qd)
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
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    tau: ArrayLike = 0.0,
    loop_method: LoopMethod = "null-space",
) -> LoopForces:
    """Accelerations and the forces of the closures, for torques."""
    require_arm(arm)
    require_loops(arm)
    how: How = {"loop_method": loop_method}
    found = evaluate(arm, "loop-forces", {"q": q, "qd": qd, "tau": tau}, **how)
    return LoopForces(**found, rows=row_names(arm))


def linearize_loops(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    tau: ArrayLike = 0.0,
    loop_method: LoopMethod = "null-space",
) -> LinearizedLoops:
    """How accelerations and the forces of the closures change with state and torques."""
    require_arm(arm)
    require_loops(arm)
    how: How = {"loop_method": loop_method}
    found = evaluate(arm, "linearize-loops", {"q": q, "qd": qd, "tau": tau}, **how)
    return LinearizedLoops(**found, rows=row_names(arm))


def _flat(arm: Arm, **given: ArrayLike) -> tuple[tuple[int, ...], dict[str, Array]]:
    """The batch axes, and sound values of shape (B, n)."""
    arrays = {name: array_of(arm, name, value) for name, value in given.items()}
    batch = batch_of(arrays)
    flat = {
        name: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n).copy()
        for name, array in arrays.items()
    }
    for row in range(len(flat["q"])):
        require_sound(arm, {name: array[row] for name, array in flat.items()})
    return batch, flat


def _places(arm: Arm, names: Sequence[str]) -> list[int]:
    for name in names:
        if name not in arm.joint_names:
            hint = f"the joints are {', '.join(arm.joint_names)}"
            raise UsageError(f"hold: there is no joint '{name}'", hint=hint)
    return [arm.joint_names.index(name) for name in names]


def _require_closed(arm: Arm, left: Array, problem: str, unit: str) -> None:
    """Complain about the first state and closure that more than rounding is left of."""
    bad = np.argwhere(~(np.abs(left) <= 1e-3 * TOLERANCE))
    if not len(bad):
        return
    state = int(bad[0][0])
    at = int(np.nan_to_num(np.abs(left[state]), nan=np.inf).argmax())
    loop = next(name for name, rows in rows_of(arm) if rows.start <= at < rows.stop)
    told = problem.format(f"{abs(left[state, at]):.3g} {unit}")
    prefix = f"state {state}: " if len(left) > 1 else ""
    hint = "hold other joints, or start nearer to a state that is closed"
    raise RobolinError(f"{prefix}loop '{loop}' {told}", hint=hint)
