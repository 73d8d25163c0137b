"""The `loops:` of a YAML arm: closures between two frames of the tree that the joints make.

loops:
  - name: pin
    kind: point                     # or rigid
    first: coupler_end              # a link, at its origin
    second: {link: rocker, xyz: [0, 1, 0], rpy: [0, 0, 0]}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast, get_args

from robolin.core.arm import HERE, NO_TURN, LoopKind, Pose
from robolin.core.rotations import rotation_from_rpy
from robolin.core.text import did_you_mean
from robolin.description.model import Finding, LinkEntry, LoopEnd, LoopEntry
from robolin.description.yaml.yaml_fields import Fields, fields_of, name_or_number

LOOP_KEYS = ("name", "kind", "first", "second")
END_KEYS = ("link", "xyz", "rpy")
LOOP_KINDS = get_args(LoopKind)


def read_loops(arm: Fields) -> tuple[LoopEntry, ...]:
    """The closures as written; whether their links exist is for `check_loops`."""
    loops = []
    for number, node in enumerate(arm.items("loops"), start=1):
        fields = fields_of(node, name_or_number(node, "loop", number), LOOP_KEYS, arm.findings)
        if fields is not None:
            loops.append(_loop(fields))
    return tuple(loops)


def _loop(fields: Fields) -> LoopEntry:
    fields.need("name")
    fields.need("kind", hint="kind: point, or kind: rigid")
    fields.need("first", "second", hint="a link, or {link: …, xyz: […], rpy: […]}")
    kind = fields.choice("kind", LOOP_KINDS, "unknown-loop-kind")
    return LoopEntry(
        name=fields.text("name"),
        kind=cast(LoopKind, kind or "point"),
        place=fields.node.place,
        first=_end(fields, "first"),
        second=_end(fields, "second"),
    )


def _end(fields: Fields, key: str) -> LoopEnd:
    """A link's own frame, or one placed on it."""
    node, place = fields.node.get(key), fields.place(key)
    if node is None or node.kind == "scalar":
        return LoopEnd(fields.text(key), place)
    end = fields.fields(key, END_KEYS)
    if end is None:
        return LoopEnd("", place)
    end.need("link")
    rotation = rotation_from_rpy(*end.vector("rpy", angle=True)) if end.has("rpy") else NO_TURN
    pose = Pose(rotation, end.vector("xyz")) if end.has("rpy") or end.has("xyz") else HERE
    return LoopEnd(end.text("link"), end.place("link"), pose)


def check_loops(loops: Sequence[LoopEntry], links: Sequence[LinkEntry]) -> Iterator[Finding]:
    """Closures of one name, between one link and itself, or of links that are not there."""
    known = [link.name for link in links if link.name]
    seen: dict[str, LoopEntry] = {}
    for loop in loops:
        if loop.name and loop.name in seen:
            message = f"loop '{loop.name}' is defined twice; the first is at "
            message += str(seen[loop.name].place)
            hint = "give each its own name, or remove one"
            yield Finding("duplicate-loop", "error", loop.place, message, hint)
        seen.setdefault(loop.name, loop)
        for end in (loop.first, loop.second):
            if end.link and end.link not in known:
                message = f"loop '{loop.name}' names an unknown link '{end.link}'"
                hint = did_you_mean(end.link, known)
                yield Finding("unknown-link", "error", end.place, message, hint)
        if loop.first.link and loop.first.link == loop.second.link:
            message = f"loop '{loop.name}' has both ends on link '{loop.first.link}'"
            hint = "a closure holds two links together that joints connect the other way round"
            yield Finding("loop-to-itself", "error", loop.second.place, message, hint)
