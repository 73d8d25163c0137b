"""Receding-horizon control (MPC) as C, with the bits of `robolin.receding`.

The code does for one arm what `Receding.step` does: it calls the generated inverse dynamics and
their derivatives, and runs the backward pass, the step and the line search in the same order of
operations.  All memory is in one structure of the caller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from math import prod
from typing import Protocol

import numpy as np

from robolin.codegen.c_files import CProgram
from robolin.codegen.c_function import own_function
from robolin.codegen.c_statements import SIN_COS
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.records import dataclass
from robolin.errors import UsageError

_NEEDED = ("inverse", "linearize-inverse")


@dataclass(frozen=True)
class MpcTables:
    """Numbers of a controller.

    knots:      knots of the horizon
    dt:         sample time in s
    iterations: iterations per sample
    observer:   gain of the torque-bias observer
    weight, lower, upper, penalty: terms of q, v and τ at the first, at middle and at the last knot,
        each (3, 3, n)
    effort:     limits of the commanded torques (2, n)
    goal:       goal positions (n,)
    fractions:  step fractions of the line search
    short_step: fraction below which the damping rises
    sufficient: fraction of the predicted decrease that a step must reach
    damping:    smallest and largest damping
    rounding:   relative decrease that is round-off of the cost
    """

    knots: int
    dt: float
    iterations: int
    observer: float
    weight: Floats
    lower: Floats
    upper: Floats
    penalty: Floats
    effort: Floats
    goal: Floats
    fractions: tuple[float, ...]
    short_step: float
    sufficient: float
    damping: tuple[float, float]
    rounding: float


class MpcController(Protocol):
    """The controller of `robolin.receding`."""

    def tables(self) -> MpcTables: ...
    def differences(self, arm: Arm) -> str:
        """Differences from the dynamics of this arm, as a text; empty for equal dynamics."""

    def replay(self, states: Floats) -> Floats:
        """Torques (rows, n) of a new controller for measured states (rows, 2, n)."""


def require_mpc(program: CProgram, controller: MpcController | None) -> MpcController:
    """Reject programs that the controller does not support."""
    if controller is None:
        raise UsageError("mpc: must be a controller", hint="pass mpc=robolin.receding(arm, goal)")
    verbs = [function.verb for function in program.functions]
    if missing := [verb for verb in _NEEDED if verb not in verbs]:
        names = " and ".join(_NEEDED)
        raise UsageError(f"mpc requires {names}", hint=f"add {' and '.join(missing)}")
    if program.precision.real != "double":
        raise UsageError("mpc requires double precision", hint="omit --real float")
    if differ := controller.differences(program.arm):
        raise UsageError(
            f"mpc: the controller belongs to a different arm: {differ}",
            hint="use the same arm for the controller and the generated code",
        )
    return controller


# samples of the test, and the size of its disturbances in rad or m
_SAMPLES, _DISTURBANCE = 12, 1e-3


def _number(value: float) -> str:
    # infinite limits have the penalty 0, and a number beyond all others has the same effect
    return repr(float(np.clip(value, -np.finfo(float).max, np.finfo(float).max)))


def _table(kind: str, name: str, values: Floats | Sequence[Sequence[str]], size: int) -> str:
    rows = [
        "    {" + ", ".join(each if isinstance(each, str) else _number(each) for each in row) + "},"
        for row in values
    ]
    return "\n".join([f"static const {kind} {name}[][{size}] = {{", *rows, "};"])


def mpc_header(program: CProgram, controller: MpcController) -> Iterator[str]:
    """The header of the controller."""
    tables, n = controller.tables(), program.arm.n
    n4 = -(-n // 4) * 4
    sizes = {"N": tables.knots, "n": n, "n2": 2 * n, "n4": n4, "PC": 2 * n4 + 4}
    sizes["columns"] = 3 * n4 + 4
    words = {"upper": program.prefix.upper(), "dt": _number(tables.dt)}
    words |= {name: str(size) for name, size in sizes.items()}
    yield from filled_template("mpc_template.h", program.prefix, words)


def filled_template(file: str, prefix: str, words: dict[str, str]) -> Iterator[str]:
    """A template with $words replaced, and @ by the prefix."""
    text = (resources.files("robolin.codegen") / file).read_text("utf-8")
    # longest first: $n is the beginning of other words
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(f"${word}", words[word])
    yield from text.replace("@", prefix).splitlines()


def mpc_source(program: CProgram, controller: MpcController) -> Iterator[str]:
    """The source of the controller."""
    tables, n = controller.tables(), program.arm.n
    arrays = {name: getattr(tables, name) for name in ("weight", "lower", "upper", "penalty")}
    texts = [_table("double", name, each.reshape(3, -1), 3 * n) for name, each in arrays.items()]
    texts.append(_table("double", "effort", tables.effort, n))
    goal = ", ".join(_number(each) for each in tables.goal)
    texts.append(f"const double @_mpc_goal[{n}] = {{{goal}}};")
    pairs = _pair_functions(program)
    words = {
        "n": str(n),
        "n4": str(-(-n // 4) * 4),
        "N": str(tables.knots),
        "dt": _number(tables.dt),
        "observer": _number(tables.observer),
        "iterations": str(tables.iterations),
        "tables": "\n".join(texts),
        "pairs": pairs,
        "has_pairs": str(int(bool(pairs))),
        "fractions": ", ".join(map(_number, tables.fractions)),
        "short_step": _number(tables.short_step),
        "sufficient": _number(tables.sufficient),
        "least": _number(tables.damping[0]),
        "most": _number(tables.damping[1]),
        "rounding": _number(tables.rounding),
    }
    yield from filled_template("mpc_template.c", program.prefix, words)


# one operation per statement: the same statements compute on pairs, except these
_CHOICE = re.compile(r"= (\S+) < (\S+) \? (\S+) : (\S+);")
_ANGLE = re.compile(r"status \+= !\(\(-\S+ <= q\[\d+\]\) & .*;")
_SINE = re.compile(rf"{SIN_COS}\(q\[(\d+)\], &(\w+), &(\w+)\);")
_NOT_ON_PAIRS = re.compile(r"\b(status|for|square_root|hyperbolic_tangent)\b")


def _pair_functions(program: CProgram) -> str:
    """Inverse dynamics and their derivatives of two knots at the same time.

    Compilers with vector extensions keep both knots in one register.  The text is empty if a
    function has loops, or a status besides that of large angles, which the caller checks.
    """
    sine = own_function(SIN_COS, program.precision, "pair_")
    texts = list(_on_pairs(line.replace("static", "INSIDE") for line in sine))
    for function in program.functions:
        if function.verb not in _NEEDED:
            continue
        body = [line for line in function.body if not _ANGLE.match(line)]
        body = [line.replace("+ clean;", "+ zero;") for line in body if not _is_status(line)]
        if any(_NOT_ON_PAIRS.search(line) for line in body):
            return ""
        inputs = (f"const double {name}[{program.arm.n}]" for name in function.needs)
        outputs = (f"double {name}[{prod(shape)}]" for name, shape in function.gives.items())
        known = function.verb != _NEEDED[0]
        # numbers of the caller, not of one knot: they stay doubles
        turns = "DOUBLE *turns"
        head = f"INSIDE void pair_{function.verb.replace('-', '_')}"
        lines = [
            f"{head}({', '.join([*inputs, *outputs, turns])})",
            "{",
            "const double zero = {0.0, 0.0};",
            *(["(void)q;"] if known else []),
            *(each for line in body for each in _with_turns(line, known)),
            "}",
        ]
        own = f"{program.prefix}_{SIN_COS}"
        texts += [
            line.replace("DOUBLE", "double")
            for line in _on_pairs(line.replace(own, f"pair_{SIN_COS}") for line in lines)
        ]
    return "\n".join(texts)


def _with_turns(line: str, known: bool) -> Iterator[str]:
    """Store the sine and cosine of a coordinate, or load them if they are known."""
    if not (call := _SINE.search(line)):
        yield line
        return
    i, sine, cosine = int(call[1]), call[2], call[3]
    places = f"AT(turns + {4 * i})", f"AT(turns + {4 * i + 2})"
    if known:
        yield f"{sine} = {places[0]}; {cosine} = {places[1]};"
    else:
        yield line
        yield f"{places[0]} = {sine}; {places[1]} = {cosine};"


def _is_status(line: str) -> bool:
    return line in ("int status = 0;", "double clean;", "return status;") or line.startswith(
        "clean"
    )


def _on_pairs(lines: Iterable[str]) -> Iterator[str]:
    """Statements on doubles as statements on pairs."""
    for line in lines:
        yield _CHOICE.sub(r"= choose(\1 < \2, \3, \4);", line).replace("double ", "pair ")


def mpc_test(program: CProgram, controller: MpcController) -> Iterator[str]:
    """A test that compares the torques of disturbed samples with those of Python."""
    tables, n = controller.tables(), program.arm.n
    rng = np.random.default_rng(0)
    states = np.zeros((_SAMPLES, 2, n))
    states[:, 0] = tables.goal - 0.2
    moved = np.zeros((2, n))
    for state, change in zip(states[1:], rng.standard_normal((_SAMPLES - 1, 2, n)), strict=True):
        moved += _DISTURBANCE * change
        state += moved
    torques = controller.replay(states)
    bits = [[f"0x{int(each):016x}ULL" for each in row] for row in torques.view(np.uint64)]
    words = {
        "n": str(n),
        "rows": str(_SAMPLES),
        "states": _table("double", "states", states.reshape(_SAMPLES, -1), 2 * n),
        "expected": _table("unsigned long long", "expected", bits, n),
    }
    yield from filled_template("mpc_template_test.c", program.prefix, words)
