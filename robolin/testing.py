"""Compare results with stored results in your tests; a pytest plugin updates stored results.

# conftest.py at the top, for `pytest --robolin-update`
pytest_plugins = ["robolin.testing"]

# test_arm.py
def test_holding_torque():
    arm = robolin.load("arm.urdf")
    assert_matches({"tau": robolin.inverse(arm, q)}, "stored/holding.npz", arm=arm)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.checking.check_results import record_result
from robolin.checking.compare import Comparison, compare_with_stored, question_changes
from robolin.checking.differences import ALL, Tolerance, Tolerances, tolerances_in
from robolin.checking.outcome import compared_lines
from robolin.core.arrays import Numbers
from robolin.core.quantity_table import unit_of
from robolin.core.result import Array, Reference, Result, stream_of_one_part
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS, extensions, format_named
from robolin.io.stored import open_stored
from robolin.queries.request import silent

if TYPE_CHECKING:
    import pytest

    from robolin.core.arm import Arm
    from robolin.io.provenance import ArrayMeta

__all__ = ["assert_matches"]

# command name of results computed by Python code
PYTHON = "python"
_FLAG = "--robolin-update"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_session = {"update": False}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the pytest flag that updates stored results."""
    text = "replace the stored results that differ; their tests fail in this run"
    parser.getgroup("robolin").addoption(_FLAG, action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Store whether the flag is set."""
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
    """Assert that a result equals the stored result.

    Args:
        result: the return value of a robolin function, or arrays by name; a `Result` of
            `robolin.answer` is stored with its command and options, so that `robolin check` can
            recompute the result
        path: the stored result: .npz, .csv, .json, .parquet or .mat
        rtol: relative tolerance; if neither rtol nor atol is set, the stored tolerances apply;
            without stored tolerances, results must be equal
        atol: absolute tolerance, in the unit of the array
        arm: the arm, for joint names in messages and to report changes of the model
        update: store a new or different result, and raise AssertionError (default: the flag `pytest
            --robolin-update`)

    Returns:
        None

    Raises:
        AssertionError: the result differs (with array, joints, row and size), or no result is
            stored
        RobolinError: the stored file cannot be read, the result cannot be stored, or it would
            overwrite the result of another command

    Example:
        >>> import robolin, robolin.testing
        >>> tau = robolin.inverse(robolin.load("two-link"), [0.3, -0.7])
        >>> robolin.testing.assert_matches({"tau": tau}, "tau.npz", update=True)
        Traceback (most recent call last):
        ...
        AssertionError: tau.npz: stored; run again without --robolin-update
        >>> robolin.testing.assert_matches({"tau": tau}, "tau.npz")
    """
    __tracebackhide__ = True
    path, update_stored = Path(path), _session["update"] if update is None else update
    bounds = None if rtol is atol is None else Tolerances({ALL: Tolerance(rtol or 0, atol or 0)})
    if not path.exists():
        _require_extension(path)
        if update_stored:
            _store_first(result, path, bounds, arm)
        raise AssertionError(
            f"{path}: stored; run again without {_FLAG}"
            if update_stored
            else f"{path}: no stored result; run pytest with {_FLAG} to store the result"
        )
    with open_stored(path) as stored:
        entries = {entry.name: entry for entry in stored.entries}
        tolerances = bounds or tolerances_in(stored.meta.get("tolerances", {}))
        verb = stored.meta["verb"]
        same_command = isinstance(result, Result) and verb == result.verb
        current = (
            result if same_command else _result(_arrays(result, entries), entries, arm, stored.meta)
        )
        comparison = compare_with_stored(stream_of_one_part(current), stored, tolerances)
    if comparison.same:
        return
    if update_stored and same_command:
        _require_same_question(path, list(question_changes(stored.meta, current)))
        record_result(current, path, tolerances, silent)
    elif update_stored:
        if verb != PYTHON:
            raise UsageError(
                f"the stored result is a result of `robolin {verb}`",
                where=str(path),
                hint=_again(path),
            )
        _store(current, path, tolerances)
    raise AssertionError(_failure(path, comparison, update_stored))


def _store_first(result: Any, path: Path, tolerances: Tolerances | None, arm: Arm | None) -> None:
    """Store a new result, with its question if it has one."""
    if isinstance(result, Result):
        path.parent.mkdir(parents=True, exist_ok=True)
        record_result(result, path, tolerances or Tolerances({}), silent)
    else:
        _store(_result(_arrays(result, {}), {}, arm), path, tolerances)


def _require_same_question(path: Path, changes: Sequence[str]) -> None:
    """Reject overwriting a question that may be recorded nowhere else."""
    if changes:
        message = f"the stored result has other options: {', '.join(changes)}"
        hint = f"{_again(path)}; remove the file to store this result instead"
        raise UsageError(message, where=str(path), hint=hint)


def _again(path: Path) -> str:
    return f"run `robolin check {path} --update` to compute the result again"


def _failure(path: Path, comparison: Comparison, updated: bool) -> str:
    end = f"updated; run again without {_FLAG}" if updated else "differs from the stored result"
    lines = compared_lines(comparison, rest="")
    return "\n".join([f"{path}: {end}", *(f"  {line}" for line in lines)])


def _arrays(result: Any, known: Mapping[str, ArrayMeta]) -> dict[str, Numbers]:
    """Return the arrays of a result by name."""
    if isinstance(result, Result):
        arrays: Mapping[str, Any] = dict(result.stored())
    elif isinstance(result, Mapping):
        arrays = result
    elif is_dataclass(result) and not isinstance(result, type):
        stored = [field.name for field in fields(result) if field.metadata.get("stored", True)]
        arrays = {name: getattr(result, name) for name in stored}
        # optional arrays that were not computed
        arrays = {name: value for name, value in arrays.items() if value is not None}
    else:
        names = [name for name in known if name != "time"]
        if len(names) != 1:
            hint = 'pass {"tau": array}'
            raise UsageError("every stored array must have a name", hint=hint)
        arrays = {names[0]: result}
    if not set(arrays) - {"time"}:
        raise UsageError(
            "no array to store", hint='pass at least one array, for example {"tau": array}'
        )
    return {name: _numbers(name, value) for name, value in arrays.items()}


def _numbers(name: str, value: Any) -> Numbers:
    if not _NAME.fullmatch(name):
        hint = "use ASCII letters, digits and _"
        raise UsageError(f"'{name}' is not a valid array name", hint=hint)
    values = np.asarray(value)
    if values.dtype.kind not in "biufc":
        hint = "pass only numeric arrays as {name: array}"
        raise UsageError(f"'{name}' must contain numbers", hint=hint)
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _result(
    arrays: Mapping[str, Numbers],
    known: Mapping[str, ArrayMeta],
    arm: Arm | None,
    meta: Mapping[str, Any] | None = None,
) -> Result:
    """Wrap arrays and their metadata as a `Result`."""
    meta = meta or {"verb": PYTHON, "joints": [], "options": {}, "inputs": {}, "contract": {}}
    named = {name: _named(name, values, known, arm) for name, values in arrays.items()}
    batch = _batch(arrays, named)
    placed = [_with_batch_axis(name, arrays[name], named[name], batch) for name in arrays]
    return Result(
        verb=meta["verb"],
        arrays=tuple(array for array in placed if array.name != "time"),
        joints=arm.joint_names if arm else tuple(meta["joints"]),
        contract=arm.contract if arm else meta["contract"],
        options=meta["options"],
        inputs=meta["inputs"],
        time=next((array.values for array in placed if array.name == "time"), None),
        model=arm.model_dict if arm else None,
    )


def _named(
    name: str, values: Numbers, known: Mapping[str, ArrayMeta], arm: Arm | None
) -> Array | None:
    """Label the axes of an array, as stored or as the arm defines them; None if neither fits."""
    if name == "time":
        return Array(name, values, (), unit_of("time", ()))
    entry = known.get(name)
    if entry is not None and _fits(values, entry.labels):
        return entry.array(values)
    return None if arm is None else _of_arm(name, values, arm)


def _of_arm(name: str, values: Numbers, arm: Arm) -> Array | None:
    from robolin.core.quantity_table import COLUMN_WORDS
    from robolin.dynamics.catalogue import ALGORITHMS
    from robolin.queries.values import axis_labels

    shapes = {key: shape for a in ALGORITHMS.values() for key, shape in a.gives.items()}
    labels = tuple(axis_labels(arm, axis) for axis in shapes.get(name, ()))
    if name not in shapes or not _fits(values, labels):
        return None
    unit = unit_of(name, [joint.kind for joint in arm.joints])
    return Array(name, values, labels, unit, COLUMN_WORDS.get(name))


def _batch(arrays: Mapping[str, Numbers], named: Mapping[str, Array | None]) -> tuple[int, ...]:
    """Return the common batch shape of the arrays with labelled axes."""
    shapes = [
        arrays[name].shape[: arrays[name].ndim - array.rank]
        for name, array in named.items()
        if array is not None
    ]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        listed = " and ".join(str(shape) for shape in dict.fromkeys(shapes) if shape)
        hint = "store arrays of different batches in separate files"
        raise UsageError(
            f"all arrays must have the same batch shape, got {listed}", hint=hint
        ) from error


def _with_batch_axis(
    name: str, values: Numbers, named: Array | None, batch: tuple[int, ...]
) -> Array:
    """Flatten the batch axes to one; number the other axes if they have no labels."""
    if named is None:
        own = values.shape[len(batch) :]
        if values.shape[: len(batch)] != batch:
            hint = "store the array in a separate file"
            message = (
                f"'{name}' must have batch shape {batch} like the other arrays, got {values.shape}"
            )
            raise UsageError(message, hint=hint)
        labels = tuple(tuple(str(i + 1) for i in range(size)) for size in own)
        named = Array(name, values, labels, "")
    if batch:
        own = tuple(map(len, named.labels))
        values = np.broadcast_to(values, (*batch, *own)).reshape(-1, *own)
    return replace(named, values=values)


def _fits(values: Numbers, labels: tuple[tuple[str, ...], ...]) -> bool:
    sizes = tuple(map(len, labels))
    return values.shape[max(values.ndim - len(sizes), 0) :] == sizes


def _store(result: Result, path: Path, close: Tolerances | None) -> None:
    form = format_named(path)
    holds = FORMATS[form]
    for name, values in result.stored():
        if (np.isnan(values).any() and not holds.holds_nan) or (
            np.isinf(values).any() and not holds.holds_infinity
        ):
            message = f"'{name}' has a number that {form.upper()} cannot represent"
            able = [n for n, each in FORMATS.items() if each.holds_nan and each.holds_infinity]
            raise UsageError(
                message, where=str(path), hint=f"store the result as {extensions(able)}"
            )
    reference = Reference((close or Tolerances({})).plain(), {})
    path.parent.mkdir(parents=True, exist_ok=True)
    holds.write(stream_of_one_part(replace(result, reference=reference)), path)


def _require_extension(path: Path) -> None:
    if format_named(path) not in FORMATS:
        hint = f"use one of {extensions(FORMATS, ', ')}"
        raise UsageError("unknown file extension", where=str(path), hint=hint)
