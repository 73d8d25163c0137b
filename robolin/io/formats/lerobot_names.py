"""Names in the lists of a LeRobot dataset, and the columns they become."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.errors import RobolinError

# what the lists of a dataset are, where they are called as usual
FEATURES = {"observation.state": "q", "observation.velocity": "qd", "observation.effort": "tau"}
# how LeRobot's own robots end the names of what they measure
ENDINGS = {"q": ("pos", "q"), "qd": ("vel", "dq"), "tau": ("torque", "tau", "effort")}
_LARGEST_PAGE = 1 << 24


def feature_names(folder: Path, file: str) -> dict[str, list[str]]:
    """The names in the lists, by feature."""
    page = folder / "meta" / "info.json"
    try:
        with page.open("rb") as stream:
            info: Any = json.loads(stream.read(_LARGEST_PAGE))
        features: Any = info["features"]
        return {name: _listed(each.get("names")) for name, each in dict(features).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "it has to say 'features', each with its 'names'"
        raise RobolinError("meta/info.json is not understood", where=file, hint=hint) from error


def _listed(names: Any) -> list[str]:
    """Names of a list, which some write under another name, in a list of one, or with places."""
    if isinstance(names, Mapping):
        if names and sorted(map(str, names.values())) == sorted(map(str, range(len(names)))):
            return sorted(map(str, names), key=lambda name: int(names[name]))
        lists = [each for each in names.values() if isinstance(each, list)]
        names = lists[0] if len(lists) == 1 else None
    if isinstance(names, list) and len(names) == 1 and isinstance(names[0], list):
        names = names[0]
    return [str(name) for name in names] if isinstance(names, list) else []


def columns_of(
    feature: str,
    names: Sequence[str],
    width: int,
    joints: Sequence[str],
    elsewhere: Collection[str],
) -> list[str]:
    """What the entries of a list are called: as columns here, where all joints are among them.

    elsewhere: quantities that have a list of their own
    """
    quantity = FEATURES.get(feature)
    if len(names) != width or len(set(names)) != width:
        if quantity is not None and width == len(joints):
            return [f"{COLUMN_WORDS[quantity]}[{i}]" for i in range(width)]
        return [f"{feature}[{i}]" for i in range(width)]
    plain = [f"{feature}/{name}" for name in names]
    if quantity is None or not joints:
        return plain
    found = [_column(quantity, name, joints, elsewhere) for name in names]
    columns = [one or other for one, other in zip(found, plain, strict=True)]
    wanted = {column_name(quantity, joint) for joint in joints}
    return columns if wanted <= set(columns) and len(set(columns)) == width else plain


def _column(
    quantity: str, name: str, joints: Collection[str], elsewhere: Collection[str]
) -> str | None:
    """The column of a joint that an entry is; None for what belongs to no joint."""
    if name in joints:
        return column_name(quantity, name)
    joint, _, ending = name.rpartition(".")
    told = next((each for each, endings in ENDINGS.items() if ending in endings), None)
    if joint not in joints or told is None:
        return None
    if quantity != "q":
        return column_name(quantity, joint)
    return None if told in elsewhere else column_name(told, joint)
