"""Fraction of the floating-point peak that each verb reaches, from operation counts.

The peak is measured with independent chains of multiplications and additions in registers, without
fused operations, since kernels round after each step.  Operations of a verb are counted exactly;
sines and cosines count as the operations they consist of.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from benchmarks.subjects import VERBS, panda
from benchmarks.timing import Contestant, Effort, Spread, interleaved, progress, seconds, spread
from benchmarks.verbs import robolin_answer
from robolin.core.arm import Arm
from robolin.dynamics.algebra.trigonometry import sin_cos_by_polynomials
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.kernels import host_width, object_code
from robolin.engine.parameters import parameters_of
from robolin.engine.run import count_operations
from robolin.evaluation.evaluate import algorithm_for

# six chains of each kind hide a latency of three cycles on two units; with two constants they fit
# into sixteen registers
CHAINS, REPEATED = 6, 8
TURNS, ROUNDS = 300_000, 25


def measured(effort: Effort) -> dict[str, Any]:
    """Operations, rate and fraction of the peak for every verb on Panda, one core."""
    progress("floating-point peak")
    peak = peak_rate()
    subject = panda()
    states = subject.states(effort.states)
    rows = len(states["q"])
    report = {}
    for verb in VERBS:
        progress(f"{subject.title}: share of the peak, {verb}")
        answer = robolin_answer(subject.arm, verb, states, 1)
        us = _microseconds(answer, rows, effort)
        memory = _microseconds(_touched(subject.arm, verb), rows, effort)
        operations = counted(subject.arm, verb)
        report[verb] = {
            "us": asdict(us),
            "memory us": memory.median,
            "operations": operations,
            "gflops": operations / us.median * 1e-3,
            "share": operations / us.median * 1e6 / peak,
        }
    return {"arm": subject.title, "peak gflops": peak * 1e-9, "verbs": report}


def _microseconds(run: Any, rows: int, effort: Effort) -> Spread:
    (times,) = interleaved({"": Contestant(run, rows)}, effort.rounds).values()
    return spread([1e6 * value for value in times])


def counted(arm: Arm, verb: str) -> int:
    """Multiplications, additions, divisions and roots of a verb."""
    names = [algorithm_for(arm, verb)]
    if verb == "perturb-forward":
        # its input are the accelerations, which the public function computes first
        names.append(algorithm_for(arm, "forward"))
    total = 0
    for name in names:
        algorithm = ALGORITHMS[name]
        cost = count_operations(parameters_of(arm), algorithm.run, algorithm.needs).total
        # sine and cosine are computed together
        total += cost.total() - cost["function"] + cost["function"] // 2 * _sin_cos_operations()
    return total


class _Tally:
    """A number that counts its operations."""

    operations = 0

    def _counted(self, *_: Any) -> _Tally:
        _Tally.operations += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _counted

    def __neg__(self) -> _Tally:
        return self

    def if_less(self, a: Any, b: Any, yes: Any, no: Any) -> _Tally:
        return self


def _sin_cos_operations() -> int:
    _Tally.operations = 0
    sin_cos_by_polynomials(_Tally())
    return _Tally.operations


def _touched(arm: Arm, verb: str) -> Any:
    """Allocate memory for the results and write to all of it: a lower bound for any program."""
    gives = ALGORITHMS[algorithm_for(arm, verb)].gives
    sizes = parameters_of(arm).sizes

    def touch(rows: int) -> list[np.ndarray]:
        arrays = [np.empty((rows, *sizes(shape))) for shape in gives.values()]
        for array in arrays:
            array.fill(1.0)
        return arrays

    return touch


def peak_rate() -> float:
    """Peak rate of additions and multiplications of doubles per second, on one core."""
    work = arithmetic()
    best = min(seconds(work, TURNS) for _ in range(ROUNDS))
    return 2 * CHAINS * REPEATED * host_width() * TURNS / best


def arithmetic() -> Callable[[int], None]:
    """A program with `turns` rounds of additions and multiplications, without memory access."""
    width = host_width()
    code = object_code("\n".join(_assembly(width)))
    target = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(
        engine.get_function_address("peak")
    )

    def work(turns: int) -> None:
        numbers = np.full(2 * CHAINS * width, 1.0)
        call(numbers.ctypes.data, turns)

    # keep the engine alive as long as its machine code
    work.engine = engine  # type: ignore[attr-defined]
    return work


def _assembly(width: int) -> Iterator[str]:
    """A loop over independent chains: half multiply, half add."""
    kind, chains = f"<{width} x double>", range(2 * CHAINS)
    yield "define void @peak(ptr %numbers, i64 %turns) {"
    yield "entry:"
    for c in chains:
        yield f"  %p{c} = getelementptr {kind}, ptr %numbers, i64 {c}"
        yield f"  %v{c} = load {kind}, ptr %p{c}, align 8"
    yield "  br label %loop"
    yield "loop:"
    yield "  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]"
    for c in chains:
        yield f"  %a{c}_0 = phi {kind} [ %v{c}, %entry ], [ %a{c}_{REPEATED}, %loop ]"
    for r in range(REPEATED):
        for c in chains:
            step = "fmul" if c % 2 else "fadd"
            yield f"  %a{c}_{r + 1} = {step} {kind} %a{c}_{r}, %v{c % 2}"
    yield "  %next = add i64 %turn, 1"
    yield "  %more = icmp slt i64 %next, %turns"
    yield "  br i1 %more, label %loop, label %done"
    yield "done:"
    for c in chains:
        yield f"  store {kind} %a{c}_{REPEATED}, ptr %p{c}, align 8"
    yield "  ret void"
    yield "}"
