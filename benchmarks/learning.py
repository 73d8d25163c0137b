"""Single precision, gradients and Hessian-vector products, for learning and optimization.

Everything is robolin on one core; ratios are of times in the same round.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

import robolin
from benchmarks.subjects import VERBS, States, Subject, panda
from benchmarks.timing import Contestant, Effort, compared, interleaved, progress
from benchmarks.verbs import robolin_answer
from robolin.engine.compiled.kernels import host_width
from robolin.engine.compiled.straight_kernel import COMPILED_FROM

# the values whose gradients are computed, and their third input
GRADIENTS = {"inverse": "qdd", "forward": "tau"}


def measured(effort: Effort) -> dict[str, Any]:
    subject = panda()
    states = subject.states(effort.states)
    progress(f"{subject.title}: float32 and gradients")
    return {
        "arm": subject.title,
        "states": len(states["q"]),
        "float32": {verb: _in_both_precisions(subject, verb, states, effort) for verb in VERBS},
        "gradients": {verb: _gradients(subject, verb, states, effort) for verb in GRADIENTS},
        "one state": {verb: _one_state(subject, verb, states, effort) for verb in GRADIENTS},
    }


def _in_both_precisions(
    subject: Subject, verb: str, states: States, effort: Effort
) -> dict[str, Any]:
    single = {name: values.astype(np.float32) for name, values in states.items()}
    return _compared(
        {
            "float32": robolin_answer(subject.arm, verb, single, jobs=1, dtype="float32"),
            "float64": robolin_answer(subject.arm, verb, states, jobs=1),
        },
        len(states["q"]),
        effort,
    )


def _gradients(subject: Subject, verb: str, states: States, effort: Effort) -> dict[str, Any]:
    """The value, its gradient and its Hessian-vector product."""
    third, rows = GRADIENTS[verb], len(states["q"])
    generator = np.random.default_rng(5)
    motion = [states[name] for name in ("q", "qd", third)]
    names = ("dq", "dqd", f"d{third}", "weights")
    direction = {name: generator.uniform(-1.0, 1.0, (rows, subject.arm.n)) for name in names}

    def answer(name: str, options: dict[str, Any]) -> Callable[[int], Any]:
        function = partial(getattr(robolin, name), subject.arm)

        def run(count: int) -> Any:
            inputs = (each[:count] for each in motion)
            named = {key: values[:count] for key, values in options.items()}
            return function(*inputs, **named, engine="compiled", jobs=1)

        return run

    return _compared(
        {
            "value": answer(verb, {}),
            "gradient": answer(f"gradient_{verb}", {"weights": direction["weights"]}),
            "Hessian-vector product": answer(f"hessian_vector_{verb}", direction),
        },
        rows,
        effort,
    )


def _compared(runs: dict[str, Callable[[int], Any]], rows: int, effort: Effort) -> dict[str, Any]:
    """µs per state, and ratios to the first run."""
    if not effort.quick:
        # robolin compiles straight-line code after this number of blocks
        for run in runs.values():
            for _ in range(10 + 2 * COMPILED_FROM * host_width() // rows):
                run(rows)
    contestants = {name: Contestant(run, rows, thread_time) for name, run in runs.items()}
    return compared(interleaved(contestants, effort.rounds), ours=next(iter(runs)))


def _one_state(subject: Subject, verb: str, states: States, effort: Effort) -> dict[str, Any]:
    """A call with arrays (n,), and with arrays (1, n)."""
    third = GRADIENTS[verb]
    call = partial(getattr(robolin, verb), subject.arm)
    shapes = {"one state": lambda values: values[0], "batch of one": lambda values: values[:1]}
    runs = {
        name: partial(_repeated, call, [shape(states[each]) for each in ("q", "qd", third)])
        for name, shape in shapes.items()
    }
    contestants = {name: Contestant(run, 1000, thread_time) for name, run in runs.items()}
    return compared(interleaved(contestants, effort.rounds), ours="one state")


def _repeated(call: Callable[..., Any], state: list[np.ndarray], count: int) -> None:
    for _ in range(count):
        call(*state)
