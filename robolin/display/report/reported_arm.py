"""What a page tells about one arm: description, findings, motion, linear model and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.checking.verification.verify import Verification, verify
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.description.model import Finding
from robolin.display.report.closed_motion import closed_motion
from robolin.display.report.reported_model import ReportedModel, reported_model
from robolin.display.report.reported_motion import ReportedMotion, reported_motion, telling_rows
from robolin.errors import RobolinError
from robolin.queries.loop_answer import LoopOptions
from robolin.queries.query_context import Notify
from robolin.queries.states import States


@dataclass(frozen=True, eq=False)
class ReportedArm:
    """An arm with everything that is told about it.

    name:     by which the page calls it
    findings: what `validate` says; None where there is no file to look at
    motion:   its motion, or why there are no torques
    model:    its linear models, or why there are none
    verified: what `verify` says; None if it was not asked
    """

    name: str
    arm: Arm
    findings: Sequence[Finding] | None
    motion: ReportedMotion | RobolinError
    model: ReportedModel | RobolinError
    verified: Verification | None

    @property
    def first_pose(self) -> Floats:
        """The positions that the arm is first drawn at, zeros where there are none."""
        if isinstance(self.motion, RobolinError):
            return np.zeros(self.arm.n)
        first: Floats = np.nan_to_num(self.motion.values["q"][0])
        return first


@dataclass(frozen=True)
class ReportOptions:
    """What a page is to tell beside what it always does.

    verify_states: how many states `verify` looks at; 0 leaves it out
    close:         joints that stay while others bring the arm onto its closures, or 'least'
    """

    states: States
    verify_states: int
    notify: Notify
    close: str | None = None


def reported_arm(
    name: str, arm: Arm, findings: Sequence[Finding] | None, options: ReportOptions
) -> ReportedArm:
    """Work out everything that is told about an arm."""
    motion = _motion(arm, options)
    if isinstance(motion, RobolinError):
        model: ReportedModel | RobolinError = motion
    else:
        model = reported_model(arm, motion, telling_rows(motion))
    states = options.verify_states
    verified = verify(arm, samples=states) if states else None
    return ReportedArm(name, arm, findings, motion, model, verified)


def _motion(arm: Arm, options: ReportOptions) -> ReportedMotion | RobolinError:
    """The motion; loops that stand open where nobody said how they are closed are still drawn."""
    states, close = options.states, options.close
    LoopOptions(close=close).require_useful(arm)
    if not arm.loops:
        return reported_motion(arm, states, options.notify)
    try:
        return closed_motion(arm, states, close, options.notify)
    except RobolinError as error:
        if not states.options and close is None:
            return error
        raise
