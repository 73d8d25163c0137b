"""Conversion of the keywords of `robolin.load`, and of texts of flags, to model options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from os import PathLike, fspath
from typing import Any, TypedDict

from robolin.core.arm import ORIGIN, GroupKind, Vector3, Wrench, WrenchModel
from robolin.core.choices import WRENCH_MODELS
from robolin.core.records import dataclass
from robolin.core.text import ParsedNumber, did_you_mean, quote_list
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
from robolin.errors import UsageError, raise_all


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
        friction=not texts.get("no-friction"),
        friction_velocity=parsed("friction-velocity", _typed_friction_velocity),
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


def _typed_friction_velocity(typed: FlagText) -> float | dict[str, float]:
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
        "no-friction": not options.friction,
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


@dataclass(frozen=True)
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
    friction: bool = True
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


PayloadLike = Payload | tuple[str, float] | tuple[str, float, Sequence[float]]

_PAYLOAD_HINT = "use ('tool0', 1.5) or ('tool0', 1.5, (0, 0, 0.1))"
_NAME_HINT = "pass the name from the robot file as a string"


class Keywords(TypedDict, total=False):
    """Keyword arguments of `load`, without the source."""

    gravity: Sequence[float] | float | None
    base: str | None
    tip: str | None
    lock: Mapping[str, float] | None
    payload: PayloadLike | Sequence[PayloadLike] | None
    wrench: Mapping[str, Sequence[float]] | None
    wrench_frame: WrenchModel
    damping: bool
    springs: bool
    friction: bool
    friction_velocity: float | Mapping[str, float] | None
    armature: Mapping[str, float] | None
    joints: Sequence[str] | None
    floating_base: bool
    base_joint: str | None
    open_loops: bool
    strict: bool
    xacro_args: Mapping[str, object] | None
    packages: Mapping[str, str | PathLike[str]] | None
    srdf: str | PathLike[str] | None


def model_options(keywords: Keywords) -> ModelOptions:
    """Convert keywords to model options."""
    kind = keywords.get("base_joint")
    floats = _switch("floating_base", keywords.get("floating_base", False))
    return ModelOptions(
        gravity=_gravity(keywords.get("gravity")),
        base=_link("base", keywords.get("base")),
        tip=_link("tip", keywords.get("tip")),
        lock=_values("lock", keywords.get("lock")),
        payload=_payloads(keywords.get("payload")),
        wrenches=_wrenches(keywords.get("wrench"), keywords.get("wrench_frame", "follower")),
        damping=_switch("damping", keywords.get("damping", True)),
        springs=_switch("springs", keywords.get("springs", True)),
        friction=_switch("friction", keywords.get("friction", True)),
        friction_velocity=_friction_velocity(keywords.get("friction_velocity")),
        armature=_values("armature", keywords.get("armature")),
        joints=_joints(keywords.get("joints")),
        floating_base=floats or kind is not None,
        base_joint=base_joint_of("base_joint", kind, "floating_base" if floats else None),
        open_loops=_switch("open_loops", keywords.get("open_loops", False)),
        strict=_switch("strict", keywords.get("strict", False)),
        xacro_args={
            name: argument_text(value)
            for name, value in _items("xacro_args", keywords.get("xacro_args"))
        },
        packages={
            name: _path("packages", path)
            for name, path in _items("packages", keywords.get("packages"))
        },
        srdf=None if keywords.get("srdf") is None else _path("srdf", keywords.get("srdf")),
    )


def argument_text(value: Any) -> str:
    """The value of a xacro argument as a launch file would write it."""
    if _is_truth(value):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    message = f"xacro_args: must be strings, numbers or booleans, got {value!r}"
    raise UsageError(message, hint="use, for example, {'prefix': 'left_'}")


def _path(option: str, path: Any) -> str:
    return _text(option, fspath(path) if isinstance(path, str | PathLike) else path)


def require_known_keywords(names: Iterable[str]) -> None:
    """Reject unknown keywords of `load`, each with the closest known one."""
    known = list(Keywords.__annotations__)
    raise_all(
        [
            UsageError(f"load has no option '{name}'", hint=did_you_mean(name, known))
            for name in names
            if name not in known
        ]
    )


def _gravity(gravity: Sequence[float] | float | None) -> Vector3 | float | None:
    """Three components, or one number that points downwards."""
    if gravity is None:
        return None
    if _is_row(gravity):
        return _vector("gravity", gravity)
    down = _number(
        "gravity", gravity, hint="pass three components, or the magnitude as one number ≥ 0"
    )
    if down < 0.0:
        hint = f"pass {-down}, or the components (0, 0, {down})"
        raise UsageError(
            f"gravity: a single number is a magnitude and must be ≥ 0, got {down}", hint=hint
        )
    return abs(down)


def _payloads(payload: Any) -> tuple[Payload, ...]:
    if payload is None:
        return ()
    if isinstance(payload, Payload) or (
        _is_row(payload) and len(payload) and isinstance(payload[0], str)
    ):
        payload = [payload]
    return tuple(_payload(item) for item in _row("payload", payload, _PAYLOAD_HINT))


def _payload(item: Any) -> Payload:
    if isinstance(item, Payload):
        item = (item.frame, item.mass, item.position)
    parts = _row("payload", item, _PAYLOAD_HINT)
    if len(parts) not in (2, 3) or not isinstance(parts[0], str):
        message = f"payload: must be (link, mass[, position]), got {item!r}"
        raise UsageError(message, hint=_PAYLOAD_HINT)
    position = _vector("payload", parts[2]) if len(parts) == 3 else ORIGIN
    return Payload(parts[0], _number("payload", parts[1]), position)


def _wrenches(
    wrench: Mapping[str, Sequence[float]] | None, model: WrenchModel
) -> tuple[Wrench, ...]:
    if not isinstance(model, str) or model not in WRENCH_MODELS:
        message = f"wrench_frame: must be one of {quote_list(WRENCH_MODELS)}, got {model!r}"
        raise UsageError(message, hint=did_you_mean(str(model), WRENCH_MODELS))
    hint = "pass fx, fy, fz in N, then tx, ty, tz in N·m"
    wrenches = []
    for frame, load in _items("wrench", wrench):
        numbers = [_number("wrench", value) for value in _row("wrench", load, hint)]
        if len(numbers) != 6:
            raise UsageError(
                f"wrench: link '{frame}' needs 6 numbers, got {len(numbers)}", hint=hint
            )
        fx, fy, fz, tx, ty, tz = numbers
        wrenches.append(Wrench(frame, model, (fx, fy, fz), (tx, ty, tz)))
    return tuple(wrenches)


def _friction_velocity(value: Any) -> float | dict[str, float] | None:
    if isinstance(value, Mapping):
        return _values("friction_velocity", value)
    return None if value is None else _number("friction_velocity", value)


def _joints(joints: Sequence[str] | None) -> tuple[str, ...] | None:
    if joints is None:
        return None
    hint = "pass a list of joint names"
    if isinstance(joints, str):
        raise UsageError(f"joints: must be a list of names, got the string {joints!r}", hint=hint)
    return tuple(_text("joints", name) for name in _row("joints", joints, hint))


def _link(option: str, name: str | None) -> str | None:
    return None if name is None else _text(option, name)


def _values(option: str, values: Mapping[str, float] | None) -> dict[str, float]:
    return {name: _number(option, value) for name, value in _items(option, values)}


def _items(option: str, values: Mapping[str, Any] | None) -> Iterator[tuple[str, Any]]:
    if values is None:
        return
    if not isinstance(values, Mapping):
        raise UsageError(
            f"{option}: must be a dictionary, got {values!r}",
            hint="pass a dictionary: {'name': value, …}",
        )
    for name, value in values.items():
        yield _text(option, name), value


def _text(option: str, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    raise UsageError(f"{option}: names must be strings, got {value!r}", hint=_NAME_HINT)


def _switch(option: str, value: Any) -> bool:
    if _is_truth(value):
        return bool(value)
    raise UsageError(f"{option}: must be True or False, got {value!r}", hint="pass True or False")


def _is_truth(value: Any) -> bool:
    """Return True for booleans of Python or NumPy."""
    return type(value).__name__ in ("bool", "bool_")


def _is_row(value: Any) -> bool:
    """Return True for a sequence or an array with at least one axis, but not for a text."""
    indexed = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    flat = getattr(value, "ndim", 1) == 0
    return indexed and not flat and not isinstance(value, str | bytes | Mapping)


def _row(option: str, values: Any, hint: str) -> Sequence[Any]:
    if not _is_row(values):
        raise UsageError(f"{option}: must be a sequence, got {values!r}", hint=hint)
    return list(values)


def _vector(option: str, values: Any) -> Vector3:
    hint = "give three numbers: x, y, z"
    numbers = [_number(option, value) for value in _row(option, values, hint)]
    if len(numbers) != 3:
        raise UsageError(
            f"{option}: must have 3 numbers, got {len(numbers)} in {values!r}", hint=hint
        )
    x, y, z = numbers
    return x, y, z


def _number(
    option: str, value: Any, hint: str = "pass a number in SI units, without a unit name"
) -> float:
    if getattr(value, "requires_grad", False):
        hint = "pass tensor.item(); robolin.torch.ForwardDynamics has learnable parameters"
        message = f"{option}: must be a number, got a tensor that requires a gradient"
        raise UsageError(message, hint=hint)
    try:
        if not (isinstance(value, str | bytes) or _is_truth(value)):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise UsageError(f"{option}: must be a number, got {value!r}", hint=hint)
