"""robolin generate: C or WebAssembly code for commands."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, bundled, flag, validated_path
from robolin.cli.flags.forward_flags import FORWARD_METHOD_FLAG
from robolin.cli.flags.state_flags import model_option_flags
from robolin.cli.main import say
from robolin.core.choices import EXTRAS, LAYOUTS, REALS, TARGETS
from robolin.core.progress import running
from robolin.core.records import dataclass
from robolin.core.text import printable, quote_list
from robolin.errors import UsageError
from robolin.queries.request import ArmSource

if TYPE_CHECKING:
    from robolin.core.arm import Arm

_ADD_MPC = "add --with mpc and the commands inverse and linearize-inverse"

_FLAGS: list[click.Parameter] = [
    click.Argument(["verbs"], nargs=-1, required=True, metavar="COMMAND..."),
    flag(
        "-o --output FOLDER",
        METHOD,
        "Output folder\n"
        "robolin creates a missing folder. Files that robolin did not write, or that were edited, "
        "are never replaced.",
        into="folder",
        required=True,
    ),
    flag(
        "--target",
        METHOD,
        "Generate C, or WebAssembly with a JavaScript wrapper",
        choices=TARGETS,
        default="c",
    ),
    flag(
        "--real",
        METHOD,
        "Floating-point type; double gives exactly the results of robolin",
        choices=REALS,
        default="double",
    ),
    flag(
        "--prefix NAME",
        METHOD,
        "Prefix of file and function names (default: the name of the robot)",
    ),
    flag(
        "--layout",
        METHOD,
        "Generate straight-line code, or loops over the links\n"
        "auto selects loops for more than 12 joints and, with --target wasm, for more than 10000 "
        "operations.",
        choices=LAYOUTS,
        default="auto",
    ),
    flag(
        "--with",
        METHOD,
        "Add mex (MATLAB), ros2 (plugin), mpc (controller) or fmu; repeatable\n"
        "mex: a function for MATLAB and Octave; ros2: a plugin for inverse_dynamics_solver of "
        "ROS 2; mpc: the controller of robolin.receding; fmu: model exchange with FMI 2.0 and 3.0.",
        into="extras",
        multiple=True,
        choices=EXTRAS,
    ),
    flag(
        "--states N",
        METHOD,
        "Number of states per function in the generated test",
        type=click.IntRange(1, 100_000),
        default=5,
    ),
    flag(
        "--frame LINK",
        METHOD,
        "Link for kinematic functions (default: the tip, or the only end link)",
    ),
    flag("--point X,Y,Z", METHOD, "Point in the frame [m] (default 0,0,0)"),
    flag(
        "--prescribe JOINTS",
        METHOD,
        "Joints with prescribed motion\n"
        "With this option, forward and linearize-forward take the accelerations of these joints "
        "and return the torques of these joints. For example, use 'base' with --floating-base.",
        by_name=True,
    ),
    flag(
        "--dt S",
        METHOD,
        "Sample period of the observer or MPC [s]\n"
        "With this option, the period and the gain of the observer are constants in the code, not "
        "function arguments. The default for mpc is 0.01.",
        type=float,
    ),
    flag(
        "--horizon S",
        METHOD,
        "Horizon of the MPC controller [s] (default 0.5)",
        type=float,
    ),
    flag(
        "--goal VALUES",
        METHOD,
        "Initial goal of the MPC controller: positions, or a pose (default: home, else 0)",
    ),
    flag(
        "--settling-time S",
        METHOD,
        "Settling time of the observer's torque estimate to 1 % [s]",
        type=float,
        default=0.1,
        modifies={"dt": "add --dt, for example --dt 0.001"},
    ),
    FORWARD_METHOD_FLAG,
]


@dataclass(frozen=True)
class ProgramChoices:
    """Program to generate, and its output folder."""

    verbs: tuple[str, ...]
    folder: str
    choices: dict[str, Any]


_SHORT = "output target real layout with states frame dt horizon goal"


def _program_choices(
    verbs: tuple[str, ...], folder: str, point: str | None, **choices: Any
) -> ProgramChoices:
    from robolin.core.text_parsing import FlagText, numbers

    if point is not None:
        choices["point"] = numbers(FlagText("--point", point), "x, y, z in m", 3)
    return ProgramChoices(verbs, validated_path(folder), choices)


@click.command("generate", cls=VerbCommand, short=_SHORT)
@model_option_flags
@bundled("program", _FLAGS, _program_choices)
def command(model: ArmSource, program: ProgramChoices) -> None:
    """Generate C or WebAssembly code for a robot.

    Writes ARM.c and ARM.h (C99, no libraries, no heap), a test with reference results,
    CMakeLists.txt and a Makefile. COMMAND is inverse, forward, mass-matrix, linearize-forward, or
    another command with a compiled algorithm. --target wasm writes ARM.wasm, a JavaScript wrapper
    with types, and a test for Node.js.

    \b
    Examples:
      robolin generate panda inverse linearize-forward -o panda-c
      robolin generate arm.urdf forward --real float --prefix arm -o firmware
      robolin generate ur5 inverse mass-matrix --with mex -o ur5-mex
      robolin generate panda inverse forward --target wasm -o panda-wasm
      robolin generate ur5 momentum-observer --dt 0.002 -o ur5-c
      robolin generate ur5 inverse linearize-inverse --with mpc -o ur5-mpc
      robolin generate ur5 forward linearize-forward --with fmu -o ur5-fmu
    """
    from pathlib import Path

    from robolin.codegen.generate import earlier_files, generate

    arm = model.arm()
    with running("generating code"):
        files = generate(arm, program.verbs, program.folder, **_with_controller(arm, program))
    for name in files:
        click.echo(printable(f"{program.folder.rstrip('/')}/{name}"))
    if old := earlier_files(Path(program.folder), files):
        names = quote_list(old)
        say("note", f"{program.folder}: files of an earlier run remain unchanged: {names}")


# default of robolin.receding, in s
_PERIOD = 0.01


def _with_controller(arm: Arm, program: ProgramChoices) -> dict[str, Any]:
    """The choices with the controller of --with mpc."""
    choices = dict(program.choices)
    goal, horizon = choices.pop("goal"), choices.pop("horizon")
    if "mpc" not in choices["extras"]:
        for name, value in (("--goal", goal), ("--horizon", horizon)):
            if value is not None:
                raise UsageError("has no effect without --with mpc", where=name, hint=_ADD_MPC)
        return choices
    from robolin.control.optimization.receding import receding
    from robolin.core.text_parsing import FlagText, parse_per_joint

    home = arm.poses.get("home", 0.0)
    positions = home if goal is None else parse_per_joint(FlagText("--goal", goal), arm, True, True)
    dt = choices["dt"]
    if not any("observer" in verb for verb in program.verbs):
        # then it is the period of the controller only
        choices["dt"] = None
    times = {"dt": dt, "horizon": horizon}
    times = {name: value for name, value in times.items() if value is not None}
    controller = receding(arm, positions, q=positions, **times)
    steps, period = len(controller.tau), float(times.get("dt", _PERIOD))
    if horizon is not None and not isclose(steps * period, horizon, rel_tol=1e-9):
        used = f"{steps * period:g} s ({steps} steps of {period:g} s)"
        say("note", f"--horizon {horizon:g}: rounded to {used}")
    return {**choices, "mpc": controller}
