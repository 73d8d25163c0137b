"""Type checkers see arrays as results, and reject unknown names."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import pytest

import robolin
from robolin.checking import compare
from robolin.core import arrays
from robolin.engine.compiled.native import NativeKernel
from tools.markdown import ROOT

PROGRAM = """\
import numpy as np
import robolin

arm = robolin.load("panda", gravity=0)
q = np.zeros((10, arm.n))
reveal_type(arm)
reveal_type(robolin.inverse(arm, q, qdd=1.0, engine="compiled", jobs=2))
reveal_type(robolin.linearize_forward(arm, q).dqdd_dq)
reveal_type(robolin.jacobian(arm, q, frame="panda_hand").position)
reveal_type(robolin.simulate(arm, q, duration=1.0).q)
reveal_type(robolin.loop_forces(arm, q).lam)
reveal_type(robolin.difference(arm, q, q))
reveal_type(robolin.state_space(arm, q).A)
reveal_type(robolin.lqr(robolin.state_space(arm, q)).K)
reveal_type(robolin.state_space(arm, q).poles().damping)
reveal_type(robolin.state_space(arm, q).poles().values)
reveal_type(robolin.read_result("x.npz").arrays["tau"])
reveal_type(robolin.forward(arm, {"panda_joint4": -2.0}, [{"panda_joint1": 0.1}], q))
robolin.state_space(arm, {"panda_joint4": -2.0})
robolin.simulate(arm, {"panda_joint4": -2.0}, duration=1.0, tau={"panda_joint1": 0.1})
robolin.difference(arm, {"panda_joint4": -2.0}, q)
robolin.inverse(arm, q, engine="quick")
robolin.load("panda", gravty=0)
"""


# plain JSON data, and objects of other libraries without types
UNTYPED = {
    *("Arm.contract", "Arm.model_dict", "Arm.loaded_with", "States.options", "States.recording"),
    *("Result.contract", "Result.options", "Result.model", "Result.to_dict", "Result.to_pandas"),
    *("StoredResult.meta", "StoredResult.to_pandas"),
    *("StateSpace.to_control", "StateSpace.to_scipy", "casadi_function"),
}


# at run time these names are Any, because NumPy is imported on first use
ARRAY_TYPES = {
    "Floats": npt.NDArray[np.float64],
    "Integers": npt.NDArray[np.int64],
    "Numbers": npt.NDArray[Any],
    "Complexes": npt.NDArray[np.complex128],
    "Indices": npt.NDArray[np.intp],
    "Mask": npt.NDArray[np.bool_],
    "Texts": npt.NDArray[np.str_],
    "Arrays": dict[str, np.ndarray],
    "ArrayLike": npt.ArrayLike,
    "JointValues": npt.ArrayLike | Mapping[str, npt.ArrayLike],
}


def test_no_public_result_is_any() -> None:
    """Results of functions, methods and fields have types, including models of `control`."""
    names = {name: getattr(robolin, name) for name in robolin.__all__}
    # names imported for type checkers only; classes of other libraries count as object
    others = {"DataFrame": object, "Figure": object, "NativeKernel": NativeKernel}
    known = {**vars(arrays), **vars(compare), **names, **others, **ARRAY_TYPES}
    hints = {}
    for name, each in names.items():
        hints |= _given(name, each, known)

    assert {path for path, hint in hints.items() if _has_any(hint)} == UNTYPED
    for path in ("StateSpace.A", "Poles.values", "Regulator.K", "Trim.q", "StateSpace.gramian"):
        assert get_origin(hints[path]) is np.ndarray, path


def test_no_public_argument_is_any() -> None:
    """Arguments of functions and methods have types, except objects of untyped libraries."""
    untyped = set()
    for name in robolin.__all__:
        public = getattr(robolin, name)
        members = vars(public).items() if inspect.isclass(public) else [(name, public)]
        for key, member in members:
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function) and (key == "__init__" or not key.startswith("_")):
                taken = inspect.signature(function).parameters.values()
                untyped |= {f"{name}.{each.name}" for each in taken if each.annotation == "Any"}

    assert untyped == {"from_urdfpy.urdf"}


def _given(name: str, public: Any, known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every result by its name, with its type."""
    if inspect.isfunction(public):
        yield name, get_type_hints(public, localns=known)["return"]
    if not inspect.isclass(public):
        return
    for key, member in vars(public).items():
        function = getattr(member, "fget", None) or getattr(member, "func", member)
        if inspect.isfunction(function) and not key.startswith("_"):
            yield f"{name}.{key}", get_type_hints(function, localns=known)["return"]
    if is_dataclass(public):
        hints = get_type_hints(public, localns=known)
        yield from ((f"{name}.{each.name}", hints[each.name]) for each in fields(public))


def _has_any(hint: Any) -> bool:
    """Return whether a type is Any or contains Any."""
    several = (Union, UnionType, tuple, list, dict, Mapping, Iterator)
    return hint is Any or (get_origin(hint) in several and any(map(_has_any, get_args(hint))))


@pytest.mark.slow
def test_results_are_typed_as_arrays(tmp_path: Path) -> None:
    """Under mypy --strict a program sees arrays, not Any, and misspelt words are errors."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)]
    # the cache of mypy on the sources: a first run takes 15 s, later runs half a second
    cache = ROOT / ".mypy_cache"
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    done = subprocess.run(
        [*command, *config], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    messages = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if "program.py" in line]
    revealed = [line for line in messages if "Revealed type" in line]
    errors = [line for line in messages if line.startswith("error")]

    assert len(revealed) == 13
    assert "robolin.core.arm.Arm" in revealed[0]
    for line in revealed[1:]:
        assert "numpy.ndarray[" in line, line
        assert "float64" in line or "floating" in line or line in revealed[10:], line
    assert "complex128" in revealed[10]
    assert len(errors) == 2, done.stdout
    assert "quick" in errors[0]
    assert "Never" in errors[1]


def test_the_marker_for_type_checkers_is_shipped() -> None:
    """The marker file for types exists inside the package folder of the wheel."""
    assert (ROOT / "robolin" / "py.typed").is_file()
    assert 'packages = ["robolin"]' in (ROOT / "pyproject.toml").read_text("utf-8")
