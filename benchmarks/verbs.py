"""Every verb on one arm: robolin on one core and on all, beside each peer, taking turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import checked
from benchmarks.peers import installed
from benchmarks.subjects import States, Subject, panda, tree
from benchmarks.timing import Contestant, Effort, affordable, compared, interleaved, progress
from robolin.core.arm import Arm
from robolin.engine.compiled.plan import cores

# verb -> what it is given, and the name of its result if that is a single array
VERBS = {
    "inverse": (("q", "qd", "qdd"), "tau"),
    "forward": (("q", "qd", "tau"), "qdd"),
    "mass-matrix": (("q",), "mass_matrix"),
    "linearize-inverse": (("q", "qd", "qdd"), ""),
    "linearize-forward": (("q", "qd", "tau"), ""),
    "perturb-inverse": (("q", "qd", "qdd", "dq", "dqd", "dqdd"), "dtau"),
    "perturb-forward": (("q", "qd", "tau", "dq", "dqd", "dtau"), "dqdd"),
    "diagonalize": (("q", "qd", "tau"), ""),
}

# how many states are compared before anything is timed
CHECKED = 50

ALL_CORES = "robolin, all cores"
BATCH = "Pinocchio, batch call"
BATCH_ALL = "Pinocchio, batch call, all cores"
NUMPY = "same source on NumPy"

# NumPy spends its time on the steps, not on the states: enough of them, but not too many steps
NUMPY_STATES, NUMPY_JOINTS = 2_000, 7

Answer = Callable[[int], dict[str, np.ndarray]]


def measured(effort: Effort) -> dict[str, Any]:
    """Panda and the tree, every verb."""
    return {subject.title: on(subject, effort) for subject in (panda(), tree())}


def on(subject: Subject, effort: Effort, verbs: Sequence[str] = tuple(VERBS)) -> dict[str, Any]:
    """Every verb on one arm: times, ratios and gaps."""
    states = subject.states(effort.states)
    rows = len(states["q"])
    peers = installed(subject)
    condition = np.linalg.cond(robolin.mass_matrix(subject.arm, states["q"][:CHECKED]))
    report = {}
    for verb in verbs:
        progress(f"{subject.title}: {verb}")
        ours = robolin_answer(subject.arm, verb, states, jobs=1)
        contestants, gaps = {"robolin": Contestant(ours, rows)}, {}
        for name, answer, count in _others(subject.arm, verb, states, peers):
            count = count or affordable(answer, rows, effort.seconds)
            few = min(CHECKED, count)
            gaps[name] = checked(name.partition(",")[0], verb, ours(few), answer(few), condition)
            contestants[name] = Contestant(answer, count)
        report[verb] = compared(interleaved(contestants, effort.rounds))
        for name, found in gaps.items():
            report[verb][name] |= {"gap": found, "states": contestants[name].states}
    return {"joints": subject.arm.n, "states": rows, "verbs": report}


def robolin_answer(arm: Arm, verb: str, states: States, jobs: int, **how: Any) -> Answer:
    """What the public function answers for the first rows, as arrays by name."""
    function = getattr(robolin, verb.replace("-", "_"))
    needs, single = VERBS[verb]
    how = {"engine": "compiled", "jobs": jobs, **how}

    def answer(rows: int) -> dict[str, np.ndarray]:
        result = function(arm, *(states[name][:rows] for name in needs), **how)
        fields = vars(result) if is_dataclass(result) else {single: result}
        return {name: field for name, field in fields.items() if isinstance(field, np.ndarray)}

    return answer


def _others(
    arm: Arm, verb: str, states: States, peers: dict[str, Any]
) -> Iterator[tuple[str, Answer, int]]:
    """Everything that robolin on one core is compared with, and on how many states; 0 if the
    time it takes decides."""
    rows = len(states["q"])
    if cores() > 1:
        yield ALL_CORES, robolin_answer(arm, verb, states, cores()), rows
    if arm.n <= NUMPY_JOINTS:
        numpy = robolin_answer(arm, verb, states, 1, engine="python")
        yield NUMPY, numpy, min(rows, NUMPY_STATES)
    for name, peer in peers.items():
        method = getattr(peer, verb.replace("-", "_"), None)
        if method is not None:
            yield name, _bound(method, states), 0
    if "Pinocchio" in peers:
        for name, threads in ((BATCH, 1), (BATCH_ALL, cores())):
            batch = peers["Pinocchio"].batch(verb, threads)
            if batch is not None:
                yield name, _bound(batch, states), rows


def _bound(method: Callable[[States, int], dict[str, np.ndarray]], states: States) -> Answer:
    return lambda rows: method(states, rows)
