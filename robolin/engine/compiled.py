"""Running kernels: memory for them, rows shared out among threads, complaints brought back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from robolin.engine.direct import first_of_subtrees
from robolin.engine.kernels import Kernel, Recipe, host_width, kernel_for
from robolin.engine.layout import Variant, doubles_of, variant_of, wholes_of
from robolin.engine.parameters import Parameters

Array = Any
CHUNK = 4096


@dataclass(frozen=True)
class Prepared:
    """One arm in the form kernels read it; made once per arm."""

    n: int
    m: int
    variant: Variant
    doubles: Array
    wholes: Array


def prepared(parameters: Parameters) -> Prepared:
    parents = [0, *(row.parent for row in parameters.links)]
    return Prepared(
        parameters.n,
        len(parameters.order),
        variant_of(parameters),
        doubles_of(parameters),
        wholes_of(parameters, first_of_subtrees(parents)),
    )


def recipe_for(name: str, algorithm: Any, arm: Prepared, width: int | None = None) -> Recipe:
    gives = tuple(algorithm.gives.items())
    wide = width or host_width()
    return Recipe(name, algorithm.run, algorithm.needs, gives, arm.variant, wide)


def run_compiled(
    arm: Prepared,
    recipe: Recipe,
    inputs: Mapping[str, Array],
    batch: tuple[int, ...],
    jobs: int | None = None,
    chunk: int = CHUNK,
) -> tuple[dict[str, Array], Array]:
    """Results for every row, and for each row the number of the joint it complains of, or 0.

    Inputs are contiguous float64 of shape batch + (m,), or (m,) for the same values in every row.
    """
    rows, m = 1, arm.m
    for length in batch:
        rows *= length
    outputs = {name: np.empty(batch + (m,) * rank) for name, rank in recipe.gives}
    complaints = np.zeros(rows)
    if rows == 0:
        return outputs, complaints
    call = _Call(arm, kernel_for(recipe), recipe, inputs, outputs, complaints)
    workers = min(jobs or os.cpu_count() or 1, -(-rows // chunk))
    if workers <= 1:
        call.rows(0, rows)
    else:
        pieces = [(start, min(start + chunk, rows)) for start in range(0, rows, chunk)]
        for piece in [_pool(workers).submit(call.rows, *piece) for piece in pieces]:
            piece.result()
    return outputs, complaints


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="robolin")


class _Call:
    """One call of a kernel, which may be made in pieces by several threads."""

    def __init__(
        self,
        arm: Prepared,
        kernel: Kernel,
        recipe: Recipe,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        complaints: Array,
    ) -> None:
        self._arm, self._kernel = arm, kernel
        m = arm.m
        self._inputs = [
            (_address(array), m if array.ndim > 1 else 0)
            for array in (inputs[name] for name in recipe.needs)
        ]
        self._outputs = [(_address(outputs[name]), m**rank * 8) for name, rank in recipe.gives]
        self._complaints = _address(complaints)
        width = kernel.width
        self._sizes = (
            kernel.scratch_vectors * (arm.n + 2) * width,
            kernel.tables * (m + 1) ** 2 * width,
            sum(m**rank for _, rank in recipe.gives) * width,
        )
        # whoever holds the addresses must hold the arrays
        self._keep = inputs, outputs, complaints

    def rows(self, start: int, stop: int) -> None:
        """Run rows start … stop-1; the interpreter is free meanwhile."""
        arm = self._arm
        inputs = np.array(
            [(address + 8 * start * stride, stride) for address, stride in self._inputs], np.int64
        )
        outputs = np.array([address + start * size for address, size in self._outputs], np.int64)
        memory, scratch, tables, staging = _scratch(self._sizes)
        self._kernel.call(
            _address(arm.doubles),
            _address(arm.wholes),
            _address(inputs),
            _address(outputs),
            self._complaints + 8 * start,
            scratch,
            tables,
            staging,
            arm.n,
            arm.m,
            stop - start,
        )
        del memory


def _scratch(sizes: tuple[int, int, int]) -> tuple[Array, int, int, int]:
    """Zeroed memory for scratch, tables and staging, each on a boundary of 64 bytes."""
    padded = [-(-size // 8) * 8 for size in sizes]
    memory = np.zeros(sum(padded) + 8)
    start = -(-_address(memory) // 64) * 64
    return memory, start, start + 8 * padded[0], start + 8 * (padded[0] + padded[1])


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
