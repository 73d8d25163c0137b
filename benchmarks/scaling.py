"""Chains of growing length: ratios at every n, and exponents of the cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import verbs
from benchmarks.subjects import CHAINS, chain
from benchmarks.timing import Effort

# verb -> expected exponent of n in its cost
EXPECTED = {"linearize-forward": 2, "perturb-inverse": 1, "perturb-forward": 1}

LONG = 30


def measured(effort: Effort) -> dict[str, Any]:
    lengths = CHAINS[:4] if effort.quick else CHAINS
    # many lengths: less time for each
    effort = replace(effort, rounds=min(effort.rounds, 5), seconds=min(effort.seconds, 0.1))
    chains = {str(n): verbs.on(chain(n), effort) for n in lengths}
    return {
        "chains": chains,
        "exponents": {verb: _exponents(chains, verb) for verb in EXPECTED},
    }


def _exponents(chains: dict[str, Any], verb: str) -> dict[str, float]:
    """Slopes of log time over log n: over all lengths, and over the longest ones."""
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
