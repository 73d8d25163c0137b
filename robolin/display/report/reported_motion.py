"""Motion of a report: all rows, torques, margins and the condition number of 𝓜."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robolin.analysis.limits import ClosestApproach, JointLimits
from robolin.analysis.residuals import Residuals, ResidualSums
from robolin.api.mass_matrices import mass_matrix
from robolin.control.linear_model import state_space
from robolin.control.operating_point import ALL_JOINTS
from robolin.control.poles import EDGE
from robolin.control.state_space import StateSpace
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers
from robolin.core.natural_scales import UNDECIDED_RATE, NaturalScales
from robolin.core.records import dataclass
from robolin.core.result import Result
from robolin.display.plots.panels import motion_scales
from robolin.errors import RobolinError
from robolin.queries.answer import answer_stream
from robolin.queries.question import Question
from robolin.queries.request import MessageCallback
from robolin.queries.states import States
from robolin.queries.values import Values

MOTION_QUANTITIES = ("q", "qd", "qdd")


@dataclass(frozen=True, eq=False)
class ReportedClosures:
    """Constraint forces and constraint violation of closed loops, row by row.

    names:   of the equations, closure and component
    forces:  (rows, equations) in N, and N·m for moments
    open_by: (rows,) in m or rad, largest violation of an equation
    rank:    (rows,) number of independent equations
    """

    names: tuple[str, ...]
    forces: Floats
    open_by: Floats
    rank: Numbers


@dataclass(frozen=True, eq=False)
class ReportedMotion:
    """Rows of a motion, or a single state.

    time:      (rows,) in s from the first row, or row numbers
    clock:     label of the time axis
    values:    q, qd, qdd and tau, each (rows, n)
    condition: cond(𝓜) of every row; for closed loops of the inertia of free motions
    contract:  model assumptions of the torques
    scales:    natural scales of the robot in this motion
    closures:  constraint forces, None without closed loops
    """

    time: Floats
    clock: str
    values: Mapping[str, Floats]
    condition: Floats
    margins: JointLimits
    contract: Mapping[str, Any]
    inputs: Mapping[str, str]
    scales: NaturalScales
    closures: ReportedClosures | None = None
    residuals: Residuals | None = None

    @property
    def rows(self) -> int:
        return len(self.time)


def reported_motion(
    arm: Arm, states: States, notify: MessageCallback, residual: bool = False
) -> ReportedMotion:
    """Compute the torques of all rows, with the states they belong to.

    residual: compare them with the measured torques of the recording
    """
    approach, parts, sums = ClosestApproach(arm), [], ResidualSums(arm)

    def watch(values: Values, part: Result) -> None:
        # copy: the next part may reuse the memory
        tau = np.array(np.atleast_2d(part.arrays[0].values))
        zero = np.zeros(arm.n)
        motion = {
            name: np.array(np.broadcast_to(np.atleast_2d(values.get(name, zero)), tau.shape))
            for name in MOTION_QUANTITIES
        }
        approach.add(motion["q"], motion["qd"], tau, part.time)
        if residual:
            motion["tau_measured"] = np.array(part["tau_measured"])
            sums.add(motion["tau_measured"], tau, part.time)
        parts.append((motion | {"tau": tau}, part.time))

    question = Question("inverse", residual=residual)
    with answer_stream(arm, question, states, notify=notify, watch=watch) as stream:
        for _part in stream.parts:
            pass
        ending = stream.ending(sum(len(values["tau"]) for values, _ in parts))
    values = {name: np.concatenate([each[name] for each, _ in parts]) for name in parts[0][0]}
    times = [time for _, time in parts if time is not None]
    time, clock = seconds_from_first(np.concatenate(times) if times else None, len(values["tau"]))
    condition = _conditions(arm, values["q"])
    scales = motion_scales(arm.model_dict, arm.contract, values["qd"], values["qdd"])
    return ReportedMotion(
        time,
        clock,
        values,
        condition,
        approach.result(),
        ending.contract,
        ending.inputs,
        scales,
        residuals=sums.result() if residual else None,
    )


def seconds_from_first(time: Numbers | None, rows: int) -> tuple[Floats, str]:
    """Times relative to the first, so that the float32 of plots resolves them, and their label."""
    if time is None:
        return np.arange(1.0, rows + 1.0), "row"
    if time.dtype.kind == "M":
        since = (time - time[0]) / np.timedelta64(1, "s")
        return since.astype(np.float64), f"s after {np.datetime_as_string(time[0])}"
    since = (time - time[0]).astype(np.float64)
    return since, "s" if not time[0] else f"s after {float(time[0]):.9g} s"


def _conditions(arm: Arm, q: Floats) -> Floats:
    """Ratio of largest to smallest eigenvalue of 𝓜, NaN if undefined."""
    ratios = np.full(len(q), np.nan)
    fine = np.isfinite(q).all(axis=1)
    if fine.any():
        ratios[fine] = condition_of(mass_matrix(arm, q[fine]))
    return ratios


def condition_of(M: Floats) -> Floats:
    """Condition number of inertias (rows, d, d)."""
    values = np.linalg.eigvalsh(M)
    # round-off can make the smallest eigenvalue 0 or negative: the ratio is undefined
    low = np.where(values[:, 0] > 0.0, values[:, 0], np.nan)
    ratio: Floats = values[:, -1] / low
    return ratio


def notable_rows(motion: ReportedMotion) -> list[int]:
    """Notable rows: nearest to a limit, largest torque, worst condition number."""
    tau, condition = motion.values["tau"], motion.condition
    rows = [margin.row for margin in motion.margins.margins]
    rows += [int(row) for row in np.argmax(np.nan_to_num(np.abs(tau)), axis=0)]
    return sorted({*rows, int(np.argmax(np.nan_to_num(condition))), 0, motion.rows - 1})


MOST_POLES = 240
# maximum number of entries of A and B together
MOST_PAGE_NUMBERS, FEWEST_MODELS = 20_000, 12


@dataclass(frozen=True, eq=False)
class ReportedModel:
    """Linear models at some rows of a motion.

    rows:      (instants,) rows of the motion
    poles:     (instants, N) complex, in 1/s
    stability: (instants, N) of each pole, see `Poles.stability`; poles that rounded inputs decide
               are marginally stable
    chosen:    instants whose matrices are stored
    """

    rows: Numbers
    poles: Numbers
    stability: Numbers
    chosen: Numbers
    model: StateSpace


def reported_model(
    arm: Arm, motion: ReportedMotion, telling: Sequence[int]
) -> ReportedModel | RobolinError:
    """Models at evenly spaced and notable rows of a motion, or the reason for none."""
    fine = np.flatnonzero(np.isfinite(motion.values["tau"]).all(axis=1))
    preferred = np.flatnonzero(np.isin(fine, telling))
    rows = fine[spread_rows(len(fine), MOST_POLES, preferred)]
    q, qd, qdd, tau = (motion.values[name][rows] for name in ("q", "qd", "qdd", "tau"))
    try:
        # accelerations determine the torques of a tree, but not of closed loops
        model = _model(arm, q, qd, *((None, tau) if arm.loops else (qdd, "hold")))
        poles = model.poles()
    except RobolinError as error:
        return error
    numbers = model.A[0].size + model.B[0].size
    most = max(FEWEST_MODELS, MOST_PAGE_NUMBERS // numbers)
    chosen = spread_rows(len(rows), most, np.flatnonzero(np.isin(rows, telling)))
    stability = np.where(poles.frequency < UNDECIDED_RATE, EDGE, poles.stability)
    return ReportedModel(rows, poles.values, stability, chosen, model[chosen])


def _model(arm: Arm, q: Floats, qd: Floats, qdd: Floats | None, tau: Floats | str) -> StateSpace:
    """Models with the described motors; all joints are actuated if a passive one needs torque."""
    try:
        return state_space(arm, q, qd, qdd, tau)
    except RobolinError:
        if not arm.passive_joints:
            raise
        return state_space(arm, q, qd, qdd, tau, actuated=ALL_JOINTS)


def spread_rows(rows: int, most: int, preferred: Numbers) -> Numbers:
    """At most `most` rows, evenly spaced, including up to half as many preferred rows."""
    if rows <= most:
        return np.arange(rows)
    preferred = np.unique(preferred)[: most // 2]
    even = np.linspace(0, rows - 1, most - len(preferred)).round().astype(np.int64)
    return np.unique(np.concatenate([even, preferred]))


def states_of(model: ReportedModel) -> Floats:
    """A and B side by side at the chosen instants: (instants, N, N + m)."""
    return np.concatenate([model.model.A, model.model.B], axis=-1)
