"""Every verb on one robot: robolin on one core and on all, compared with each peer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from time import perf_counter, thread_time
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import checked
from benchmarks.peers import installed
from benchmarks.subjects import VERBS, States, Subject, panda, tree
from benchmarks.timing import Contestant, Effort, affordable, compared, interleaved, progress
from robolin.core.arm import Arm
from robolin.engine.compiled.plan import cores

# number of states compared before anything is timed
CHECKED = 50

ALL_CORES = "robolin, all cores"
# loops over states in the language of the peer
LOOPS = {"Pinocchio": "Pinocchio, C++ loop", "MuJoCo": "MuJoCo, C loop"}
BATCH = "Pinocchio, batch call"
BATCH_ALL = "Pinocchio, batch call, all cores"
NUMPY = "same source on NumPy"

# NumPy's time depends on the number of steps rather than states: many states, few steps
NUMPY_STATES, NUMPY_JOINTS = 2_000, 7

Answer = Callable[[int], dict[str, np.ndarray]]


def measured(effort: Effort) -> dict[str, Any]:
    """Panda and the tree, every verb."""
    return {subject.title: on(subject, effort) for subject in (panda(), tree())}


def on(subject: Subject, effort: Effort, verbs: Sequence[str] = tuple(VERBS)) -> dict[str, Any]:
    """Times, ratios and differences of every verb on one robot."""
    states = subject.states(effort.states)
    rows = len(states["q"])
    peers = installed(subject)
    condition = np.linalg.cond(robolin.mass_matrix(subject.arm, states["q"][:CHECKED]))
    report = {}
    for verb in verbs:
        progress(f"{subject.title}: {verb}")
        ours = robolin_answer(subject.arm, verb, states, jobs=1)
        contestants, gaps = {"robolin": Contestant(ours, rows, thread_time)}, {}
        for name, answer, count in _others(subject.arm, verb, states, peers):
            count = count or affordable(answer, rows, effort.seconds)
            few = min(CHECKED, count)
            gaps[name] = checked(name.partition(",")[0], verb, ours(few), answer(few), condition)
            clock = perf_counter if name in (ALL_CORES, BATCH_ALL) else thread_time
            contestants[name] = Contestant(answer, count, clock)
        report[verb] = compared(interleaved(contestants, effort.rounds))
        for name, difference in gaps.items():
            report[verb][name] |= {"gap": difference, "states": contestants[name].states}
    return {"joints": subject.arm.n, "states": rows, "verbs": report}


def robolin_answer(arm: Arm, verb: str, states: States, jobs: int, **options: Any) -> Answer:
    """Results of the public function for the first rows, as arrays by name."""
    function = getattr(robolin, verb.replace("-", "_"))
    needs, single = VERBS[verb]
    options = {"engine": "compiled", "jobs": jobs, **options}

    def answer(rows: int) -> dict[str, np.ndarray]:
        result = function(arm, *(states[name][:rows] for name in needs), **options)
        fields = vars(result) if is_dataclass(result) else {single: result}
        return {name: field for name, field in fields.items() if isinstance(field, np.ndarray)}

    return answer


def _others(
    arm: Arm, verb: str, states: States, peers: dict[str, Any]
) -> Iterator[tuple[str, Answer, int]]:
    """All programs that robolin on one core is compared with, and their number of states; 0 if it
    follows from their speed."""
    rows = len(states["q"])
    if cores() > 1:
        yield ALL_CORES, robolin_answer(arm, verb, states, cores()), rows
    if arm.n <= NUMPY_JOINTS:
        numpy = robolin_answer(arm, verb, states, 1, engine="python")
        yield NUMPY, numpy, min(rows, NUMPY_STATES)
    for name, peer in peers.items():
        loop = peer.loop(verb)
        if loop is not None:
            yield LOOPS[name], _bound(loop, states), 0
    if "Pinocchio" in peers:
        for name, threads in ((BATCH, 1), (BATCH_ALL, cores())):
            batch = peers["Pinocchio"].batch(verb, threads)
            if batch is not None:
                yield name, _bound(batch, states), rows


def _bound(method: Callable[[States, int], dict[str, np.ndarray]], states: States) -> Answer:
    return lambda rows: method(states, rows)
