"""An array of one state has the values that a NumPy array has."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from robolin.core.arrays import all_finite, as_array, side_by_side
from robolin.core.state_array import StateArray, state_array

NUMBERS = [[0.5, -2.0, 3.0], [0.0, 4.0, -1.5]]


def both() -> tuple[Any, Any]:
    """A matrix without NumPy, and with it."""
    return StateArray([x for row in NUMBERS for x in row], (2, 3)), np.array(NUMBERS)


def test_has_the_shape_and_the_numbers_of_the_numpy_array() -> None:
    """Shape, sizes, lists and extremes are those of NumPy."""
    mine, theirs = both()
    for name in ("shape", "ndim", "size"):
        assert getattr(mine, name) == getattr(theirs, name)
    assert len(mine) == len(theirs)
    assert mine.tolist() == theirs.tolist()
    assert mine.ravel().tolist() == theirs.ravel().tolist()
    assert mine.reshape(3, 2).tolist() == theirs.reshape(3, 2).tolist()
    assert mine.reshape(-1, 1, 3).tolist() == theirs.reshape(-1, 1, 3).tolist()
    assert (mine.min(), mine.max(), mine.any()) == (theirs.min(), theirs.max(), theirs.any())
    assert abs(mine).max(initial=9.0) == 9.0
    assert mine.dtype.kind == theirs.dtype.kind
    assert mine.dtype.itemsize == theirs.dtype.itemsize


def test_any_other_use_is_that_of_the_numpy_array() -> None:
    """Methods, indices and functions that it lacks are those of NumPy."""
    mine, theirs = both()
    assert mine[1, 2] == theirs[1, 2]
    assert mine[:, 1].tolist() == theirs[:, 1].tolist()
    assert mine.mean() == theirs.mean()
    assert np.array_equal(np.linalg.norm(mine, axis=0), np.linalg.norm(theirs, axis=0))
    assert mine.astype("float32").dtype == np.float32
    with pytest.raises(AttributeError):
        _ = mine.no_such_method
    assert pickle.loads(pickle.dumps(mine)).tolist() == copy.deepcopy(mine).tolist() == NUMBERS


def test_entries_without_a_value_are_zero_and_zero_has_no_sign() -> None:
    """-0.0 becomes 0.0, as in the arrays of a batch."""
    array = state_array({(0, 1): -0.0, (1, 0): 2.0}, (2, 2))
    assert str(array.tolist()) == "[[0.0, 0.0], [2.0, 0.0]]"


def test_mixed_tables_are_joined_by_numpy() -> None:
    """Rows of both kinds of arrays are joined to one table."""
    mine, theirs = StateArray([1.0, 2.0], (1, 2)), np.array([[3.0]])
    assert side_by_side([mine, mine]).tolist() == [[1.0, 2.0, 1.0, 2.0]]
    assert side_by_side([mine, theirs]).tolist() == [[1.0, 2.0, 3.0]]


def test_the_extremes_of_nan_and_of_no_numbers_are_those_of_numpy() -> None:
    """Python's max and min skip or keep a NaN, depending on its place."""
    for flat in ([float("nan"), 1.0], [1.0, float("nan")]):
        assert np.isnan(StateArray(flat).max())
        assert np.isnan(StateArray(flat).max(initial=9.0))
        assert np.isnan(StateArray(flat).min())
    assert StateArray([]).max(initial=2.0) == np.array([]).max(initial=2.0)


def test_finds_numbers_that_are_not_finite() -> None:
    """NaN and infinity are found in both kinds of arrays."""
    for bad in (float("nan"), float("inf")):
        assert not all_finite(StateArray([0.0, bad]))
        assert not all_finite(as_array([0.0, bad]))
    assert all_finite(StateArray([0.0, 1e308]))
    assert isinstance(as_array([1.0]), np.ndarray)
