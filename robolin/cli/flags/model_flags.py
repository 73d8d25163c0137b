"""Which arm, and what to make of it: the argument ARM and the model flags as one object."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robolin.cli.flags.flag import MODEL, bundled, flag
from robolin.cli.flags.flag_values import Figure, Typed, named, number, numbers
from robolin.errors import FileError, UsageError

if TYPE_CHECKING:
    from robolin.arm import Arm, Vector3, Wrench
    from robolin.description.building.options import ModelOptions, Payload
    from robolin.description.model import Reading

WRENCH_MODELS = ("follower", "dead", "world")


@dataclass(frozen=True)
class Model:
    """A source, the options to build it with, and the joints whose lock was typed in degrees."""

    source: str
    options: ModelOptions
    in_degrees: tuple[str, ...] = ()

    def reading(self) -> Reading:
        from robolin.description.load import read

        return read(self.source)

    def arm(self, reading: Reading | None = None) -> Arm:
        """The arm, built from the reading if there is one already."""
        from robolin.description.load import arm_of

        reading = reading or self.reading()
        arm = arm_of(reading, self.options, self.source)
        if reading.description is not None:
            for joint in reading.description.joints:
                if joint.name in self.in_degrees and joint.kind == "prismatic":
                    message = f"joint '{joint.name}' slides: its position is in m, not in deg"
                    raise UsageError(message, where="--lock")
        return arm


ARM = click.Argument(["arm"], metavar="ARM")

_FLAGS = [
    flag(
        "--gravity",
        section=MODEL,
        metavar="X,Y,Z|G",
        help="Acceleration of gravity in the root link's axes, or its size downwards (along -z); "
        "0 for none.  [default: the file's, else 0,0,-9.81]",
    ),
    flag("--base", section=MODEL, metavar="LINK", help="Joints inboard of this link are rigid."),
    flag("--tip", section=MODEL, metavar="LINK", help="Joints off the way to this link are rigid."),
    flag(
        "--lock",
        section=MODEL,
        multiple=True,
        metavar="JOINT=VALUE",
        help="Hold a joint at a position; repeatable, or with commas.",
    ),
    flag(
        "--payload",
        section=MODEL,
        multiple=True,
        metavar="LINK:MASS[@X,Y,Z]",
        help="Add a point mass to a link, at a place in its frame; repeatable.",
    ),
    flag(
        "--wrench",
        section=MODEL,
        multiple=True,
        metavar="LINK=FX,FY,FZ,TX,TY,TZ",
        help="Apply a force and a moment to a link; repeatable.",
    ),
    flag(
        "--wrench-frame",
        section=MODEL,
        type=click.Choice(WRENCH_MODELS),
        default="follower",
        show_default=True,
        help="Wrenches turn with the link (follower), keep world axes at the link's origin (dead), "
        "or keep world axes about the world's origin (world).",
    ),
    flag("--no-damping", section=MODEL, is_flag=True, help="Leave out the file's damping."),
    flag(
        "--friction-velocity",
        section=MODEL,
        metavar="V",
        help="Apply the file's Coulomb friction, smoothed as tanh(qd / V).  [default: left out]",
    ),
    flag(
        "--armature",
        section=MODEL,
        multiple=True,
        metavar="JOINT=VALUE",
        help="Reflected rotor inertia of a joint, in place of the file's; repeatable.",
    ),
    flag(
        "--joints",
        section=MODEL,
        metavar="A,B,C",
        help="Order of the joints, in what goes in and what comes out alike.",
    ),
    flag(
        "--floating-base",
        section=MODEL,
        is_flag=True,
        help="Let the base link move freely: a joint 'base' with six freedoms.",
    ),
    flag("--open-loops", section=MODEL, is_flag=True, help="Leave out the closures of loops."),
    flag("--strict", section=MODEL, is_flag=True, help="Warnings become errors."),
]


def _model(
    arm: str,
    gravity: str | None,
    base: str | None,
    tip: str | None,
    lock: Sequence[str],
    payload: Sequence[str],
    wrench: Sequence[str],
    wrench_frame: str,
    no_damping: bool,
    friction_velocity: str | None,
    armature: Sequence[str],
    joints: str | None,
    floating_base: bool,
    open_loops: bool,
    strict: bool,
) -> Model:
    from robolin.description.building.options import ModelOptions

    locks = _entries("--lock", lock)
    options = ModelOptions(
        gravity=None if gravity is None else _gravity(Typed("--gravity", gravity)),
        base=base,
        tip=tip,
        lock={name: value for name, (value, _) in locks.items()},
        payload=tuple(payload_of(Typed("--payload", text)) for text in payload),
        wrenches=tuple(_wrench(Typed("--wrench", text), wrench_frame) for text in wrench),
        damping=not no_damping,
        friction_velocity=None
        if friction_velocity is None
        else number(Typed("--friction-velocity", friction_velocity), friction_velocity),
        armature=_armature(armature),
        joints=None if joints is None else tuple(name.strip() for name in joints.split(",")),
        floating_base=floating_base,
        open_loops=open_loops,
        strict=strict,
    )
    in_degrees = tuple(name for name, (_, degrees) in locks.items() if degrees)
    return Model(file_name(arm), options, in_degrees)


model_options = bundled("model", [ARM, *_FLAGS], _model)

# where joints may be counted instead of named, and their order does not matter
_STRUCTURE = [param for param in _FLAGS if param.name != "joints"]


def _structure(arm: str | None, **flags: Any) -> Model | None:
    if arm is not None:
        return _model(arm, joints=None, **flags)
    ctx = click.get_current_context()
    for param in _STRUCTURE:
        if ctx.get_parameter_source(param.name or "") is not ParameterSource.DEFAULT:
            hint = "--joints N takes as many joints as should move, and nothing else"
            raise UsageError(f"{param.opts[0]} is for an ARM", where=ctx.command_path, hint=hint)
    return None


structure_options = bundled(
    "model", [click.Argument(["arm"], required=False, metavar="[ARM]"), *_STRUCTURE], _structure
)


def file_name(name: str) -> str:
    """The name, refused if no result could carry it or nothing could be read from it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        hint = "rename the file: results carry its name, as UTF-8"
        raise UsageError("the file name is not text", where=name, hint=hint) from None
    if name == "-" and sys.stdin is None:
        raise FileError("standard input is closed", where="-")
    return name


def _gravity(typed: Typed) -> Vector3:
    parts = [number(typed, item) for item in typed.text.split(",")]
    if len(parts) == 1:
        (down,) = parts
        if down < 0.0:
            hint = f"a single number points downwards already: {-down:g}, or 0,0,{down:g}"
            raise typed.wrong(f"{down:g} would pull upwards", hint)
        return 0.0, 0.0, -down if down else 0.0
    if len(parts) != 3:
        raise typed.wrong(f"{len(parts)} numbers, not 3", "it takes X,Y,Z, or 0 for none")
    x, y, z = parts
    return x, y, z


def _entries(name: str, texts: Sequence[str]) -> dict[str, Figure]:
    """JOINT=VALUE from a repeatable flag."""
    entries: dict[str, Figure] = {}
    for text in texts:
        typed = Typed(name, text)
        for joint, value in named(typed).items():
            if joint in entries:
                raise typed.wrong(f"joint '{joint}' is there twice", "keep one of them")
            entries[joint] = value
    return entries


def _armature(texts: Sequence[str]) -> dict[str, float]:
    entries = _entries("--armature", texts)
    for name, (_, degrees) in entries.items():
        if degrees:
            raise UsageError(f"joint '{name}': an inertia is no angle", where="--armature")
    return {name: value for name, (value, _) in entries.items()}


def payload_of(typed: Typed) -> Payload:
    """LINK:MASS[@X,Y,Z]."""
    from robolin.description.building.options import Payload

    head, at, place = typed.text.rpartition("@")
    link, colon, mass = (head if at else typed.text).rpartition(":")
    if not colon or not link:
        raise typed.wrong("this is not LINK:MASS[@X,Y,Z]", "for example tool0:1.5@0,0,0.1")
    x, y, z = numbers(typed, place, 3, "a place X,Y,Z after the @") if at else (0.0, 0.0, 0.0)
    return Payload(link, number(typed, mass), (x, y, z))


def _wrench(typed: Typed, model: Any) -> Wrench:
    from robolin.arm import Wrench

    link, equals, load = typed.text.rpartition("=")
    if not equals or not link:
        hint = "for example tool0=0,0,-10,0,0,0"
        raise typed.wrong("this is not LINK=FX,FY,FZ,TX,TY,TZ", hint)
    fx, fy, fz, tx, ty, tz = numbers(typed, load, 6, "FX,FY,FZ,TX,TY,TZ")
    return Wrench(link, model, (fx, fy, fz), (tx, ty, tz))
