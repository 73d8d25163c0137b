"""Which rows of the closures are independent, by elimination with pivoting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robolin.core.arrays import Floats, Places
from robolin.core.arrays import Mask as Mask
from robolin.dynamics.loops.independent_rows import DEPENDENT_WITHIN as DEPENDENT_WITHIN


def independent_row_mask(L: Floats) -> Mask:
    """(B, m): the rows that Gram–Schmidt with pivoting picks, the largest remainder first.

    What is left of every row is made orthogonal to each one picked.  Since no remainder is longer
    than the last one picked, rounding stays where it is beside the largest row.
    """
    batch, count, width = L.shape
    rest, kept = L.copy(), np.zeros((batch, count), dtype=bool)
    largest = np.linalg.norm(L, axis=-1).max(axis=-1, initial=0.0)
    each = np.arange(batch)
    for _ in range(min(count, width)):
        sizes = np.where(kept, 0.0, np.linalg.norm(rest, axis=-1))
        pivot = sizes.argmax(axis=-1)
        size = sizes[each, pivot]
        found = size > DEPENDENT_WITHIN * largest
        if not found.any():
            break
        kept[each, pivot] |= found
        row = rest[each, pivot] / np.where(found, size, np.inf)[:, None]
        rest = rest - (rest @ row[..., None]) * row[:, None]
    return kept


def patterns(kept: Mask) -> Iterator[tuple[Places, Places]]:
    """States that keep the same rows, and these rows."""
    if (kept == kept[:1]).all():
        yield np.arange(len(kept)), np.flatnonzero(kept[:1].any(axis=0))
        return
    distinct, which = np.unique(kept, axis=0, return_inverse=True)
    for i, pattern in enumerate(distinct):
        yield np.flatnonzero(which.reshape(-1) == i), np.flatnonzero(pattern)
