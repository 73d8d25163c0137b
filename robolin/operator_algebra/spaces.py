"""The vector spaces of operators, and the layout of their arrays.

joints   one number per joint, in the arm's public order, as everywhere in robolin
links    six numbers per link, [angular; linear]; link 1, a tip, comes first, as in the papers
frame    six numbers, those of one frame

Internally, every vector is a list with one tuple of numbers per link, counted from 1 at the tip.
The numbers may be floats, complex, 50-digit, counters, or rows of a matrix of right-hand sides;
only this module uses NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arrays import AnyArray
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.errors import RobolinError


@dataclass(frozen=True)
class Layout:
    """The parent of each link, and the index of its joint in public order."""

    parents: tuple[int, ...]
    indices: tuple[int, ...]

    @property
    def n(self) -> int:
        return len(self.indices)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of links 0, 1, … n and of the base; entry 0 is unused."""
        carried: list[list[int]] = [[] for _ in range(self.n + 2)]
        for k in range(1, self.n + 1):
            carried[self.parents[k]].append(k)
        return tuple(tuple(links) for links in carried)

    @property
    def serial(self) -> bool:
        return all(self.parents[k] == k + 1 for k in range(1, self.n + 1))

    @property
    def joints(self) -> Space:
        return Space(self, "joints")

    @property
    def links(self) -> Space:
        return Space(self, "links")


@dataclass(frozen=True)
class Space:
    """The vector space of the rows or the columns of an operator."""

    layout: Layout
    kind: Literal["joints", "links", "frame"]
    link: int = 0

    @property
    def width(self) -> int:
        """Numbers per link."""
        return 1 if self.kind == "joints" else 6

    @property
    def size(self) -> int:
        return 6 if self.kind == "frame" else self.width * self.layout.n

    def __str__(self) -> str:
        return "frame" if self.kind == "frame" else f"{self.layout.n} {self.kind}"

    def rows_of(self, k: int) -> Sequence[int]:
        """Indices of the numbers of link k in a vector; empty if it has none."""
        if self.kind == "joints":
            return (self.layout.indices[k - 1],)
        if self.kind == "links":
            return range(6 * k - 6, 6 * k)
        return range(6) if k == self.link else ()


def vectors_by_link(space: Space, array: AnyArray) -> list[Vector]:
    """An array (size,) or (size, columns) as the vectors of links 0, 1, … n."""
    rows: Sequence[Scalar] = array.tolist() if array.ndim == 1 else list(array)
    nothing = (0.0,) * space.width
    return [
        nothing,
        *(tuple(rows[i] for i in space.rows_of(k)) or nothing for k in _links(space)),
    ]


def put_together(space: Space, vectors: Sequence[Vector], like: AnyArray) -> AnyArray:
    """The vectors of all links as an array with as many columns as `like`."""
    rows: list[Any] = [0.0] * space.size
    for k in _links(space):
        for i, value in zip(space.rows_of(k), vectors[k], strict=False):
            rows[i] = value
    if like.ndim == 1:
        array = np.array(rows)
    else:
        alike = np.zeros(like.shape[1:])
        array = np.array([row if isinstance(row, np.ndarray) else alike + row for row in rows])
    # adding 0 turns -0.0 into 0.0, so that results have one zero only
    return array if array.dtype == object else array + 0.0


def array_for(space: Space, formula: str, vector: ArrayLike) -> AnyArray:
    """The right-hand side as an array; an error if its size does not match."""
    array = numbers_of(formula, vector)
    if array.ndim not in (1, 2) or array.shape[0] != space.size:
        raise RobolinError(
            f"{formula} applies to {space.size} numbers ({space}), not to shape {array.shape}",
            hint="give a matrix with one column per right-hand side",
        )
    return array


def numbers_of(whose: str, values: ArrayLike) -> AnyArray:
    """An array of floats, or of other objects with multiplication and addition."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise RobolinError(f"{whose} requires an array of numbers: {error}") from error
    if array.dtype.kind not in "biufcO":
        raise RobolinError(f"{whose} requires numbers, got {array.dtype}")
    return array.astype(float) if array.dtype.kind in "biu" else array


def _links(space: Space) -> range:
    return range(1, space.layout.n + 1)
