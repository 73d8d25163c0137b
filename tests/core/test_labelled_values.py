"""Labelled values are matched by name or rejected; never by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arrays import as_joint_array
from robolin.queries.states import States

polars = pytest.importorskip("polars")

ARM = robolin.load("two-link")
Q = np.array([0.3, -0.7])


class Series:
    """The part of the interface of pandas.Series that robolin uses."""

    def __init__(self, values: Any, index: Any) -> None:
        self.values, self.index = np.asarray(values), index

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values.tolist())

    def to_numpy(self) -> np.ndarray:
        return self.values


class DataFrame:
    """The part of the interface of pandas.DataFrame that robolin uses."""

    def __init__(self, values: Any, columns: Any) -> None:
        self.values, self.columns = np.asarray(values), columns
        self.index = range(len(self.values))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values

    def __getitem__(self, name: Any) -> Series:
        return Series(self.values[:, list(self.columns).index(name)], self.index)


class DataArray:
    """The part of the interface of xarray.DataArray that robolin uses."""

    def __init__(self, values: Any, dims: Any, coords: Any) -> None:
        self.values, self.dims = np.asarray(values), dims
        self.coords = {name: Series(np.array(labels), None) for name, labels in coords.items()}

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values


ROWS = np.array([[0.3, -0.7], [0.1, 0.2], [0.5, 0.6]])
BACK = ROWS[:, ::-1]
STRUCTURED = np.array(
    [tuple(row) for row in BACK.tolist()], dtype=[("elbow", float), ("shoulder", float)]
)
ONE = {
    "dict": {"elbow": -0.7, "shoulder": 0.3},
    "Series": Series([-0.7, 0.3], ["elbow", "shoulder"]),
    "Series of columns": Series([-0.7, 0.3], ["elbow/position", "shoulder/position"]),
    "Series without labels": Series([0.3, -0.7], range(2)),
    "polars Series": polars.Series("q", [0.3, -0.7]),
    "structured": STRUCTURED[0],
    "DataArray": DataArray([-0.7, 0.3], ("joint",), {"joint": ["elbow", "shoulder"]}),
    "DataArray without labels": DataArray([0.3, -0.7], ("joint",), {}),
}
MANY = {
    "dict": {"elbow": BACK[:, 0], "shoulder": BACK[:, 1]},
    "DataFrame": DataFrame(BACK, ["elbow", "shoulder"]),
    "DataFrame without labels": DataFrame(ROWS, range(2)),
    "polars": polars.DataFrame({"elbow": BACK[:, 0], "shoulder": BACK[:, 1]}),
    "polars columns": polars.DataFrame(
        {
            "time": [0.0, 1.0, 2.0],
            "elbow/velocity": [9.0, 9.0, 9.0],
            "elbow/position": BACK[:, 0],
            "shoulder/position": BACK[:, 1],
        }
    ),
    "polars without labels": polars.DataFrame(ROWS),
    "structured": STRUCTURED,
    "rows of dicts": [{"elbow": b, "shoulder": a} for a, b in ROWS.tolist()],
    "rows of Series": [Series(row, ["elbow", "shoulder"]) for row in BACK],
    "DataArray": DataArray(BACK, ("row", "joint"), {"joint": ["elbow", "shoulder"]}),
}


@pytest.mark.parametrize("value", ONE.values(), ids=ONE)
def test_one_state_is_matched_by_name(value: Any) -> None:
    """Torques do not depend on the order in which a labelled state lists its joints."""
    assert np.array_equal(robolin.inverse(ARM, value), robolin.inverse(ARM, Q))


@pytest.mark.parametrize("value", MANY.values(), ids=MANY)
def test_many_states_are_matched_by_name(value: Any) -> None:
    """Torques of a table do not depend on the order of its columns or on other columns."""
    assert np.array_equal(robolin.inverse(ARM, value), robolin.inverse(ARM, ROWS))


def test_joints_that_a_dict_leaves_out_are_zero() -> None:
    """A dict means what --q means."""
    assert np.array_equal(as_joint_array(ARM, "q", {"elbow": 0.3}), [0.0, 0.3])


WRONG = {
    "dict": ({"elbwo": 0.3}, "did you mean 'elbow'?"),
    "DataFrame": (DataFrame(ROWS, ["a", "b"]), "the labels are 'a', 'b'"),
    "missing": (DataFrame(ROWS, ["elbow", "b"]), "the labels are 'elbow', 'b'"),
    "numbers": (
        Series([1.0, 2.0], [1.5, 2.5]),
        "remove the labels",
    ),
    "reversed numbers": (
        Series([1.0, 2.0], [1, 0]),
        "remove the labels",
    ),
    "polars": (polars.DataFrame({"x": [1.0], "y": [2.0]}), "the labels are 'x', 'y'"),
    "twice": (DataFrame(ROWS, ["elbow", "elbow"]), "remove the repeated labels"),
    "both": (DataFrame(ROWS, ["elbow", "elbow/position"]), "remove the repeated labels"),
}


@pytest.mark.parametrize("value, hint", WRONG.values(), ids=WRONG)
def test_labels_that_do_not_fit_are_rejected(value: Any, hint: str) -> None:
    """Values with other labels are not matched by position."""
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.inverse(ARM, value)
    assert hint in caught.value.hint


def test_text_in_a_dict_is_rejected() -> None:
    """A dict of texts is rejected like an array of texts."""
    with pytest.raises(robolin.RobolinError, match="q: must be an array of real numbers, got text"):
        robolin.inverse(ARM, {"elbow": "0.3"})


def test_states_of_questions_are_matched_too() -> None:
    """A labelled state of a question is matched by name, a labelled table is rejected."""
    result = robolin.answer(ARM, robolin.Question("inverse"), States(q=ONE["Series"]))
    assert np.array_equal(result["tau"], robolin.inverse(ARM, Q))
    with pytest.raises(robolin.UsageError, match="labelled table"):
        States(q=MANY["polars"])
