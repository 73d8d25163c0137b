"""Stored results in tests of your own, and a plugin for pytest that can renew them.

# conftest.py at the top, for `pytest --robolin-update`
pytest_plugins = ["robolin.testing"]

# test_arm.py
def test_holding_torque():
    arm = robolin.load("arm.urdf")
    assert_matches({"tau": robolin.inverse(arm, q)}, "stored/holding.npz", arm=arm)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.errors import UsageError
from robolin.output.result import Array, Reference, Result, whole
from robolin.storing.compare import Comparison, compared
from robolin.storing.outcome import compared_lines
from robolin.storing.stored import EXTENSIONS, open_stored
from robolin.storing.tolerance import ALL, Tolerance, Tolerances, tolerances_in

if TYPE_CHECKING:
    import pytest

    from robolin.arm import Arm
    from robolin.output.provenance import Entry

__all__ = ["assert_matches"]

# the verb of results that no command computed
PYTHON = "python"
_FLAG = "--robolin-update"

_session = {"update": False}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Give pytest the flag that renews stored results."""
    text = "store anew what assert_matches finds to differ; such tests fail once more"
    parser.getgroup("robolin").addoption(_FLAG, action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Remember whether stored results are to be renewed."""
    _session["update"] = bool(config.getoption(_FLAG))


def assert_matches(
    result: Any,
    path: str | Path,
    rtol: float | None = None,
    atol: float | None = None,
    *,
    arm: Arm | None = None,
    update: bool | None = None,
) -> None:
    """Fail unless a result is the stored one.

    result: what a function of robolin returned, or arrays by name
    path:   the stored result: .npz, .csv, .json or .parquet
    rtol:   how far a number may be off, as a share of the stored one; the stored tolerance if
            neither rtol nor atol is given, and the very number if there is none
    atol:   how far a number may be off, in its own unit
    arm:    names the joints in messages and tells what changed in the model
    update: store the result if it differs or was not stored yet, and fail all the same;
            by default what `pytest --robolin-update` says
    """
    __tracebackhide__ = True
    path, renew = Path(path), _session["update"] if update is None else update
    given = None if rtol is atol is None else Tolerances({ALL: Tolerance(rtol or 0, atol or 0)})
    if not path.exists():
        _require_extension(path)
        if not renew:
            message = (
                f"{path}: nothing is stored there; run pytest with {_FLAG} to store the result"
            )
            raise AssertionError(message)
        _store(_result(_arrays(result, {}), {}, arm), path, given)
        raise AssertionError(f"{path}: stored now; run again without {_FLAG}")

    with open_stored(path) as stored:
        known = {entry.name: entry for entry in stored.entries}
        tolerances = given or tolerances_in(stored.meta.get("tolerances", {}))
        now = _result(_arrays(result, known), known, arm, stored.meta)
        comparison = compared(whole(now), stored, tolerances)
        verb = stored.meta["verb"]
    if comparison.same:
        return
    if renew:
        if verb != PYTHON:
            hint = f"`robolin check {path} --update` asks its question again"
            raise UsageError(f"`robolin {verb}` computed it", where=str(path), hint=hint)
        _store(now, path, tolerances)
    raise AssertionError(_failure(path, comparison, renew))


def _failure(path: Path, comparison: Comparison, renewed: bool) -> str:
    end = f"stored anew; run again without {_FLAG}" if renewed else "differs from what is stored"
    return "\n".join([f"{path}: {end}", *(f"  {line}" for line in compared_lines(comparison))])


def _arrays(result: Any, known: Mapping[str, Entry]) -> dict[str, Any]:
    """The arrays of a result by their names."""
    if isinstance(result, Result):
        return dict(result.stored())
    if isinstance(result, Mapping):
        return dict(result)
    if is_dataclass(result) and not isinstance(result, type):
        return {field.name: getattr(result, field.name) for field in fields(result)}
    names = [name for name in known if name != "time"]
    if len(names) == 1:
        return {names[0]: result}
    hint = 'give it as {"tau": array}'
    raise UsageError("an array by itself has no name to be stored under", hint=hint)


def _result(
    arrays: Mapping[str, Any],
    known: Mapping[str, Entry],
    arm: Arm | None,
    meta: Mapping[str, Any] | None = None,
) -> Result:
    """The arrays with what is known about them, in the form of a verb's answer."""
    values = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    time = values.pop("time", None)
    meta = meta or {"verb": PYTHON, "joints": [], "options": {}, "inputs": {}, "contract": {}}
    return Result(
        verb=meta["verb"],
        arrays=tuple(_array(name, array, known, arm) for name, array in values.items()),
        joints=arm.joint_names if arm else tuple(meta["joints"]),
        contract=arm.contract if arm else meta["contract"],
        options=meta["options"],
        inputs=meta["inputs"],
        time=time,
        model=arm.figures if arm else None,
    )


def _array(name: str, values: Any, known: Mapping[str, Entry], arm: Arm | None) -> Array:
    """An array with names along its axes: the stored ones, the arm's, or numbers."""
    entry = known.get(name)
    if entry is not None and _fits(values, entry.labels):
        return entry.array(_rows(values, len(entry.labels)))
    if arm is not None and (named := _of_arm(name, values, arm)) is not None:
        return named
    labels = tuple(tuple(str(i + 1) for i in range(size)) for size in values.shape)
    return Array(name, values, labels, "")


def _of_arm(name: str, values: Any, arm: Arm) -> Array | None:
    from robolin.cli.answer import named_arrays
    from robolin.dynamics.catalogue import ALGORITHMS

    shapes = {key: shape for a in ALGORITHMS.values() for key, shape in a.gives.items()}
    if name not in shapes:
        return None
    rank = len(shapes[name])
    (array,) = named_arrays(arm, {name: shapes[name]}, {name: _rows(values, rank)})
    return array if _fits(values, array.labels) else None


def _fits(values: Any, labels: tuple[tuple[str, ...], ...]) -> bool:
    sizes = tuple(map(len, labels))
    return bool(values.shape[values.ndim - len(sizes) :] == sizes)


def _rows(values: Any, rank: int) -> Any:
    """All batch axes as one."""
    if values.ndim <= rank + 1:
        return values
    return values.reshape(-1, *values.shape[values.ndim - rank :])


def _store(result: Result, path: Path, close: Tolerances | None) -> None:
    from dataclasses import replace

    from robolin.output.write import FILE_WRITERS

    reference = Reference((close or Tolerances({})).plain(), {})
    path.parent.mkdir(parents=True, exist_ok=True)
    FILE_WRITERS[path.suffix.lower()[1:]](whole(replace(result, reference=reference)), path)


def _require_extension(path: Path) -> None:
    if path.suffix.lower() not in EXTENSIONS:
        hint = f"stored results end in {', '.join(EXTENSIONS)}"
        raise UsageError("the extension does not say what to store", where=str(path), hint=hint)
