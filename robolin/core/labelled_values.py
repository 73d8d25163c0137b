"""Match labelled values (dicts, tables, series) to joints by name, never by position.

Objects of pandas, Polars, PyArrow and xarray are recognized by their attributes; none is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from robolin.core.quantity_table import QUANTITIES
from robolin.core.text import did_you_mean, quote_list
from robolin.errors import RobolinError

_ROWS_BY_LABEL = (
    "put the rows in the same order, for example with qd.loc[q.index], or remove the labels with "
    ".to_numpy() if the rows already correspond"
)
_ONE_LABEL = "remove the repeated labels: each joint needs one value"
_BARE = "remove the labels with .to_numpy() if the values are in joint order"


class AxisLabels(NamedTuple):
    """Name and labels of an axis before the joint axis; None where unknown."""

    axis: str | None
    labels: Any


def require_same_rows(
    values: Mapping[str, Any], *, vectors: Mapping[str, Any] | None = None
) -> None:
    """Reject values whose rows have different labels, because they would be matched by position.

    Values without labels match all others; so does a single row.

    Args:
        values: joint values (..., n) by name
        vectors: values with one number per row, such as the time, by name

    Raises:
        RobolinError: two values have different labels or dimensions along the same axis
    """
    seen: list[tuple[str, list[AxisLabels]]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            columns = ((f"{name} of joint '{joint}'", _axes(each)) for joint, each in value.items())
            seen += (column for column in columns if column[1])
        elif axes := _axes(value)[:-1]:
            seen.append((name, axes))
    seen += ((name, axes) for name, value in (vectors or {}).items() if (axes := _axes(value)))
    for (first, first_axes), (second, second_axes) in combinations(seen, 2):
        for one, other in zip(reversed(first_axes), reversed(second_axes), strict=False):
            _require_same_labels(first, one, second, other)


def _axes(value: Any) -> list[AxisLabels]:
    """Axes of a labelled value, in order; [] for other values."""
    if isinstance(value, (int, float, list, tuple, str)) or hasattr(value, "__array_interface__"):
        # numbers and NumPy arrays, recognized without importing NumPy
        return []
    if hasattr(value, "dims") and hasattr(value, "coords"):
        coords = value.coords
        return [AxisLabels(d, coords[d].values if d in coords else None) for d in value.dims]
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return []
    rows = AxisLabels(None, index)
    return [rows, AxisLabels(None, None)] if hasattr(value, "columns") else [rows]


def _require_same_labels(first: str, one: AxisLabels, second: str, other: AxisLabels) -> None:
    if one.axis and other.axis and one.axis != other.axis:
        message = f"{first} has rows along '{one.axis}', but {second} has rows along '{other.axis}'"
        raise RobolinError(message, hint=_ROWS_BY_LABEL)
    if one.labels is None or other.labels is None or one.labels is other.labels:
        return
    # a single row is broadcast; other lengths are reported later as a shape mismatch
    if len(one.labels) != len(other.labels) or _equal(one.labels, other.labels):
        return
    pairs = zip(list(one.labels), list(other.labels), strict=True)
    for row, (a, b) in enumerate(pairs, start=1):
        if not _same(a, b):
            message = f"row {row} is '{a}' in {first} and '{b}' in {second}"
            raise RobolinError(message, hint=_ROWS_BY_LABEL)


def _equal(one: Any, other: Any) -> bool:
    """True if the labels are equal in the same order; NaN equals NaN."""
    if hasattr(one, "equals") and type(one) is type(other):
        return bool(one.equals(other))
    return all(map(_same, list(one), list(other)))


def _same(a: Any, b: Any) -> bool:
    try:
        return a is b or bool(a == b or (a != a and b != b))
    except (TypeError, ValueError):
        # pd.NA, and labels that are arrays, are neither equal nor different
        return False


def labelled(name: str, value: Any) -> dict[str, Any] | None:
    """Values by label along the last axis; None for a value without labels."""
    if isinstance(value, Mapping):
        return dict(value)
    fields = getattr(getattr(value, "dtype", None), "names", None)
    if fields:
        return {field: value[field] for field in fields}
    if hasattr(value, "column_names"):
        return _named(name, value.column_names, lambda label: value.column(label).to_numpy())
    if hasattr(value, "columns"):
        return _named(name, value.columns, lambda label: value[label])
    if hasattr(value, "dims") and hasattr(value, "coords"):
        return _of_coordinates(name, value)
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return None
    numbers = list(value)
    return _named(name, index, lambda label: numbers[list(index).index(label)])


def _of_coordinates(name: str, value: Any) -> dict[str, Any] | None:
    last = value.dims[-1] if value.dims else None
    if last not in value.coords:
        return None
    labels = value.coords[last].values.tolist()
    return _named(name, labels, lambda label: value.values[..., labels.index(label)])


def _named(name: str, labels: Any, column: Any) -> dict[str, Any] | None:
    """Columns by label; None if the labels are only column numbers."""
    labels = list(labels)
    if labels in (list(range(len(labels))), [f"column_{i}" for i in range(len(labels))]):
        return None
    if not all(isinstance(label, str) for label in labels):
        message = f"{name}: labels must be joint names, got {labels[0]!r}"
        raise RobolinError(message, hint=_BARE)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise RobolinError(f"{name}: label '{twice}' occurs more than once", hint=_ONE_LABEL)
    return {label: column(label) for label in labels}


def in_joint_order(
    name: str, mapping: Mapping[str, Any], joints: Sequence[str], some: bool
) -> list[Any]:
    """Values in joint order, selected by joint name.

    The label of a joint is `elbow` or `elbow/position`.  With `some`, missing joints are 0 and
    unknown labels are rejected; without it, missing joints are rejected and unknown labels ignored.
    """
    known = QUANTITIES.get(name)
    word = known.column if known else None
    joint_by_label = {label: joint for joint in joints for label in (joint, f"{joint}/{word}")}
    matched: dict[str, Any] = {}
    for label, values in mapping.items():
        joint = joint_by_label.get(label)
        if joint in matched:
            raise RobolinError(f"{name}: joint '{joint}' occurs more than once", hint=_ONE_LABEL)
        if joint is not None:
            matched[joint] = values
        elif some:
            hint = did_you_mean(str(label), joints)
            raise RobolinError(f"{name}: unknown joint '{label}'", hint=hint)
    missing = [joint for joint in joints if joint not in matched]
    if missing and not some:
        message = f"{name}: no label for joint {quote_list(missing)}"
        raise RobolinError(message, hint=f"the labels are {quote_list(list(mapping))}; {_BARE}")
    return [matched.get(joint, 0.0) for joint in joints]


def described_values(value: Any, dtype: Any) -> tuple[str, str]:
    """Plain words for values that are not real numbers, and a hint; '' without one."""
    if isinstance(value, str):
        return "text", "pass numbers in rad or m, such as numpy.radians(30)"
    if value is None:
        return "None", "pass numbers, or 0 for zero values"
    if isinstance(value, set | frozenset):
        return "a set", "pass a list or an array: a set has no order"
    if dtype.kind in "US":
        return "text", "convert the text to numbers: numpy.asarray(values, dtype=float)"
    if dtype.kind == "O" and isinstance(value, Sequence) and any(v is None for v in value):
        return "None among the values", "replace None by a number"
    return f"type {dtype}", ""
