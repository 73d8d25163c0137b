"""A description as a tree, walked depth first from its root: the order of everything public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from robolin.arm import Mimic
from robolin.description.building.freedoms import coordinate_names
from robolin.description.model import Description, JointEntry
from robolin.description.structure import composed_mimic


@dataclass(frozen=True)
class Tree:
    """The joints depth first, siblings in file order, so that parents precede their children."""

    description: Description
    joints: tuple[JointEntry, ...]

    @cached_property
    def by_name(self) -> Mapping[str, JointEntry]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def coordinates(self) -> frozenset[str]:
        """The names of all that can move: joints, and the freedoms of those that have several."""
        return frozenset(name for joint in self.joints for name in coordinate_names(joint))

    @cached_property
    def above(self) -> Mapping[str, JointEntry]:
        """For every link but the root, the joint it hangs on."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def links(self) -> tuple[str, ...]:
        return (self.description.root, *(joint.child for joint in self.joints))

    @cached_property
    def mimic(self) -> Mapping[str, Mimic]:
        """For every follower, the independent joint it follows in the end."""
        return composed_mimic(self.joints)

    def inboard(self, link: str) -> Iterator[JointEntry]:
        """The joints from a link up to the root."""
        while joint := self.above.get(link):
            yield joint
            link = joint.parent


def tree_of(description: Description) -> Tree:
    """The description's joints in the order of a walk; a stack, because arms may be deep."""
    below: dict[str, list[JointEntry]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    walk: list[JointEntry] = []
    waiting = below.get(description.root, [])[::-1]
    while waiting:
        joint = waiting.pop()
        walk.append(joint)
        waiting.extend(below.get(joint.child, [])[::-1])
    return Tree(description, tuple(walk))
