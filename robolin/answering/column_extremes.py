"""The least and the most of every column of many rows, whatever is no number left aside."""

from __future__ import annotations

import numpy as np

from robolin.arrays import Floats

# rows that are gone through together: a row of a few joints by itself takes longer to begin with
_TOGETHER = 64


def least_of_columns(rows: Floats) -> Floats:
    """The least number of each column (n,) of rows (rows, n); NaN only where there is none."""
    return _reduced(np.minimum, np.fmin, rows)


def most_of_columns(rows: Floats) -> Floats:
    """The greatest number of each column (n,)."""
    return _reduced(np.maximum, np.fmax, rows)


def _reduced(plain: np.ufunc, tolerant: np.ufunc, rows: Floats) -> Floats:
    found = _folded(plain, rows)
    # those that leave NaN aside take longer
    return _folded(tolerant, rows) if np.isnan(found).any() else found


def _folded(ufunc: np.ufunc, rows: Floats) -> Floats:
    whole = len(rows) - len(rows) % _TOGETHER
    folds = rows[:whole].reshape(-1, _TOGETHER * rows.shape[1])
    found: Floats = ufunc.reduce(rows[whole:] if whole < len(rows) else rows[:1], axis=0)
    if not whole:
        return found
    first: Floats = ufunc.reduce(ufunc.reduce(folds, axis=0).reshape(_TOGETHER, -1), axis=0)
    return np.asarray(ufunc(first, found))
