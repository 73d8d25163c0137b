"""Columns that go along into the result, and quantities that are derived from others."""

from __future__ import annotations

from collections.abc import Sequence

from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.column_rules import RecordingRules


def carried_columns(names: Sequence[str], rules: RecordingRules, where: str) -> dict[str, int]:
    """Where the columns stand that go along, by their names in the file."""
    found: dict[str, int] = {}
    for name in rules.carry:
        if name not in names:
            hint = did_you_mean(name, list(names), "look at the first line of the file")
            raise RobolinError(f"there is no column '{name}'", where=where, hint=hint)
        if list(names).count(name) > 1:
            message = f"the column '{name}' is there more than once"
            raise RobolinError(message, where=where, hint="keep one of them")
        found[name] = names.index(name)
    return found


def require_units(rules: RecordingRules, where: str) -> None:
    """Refuse angles in a unit that neither the file nor anybody else said."""
    if not (rules.degrees or rules.radians):
        message = "the dataset does not say in which unit its angles are"
        hint = "--degrees or --radians; what was normalized has to be brought back first"
        raise UsageError(message, where=where, hint=hint)


def derivable(
    names: Sequence[str], wanted: Sequence[str], rules: RecordingRules
) -> tuple[str, ...]:
    """Velocities and accelerations that are wanted and that no column gives."""
    if rules.free_turns:
        message = "velocities of a joint that turns freely are no derivatives of its angles"
        hint = "give columns of velocities"
        raise UsageError(message, where=f"--differentiate={rules.differentiate}", hint=hint)
    given = {
        short
        for short, word in COLUMN_WORDS.items()
        if any(_means(name, short, word) for name in names)
    }
    # torques determine accelerations
    missing = ("qd",) if "tau" in given and "tau" in wanted else ("qd", "qdd")
    return tuple(name for name in missing if name in wanted and name not in given)


def _means(name: str, short: str, word: str) -> bool:
    """Whether a column is called as one of this quantity, whatever its joint."""
    styles = (f"/{word}", f".{short}")
    numbered = name.removeprefix(short)
    return (
        name.endswith(styles)
        or name.startswith(f"{short}_")
        or (numbered != name and numbered.strip("[]").isdigit())
    )
