"""Errors can be pickled, also those that contain several others."""

from __future__ import annotations

import copy
import importlib
import multiprocessing
import pickle
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import robolin
from robolin.description.model import Finding, SourceLocation
from robolin.errors import FileError, RobolinError, SeveralErrors, UsageError

FIRST = UsageError("no such joint", where="--q", hint="did you mean 'elbow'?")
SECOND = FileError("no such file", where="a.urdf")
BAD = '<robot name="a"><link/><link/><joint/></robot>'


def _kinds(base: type[BaseException]) -> Iterator[type[BaseException]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("robolin."):
            yield kind
        yield from _kinds(kind)


def _all_kinds() -> list[type[BaseException]]:
    """Every class of exception that any module of the package defines."""
    # robolin.torch and robolin.jax define no errors, and require PyTorch and JAX
    others = ("robolin.__main__", "robolin.torch", "robolin.jax")
    for module in pkgutil.walk_packages(robolin.__path__, "robolin.", onerror=lambda _: None):
        if not module.name.startswith(others) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return sorted(set(_kinds(BaseException)), key=lambda kind: kind.__qualname__)


def _example(kind: type[BaseException]) -> BaseException:
    if kind is SeveralErrors:
        return SeveralErrors([FIRST, SECOND])
    if issubclass(kind, RobolinError):
        return kind("what", where="where", hint="hint")
    return kind(Finding("id", "error", SourceLocation("a.urdf", 3), "message"))


def test_every_error_survives_a_pickle() -> None:
    """An error keeps all its parts through a pickle or a copy."""
    pytest.importorskip("matplotlib", reason="a module has a class of its own for figures")
    kinds = _all_kinds()
    assert {RobolinError, SeveralErrors, UsageError, FileError} <= set(kinds)
    for kind in kinds:
        error = _example(kind)
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert type(again) is kind
            assert str(again) == str(error)
            assert vars(again).keys() == vars(error).keys()
            if isinstance(error, RobolinError):
                assert [(type(p), str(p)) for p in again.parts] == [
                    (type(p), str(p)) for p in error.parts
                ]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_pool_over_a_bad_file_returns(tmp_path: Path, method: str) -> None:
    """All problems that a pool worker finds in a file reach the calling process."""
    path = tmp_path / "bad.urdf"
    path.write_text(BAD)
    with multiprocessing.get_context(method).Pool(1) as pool:
        waiting = pool.map_async(robolin.load, [str(path)])
        with pytest.raises(SeveralErrors) as caught:
            waiting.get(timeout=60)
    with pytest.raises(SeveralErrors) as here:
        robolin.load(str(path))
    assert str(caught.value) == str(here.value)
    assert len(caught.value.parts) > 1


def test_unknown_attributes_name_longer_functions() -> None:
    """The first word of several functions lists them."""
    with pytest.raises(AttributeError, match=r"use linearize_forward, linearize_inverse"):
        robolin.linearize  # noqa: B018
    with pytest.raises(AttributeError, match=r"; use robolin.state_space\(arm, q\).poles\(\)$"):
        robolin.poles  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        robolin.nothing  # noqa: B018


def test_hints_for_text_and_regulators_can_be_followed() -> None:
    """The hint names a pose of the arm or numbers, and the control law of a regulator."""
    arm = robolin.load("acrobot")
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.inverse(arm, q="30deg")
    assert caught.value.hint == "pass numbers in rad or m, such as numpy.radians(30)"
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.inverse(arm, q="upright")
    assert caught.value.hint == 'pass arm.poses["upright"] for a named pose'
    pose = arm.poses["upright"]
    regulator = robolin.lqr(robolin.state_space(arm, pose))
    with pytest.raises(robolin.UsageError) as caught:
        robolin.simulate(arm, pose, duration=0.1, control=regulator)
    assert caught.value.hint == "use control=regulator.feedback()"
