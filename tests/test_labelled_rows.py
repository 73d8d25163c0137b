"""Labelled rows are matched by label or rejected; never by position."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import robolin
from tests.cases import in_groups
from tests.packages import needs

pandas, xarray = needs("pandas"), needs("xarray")

TREE, LOOP = robolin.load("two-link"), robolin.load("four-bar")
# functions of closed loops; q is then a closed state
OF_LOOPS = ("close", "close_change", "loop_joint_torques", "linearize_loops", "loop_constraints")
OF_LOOPS = (*OF_LOOPS, "loop_forces")
JOINT_VALUES = (
    *("q", "qd", "qdd", "tau", "dq", "dqd", "dqdd", "dtau", "delta", "q0", "q1"),
    *("nu", "epsilon", "xi", "kappa", "qdr", "qddr", "weights", "dcost_dq", "dcost_dqd", "time"),
)
# functions of one state, which has no rows
ONE_STATE = ("operators", "optimize", "trim")
# one value for all rows: there are no labels to compare
ONE_ROW = {("sensitivity", "dq"), ("sensitivity", "dqd"), ("simulate", "qdd")}
# further required arguments, and arguments that replace a value
TIMES = np.array([0.0, 0.1, 0.2])
MORE: dict[str, dict[str, Any]] = {
    "simulate": {"duration": 0.01, "dt": 0.01},
    "external_torque": {"time": TIMES},
}


def functions() -> Iterator[tuple[str, list[str]]]:
    """Every public function with several arguments that have rows, and their names."""
    for name in robolin.__all__:
        function = getattr(robolin, name)
        if not inspect.isfunction(function) or name in ONE_STATE:
            continue
        parameters = inspect.signature(function).parameters
        values = [each for each in JOINT_VALUES if each in parameters]
        if "arm" in parameters and len(values) > 1:
            yield name, values


def frame(arm: robolin.Arm, index: Any, numbers: Any = None) -> Any:
    values = np.zeros((len(index), arm.n)) if numbers is None else numbers
    return pandas.DataFrame(values, columns=list(arm.joint_names), index=index)


CASES = [
    (name, first, other)
    for name, values in functions()
    for first in values[:1]
    for other in values[1:]
    if (name, other) not in ONE_ROW
]


@in_groups("name,first,other", CASES)
def test_no_function_matches_labelled_rows_by_position(name: str, first: str, other: str) -> None:
    """Two tables whose rows have other labels are rejected by every public function."""
    function = getattr(robolin, name)
    arm = LOOP if name in OF_LOOPS else TREE
    rows = np.array([0, 1, 2])
    closed = robolin.close(LOOP, [0.5, 0, 0], hold="drive").q if name in OF_LOOPS else np.zeros(2)
    poses = np.tile(closed, (3, 1))
    arguments: dict[str, Any] = {**MORE.get(name, {}), first: frame(arm, rows, poses)}
    required = inspect.signature(function).parameters
    for each in ("q", "qd", "qdd", "tau", "q0", "nu", "xi", "qdr", "qddr", "weights"):
        if each in required and required[each].default is inspect.Parameter.empty:
            arguments.setdefault(each, poses if each in ("q", "q0") else np.zeros((3, arm.n)))
    if name in ("sensitivity", "sensitivity_matrices", "cost_gradient"):
        arguments.setdefault("time", TIMES)
        if other != "qdd":
            arguments["tau"] = np.zeros((3, arm.n))
    if other == "qdd" and "prescribe" in required:
        arguments["prescribe"] = "elbow"
    same, opposite = (
        pandas.Series(TIMES, index=index) if other == "time" else frame(arm, index)
        for index in (rows, rows[::-1])
    )
    with pytest.raises(robolin.RobolinError, match=r"row 1 is '0' in .* and '2' in ") as caught:
        function(arm, **{**arguments, other: opposite})
    assert ".loc[q.index]" in caught.value.hint
    # nothing but the order is wrong
    function(arm, **{**arguments, other: same})


def test_a_table_of_wrenches_has_the_rows_of_the_states() -> None:
    """Wrenches in loops are matched with states by their labels."""
    q = np.tile(robolin.close(LOOP, [0.5, 0, 0], hold="drive").q, (2, 1))
    wrench = pandas.DataFrame(np.zeros((2, 6)), index=["b", "a"])
    with pytest.raises(robolin.RobolinError, match="row 1 is 'a' in q and 'b' in wrench 'pin'"):
        robolin.loop_joint_torques(LOOP, frame(LOOP, ["a", "b"], q), {"pin": wrench})


CONTROLS: dict[str, Callable[[Any, Any], Any]] = {
    "ComputedTorque": lambda q, other: robolin.ComputedTorque(q=q, qd=other, time=TIMES),
    "PDControl": lambda q, other: robolin.PDControl(q=q, qd=other, kp=1.0, kd=1.0, time=TIMES),
    "time": lambda q, _: robolin.PDControl(
        q=q, kp=1.0, kd=1.0, time=pandas.Series(TIMES, index=[2, 1, 0])
    ),
}


@pytest.mark.parametrize("make", CONTROLS.values(), ids=CONTROLS)
def test_references_of_controllers_have_the_same_rows(make: Callable[[Any, Any], Any]) -> None:
    """A reference in tables of opposite order is rejected before the first step."""
    control = make(frame(TREE, [0, 1, 2]), frame(TREE, [2, 1, 0]))
    with pytest.raises(robolin.RobolinError, match="row 1 is"):
        robolin.simulate(TREE, [0.0, 0.0], duration=0.01, dt=0.01, control=control)


def test_a_table_of_torques_has_the_rows_of_its_times() -> None:
    """Torques are not taken in another order than their times."""
    table = robolin.TorqueTable(
        time=pandas.Series(TIMES, index=[2, 1, 0]), tau=frame(TREE, [0, 1, 2])
    )
    with pytest.raises(robolin.RobolinError, match="row 1 is"):
        robolin.simulate(TREE, [0.0, 0.0], duration=0.01, dt=0.01, tau=table)


def array(dims: tuple[str, ...], **coords: Any) -> Any:
    shape = [len(coords.get(dim, (0, 0))) for dim in dims[:-1]]
    joints = list(TREE.joint_names)
    values = np.zeros((*shape, 2))
    return xarray.DataArray(values, dims=dims, coords={**coords, dims[-1]: joints})


def labelled() -> dict[str, tuple[Any, Any]]:
    """Pairs of arrays whose rows have different labels."""
    return {
        "xarray, opposite order": (
            array(("t", "joint"), t=[0.0, 0.1]),
            array(("t", "joint"), t=[0.1, 0.0]),
        ),
        "xarray, other dimensions": (array(("t", "joint")), array(("run", "joint"))),
        "xarray, other order of dimensions": (
            array(("t", "run", "joint")),
            array(("run", "t", "joint")),
        ),
        "xarray and pandas": (array(("t", "joint"), t=[0, 1]), frame(TREE, [1, 0])),
        "dict of series": (
            {"shoulder": pandas.Series([0, 1], index=["a", "b"])},
            {"elbow": pandas.Series([0, 1], index=["b", "a"])},
        ),
        "columns without names": (
            pandas.DataFrame(np.zeros((2, 2)), index=[0, 1]),
            pandas.DataFrame(np.zeros((2, 2)), index=[1, 0]),
        ),
        "several levels": (
            frame(TREE, pandas.MultiIndex.from_tuples([(0, "a"), (0, "b")])),
            frame(TREE, pandas.MultiIndex.from_tuples([(0, "b"), (0, "a")])),
        ),
        "times": (
            frame(TREE, pandas.to_datetime(["2026-01-01", "2026-01-02"])),
            frame(TREE, pandas.to_datetime(["2026-01-02", "2026-01-01"])),
        ),
    }


def test_every_kind_of_label_is_compared() -> None:
    """Rows with different labels are rejected for every library."""
    for q, qd in labelled().values():
        with pytest.raises(robolin.RobolinError, match=r"row 1 is|has rows along"):
            robolin.inverse(TREE, q, qd)


def test_columns_of_a_dict_have_the_same_rows() -> None:
    """Within one dict, series of other rows are rejected too."""
    q = {
        "shoulder": pandas.Series([0, 1], index=["a", "b"]),
        "elbow": pandas.Series([0, 1], index=["b", "a"]),
    }
    with pytest.raises(robolin.RobolinError, match="of joint 'shoulder' and 'b' in q of joint"):
        robolin.inverse(TREE, q)


def fitting() -> dict[str, tuple[Any, Any]]:
    """Pairs of arrays whose rows have the same labels, or labels on one side only."""
    return {
        "same labels of other types": (frame(TREE, range(2)), frame(TREE, np.array([0.0, 1.0]))),
        "labels beside none": (frame(TREE, ["a", "b"]), np.zeros((2, 2))),
        "one row for all": (frame(TREE, ["a", "b"]), frame(TREE, ["c"])),
        "one state for all": (array(("t", "joint"), t=[0, 1]), pandas.Series([0.0, 0.0])),
        "more dimensions on the left": (array(("run", "t", "joint")), array(("t", "joint"))),
        "missing labels": (frame(TREE, [0.0, np.nan]), frame(TREE, [0.0, np.nan])),
    }


def test_rows_that_fit_are_accepted() -> None:
    """Equal labels, or labels on one side only, are accepted."""
    for kind, (q, qd) in fitting().items():
        tau = robolin.inverse(TREE, q, qd)
        assert np.array_equal(tau, np.broadcast_to(robolin.inverse(TREE, [0, 0]), tau.shape)), kind


def _timestamps(zone: str) -> Any:
    return pandas.to_datetime([0, 10**9], utc=True).tz_convert(zone)


def test_labels_that_are_equal_one_by_one_are_the_same() -> None:
    """Indices that pandas calls unequal may have the same labels in the same order."""
    pairs = {
        "time zones": (_timestamps("UTC"), _timestamps("Europe/Paris")),
        "kinds of integers": (pandas.Index([0, 1], dtype="Int64"), pandas.Index([0, 1])),
        "categories": tuple(
            pandas.CategoricalIndex(["a", "b"], ordered=ordered) for ordered in (True, False)
        ),
    }
    for kind, (first, other) in pairs.items():
        q, qd = frame(TREE, first), frame(TREE, other)
        assert robolin.inverse(TREE, q, qd).shape == (2, TREE.n), kind
        with pytest.raises(robolin.RobolinError, match=r"row 1 is"):
            robolin.inverse(TREE, q, qd.iloc[::-1])


def test_missing_labels_in_another_order_are_rejected() -> None:
    """pd.NA compares with nothing, and is the same as itself."""
    q = frame(TREE, pandas.Index([1, pandas.NA], dtype=object))
    assert robolin.inverse(TREE, q, q.copy()).shape == (2, TREE.n)
    with pytest.raises(robolin.RobolinError, match=r"row 1 is"):
        robolin.inverse(TREE, q, q.iloc[::-1])
