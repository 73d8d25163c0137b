"""A program that tells whether generated code gives what robolin gives, state by state."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import pi, prod
from random import Random

import numpy as np

from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.engine.run import run_on
from robolin.evaluation.evaluate import How, evaluate_rows, why_unanswered
from robolin.evaluation.methods import Method
from robolin.generating.c_files import CProgram
from robolin.generating.c_function import CFunction
from robolin.generating.own_functions import DOUBLE, Precision
from robolin.generating.questions import Chosen

# of the largest entry of a result, in single precision; more where the algorithm itself, run on
# such numbers, loses more at these states: then so many times what it loses
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
            printf("%s[%d] of state %d has other bits\\n", what, i, state);
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
    error = most > 0.0 ? error / most : error;
    largest = error <= largest ? largest : error;
    if (!(error <= tolerance)) {
        printf("%s of state %d is off by %g of its largest entry\\n", what, state, error);
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


def drawn_states(
    arm: Arm, names: Sequence[str], count: int, precision: Precision
) -> dict[str, Floats]:
    """Positions anywhere in a turn or half a metre, everything else up to 2; always the same.

    They are numbers that the precision has.
    """
    # the one generator whose numbers every version of Python promises to keep
    random = Random(0)
    reach = [pi if joint.turns else 0.5 for joint in arm.joints]
    found: dict[str, Floats] = {}
    kind = np.float64 if precision is DOUBLE else np.float32
    for name in names:
        widths = reach if name == "q" else [2.0] * arm.n
        rows = [[w * (2.0 * random.random() - 1.0) for w in widths] for _ in range(count)]
        found[name] = np.array(rows, dtype=kind).astype(float).reshape(count, arm.n)
    return found


def check_text(
    program: CProgram, questions: Sequence[Chosen], method: Method, states: int
) -> Iterator[str]:
    """The whole program: it says what differs, and ends with 1 if anything does."""
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
    program: CProgram, question: Chosen, function: CFunction, method: Method, states: int
) -> Iterator[str]:
    given, results = _answered(question, method, states, program.precision)
    real, exact = program.precision.real, program.precision.real == "double"
    name = f"check_{function.verb.replace('-', '_')}"
    yield f"static void {name}(void)"
    yield "{"
    for each, values in given.items():
        yield from _table(f"{real} {each}", program.arm.n, values, _decimal)
    for each, shape in function.gives.items():
        kind = "unsigned long long" if exact else "double"
        size = max(1, prod(shape))
        values = results[each].reshape(states, size)
        yield from _table(f"{kind} expected_{each}", size, values, _bits if exact else _decimal)
        yield f"    {real} {each}_found[{size}];"
    tolerance = "" if exact else f", {_tolerance(question, given, results)!r}"
    yield "    int state;"
    yield f"    for (state = 0; state < {states}; ++state) {{"
    handed = [*(f"{each}[state]" for each in given), *(f"{x}_found" for x in function.gives)]
    yield f"        wrong += {program.name(function)}({', '.join(handed)}) != 0;"
    for each, shape in function.gives.items():
        size = max(1, prod(shape))
        what = f'"{function.verb}: {each}"'
        arguments = f"{what}, state, {each}_found, expected_{each}[state], {size}{tolerance}"
        yield f"        compare({arguments});"
    yield "    }"
    yield "}"


def _answered(
    question: Chosen, method: Method, states: int, precision: Precision
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """States that have an answer, and the answers; if too few have, why the first has none."""
    given = drawn_states(question.arm, question.algorithm.needs, 4 * states, precision)
    # on arrays: a kernel would have to be compiled first, and gives the same bits
    how: How = {"method": method, "engine": "python"}
    results, unanswered = evaluate_rows(question.arm, question.verb, given, **how)
    fine = np.flatnonzero(np.asarray(unanswered) == 0)[:states]
    if len(fine) < states:
        row = int(np.flatnonzero(unanswered)[0])
        error = why_unanswered(question.arm, question.verb, given, row, **how)
        if error is not None:
            raise error
    given = {name: values[fine] for name, values in given.items()}
    return given, {name: values[fine] for name, values in results.items()}


def _tolerance(
    question: Chosen, given: Mapping[str, Floats], results: Mapping[str, Floats]
) -> float:
    """What results may be off by, beside their largest entry, in single precision."""
    algorithm = question.algorithm
    rounded = {name: values.astype(np.float32) for name, values in given.items()}
    ran = run_on(question.parameters, algorithm.run, algorithm.gives, rounded, np.float32)
    loss = max(largest_error_of(ran.arrays[name], values) for name, values in results.items())
    return max(LARGEST_ERROR, float(f"{TIMES_THE_LOSS * loss:.1e}"))


def largest_error_of(found: Floats, expected: Floats) -> float:
    """The largest error of a state beside the state's largest entry."""
    rows = len(expected)
    errors = np.abs(found - expected).reshape(rows, -1).max(axis=1, initial=0.0)
    most = np.abs(expected).reshape(rows, -1).max(axis=1, initial=0.0)
    return float((errors / np.where(most > 0.0, most, 1.0)).max())


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
