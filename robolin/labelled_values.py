"""Values that come with names, as dicts, tables and series have them: matched, never counted off.

Pandas, Polars, PyArrow and xarray are known by what their objects can do; none is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robolin.errors import RobolinError
from robolin.quantities.quantity_table import QUANTITIES
from robolin.wording import did_you_mean, quoted

_BARE = "leave the labels out (.to_numpy()) if the values are in the order of the joints"


def labelled(name: str, value: Any) -> dict[str, Any] | None:
    """What each label along the last axis stands for; None where nothing has a name."""
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
    """Columns by label, unless the labels only count."""
    labels = list(labels)
    if labels in (list(range(len(labels))), [f"column_{i}" for i in range(len(labels))]):
        return None
    if not all(isinstance(label, str) for label in labels):
        message = f"{name} has labels that are no names of joints, such as {labels[0]!r}"
        raise RobolinError(message, hint=_BARE)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise RobolinError(f"{name} has the label '{twice}' more than once", hint="keep one")
    return {label: column(label) for label in labels}


def in_joint_order(
    name: str, given: Mapping[str, Any], joints: Sequence[str], some: bool
) -> list[Any]:
    """The values of the joints, in their order, found by their names.

    A joint is `elbow` or `elbow/position`.  With `some`, joints may be left out, which are then 0
    as on the command line, and no other label may be there; without, it is the other way round.
    """
    known = QUANTITIES.get(name)
    word = known.column if known else None
    places = {label: joint for joint in joints for label in (joint, f"{joint}/{word}")}
    found: dict[str, Any] = {}
    for label, values in given.items():
        joint = places.get(label)
        if joint in found:
            raise RobolinError(f"{name} has joint '{joint}' more than once", hint="keep one")
        if joint is not None:
            found[joint] = values
        elif some:
            hint = did_you_mean(str(label), joints)
            raise RobolinError(f"{name} names '{label}', which is no joint here", hint=hint)
    missing = [joint for joint in joints if joint not in found]
    if missing and not some:
        message = f"{name} has labels, but none is joint {quoted(missing)}"
        raise RobolinError(message, hint=f"its labels are {quoted(list(given))}; {_BARE}")
    return [found.get(joint, 0.0) for joint in joints]
