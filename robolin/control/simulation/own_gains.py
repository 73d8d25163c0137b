"""Whether gains drive the arm that they were found for."""

from __future__ import annotations

from robolin.control.simulation.controllers import Law
from robolin.control.simulation.feedback_control import FeedbackControl
from robolin.core.arm import Arm
from robolin.description.arm_differences import in_words, moving_differences
from robolin.errors import RobolinError


def require_own_gains(arm: Arm, law: Law | None) -> None:
    """Refuse gains that say they are for an arm that moves otherwise."""
    if not isinstance(law, FeedbackControl) or law.arm is None or law.arm is arm:
        return
    if differ := moving_differences(arm, law.arm):
        named = f", '{law.arm.name}'" if law.arm.name != arm.name else ""
        raise RobolinError(
            f"the gains are for another arm{named}: {in_words(differ)}",
            where="control",
            hint="find them anew, or run them as they are: feedback(other_figures=True)",
        )
