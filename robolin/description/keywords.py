"""The keywords of `robolin.load` as model options: numbers, arrays and tuples made exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from robolin.arm import ORIGIN, Vector3, Wrench, WrenchModel
from robolin.description.options import ModelOptions, Payload
from robolin.errors import UsageError

PayloadLike = Payload | tuple[str, float] | tuple[str, float, Sequence[float]]


class Keywords(TypedDict, total=False):
    """What `load` takes beside the source."""

    gravity: Sequence[float] | float | None
    base: str | None
    tip: str | None
    lock: Mapping[str, float] | None
    payload: PayloadLike | Sequence[PayloadLike] | None
    wrench: Mapping[str, Sequence[float]] | None
    wrench_frame: WrenchModel
    damping: bool
    friction_velocity: float | None
    armature: Mapping[str, float] | None
    joints: Sequence[str] | None
    strict: bool


def model_options(keywords: Keywords) -> ModelOptions:
    """The options that the keywords stand for."""
    velocity = keywords.get("friction_velocity")
    return ModelOptions(
        gravity=_gravity(keywords.get("gravity")),
        base=keywords.get("base"),
        tip=keywords.get("tip"),
        lock=_values("lock", keywords.get("lock")),
        payload=_payloads(keywords.get("payload")),
        wrenches=_wrenches(keywords.get("wrench"), keywords.get("wrench_frame", "follower")),
        damping=bool(keywords.get("damping", True)),
        friction_velocity=None if velocity is None else _number("friction_velocity", velocity),
        armature=_values("armature", keywords.get("armature")),
        joints=_joints(keywords.get("joints")),
        strict=bool(keywords.get("strict", False)),
    )


def _gravity(gravity: Sequence[float] | float | None) -> Vector3 | None:
    """Three components, or one number that points downwards along -z."""
    if gravity is None:
        return None
    if _is_row(gravity):
        return _vector("gravity", gravity)
    down = _number("gravity", gravity)
    if down < 0.0:
        hint = f"a single number points downwards already: {-down}, or (0, 0, {down})"
        raise UsageError(f"gravity: {down} would pull upwards", hint=hint)
    return 0.0, 0.0, -down if down else 0.0


def _payloads(payload: Any) -> tuple[Payload, ...]:
    if payload is None:
        return ()
    if isinstance(payload, Payload) or (_is_row(payload) and payload and _names(payload[0])):
        payload = [payload]
    return tuple(_payload(item) for item in _row("payload", payload))


def _payload(item: Any) -> Payload:
    if isinstance(item, Payload):
        return item
    parts = _row("payload", item)
    if len(parts) not in (2, 3) or not _names(parts[0]):
        hint = "('tool0', 1.5) or ('tool0', 1.5, (0, 0, 0.1))"
        raise UsageError(f"payload: {item!r} is not (link, mass[, position])", hint=hint)
    position = _vector("payload", parts[2]) if len(parts) == 3 else ORIGIN
    return Payload(parts[0], _number("payload", parts[1]), position)


def _wrenches(
    wrench: Mapping[str, Sequence[float]] | None, model: WrenchModel
) -> tuple[Wrench, ...]:
    wrenches = []
    for frame, load in _items("wrench", wrench):
        numbers = [_number("wrench", value) for value in _row("wrench", load)]
        if len(numbers) != 6:
            hint = "fx, fy, fz, tx, ty, tz"
            raise UsageError(f"wrench: '{frame}' has {len(numbers)} numbers, not 6", hint=hint)
        fx, fy, fz, tx, ty, tz = numbers
        wrenches.append(Wrench(frame, model, (fx, fy, fz), (tx, ty, tz)))
    return tuple(wrenches)


def _joints(joints: Sequence[str] | None) -> tuple[str, ...] | None:
    if joints is None:
        return None
    if isinstance(joints, str):
        raise UsageError(f"joints: {joints!r} is one text", hint="a list of joint names")
    return tuple(_row("joints", joints))


def _values(option: str, values: Mapping[str, float] | None) -> dict[str, float]:
    return {name: _number(option, value) for name, value in _items(option, values)}


def _items(option: str, values: Mapping[str, Any] | None) -> Iterable[tuple[str, Any]]:
    if values is None:
        return ()
    if not isinstance(values, Mapping):
        raise UsageError(f"{option}: {values!r} is not a mapping", hint="{'name': value, …}")
    return values.items()


def _names(value: Any) -> bool:
    return isinstance(value, str)


def _is_row(value: Any) -> bool:
    """Whether a value is a sequence or an array of at least one axis, not a text."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)


def _row(option: str, values: Any) -> Sequence[Any]:
    if not _is_row(values):
        raise UsageError(f"{option}: {values!r} is not a sequence")
    return list(values)


def _vector(option: str, values: Any) -> Vector3:
    numbers = [_number(option, value) for value in _row(option, values)]
    if len(numbers) != 3:
        raise UsageError(f"{option}: {values!r} has {len(numbers)} numbers, not 3")
    x, y, z = numbers
    return x, y, z


def _number(option: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{option}: {value!r} is not a number") from error
