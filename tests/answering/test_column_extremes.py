"""The least and the most of every column, however many rows there are."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.answering.column_extremes import least_of_columns, most_of_columns


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_extremes_are_those_of_numpy(rows: int, gaps: float) -> None:
    """Rows that are gone through together give what one after the other does, NaN left aside."""
    rng = np.random.default_rng(rows)
    table = rng.normal(size=(rows, 7))
    table[rng.random(table.shape) < gaps] = np.nan
    table[:, 3] = np.nan if gaps else np.inf

    assert np.array_equal(least_of_columns(table), np.fmin.reduce(table), equal_nan=True)
    assert np.array_equal(most_of_columns(table), np.fmax.reduce(table), equal_nan=True)
    in_turn = table[::-1, ::-1]
    assert np.array_equal(most_of_columns(in_turn), np.fmax.reduce(in_turn), equal_nan=True)
