"""Conversion between model options and the texts of their command-line flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robolin.core.arm import ORIGIN, GroupKind, Vector3, Wrench
from robolin.core.number_parsing import (
    FlagText,
    ParsedNumber,
    number,
    numbers,
    parse_named_numbers,
    text_of,
)
from robolin.description.tree import base_joint_of
from robolin.errors import UsageError


def options_from_texts(texts: Mapping[str, Any]) -> ModelOptions:
    """Parse model options from flag texts, by flag name without dashes."""
    velocity, floats = texts.get("friction-velocity"), bool(texts.get("floating-base"))
    joints = texts.get("joints")
    model = texts.get("wrench-frame", "follower")
    return ModelOptions(
        gravity=_gravity(FlagText("--gravity", texts["gravity"])) if "gravity" in texts else None,
        base=texts.get("base"),
        tip=texts.get("tip"),
        lock={name: value for name, (value, _) in _entries("lock", texts).items()},
        payload=tuple(payload_of(FlagText("--payload", text)) for text in texts.get("payload", ())),
        wrenches=tuple(
            _wrench(FlagText("--wrench", text), model) for text in texts.get("wrench", ())
        ),
        damping=not texts.get("no-damping"),
        springs=not texts.get("no-springs"),
        friction_velocity=None
        if velocity is None
        else number(FlagText("--friction-velocity", velocity), velocity),
        armature=_armature(texts),
        joints=None if joints is None else tuple(name.strip() for name in joints.split(",")),
        floating_base=floats or "base-joint" in texts,
        base_joint=base_joint_of(
            "--base-joint", texts.get("base-joint"), "--floating-base" if floats else None
        ),
        open_loops=bool(texts.get("open-loops")),
        strict=bool(texts.get("strict")),
        xacro_args=_pairs("xacro-arg", ":=", texts),
        packages=_pairs("package", "=", texts),
    )


def locked_in_degrees(texts: Mapping[str, Any]) -> tuple[str, ...]:
    """The joints with a lock position in degrees."""
    return tuple(name for name, (_, degrees) in _entries("lock", texts).items() if degrees)


def texts_of_options(options: ModelOptions) -> dict[str, Any] | None:
    """Format options as flag texts; None if the texts would not parse back to the same options."""
    plain: dict[str, Any] = {
        "gravity": None if options.gravity is None else text_of(options.gravity),
        "base": options.base,
        "tip": options.tip,
        "lock": [text_of({name: value}) for name, value in options.lock.items()],
        "payload": [f"{p.frame}:{text_of(p.mass)}@{text_of(p.position)}" for p in options.payload],
        "wrench": [f"{w.frame}={text_of((*w.force, *w.moment))}" for w in options.wrenches],
        "wrench-frame": _frame_of(options.wrenches),
        "no-damping": not options.damping,
        "no-springs": not options.springs,
        "friction-velocity": None
        if options.friction_velocity is None
        else text_of(options.friction_velocity),
        "armature": [text_of({name: value}) for name, value in options.armature.items()],
        "joints": None if options.joints is None else text_of(options.joints),
        "floating-base": options.floating_base and options.base_joint == "floating",
        "base-joint": None if options.base_joint == "floating" else options.base_joint,
        "open-loops": options.open_loops,
        "strict": options.strict,
        "xacro-arg": [f"{name}:={value}" for name, value in options.xacro_args.items()],
        "package": [f"{name}={folder}" for name, folder in options.packages.items()],
    }
    texts = {name: value for name, value in plain.items() if value not in (None, False, [])}
    try:
        # a name with a comma in it, for example, would be read as two
        return texts if options_from_texts(texts) == options else None
    except UsageError:
        return None


def _frame_of(wrenches: Sequence[Wrench]) -> str | None:
    model = wrenches[0].model if wrenches else "follower"
    return None if model == "follower" else model


def _gravity(typed: FlagText) -> Vector3 | float:
    parts = [number(typed, item) for item in typed.text.split(",")]
    if len(parts) == 1:
        (down,) = parts
        if down < 0.0:
            hint = f"a single number points downwards already: {-down:g}, or 0,0,{down:g}"
            raise typed.wrong(f"{down:g} would pull upwards", hint)
        return abs(down)
    if len(parts) != 3:
        raise typed.wrong(f"{len(parts)} numbers, not 3", "it takes X,Y,Z, or 0 for none")
    x, y, z = parts
    return x, y, z


def _entries(label: str, texts: Mapping[str, Any]) -> dict[str, ParsedNumber]:
    """JOINT=VALUE from a repeatable flag."""
    entries: dict[str, ParsedNumber] = {}
    listed: Sequence[str] = texts.get(label, ())
    for text in listed:
        typed = FlagText(f"--{label}", text)
        for joint, value in parse_named_numbers(typed).items():
            if joint in entries:
                raise typed.wrong(f"joint '{joint}' is there twice", "keep one of them")
            entries[joint] = value
    return entries


def _pairs(label: str, between: str, texts: Mapping[str, Any]) -> dict[str, str]:
    """NAME and VALUE texts from a repeatable flag."""
    pairs: dict[str, str] = {}
    listed: Sequence[str] = texts.get(label, ())
    for text in listed:
        typed = FlagText(f"--{label}", text)
        name, found, value = text.partition(between)
        if not found or not name.strip():
            raise typed.wrong(f"this is not NAME{between}VALUE")
        if name.strip() in pairs:
            raise typed.wrong(f"'{name.strip()}' is there twice", "keep one of them")
        pairs[name.strip()] = value
    return pairs


def _armature(texts: Mapping[str, Any]) -> dict[str, float]:
    entries = _entries("armature", texts)
    for name, (_, degrees) in entries.items():
        if degrees:
            raise UsageError(f"joint '{name}': an inertia is no angle", where="--armature")
    return {name: value for name, (value, _) in entries.items()}


def payload_of(typed: FlagText) -> Payload:
    """LINK:MASS[@X,Y,Z]."""
    head, at, position = typed.text.rpartition("@")
    link, colon, mass = (head if at else typed.text).rpartition(":")
    if not colon or not link:
        raise typed.wrong("this is not LINK:MASS[@X,Y,Z]", "for example tool0:1.5@0,0,0.1")
    x, y, z = numbers(typed, position, 3, "a place X,Y,Z after the @") if at else (0.0, 0.0, 0.0)
    return Payload(link, number(typed, mass), (x, y, z))


def _wrench(typed: FlagText, model: Any) -> Wrench:
    link, equals, load = typed.text.rpartition("=")
    if not equals or not link:
        hint = "for example tool0=0,0,-10,0,0,0"
        raise typed.wrong("this is not LINK=FX,FY,FZ,TX,TY,TZ", hint)
    fx, fy, fz, tx, ty, tz = numbers(typed, load, 6, "FX,FY,FZ,TX,TY,TZ")
    return Wrench(link, model, (fx, fy, fz), (tx, ty, tz))


@dataclass(frozen=True, slots=True)
class Payload:
    """A point mass fixed to a frame, added to the link's own mass."""

    frame: str
    mass: float
    position: Vector3 = ORIGIN


@dataclass(frozen=True)
class ModelOptions:
    """All options of `robolin.load` and of the model flags.

    gravity: a single number is a magnitude in the direction of the description's own gravity
    """

    gravity: Vector3 | float | None = None
    base: str | None = None
    tip: str | None = None
    lock: Mapping[str, float] = field(default_factory=dict)
    payload: tuple[Payload, ...] = ()
    wrenches: tuple[Wrench, ...] = ()
    damping: bool = True
    springs: bool = True
    friction_velocity: float | None = None
    armature: Mapping[str, float] = field(default_factory=dict)
    joints: tuple[str, ...] | None = None
    floating_base: bool = False
    base_joint: GroupKind = "floating"
    open_loops: bool = False
    strict: bool = False
    xacro_args: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
