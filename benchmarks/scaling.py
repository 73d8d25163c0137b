"""Chains of growing length: ratios at every n, exponents of the cost, and where methods cross."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import verbs
from benchmarks.subjects import CHAINS, chain
from benchmarks.timing import Contestant, Effort, interleaved, progress, spread
from benchmarks.verbs import robolin_answer

# verb -> the power of n its cost should grow with
EXPECTED = {"linearize-forward": 2, "perturb-inverse": 1, "perturb-forward": 1}

# verbs that have a second method, by elimination
METHODS = ("forward", "linearize-forward", "perturb-forward")
LONG = 30


def measured(effort: Effort) -> dict[str, Any]:
    lengths = CHAINS[:4] if effort.quick else CHAINS
    chains = {str(n): verbs.on(chain(n), effort) for n in lengths}
    return {
        "chains": chains,
        "exponents": {verb: _exponents(chains, verb) for verb in EXPECTED},
        "methods": {verb: _methods(verb, effort) for verb in METHODS},
    }


def _exponents(chains: dict[str, Any], verb: str) -> dict[str, float]:
    """Slopes of log time over log n: of all lengths, and of those where the last power rules."""
    n = np.array([int(length) for length in chains])
    us = np.array([chains[str(k)]["verbs"][verb]["robolin"]["us"]["median"] for k in n])
    longest = n >= min(LONG, n[-2])
    return {
        "expected": EXPECTED[verb],
        "all lengths": _slope(n, us),
        f"from {n[longest][0]} joints on": _slope(n[longest], us[longest]),
    }


def _slope(n: np.ndarray, us: np.ndarray) -> float:
    return float(np.polyfit(np.log(n), np.log(us), 1)[0])


def _methods(verb: str, effort: Effort) -> dict[str, Any]:
    """µs per state by operators and by elimination, on the compiled engine, one core."""
    report = {}
    for n in CHAINS[:4] if effort.quick else CHAINS:
        progress(f"chain, {n} joints: methods of {verb}")
        subject = chain(n)
        states = subject.states(effort.states)
        rows = len(states["q"])
        contestants = {
            method: Contestant(robolin_answer(subject.arm, verb, states, 1, method=method), rows)
            for method in ("operator", "conventional")
        }
        times = interleaved(contestants, effort.rounds)
        report[str(n)] = {name: 1e6 * spread(values).median for name, values in times.items()}
    return report
