"""Feedback gains stored by `lqr`, as the control law of a simulation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robolin.control.optimization.optimal_motion import centred_velocities
from robolin.control.simulation.feedback_control import FeedbackControl
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulated_motion import FeedbackCost, Simulation
from robolin.control.simulation.torques import reference_of
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers, seconds_of
from robolin.core.configuration import change_between
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.core.result import Result
from robolin.core.text import pluralize
from robolin.description.inspection import DescribedArm, in_words
from robolin.description.inspection import differences as figure_differences
from robolin.errors import RobolinError, UsageError
from robolin.io.provenance import open_bytes, to_json_types
from robolin.io.stored import open_stored
from robolin.queries.answer import concat_parts
from robolin.queries.lqr_answer import effort_weights, state_weights
from robolin.queries.question import Question
from robolin.queries.request import QueryContext, display_name

if TYPE_CHECKING:
    from robolin.control.riccati import Weights


INTEGRAL_SUFFIX, OPTIMIZE = "/integral", "optimize"


@dataclass(frozen=True, eq=False)
class StoredFeedback:
    """A control law from a file, with its cost weights if known.

    differ: parameters in which the arm differs from the model of the gains
    """

    law: FeedbackControl
    name: str
    digest: str
    differ: list[str]

    @property
    def times(self) -> Floats | None:
        """Time of each row of gains in s; None for gains about one operating point."""
        return None if self.law.time is None else np.asarray(self.law.time, dtype=float)

    @property
    def start(self) -> tuple[Floats, Floats]:
        """Initial q and qd of the reference."""
        q, qd = (np.asarray(each, dtype=float) for each in (self.law.q, self.law.qd))
        return (q, qd) if self.law.time is None else (q[0], qd[0])

    @property
    def line(self) -> str:
        """Description of the control law for the contract."""
        parts = [f"τ₀ - K x, gains of {self.name}"]
        if self.law.time is not None:
            parts[0] += f", interpolated linearly between its {np.size(self.law.time)} rows"
        if self.law.dt is not None:
            parts.append(f"held for {self.law.dt:g} s")
        return ", ".join(parts)


def read_feedback(arm: Arm, path: str, allow_mismatch: bool = False) -> StoredFeedback:
    """Read gains for this arm; with `allow_mismatch`, only the joint names must match."""
    name = display_name(path)
    with open_stored(path) as stored:
        result = concat_parts(stored.result_stream())
    with open_bytes(Path(path)) as stream:
        digest = hashlib.sha256(stream.read()).hexdigest()
    _require_gains(result, name)
    require_joints(arm, result, name)
    differ = model_differences(arm, result)
    if differ and not allow_mismatch:
        raise gains_mismatch_error(arm, result, differ, name)
    _require_rows(result, name)
    integrals = _integrals(result)
    optimal = result.verb == OPTIMIZE
    continuous = "time-varying" in result.options or result.options.get("method") == "acceleration"
    law = FeedbackControl(
        K=result["K"],
        q=result["q"],
        qd=centred_velocities(result["qd"]) if optimal and continuous else result["qd"],
        tau=result["tau"],
        actuated=[label.removesuffix("/effort") for label in _labels(result, "K")[0]],
        time=None if result.time is None else seconds_of(result.time, name),
        basis=dict(result.stored()).get("basis"),
        P=result["P"],
        integrals=_integral_rates(arm, result, integrals) if integrals else None,
        dt=None if continuous else _sample_time(result),
    )
    weights = None if optimal else stored_weights(arm, result, integrals, not differ)
    if weights is not None:
        law = replace(law, Q=weights.Q, R=weights.R, N=weights.N, cost_dt=_sample_time(result))
    return StoredFeedback(law, name, digest, differ)


def _require_gains(result: Result, name: str) -> None:
    """Reject results of other commands, and models with states that the arm does not have."""
    if result.verb not in ("lqr", OPTIMIZE) or "K" not in result:
        hint = "store gains with `robolin lqr ARM -o gains.npz`"
        raise RobolinError(
            f"must be a result of lqr or optimize, got a result of {result.verb}",
            where=name,
            hint=hint,
        )
    method = result.options.get("discretize", "zoh")
    if method not in ("zoh", "euler"):
        message = f"gains of a model with --discretize {method} are not supported"
        raise RobolinError(message, where=name, hint="compute gains with --discretize zoh")


def _require_rows(result: Result, name: str) -> None:
    """Reject rows without gains or time stamps, and gains along closed-loop trajectories."""
    if (absent := np.flatnonzero(np.isnan(result["K"]).reshape(result.batch or 1, -1)[:, 0])).size:
        more = f", and {len(absent) - 1} other rows" if len(absent) > 1 else ""
        message = f"gains are missing in row {int(absent[0]) + 1}{more}"
        hint = "compute the gains from rows that all have a result"
        raise RobolinError(message, where=name, hint=hint)
    if result.batch is not None and result.time is None:
        hint = "compute gains along a trajectory with a column 'time'"
        raise RobolinError("the gains have no time stamps", where=name, hint=hint)
    if result.batch is not None and "basis" in result:
        message = "gains along a trajectory are not supported with closed loops"
        raise RobolinError(message, where=name, hint="compute gains for one state")


def _sample_time(result: Result) -> float | None:
    """Time in s for which torques are held; None for continuous-time gains."""
    if result.verb == OPTIMIZE and result.time is not None:
        return float(result.time[1] - result.time[0])
    return float(result.options["dt"]) if "dt" in result.options else None


def _integrals(result: Result) -> list[str]:
    """Outputs with integral feedback."""
    states = _labels(result, "K")[1]
    return [
        label.removesuffix(INTEGRAL_SUFFIX) for label in states if label.endswith(INTEGRAL_SUFFIX)
    ]


def _integral_rates(arm: Arm, result: Result, outputs: list[str]) -> Numbers:
    """Rates of the integrals per state: C - D K of the integrated outputs."""
    from robolin.control.linear_model import state_space

    model = state_space(
        arm,
        result["q"],
        result["qd"],
        tau=result["tau"],
        actuated=[label.removesuffix("/effort") for label in _labels(result, "K")[0]],
        outputs=outputs,
        reference=str(result.options.get("reference", "world")),
    )
    padded = np.concatenate(
        [model.C, np.zeros((*model.batch, len(outputs), len(outputs)))], axis=-1
    )
    rates: Numbers = padded - model.D @ result["K"]
    return rates


def _labels(result: Result, name: str) -> tuple[tuple[str, ...], ...]:
    return next(array.labels for array in result.arrays if array.name == name)


def require_joints(arm: Arm, result: Result, name: str) -> None:
    """Reject gains for other joints."""
    if result.joints != arm.joint_names:
        hint = f"'{arm.name}' has the joints {', '.join(arm.joint_names)}"
        joints = ", ".join(result.joints)
        message = f"the gains are for another robot{_named(arm, result)} with the joints {joints}"
        raise RobolinError(message, where=name, hint=hint)


def model_differences(arm: Arm, result: Result) -> list[str]:
    """List the differences between the arm and the model of a result, as text."""
    here = DescribedArm(to_json_types(arm.contract), to_json_types(arm.model_dict))
    return figure_differences(
        here, DescribedArm(to_json_types(result.contract), to_json_types(result.model))
    )


def gains_mismatch_error(arm: Arm, result: Result, differ: list[str], name: str) -> RobolinError:
    """Return the error for gains computed for other model parameters."""
    return RobolinError(
        f"the gains are for another robot{_named(arm, result)}: {in_words(differ)}",
        where=name,
        hint="compute the gains again, or accept the gains with --allow-model-mismatch",
    )


def _named(arm: Arm, result: Result) -> str:
    """Name of the other arm for a message; '' if both names are equal."""
    name = str((result.model or {}).get("arm", {}).get("name", ""))
    return f", '{name}'" if name and name != arm.name else ""


# options of `lqr` that set the cost weights
WEIGHING = ("weight", "effort", "bryson")
# relative error assumed for a cost that was computed only once
_UNKNOWN = 1e-2


def stored_weights(
    arm: Arm, result: Result, integrals: list[str], same_arm: bool
) -> Weights | None:
    """Return the stored cost weights, or compute them from the options of the result.

    None if they depend on limits, which another arm may not have.
    """
    from robolin.control.linear_model import state_space
    from robolin.control.riccati import Weights, weights_of, with_integrals

    if "Q" in result:
        Q, R = result["Q"], result["R"]
        return Weights(Q, R, np.zeros((len(Q), len(R))))
    options = {label: result.options[label] for label in WEIGHING if label in result.options}
    question = Question("lqr", **options)
    if question.flag("bryson") and not same_arm:
        return None
    inputs = next(array.labels for array in result.arrays if array.name == "K")[0]
    actuated = [label.removesuffix("/effort") for label in inputs]
    q, qd, tau = (result[name][0] for name in ("q", "qd", "tau"))
    outputs = integrals or ("q",)
    model = state_space(arm, q, qd, tau=tau, actuated=actuated, outputs=outputs)
    model = with_integrals(model, integrals)
    weights = (state_weights(question) or None, effort_weights(question, model) or None, None)
    return weights_of(model, *weights, question.flag("bryson"))


# the cost-to-go falls with the square of the deviation: 1 % is a tenth of the deviation
_SETTLED = 1e-2
# deviations that are rounding at the start, and too small to matter at the end
_AT_REFERENCE, _NEGLIGIBLE = 1e-8, 1e-4
_FIFTHS = 5


class ReturnCheck:
    """Finds motions under feedback that do not return to the reference of the gains.

    The cost-to-go V = xᵀPx measures the distance, because constant gains never increase it in the
    linear model.  A motion returns if V ends below 1 % of its initial value.  A motion does not
    return if V ends above its initial value, or ends above 1 % and does not decrease: its maximum
    over the last fifth of the motion is not below the maximum over the fifth before.  Gains of a
    reference motion change P, so V may rise: such a motion fails if V ends above 4 times its
    initial value, twice the deviation.

    begin: end of the disturbance, where the comparison begins
    """

    def __init__(self, arm: Arm, law: FeedbackControl, begin: float, end: float) -> None:
        self._arm, self._law, self._begin, self._end = arm, law, begin, end
        self._first: Floats | None = None
        self._last, self._away = np.zeros(()), np.zeros(arm.n)
        self._fifths: list[Floats | None] = [None] * _FIFTHS

    def update(self, motion: Simulation) -> None:
        """Add the rows of a part."""
        counted = motion.time >= self._begin
        if motion.lyapunov is None or not counted.any():
            return
        time, cost = motion.time[counted], motion.lyapunov[..., counted]
        self._first = cost[..., 0] if self._first is None else self._first
        self._last = cost[..., -1]
        reference = reference_of(self._arm, self._law.time, {"q": self._law.q}, {})
        self._away = change_between(
            self._arm, reference.at(float(time[-1]))["q"], motion.q[..., -1, :]
        )
        share = (time - self._begin) / max(self._end - self._begin, 1e-300)
        fifth = np.minimum((_FIFTHS * share).astype(int), _FIFTHS - 1)
        for i in np.unique(fifth).tolist():
            most, known = cost[..., fifth == i].max(axis=-1), self._fifths[i]
            self._fifths[i] = most if known is None else np.maximum(known, most)

    def verdict(self) -> tuple[str, bool]:
        """A clause about the end of the motion, and True for a failure; '' if there is none."""
        size = float(np.max(np.trace(np.asarray(self._law.P), axis1=-2, axis2=-1)))
        if self._first is None or not (self._first > _AT_REFERENCE**2 * size).all():
            return "", False
        returned = self._last <= np.maximum(_SETTLED * self._first, _NEGLIGIBLE**2 * size)
        before, last = self._fifths[-2:]
        constant = self._law.time is None
        stays = constant and before is not None and last is not None and last >= before
        failed = ~returned & ((self._last > (1.0 if constant else 4.0) * self._first) | stays)
        point = "operating point" if constant else "reference motion"
        if returned.ndim:
            if failed.any():
                count = f"{int(failed.sum())} of {pluralize(failed.size, 'motion')}"
                return f"{count} fail to return to the {point}", True
            return f"{int(returned.sum())} of {returned.size} motions return to the {point}", False
        if failed:
            distance, names = self._distance()
            return f"does not return to the {point}: ends {distance} away ({names})", True
        distance, _ = self._distance()
        if returned:
            return f"returns to within {distance} of the {point}", False
        ends = "still approaches the operating point: ends" if constant else "ends"
        return f"{ends} {distance} away{'' if constant else f' from the {point}'}", False

    def _distance(self) -> tuple[str, str]:
        """The largest deviation of angles and of displacements, and the joints that have it."""
        sizes, names = [], []
        for unit in ("rad", "m"):
            joints = [
                (abs(float(away)), joint.name)
                for joint, away in zip(self._arm.joints, self._away, strict=True)
                if joint_unit("position", joint.turns) == unit
            ]
            if joints:
                size, name = max(joints)
                sizes.append(f"{size:.3g} {unit}")
                names.append(name)
        return " and ".join(sizes), " and ".join(names)


def cost_text(
    context: QueryContext,
    stored: StoredFeedback,
    motion: Simulation,
    simulate_again: Callable[[Schedule], Simulation],
    schedule: Schedule,
) -> str:
    """Describe the simulated cost and the cost that the gains predict; '' if unknown.

    Args:
        context: receives a note
        stored: gains and cost weights
        motion: trajectory simulated with these gains
        simulate_again: simulates the same trajectory with another step size
        schedule: time steps of the trajectory
    """
    if motion.q.ndim > 2 or stored.law.Q is None:
        return ""
    from robolin.control.closed_loop import law_cost

    try:
        cost = law_cost(context.arm, stored.law, motion)
    except UsageError as error:
        context.note(f"the cost is unknown: {error.message}")
        return ""
    check = _by_other_steps(simulate_again, schedule)
    total, remaining = cost.spent + cost.left, cost.left
    total_error, remaining_error = (
        abs(float(total - check.spent - check.left)) if check else _UNKNOWN * abs(float(total)),
        abs(float(remaining - check.left)) if check else _UNKNOWN * abs(float(remaining)),
    )
    parts = (
        f"{known_digits(float(total), total_error, 8)}, including "
        f"{known_digits(float(remaining), remaining_error, 3)} after the end",
        f"xᵀPx at the beginning is {float(cost.predicted):.8g}",
    )
    text = "; ".join(parts)
    note = (
        f"cost {known_digits(float(total), total_error, 8)}, "
        f"including {known_digits(float(remaining), remaining_error, 3)} after the end; "
        f"predicted by xᵀPx: {float(cost.predicted):.8g}"
    )
    context.settings.notify("summary", note)
    return text


def _by_other_steps(
    simulate_again: Callable[[Schedule], Simulation], schedule: Schedule
) -> FeedbackCost | None:
    """Compute the cost with longer steps, or with shorter ones if that fails."""
    for factor in (2.0, 0.5):
        try:
            cost = simulate_again(schedule.with_steps(factor)).cost
        except RobolinError:
            continue
        if cost is not None:
            return cost
    return None


def known_digits(value: float, error: float, most: int) -> str:
    """Format a number with its correct digits given an error, at most `most` of them."""
    if error == 0.0 or value == 0.0:
        return f"{value:.{most}g}"
    if not error < 0.5 * abs(value):
        return f"about {value:.1g}"
    return f"{value:.{min(most, max(1, floor(-log10(2.0 * error / abs(value)))))}g}"
