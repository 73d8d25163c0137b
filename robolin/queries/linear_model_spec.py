"""Specification of a linear model: actuated joints, outputs, operating point, sample time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.core.number_parsing import FlagText, number
from robolin.core.threads import threads_for
from robolin.errors import UsageError
from robolin.queries.loop_answer import LoopOptions, closed_state, loop_options
from robolin.queries.question import Question
from robolin.queries.states import States

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace
    from robolin.control.trim import Trim
    from robolin.core.choices import Discretization

# state quantities of a model; the default torque gives zero acceleration
MODEL_STATE = ("q", "qd", "tau")

# A and B have 6 n² entries; about five times as many intermediate numbers are computed
_INTERMEDIATE_FACTOR = 5


@dataclass(frozen=True)
class LinearModelSpec:
    """Options of a linear model, independent of its operating point."""

    arm: Arm
    actuated: tuple[str, ...] | None
    passive: tuple[str, ...] | None
    outputs: tuple[str, ...]
    reference: str
    dt: float | None
    discretize: Discretization
    trim: bool
    keep: tuple[str, ...]
    loops: LoopOptions

    def model(self, values: Mapping[str, Floats], jobs: int | None = None) -> StateSpace:
        """Linearize about q, qd and tau, or about q, qd and qdd."""
        from robolin.control.linear_model import state_space

        given = closed_state(self.arm, self.loops, values)
        return state_space(
            self.arm,
            given.get("q", 0.0),
            given.get("qd", 0.0),
            None if "tau" in given else given.get("qdd"),
            given.get("tau", "hold"),
            actuated=self.actuated,
            passive=self.passive,
            outputs=self.outputs,
            reference=self.reference,
            dt=self.dt,
            method=self.discretize,
            jobs=jobs or threads_for(_workload(self.arm, given)),
        )

    def is_feasible(self, values: Mapping[str, Floats]) -> Mask:
        """(rows,): False where a passive joint would need a torque.

        Closed loops are not checked: constraint forces may carry the load of passive joints.
        """
        from robolin.control.operating_point import actuated_indices, passive_joints_unloaded

        rows = len(values["q"])
        if self.arm.loops:
            return np.ones(rows, dtype=bool)
        actuated = actuated_indices(self.arm, self.actuated, self.passive)
        return passive_joints_unloaded(self.arm, values, actuated)

    def trimmed(self, q: Floats) -> Trim:
        """Return the equilibrium near q."""
        from robolin.control.trim import trim

        return trim(self.arm, q, actuated=self.actuated, passive=self.passive, keep=self.keep)


def spec_from_question(arm: Arm, question: Question) -> LinearModelSpec:
    """Return the linear model that a question specifies."""
    loops = loop_options(question)
    loops.require_useful(arm)
    return LinearModelSpec(
        arm,
        _names(question, "actuated"),
        _names(question, "passive"),
        _names(question, "outputs") or ("q", "qd"),
        question.text("reference") or "world",
        seconds(question, "dt"),
        cast("Discretization", question.text("discretize") or "zoh"),
        question.asked("trim"),
        _names(question, "keep") or (),
        loops,
    )


def validate_model_options(question: Question, states: States) -> None:
    """Reject contradictory options of a linear model."""
    if "actuated" in question.asks and "passive" in question.asks:
        hint = "name the joints with a motor, or those without one"
        raise UsageError("cannot go together with --passive", where="--actuated", hint=hint)
    for name, required in (("keep", "trim"), ("discretize", "dt")):
        if name in question.asks and required not in question.asks:
            raise UsageError(
                "has no effect here", where=f"--{name}", hint=f"it is for --{required}"
            )
    if question.asked("trim"):
        for name in ("qd", "qdd", "tau"):
            if name in states.values:
                hint = "an arm in equilibrium is at rest, and its torques are found"
                raise UsageError(f"cannot go together with --{name}", where="--trim", hint=hint)
        if states.trajectory is not None or states.arrays:
            hint = "an equilibrium is sought near one pose, --q"
            raise UsageError("cannot go together with --trajectory", where="--trim", hint=hint)
    seconds(question, "dt")


def seconds(question: Question, label: str) -> float | None:
    """Parse a positive time in s; None if the option is absent."""
    text = question.text(label)
    if text is None:
        return None
    typed = FlagText(f"--{label}", text)
    value = number(typed, text)
    if not value > 0.0:
        raise typed.wrong("a time of more than 0 s is needed", f"for example --{label} 0.01")
    return value


def _workload(arm: Arm, values: Mapping[str, Floats]) -> int:
    """Approximate number of floating-point results computed for these models."""
    rows = max((len(each) for each in values.values() if each.ndim > 1), default=1)
    return rows * _INTERMEDIATE_FACTOR * 6 * arm.n**2


def _names(question: Question, label: str) -> tuple[str, ...] | None:
    text = question.text(label)
    return None if text is None else tuple(name.strip() for name in text.split(","))
