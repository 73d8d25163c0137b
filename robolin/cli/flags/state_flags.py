"""The argument ARM with the model flags, and flags for states: one, random, or recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robolin.cli.flags.flag import (
    MODEL,
    OUTPUT,
    STATE,
    Decorator,
    RobotFile,
    bundled,
    explicit_options,
    flag,
    flags,
    option_name,
    validated_path,
)
from robolin.core.choices import DIFFERENTIATIONS
from robolin.io.format_table import RECORDINGS, extensions, trajectory_formats
from robolin.queries.option_specs import (
    MODEL_OPTIONS,
    MODIFIES,
    READ_OPTIONS,
    SAMPLES,
    TEXTS,
    TRAJECTORY,
    conflict,
)
from robolin.queries.request import ArmSource, arm_source
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from robolin.description.building.keywords import ModelOptions


ARM_ARGUMENT = RobotFile(["arm"], metavar="ARM")

XACRO_FLAGS = flags(
    MODEL,
    MODEL_OPTIONS,
    {
        "--xacro-arg NAME:=VALUE": "Set an argument of a xacro file; repeatable",
        "--package NAME=FOLDER": "Set the folder of a package or model; repeatable\n"
        "In xacro files, FOLDER replaces $(find NAME). Without this option, robolin searches for "
        "package.xml and in AMENT_PREFIX_PATH and ROS_PACKAGE_PATH. In SDF files, FOLDER replaces "
        "both model://NAME and package://NAME. Without this option, robolin searches near the file "
        "and in GZ_SIM_RESOURCE_PATH, SDF_PATH and GAZEBO_MODEL_PATH. MJCF files may read files "
        "in FOLDER, in addition to files in their own package.",
    },
)

_FLAGS = [
    *flags(
        MODEL,
        MODEL_OPTIONS,
        {
            "--gravity X,Y,Z|G": "Set gravity [m/s^2] (default: from the robot file, else "
            "0,0,-9.81)\n"
            "X,Y,Z are in the axes of the root link. A single number G sets only the magnitude; "
            "the robot file sets the direction (default -z).",
            "--base LINK": "Lock the joints between the root and this link",
            "--tip LINK": "Lock the joints that do not move this link",
            "--lock JOINT=VALUE": "Lock a joint at a position; repeatable\n"
            "Separate several joints by commas.",
            "--payload LINK:MASS[@X,Y,Z]": "Add a point mass [kg] to a link; repeatable\n"
            "X,Y,Z is the position of the mass [m] in the link frame. Without @X,Y,Z, the mass is "
            "at the origin of the link frame.",
            "--wrench LINK=FX,FY,FZ,TX,TY,TZ": "Apply a force [N] and a torque [N m] to a link; "
            "repeatable",
            "--wrench-frame": "Reference frame of --wrench\n"
            "follower: link axes at the origin of the link, so the wrench rotates with the link. "
            "dead: world axes at the origin of the link. world: world axes at the world origin.",
            "--no-damping": "Ignore the joint damping in the robot file",
            "--no-springs": "Ignore the joint springs in the robot file",
            "--no-friction": "Ignore the Coulomb friction in the robot file",
            "--friction-velocity V": "Apply Coulomb friction, multiplied by tanh(qd / V) "
            "(default: not applied)\n"
            "V [rad/s or m/s] is one number for all joints, or one per joint: "
            "joint1=0.02,joint2=0.05.",
            "--armature JOINT=VALUE": "Set the rotor inertia reflected to a joint [kg m^2 or kg]; "
            "repeatable",
            "--joints A,B,C": "Set the order of the joints in inputs and results",
            "--floating-base": "Add a joint 'base' with six degrees of freedom\n"
            "The joint connects the root link to the world. With --base, the joint connects "
            "the link of --base to the world.",
            "--base-joint": "Add a joint 'base' of this type\n"
            "The joint connects the root link to the world. With --base, the joint connects "
            "the link of --base to the world. A planar joint moves in the xy plane and "
            "rotates about z.",
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
            "--srdf FILE": "Read named poses from an SRDF file (default: the .srdf file next to "
            "ARM)\n"
            "Each group state of the SRDF file is a pose for --q. ARM must be a URDF or xacro "
            "file.",
        },
    ),
]


def _model(arm: str, **_: Any) -> ArmSource:
    ctx = click.get_current_context()
    verb = VERBS[ctx.command.name or ""]
    return arm_source(validated_path(arm), explicit_options(ctx), verb)


MODEL_PARAMS: list[click.Parameter] = [ARM_ARGUMENT, *_FLAGS]
model_option_flags: Decorator = bundled("model", MODEL_PARAMS, _model)

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


structure_options: Decorator = bundled(
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


class MethodText(click.types.StringParamType):
    """A method of differentiation with shell completion; the request checks its numbers."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(each) for each in DIFFERENTIATIONS if each.startswith(incomplete)]


READING_FLAGS = [
    *flags(
        STATE,
        READ_OPTIONS,
        {
            "--columns QUANTITY=PATTERN": "Map quantities to file columns; repeatable\n"
            "For example position=/joint_states/{joint}/position. {joint} is the name of a joint, "
            "{index} counts joints from 0, {number} from 1. position=2:8 selects columns 2 to 7, "
            "counted from 0. Quantities are position, velocity, acceleration, effort and current. "
            "JOINT/position=COLUMN maps one joint. All patterns may be in a .yaml or .toml file: "
            "--columns FILE.",
            "--time COLUMN": "Name of the time column (default time, else t, stamp, timestamp or "
            "__time)",
            "--time-unit": "Unit of the time column (default s)\n"
            "Integer times require this option. Results contain the times of the file in the "
            "same unit.",
            "--sample-time S": "Time between rows [s], for a file without a time column\n"
            "Without a time column, --differentiate and the command identify require this option.",
            "--degrees": "Read angles in the file as degrees",
            "--radians": "Read angles in the file as radians\n"
            "LeRobot datasets do not store the unit: add --degrees or --radians.",
            "--no-header": "Read a text file without a header line\n"
            "Select columns by index, counted from 0: --columns position=1:7,velocity=7:13,time=0.",
            "--join": "Join a.csv+b.csv by row number or by time (default row)\n"
            "With `--join time`, values are interpolated linearly at the times of the first file.",
            "--torque-constants VALUES": "Convert motor currents to efforts by these constants\n"
            "A constant is the effort at the joint per ampere of motor current: N m per A, or N "
            "per A for prismatic joints. Currents are read from the columns JOINT/current, or "
            "from the columns of --columns current=PATTERN.",
        },
    ),
    flag(
        "--differentiate METHOD",
        STATE,
        "Compute missing velocities and accelerations: central or savgol[:SECONDS]\n"
        "central: central differences. savgol: "
        "Savitzky-Golay filter (local polynomials), also for unequal time steps. savgol:0.1:4 "
        "sets the filter width to 0.1 s and the polynomial order to 4 (default 3). The default "
        "width is 11 rows if all time steps are equal. For unequal time steps, the default width "
        "is the longer of 0.1 s and ten median time steps.",
        type=MethodText(),
    ),
]

_HELP = {
    "q": "Positions [rad or m], or a pose such as home (default 0)",
    "qd": "Velocities [rad/s or m/s] (default 0)",
    "qdd": "Accelerations [rad/s^2 or m/s^2] (default 0)",
    "tau": "Torques [N m or N], or 'hold' for qdd = 0 (default 0)",
    "nu": "Quasi-velocities for --inverse-transform",
    "epsilon": "Quasi-torques for --inverse-transform (default 0)",
    "xi": "Unnormalized quasi-velocities for --inverse-transform",
    "kappa": "Unnormalized quasi-torques for --inverse-transform (default 0)",
    "qdr": "Reference velocities for --slotine-li (default 0)",
    "qddr": "Reference accelerations for --slotine-li (default 0)",
}

_STATE_FILE = (
    "Read the state from a .yaml or .toml file\n"
    "For example, write 'q: {elbow: 30deg}'; qd, qdd and tau are also accepted. A quantity may be "
    "in the file or in an option, but not in both."
)

_TRAJECTORY = [
    *flags(
        STATE,
        {**TRAJECTORY, "trajectory": TEXTS},
        {
            "--trajectory FILE": "Compute a result for every row of a file; repeatable\n"
            f"Formats: {extensions([*trajectory_formats(), *RECORDINGS])}, or - for CSV on "
            "standard input. Columns are JOINT/position, JOINT/velocity, JOINT/acceleration and "
            "JOINT/effort; positions are required. "
            "a.csv+b.csv reads two files as one recording. "
            "FILE may be a pattern ('logs/**/*.csv') or a folder. The result of several "
            "recordings has a column 'source'; -o FOLDER/ writes one file per recording.",
            "--on-bad-row": "At an invalid row, stop with an error or write NaN\n"
            "A row is invalid if it contains a number that is not finite, or has no result.",
        },
        on_bad_row="error",
    ),
    *READING_FLAGS,
    *flags(
        STATE,
        TRAJECTORY,
        {
            "--carry COLUMN": "Copy a numeric column into the result; repeatable",
            "--rows FIRST:STOP": "Use only these rows of the file\n"
            "Examples: 1000:2000, 1000: and :2000. The first row is row 0; row STOP is excluded.",
            "--stride N": "Use only every Nth row",
        },
    ),
]


def sample_flags(needed: str) -> list[click.Option]:
    """--samples and --seed, for a command where they require the flag `needed`."""
    texts = {
        "--samples N": f"Use N random states (requires {needed})\n"
        "The joint positions are within the joint limits.",
        "--seed S": "Random seed (default 0)",
    }
    return flags(STATE, SAMPLES, texts)


_OF_RECORDINGS = {"trajectory": "add --trajectory FILE"}

_PART_ROWS = flag(
    "--part-rows N",
    OUTPUT,
    "Maximum number of rows per part\n"
    "Requires -o FOLDER/. Files are part-00000.parquet, part-00001.parquet, ...; each "
    "part contains rows of only one recording.",
    minimum=1,
    modifies=_OF_RECORDINGS,
)

_SHARD = flag(
    "--shard K/N",
    OUTPUT,
    "Compute every Nth part, starting with the Kth\n"
    "Requires -o FOLDER/. To compute all parts, run one command for each K from 1 to N, in "
    "sequence or in parallel.",
    modifies=_OF_RECORDINGS,
)

_RESUME = flag(
    "--resume",
    OUTPUT,
    "Skip parts that are complete\n"
    "Requires -o FOLDER/. Parts written by a different command are computed again.",
    modifies=_OF_RECORDINGS,
)

_ONLY_CSV = "--live writes CSV to standard output: redirect it with > FILE"

_LIVE = flag(
    "--live",
    OUTPUT,
    "Compute each line of standard input as it arrives\n"
    "Requires --trajectory -. Writes CSV to standard output. Times are read as decimal numbers, "
    "unless the first time is a date or an integer above 2^53.",
    requires={"trajectory=-": "add --trajectory -"},
    excludes={"output": _ONLY_CSV, "format if !format=csv": _ONLY_CSV},
)

_CLUSTER = flag(
    "--cluster WHERE",
    OUTPUT,
    "Compute the parts on Dask workers\n"
    "Requires -o FOLDER/. WHERE is local:N for N processes, or the address of a "
    "scheduler (tcp://scheduler:8786).",
    modifies=_OF_RECORDINGS,
)

MANY_PARAMS: list[click.Parameter] = [_PART_ROWS, _SHARD, _RESUME, _CLUSTER, _LIVE]
