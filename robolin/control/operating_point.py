"""The point an arm is linearized about: its torques, accelerations and their derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from robolin.api.closed_loops import close_change, loop_constraints
from robolin.core.arm import Arm
from robolin.core.array_checks import batch_of, joint_arrays
from robolin.core.arrays import Floats, JointValues, Mask
from robolin.core.text import did_you_mean
from robolin.core.units import unit_of
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.dispatch import evaluate_any_arm_rows, evaluate_arm
from robolin.evaluation.evaluate import Engine, RunOptions
from robolin.evaluation.loops.loop_dynamics import without_closures
from robolin.evaluation.loops.solve import DEPENDENT_WITHIN

HOLD_AT_POINT: Literal["hold"] = "hold"


class EngineOptions(TypedDict, total=False):
    """On what engine to run, and by how many threads; never what comes out."""

    engine: Engine
    jobs: int | None


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """A state with its torques (..., n), and how q̈ changes with it (..., n, n).

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
    """The arm at a state, driven by torques or by those that hold an acceleration."""
    wanted = 0.0 if qdd is None else qdd
    given = {"q": q, "qd": qd, "qdd": wanted}
    held = isinstance(tau, str)
    if not held:
        if qdd is not None:
            hint = "leave out qdd, or let tau='hold' find the torque for it"
            raise UsageError("tau and qdd both say how the arm accelerates", hint=hint)
        given["tau"] = tau
    elif tau != HOLD_AT_POINT:
        raise UsageError(f"tau is {tau!r}", hint="torques, or 'hold' for those that keep qdd")
    arrays = joint_arrays(arm, given)
    batch = batch_of(arrays)
    state = {name: np.broadcast_to(x, (*batch, arm.n)) for name, x in arrays.items()}
    if arm.loops:
        return _with_loops(arm, state, held, actuated, running)
    return _of_tree(arm, state, held, actuated, running)


def _run_options(running: EngineOptions) -> RunOptions:
    """The same in the words of the evaluation."""
    return {"engine": running.get("engine", "auto"), "jobs": running.get("jobs")}


def _of_tree(
    arm: Arm, state: dict[str, Floats], held: bool, actuated: Sequence[int], running: EngineOptions
) -> OperatingPoint:
    how = _run_options(running)
    q, qd = state["q"], state["qd"]
    if held:
        state["tau"] = evaluate_arm(arm, "inverse", state, **how)["tau"]
    tau = require_no_passive_torque(arm, state["tau"], actuated)
    found = evaluate_arm(arm, "linearize-forward", {"q": q, "qd": qd, "tau": tau}, **how)
    # what was asked for is exact, its way back through the torques is not
    qdd = state["qdd"] if held else found["qdd"]
    return OperatingPoint(q, qd, qdd, tau, found["dqdd_dq"], found["dqdd_dqd"], found["dqdd_dtau"])


def passive_joints_unloaded(
    arm: Arm, values: Mapping[str, Floats], actuated: Sequence[int]
) -> Mask:
    """(rows,): whether a tree needs no torque of passive joints; True also where it is unknown."""
    rows = len(values["q"])
    without = passive_places(arm, actuated)
    tau = values.get("tau")
    if tau is None:
        given = {name: values.get(name, 0.0) for name in ("q", "qd", "qdd")}
        tau = evaluate_any_arm_rows(arm, "inverse", given)[0]["tau"]
    asked = np.abs(np.broadcast_to(tau, (rows, arm.n))[:, without])
    return np.asarray(~(asked > torque_tolerance(tau)).any(axis=-1))


def is_equilibrium(arm: Arm, q: Floats, qd: Floats, qdd: Floats, tau: Floats) -> bool:
    """Whether one state (n,) is an equilibrium: what accelerates it is the rounding of torques."""
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


def _with_loops(
    arm: Arm, state: dict[str, Floats], held: bool, actuated: Sequence[int], running: EngineOptions
) -> OperatingPoint:
    how = _run_options(running)
    q, qd = state["q"], state["qd"]
    basis = independent_motions(arm, q)
    if held:
        wanted = evaluate_arm(without_closures(arm), "inverse", state, **how)["tau"]
        state["tau"] = _held_by_motors(arm, wanted, basis, actuated)
    tau = require_no_passive_torque(arm, state["tau"], actuated)
    found = evaluate_arm(arm, "linearize-forward", {"q": q, "qd": qd, "tau": tau}, **how)
    columns = np.moveaxis(basis, -1, -2)
    rates = close_change(arm, q[..., None, :], qd[..., None, :], dq=columns).dqd
    return OperatingPoint(
        q,
        qd,
        found["qdd"],
        tau,
        found["dqdd_dq"],
        found["dqdd_dqd"],
        found["dqdd_dtau"],
        basis,
        np.moveaxis(rates, -1, -2),
    )


def independent_motions(arm: Arm, q: Floats) -> Floats:
    """An orthonormal basis (..., n, d) of the motions that the closures allow at q.

    Its columns are those of a singular value decomposition, each with its largest entry positive.
    """
    L = loop_constraints(arm, q).jacobian
    _, sizes, Vt = np.linalg.svd(L)
    floor = DEPENDENT_WITHIN * sizes.max(axis=-1, initial=0.0, keepdims=True)
    ranks = (sizes > floor).sum(axis=-1)
    rank = int(ranks.flat[0])
    if (ranks != rank).any():
        row = int(np.argmax(ranks.ravel() != rank))
        raise RobolinError(
            f"state {row}: the closures leave {arm.n - int(ranks.flat[row])} motions free, "
            f"{arm.n - rank} in state 0",
            where=arm.source,
            hint="ask about the states one by one",
        )
    if rank == arm.n:
        raise RobolinError("the closures leave nothing free to move", where=arm.source)
    basis = np.moveaxis(Vt[..., rank:, :], -1, -2)
    largest = np.take_along_axis(basis, np.abs(basis).argmax(axis=-2)[..., None, :], axis=-2)
    signed: Floats = basis * np.sign(largest)
    return signed


def _held_by_motors(arm: Arm, wanted: Floats, basis: Floats, actuated: Sequence[int]) -> Floats:
    """The least torques of the motors that do on the free motions what `wanted` does.

    With a motor at every joint these are `wanted` itself, and the closures bear nothing.
    """
    without = passive_places(arm, actuated)
    if not without:
        return wanted
    across = np.moveaxis(basis, -1, -2)
    force = across @ wanted[..., None]
    driven = across[..., list(actuated)]
    torque = np.linalg.pinv(driven, rcond=DEPENDENT_WITHIN) @ force
    left = (basis @ (force - driven @ torque))[..., 0]
    if (np.abs(left) > torque_tolerance(wanted)).any():
        raise passive_torque(arm, left, without)
    tau = np.zeros_like(wanted)
    tau[..., list(actuated)] = torque[..., 0]
    return tau


# a torque below this share of the largest one in its state, or of 1, is rounding
NEGLIGIBLE_TORQUE = 1e-9

JointNames = Sequence[str] | str | None


# `actuated="all"` gives every joint a motor, also those that the description has as passive
ALL_JOINTS = "all"


def actuated_places(arm: Arm, actuated: JointNames, passive: JointNames) -> tuple[int, ...]:
    """The places in q of the joints with a motor: those named, or all but those named.

    By default they are those that the description has, which are all unless it says otherwise.
    """
    if actuated is not None and passive is not None:
        raise UsageError("actuated and passive both say which joints have a motor", where="passive")
    if actuated is not None and not _means_all(arm, actuated):
        places = joint_places(arm, "actuated", actuated)
    else:
        described = arm.passive_joints if actuated is None else ()
        without = joint_places(arm, "passive", described if passive is None else passive)
        places = tuple(i for i in range(arm.n) if i not in without)
    if not places:
        hint = "name one that has: --actuated JOINT, or --actuated all"
        raise UsageError("no joint has a motor", where="actuated", hint=hint)
    return places


def _means_all(arm: Arm, names: Sequence[str] | str) -> bool:
    """Whether this is the word for all joints and not the name of one."""
    named = [names] if isinstance(names, str) else list(names)
    return named == [ALL_JOINTS] and ALL_JOINTS not in arm.joint_names


def joint_places(arm: Arm, keyword: str, names: Sequence[str] | str) -> tuple[int, ...]:
    """Where the named joints stand in q; a joint with several freedoms stands for all of them."""
    wanted = [names] if isinstance(names, str) else list(names)
    groups = {group.name: sorted(arm.places(group).values()) for group in arm.groups}
    found: list[int] = []
    for name in wanted:
        if name in groups:
            found += groups[name]
        elif name in arm.joint_names:
            found.append(arm.joint_names.index(name))
        else:
            hint = did_you_mean(str(name), (*arm.joint_names, *groups))
            raise UsageError(f"{keyword}: '{arm.name}' has no joint '{name}'", hint=hint)
    return tuple(sorted(set(found)))


def passive_places(arm: Arm, actuated: Iterable[int]) -> list[int]:
    """The places in q of the joints without a motor."""
    driven = set(actuated)
    return [i for i in range(arm.n) if i not in driven]


def torque_tolerance(tau: Floats) -> Floats:
    """(..., 1): below what a torque of each state is nothing but rounding."""
    largest: Floats = np.abs(tau).max(axis=-1, initial=0.0, keepdims=True)
    return NEGLIGIBLE_TORQUE * np.maximum(1.0, largest)


def require_no_passive_torque(arm: Arm, tau: Floats, actuated: Sequence[int]) -> Floats:
    """The torques with exact zeros at passive joints, which must not be asked for any."""
    without = passive_places(arm, actuated)
    if not without:
        return tau
    asked = np.abs(tau[..., without])
    if (asked > torque_tolerance(tau)).any():
        raise passive_torque(arm, tau, without)
    tau = tau.copy()
    tau[..., without] = 0.0
    return tau


def passive_torque(arm: Arm, tau: Floats, without: Sequence[int]) -> RobolinError:
    """The complaint about the largest torque that a joint without a motor would have to give."""
    rows = tau.reshape(-1, arm.n)[:, list(without)]
    row, at = np.unravel_index(int(np.abs(rows).argmax()), rows.shape)
    joint = arm.joints[without[int(at)]]
    size = f"{rows[row, at]:.4g} {unit_of('tau', [joint.kind])}"
    state = f"state {row}: " if len(rows) > 1 else ""
    return RobolinError(
        f"{state}joint '{joint.name}' is passive and would have to give {size} here",
        where=arm.source,
        hint="trim (--trim) finds an equilibrium nearby; --actuated all gives all joints a motor",
    )
