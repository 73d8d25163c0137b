"""Conversion of states to joint values, rules for their file, and validation."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from robolin.core.arm import Arm
from robolin.core.number_parsing import FlagText
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS, extensions, with_nan
from robolin.io.trajectories.column_rules import ReadOptions, read_options_from
from robolin.queries.joint_values import parse_per_joint, quaternion_names
from robolin.queries.states import NAN, States

if TYPE_CHECKING:
    from robolin.core.arm import Arm


# quantities that accept degrees; ξ is not the velocity of a joint
ANGULAR = ("q", "qd", "qdd", "dq", "dqd", "dqdd")


def parse_state_quantity(states: States, arm: Arm, quantity: str) -> list[float]:
    """Parse a quantity of one state, one value per joint."""
    typed = FlagText(f"--{quantity}", states.typed[quantity])
    return parse_per_joint(typed, arm, quantity in ANGULAR, quantity == "q")


def joints_by_quaternion(states: States, arm: Arm) -> list[str]:
    """Joints whose rotation was typed as a quaternion."""
    names = quaternion_names(arm).items()
    return [joint for joint, parts in names if f"{parts[3]}=" in states.typed.get("q", "")]


def rules_of_file(states: States, arm: Arm) -> ReadOptions:
    """Rules for reading the states' file, for this arm."""
    return read_options_from(arm, states.recording)


def with_trajectory(states: States, path: str, rows: str | None) -> States:
    """Return the states with another file and row selection."""
    other = copy(states)
    object.__setattr__(other, "trajectory", path)
    object.__setattr__(other, "rows", rows)
    return other


def require_nan_support(states: States, form: str) -> None:
    """Reject NaN for failed rows in a format that cannot store NaN."""
    if states.on_bad_row == NAN and form in FORMATS and not FORMATS[form].holds_nan:
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(f"{form.upper()} has no NaN", where="--on-bad-row=nan", hint=hint)
