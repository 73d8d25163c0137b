"""How long one call on one state takes from Python, once the kernel is in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import robolin
from benchmarks.peers import installed
from benchmarks.subjects import panda
from benchmarks.timing import Effort, progress
from benchmarks.verbs import VERBS


def measured(effort: Effort) -> dict[str, Any]:
    """µs of one call: the middle, the quickest, and what nineteen in twenty stay below."""
    calls = 300 if effort.quick else 3_000
    subject = panda()
    states = subject.states(100)
    peers = installed(subject)
    report: dict[str, Any] = {}
    for verb, (needs, _) in VERBS.items():
        progress(f"{subject.title}: one state, {verb}")
        function = getattr(robolin, verb.replace("-", "_"))
        function(subject.arm, *(states[name] for name in needs), engine="compiled")
        rows = [tuple(states[name][i] for name in needs) for i in range(len(states["q"]))]
        report[verb] = {"robolin": _times(partial(function, subject.arm), rows, calls)}
        for name, peer in peers.items():
            method = getattr(peer, verb.replace("-", "_"), None)
            if method is not None:
                report[verb][name] = _times(partial(method, states, 1), [()], calls)
    return {"arm": subject.title, "verbs": report}


def _times(call: Callable[..., Any], rows: list[tuple[Any, ...]], calls: int) -> dict[str, float]:
    times = []
    for i in range(calls):
        row = rows[i % len(rows)]
        start = time.perf_counter()
        call(*row)
        times.append(1e6 * (time.perf_counter() - start))
    low, middle, high = np.percentile(times, (0, 50, 95))
    return {"median": float(middle), "low": float(low), "high": float(high)}
