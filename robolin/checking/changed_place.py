"""Where in a robot file the changes of a model stand, as far as it can be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from robolin.checking.model_changes import Change
from robolin.description.load import read
from robolin.description.model import Description, JointEntry, LinkEntry, LoopEntry, Place
from robolin.errors import RobolinError

# the part of a joint that a figure of it is written in, where it has no place of its own
_PARTS = {
    **dict.fromkeys(("damping", "friction", "armature", "stiffness", "rest"), "dynamics"),
    "rotation": "origin",
    "negative": "friction",
}


def changed_place(arm: str, changes: Sequence[Change]) -> Place | None:
    """The line of the first change that is still to be seen in the file of an arm."""
    if not changes or not Path(arm).is_file() or arm.lower().endswith(".xacro"):
        # lines of an expansion are no lines of the file
        return None
    try:
        description = read(arm).description
    except RobolinError:
        return None
    return None if description is None else next(_places(description, changes), None)


def _places(description: Description, changes: Sequence[Change]) -> Iterator[Place]:
    entries: dict[str, Sequence[LinkEntry | JointEntry | LoopEntry]] = {
        "link": description.links,
        "joint": description.joints,
        "loop": description.loops,
    }
    for change in changes:
        # a part that was removed has no line any more
        name = change.new if change.quantity == "renamed" else change.name
        for entry in entries.get(change.part, ()):
            if entry.name == name:
                yield _place(entry, change.quantity)


def _place(entry: LinkEntry | JointEntry | LoopEntry, quantity: str) -> Place:
    first = quantity.partition(" ")[0]
    if isinstance(entry, LinkEntry):
        return entry.place if quantity in ("added", "renamed") else entry.at(first)
    if isinstance(entry, JointEntry):
        if quantity.endswith(" limit"):
            return entry.at("limit")
        return entry.at(first if first in entry.places else _PARTS.get(first, first))
    return entry.place
