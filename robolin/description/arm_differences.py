"""Text for the differences between two arms: in their descriptions and load options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from robolin.core.arm import Arm
from robolin.description.model import with_gravity

# contract keys for the load options, which the description does not contain
LOADED = (
    *("gravity", "base", "tip", "locked", "mimic"),
    *("damping", "springs", "friction", "armature", "payload", "wrench"),
)
# attributes that affect the dynamics, for arms that were changed after loading
MOVING = (
    *("links_tip_to_base", "joint_names", "groups", "floating_base", "locked_joints", "gravity"),
    *("damping", "springs", "friction_velocity", "wrenches", "loops"),
)
# number of differences in a message
MAX_DIFFERENCES = 3


class DescribedArm(NamedTuple):
    """An arm's contract, and the parameters of its description or None."""

    contract: Mapping[str, Any]
    model_dict: Mapping[str, Any] | None


def differences(here: DescribedArm, there: DescribedArm) -> list[str]:
    """Differences between this arm and the other one, one text each."""
    changed_options = [
        f"{key}: {there.contract[key]} there, {here.contract[key]} here"
        for key in LOADED
        if key in here.contract
        and key in there.contract
        and here.contract[key] != there.contract[key]
    ]
    if here.model_dict is None or there.model_dict is None:
        return changed_options
    changed = _changed("", with_gravity(here.model_dict), with_gravity(there.model_dict))
    return [*changed, *changed_options]


def moving_differences(here: Arm, there: Arm) -> list[str]:
    """Differences between two arms if their dynamics differ, else an empty list."""
    names = [name for name in MOVING if getattr(here, name) != getattr(there, name)]
    if not names:
        return []
    described = (DescribedArm(arm.contract, arm.model_dict) for arm in (here, there))
    return differences(*described) or [f"other {name.partition('_')[0]}" for name in names]


def in_words(differ: Sequence[str]) -> str:
    """The first differences, and the number of the others."""
    more = f"; and {len(differ) - MAX_DIFFERENCES} more" if len(differ) > MAX_DIFFERENCES else ""
    return f"{'; '.join(differ[:MAX_DIFFERENCES])}{more}"


def _changed(path: str, here: Any, there: Any) -> Iterator[str]:
    """Every parameter that differs, by its path of keys; ignores the arm's name and motors."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in dict.fromkeys([*there, *here]):
            where = f"{path} {key}".strip()
            if where != "arm name" and key != "actuated":
                yield from _changed(where, here.get(key), there.get(key))
    elif here != there:
        yield f"{path}: {_shown(there)} there, {_shown(here)} here"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"({', '.join(_shown(each) for each in value)})"
    if isinstance(value, Mapping):
        return "something"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
