"""What more cores are worth: threads in one process, beside processes that share nothing.

Processes with a core and memory each show what the machine has to give.  What threads lose
against them is robolin's; what processes lose against one is the machine's: clock, caches,
memory, and cores that a host lends to several guests.
"""

from __future__ import annotations

import multiprocessing as mp
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any

from benchmarks.subjects import panda
from benchmarks.timing import Effort, progress, spread
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
        threads, processes = [], []
        for _ in range(effort.rounds):
            alone = _together(context, 1, 1, arguments)
            threads.append(_together(context, 1, cores(), arguments) / alone)
            processes.append(_together(context, cores(), 1, arguments) / alone)
        report[verb] = {
            "threads": asdict(spread(threads)),
            "processes": asdict(spread(processes)),
        }
    return {"cores": cores(), "verbs": report}


def _together(context: Any, processes: int, jobs: int, arguments: tuple[str, int, float]) -> float:
    """States per second of all processes, each with so many threads, over the same time."""
    ready = context.Barrier(processes)
    with ProcessPoolExecutor(processes, context, _meet_at, (ready,)) as pool:
        return sum(pool.map(_rate, *([each] * processes for each in (jobs, *arguments))))


def _meet_at(barrier: Any) -> None:
    global _ready
    _ready = barrier


def _rate(jobs: int, verb: str, count: int, duration: float) -> float:
    subject = panda()
    answer = robolin_answer(subject.arm, verb, subject.states(count), jobs=jobs)
    answer(count)
    _ready.wait(WAIT)
    start, calls = time.perf_counter(), 0
    while (taken := time.perf_counter() - start) < duration:
        answer(count)
        calls += 1
    return calls * count / taken
