"""Header, source file and test program of a generated C program."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import PurePath
from textwrap import wrap
from typing import Any

from robolin import __version__
from robolin.codegen.c_function import CFunction, own_function
from robolin.codegen.functions import (
    ChosenQuestion,
    MeasuredLoss,
    NamedFloats,
    max_float_error,
    valid_states,
)
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.quantity_table import QUANTITIES, has_units_by_label, joint_unit, unit_of
from robolin.core.records import dataclass
from robolin.core.text import printable
from robolin.dynamics.algebra.trigonometry import Precision
from robolin.errors import UsageError
from robolin.evaluation.methods import Method

# stack bytes for saved registers and for calls of the program's own functions
RESERVED_BYTES = 1024

# one line per paragraph; lines are wrapped to the width of the comment
_ABOUT = """\
Every function is reentrant: no global state, no heap, no libraries.  The sequence of operations \
does not depend on the values.  Arrays are in the joint order below, matrices are row-major.  \
Results must not overlap arguments.  Return values:

   0   success
   k   joint k, counted from 1, moves no inertia: the result does not exist
  -1   an angle is NaN, or larger than {angle:g} rad
  -2   the state is singular: the result does not exist

If the return value is not 0, all results are NaN.

{bits}
Some compiler flags change the last digits: -ffast-math, -Ofast, -mfpmath=387 (the default on \
32-bit x86; use -msse2 -mfpmath=sse), and -ffp-contract=fast (the default of GCC without \
-std=c99).  Compile with -std=c99 -ffp-contract=off.
"""
_SAME_BITS = "Results are bit-identical to robolin on every machine with IEEE 754 doubles."
_IN_FLOAT = """\
Results are computed in single precision.  The macros below define the largest errors at {states} \
random states, relative to the largest entry of each result.  More digits are lost near \
singular states and where a result is near zero.  Round-off can hide a singular state: most \
singular states give a nonzero return value, but not all."""


@dataclass(frozen=True)
class CProgram:
    """C functions of one arm, with their names and precision.

    included:      model assumptions, as text
    measured_loss: measured error of single precision
    """

    arm: Arm
    prefix: str
    precision: Precision
    functions: tuple[CFunction, ...]
    tables: tuple[str, ...]
    included: Mapping[str, Any]
    measured_loss: MeasuredLoss | None = None

    def name(self, function: CFunction) -> str:
        return function_name(self.prefix, function.verb)

    @property
    def contract(self) -> Mapping[str, Any]:
        assumptions = self.included or {"arm": self.arm.name}
        if self.measured_loss is None or "inertial_frame" not in assumptions:
            return assumptions
        world, seat = assumptions["inertial_frame"].partition(";")[0], self.measured_loss.seat
        about = f"computed relative to the position of link '{seat}', which changes only round-off"
        return {**assumptions, "inertial_frame": f"{world}; {about}"}

    def declaration(self, function: CFunction) -> str:
        real, n = self.precision.real, self.arm.n
        takes = [f"const {real} {name}[{n}]" for name in function.needs]
        gives = [f"{real} {name}[{max(1, prod(shape))}]" for name, shape in function.gives.items()]
        return f"int {self.name(function)}({', '.join((*takes, *gives))})"


def header_contract_lines(contract: Mapping[str, Any]) -> list[str]:
    """Included and ignored model features, one line each."""
    return [
        f"{key}: {value if isinstance(value, str) else ', '.join(map(str, value)) or 'none'}"
        for key, value in contract.items()
    ]


def header_text(program: CProgram) -> Iterator[str]:
    """Header file: declarations, prerequisites and model assumptions."""
    upper = program.prefix.upper()
    yield from _comment(_about(program))
    yield f"#ifndef {upper}_H"
    yield f"#define {upper}_H"
    yield ""
    yield f"#define {upper}_JOINTS {program.arm.n}"
    yield f"#define {upper}_CONTRACT_LINES {len(program.contract)}"
    yield f"#define {upper}_ROBOLIN_VERSION {quoted_text(__version__)}"
    yield f"#define {upper}_DIGEST {quoted_text(program.arm.digest)}"
    yield ""
    yield "/* maximum stack use in bytes, including called functions */"
    for function in program.functions:
        size = f"({function.numbers} * sizeof({program.precision.real}) + {RESERVED_BYTES})"
        yield f"#define {program.name(function).upper()}_STACK {size}"
    yield ""
    yield from _losses(program)
    yield "#ifdef __cplusplus"
    yield 'extern "C" {'
    yield "#endif"
    yield ""
    yield f"extern const char *const {program.prefix}_joint_names[{upper}_JOINTS];"
    yield f"extern const char *const {program.prefix}_joint_units[{upper}_JOINTS];"
    yield f"extern const char *const {program.prefix}_contract[{upper}_CONTRACT_LINES];"
    for function in program.functions:
        yield ""
        yield from _comment(_about_function(program, function))
        yield f"{program.declaration(function)};"
    yield ""
    yield "#ifdef __cplusplus"
    yield "}"
    yield "#endif"
    yield ""
    yield "#endif"


def source_text(program: CProgram) -> Iterator[str]:
    """Source file: data, the helper functions that are called, and the functions."""
    yield f'#include "{program.prefix}.h"'
    yield ""
    yield "#ifdef __clang__"
    yield "#pragma STDC FP_CONTRACT OFF"
    yield "#endif"
    yield ""
    yield from _texts(program, "joint_names", "JOINTS", program.arm.joint_names)
    units = [joint_unit("position", joint.turns) for joint in program.arm.joints]
    yield from _texts(program, "joint_units", "JOINTS", units)
    yield from _texts(
        program, "contract", "CONTRACT_LINES", header_contract_lines(program.contract)
    )
    yield from program.tables
    for which in sorted({which for function in program.functions for which in function.calls}):
        yield ""
        yield from own_function(which, program.precision, f"{program.prefix}_")
    for function in program.functions:
        yield ""
        yield program.declaration(function)
        yield "{"
        yield from (f"    {line}".rstrip() for line in function.body)
        yield "}"


def _about(program: CProgram) -> Iterator[str]:
    arm = program.arm
    yield f"{arm.name}: {', '.join(function.verb for function in program.functions)}"
    yield f"robolin {__version__}; robot file {PurePath(arm.source).name or 'none'}"
    yield f"SHA-256 of the robot file: {arm.digest or 'none'}"
    yield ""
    single = program.measured_loss
    bits = _SAME_BITS if single is None else _IN_FLOAT.format(states=single.states)
    yield from _ABOUT.format(angle=program.precision.largest_angle, bits=bits).splitlines()
    yield ""
    yield "Joints:"
    for i, joint in enumerate(arm.joints, start=1):
        yield f"  {i}  {joint.name}  {joint_unit('position', joint.turns)}"
    yield ""
    yield "Model assumptions:"
    yield from (f"  {line}" for line in header_contract_lines(program.contract))


def _losses(program: CProgram) -> Iterator[str]:
    """Errors of single precision, as comment lines."""
    if program.measured_loss is not None:
        yield "/* largest measured error, relative to the largest entry of the result */"
        for function in program.functions:
            loss = program.measured_loss.losses[function.verb]
            yield f"#define {program.name(function).upper()}_ERROR {loss!r}"
        yield ""


# arguments that have a value for all joints, of which some are read
_OF_OTHER_JOINTS = {
    "tau_given": "; not read for prescribed joints",
    "qdd_given": "; not read for free joints",
}


def _about_function(program: CProgram, function: CFunction) -> Iterator[str]:
    yield f"{function.verb}: {function.algorithm}"
    kinds = [joint.kind for joint in program.arm.joints]
    shapes = {**dict.fromkeys(function.needs, (program.arm.n,)), **function.gives}
    for name, shape in shapes.items():
        size = " x ".join(map(str, shape)) or "1"
        unit = _unit(name.removesuffix("_given"), kinds)
        yield f"  {name}: {size}{unit}{_OF_OTHER_JOINTS.get(name, '')}"


def _unit(name: str, kinds: Sequence[str]) -> str:
    """The unit, if all entries have the same one for all joint types."""
    parts = QUANTITIES[name].parts if name in QUANTITIES else ("closure",)
    if any(part.startswith("closure") for part in parts) or has_units_by_label(name):
        return ""
    return f", {unit_of(name, kinds)}"


def _comment(lines: Iterator[str]) -> Iterator[str]:
    yield "/*"
    for line in lines:
        yield from (f" * {part}".rstrip() for part in _wrap_line(comment_text(line)) or [""])
    yield " */"


def _wrap_line(line: str) -> list[str]:
    """Wrap a line to about 96 characters and avoid a last line of a single word."""
    indent = len(line) - len(line.lstrip())
    hanging = " " * (indent + 2 if indent else 0)
    # do not break words and lists of names at hyphens
    fitted = partial(wrap, line, subsequent_indent=hanging, break_on_hyphens=False)
    ways = (fitted(width) for width in range(96, 72, -1))
    return next((parts for parts in ways if not _ends_in_a_word(parts)), fitted(96))


def _ends_in_a_word(parts: Sequence[str]) -> bool:
    return len(parts) > 1 and " " not in parts[-1].strip()


def _texts(program: CProgram, name: str, size: str, texts: Sequence[str]) -> Iterator[str]:
    yield f"const char *const {program.prefix}_{name}[{program.prefix.upper()}_{size}] = {{"
    yield from (f"    {quoted_text(text)}," for text in texts)
    yield "};"


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def prefix_for(arm_name: str, prefix: str | None) -> str:
    """Common prefix of function names: the given one, or the arm's name."""
    if prefix is not None:
        if not isinstance(prefix, str) or not _IDENTIFIER.fullmatch(prefix):
            hint = "use at most 64 letters, digits and underscores, and start with a letter or _"
            raise UsageError(f"'{prefix}' is not a valid prefix of C functions", hint=hint)
        return prefix
    name = re.sub(r"[^A-Za-z0-9]+", "_", arm_name).strip("_").lower()[:64] or "arm"
    return f"arm_{name}"[:64] if name[0].isdigit() else name


def function_name(prefix: str, verb: str) -> str:
    return f"{prefix}_{verb.replace('-', '_')}"


def quoted_text(text: str) -> str:
    """Convert text to a C string literal in ASCII, without trigraphs and escape sequences."""
    spelt = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{"".join(spelt)}"'


def comment_text(text: str) -> str:
    """Text that neither ends a comment, starts another, nor breaks the line."""
    harmless = printable(text).replace("\\", "/").replace("*/", "* /").replace("/*", "/ *")
    # no trigraph: ??/ at the end of a line would be a backslash
    return re.sub(r"\?(?=\?)", "? ", harmless)


# tolerance in single precision, relative to the largest entry of a result; where floats lose more
# at these states, as for results near zero, this multiple of the measured error
LARGEST_ERROR, TIMES_THE_LOSS = 1e-4, 8.0

_START = """\
#include <stdio.h>
#include <string.h>
#include "{prefix}.h"

static int wrong = 0;
static double largest = 0.0;

"""
_BITS_AGREE = """\
static void compare(const char *what, int state, const double *found,
                    const unsigned long long *expected, int count)
{
    int i;
    for (i = 0; i < count; ++i) {
        unsigned long long bits;
        memcpy(&bits, &found[i], sizeof bits);
        if (bits != expected[i]) {
            printf("%s[%d] of state %d differs in its bits\\n", what, i, state);
            ++wrong;
        }
    }
}
"""
_NEARLY = """\
static void compare(const char *what, int state, const float *found,
                    const double *expected, int count, double tolerance)
{
    double most = 0.0, error = 0.0;
    int i;
    for (i = 0; i < count; ++i) {
        const double size = expected[i] < 0.0 ? -expected[i] : expected[i];
        const double off = found[i] - expected[i];
        const double distance = off < 0.0 ? -off : off;
        most = size > most ? size : most;
        error = distance <= error ? error : distance;
    }
    error = most > 1e-12 ? error / most : error;
    largest = error <= largest ? largest : error;
    if (!(error <= tolerance)) {
        printf("%s of state %d: error %g relative to its largest entry\\n", what, state, error);
        ++wrong;
    }
}
"""
_END = """
int main(void)
{{
{calls}
    printf("{prefix}: {count} states, %d differences, largest error %g\\n", wrong, largest);
    return wrong != 0;
}}
"""


def check_text(
    program: CProgram, questions: Sequence[ChosenQuestion], method: Method, states: int
) -> Iterator[str]:
    """The complete test program: it prints differences and exits with 1 if there are any."""
    yield from _START.format(prefix=program.prefix).splitlines()
    exact = program.precision.real == "double"
    yield from (_BITS_AGREE if exact else _NEARLY).splitlines()
    calls: list[str] = []
    for question, function in zip(questions, program.functions, strict=True):
        yield ""
        yield from _check(program, question, function, method, states)
        calls.append(f"    check_{function.verb.replace('-', '_')}();")
    count = states * len(calls)
    end = _END.format(prefix=program.prefix, calls="\n".join(calls), count=count)
    yield from end.splitlines()


def _check(
    program: CProgram, question: ChosenQuestion, function: CFunction, method: Method, states: int
) -> Iterator[str]:
    inputs, results = valid_states(question, method, states, program.precision)
    real, exact = program.precision.real, program.precision.real == "double"
    name = f"check_{function.verb.replace('-', '_')}"
    yield f"static void {name}(void)"
    yield "{"
    for each, called in question.arguments.items():
        yield from _table(f"{real} {called}", program.arm.n, inputs[each], _decimal)
    for each, shape in function.gives.items():
        kind = "unsigned long long" if exact else "double"
        size = max(1, prod(shape))
        values = results[each].reshape(states, size)
        yield from _table(f"{kind} expected_{each}", size, values, _bits if exact else _decimal)
        yield f"    {real} {each}_found[{size}];"
    tolerance = "" if exact else f", {_tolerance(question, inputs, results)!r}"
    yield "    int state;"
    yield f"    for (state = 0; state < {states}; ++state) {{"
    handed = [f"{each}[state]" for each in question.arguments.values()]
    handed += [f"{each}_found" for each in function.gives]
    yield f"        wrong += {program.name(function)}({', '.join(handed)}) != 0;"
    for each, shape in function.gives.items():
        size = max(1, prod(shape))
        what = f'"{function.verb}: {each}"'
        arguments = f"{what}, state, {each}_found, expected_{each}[state], {size}{tolerance}"
        yield f"        compare({arguments});"
    yield "    }"
    yield "}"


def _tolerance(question: ChosenQuestion, inputs: NamedFloats, results: NamedFloats) -> float:
    """Tolerance of results in single precision, relative to their largest entry."""
    allowed = TIMES_THE_LOSS * max_float_error(question, inputs, results)
    return max(LARGEST_ERROR, float(f"{allowed:.1e}"))


def _decimal(number: float) -> str:
    return repr(number)


def _bits(number: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016x}ULL"


def _table(
    declared: str, width: int, rows: Floats, written: Callable[[float], str]
) -> Iterator[str]:
    yield f"    static const {declared}[][{width}] = {{"
    for row in rows:
        yield f"        {{{', '.join(written(float(x)) for x in row)}}},"
    yield "    };"
