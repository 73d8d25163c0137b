"""Data of a page about one robot: description, findings, motion, linear model, verification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robolin.analysis.limits import ClosestApproach
from robolin.api.closed_loops import loop_constraints
from robolin.api.inverse_and_forward import inverse
from robolin.api.mass_matrices import mass_matrix
from robolin.checking.verification.verify import Verification, verify
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers
from robolin.core.records import dataclass
from robolin.core.result import Result
from robolin.description.model import Finding
from robolin.display.plots.panels import motion_scales
from robolin.display.report.reported_motion import (
    MOTION_QUANTITIES,
    ReportedClosures,
    ReportedModel,
    ReportedMotion,
    condition_of,
    notable_rows,
    reported_model,
    reported_motion,
    seconds_from_first,
)
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.loop_dynamics import without_closures
from robolin.evaluation.loop_linear_algebra import DEPENDENT_WITHIN
from robolin.queries.answer import answer_stream
from robolin.queries.loop_answer import LoopOptions
from robolin.queries.measured_torques import NOT_UNIQUE
from robolin.queries.question import Question
from robolin.queries.request import MessageCallback
from robolin.queries.states import HOME, States, home_or_zero
from robolin.queries.values import Values


@dataclass(frozen=True, eq=False)
class ReportedArm:
    """A robot with all data of its report.

    name:     name on the page
    findings: from `validate`; None without a file
    motion:   its motion, or the reason why there are no torques
    model:    its linear models, or the reason why they are missing
    verified: from `verify`; None if it was not requested
    """

    name: str
    arm: Arm
    findings: Sequence[Finding] | None
    motion: ReportedMotion | RobolinError
    model: ReportedModel | RobolinError
    verified: Verification | None

    @property
    def first_pose(self) -> Floats:
        """Initial positions of the drawing; without a motion the 'home' pose, or zeros."""
        if isinstance(self.motion, RobolinError):
            return self.arm.poses.get(HOME, np.zeros(self.arm.n))
        first: Floats = np.nan_to_num(self.motion.values["q"][0])
        return first


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report.

    verify_states: number of states for `verify`; 0 to skip it
    close:         joints that stay fixed when the loops are closed, or 'least'
    residual:      compare torques with the measured ones of the recording
    """

    states: States
    verify_states: int
    notify: MessageCallback
    close: str | None = None
    residual: bool = False


def reported_arm(
    name: str, arm: Arm, findings: Sequence[Finding] | None, options: ReportOptions
) -> ReportedArm:
    """Compute all data of a robot's report."""
    motion = _motion(arm, options)
    if isinstance(motion, RobolinError):
        model: ReportedModel | RobolinError = motion
    else:
        model = reported_model(arm, motion, notable_rows(motion))
    states = options.verify_states
    verified = verify(arm, samples=states) if states else None
    return ReportedArm(name, arm, findings, motion, model, verified)


def _motion(arm: Arm, options: ReportOptions) -> ReportedMotion | RobolinError:
    """The motion; robots with open loops and no `close` option are still drawn."""
    states, close = options.states, options.close
    LoopOptions(close=close).require_useful(arm)
    if not arm.loops:
        return reported_motion(arm, states, options.notify, options.residual)
    if options.residual:
        raise UsageError(NOT_UNIQUE, where="--residual", hint="add --open-loops")
    try:
        return closed_motion(arm, states, close, options.notify)
    except RobolinError as error:
        if close is None and states.options in ({}, home_or_zero(arm).options):
            return error
        raise


# one part of a result: values by name, and the times
AnswerPart = tuple[dict[str, Floats], Numbers | None]


def closed_motion(
    arm: Arm, states: States, close: str | None, notify: MessageCallback
) -> ReportedMotion:
    """Given torques, otherwise those of the open tree, and the resulting constraint forces."""
    approach, parts = ClosestApproach(arm), []

    def watch(values: Values, result: Result) -> None:
        parts.append(_part(arm, values, result))
        arrays = parts[-1][0]
        approach.add(arrays["q"], arrays["qd"], arrays["tau"], result.time)

    question = Question("linearize-forward", close=close)
    with answer_stream(arm, question, states, notify=notify, watch=watch) as stream:
        for _ in stream.parts:
            pass
        ending = stream.ending(sum(len(values["q"]) for values, _ in parts))
    values, times = _joined(parts)
    time, clock = seconds_from_first(times, len(values["q"]))
    forces, rank = values.pop("lam"), values.pop("rank")[:, 0].astype(np.int64)
    margins = approach.result()
    condition, gap = _free_inertia(arm, values["q"])
    closures = ReportedClosures(loop_constraints(arm, values["q"][0]).rows, forces, gap, rank)
    contract, inputs = ending.contract, ending.inputs
    scales = motion_scales(arm.model_dict, arm.contract, values["qd"], values["qdd"])
    return ReportedMotion(
        time, clock, values, condition, margins, contract, inputs, scales, closures
    )


def _part(arm: Arm, values: Values, result: Result) -> AnswerPart:
    """Copies, since the next part may reuse the memory."""
    rows = np.atleast_2d(result["qdd"]).shape
    motion = {
        name: np.array(np.broadcast_to(np.atleast_2d(values.get(name, np.zeros(arm.n))), rows))
        for name in MOTION_QUANTITIES
    }
    if "tau" in values:
        tau = np.array(np.broadcast_to(np.atleast_2d(values["tau"]), rows))
    else:
        tau = inverse(without_closures(arm), motion["q"], motion["qd"], motion["qdd"])
    motion |= {"qdd": np.array(np.atleast_2d(result["qdd"])), "tau": tau}
    motion["lam"] = np.array(np.atleast_2d(result["lam"]))
    motion["rank"] = np.array(np.reshape(result["rank"], (-1, 1)))
    return motion, result.time


def _joined(parts: Sequence[AnswerPart]) -> tuple[dict[str, Floats], Numbers | None]:
    values = {name: np.concatenate([each[name] for each, _ in parts]) for name in parts[0][0]}
    times = [time for _, time in parts if time is not None]
    return values, np.concatenate(times) if times else None


def _free_inertia(arm: Arm, q: Floats) -> tuple[Floats, Floats]:
    """Condition number of Nᵀ𝓜N, N spanning the free motions, and the constraint violation."""
    condition, gap = (np.full(len(q), np.nan) for _ in range(2))
    fine = np.flatnonzero(np.isfinite(q).all(axis=1))
    if len(fine):
        constraints = loop_constraints(arm, q[fine])
        gap[fine] = np.abs(constraints.open_by).max(axis=-1)
        _, sizes, across = np.linalg.svd(constraints.jacobian)
        M = mass_matrix(without_closures(arm), q[fine])
        ranks = (sizes > DEPENDENT_WITHIN * sizes.max(axis=-1, keepdims=True)).sum(axis=-1)
        for rank in np.unique(ranks[ranks < arm.n]):
            rows = np.flatnonzero(ranks == rank)
            N = across[rows, rank:, :]
            condition[fine[rows]] = condition_of(N @ M[rows] @ np.moveaxis(N, -1, -2))
    return condition, gap
