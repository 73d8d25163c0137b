"""Select the frame of kinematic results: a link, moving or merged, and a point in its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

from robolin.core.arm import ORIGIN, Arm, Frame, Pose, Vector3, cached_on_arm, with_load_options
from robolin.core.arm_parts import compose
from robolin.core.arrays import AnyArray, np, require_arm
from robolin.core.text import did_you_mean, join_and, quote_list
from robolin.dynamics.algorithm import Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError

ABOUT_A_FRAME = frozenset(name for name, each in ALGORITHMS.items() if each.of_frame)

# frames cached with an arm before the cache is cleared
MAX_CACHED_FRAMES = 64


# links of an arm that a hint lists
_MOST_LISTED = 16


def at_frame(
    arm: Arm, frame: str | None = None, point: Sequence[float] = ORIGIN, flag: str = "--frame"
) -> Arm:
    """The arm with its tip at a point of a frame; cached on the arm.

    flag: the command-line flag that selects the frame
    """
    require_arm(arm)
    if not (frame is None or isinstance(frame, str)):
        raise UsageError(f"frame: must be the name of a link, got {frame!r}")
    offset = three_numbers(point)
    known = cached_on_arm(arm, "at_frame", _new_frame_cache)
    if (frame, offset) not in known:
        chosen = _known_frame(arm, frame) if frame is not None else default_frame(arm, flag)
        tip = Frame(chosen.name, chosen.link, compose(chosen.pose, Pose(translation=offset)))
        contract = {**arm.contract, "frame": _frame_text(chosen.name, offset)}
        if len(known) >= MAX_CACHED_FRAMES:
            known.clear()
        with_tip = replace(arm, tip=tip, contract=contract)
        known[frame, offset] = with_load_options(with_tip, arm.loaded_with)
    return known[frame, offset]


def reject_unused_frame(
    verbs: Sequence[str], frame: str | None, point: Sequence[float] = ORIGIN
) -> None:
    """Reject a frame that none of the verbs uses."""
    option = "frame" if frame is not None else "point" if three_numbers(point) != ORIGIN else ""
    if option and ABOUT_A_FRAME.isdisjoint(verbs):
        verbs_with_frame = sorted({ALGORITHMS[name].verb or name for name in ABOUT_A_FRAME})
        hint = f"omit this option: only {join_and(verbs_with_frame)} use a frame"
        raise UsageError(f"{quote_list(verbs)} does not use a frame", where=option, hint=hint)


def _new_frame_cache(arm: Arm) -> dict[tuple[str | None, Vector3], Arm]:
    return {}


def default_frame(arm: Arm, flag: str = "--frame") -> Frame:
    """The tip frame of the arm, or the frame of its only end."""
    if arm.tip is not None:
        return arm.tip
    choose, ends = f"choose a frame with {flag} (frame= in Python):", _ends(arm)
    if len(ends) > 1:
        raise UsageError(
            f"'{arm.name}' has several end links and no default frame",
            where=arm.source,
            hint=f"{choose} {quote_list([frame.name for frame in ends])}",
        )
    there = [frame for frame in arm.frames.values() if frame.link == ends[0].link]
    if any(frame.pose != ends[0].pose for frame in there):
        names = [ends[0].name, *(frame.name for frame in there if frame.name != ends[0].name)]
        raise UsageError(
            f"the last link of '{arm.name}' has {len(names)} frames and no default frame",
            where=arm.source,
            hint=f"{choose} {quote_list(names)}",
        )
    return ends[0]


def joints_to_frame(arm: Arm) -> int:
    """Number of joints between the base and the tip frame."""
    assert arm.tip is not None, "the robot has a default frame"
    count, k = 0, arm.tip.link
    while k != arm.base:
        count, k = count + 1, arm.link(k).parent
    return count


def three_numbers(point: Sequence[float]) -> Vector3:
    """Validate a point and convert it to three floats."""
    try:
        x, y, z = (float(number) for number in point)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"point: must be three numbers, got {point!r}", hint="give x, y, z in m"
        ) from error
    if not all(map(isfinite, (x, y, z))):
        raise UsageError(f"point: must be finite, got {x}, {y}, {z}")
    return x, y, z


def _known_frame(arm: Arm, name: str) -> Frame:
    frame = arm.frames.get(name)
    if frame is None:
        moved = [link.name for link in arm.links if link.joint.name == name]
        # all links of a short arm
        listed = f"choose one of {quote_list(list(arm.frames), _MOST_LISTED)}"
        hint = did_you_mean(name, arm.frames, listed if len(arm.frames) <= _MOST_LISTED else None)
        if moved:
            hint = f"'{name}' is a joint: use link '{moved[0]}', which it moves"
        raise UsageError(f"frame: link '{name}' not found", where=arm.source, hint=hint)
    return frame


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
    """Remove the rows of the virtual links of multi-DoF joints."""
    if not arm.groups or "link" not in shape:
        return values
    rows = [len(arm.links) - k for k in arm.bodies]
    return np.take(values, rows, axis=shape.index("link") - len(shape))


def in_frame_axes(results: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Rotate all spatial axes to the axes of the frame; the pose stays in world axes."""
    return {
        name: _rotate_to_frame(values, FRAME_SHAPES[name], results["rotation"])
        for name, values in results.items()
    }


def _rotate_to_frame(values: AnyArray, shape: Shape, rotation: AnyArray) -> AnyArray:
    # add axes for broadcasting, so that each state uses its own rotation
    axes = rotation.reshape(*rotation.shape[:-2], *(1,) * (len(shape) - 1), *rotation.shape[-2:])
    for i, length in enumerate(shape):
        if length == SPATIAL_SIZE:
            vectors = np.moveaxis(values, i - len(shape), -1)
            halves = [_rotate(axes, vectors[..., :3]), _rotate(axes, vectors[..., 3:])]
            values = np.moveaxis(np.concatenate(halves, axis=-1), -1, i - len(shape))
    if shape == (SPATIAL_SIZE, SPATIAL_SIZE):
        # keep the matrix exactly symmetric
        values = np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2)
    return np.ascontiguousarray(values)


def _rotate(R: AnyArray, x: AnyArray) -> AnyArray:
    """R* x, summed in a fixed order for identical bits on every machine."""
    return R[..., 0, :] * x[..., :1] + R[..., 1, :] * x[..., 1:2] + R[..., 2, :] * x[..., 2:]
