"""Speedup with more cores: threads in one process, compared with the limit of the machine.

Two measurements give that limit.  Additions and multiplications in registers, on threads started in
the same way, share only the processor: their loss is due to clock rate, shared cores of a virtual
machine, and thread wake-up.  Their work is divided equally in advance, unlike rows, so the slowest
thread determines the time.  Processes with one thread each need no wake-up, and share memory and
caches as threads do.
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
from robolin.core.threads import run_in_threads
from robolin.engine.compiled.plan import cores

# seconds, longer than any process needs to start
WAIT = 60

# barrier at which the processes of a pool wait before they start
_ready: Any = None

MEASURED = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")

# fraction of the effort's seconds, and multiple of its rounds: a host may withdraw a core for as
# long as a call takes: compare many calls, without pauses in which cores become idle
IN_A_ROW, ROUNDS = 0.25, 5


def measured(effort: Effort) -> dict[str, Any]:
    """Speedup over one core: with threads, in registers, and with processes."""
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
    """The verb and plain arithmetic, each on one core and on all cores, alternately.

    A ratio is that of the median calls of a round.
    """
    subject = panda()
    states, count = subject.states(effort.states), cores()
    one, all_cores = (robolin_answer(subject.arm, verb, states, jobs) for jobs in (1, count))
    work = arithmetic()
    # choose the amount of arithmetic so that it takes about as long as the verb
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
