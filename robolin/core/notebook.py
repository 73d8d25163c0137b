"""What a prompt and a notebook show of an answer: names and shapes, never pages of numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from inspect import cleandoc
from typing import Any

from robolin.core.text import printable

# what is no longer than this stands in a line as it is
_SHORT = 40
# arrays up to this size are shown number by number in a notebook
_FEW_NUMBERS = 200
_OWN = ("__repr__", "__eq__", "__hash__")
# beside numbers of order 1, nothing this small was computed
_NOISE = 1e-15
ROUNDED_ZERO = "~0"


class DisplayMixin:
    """Data that show themselves: one line at a prompt, a table in a notebook, plain as a dict.

    Two are equal if they are of one kind and all their numbers are, a missing one like another.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        # a dataclass makes its own of these, unless the class itself has them
        for name in _OWN:
            if name not in cls.__dict__:
                setattr(cls, name, getattr(DisplayMixin, name))

    def __repr__(self) -> str:
        told = (f"{name} {in_short(value)}" for name, value in _given(self).items())
        return f"<{type(self).__name__}: {', '.join(told)}>"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        compared = [each.name for each in fields(self) if each.compare]  # type: ignore[arg-type]
        return all(equal_values(getattr(self, name), getattr(other, name)) for name in compared)

    def __hash__(self) -> int:
        """Equal ones hash alike."""
        held = [getattr(self, each.name) for each in fields(self) if each.compare]  # type: ignore[arg-type]
        return hash((type(self), *(getattr(value, "shape", None) for value in held)))

    def to_dict(self) -> dict[str, Any]:
        """Every field by its name, arrays as they are."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        """What a notebook shows: every field, its numbers if there are few, and what it is."""
        meanings = field_meanings(type(self))
        rows = [
            (escaped(name), in_html(value), escaped(meanings.get(name, "")))
            for name, value in _given(self).items()
        ]
        return f"<b>{escaped(type(self).__name__)}</b>{html_table((), rows)}"


def _given(shown: DisplayMixin) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in shown.to_dict().items() if value is not None}


def in_short(value: Any) -> str:
    """A value in a few words: shapes of arrays, names of arms, counts of long lists."""
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
    """A value for a notebook: arrays of a few numbers in full, everything else in short."""
    shape = getattr(value, "shape", None)
    if shape and len(shape) <= 2 and 0 < value.size <= _FEW_NUMBERS:
        rows = value.tolist() if len(shape) == 2 else [value.tolist()]
        largest = _largest(value)
        cells = [[escaped(_entry(number, largest)) for number in row] for row in rows]
        return html_table((), cells)
    return escaped(in_short(value))


def is_rounding(value: float, largest: float) -> bool:
    """Whether a number is nothing but rounding beside the largest of its table."""
    return 0.0 < abs(value) < _NOISE * largest


def _largest(array: Any) -> float:
    """The size of the largest number of an array; 0 for what is no numbers."""
    if array.dtype.kind not in "fc":
        return 0.0
    sizes = abs(array)
    return float(sizes[sizes < float("inf")].max(initial=0.0))


def _entry(number: Any, largest: float) -> str:
    """A number of an array in short, and what is only rounding as tables show it."""
    if isinstance(number, complex):
        size = _entry(abs(number.imag), largest)
        return f"{_entry(number.real, largest)}{'-' if number.imag < 0.0 else '+'}{size}j"
    rounding = isinstance(number, float) and is_rounding(number, largest)
    return ROUNDED_ZERO if rounding else in_short(number)


def escaped(text: str) -> str:
    """A text as HTML that shows it."""
    # only notebooks wait for the list of all entities
    from html import escape

    return escape(text)


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in ([head] if head else []) + lines)
    return f"<table>{body}</table>"


def html_contract(contract: Mapping[str, Any]) -> str:
    """What is included and what is left out, folded up."""
    rows = [(escaped(str(key)), escaped(phrase(value))) for key, value in contract.items()]
    return f"<details><summary>contract</summary>{html_table((), rows)}</details>" if rows else ""


def phrase(value: Any) -> str:
    """An entry of a contract in words."""
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
    """What the docstring of a class says of each field, its unit among it."""
    _, _, told = cleandoc(kind.__doc__ or "").partition("\nFields:\n")
    told = told.partition("\n\n")[0]
    entries = re.findall(r"^    (\w[\w, ]*): (.*(?:\n     .*)*)", told, flags=re.MULTILINE)
    return {
        name.strip(): " ".join(text.split()) for names, text in entries for name in names.split(",")
    }


def equal_values(one: Any, other: Any) -> bool:
    """Whether two values are the same, arrays number by number, a missing one like another."""
    if hasattr(one, "shape") and hasattr(other, "shape"):
        import numpy as np

        floating = one.dtype.kind in "fc" and other.dtype.kind in "fc"
        return bool(np.array_equal(one, other, equal_nan=floating))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal_values(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(equal_values, one, other))
    return bool(one == other)
