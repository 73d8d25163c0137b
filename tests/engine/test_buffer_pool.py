"""Results share memory with earlier ones only once no reference to those is left."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.engine.compiled import plan as buffer_pool
from robolin.engine.compiled.plan import BufferPool

ROWS = 500

pooled = pytest.mark.skipif(
    not buffer_pool.REFERENCES_COUNTED, reason="without the GIL, memory is not pooled"
)


def _states(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (ROWS, 7))


def test_a_referenced_result_never_changes() -> None:
    """Later calls do not change a result, or a view of it, while it is referenced."""
    arm = robolin.load("panda")
    first = robolin.linearize_inverse(arm, _states(1), engine="compiled")
    corner, copy = first.dtau_dq[3:5, :2], first.dtau_dq[3:5, :2].copy()
    matrix = first.mass_matrix
    before = matrix.copy()
    del first
    for seed in range(2, 6):
        robolin.linearize_inverse(arm, _states(seed), engine="compiled")

    assert corner.tobytes() == copy.tobytes()
    assert matrix.tobytes() == before.tobytes()


def test_a_single_array_that_is_held_never_changes() -> None:
    """One view is the least that can be held of a piece of memory."""
    arm = robolin.load("panda")
    held = robolin.mass_matrix(arm, _states(1), engine="compiled")
    before = held.copy()
    for seed in range(2, 6):
        robolin.mass_matrix(arm, _states(seed), engine="compiled")

    assert held.tobytes() == before.tobytes()


@pooled
def test_memory_is_used_again_when_nobody_looks() -> None:
    """A result that was dropped makes room for the next one of its size, or of a smaller."""
    arm = robolin.load("panda")
    addresses = set()
    for rows in (ROWS, ROWS, ROWS // 2, ROWS):
        addresses.add(robolin.inverse(arm, _states(1)[:rows], engine="compiled").ctypes.data)

    assert len(addresses) == 1


def test_results_in_reused_memory_are_the_same() -> None:
    """Earlier content of the memory does not matter, on a tree with entries never written."""
    arm = robolin.load("panda")
    fresh = robolin.mass_matrix(arm, _states(7), engine="compiled").copy()
    robolin.mass_matrix(arm, _states(8), engine="compiled")

    assert robolin.mass_matrix(arm, _states(7), engine="compiled").tobytes() == fresh.tobytes()


def test_several_results_in_flight_reuse_memory() -> None:
    """A pipeline with two results at a time needs three buffers, not one per call."""
    arm = robolin.load("panda")
    held: list[np.ndarray] = []
    addresses = set()
    for seed in range(12):
        held.append(robolin.inverse(arm, _states(seed), engine="compiled"))
        addresses.add(held[-1].ctypes.data)
        del held[:-2]

    assert len(addresses) <= 3


def test_a_small_result_does_not_occupy_a_large_buffer() -> None:
    """A buffer for many rows is not used for a few."""
    arm = robolin.load("panda")
    large = robolin.inverse(arm, _states(1), engine="compiled").base
    few = robolin.inverse(arm, _states(1)[:80], engine="compiled").base

    assert few.nbytes < large.nbytes / 4


@pooled
def test_the_pool_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest buffers are freed if there are too many or if they are too large together."""
    monkeypatch.setattr(buffer_pool, "MAX_POOLED_BYTES", 8000)
    memory = BufferPool()
    held = [memory.take(size) for size in (400, 400, 400)]
    assert [piece.size for piece in memory._buffers] == [400, 400]
    held.append(memory.take(2000))
    assert memory._buffers == []
    held += [memory.take(1) for _ in range(10)]
    assert len(memory._buffers) == buffer_pool.MAX_BUFFERS
