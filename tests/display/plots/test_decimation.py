"""Selection of the rows of long curves that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.display.plots.panels import decimate_keep_extremes


@pytest.mark.parametrize("row", [0, 1, 499_999, 500_000, 777_777, 999_998, 999_999])
def test_a_peak_of_one_sample_in_a_million_is_kept(row: int) -> None:
    """A single outlier row, upwards or downwards, is among the few that are drawn."""
    values = np.sin(np.linspace(0.0, 60.0, 1_000_000))
    for peak in (3.0, -3.0):
        values[row] = peak
        kept = decimate_keep_extremes(values)
        assert len(kept) <= 2_000
        assert row in kept


@pytest.mark.parametrize("rows", [1, 2, 1_999, 2_000, 2_001, 4_003, 50_021])
@pytest.mark.parametrize("curves", [1, 7])
def test_extremes_and_ends_of_every_curve_are_kept(rows: int, curves: int) -> None:
    """Both ends, and the highest and the lowest row of every curve, are drawn; order stays."""
    values = np.random.default_rng(rows).standard_normal((rows, curves))
    kept = decimate_keep_extremes(values)
    assert len(kept) <= 2_000
    assert (np.diff(kept) > 0).all()
    assert {0, rows - 1, *values.argmin(axis=0), *values.argmax(axis=0)} <= set(kept.tolist())


def test_a_gap_of_one_row_is_seen() -> None:
    """Where a number is missing, a row without it is drawn, so that the curve is broken there."""
    values = np.linspace(0.0, 1.0, 30_000)
    values[12_345] = np.nan
    kept = decimate_keep_extremes(values)
    assert 12_345 in kept
    assert len(kept) <= 2_000
    assert np.isfinite(values[kept]).sum() == len(kept) - 1
    assert len(decimate_keep_extremes(np.full(5_000, np.nan))) <= 2_000
