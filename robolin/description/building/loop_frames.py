"""The loops of a description on the arm that the model options leave of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import hypot, sqrt

from robolin.core.arm import Frame, Loop, Pose
from robolin.core.rotations import compose
from robolin.core.text import quoted
from robolin.description.building.selection import Selection
from robolin.description.model import LoopEnd, LoopEntry
from robolin.description.structure import ONE_NUMBER
from robolin.description.tree import Tree
from robolin.errors import RobolinError, UsageError

# metres, or radians of a small turn, by which a loop without any moving joint may stand open
CLOSED_WITHIN = 1e-6

OPEN_LOOPS = "--open-loops (open_loops=True) leaves the closures out"


def loops_of(tree: Tree, frames: Mapping[str, Frame]) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
    """The loops that move, and those closed once and for all by joints that stand still."""
    loops = [_loop(entry, frames) for entry in tree.description.loops]
    moving = tuple(loop for loop in loops if loop.first.link != loop.second.link)
    return moving, tuple(loop for loop in loops if loop not in moving)


def _loop(entry: LoopEntry, frames: Mapping[str, Frame]) -> Loop:
    return Loop(entry.name, entry.kind, _end(entry.first, frames), _end(entry.second, frames))


def _end(end: LoopEnd, frames: Mapping[str, Frame]) -> Frame:
    carrier = frames[end.link]
    return Frame(end.link, carrier.link, compose(carrier.pose, end.pose))


def loop_problems(
    tree: Tree, selection: Selection, frames: Mapping[str, Frame]
) -> Iterator[RobolinError]:
    """Loops cut by base or tip, and loops that joints standing still hold open for good."""
    for joint in selection.moving:
        if joint.kind not in ONE_NUMBER:
            message = f"joint '{joint.name}' is {joint.kind}, and the arm has closed loops"
            yield RobolinError(message, where=str(joint.place), hint=OPEN_LOOPS)
    cut = {*selection.off_chain, *selection.stranded}
    rigid = loops_of(tree, frames)[1]
    still = {loop.name: loop for loop in rigid}
    for entry in tree.description.loops:
        if through := [name for name in _joints(tree, entry) if name in cut]:
            yield UsageError(
                f"loop '{entry.name}' goes over {quoted(through)}, which base or tip makes rigid",
                where=str(entry.place),
                hint=f"{OPEN_LOOPS}; --lock holds a joint and keeps them",
            )
        elif entry.name in still and (gap := _gap(still[entry.name])) > CLOSED_WITHIN:
            unit = "m" if entry.kind == "point" else "m or rad"
            message = f"loop '{entry.name}' stands open by {gap:.3g} {unit}"
            yield RobolinError(
                f"{message} and no moving joint can close it",
                where=str(entry.place),
                hint=f"lock joints at positions that close it, or unlock one; {OPEN_LOOPS}",
            )


def _joints(tree: Tree, entry: LoopEntry) -> list[str]:
    """The joints around a loop: on the way from one end to the other."""
    first, second = (
        [joint.name for joint in tree.inboard(end.link)] for end in (entry.first, entry.second)
    )
    return [name for name in (*first, *second) if (name in first) != (name in second)]


def _gap(loop: Loop) -> float:
    """How far two frames of one link are apart, in metres and, if rigid, in radians if small."""
    one, other = loop.first.pose, loop.second.pose
    distance = hypot(*(a - b for a, b in zip(one.translation, other.translation, strict=True)))
    return max(distance, _turn(one, other)) if loop.kind == "rigid" else distance


def _turn(one: Pose, other: Pose) -> float:
    """|R₁ - R₂| / √2, the angle between two frames if it is small."""
    pairs = zip(one.rotation, other.rotation, strict=True)
    return hypot(*(a - b for a, b in pairs)) / sqrt(2.0)
