"""Long curves as few points: which rows to draw so that no peak, however short, is lost."""

from __future__ import annotations

import numpy as np

from robolin.core.arrays import Floats, Numbers

# about as many as a screen has columns
MOST_POINTS = 2000


def kept_rows(values: Numbers, most: int = MOST_POINTS) -> Numbers:
    """The rows to draw, ascending: at most so many, with the extremes of every stretch of rows.

    What is drawn are rows of the data themselves, so every number in a picture is one of them.
    A stretch in which a number is missing keeps one such row, so that the gap is seen too.

    values: (rows,) or (rows, curves); several curves are drawn over the same rows
    most:   how many rows there may be; more only where two per curve do not fit into it
    """
    rows = len(values)
    if rows <= most:
        return np.arange(rows)
    curves = np.asarray(values, np.float64).reshape(rows, -1)
    missing: Numbers = np.any(np.isnan(curves), axis=1)
    for_each = 2 * curves.shape[1] + bool(missing.any())
    size = -(-rows // max((most - 2) // for_each, 1))
    starts = np.arange(0, rows, size)
    picked = [
        *_highest(-curves, starts, size).T,
        *_highest(curves, starts, size).T,
        np.array([0, rows - 1]),
    ]
    if missing.any():
        gaps = _highest(missing[:, None].astype(np.float64), starts, size)[:, 0]
        picked.append(gaps[missing[gaps]])
    return np.unique(np.concatenate(picked))


def _highest(curves: Floats, starts: Numbers, size: int) -> Numbers:
    """In every stretch, the row in which each curve is highest: (stretches, curves)."""
    rows, count = curves.shape
    filled = np.full((len(starts) * size, count), -np.inf)
    filled[:rows] = np.where(np.isnan(curves), -np.inf, curves)
    highest: Numbers = filled.reshape(len(starts), size, count).argmax(axis=1) + starts[:, None]
    return highest
