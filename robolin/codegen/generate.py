"""Generation of a folder with a C program from an arm and verbs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from robolin.codegen.c_files import CProgram, check_text, header_text, prefix_for, source_text
from robolin.codegen.c_function import ArmData, CFunction, loop_function, straight_function
from robolin.codegen.extra_files import (
    CMAKE_ROS2,
    mex_text,
    package_manifest,
    plugin_description,
    plugin_source,
    require_ros2,
)
from robolin.codegen.fmu_files import fmu_archives, is_marked_archive, require_fmu
from robolin.codegen.functions import ChosenQuestion, chosen_questions, measured_loss, parameters_in
from robolin.codegen.mpc_files import (
    MpcController,
    mpc_header,
    mpc_source,
    mpc_test,
    require_mpc,
)
from robolin.codegen.wasm_files import wasm_files
from robolin.codegen.wasm_module import is_marked
from robolin.core.arm import ORIGIN, Arm
from robolin.core.arrays import list_of_names
from robolin.core.choices import (
    EXTRAS,
    LAYOUTS,
    REALS,
    TARGETS,
    Extra,
    Real,
    SourceLayout,
    Target,
)
from robolin.core.text import quote_list
from robolin.dynamics.algebra.trigonometry import DOUBLE, PRECISIONS, Precision
from robolin.errors import FileError, UsageError, require_path
from robolin.evaluation.constant_inputs import SETTLING_TIME, JointsNamed, observer_inputs
from robolin.evaluation.methods import Method
from robolin.io.atomic import atomic_write_all, temporary_folder

# largest number of joints for unrolled code; beyond that, compilers take too long
UNROLLED_UP_TO = 12

STATES = 5


def generate(
    arm: Arm,
    verbs: Sequence[str],
    folder: str | os.PathLike[str],
    *,
    target: Target = "c",
    real: Real = "double",
    prefix: str | None = None,
    layout: SourceLayout = "auto",
    extras: Sequence[Extra] = (),
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
    dt: float | None = None,
    settling_time: float = SETTLING_TIME,
    states: int = STATES,
    mpc: MpcController | None = None,
) -> tuple[str, ...]:
    """Write C functions or a WebAssembly module for some commands, and a test, into a folder.

    Args:
        arm: the arm, from `robolin.load`; its options are part of the program
        verbs: what to compute, such as "inverse" or "linearize-forward"
        folder: output folder, created if necessary; existing files are replaced only if robolin
            wrote them and they are unchanged
        target: "c", or "wasm" for a WebAssembly module with a JavaScript wrapper
        real: "double" for results that are bit-identical with robolin's, or "float"
        prefix: prefix of file and function names; None for the arm's name
        layout: "unrolled" for straight-line code with constants folded, or "loops" over the links;
            "auto" uses loops above 12 joints, and for WebAssembly above 10 000 operations
        extras: "mex" for a function of MATLAB and Octave, "ros2" for a plugin of
            inverse_dynamics_solver, which needs "inverse" and "mass-matrix", "mpc" for the
            controller `mpc`, which needs "inverse" and "linearize-inverse", "fmu" for functional
            mock-up units of FMI 2.0 and 3.0, which need "forward" and "linearize-forward"
        method: the algorithm, if a verb has several
        frame: name of the link for kinematic verbs; None for the tip, or the only end
        point: coordinates of a point in that frame (3,) in m
        prescribe: joints with prescribed acceleration, such as "base": "forward" and
            "linearize-forward" take their accelerations and return their torques
        dt: period in s of "momentum-observer" and "momentum-observer-start"; the functions then
            contain the period and the gain as constants; None for functions with both as arguments
        settling_time: time in s after which the estimate of a constant torque has an error of 1 %
        states: number of states that the test compares for each verb
        mpc: a controller from `robolin.receding`, with extras=["mpc"]

    Returns:
        the names of the files

    Raises:
        RobolinError: closed loops or a joint without inertia, if a verb does not support them
        UsageError: `arm` is not an `Arm`, an unknown verb, or an invalid option
        FileError: a folder that cannot be written, or a file in this folder that robolin did not
            write

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.generate(arm, ["inverse", "forward"], "made")
        ('two_link.c', 'two_link.h', 'two_link_test.c', 'CMakeLists.txt', 'Makefile')
    """
    require_path(folder=folder)
    extras = _extras(extras)
    _require_choices(target, real, layout, extras, states)
    observer = None if dt is None else observer_inputs(arm, dt, settling_time)
    questions = chosen_questions(arm, _verbs(verbs), method, frame, point, prescribe, observer)
    if mpc is not None and "mpc" not in extras:
        raise UsageError("mpc: has no effect without extras", hint='add extras=["mpc"]')
    if target == "wasm":
        name = prefix_for(arm.name, prefix)
        texts = wasm_files(questions, name, layout, method, states)
        files: Mapping[str, bytes] = {
            file: content if isinstance(content, bytes) else file_bytes(file, content)
            for file, content in texts.items()
        }
    else:
        files = program_files(
            questions, PRECISIONS[real], prefix, layout, extras, method, states, mpc
        )
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
    mpc: MpcController | None = None,
) -> Mapping[str, bytes]:
    """All files by name, in output order."""
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
        "CMakeLists.txt": cmake_text(name, "mpc" in extras, "ros2" in extras),
        "Makefile": makefile_text(name, "mpc" in extras),
    }
    if "mex" in extras:
        texts[f"{name}_mex.c"] = mex_text(program)
    if "ros2" in extras:
        require_ros2(program)
        texts[f"{name}_inverse_dynamics_solver.cpp"] = plugin_source(program)
        texts[f"{name}_plugins.xml"] = plugin_description(program)
        texts["package.xml"] = package_manifest(program)
    if "mpc" in extras:
        controller = require_mpc(program, mpc)
        texts[f"{name}_mpc.h"] = mpc_header(program, controller)
        texts[f"{name}_mpc.c"] = mpc_source(program, controller)
        texts[f"{name}_mpc_test.c"] = mpc_test(program, controller)
    files = {name: file_bytes(name, lines) for name, lines in texts.items()}
    if "fmu" in extras:
        require_fmu(program)
        files |= fmu_archives(program, questions)
    return files


def _with_loops(
    questions: Sequence[ChosenQuestion], precision: Precision, prefix: str
) -> tuple[tuple[CFunction, ...], tuple[str, ...]]:
    """Functions, and the tables that they read: one per frame."""
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


_EXTRAS_HINT = f"pass a list with one or more of {', '.join(EXTRAS)}"


def _extras(extras: Sequence[Extra]) -> Sequence[Extra]:
    if isinstance(extras, list | tuple):
        return extras
    message = f"extras: must be a list, got {extras!r}"
    raise UsageError(message, hint=_EXTRAS_HINT)


def _verbs(verbs: Sequence[str]) -> list[str]:
    if isinstance(verbs, str):
        raise UsageError(
            f"must be a list, got the string {verbs!r}",
            where="verbs",
            hint=f"pass a list: [{verbs!r}]",
        )
    names = [verb.replace("_", "-") for verb in list_of_names("verbs", verbs)]
    if not names:
        raise UsageError(
            "no function is selected", hint="name at least one command, for example inverse"
        )
    twice = [verb for verb in dict.fromkeys(names) if names.count(verb) > 1]
    if twice:
        raise UsageError(
            f"named more than once: {quote_list(twice)}", hint="name each function once"
        )
    return names


def _unknown(name: str, value: str, choices: Sequence[str]) -> UsageError:
    hint = f"choose one of {', '.join(choices)}"
    return UsageError(f"{name}: unknown value '{value}'", hint=hint)


def _require_choices(
    target: str, real: str, layout: str, extras: Sequence[str], states: int
) -> None:
    if target not in TARGETS:
        raise _unknown("target", target, TARGETS)
    if real not in REALS:
        raise _unknown("real", real, REALS)
    if layout not in LAYOUTS:
        raise _unknown("layout", layout, LAYOUTS)
    if any(each not in EXTRAS for each in extras):
        raise UsageError(f"extras: unknown value {extras!r}", hint=_EXTRAS_HINT)
    if target == "wasm" and real != "double":
        raise UsageError("WebAssembly requires double precision", hint="omit --real float")
    if target == "wasm" and extras:
        message = f"--with {extras[0]} has no effect with --target wasm"
        raise UsageError(message, hint="omit --with, or use --target c")
    if isinstance(states, bool) or not isinstance(states, int) or not 1 <= states <= 100_000:
        raise UsageError(
            f"states: must be an integer from 1 to 100000, got {states!r}",
            hint="use states=5 (--states 5)",
        )


_MARK = "made by robolin generate, SHA-256 of the rest"
_COMMENTS = {".c": ("/* ", " */"), ".h": ("/* ", " */"), ".cpp": ("// ", "")}
_COMMENTS |= {".mjs": ("// ", ""), ".mts": ("// ", "")}
_COMMENTS |= {".xml": ("<!-- ", " -->"), ".m": ("% ", "")}


def file_bytes(name: str, lines: Iterable[str]) -> bytes:
    """File content with the first line that marks it as generated."""
    rest = "".join(f"{line}\n" for line in lines).encode()
    begin, end = _COMMENTS.get(Path(name).suffix, ("# ", ""))
    return f"{begin}{_MARK}: {sha256(rest).hexdigest()}{end}\n".encode() + rest


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into the folder, which is created if necessary."""
    try:
        if folder.exists() or folder.is_symlink():
            _require_ours(folder, files)
            _replace(folder, files)
        else:
            _make(folder, files)
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise FileError(message, where=str(folder), hint="choose another folder with -o") from error


def _require_ours(folder: Path, files: Mapping[str, bytes]) -> None:
    if not folder.is_dir():
        raise FileError("is a file, not a folder", where=str(folder), hint="choose another name")
    for name in files:
        there = folder / name
        if (there.exists() or there.is_symlink()) and not _is_ours(there):
            raise FileError(
                "the file was not written by robolin, or was changed afterwards",
                where=str(there),
                hint="move the file, or choose another folder with -o",
            )
    # build files have the same name in every program
    for test in sorted(folder.glob("*_test.c")):
        if test.name not in files and _is_ours(test):
            raise FileError(
                "the folder already contains another program, "
                f"'{test.name.removesuffix('_test.c')}'",
                where=str(folder),
                hint="choose another folder with -o: each program needs its own folder",
            )


_ENDINGS = frozenset((".fmu", ".wasm", ".txt", *_COMMENTS))


def earlier_files(folder: Path, files: Iterable[str]) -> list[str]:
    """Names of generated files in the folder that an earlier command wrote, and not this one."""
    there = {each.name for each in folder.iterdir() if each.suffix in _ENDINGS}
    return [name for name in sorted(there.difference(files)) if _is_ours(folder / name)]


def _is_ours(file: Path) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    content = file.read_bytes()
    first, _, rest = content.partition(b"\n")
    if is_marked(content) or is_marked_archive(content):
        return True
    return f"{_MARK}: {sha256(rest).hexdigest()}".encode() in first


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    with atomic_write_all([folder / name for name in files]) as streams:
        for stream, content in zip(streams, files.values(), strict=True):
            stream.write(content)


def _make(folder: Path, files: Mapping[str, bytes]) -> None:
    if not folder.parent.is_dir():
        raise FileError(
            f"folder '{folder.parent}' not found",
            where=str(folder),
            hint="create the folder first, or check the spelling",
        )
    with temporary_folder(folder.parent) as made:
        _replace(made, files)
        # the folder is private until it is complete
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)
        made.rename(folder)


_MAKE = """\
# -std=c99 prevents GCC from fusing operations, so results stay bit-identical
CC ?= cc
AR ?= ar
CFLAGS ?= -O2
STRICT = -std=c99 -pedantic -Wall -Wextra -ffp-contract=off

lib{prefix}.a: {prefix}.o
\t$(AR) rcs $@ $<

{prefix}.o: {prefix}.c {prefix}.h
\t$(CC) $(STRICT) $(CFLAGS) -c {prefix}.c -o $@

{prefix}_test: {prefix}_test.c lib{prefix}.a
\t$(CC) $(STRICT) $(CFLAGS) {prefix}_test.c lib{prefix}.a -o $@

.PHONY: check clean
check: {prefix}_test
\t./{prefix}_test

clean:
\trm -f {prefix}.o lib{prefix}.a {prefix}_test
"""

_CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project({prefix} C)

add_library({prefix} STATIC {prefix}.c)
target_include_directories({prefix} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}> $<INSTALL_INTERFACE:include>)
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF
  POSITION_INDEPENDENT_CODE ON)
# fused operations round once where robolin rounds twice
target_compile_options({prefix} PRIVATE
  $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off>)

enable_testing()
add_executable({prefix}_test {prefix}_test.c)
target_link_libraries({prefix}_test {prefix})
add_test(NAME {prefix} COMMAND {prefix}_test)
"""


_MAKE_MPC = """\

{prefix}_mpc_test: {prefix}_mpc_test.c {prefix}_mpc.c {prefix}_mpc.h lib{prefix}.a
\t$(CC) $(STRICT) $(CFLAGS) {prefix}_mpc_test.c {prefix}_mpc.c lib{prefix}.a -o $@

check: check_mpc
.PHONY: check_mpc
check_mpc: {prefix}_mpc_test
\t./{prefix}_mpc_test
"""

_CMAKE_MPC = """\

target_sources({prefix} PRIVATE {prefix}_mpc.c)
add_executable({prefix}_mpc_test {prefix}_mpc_test.c)
target_link_libraries({prefix}_mpc_test {prefix})
add_test(NAME {prefix}_mpc COMMAND {prefix}_mpc_test)
"""


# find_package({prefix}) of an installed arm gives the target {prefix}::{prefix}
_CMAKE_INSTALL = """\

install(TARGETS {prefix} EXPORT export_{prefix} ARCHIVE DESTINATION lib LIBRARY DESTINATION lib)
install(FILES {headers} DESTINATION include)
"""

_CMAKE_EXPORT = """\
install(EXPORT export_{prefix} NAMESPACE {prefix}:: FILE {prefix}Config.cmake
  DESTINATION lib/cmake/{prefix})
"""


def makefile_text(prefix: str, mpc: bool = False) -> Iterator[str]:
    yield from (_MAKE + _MAKE_MPC * mpc).format(prefix=prefix).splitlines()


def cmake_text(prefix: str, mpc: bool = False, ros2: bool = False) -> Iterator[str]:
    headers = f"{prefix}.h {prefix}_mpc.h" if mpc else f"{prefix}.h"
    export = CMAKE_ROS2 if ros2 else _CMAKE_EXPORT
    text = _CMAKE + _CMAKE_MPC * mpc + _CMAKE_INSTALL + export
    yield from text.format(prefix=prefix, headers=headers).splitlines()
