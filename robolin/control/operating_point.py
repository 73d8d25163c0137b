"""Operating point of a linearization: torques, accelerations and their derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypedDict

import numpy as np

from robolin.api.closed_loops import close_change, loop_constraints
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, Mask, batch_of, joint_arrays, list_of_names
from robolin.core.quantity_table import unit_of
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import Engine, RunOptions, evaluate_any_arm_rows, evaluate_arm
from robolin.evaluation.loop_dynamics import without_closures
from robolin.evaluation.loop_linear_algebra import DEPENDENT_WITHIN

HOLD_AT_POINT: Literal["hold"] = "hold"


class EngineOptions(TypedDict, total=False):
    """Engine and number of threads; they do not change results."""

    engine: Engine
    jobs: int | None


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """A state with its torques (..., n) and the derivatives of q̈ (..., n, n).

    basis:      (..., n, d) with δq = basis z for the d independent motions; None on trees
    along_rate: (..., n, d) with δq̇ = basis ż + along_rate z; None on trees
    """

    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    dqdd_dq: Floats
    dqdd_dqd: Floats
    dqdd_dtau: Floats
    basis: Floats | None = None
    along_rate: Floats | None = None


def operating_point(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    qdd: JointValues | None,
    tau: JointValues | str,
    actuated: Sequence[int],
    running: EngineOptions,
) -> OperatingPoint:
    """Operating point at a state, for given torques or for those that hold an acceleration."""
    acceleration = 0.0 if qdd is None else qdd
    inputs = {"q": q, "qd": qd, "qdd": acceleration}
    held = isinstance(tau, str)
    if not held:
        if qdd is not None:
            hint = "omit qdd, or use tau='hold' to compute the torque for qdd"
            raise UsageError("tau and qdd cannot be combined", hint=hint)
        inputs["tau"] = tau
    elif tau != HOLD_AT_POINT:
        raise UsageError(
            f"tau: must be torques or 'hold', got {tau!r}",
            hint="pass torques, or 'hold' for the torques that produce qdd",
        )
    arrays = joint_arrays(arm, inputs)
    batch = batch_of(arrays)
    state = {name: np.broadcast_to(x, (*batch, arm.n)) for name, x in arrays.items()}
    if arm.loops:
        return _loop_point(arm, state, held, actuated, running)
    return _tree_point(arm, state, held, actuated, running)


def _run_options(running: EngineOptions) -> RunOptions:
    """Convert to the options of `evaluate`."""
    return {"engine": running.get("engine", "auto"), "jobs": running.get("jobs")}


def _tree_point(
    arm: Arm, state: dict[str, Floats], held: bool, actuated: Sequence[int], running: EngineOptions
) -> OperatingPoint:
    run_options = _run_options(running)
    q, qd = state["q"], state["qd"]
    if held:
        state["tau"] = evaluate_arm(arm, "inverse", state, **run_options)["tau"]
    tau = require_no_passive_torque(arm, state["tau"], actuated)
    model = evaluate_arm(arm, "linearize-forward", {"q": q, "qd": qd, "tau": tau}, **run_options)
    # the requested qdd is exact; recomputing it from the torques would add round-off
    qdd = state["qdd"] if held else model["qdd"]
    return OperatingPoint(q, qd, qdd, tau, model["dqdd_dq"], model["dqdd_dqd"], model["dqdd_dtau"])


def passive_joints_unloaded(
    arm: Arm, values: Mapping[str, Floats], actuated: Sequence[int]
) -> Mask:
    """(rows,): whether a tree needs no torque at passive joints; True where it is unknown."""
    rows = len(values["q"])
    without = passive_indices(arm, actuated)
    tau = values.get("tau")
    if tau is None:
        inputs = {name: values.get(name, 0.0) for name in ("q", "qd", "qdd")}
        tau = evaluate_any_arm_rows(arm, "inverse", inputs)[0]["tau"]
    required = np.abs(np.broadcast_to(tau, (rows, arm.n))[:, without])
    return np.asarray(~(required > torque_tolerance(tau)).any(axis=-1))


def is_equilibrium(arm: Arm, q: Floats, qd: Floats, qdd: Floats, tau: Floats) -> bool:
    """Return whether one state (n,) is an equilibrium up to the round-off of torques."""
    if qd.any():
        return False
    if not qdd.any():
        return True
    M = evaluate_arm(without_closures(arm), "mass-matrix", {"q": q})["mass_matrix"]
    left = np.abs(M @ qdd).max()
    held = evaluate_arm(without_closures(arm), "inverse", {"q": q, "qd": qd, "qdd": 0.0 * qd})[
        "tau"
    ]
    return bool((left <= torque_tolerance(held)).all())


def _loop_point(
    arm: Arm, state: dict[str, Floats], held: bool, actuated: Sequence[int], running: EngineOptions
) -> OperatingPoint:
    run_options = _run_options(running)
    q, qd = state["q"], state["qd"]
    basis = independent_motions(arm, q)
    if held:
        required = evaluate_arm(without_closures(arm), "inverse", state, **run_options)["tau"]
        state["tau"] = _min_norm_torques(arm, required, basis, actuated)
    tau = require_no_passive_torque(arm, state["tau"], actuated)
    model = evaluate_arm(arm, "linearize-forward", {"q": q, "qd": qd, "tau": tau}, **run_options)
    columns = np.moveaxis(basis, -1, -2)
    rates = close_change(arm, q[..., None, :], qd[..., None, :], dq=columns).dqd
    return OperatingPoint(
        q,
        qd,
        model["qdd"],
        tau,
        model["dqdd_dq"],
        model["dqdd_dqd"],
        model["dqdd_dtau"],
        basis,
        np.moveaxis(rates, -1, -2),
    )


def independent_motions(arm: Arm, q: Floats) -> Floats:
    """Orthonormal basis (..., n, d) of the motions that the loop constraints allow at q.

    The columns come from a singular value decomposition; the largest entry of each is positive.
    """
    L = loop_constraints(arm, q).jacobian
    _, sizes, Vt = np.linalg.svd(L)
    floor = DEPENDENT_WITHIN * sizes.max(axis=-1, initial=0.0, keepdims=True)
    ranks = (sizes > floor).sum(axis=-1)
    rank = int(ranks.flat[0])
    if (ranks != rank).any():
        row = int(np.argmax(ranks.ravel() != rank))
        raise RobolinError(
            f"state {row}: the constraints leave {arm.n - int(ranks.flat[row])} degrees of "
            f"freedom, but in state 0 they leave {arm.n - rank}",
            where=arm.source,
            hint="linearize the states separately",
        )
    if rank == arm.n:
        raise RobolinError("the constraints leave no degree of freedom", where=arm.source)
    basis = np.moveaxis(Vt[..., rank:, :], -1, -2)
    largest = np.take_along_axis(basis, np.abs(basis).argmax(axis=-2)[..., None, :], axis=-2)
    signed: Floats = basis * np.sign(largest)
    return signed


def _min_norm_torques(arm: Arm, required: Floats, basis: Floats, actuated: Sequence[int]) -> Floats:
    """Least-norm motor torques with the same effect on the free motions as `required`.

    If every joint is actuated they equal `required`, and all constraint forces are zero.
    """
    without = passive_indices(arm, actuated)
    if not without:
        return required
    across = np.moveaxis(basis, -1, -2)
    force = across @ required[..., None]
    driven = across[..., list(actuated)]
    torque = np.linalg.pinv(driven, rcond=DEPENDENT_WITHIN) @ force
    left = (basis @ (force - driven @ torque))[..., 0]
    if (np.abs(left) > torque_tolerance(required)).any():
        raise passive_torque_error(arm, left, without)
    tau = np.zeros_like(required)
    tau[..., list(actuated)] = torque[..., 0]
    return tau


# a torque below this fraction of the largest one in its state, or of 1, is round-off
NEGLIGIBLE_TORQUE = 1e-9

JointNames = Sequence[str] | str | None


# `actuated="all"` actuates every joint, also those that the robot file declares passive
ALL_JOINTS = "all"


def actuated_indices(arm: Arm, actuated: JointNames, passive: JointNames) -> tuple[int, ...]:
    """Indices in q of the actuated joints, from `actuated` or as the complement of `passive`.

    The default is the set in the robot file, which is every joint unless the file differs.
    """
    if actuated is not None and passive is not None:
        raise UsageError("actuated and passive cannot be combined", where="passive")
    if actuated is not None and not _means_all(arm, actuated):
        indices = joint_indices(arm, "actuated", actuated)
    else:
        described = arm.passive_joints if actuated is None else ()
        without = joint_indices(arm, "passive", described if passive is None else passive)
        indices = tuple(i for i in range(arm.n) if i not in without)
    if not indices:
        hint = "name an actuated joint: --actuated JOINT, or --actuated all"
        raise UsageError("no joint is actuated", where="actuated", hint=hint)
    return indices


def _means_all(arm: Arm, names: Sequence[str] | str) -> bool:
    """Return whether `names` is the keyword "all" and not a joint of that name."""
    named = list_of_names("actuated", names)
    return named == [ALL_JOINTS] and ALL_JOINTS not in arm.joint_names


def joint_indices(arm: Arm, keyword: str, names: Sequence[str] | str) -> tuple[int, ...]:
    """Indices of the named joints in q; a multi-DoF joint gives all of its coordinates."""
    requested = list_of_names(keyword, names)
    groups = {group.name: sorted(arm.coordinate_indices(group).values()) for group in arm.groups}
    indices: list[int] = []
    for name in requested:
        if name in groups:
            indices += groups[name]
        elif name in arm.joint_names:
            indices.append(arm.joint_names.index(name))
        else:
            hint = did_you_mean(str(name), (*arm.joint_names, *groups))
            raise UsageError(f"{keyword}: joint '{name}' not found", hint=hint)
    return tuple(sorted(set(indices)))


def passive_indices(arm: Arm, actuated: Iterable[int]) -> list[int]:
    """Indices in q of the passive joints."""
    driven = set(actuated)
    return [i for i in range(arm.n) if i not in driven]


def torque_tolerance(tau: Floats) -> Floats:
    """(..., 1): magnitude below which a torque of each state is round-off."""
    largest: Floats = np.abs(tau).max(axis=-1, initial=0.0, keepdims=True)
    return NEGLIGIBLE_TORQUE * np.maximum(1.0, largest)


def require_no_passive_torque(arm: Arm, tau: Floats, actuated: Sequence[int]) -> Floats:
    """Set round-off torques at passive joints to zero; raise if one is larger."""
    without = passive_indices(arm, actuated)
    if not without:
        return tau
    required = np.abs(tau[..., without])
    if (required > torque_tolerance(tau)).any():
        raise passive_torque_error(arm, tau, without)
    tau = tau.copy()
    tau[..., without] = 0.0
    return tau


def passive_torque_error(arm: Arm, tau: Floats, without: Sequence[int]) -> RobolinError:
    """Error for the largest torque that a passive joint would have to provide."""
    rows = tau.reshape(-1, arm.n)[:, list(without)]
    row, at = np.unravel_index(int(np.abs(rows).argmax()), rows.shape)
    joint = arm.joints[without[int(at)]]
    size = f"{rows[row, at]:.4g} {unit_of('tau', [joint.kind])}"
    state = f"state {row}: " if len(rows) > 1 else ""
    return RobolinError(
        f"{state}joint '{joint.name}' is passive, but equilibrium requires an effort of {size}",
        where=arm.source,
        hint="use trim (--trim) to find an equilibrium nearby, or --actuated all",
    )
