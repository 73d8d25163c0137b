"""What more cores are worth: threads in one process, beside what the machine has to give.

Two things show that.  Additions and multiplications in registers, on threads woken in the same way,
share nothing but the processor: what they lose against one core is the machine's, its clock and
cores that a host lends to several guests, and the waking.  They are divided in equal parts
beforehand, which rows are not, so they wait for whoever is slowest.  Processes of one thread each
need no waking, and share memory and caches as threads do.
"""

from __future__ import annotations

import multiprocessing as mp
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from statistics import median
from typing import Any

from benchmarks.peak import TURNS, arithmetic
from benchmarks.subjects import panda
from benchmarks.timing import Effort, in_turns, progress, seconds, spread
from benchmarks.verbs import robolin_answer
from robolin.engine.compiled.plan import cores
from robolin.engine.compiled.thread_pool import run_in_threads

# longer than any process takes to get ready, in seconds
WAIT = 60

# where the processes of a pool meet before they start
_ready: Any = None

MEASURED = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")

# calls take milliseconds, and a host takes a core away for as long: many of them are compared.
# They follow each other as those of a long batch do, for a core that slept wakes up slowly:
# this share of the effort's seconds, so many times as often as its rounds
IN_A_ROW, ROUNDS = 0.25, 5


def measured(effort: Effort) -> dict[str, Any]:
    """How many times as quick as on one core: by threads, in registers, and by processes."""
    return {"cores": cores(), "verbs": {verb: _measured(verb, effort) for verb in MEASURED}}


def _measured(verb: str, effort: Effort) -> dict[str, Any]:
    progress(f"Panda: {verb} by threads and by processes")
    threads = _by_threads(verb, effort)
    processes = []
    context, arguments = mp.get_context("spawn"), (verb, effort.states, effort.seconds)
    for _ in range(effort.rounds):
        alone = _together(context, 1, arguments)
        processes.append(_together(context, cores(), arguments) / alone)
    return {**threads, "processes": asdict(spread(processes))}


def _by_threads(verb: str, effort: Effort) -> dict[str, Any]:
    """The verb and plain arithmetic, each on one core and on all of them, taking turns.

    A ratio is that of the typical calls of a round.
    """
    subject = panda()
    states, count = subject.states(effort.states), cores()
    one, all_cores = (robolin_answer(subject.arm, verb, states, jobs) for jobs in (1, count))
    work = arithmetic()
    # as much arithmetic as takes about as long as the verb
    turns = max(1, int(TURNS * _quickest(one, effort.states) / _quickest(work, TURNS)))
    runs: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("one", lambda: one(effort.states)),
        ("all", lambda: all_cores(effort.states)),
        ("arithmetic one", lambda: work(turns)),
        ("arithmetic all", lambda: run_in_threads(lambda _: work(turns // count), count)),
    )
    duration = effort.seconds * IN_A_ROW
    rows = {name: partial(_in_a_row, run, duration) for name, run in runs}
    calls = in_turns(rows, effort.rounds * ROUNDS)
    report: dict[str, Any] = {}
    for name, single, several in (
        ("threads", "one", "all"),
        ("arithmetic", "arithmetic one", "arithmetic all"),
    ):
        rounds = zip(calls[single], calls[several], strict=True)
        report[name] = asdict(spread([median(alone) / median(shared) for alone, shared in rounds]))
        one_call, shared_call = (min(map(min, calls[each])) for each in (single, several))
        report[f"{name}, quickest"] = one_call / shared_call
    return report


def _in_a_row(run: Callable[[], Any], duration: float) -> list[float]:
    calls: list[float] = []
    while sum(calls) < duration:
        calls.append(seconds(run))
    return calls


def _quickest(run: Callable[[int], Any], size: int) -> float:
    return min(seconds(run, size) for _ in range(10))


def _together(context: Any, processes: int, arguments: tuple[str, int, float]) -> float:
    """States per second of all processes over the same time."""
    ready = context.Barrier(processes)
    with ProcessPoolExecutor(processes, context, _meet_at, (ready,)) as pool:
        return sum(pool.map(_rate, *([each] * processes for each in arguments)))


def _meet_at(barrier: Any) -> None:
    global _ready
    _ready = barrier


def _rate(verb: str, count: int, duration: float) -> float:
    subject = panda()
    answer = robolin_answer(subject.arm, verb, subject.states(count), jobs=1)
    answer(count)
    _ready.wait(WAIT)
    calls: list[float] = []
    while sum(calls) < duration:
        calls.append(seconds(answer, count))
    return len(calls) * count / sum(calls)
