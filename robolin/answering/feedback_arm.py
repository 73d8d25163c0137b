"""Whether gains were found for the arm that they are to drive, and if not, what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from robolin.arm import Arm
from robolin.description.figures import with_gravity
from robolin.errors import RobolinError
from robolin.files.provenance_writer import plain
from robolin.results.result import Result

# lines of the contract that tell how an arm was loaded, beyond the figures of its description
LOADED = (
    *("gravity", "base", "tip", "locked", "mimic"),
    *("damping", "friction", "armature", "payload", "wrench"),
)
# of many differences, so many are told
TOLD = 3


def require_joints(arm: Arm, found: Result, name: str) -> None:
    """Refuse gains for other joints."""
    if found.joints != arm.joint_names:
        hint = f"'{arm.name}' has {', '.join(arm.joint_names)}"
        joints = ", ".join(found.joints)
        message = f"the gains are for another arm{_named(arm, found)}, with the joints {joints}"
        raise RobolinError(message, where=name, hint=hint)


def differences(arm: Arm, found: Result) -> list[str]:
    """What differs between the arm and the one that a result is about, in words."""
    here, there = plain(arm.contract), plain(found.contract)
    told = [
        f"{key}: {there[key]} there, {here[key]} here"
        for key in LOADED
        if key in here and key in there and here[key] != there[key]
    ]
    if found.model is None:
        return told
    figures = (with_gravity(plain(each)) for each in (arm.figures, found.model))
    return [*_changed("", *figures), *told]


def another_arm(arm: Arm, found: Result, differ: list[str], name: str) -> RobolinError:
    """The complaint about gains that were found for other figures."""
    more = f"; and {len(differ) - TOLD} more" if len(differ) > TOLD else ""
    return RobolinError(
        f"the gains are for another arm{_named(arm, found)}: {'; '.join(differ[:TOLD])}{more}",
        where=name,
        hint="find them anew, or run them as they are with --other-figures",
    )


def _named(arm: Arm, found: Result) -> str:
    """What the other arm is called, where that is not the same."""
    name = str((found.model or {}).get("arm", {}).get("name", ""))
    return f", '{name}'" if name and name != arm.name else ""


def _changed(place: str, here: Any, there: Any) -> Iterator[str]:
    """Every figure that differs, by where it stands; what the arm is called does not matter."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in dict.fromkeys([*there, *here]):
            where = f"{place} {key}".strip()
            if where != "arm name":
                yield from _changed(where, here.get(key), there.get(key))
    elif here != there:
        yield f"{place}: {_shown(there)} there, {_shown(here)} here"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"({', '.join(_shown(each) for each in value)})"
    if isinstance(value, Mapping):
        return "something"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
