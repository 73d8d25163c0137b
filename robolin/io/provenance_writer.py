"""What is stored with a result: where it comes from, to check it and to run it again.

Nothing here depends on when, where or by whom it was computed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from robolin.core.results.number_kind import REAL, kind_of, stored_values
from robolin.core.results.result import Array, Footer, Result, ResultStream
from robolin.core.threads import close_generator
from robolin.core.units import unit_of
from robolin.version import __version__

# the second is that of results with complex or whole numbers, or with axes of other kinds
FORMAT, EXTENDED_FORMAT = 2, 3
# stands for the joints among the names along an axis
JOINTS_AXIS = "joints"


class Digests:
    """What the numbers of a result decide, added up part by part: rows, shapes and digests."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._digests: dict[str, Any] = {}
        self._last: Result | None = None

    @property
    def last(self) -> Result:
        """The part counted in last: names and labels are the same in all of them."""
        assert self._last is not None, "a result has at least one part"
        return self._last

    def passing(self, parts: Iterable[Result]) -> Iterator[Result]:
        """The parts, each of them counted in."""
        try:
            for part in parts:
                self.add(part)
                yield part
        finally:
            close_generator(parts)

    def add(self, part: Result) -> None:
        """Count a part in."""
        self._last = part
        if part.batch is not None:
            self.rows = (self.rows or 0) + part.batch
        for name, values in part.stored():
            shape = values.shape if part.batch is None else (self.rows or 0, *values.shape[1:])
            self.shapes[name] = shape
            self._digests.setdefault(name, hashlib.sha256()).update(stored_values(values).data)

    def meta(self, result: ResultStream) -> dict[str, Any]:
        """The provenance of the result that has passed, in plain JSON types."""
        digests = {name: digest.hexdigest() for name, digest in self._digests.items()}
        return _meta(self, result.ending(self.rows or 1), digests)

    def meta_text(self, result: ResultStream) -> str:
        """The provenance as one line of JSON, the same for the same result."""
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
    """Every file by its last name, by all of its name where two share their last."""
    shared = Counter(map(_last_name, digests))
    return {
        name if shared[last := _last_name(name)] > 1 else last: digest
        for name, digest in sorted(digests.items())
    }


def _role(ending: Footer) -> dict[str, Any]:
    """Whether others are checked against the result, and then how."""
    if ending.reference is None:
        return {"role": "result"}
    reference = ending.reference
    tolerances, files = to_json_types(reference.tolerances), to_json_types(reference.files)
    return {"role": "reference", "tolerances": tolerances, "files": files}


def _described(array: Array, joints: tuple[str, ...]) -> dict[str, Any]:
    """Unit and names of an array's entries, and what is not plain about it.

    An axis that is the joints does not repeat them; one of a kind of its own says which.
    """
    axes: list[Any] = []
    for i, labels in enumerate(array.labels):
        names = JOINTS_AXIS if labels == joints else list(labels)
        kind = array.axis_kind(i)
        axes.append({"kind": kind, "labels": names} if kind else names)
    numbers = kind_of(array.values)
    more = {} if numbers is REAL else {"numbers": numbers.name}
    return {"unit": array.unit, "axes": axes, "column": array.column, **more}


def _extended(said: Mapping[str, Any]) -> bool:
    """Whether something about the array was not known to the first format."""
    return "numbers" in said or any(isinstance(axis, dict) for axis in said["axes"])


def with_checksum(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance with a SHA-256 of itself at the end."""
    return {**meta, "sha256": meta_digest(meta)}


def meta_digest(meta: Mapping[str, Any]) -> str:
    """SHA-256 of the provenance, its own digest aside, however it is laid out."""
    told = {key: value for key, value in meta.items() if key != "sha256"}
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    # what a damaged file holds need not be text
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def to_json_types(value: Any) -> Any:
    """The value in JSON's own types; a path keeps only its last part, infinity becomes a word."""
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
    raise TypeError(f"{type(value).__name__} has no place in a result's provenance")


def _last_name(name: str) -> str:
    """The name without folders; the part of a recording that is named behind it stays."""
    place, colon, _ = name.partition(":")
    return name if colon and "/" not in place else PurePath(name).name
