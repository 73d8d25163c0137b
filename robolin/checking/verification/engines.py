"""Kernels against plain Python: the same bits, or one of them is wrong."""

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
    """How many numbers differ in any bit, over all states and all questions."""
    # what is asked in bulk; kernels of all others come from the same translation
    names = answering_algorithms(
        on, [verb for verb in counted_verbs() if not ALGORITHMS[verb].of_frame]
    )
    if names:
        yield from same_bits(on, names, FAMILY, TITLE)
    else:
        yield not_applicable(FAMILY, TITLE, "no algorithm applies")


def same_bits(on: CheckContext, names: Sequence[str], family: str, title: str) -> Iterator[Check]:
    """The same for these algorithms."""
    differing, worst, culprits = 0, 0, []
    for name in names:
        try:
            plan = arm_cache(on.arm).plan(name)
        except ImportError as error:
            yield not_run(family, title, f"{error.name or 'the compiler'} is not installed")
            return
        inputs = [np.ascontiguousarray(x) for x in on.given(name).values()]
        arrays, _ = plan.many(inputs, (len(on.q),), 1)
        for array, found in arrays.items():
            # a result has one zero only, whatever sums it came from
            wrong = found != on.result(name, array) + 0.0
            if wrong.any():
                differing += int(wrong.sum())
                worst = int(np.argmax(wrong.reshape(len(wrong), -1).sum(axis=1)))
                culprits.append(f"{array} of {name}")
    detail = f"{', '.join(culprits[:3])} differ" if culprits else f"{len(names)} algorithms"
    verdict: Verdict = "failed" if differing else "passed"
    yield Check(family, title, verdict, float(differing), 0.0, "bits", worst, detail)
