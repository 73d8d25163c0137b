"""How the files of a question are meant, from what was said about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from robolin.answering.asks import RECORDING
from robolin.answering.flag_value_files import column_rules_with_files
from robolin.errors import UsageError
from robolin.trajectory.column_rules import RecordingRules

if TYPE_CHECKING:
    from robolin.arm import Arm


def rules_from(arm: Arm, said: Mapping[str, Any]) -> RecordingRules:
    """The rules that flags by name make, for this arm."""
    return RecordingRules(
        columns=said.get("columns") or (),
        time=said.get("time"),
        degrees=bool(said.get("degrees")),
        turning=tuple(joint.turns for joint in arm.joints),
        time_unit=said.get("time-unit"),
        carry=said.get("carry") or (),
        differentiate=said.get("differentiate"),
        radians=bool(said.get("radians")),
        free_turns=bool(arm.groups),
    )


def plain_options(said: Mapping[str, Any]) -> dict[str, Any]:
    """What flags say, in the plain types that rules are made of."""
    texts = said.get("columns")
    return {**said, "columns": column_rules_with_files(texts)} if texts else dict(said)


def require_files(said: Mapping[str, Any], flags: tuple[str, ...], there: bool) -> None:
    """Refuse words about files where there is none, and two units for one angle."""
    for name in RECORDING:
        if said.get(name) is not None and not there:
            hint = "it says how a file is meant"
            message = f"has no effect without {' or '.join(flags)}"
            raise UsageError(message, where=f"--{name}", hint=hint)
    if said.get("degrees") and said.get("radians"):
        hint = "angles are in one of them"
        raise UsageError("cannot go together with --radians", where="--degrees", hint=hint)
