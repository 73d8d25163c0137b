"""Provenance of a result: everything that is needed to check and to recompute it.

It does not depend on when, where or by whom the result was computed.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from robolin import __version__
from robolin.core.arrays import REAL, kind_of, stored_values
from robolin.core.quantity_table import unit_of
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.core.threads import close_generator

# format 3 is for results with complex numbers, integers or axes of special kinds
FORMAT, EXTENDED_FORMAT = 2, 3
# stands for the joint names in the labels of an axis
JOINTS_AXIS = "joints"


class Digests:
    """Row count, shapes and SHA-256 hashes of a result, accumulated part by part."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._digests: dict[str, Any] = {}
        self._last: Result | None = None

    @property
    def last(self) -> Result:
        """The last part added: names and labels are the same in all parts."""
        assert self._last is not None, "a result has at least one part"
        return self._last

    def passing(self, parts: Iterable[Result]) -> Iterator[Result]:
        """Yield the parts and add each of them to the hashes."""
        try:
            for part in parts:
                self.add(part)
                yield part
        finally:
            close_generator(parts)

    def add(self, part: Result) -> None:
        """Add a part to the hashes."""
        self._last = part
        if part.batch is not None:
            self.rows = (self.rows or 0) + part.batch
        for name, values in part.stored():
            shape = values.shape if part.batch is None else (self.rows or 0, *values.shape[1:])
            self.shapes[name] = shape
            self._digests.setdefault(name, hashlib.sha256()).update(stored_values(values).data)

    def meta(self, result: ResultStream) -> dict[str, Any]:
        """The provenance of all parts that were added, in JSON types."""
        digests = {name: digest.hexdigest() for name, digest in self._digests.items()}
        return _meta(self, result.ending(self.rows or 1), digests)

    def meta_text(self, result: ResultStream) -> str:
        """The provenance as one line of JSON, identical for identical results."""
        import json

        return json.dumps(self.meta(result), ensure_ascii=False, allow_nan=False)


def _meta(passed: Digests, ending: Footer, digests: Mapping[str, str]) -> dict[str, Any]:
    part = passed.last
    described = {array.name: _described(array, part.joints) for array in part.arrays}
    if part.time is not None:
        time = Array("time", part.time, (), unit_of("time", ()))
        described["time"] = _described(time, part.joints)
    return with_checksum(
        {
            "format": EXTENDED_FORMAT if any(map(_extended, described.values())) else FORMAT,
            "robolin": __version__,
            **_role(ending),
            **({} if ending.plan is None else {"plan": to_json_types(ending.plan)}),
            "verb": part.verb,
            "options": to_json_types(dict(sorted(part.options.items()))),
            "inputs": _inputs(ending.inputs),
            "contract": to_json_types(ending.contract),
            "model": to_json_types(ending.model),
            "joints": list(part.joints),
            "rows": passed.rows,
            "arrays": {
                name: {**described[name], "shape": list(shape), "sha256": digests[name]}
                for name, shape in passed.shapes.items()
            },
        }
    )


def _inputs(digests: Mapping[str, str]) -> dict[str, str]:
    """Input files by name without folders; with folders where two names are equal."""
    shared = Counter(map(_last_name, digests))
    return {
        name if shared[last := _last_name(name)] > 1 else last: digest
        for name, digest in sorted(digests.items())
    }


def _role(ending: Footer) -> dict[str, Any]:
    """The role of the result; a reference also has tolerances and files."""
    if ending.reference is None:
        return {"role": "result"}
    reference = ending.reference
    tolerances, files = to_json_types(reference.tolerances), to_json_types(reference.files)
    return {"role": "reference", "tolerances": tolerances, "files": files}


def _described(array: Array, joints: tuple[str, ...]) -> dict[str, Any]:
    """Unit, labels and column of an array, and its kind of numbers unless real.

    An axis with the joints as labels does not repeat them; an axis of a special kind names it.
    """
    axes: list[Any] = []
    for i, labels in enumerate(array.labels):
        names = JOINTS_AXIS if labels == joints else list(labels)
        kind = array.axis_kind(i)
        axes.append({"kind": kind, "labels": names} if kind else names)
    numbers = kind_of(array.values)
    more = {} if numbers is REAL else {"numbers": numbers.name}
    return {"unit": array.unit, "axes": axes, "column": array.column, **more}


def _extended(spec: Mapping[str, Any]) -> bool:
    """Return whether the description of an array needs the extended format."""
    return "numbers" in spec or any(isinstance(axis, dict) for axis in spec["axes"])


def with_checksum(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance with its own SHA-256 as the last entry."""
    return {**meta, "sha256": meta_digest(meta)}


def meta_digest(meta: Mapping[str, Any], *, strict: bool = False) -> str:
    """SHA-256 of the provenance without its own hash, independent of the layout of the JSON.

    Args:
        strict: raise ValueError for NaN, infinity and half of a surrogate pair
    """
    # import here: numbers in a pipe have no provenance
    import json

    content = {key: value for key, value in meta.items() if key != "sha256"}
    layout: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}
    text = json.dumps(content, sort_keys=True, allow_nan=not strict, **layout)
    return hashlib.sha256(text.encode(errors="strict" if strict else "surrogatepass")).hexdigest()


def to_json_types(value: Any) -> Any:
    """Convert a value to JSON types; a path keeps only its name, infinity becomes text."""
    if isinstance(value, Mapping):
        return {str(key): to_json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_types(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(to_json_types(item) for item in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return to_json_types(value.tolist())
    if isinstance(value, PurePath):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"provenance cannot contain {type(value).__name__}")


def _last_name(name: str) -> str:
    """The name without folders, but with the part of a recording."""
    path, colon, _ = name.partition(":")
    return name if colon and "/" not in path else PurePath(name).name
