"""What is made of states: values per joint, how their file is meant, and what is refused."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from robolin.core.number_parsing import FlagText
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS, extensions, with_nan
from robolin.io.trajectories.column_rules import RecordingRules, rules_from
from robolin.queries.joint_values import per_joint, quaternion_names
from robolin.queries.states import NAN, States

if TYPE_CHECKING:
    from robolin.core.arm import Arm

# what is typed in degrees; ξ has the unit of velocities and is no motion of a joint
ANGULAR = ("q", "qd", "qdd", "dq", "dqd", "dqdd")


def values_per_joint(states: States, arm: Arm, quantity: str) -> list[float]:
    """One state's quantity, one value per joint."""
    typed = FlagText(f"--{quantity}", states.typed[quantity])
    return per_joint(typed, arm, quantity in ANGULAR, quantity == "q")


def joints_by_quaternion(states: States, arm: Arm) -> list[str]:
    """The joints whose angles were typed as a quaternion."""
    names = quaternion_names(arm).items()
    return [joint for joint, parts in names if f"{parts[3]}=" in states.typed.get("q", "")]


def rules_of_file(states: States, arm: Arm) -> RecordingRules:
    """How the file with the states is meant, for this arm."""
    return rules_from(arm, states.recording)


def states_of_file(states: States, path: str, rows: str | None) -> States:
    """The same of another file, and of these rows of it."""
    other = copy(states)
    object.__setattr__(other, "trajectory", path)
    object.__setattr__(other, "rows", rows)
    return other


def require_none_drawn(states: States, needed: str) -> None:
    """Refuse samples where they would have no effect; `needed` is what they go with."""
    if states.samples is not None or states.seed is not None:
        name = "--samples" if states.samples is not None else "--seed"
        raise UsageError("has no effect here", where=name, hint=f"it goes with {needed}")


def require_writable_as(states: States, form: str) -> None:
    """Refuse a format that has no place for rows without an answer."""
    if states.on_bad_row == NAN and form in FORMATS and not FORMATS[form].holds_nan:
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(f"{form.upper()} has no NaN", where="--on-bad-row=nan", hint=hint)
