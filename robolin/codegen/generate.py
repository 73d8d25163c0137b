"""From an arm and verbs to a folder with a program in C."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from robolin.codegen.build_files import cmake_text, makefile_text
from robolin.codegen.c_files import CProgram, header_text, source_text
from robolin.codegen.c_function import CFunction, straight_function
from robolin.codegen.c_names import prefix_for
from robolin.codegen.c_test_file import check_text
from robolin.codegen.emulate_float32 import parameters_in
from robolin.codegen.functions import ChosenQuestion, chosen_questions
from robolin.codegen.generated_folder import file_bytes, write_folder
from robolin.codegen.loop_function import ArmData, loop_function
from robolin.codegen.mex_file import mex_text
from robolin.codegen.own_functions import DOUBLE, PRECISIONS, Precision
from robolin.codegen.ros2_files import plugin_description, plugin_source, require_ros2
from robolin.codegen.single_precision import measured_loss
from robolin.core.arm import ORIGIN, Arm
from robolin.core.choices import EXTRAS, LAYOUTS, REALS, Extra, Real, SourceLayout
from robolin.core.text import listed, quoted
from robolin.errors import UsageError
from robolin.evaluation.methods import Method
from robolin.evaluation.prescribed_joints import JointsNamed

# above so many joints, one statement after the other takes compilers too long
UNROLLED_UP_TO = 12

STATES = 5


def generate(
    arm: Arm,
    verbs: Sequence[str],
    folder: str | os.PathLike[str],
    *,
    real: Real = "double",
    prefix: str | None = None,
    layout: SourceLayout = "auto",
    extras: Sequence[Extra] = (),
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
    states: int = STATES,
) -> tuple[str, ...]:
    """Write a C program that computes what verbs answer, and its test, into a folder.

    Args:
        arm: the arm, from `robolin.load`; its options are part of the program
        verbs: what to compute, such as "inverse" or "linearize-forward"
        folder: where to write; made if it is not there, and files in it are replaced only if
            robolin wrote them and nobody has changed them since
        real: "double", which gives the bits of robolin's own results, or "float"
        prefix: what names of files and functions begin with; None for the arm's name
        layout: "unrolled", one statement after the other with all constants folded, or "loops"
            over the links; "auto" takes loops above 12 joints
        extras: "mex" for a function of MATLAB and Octave, "ros2" for a plugin of
            inverse_dynamics_solver, which needs "inverse" and "mass-matrix"
        method: the algorithm, where a verb has several
        frame: the link that kinematic verbs are about; None for the tip, or the only end
        point: a place in that frame, three numbers in m
        prescribe: joints that move as told, such as "base": "forward" and "linearize-forward" are
            handed their accelerations, and give their torques
        states: how many states the test compares for each verb

    Returns:
        the names of the files

    Raises:
        RobolinError: closed loops, or a joint without inertia, where a verb has no answer then
        UsageError: no arm, no such verb, or a choice that does not exist
        FileError: a folder that cannot be written, or a file in it that is not robolin's

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.generate(arm, ["inverse", "forward"], "made")
        ('two_link.c', 'two_link.h', 'two_link_test.c', 'CMakeLists.txt', 'Makefile')
    """
    _require_choices(real, layout, extras, states)
    questions = chosen_questions(arm, _verbs(verbs), method, frame, point, prescribe)
    files = program_files(questions, PRECISIONS[real], prefix, layout, extras, method, states)
    write_folder(Path(folder), files)
    return tuple(files)


def program_files(
    questions: Sequence[ChosenQuestion],
    precision: Precision,
    prefix: str | None,
    layout: SourceLayout,
    extras: Sequence[Extra],
    method: Method,
    states: int,
) -> Mapping[str, bytes]:
    """Every file by its name, in the order they are told."""
    arm = questions[0].arm
    name = prefix_for(arm.name, prefix)
    if layout == "loops" or (layout == "auto" and arm.n > UNROLLED_UP_TO):
        functions, tables = _with_loops(questions, precision, name)
    else:
        functions = tuple(_unrolled(question, precision, name) for question in questions)
        tables = ()
    single = None if precision is DOUBLE else measured_loss(questions, method)
    included = {key: value for each in questions for key, value in each.contract.items()}
    program = CProgram(arm, name, precision, functions, tables, included, single)
    texts = {
        f"{name}.c": source_text(program),
        f"{name}.h": header_text(program),
        f"{name}_test.c": check_text(program, questions, method, states),
        "CMakeLists.txt": cmake_text(name),
        "Makefile": makefile_text(name),
    }
    if "mex" in extras:
        texts[f"{name}_mex.c"] = mex_text(program)
    if "ros2" in extras:
        require_ros2(program)
        texts[f"{name}_inverse_dynamics_solver.cpp"] = plugin_source(program)
        texts[f"{name}_plugins.xml"] = plugin_description(program)
    return {name: file_bytes(name, lines) for name, lines in texts.items()}


def _with_loops(
    questions: Sequence[ChosenQuestion], precision: Precision, prefix: str
) -> tuple[tuple[CFunction, ...], tuple[str, ...]]:
    """Functions, and the tables they read: one for each frame that verbs are about."""
    tables: list[ArmData] = []
    functions = []
    for question in questions:
        parameters = parameters_in(precision, question)
        data = next((each for each in tables if each.parameters == parameters), None)
        if data is None:
            names = (f"{prefix}_{word}_{len(tables)}" for word in ("numbers", "wholes"))
            data = ArmData(parameters, *names)
            tables.append(data)
        functions.append(loop_function(question, data, precision, f"{prefix}_"))
    return tuple(functions), tuple(line for each in tables for line in each.text(precision))


def _unrolled(question: ChosenQuestion, precision: Precision, prefix: str) -> CFunction:
    program = question.unrolled(parameters_in(precision, question))
    title = question.algorithm.title
    return straight_function(question.verb, title, program, precision, f"{prefix}_")


def _verbs(verbs: Sequence[str]) -> list[str]:
    if isinstance(verbs, str):
        raise UsageError(f"verbs is {verbs!r}, one text", hint=f"a list of verbs: [{verbs!r}]")
    found = [str(verb).replace("_", "-") for verb in verbs]
    if not found:
        raise UsageError("there is no verb to make a program of", hint="for example: inverse")
    twice = [verb for verb in dict.fromkeys(found) if found.count(verb) > 1]
    if twice:
        raise UsageError(f"named more than once: {quoted(twice)}", hint="name each verb once")
    return found


def _require_choices(real: str, layout: str, extras: Sequence[str], states: int) -> None:
    if real not in REALS:
        raise UsageError(f"there is no real '{real}'", hint=f"choose {listed(REALS)}")
    if layout not in LAYOUTS:
        raise UsageError(f"there is no layout '{layout}'", hint=f"choose {listed(LAYOUTS)}")
    if isinstance(extras, str) or any(each not in EXTRAS for each in extras):
        raise UsageError(f"extras are {extras!r}", hint=f"a list of {listed(EXTRAS)}")
    if not isinstance(states, int) or not 1 <= states <= 100_000:
        raise UsageError(f"states is {states!r}", hint="a whole number from 1 to 100000")
