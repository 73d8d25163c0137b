"""The argument ARM and the model flags as one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robolin.cli.flags.flag import (
    MODEL,
    RobotFile,
    bundled,
    explicit_options,
    flag,
    option_name,
    validated_path,
)
from robolin.core.choices import BASE_JOINTS, WRENCH_MODELS
from robolin.queries.option_specs import MODIFIES, conflict
from robolin.queries.request import ArmSource, arm_source
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.description.building.option_texts import ModelOptions

ARM_ARGUMENT = RobotFile(["arm"], metavar="ARM")

XACRO_FLAGS = [
    flag(
        "--xacro-arg",
        section=MODEL,
        multiple=True,
        metavar="NAME:=VALUE",
        help="Value of an argument of a xacro file; repeatable.",
    ),
    flag(
        "--package",
        section=MODEL,
        multiple=True,
        metavar="NAME=FOLDER",
        help="Where a package is that $(find NAME) means in a xacro file; repeatable.  "
        "[default: found by package.xml, AMENT_PREFIX_PATH, ROS_PACKAGE_PATH]",
    ),
]

_FLAGS = [
    flag(
        "--gravity",
        section=MODEL,
        metavar="X,Y,Z|G",
        help="Acceleration of gravity in the root link's axes, or its size alone, in the "
        "direction of the file's own (else -z); 0 for none.  "
        "[default: the file's, else 0,0,-9.81]",
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
    flag("--no-springs", section=MODEL, is_flag=True, help="Leave out the file's joint springs."),
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
    flag(
        "--base-joint",
        section=MODEL,
        type=click.Choice(BASE_JOINTS),
        help="Let the base link move by a joint 'base' of this kind; planar is across z.",
    ),
    flag("--open-loops", section=MODEL, is_flag=True, help="Leave out the closures of loops."),
    flag("--strict", section=MODEL, is_flag=True, help="Warnings become errors."),
    *XACRO_FLAGS,
    flag(
        "--srdf",
        section=MODEL,
        metavar="FILE",
        help="SRDF file with named poses (group states) for a URDF or xacro file.  "
        "[default: the .srdf file of the same name in its folder]",
    ),
]


def _model(arm: str, **_: Any) -> ArmSource:
    ctx = click.get_current_context()
    verb = VERBS[ctx.command.name or ""]
    return arm_source(validated_path(arm), explicit_options(ctx), verb)


MODEL_PARAMS: list[click.Parameter] = [ARM_ARGUMENT, *_FLAGS]
model_option_flags = bundled("model", MODEL_PARAMS, _model)

# joints may be counted instead of named, and their order does not matter
_STRUCTURE = [param for param in _FLAGS if param.name != "joints"]


def _structure(arm: str | None, **_: Any) -> ArmSource | None:
    ctx = click.get_current_context()
    if arm is not None:
        texts = {
            label: value for label, value in explicit_options(ctx).items() if label != "joints"
        }
        return arm_source(validated_path(arm), texts, VERBS[ctx.command.name or ""])
    for param in _STRUCTURE:
        if ctx.get_parameter_source(param.name or "") is not ParameterSource.DEFAULT:
            hint = "--joints N takes as many joints as should move, and nothing else"
            raise conflict(option_name(param), MODIFIES, ["arm"], hint)
    return None


structure_options = bundled(
    "model", [RobotFile(["arm"], required=False, metavar="[ARM]"), *_STRUCTURE], _structure
)


def sources_with_options(
    sources: Sequence[str], xacro_arg: Sequence[str], package: Sequence[str]
) -> list[tuple[str, ModelOptions]]:
    """Every file with its read options; xacro options apply to xacro files only."""
    from robolin.description.building.option_texts import options_from_texts

    plain = options_from_texts({})
    given = options_from_texts({"xacro-arg": xacro_arg, "package": package})
    of_xacro = [source.lower().endswith(".xacro") for source in sources]
    # without a xacro file, the first file rejects the unused options
    options = [given if each or not any(of_xacro) else plain for each in of_xacro]
    return list(zip(map(validated_path, sources), options, strict=True))
