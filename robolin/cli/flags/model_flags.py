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
    flags,
    option_name,
    validated_path,
)
from robolin.queries.option_specs import MODEL_OPTIONS, MODIFIES, conflict
from robolin.queries.request import ArmSource, arm_source
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.description.building.keywords import ModelOptions

ARM_ARGUMENT = RobotFile(["arm"], metavar="ARM")

XACRO_FLAGS = flags(
    MODEL,
    MODEL_OPTIONS,
    {
        "--xacro-arg NAME:=VALUE": "Set an argument of a xacro file; repeatable",
        "--package NAME=FOLDER": "Set the folder of a package or model; repeatable\n"
        "It is used for $(find NAME) in xacro files (default found by package.xml, "
        "AMENT_PREFIX_PATH, ROS_PACKAGE_PATH). For SDF it is used for model://NAME (default "
        "found near the file, GZ_SIM_RESOURCE_PATH).",
    },
)

_FLAGS = [
    *flags(
        MODEL,
        MODEL_OPTIONS,
        {
            "--gravity X,Y,Z|G": "Gravity [m/s^2] (default: from the file, else 0,0,-9.81)\n"
            "X,Y,Z is in the axes of the root link. One number G keeps the direction of the file's "
            "gravity, else -z.",
            "--base LINK": "Lock the joints between the root and this link",
            "--tip LINK": "Lock the joints that do not move this link",
            "--lock JOINT=VALUE": "Lock a joint at a position; repeatable\n"
            "Separate several joints by commas.",
            "--payload LINK:MASS[@X,Y,Z]": "Add a point mass [kg] to a link; repeatable\n"
            "@X,Y,Z is its position [m] in the link frame; without it, the origin.",
            "--wrench LINK=FX,FY,FZ,TX,TY,TZ": "Apply a force and a torque to a link; repeatable",
            "--wrench-frame": "Reference frame of --wrench\n"
            "follower: axes of the link; dead: world axes at the origin of the link; world: world "
            "axes at the origin of the world.",
            "--no-damping": "Ignore the damping of the file",
            "--no-springs": "Ignore the joint springs of the file",
            "--friction-velocity V": "Apply Coulomb friction as tanh(qd / V) (default: none)\n"
            "One number, or one per joint: joint1=0.02,joint2=0.05.",
            "--armature JOINT=VALUE": "Set the reflected rotor inertia of a joint; repeatable",
            "--joints A,B,C": "Order of the joints in inputs and results",
            "--floating-base": "Add a joint 'base' with six degrees of freedom",
            "--base-joint": "Add a joint 'base' of this type\n"
            "A planar joint moves in the xy plane and rotates about z.",
            "--open-loops": "Ignore the loop-closure constraints",
            "--strict": "Treat warnings as errors",
        },
        wrench_frame="follower",
    ),
    *XACRO_FLAGS,
    *flags(
        MODEL,
        MODEL_OPTIONS,
        {
            "--srdf FILE": "SRDF file with named poses (default: the .srdf file next to ARM)\n"
            "Its group states are poses of a URDF or xacro file.",
        },
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
            hint = "add an ARM, or remove this option: --joints N is a chain without a robot file"
            raise conflict(option_name(param), MODIFIES, ["arm"], hint)
    return None


structure_options = bundled(
    "model", [RobotFile(["arm"], required=False, metavar="[ARM]"), *_STRUCTURE], _structure
)


def sources_with_options(
    sources: Sequence[str], xacro_arg: Sequence[str], package: Sequence[str]
) -> list[tuple[str, ModelOptions]]:
    """Every file with its read options; xacro options apply to xacro files only."""
    from robolin.description.building.keywords import options_from_texts

    plain = options_from_texts({})
    typed = options_from_texts({"xacro-arg": xacro_arg, "package": package})
    of_xacro = [source.lower().endswith(".xacro") for source in sources]
    # without a xacro file, the first file rejects the unused options
    options = [typed if each or not any(of_xacro) else plain for each in of_xacro]
    return list(zip(map(validated_path, sources), options, strict=True))
