"""Alternating timing: contestants run in rounds, so that other load affects all of them equally."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """Time budget of a measurement."""

    rounds: int
    seconds: float
    states: int

    @property
    def quick(self) -> bool:
        return self.rounds < FULL.rounds


# the documented speeds refer to 20 000 states
FULL = Effort(rounds=9, seconds=0.4, states=20_000)
QUICK = Effort(rounds=3, seconds=0.03, states=2_000)


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of several measurements."""

    median: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        form = form or ".3g"
        return f"{self.median:{form}} ({self.low:{form}}–{self.high:{form}})"


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Contestant:
    """A function that computes the first `states` states.

    The processor time of a program on one core does not grow with other load.
    """

    run: Callable[[int], Any]
    states: int
    clock: Callable[[], float] = time.perf_counter


def interleaved(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, list[float]]:
    """Seconds per state of each contestant in each round."""

    def timed(contestant: Contestant) -> Callable[[], float]:
        run, states, clock = contestant.run, contestant.states, contestant.clock
        return lambda: seconds(run, states, clock=clock) / states

    return in_turns({name: timed(each) for name, each in contestants.items()}, rounds)


def in_turns(runs: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Return values of each run in each round; every round runs all of them once.

    A warm-up round comes first: it fills memory, caches and thread pools.
    """
    values: dict[str, list[T]] = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for counted in (False, *(True,) * rounds):
            for name, run in runs.items():
                returned = run()
                if counted:
                    values[name].append(returned)
    finally:
        gc.enable()
    return values


def seconds(
    run: Callable[..., Any], *arguments: Any, clock: Callable[[], float] = time.perf_counter
) -> float:
    start = clock()
    run(*arguments)
    return clock() - start


def affordable(run: Callable[[int], Any], most: int, allowance: float) -> int:
    """Number of states that can be computed in the time allowed, from two to `most`."""
    states = min(2, most)
    run(states)
    while True:
        elapsed = seconds(run, states)
        if states >= most or elapsed >= allowance / 4:
            break
        states = min(most, states * 4)
    return max(2, min(most, int(states * allowance / max(elapsed, 1e-9))))


def compared(times: Mapping[str, Sequence[float]], ours: str = "robolin") -> dict[str, Any]:
    """µs per state of each contestant, and the ratio of its time to ours, by round."""
    report: dict[str, Any] = {}
    for name, values in times.items():
        entry: dict[str, Any] = {"us": asdict(spread([1e6 * value for value in values]))}
        if name != ours:
            ratios = [theirs / our for theirs, our in zip(values, times[ours], strict=True)]
            entry["ratio"] = asdict(spread(ratios))
        report[name] = entry
    return report


def progress(text: str) -> None:
    """Print the current measurement on stderr."""
    print(text, file=sys.stderr, flush=True)
