"""Threads divide rows among themselves: each row is computed exactly once."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core import threads
from robolin.core.threads import run_in_threads
from robolin.dynamics.catalogue import ALGORITHMS
from tests.cases import for_each
from tests.cli.command import forked
from tests.engine.on_lanes import plan_for
from tests.robots import random_arm, random_states
from tests.work import TIMEOUT

ARM = random_arm(71, 3, prismatic=False)


def helpers() -> int:
    return sum(thread.name == "robolin-pool" for thread in threading.enumerate())


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_worker_works_once_and_in_a_thread_of_its_own(workers: int) -> None:
    all_here = threading.Barrier(workers)
    seen: list[tuple[int, int]] = []

    def work(worker: int) -> None:
        all_here.wait(TIMEOUT)
        seen.append((worker, threading.get_ident()))

    run_in_threads(work, workers)
    assert sorted(worker for worker, _ in seen) == list(range(workers))
    assert len({thread for _, thread in seen}) == workers
    assert (0, threading.get_ident()) in seen


def test_helpers_are_used_again() -> None:
    run_in_threads(lambda worker: None, 3)
    before = helpers()
    for _ in range(50):
        run_in_threads(lambda worker: None, 3)
    assert helpers() == before


def test_what_goes_wrong_in_a_helper_goes_wrong_in_the_call() -> None:
    def work(worker: int) -> None:
        if worker == 1:
            raise MemoryError("no room")

    run_in_threads(lambda worker: None, 4)
    before = helpers()
    with pytest.raises(MemoryError, match="no room"):
        run_in_threads(work, 4)
    # and no helper is the worse for it
    seen: list[int] = []
    run_in_threads(seen.append, 4)
    assert sorted(seen) == [0, 1, 2, 3]
    assert helpers() == before


def test_what_goes_wrong_here_leaves_the_helpers_ready() -> None:
    def work(worker: int) -> None:
        if worker == 0:
            raise KeyboardInterrupt

    run_in_threads(lambda worker: None, 3)
    before = helpers()
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt):
            run_in_threads(work, 3)
        seen: list[int] = []
        run_in_threads(seen.append, 3)
        assert sorted(seen) == [0, 1, 2]
    assert helpers() == before


def test_a_worker_is_the_same_thread_from_call_to_call() -> None:
    """It meets the same rows then, and they may still be in its caches."""

    def threads() -> list[int]:
        seen: dict[int, int] = {}
        run_in_threads(lambda worker: seen.update({worker: threading.get_ident()}), 4)
        return [seen[worker] for worker in range(4)]

    first = threads()
    assert all(threads() == first for _ in range(5))


def test_rows_are_answered_even_if_there_can_be_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    states = random_states(ARM, 31)
    state = [states.q, states.qd, states.qdd]
    plan = plan_for(ARM, "inverse", ALGORITHMS["inverse"])
    expected, _ = plan.call_batch(state, (31,), jobs=1)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(threads, "_idle", [])
    values, _ = plan.call_batch(state, (31,), 4, 3)
    assert values["tau"].tobytes() == expected["tau"].tobytes()


def test_memory_is_referenced_until_the_last_thread_has_ended() -> None:
    """An interrupted caller must not free memory that a helper thread still writes to."""

    class Held:
        pass

    piece = Held()
    alive = weakref.ref(piece)
    go, ended = threading.Event(), threading.Event()
    referenced: list[bool] = []

    def work(worker: int) -> None:
        if worker == 0:
            raise KeyboardInterrupt
        go.wait(TIMEOUT)
        referenced.append(alive() is not None)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(work, 2, keep_alive=piece)
    del piece
    go.set()
    assert ended.wait(TIMEOUT)
    assert referenced == [True]


def test_nobody_waits_for_a_helper_that_has_nothing_left_to_do() -> None:
    class Held:
        pass

    piece = Held()
    alive = weakref.ref(piece)
    begun, go, after = threading.Event(), threading.Event(), threading.Event()

    def work(worker: int) -> bool:
        if worker == 0:
            return begun.wait(TIMEOUT)
        begun.set()
        return go.wait(TIMEOUT)

    run_in_threads(lambda worker: None, 2)
    before = helpers()
    run_in_threads(work, 2, keep_alive=piece)
    # it is still working, but no memory is referenced for it, and its next task will find it
    del piece
    assert not go.is_set()
    assert alive() is None
    run_in_threads(lambda worker: worker == 0 or after.set(), 2)
    assert not after.is_set()
    go.set()
    assert after.wait(TIMEOUT)
    assert helpers() == before


def test_a_second_call_does_not_wait_for_a_late_helper() -> None:
    """All rows are computed when the first helper returns; the second is not awaited."""
    go, left = threading.Event(), threading.Event()
    answers = [True, False]

    def work(worker: int) -> bool | None:
        if worker == 0:
            return answers.pop()
        if worker == 2:
            go.wait(TIMEOUT)
            left.set()
        return None

    run_in_threads(work, 3)
    assert not answers
    assert not left.is_set()
    go.set()


def test_what_goes_wrong_in_a_helper_does_not_matter_once_all_is_done() -> None:
    failed = threading.Event()

    def work(worker: int) -> bool:
        if worker == 0:
            return failed.wait(TIMEOUT)
        failed.set()
        raise MemoryError("no room")

    assert run_in_threads(work, 2, overlap=lambda: "found") == "found"


def test_a_task_that_comes_too_late_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of results is not referenced for it any more."""
    late: list[threads.Task] = []
    monkeypatch.setattr(threads.PoolThread, "submit", lambda _, task: late.append(task))
    monkeypatch.setattr(threads, "_idle", [])
    states = random_states(ARM, 31)
    state = [states.q, states.qd, states.qdd]
    plan = plan_for(ARM, "inverse", ALGORITHMS["inverse"])
    values, status = plan.call_batch(state, (31,), 4, 3)
    assert [task.worker for task in late] == [1, 2, 3]
    assert all(task.keep_alive is None for task in late)
    values["tau"][:] = status[:] = 7.0
    assert all(task.work(task.worker) for task in late)
    assert (values["tau"] == 7.0).all()
    assert (status == 7.0).all()


def test_what_is_done_meanwhile_comes_back() -> None:
    order: list[str] = []

    def meanwhile() -> str:
        order.append("meanwhile")
        return "found"

    def work(worker: int) -> None:
        if worker == 0:
            order.append("work")

    assert run_in_threads(work, 2, overlap=meanwhile) == "found"
    assert order == ["meanwhile", "work"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    ran = forked(
        "import os; from robolin.core.threads import run_in_threads\n"
        "run_in_threads(lambda worker: None, 3)\n"
        "child = os.fork()\n"
        "seen = []\n"
        "run_in_threads(seen.append, 3)\n"
        "if child == 0: os._exit(0 if sorted(seen) == [0, 1, 2] else 1)\n"
        "print(os.waitpid(child, 0)[1], sorted(seen))"
    )
    assert (ran.code, ran.out) == (0, "0 [0, 1, 2]\n"), ran.err


@for_each("rows,workers,piece", product((1, 2, 9, 31), (1, 2, 7), (1, 3, 8)))
def test_every_row_is_computed_for_any_division(rows: int, workers: int, piece: int) -> None:
    """More threads than rows, regions without a row, pieces that do not divide the rows."""
    states = random_states(ARM, 31)
    inputs = [values[:rows] for values in (states.q, states.qd, states.qdd)]
    plan = plan_for(ARM, "inverse", ALGORITHMS["inverse"])
    expected, _ = plan.call_batch([states.q, states.qd, states.qdd], (31,), jobs=1)
    # old content of the memory must not pass for a result
    plan.call_batch([np.full_like(values, 0.5) for values in inputs], (rows,), jobs=1)
    computed, status = plan.call_batch(inputs, (rows,), workers, piece)
    assert computed["tau"].tobytes() == expected["tau"][:rows].tobytes()
    assert not status.any()


def test_rows_with_many_results_are_divided_too() -> None:
    """One row of 30 joints has more numbers than a thread claims in one step."""
    arm = random_arm(72, 30, prismatic=False)
    states = random_states(arm, 20)
    state = [states.q, states.qd, states.qdd]
    plan = plan_for(arm, "linearize-inverse", ALGORITHMS["linearize-inverse"])
    expected, _ = plan.call_batch(state, (20,), jobs=1)
    computed, _ = plan.call_batch(state, (20,), jobs=2)
    for name, values in expected.items():
        assert computed[name].tobytes() == values.tobytes(), name


CALLS: dict[str, Callable[..., Any]] = {
    "inverse": lambda arm, q, **options: robolin.inverse(arm, q, 0.1, 0.2, **options),
    "forward": lambda arm, q, **options: robolin.forward(arm, q, 0.1, 0.2, **options),
    "mass_matrix": lambda arm, q, **options: robolin.mass_matrix(arm, q, **options),
    "linearize_inverse": lambda arm, q, **options: robolin.linearize_inverse(
        arm, q, 0.1, **options
    ),
    "linearize_forward": lambda arm, q, **options: robolin.linearize_forward(
        arm, q, 0.1, **options
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_run_in_as_many_threads_as_jobs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`jobs` reaches the engine, for any number of cores; without it, all cores are used."""
    requested: list[int] = []

    def run(work: Callable[[int], bool], workers: int, **options: Any) -> Any:
        requested.append(workers)
        return run_in_threads(work, workers, **options)

    monkeypatch.setattr("robolin.engine.compiled.plan.run_in_threads", run)
    monkeypatch.setattr("robolin.engine.compiled.plan.cores", lambda: 2)
    arm, q = robolin.load("two-link"), np.full((30_000, 2), 0.3)
    for options in ({"jobs": 1}, {"jobs": 3}, {}):
        CALLS[name](arm, q, **options)
    # some functions call the engine twice
    assert [*dict.fromkeys(requested)] == [3, 2]
