"""Number of joints at which recursive methods become faster than dense elimination."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.subjects import Subject, branched, chain
from benchmarks.timing import Contestant, Effort, interleaved, progress, spread
from benchmarks.verbs import robolin_answer

# verbs with both methods
VERBS = ("forward", "linearize-forward", "perturb-forward")
JOINTS = (3, 6, 8, 10, 12, 14, 16, 30)
KINDS = {"chain": chain, "tree": branched}

# few states, so that results stay in a cache, and more rounds instead
STATES, TIMES_AS_MANY_ROUNDS = 1_000, 10


def measured(effort: Effort) -> dict[str, Any]:
    """µs per state of both methods on one core, and their ratio."""
    joints = JOINTS[:2] if effort.quick else JOINTS
    return {
        kind: {verb: {str(n): _compared(made(n), verb, effort) for n in joints} for verb in VERBS}
        for kind, made in KINDS.items()
    }


def _compared(subject: Subject, verb: str, effort: Effort) -> dict[str, Any]:
    progress(f"{subject.title}: methods of {verb}")
    states = subject.states(STATES)
    contestants = {
        method: Contestant(robolin_answer(subject.arm, verb, states, 1, method=method), STATES)
        for method in ("operator", "conventional")
    }
    times = interleaved(contestants, effort.rounds * TIMES_AS_MANY_ROUNDS)
    ratios = [
        ours / theirs for ours, theirs in zip(times["conventional"], times["operator"], strict=True)
    ]
    us = {method: 1e6 * spread(taken).median for method, taken in times.items()}
    return {"us": us, "ratio": asdict(spread(ratios))}
