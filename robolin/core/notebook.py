"""Short text and HTML representations of results: names and shapes instead of long arrays."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from inspect import cleandoc
from typing import Any

from robolin.core.text import printable

# longest text in characters that is shown in full
_SHORT = 40
# arrays up to this size are shown number by number in a notebook
_FEW_NUMBERS = 200
# values below this fraction of the largest are rounding
_NOISE = 1e-15
ROUNDED_ZERO = "~0"


class DisplayMixin:
    """Dataclass mixin: one-line repr, HTML table in notebooks, conversion to a dict, equality.

    Subclasses are dataclasses with `eq=False, repr=False`, so that these methods are not replaced.
    Two objects are equal if they have the same type and equal fields; NaN equals NaN.
    """

    def __repr__(self) -> str:
        texts = (f"{name} {in_short(value)}" for name, value in _fields_set(self).items())
        return f"<{type(self).__name__}: {', '.join(texts)}>"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        compared = [each.name for each in fields(self) if each.compare]  # type: ignore[arg-type]
        return all(equal_values(getattr(self, name), getattr(other, name)) for name in compared)

    def __hash__(self) -> int:
        """Hash of the type and the array shapes: equal objects have equal hashes."""
        values = [getattr(self, each.name) for each in fields(self) if each.compare]  # type: ignore[arg-type]
        return hash((type(self), *(getattr(value, "shape", None) for value in values)))

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, arrays unchanged."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        """HTML table for a notebook: name, value and meaning of every field."""
        meanings = field_meanings(type(self))
        rows = [
            (escaped(name), in_html(value), escaped(meanings.get(name, "")))
            for name, value in _fields_set(self).items()
        ]
        return f"<b>{escaped(type(self).__name__)}</b>{html_table((), rows)}"


def _fields_set(shown: DisplayMixin) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in shown.to_dict().items() if value is not None}


def in_short(value: Any) -> str:
    """Short text of a value: shape of an array, name of an arm, length of a long list."""
    shape = getattr(value, "shape", None)
    if shape:
        return str(tuple(shape))
    if shape == () or isinstance(value, (int, float, complex)):
        return str(value) if isinstance(value, (bool, int)) else f"{value:.6g}"
    if hasattr(value, "joint_names"):
        return in_short(value.name)
    if isinstance(value, DisplayMixin):
        return type(value).__name__
    text = printable(value if isinstance(value, str) else repr(value))
    if len(text) <= _SHORT:
        return text
    if isinstance(value, str):
        return f"{text[: _SHORT - 1]}…"
    return f"({len(value)} of them)" if isinstance(value, Collection) else type(value).__name__


def in_html(value: Any) -> str:
    """HTML of a value: small arrays in full, other values by `in_short`."""
    shape = getattr(value, "shape", None)
    if shape and len(shape) <= 2 and 0 < value.size <= _FEW_NUMBERS:
        rows = value.tolist() if len(shape) == 2 else [value.tolist()]
        largest = _largest(value)
        cells = [[escaped(_entry(number, largest)) for number in row] for row in rows]
        return html_table((), cells)
    return escaped(in_short(value))


def is_rounding(value: float, largest: float) -> bool:
    """True if a nonzero value is rounding error relative to the largest of its table."""
    return 0.0 < abs(value) < _NOISE * largest


def _largest(array: Any) -> float:
    """Largest finite magnitude in an array; 0 for arrays other than float and complex."""
    if array.dtype.kind not in "fc":
        return 0.0
    sizes = abs(array)
    return float(sizes[sizes < float("inf")].max(initial=0.0))


def _entry(number: Any, largest: float) -> str:
    """Short text of an array entry; rounding errors are shown as in tables."""
    if isinstance(number, complex):
        size = _entry(abs(number.imag), largest)
        return f"{_entry(number.real, largest)}{'-' if number.imag < 0.0 else '+'}{size}j"
    rounding = isinstance(number, float) and is_rounding(number, largest)
    return ROUNDED_ZERO if rounding else in_short(number)


def escaped(text: str) -> str:
    """Text escaped for HTML."""
    # imported here because it loads a large table that only notebooks need
    from html import escape

    return escape(text)


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """HTML table; the cells are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in ([head] if head else []) + lines)
    return f"<table>{body}</table>"


def html_contract(contract: Mapping[str, Any]) -> str:
    """Collapsible HTML table of the contract."""
    rows = [(escaped(str(key)), escaped(phrase(value))) for key, value in contract.items()]
    return f"<details><summary>contract</summary>{html_table((), rows)}</details>" if rows else ""


def phrase(value: Any) -> str:
    """Text of a contract entry."""
    if value is None or value in ((), [], {}, ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {phrase(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(phrase(item) for item in value)
    return str(value)


def field_meanings(kind: type) -> dict[str, str]:
    """Description of each field, parsed from the `Fields:` section of the class docstring."""
    _, _, section = cleandoc(kind.__doc__ or "").partition("\nFields:\n")
    section = section.partition("\n\n")[0]
    entries = re.findall(r"^    (\w[\w, ]*): (.*(?:\n     .*)*)", section, flags=re.MULTILINE)
    return {
        name.strip(): " ".join(text.split()) for names, text in entries for name in names.split(",")
    }


def equal_values(one: Any, other: Any) -> bool:
    """True if two values are equal; arrays are compared by element, NaN equals NaN."""
    if hasattr(one, "shape") and hasattr(other, "shape"):
        import numpy as np

        floating = one.dtype.kind in "fc" and other.dtype.kind in "fc"
        return bool(np.array_equal(one, other, equal_nan=floating))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal_values(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(equal_values, one, other))
    return bool(one == other)
