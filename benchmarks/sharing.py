"""What more cores are worth: threads in one process, beside processes that share nothing.

Processes with a core and memory each show what the machine has to give.  What threads lose
against them is robolin's; what processes lose against one is the machine's: clock, caches,
memory, and cores that a host lends to several guests.
"""

from __future__ import annotations

import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any

from benchmarks.subjects import panda
from benchmarks.timing import Effort, progress, seconds, spread
from benchmarks.verbs import robolin_answer
from robolin.engine.compiled import cores

# longer than any process takes to get ready, in seconds
WAIT = 60

# where the processes of a pool meet before they start
_ready: Any = None

MEASURED = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")


def measured(effort: Effort) -> dict[str, Any]:
    """States per second: alone, by threads, and by processes, taking turns."""
    context = mp.get_context("spawn")
    report = {}
    for verb in MEASURED:
        progress(f"Panda: {verb} by threads and by processes")
        arguments = (verb, effort.states, effort.seconds)
        threads, processes, quickest = [], [], []
        for _ in range(effort.rounds):
            alone, single = _together(context, 1, 1, arguments)
            shared, several = _together(context, 1, cores(), arguments)
            apart, _ = _together(context, cores(), 1, arguments)
            threads.append(shared / alone)
            processes.append(apart / alone)
            quickest.append((single, several))
        singles, severals = zip(*quickest, strict=True)
        report[verb] = {
            "threads": asdict(spread(threads)),
            "processes": asdict(spread(processes)),
            "quickest": min(singles) / min(severals),
        }
    return {"cores": cores(), "verbs": report}


def _together(
    context: Any, processes: int, jobs: int, arguments: tuple[str, int, float]
) -> tuple[float, float]:
    """States per second of all processes over the same time, and the quickest call's seconds."""
    ready = context.Barrier(processes)
    with ProcessPoolExecutor(processes, context, _meet_at, (ready,)) as pool:
        found = list(pool.map(_rate, *([each] * processes for each in (jobs, *arguments))))
    return sum(rate for rate, _ in found), min(call for _, call in found)


def _meet_at(barrier: Any) -> None:
    global _ready
    _ready = barrier


def _rate(jobs: int, verb: str, count: int, duration: float) -> tuple[float, float]:
    subject = panda()
    answer = robolin_answer(subject.arm, verb, subject.states(count), jobs=jobs)
    answer(count)
    _ready.wait(WAIT)
    calls: list[float] = []
    while sum(calls) < duration:
        calls.append(seconds(answer, count))
    return len(calls) * count / sum(calls), min(calls)
