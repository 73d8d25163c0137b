"""Compiled kernels against Python: results must be bit-identical."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from robolin.checking.verification.algorithms import answering_algorithms
from robolin.checking.verification.check_context import CheckContext
from robolin.checking.verification.checks import Check, Verdict, not_applicable, not_run
from robolin.dynamics.catalogue import ALGORITHMS, counted_verbs
from robolin.evaluation.evaluate import arm_cache

FAMILY = "engines"
TITLE = "compiled kernels = plain Python"


def engines(on: CheckContext) -> Iterator[Check]:
    """Number of results that differ in any bit, over all states and algorithms."""
    # the most used results; the other kernels come from the same code generator
    names = answering_algorithms(
        on, [verb for verb in counted_verbs() if not ALGORITHMS[verb].of_frame]
    )
    if names:
        yield from same_bits(on, names, FAMILY, TITLE)
    else:
        yield not_applicable(FAMILY, TITLE, "no algorithm applies")


def same_bits(on: CheckContext, names: Sequence[str], family: str, title: str) -> Iterator[Check]:
    """Compare these algorithms bit by bit."""
    differing, worst, culprits = 0, 0, []
    for name in names:
        try:
            plan = arm_cache(on.arm).plan(name)
        except ImportError as error:
            yield not_run(family, title, f"{error.name or 'the compiler'} is not installed")
            return
        inputs = [np.ascontiguousarray(x) for x in on.inputs(name).values()]
        arrays, _ = plan.many(inputs, (len(on.q),), 1)
        for array, compiled in arrays.items():
            # results contain no negative zero
            wrong = compiled != on.result(name, array) + 0.0
            if wrong.any():
                differing += int(wrong.sum())
                worst = int(np.argmax(wrong.reshape(len(wrong), -1).sum(axis=1)))
                culprits.append(f"{array} of {name}")
    detail = f"{', '.join(culprits[:3])} differ" if culprits else f"{len(names)} algorithms"
    verdict: Verdict = "failed" if differing else "passed"
    yield Check(family, title, verdict, float(differing), 0.0, "bits", worst, detail)
