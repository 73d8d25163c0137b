"""MEX function for MATLAB and Octave around a generated program: ARM_mex('verb', q, …)."""

from __future__ import annotations

from collections.abc import Iterator

from robolin.codegen.c_files import CProgram
from robolin.codegen.c_function import CFunction

_START = """\
/*
 * In Octave:  mkoctfile --mex {prefix}_mex.c {prefix}.c
 * In MATLAB:  mex {prefix}_mex.c {prefix}.c
 * Then:       {call}
 */
#include <string.h>
#include "mex.h"
#include "{prefix}.h"

static void take(const mxArray *given, {real} *into)
{{
    const double *values;
    int i;
    if (!mxIsDouble(given) || mxIsComplex(given) || mxGetNumberOfElements(given) != {n})
        mexErrMsgIdAndTxt("{prefix}:arguments", "every argument must have {n} real numbers");
    values = mxGetPr(given);
    for (i = 0; i < {n}; ++i)
        into[i] = ({real})values[i];
}}

/* convert row-major to column-major order */
static mxArray *handed(const {real} *found, int axes, const mwSize *sizes)
{{
    mxArray *made = mxCreateNumericArray(axes, sizes, mxDOUBLE_CLASS, mxREAL);
    double *values = mxGetPr(made);
    const size_t count = mxGetNumberOfElements(made);
    size_t place;
    for (place = 0; place < count; ++place) {{
        size_t rest = place, there = 0;
        int axis;
        for (axis = 0; axis < axes; ++axis) {{
            there = there * sizes[axis] + rest % sizes[axis];
            rest /= sizes[axis];
        }}
        values[place] = found[there];
    }}
    return made;
}}

static void require(int status)
{{
    if (status > 0)
        mexErrMsgIdAndTxt("{prefix}:inertia", "joint '%s' moves no inertia",
                          {prefix}_joint_names[status - 1]);
    if (status == -1)
        mexErrMsgIdAndTxt("{prefix}:angle", "an angle is too large, or NaN");
    if (status)
        mexErrMsgIdAndTxt("{prefix}:singular", "the result does not exist in this state");
}}
"""

_END = """\
void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{{
    char command[64];
    if (nrhs < 1 || mxGetString(prhs[0], command, sizeof command))
        mexErrMsgIdAndTxt("{prefix}:command", "the first argument must be the name of a command");
{choices}
        mexErrMsgIdAndTxt("{prefix}:command", "unknown command '%s'", command);
}}
"""


def mex_text(program: CProgram) -> Iterator[str]:
    """The complete file."""
    prefix, first = program.prefix, program.functions[0]
    call = f"{', '.join(first.gives)} = {prefix}_mex('{first.verb}', {', '.join(first.needs)})"
    if len(first.gives) > 1:
        call = f"[{call.replace(' = ', '] = ', 1)}"
    words = {"prefix": prefix, "real": program.precision.real, "n": program.arm.n, "call": call}
    yield from _START.format(**words).splitlines()
    for function in program.functions:
        yield ""
        yield from _called(program, function)
    yield ""
    choices = []
    for function in program.functions:
        spelt = f'strcmp(command, "{function.verb}") == 0'
        choices.append(f"    if ({spelt})")
        choices.append(f"        {_name(function)}(nlhs, plhs, nrhs - 1, prhs + 1);")
        choices.append("    else")
    yield from _END.format(prefix=prefix, choices="\n".join(choices)).splitlines()


def _name(function: CFunction) -> str:
    return f"call_{function.verb.replace('-', '_')}"


def _called(program: CProgram, function: CFunction) -> Iterator[str]:
    real, n = program.precision.real, program.arm.n
    count, many = len(function.needs), len(function.gives)
    yield (
        f"static void {_name(function)}(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])"
    )
    yield "{"
    yield f"    {real} {', '.join(f'{name}[{n}]' for name in function.needs)};"
    for name, shape in function.gives.items():
        sizes = shape if len(shape) > 1 else (*shape, 1) if shape else (1, 1)
        yield f"    static const mwSize {name}_sizes[] = {{{', '.join(map(str, sizes))}}};"
        total = 1
        for size in sizes:
            total *= size
        yield f"    {real} {name}[{max(1, total)}];"
    yield f"    if (nrhs != {count} || nlhs > {many})"
    yield (
        f'        mexErrMsgIdAndTxt("{program.prefix}:arguments", '
        f'"{function.verb} takes {", ".join(function.needs)} '
        f'and returns {", ".join(function.gives)}");'
    )
    for i, name in enumerate(function.needs):
        yield f"    take(prhs[{i}], {name});"
    arguments = ", ".join((*function.needs, *function.gives))
    yield f"    require({program.name(function)}({arguments}));"
    for i, (name, shape) in enumerate(function.gives.items()):
        condition = f"    if (nlhs > {i})\n        " if i else "    "
        axes = max(2, len(shape))
        yield from f"{condition}plhs[{i}] = handed({name}, {axes}, {name}_sizes);".split("\n")
    yield "}"
