"""Arguments of a wrong type raise robolin's errors, in every parameter of every public function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from inspect import Parameter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.errors import RobolinError
from tests.packages import optional

torch, jax = optional("torch"), optional("jax")

VALUES: tuple[Any, ...] = (3, "x", None, object(), [], {}, ["x"], [None], {"x": "x"}, -1.5, True)
TIME = np.linspace(0.0, 0.5, 6)
MOTION = np.stack([np.sin(TIME), np.cos(TIME)], axis=1)
RATES = np.stack([np.cos(TIME), -np.sin(TIME)], axis=1)
Q = [0.3, -0.7]
# functions that take more than 0.3 s
SLOW = ("identify", "optimize", "report", "verify")


def _calls(folder: Path) -> dict[str, dict[str, Any]]:
    """Arguments of a valid call of every public function that needs more than an arm and q."""
    arm = robolin.load("two-link")
    looped = robolin.load("four-bar")
    closed = {"arm": looped, "q": robolin.close(looped, [0.5, 0, 0], hold=looped.joint_names[0]).q}
    times = np.linspace(0.0, 2.0, 60)[:, None]
    swing, rate = np.sin(times * [3.0, 5.0]), np.cos(times * [3.0, 5.0]) * [3.0, 5.0]
    model = robolin.state_space(arm, Q)
    result = robolin.answer(arm, "inverse", robolin.States(q=Q))
    stored = str(folder / "stored.npz")
    robolin.record(result, stored)
    effort = 1.1 * robolin.inverse(arm, swing, rate, -swing * [9.0, 25.0])
    recorded = robolin.Recording(times[:, 0], swing, effort, rate, -swing * [9.0, 25.0])
    motion = {"time": TIME, "q": MOTION, "qd": RATES}
    row = {"q": Q, "qd": Q, "qdd": Q}
    goal = robolin.PoseGoal("tip", [1.0, 0.5, 0.0])
    return {
        "answer": {"question": "inverse", "states": robolin.States(q=Q)},
        "answer_stream": {"question": "inverse", "states": robolin.States(q=Q)},
        "casadi_function": {"verb": "inverse"},
        "check": {"path": stored},
        "close": closed,
        "close_change": closed,
        "compile": {"verb": "inverse"},
        "coriolis_matrix": {"q": Q, "qd": Q},
        "cost_gradient": {**motion, "tau": MOTION},
        "difference": {"q0": Q, "q1": Q},
        "excite": {"duration": 0.5, "iterations": 1, "dt": 0.05, "max_velocity": 2.0}
        | {"max_acceleration": 5.0},
        "external_torque": {**motion, "tau": MOTION},
        "generate": {"verbs": ["inverse"], "folder": str(folder / "code")},
        "geometry_names": {},
        "gradient_forward": {"q": Q, "weights": Q},
        "gradient_inverse": {"q": Q, "weights": Q},
        "hessian_forward": {"q": Q, "weights": Q},
        "hessian_inverse": {"q": Q, "weights": Q},
        "hessian_vector_forward": {"q": Q, "weights": Q},
        "hessian_vector_inverse": {"q": Q, "weights": Q},
        "identifiable": {"q": MOTION, "qd": RATES, "qdd": MOTION},
        "identify": {"recordings": [recorded], "what": "friction"},
        "ik": {"goal": goal, "starts": 2},
        "integrate": {"q": Q, "delta": Q},
        "kalman": {"model": model},
        "kinematic_block": {"qd": Q},
        "linearize_loops": closed,
        "load": {"source": "two-link"},
        "loop_constraints": closed,
        "loop_forces": closed,
        "loop_joint_torques": {**closed, "wrenches": {}},
        "lqr": {"model": model},
        "native_kernel": {"verb": "inverse"},
        "optimize": {"goal": [0.1, 0.1], "q": [0, 0], "duration": 0.2, "dt": 0.05, "iterations": 5},
        "parameter_names": {},
        "place_poles": {"model": model, "poles": [-1.0, -2.0, -3.0, -4.0]},
        "read_result": {"path": stored},
        "receding": {"goal": [0.1, 0.1], "horizon": 0.1, "dt": 0.05},
        "record": {"result": result, "path": str(folder / "again.npz")},
        "recording_paths": {"source": stored},
        "report": {"states": robolin.States(q=Q), "verify_states": 1},
        "residuals": {**row, "tau": Q},
        "retime": {"q": MOTION, "max_velocity": 1.0, "max_acceleration": 1.0},
        "sensitivity": {**motion, "tau": MOTION},
        "sensitivity_matrices": {**motion, "tau": MOTION},
        "simulate": {"q": Q, "duration": 0.02, "dt": 0.01},
        "slotine_li_regressor": {"q": Q, "qd": Q, "qdr": Q, "qddr": Q},
        "sweep": {"question": "inverse", "states": robolin.States(q=Q), "payload": ("tip", [0, 1])},
        "tvlqr": {"model": robolin.state_space(arm, MOTION), "dt": 0.1},
        "tvlqr_blocks": {"blocks": [robolin.state_space(arm, MOTION)], "dt": 0.1},
        "undiagonalize": {"q": Q, "nu": Q},
        "undiagonalize_unnormalized": {"q": Q, "xi": Q},
        "verify": {"samples": 1},
        "write": {"result": result, "path": str(folder / "written.npz")},
        "ComputedTorque": {"q": Q},
        "FeedbackControl": {"K": np.zeros((2, 4)), "q": Q},
        "MomentumObserver": {"arm": arm, "dt": 0.01},
        "PDControl": {"q": Q},
        "PoseControl": {"frame": "tip", "position": [1, 0, 0]},
        "PoseGoal": {"frame": "tip", "position": [1, 0, 0]},
        "Push": {"tau": Q},
        "Question": {"verb": "inverse"},
        "RateControl": {},
        "Recording": {"time": TIME, "q": MOTION, "tau": MOTION},
        "States": {"q": Q},
        "TorqueTable": {"time": TIME, "tau": MOTION},
    }


def _public_functions() -> Iterator[str]:
    """The names of all public functions, except the reader of another library's objects."""
    for name in robolin.__all__:
        if inspect.isfunction(getattr(robolin, name)) and name != "from_urdfpy":
            yield name


def _run(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    result = function(**arguments)
    if isinstance(result, Iterator):
        list(result)
    elif isinstance(result, AbstractContextManager):
        with result as stream:
            list(stream.parts)


def _run_with(
    function: Callable[..., Any], arguments: Mapping[str, Any], name: str, value: Any
) -> None:
    _run(function, {**arguments, name: value})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_arguments_of_a_wrong_type_are_robolins_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of a wrong type in any parameter gives an error of robolin, or a result."""
    monkeypatch.chdir(tmp_path)
    calls, foreign = _calls(tmp_path), []
    for name in dict.fromkeys((*_public_functions(), *calls)):
        function = getattr(robolin, name)
        parameters = inspect.signature(function).parameters
        valid = dict(calls.get(name, {"q": Q}))
        if "arm" in parameters:
            valid.setdefault("arm", robolin.load("two-link"))
        _run(function, valid)
        for parameter, value in product(parameters, VALUES[: 6 if name in SLOW else None]):
            if parameters[parameter].kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL):
                continue
            try:
                _run(function, {**valid, parameter: value})
            except RobolinError:
                pass
            except Exception as error:
                call = f"{name}({parameter}={value!r:.20})"
                foreign.append(f"{call}: {type(error).__name__}: {error}")
    assert not foreign, "\n".join(foreign)


# annotations of arguments that are arrays
ARRAYS = ("JointValues", "ArrayLike", "Weight")
# accelerations that are an alternative to the torques of a valid call
ALTERNATIVES = {"qdd": "tau"}
# arguments that need other options, and weights that are numbers or mappings
OTHER_ARGUMENTS = {
    *(("forward", "qdd"), ("linearize_forward", "qdd"), ("sweep", "friction_velocity")),
    *(("optimize", "Q"), ("optimize", "R"), ("receding", "Q"), ("receding", "R")),
}


def _tensors(values: Any) -> Iterator[tuple[str, Callable[[Callable[[Any], None]], None]]]:
    """Messages about tensors, and functions that run a call with one."""
    numbers = np.asarray(values, dtype=float)
    if torch is not None:
        for gradient in (False, True):
            tensor = torch.tensor(numbers, requires_grad=gradient)
            yield "got a PyTorch tensor", lambda call, tensor=tensor: call(tensor)
    if jax is not None:
        # tracing starts in the call
        yield "got a traced JAX array", lambda call: jax.make_jaxpr(call)(numbers)


@pytest.mark.slow
@pytest.mark.skipif(torch is None and jax is None, reason="neither PyTorch nor JAX is installed")
@pytest.mark.filterwarnings("ignore")
def test_tensors_get_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor or a traced array in any array of a public function names the module to use."""
    monkeypatch.chdir(tmp_path)
    calls, silent, tried = _calls(tmp_path), [], 0
    for name in _public_functions():
        function = getattr(robolin, name)
        parameters = inspect.signature(function).parameters
        valid = dict(calls.get(name, {"q": Q}))
        if "arm" in parameters:
            valid.setdefault("arm", robolin.load("two-link"))
        for parameter, described in parameters.items():
            if not any(word in str(described.annotation) for word in ARRAYS):
                continue
            if (name, parameter) in OTHER_ARGUMENTS or "Mapping" in str(described.annotation):
                continue
            base = dict(valid)
            if parameter not in base:
                base.pop(ALTERNATIVES.get(parameter, ""), None)
            values = base.get(parameter, Q)
            for message, run in _tensors(Q if isinstance(values, robolin.PoseGoal) else values):
                tried += 1
                try:
                    run(partial(_run_with, function, base, parameter))
                except RobolinError as error:
                    hinted = message in str(error) and "robolin." in str(error.hint)
                    outcome = "" if hinted else str(error)
                except Exception as error:
                    outcome = f"{type(error).__name__}: {error}"
                else:
                    outcome = "no error"
                if outcome:
                    silent.append(f"{name}({parameter}={message[4:]}): {outcome:.100}")
    assert tried > 100
    assert not silent, "\n".join(silent)
