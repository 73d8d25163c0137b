"""Rows without an answer take no answer from other rows."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from robolin.core.results.result import Array
from robolin.errors import RobolinError, UsageError
from robolin.queries.linear_model_answer import LinearModelTask, ModelArrays, solve_valid_rows
from robolin.queries.values import Values

ROWS = 7


def work_without(bad: set[int], kind: type[RobolinError] = RobolinError) -> LinearModelTask:
    """The square of every q; a call with one of the bad rows among its rows fails as a whole."""

    def arrays(values: Values) -> ModelArrays:
        if bad & {*values["q"].astype(int).tolist()}:
            raise kind("no answer")
        return (Array("square", values["q"] ** 2, (), "1"),)

    wanted: Any = SimpleNamespace(is_feasible=lambda values: np.ones(len(values["q"]), dtype=bool))
    return LinearModelTask(cast(Any, wanted), arrays)


@pytest.mark.parametrize("count", range(ROWS + 1))
def test_every_other_row_is_answered_once(count: int) -> None:
    """Wherever bad rows stand, all other rows have their own answers, each once."""
    values, whole = {"q": np.arange(float(ROWS))}, np.ones(ROWS, dtype=bool)
    for bad in combinations(range(ROWS), count):
        found = solve_valid_rows(work_without({*bad}), values, whole)
        rows = np.concatenate([rows for rows, _ in found] or [np.zeros(0, dtype=int)])
        assert rows.tolist() == [row for row in range(ROWS) if row not in bad]
        for some, (array,) in found:
            assert array.values.tolist() == (some.astype(float) ** 2).tolist()


def test_rows_with_gaps_are_not_asked_about() -> None:
    """Rows that are not whole are left out before anything is computed."""
    values, whole = {"q": np.arange(float(ROWS))}, np.arange(ROWS) % 2 == 0
    ((rows, _),) = solve_valid_rows(work_without({1, 3}), values, whole)
    assert rows.tolist() == [0, 2, 4, 6]
    assert solve_valid_rows(work_without(set()), values, np.zeros(ROWS, dtype=bool)) == []


def test_wrong_usage_is_not_a_row_without_an_answer() -> None:
    """An error of the question itself is raised, whichever row meets it."""
    values, whole = {"q": np.arange(float(ROWS))}, np.ones(ROWS, dtype=bool)
    with pytest.raises(UsageError):
        solve_valid_rows(work_without({3}, UsageError), values, whole)
