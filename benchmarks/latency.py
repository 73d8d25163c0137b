"""Latency of one call on one state from Python: compiled, public function, and peers.

All run alternately.  Pinocchio is timed as its own call with results left in its data: the
fastest use from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import robolin
from benchmarks.machine import described
from benchmarks.peers import installed
from benchmarks.subjects import VERBS, Subject, panda
from benchmarks.timing import Contestant, Effort, interleaved, progress
from robolin.engine.compiled.call_table import fallback_reason

# states that are used cyclically
STATES = 100


def measured(effort: Effort) -> dict[str, Any]:
    """µs per call, and the ratio to Pinocchio."""
    # many short rounds: other load on the machine then affects few of them
    rounds = 20 if effort.quick else 400
    subject = panda()
    peers = installed(subject)
    report: dict[str, Any] = {}
    for verb in VERBS:
        progress(f"{subject.title}: one state, {verb}")
        runs = _contestants(subject, verb, peers)
        times = interleaved({name: Contestant(run, STATES) for name, run in runs.items()}, rounds)
        report[verb] = {name: _entry(times, name) for name in times}
    return {
        "arm": subject.title,
        "processor": described()["processor"],
        "entry": fallback_reason() or "built-in",
        "verbs": report,
    }


def _entry(times: Mapping[str, Sequence[float]], name: str) -> dict[str, Any]:
    """µs per call, and the ratio to Pinocchio in the same round."""
    entry = {"us": _middle(1e6 * np.array(times[name]))}
    if "Pinocchio" in times and name != "Pinocchio":
        entry["ratio"] = _middle(np.array(times[name]) / np.array(times["Pinocchio"]))
    return entry


def _middle(values: np.ndarray) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = np.percentile(values, (25, 50, 75))
    return {"median": float(median), "low": float(low), "high": float(high)}


def _contestants(
    subject: Subject, verb: str, peers: dict[str, Any]
) -> dict[str, Callable[[int], None]]:
    """All implementations, as functions of the number of calls."""
    states, (needs, _) = subject.states(STATES), VERBS[verb]
    rows = [tuple(states[name][i] for name in needs) for i in range(STATES)]
    call = None if verb == "perturb-forward" else robolin.compile(subject.arm, verb)
    function = partial(getattr(robolin, verb.replace("-", "_")), subject.arm)
    function(*(states[name] for name in needs), engine="compiled")
    runs: dict[str, Callable[[int], None]] = {"function": _repeated(function, rows)}
    if call is not None:
        into = call(*rows[0])
        runs["compiled"] = _repeated(call, [(*row, into) for row in rows])
    if "Pinocchio" in peers and (own := peers["Pinocchio"].own_call(verb)) is not None:
        runs["Pinocchio"] = _repeated(own, rows)
    if "MuJoCo" in peers and (loop := peers["MuJoCo"].loop(verb)) is not None:
        runs["MuJoCo"] = _repeated(partial(loop, states, 1), [()])
    return runs


def _repeated(call: Callable[..., Any], rows: list[tuple[np.ndarray, ...]]) -> Callable[[int], Any]:
    def run(count: int) -> None:
        for _ in range(-(-count // len(rows))):
            for row in rows:
                call(*row)

    return run
