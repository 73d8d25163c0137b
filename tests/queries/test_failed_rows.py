"""Failed rows do not remove the results of other rows."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from robolin.core.result import Array
from robolin.errors import RobolinError, UsageError
from robolin.queries.linear_model_answer import LinearModelTask, ModelArrays, solve_valid_rows
from robolin.queries.values import Values

ROWS = 7


def work_without(bad: set[int], kind: type[RobolinError] = RobolinError) -> LinearModelTask:
    """The square of every q; a call that contains a bad row fails completely."""

    def arrays(values: Values) -> ModelArrays:
        if bad & {*values["q"].astype(int).tolist()}:
            raise kind("no answer")
        return (Array("square", values["q"] ** 2, (), "1"),)

    spec: Any = SimpleNamespace(is_feasible=lambda values: np.ones(len(values["q"]), dtype=bool))
    return LinearModelTask(cast(Any, spec), arrays)


@pytest.mark.parametrize("count", range(ROWS + 1))
def test_every_other_row_is_computed_once(count: int) -> None:
    """At any position of bad rows, all other rows have their own results, each once."""
    values, valid = {"q": np.arange(float(ROWS))}, np.ones(ROWS, dtype=bool)
    for bad in combinations(range(ROWS), count):
        solved = solve_valid_rows(work_without({*bad}), values, valid)
        rows = np.concatenate([rows for rows, _ in solved] or [np.zeros(0, dtype=int)])
        assert rows.tolist() == [row for row in range(ROWS) if row not in bad]
        for some, (array,) in solved:
            assert array.values.tolist() == (some.astype(float) ** 2).tolist()


def test_nan_rows_are_not_computed() -> None:
    """Rows with NaN are left out before anything is computed."""
    values, valid = {"q": np.arange(float(ROWS))}, np.arange(ROWS) % 2 == 0
    ((rows, _),) = solve_valid_rows(work_without({1, 3}), values, valid)
    assert rows.tolist() == [0, 2, 4, 6]
    assert solve_valid_rows(work_without(set()), values, np.zeros(ROWS, dtype=bool)) == []


def test_wrong_usage_is_not_a_failed_row() -> None:
    """A usage error is raised, whichever row causes it."""
    values, valid = {"q": np.arange(float(ROWS))}, np.ones(ROWS, dtype=bool)
    with pytest.raises(UsageError):
        solve_valid_rows(work_without({3}, UsageError), values, valid)
