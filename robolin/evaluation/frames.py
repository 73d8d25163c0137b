"""Which frame a question is about: a link, moving or merged, and a point in its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from robolin.core.arm import ORIGIN, Arm, Frame, Pose, Vector3, cached_on_arm, with_load_options
from robolin.core.array_checks import require_arm
from robolin.core.arrays import AnyArray
from robolin.core.rotations import compose
from robolin.core.text import did_you_mean, join_and, quote_list
from robolin.dynamics.algebra.comparison import Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError

ABOUT_A_FRAME = frozenset(name for name, each in ALGORITHMS.items() if each.of_frame)

# places that are kept in mind with an arm before all are forgotten
MOST_PLACES_KEPT = 64


def at_frame(
    arm: Arm, frame: str | None = None, point: Sequence[float] = ORIGIN, flag: str = "--frame"
) -> Arm:
    """The arm with its kinematic questions about a point of a frame; made once, kept with it.

    flag: what chooses the frame on the command line
    """
    require_arm(arm)
    if not (frame is None or isinstance(frame, str)):
        raise UsageError(f"frame is {frame!r}, not the name of a link")
    place = three_numbers(point)
    known = cached_on_arm(arm, "at_frame", _places_known)
    if (frame, place) not in known:
        chosen = _known_frame(arm, frame) if frame is not None else default_frame(arm, flag)
        tip = Frame(chosen.name, chosen.link, compose(chosen.pose, Pose(translation=place)))
        contract = {**arm.contract, "frame": _frame_text(chosen.name, place)}
        if len(known) >= MOST_PLACES_KEPT:
            known.clear()
        placed = replace(arm, tip=tip, contract=contract)
        known[frame, place] = with_load_options(placed, arm.loaded_with)
    return known[frame, place]


def reject_unused_frame(
    verbs: Sequence[str], frame: str | None, point: Sequence[float] = ORIGIN
) -> None:
    """Refuse a frame that none of the verbs is about."""
    given = "frame" if frame is not None else "point" if three_numbers(point) != ORIGIN else ""
    if given and ABOUT_A_FRAME.isdisjoint(verbs):
        asked = sorted({ALGORITHMS[name].verb or name for name in ABOUT_A_FRAME})
        hint = f"it is for {join_and(asked)}"
        raise UsageError(f"{quote_list(verbs)} is about no frame", where=given, hint=hint)


def _places_known(arm: Arm) -> dict[tuple[str | None, Vector3], Arm]:
    return {}


def default_frame(arm: Arm, flag: str = "--frame") -> Frame:
    """The frame that was chosen as the tip, or the only place where the arm ends."""
    if arm.tip is not None:
        return arm.tip
    choose, ends = f"choose one with {flag}, or frame= in Python:", _ends(arm)
    if len(ends) > 1:
        raise UsageError(
            f"'{arm.name}' has several ends: which frame is meant?",
            where=arm.source,
            hint=f"{choose} its branches end in {quote_list([frame.name for frame in ends])}",
        )
    there = [frame for frame in arm.frames.values() if frame.link == ends[0].link]
    if any(frame.pose != ends[0].pose for frame in there):
        names = [ends[0].name, *(frame.name for frame in there if frame.name != ends[0].name)]
        raise UsageError(
            f"{len(names)} frames are on the last link of '{arm.name}': which one is meant?",
            where=arm.source,
            hint=f"{choose} there are {quote_list(names)}",
        )
    return ends[0]


def joints_to_frame(arm: Arm) -> int:
    """How many joints are between the base and the frame in question."""
    assert arm.tip is not None, "there is a frame in question"
    count, k = 0, arm.tip.link
    while k != arm.base:
        count, k = count + 1, arm.link(k).parent
    return count


def three_numbers(point: Sequence[float]) -> Vector3:
    """A point as three finite floats."""
    try:
        x, y, z = (float(number) for number in point)
    except (TypeError, ValueError) as error:
        raise UsageError(f"point is {point!r}, not three numbers", hint="x, y, z in m") from error
    if not all(map(isfinite, (x, y, z))):
        raise UsageError(f"point is {x}, {y}, {z}, which is not finite")
    return x, y, z


def _known_frame(arm: Arm, name: str) -> Frame:
    found = arm.frames.get(name)
    if found is None:
        hint = did_you_mean(name, arm.frames)
        raise UsageError(f"'{arm.name}' has no link '{name}'", where=arm.source, hint=hint)
    return found


def _ends(arm: Arm) -> list[Frame]:
    """The moving links that carry no other, base to tip."""
    carriers = {link.parent for link in arm.links}
    return [Frame(arm.link(k).name, k) for k in range(len(arm.links), 0, -1) if k not in carriers]


def _frame_text(name: str, point: Vector3) -> str:
    return f"'{name}'" + (f" at {point[0]}, {point[1]}, {point[2]} m" if any(point) else "")


SPATIAL_SIZE = 6

FRAME_SHAPES: Mapping[str, Shape] = {
    **ALGORITHMS["frame-derivatives"].gives,
    **ALGORITHMS["operational-space"].gives,
    **ALGORITHMS["jacobian"].gives,
}


def drop_virtual_links(arm: Arm, shape: Shape, values: AnyArray) -> AnyArray:
    """The values without the rows of links that only stand for a freedom of a joint."""
    if not arm.groups or "link" not in shape:
        return values
    rows = [len(arm.links) - k for k in arm.bodies]
    return np.take(values, rows, axis=shape.index("link") - len(shape))


def in_frame_axes(found: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Every spatial axis turned by the transpose of `rotation`; the pose stays the world's."""
    return {
        name: _turned(values, FRAME_SHAPES[name], found["rotation"])
        for name, values in found.items()
    }


def _turned(values: AnyArray, shape: Shape, rotation: AnyArray) -> AnyArray:
    # room for the axes of the values, so that each state is turned by its own rotation
    axes = rotation.reshape(*rotation.shape[:-2], *(1,) * (len(shape) - 1), *rotation.shape[-2:])
    for i, length in enumerate(shape):
        if length == SPATIAL_SIZE:
            vectors = np.moveaxis(values, i - len(shape), -1)
            halves = [_along(axes, vectors[..., :3]), _along(axes, vectors[..., 3:])]
            values = np.moveaxis(np.concatenate(halves, axis=-1), -1, i - len(shape))
    if shape == (SPATIAL_SIZE, SPATIAL_SIZE):
        # rounding must not make a symmetric matrix any less so
        values = np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2)
    return np.ascontiguousarray(values)


def _along(R: AnyArray, x: AnyArray) -> AnyArray:
    """R* x, added up in a fixed order so that every machine gives the same bits."""
    return R[..., 0, :] * x[..., :1] + R[..., 1, :] * x[..., 1:2] + R[..., 2, :] * x[..., 2:]
