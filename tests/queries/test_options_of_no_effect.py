"""An option without effect is rejected in Python, as on the command line."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from tests.cases import for_each

ARM = robolin.load("two-link")
TIMES = np.arange(3) * 0.1
# arguments that have no default, by name; of one state, or of a motion
GIVEN: dict[str, Any] = {
    "arm": ARM,
    "q": [0.1, 0.2],
    "nu": [0.1, 0.2],
    "xi": [0.1, 0.2],
    "time": TIMES,
    "qd": [0.0, 0.0],
    "qdr": [0.0, 0.0],
    "qddr": [0.0, 0.0],
    "dcost_dtau": 0.0,
    "tau": [0.0, 0.0],
}
SOLVING = [
    name
    for name in robolin.__all__
    if inspect.isfunction(function := getattr(robolin, name))
    and "loop_method" in inspect.signature(function).parameters
]


def _call(name: str, **more: object) -> object:
    function = getattr(robolin, name)
    parameters = inspect.signature(function).parameters
    needed = {key for key, each in parameters.items() if each.default is inspect.Parameter.empty}
    arguments = {key: GIVEN[key] for key in needed}
    if "time" in needed:
        arguments |= {"q": np.zeros((3, 2)), "qd": np.zeros((3, 2)), "tau": np.zeros((3, 2))}
        arguments = {key: value for key, value in arguments.items() if key in parameters}
    return function(**arguments, **more)


@for_each("name", SOLVING)
def test_ways_to_solve_loops_need_loops(name: str) -> None:
    """On an arm without closed loops, every function rejects a loop method."""
    with pytest.raises(robolin.RobolinError, match="no closed loops"):
        _call(name, loop_method="kkt")


def test_other_options_of_no_effect(tmp_path: Path) -> None:
    """A discretization without dt, and a frame for a quantity without one, are rejected."""
    with pytest.raises(robolin.UsageError, match="no effect without dt"):
        robolin.state_space(ARM, 0.0, method="tustin")
    for more in ({"frame": "lower"}, {"point": (0.0, 0.0, 1.0)}):
        with pytest.raises(robolin.UsageError, match="'inverse' does not use a frame"):
            robolin.generate(ARM, ["inverse"], tmp_path / "program", **more)
    assert not (tmp_path / "program").exists()
