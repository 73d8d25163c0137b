"""Conversion between model options and the texts of their command-line flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robolin.core.arm import ORIGIN, GroupKind, Vector3, Wrench
from robolin.core.text import ParsedNumber
from robolin.core.text_parsing import (
    FlagText,
    number,
    parse_gravity,
    parse_named_numbers,
    parse_names,
    parse_pairs,
    parse_payload,
    parse_wrench,
    text_of,
)
from robolin.description.multi_dof_joints import base_joint_of
from robolin.errors import UsageError


def options_from_texts(texts: Mapping[str, Any]) -> ModelOptions:
    """Parse model options from flag texts, by flag name without dashes."""
    floats = bool(texts.get("floating-base"))
    model = texts.get("wrench-frame", "follower")

    def parsed(label: str, parse: Callable[[FlagText], Any]) -> Any:
        text = texts.get(label)
        return None if text is None else parse(FlagText(f"--{label}", text))

    def all_parsed(label: str, parse: Callable[[FlagText], Any]) -> Iterator[Any]:
        return (parse(FlagText(f"--{label}", text)) for text in texts.get(label, ()))

    wrenches = all_parsed("wrench", parse_wrench)
    armature = parse_named_numbers("--armature", texts.get("armature", ()), is_angle=_no_angle)
    return ModelOptions(
        gravity=parsed("gravity", parse_gravity),
        base=texts.get("base"),
        tip=texts.get("tip"),
        lock={name: value for name, (value, _) in _locked(texts).items()},
        payload=tuple(Payload(*each) for each in all_parsed("payload", parse_payload)),
        wrenches=tuple(Wrench(link, model, force, couple) for link, force, couple in wrenches),
        damping=not texts.get("no-damping"),
        springs=not texts.get("no-springs"),
        friction_velocity=parsed("friction-velocity", _friction_velocity),
        armature={name: value for name, (value, _) in armature.items()},
        joints=parsed("joints", lambda typed: parse_names(typed.text)),
        floating_base=floats or "base-joint" in texts,
        base_joint=base_joint_of(
            "--base-joint", texts.get("base-joint"), "--floating-base" if floats else None
        ),
        open_loops=bool(texts.get("open-loops")),
        strict=bool(texts.get("strict")),
        xacro_args=parse_pairs("--xacro-arg", texts.get("xacro-arg", ()), ":="),
        packages=parse_pairs("--package", texts.get("package", ())),
        srdf=texts.get("srdf"),
    )


def _locked(texts: Mapping[str, Any]) -> dict[str, ParsedNumber]:
    return parse_named_numbers("--lock", texts.get("lock", ()))


def _friction_velocity(typed: FlagText) -> float | dict[str, float]:
    """One number for all joints, or JOINT=VALUE for each."""
    if "=" not in typed.text:
        return number(typed)
    parsed = parse_named_numbers(typed.flag, (typed.text,), is_angle=_no_angle)
    return {name: value for name, (value, _) in parsed.items()}


def _no_angle(_: str) -> bool:
    return False


def locked_in_degrees(texts: Mapping[str, Any]) -> tuple[str, ...]:
    """The joints with a lock position in degrees."""
    return tuple(name for name, (_, degrees) in _locked(texts).items() if degrees)


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
        "srdf": options.srdf,
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
    friction_velocity: float | Mapping[str, float] | None = None
    armature: Mapping[str, float] = field(default_factory=dict)
    joints: tuple[str, ...] | None = None
    floating_base: bool = False
    base_joint: GroupKind = "floating"
    open_loops: bool = False
    strict: bool = False
    xacro_args: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    srdf: str | None = None
