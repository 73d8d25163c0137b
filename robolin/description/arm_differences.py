"""What two arms have in different figures, in words: of their descriptions, and as loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from robolin.core.arm import Arm
from robolin.description.model import with_gravity

# lines of the contract that tell how an arm was loaded, beyond the figures of its description
LOADED = (
    *("gravity", "base", "tip", "locked", "mimic"),
    *("damping", "springs", "friction", "armature", "payload", "wrench"),
)
# what of an arm decides how it moves, for arms that were changed after they were loaded
MOVING = (
    *("links_tip_to_base", "joint_names", "groups", "floating_base", "locked_joints", "gravity"),
    *("damping", "springs", "friction_velocity", "wrenches", "loops"),
)
# of many differences, so many are told
TOLD = 3


class DescribedArm(NamedTuple):
    """What is known of an arm: its contract, and the figures of its description or None."""

    contract: Mapping[str, Any]
    figures: Mapping[str, Any] | None


def differences(here: DescribedArm, there: DescribedArm) -> list[str]:
    """What differs between the arm here and the one there."""
    told = [
        f"{key}: {there.contract[key]} there, {here.contract[key]} here"
        for key in LOADED
        if key in here.contract
        and key in there.contract
        and here.contract[key] != there.contract[key]
    ]
    if here.figures is None or there.figures is None:
        return told
    return [*_changed("", with_gravity(here.figures), with_gravity(there.figures)), *told]


def moving_differences(here: Arm, there: Arm) -> list[str]:
    """What differs between two arms that does not move alike; nothing if they do."""
    names = [name for name in MOVING if getattr(here, name) != getattr(there, name)]
    if not names:
        return []
    described = (DescribedArm(arm.contract, arm.figures) for arm in (here, there))
    return differences(*described) or [f"other {name.partition('_')[0]}" for name in names]


def in_words(differ: Sequence[str]) -> str:
    """The first few differences, and how many more there are."""
    more = f"; and {len(differ) - TOLD} more" if len(differ) > TOLD else ""
    return f"{'; '.join(differ[:TOLD])}{more}"


def _changed(place: str, here: Any, there: Any) -> Iterator[str]:
    """Every figure that differs, by where it stands; names and motors do not change the motion."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in dict.fromkeys([*there, *here]):
            where = f"{place} {key}".strip()
            if where != "arm name" and key != "actuated":
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
