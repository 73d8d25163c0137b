"""A stored model in MATLAB's own words: names along axes, Ts, Offsets and SamplingGrid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robolin.core.results.result import Result

# MATLAB's words for the names along an axis
MATLAB_NAME_FIELDS = {"state": "StateName", "input": "InputName", "output": "OutputName"}
USUAL_METHOD = "zoh"


def model_words(part: Result, variables: Mapping[str, Any], rows: int | None) -> dict[str, Any]:
    """What a MAT-file has besides the arrays, whose rows are their last axis."""
    found: dict[str, Any] = {"JointName": list(part.joints)}
    for array in part.arrays:
        for axis, labels in enumerate(array.labels):
            if array.axis_kind(axis) in MATLAB_NAME_FIELDS:
                found[MATLAB_NAME_FIELDS[array.axis_kind(axis)]] = list(labels)
    if "StateName" not in found:
        return found
    found["Ts"] = float(part.options.get("dt", 0.0))
    method = str(part.options.get("discretize", USUAL_METHOD)) if found["Ts"] else ""
    found |= discretization(found["Ts"], method) | sampling_grid(rows, variables.get("time"))
    if {"drift", "y", "q", "qd", "tau"} <= set(variables) and "basis" not in variables:
        found["Offsets"] = _offsets(part, variables, found["InputName"])
    return found


def discretization(dt: float, method: str) -> dict[str, Any]:
    """How a model was made discrete; nothing for a continuous one."""
    return {"Discretization": {"method": method, "dt": dt}} if dt else {}


def sampling_grid(rows: int | None, time: Any = None) -> dict[str, Any]:
    """Where each model of an array of them belongs, as `sys.SamplingGrid` takes it."""
    if rows is None:
        return {}
    grid = {"row": np.arange(1.0, rows + 1.0)}
    if time is not None:
        grid["time"] = np.asarray(time, dtype=float).reshape(-1)
    return {"SamplingGrid": grid}


def _offsets(part: Result, variables: Mapping[str, Any], inputs: list[str]) -> dict[str, Any]:
    """The operating point: dx, x, u and y, as `sys.Offsets` takes them."""
    driven = [part.joints.index(name.removesuffix("/effort")) for name in inputs]
    return {
        "dx": variables["drift"],
        "x": np.concatenate([variables["q"], variables["qd"]], axis=0),
        "u": variables["tau"][driven],
        "y": variables["y"],
    }
