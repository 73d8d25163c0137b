"""C test program that compares generated code with robolin's results, state by state."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from math import prod

from robolin.codegen.c_files import CProgram
from robolin.codegen.c_function import CFunction
from robolin.codegen.functions import ChosenQuestion
from robolin.codegen.single_precision import NamedFloats, max_float_error, valid_states
from robolin.core.arrays import Floats
from robolin.evaluation.methods import Method

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
_SAME_BITS = """\
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
    yield from (_SAME_BITS if exact else _NEARLY).splitlines()
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
