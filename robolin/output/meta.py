"""Where a result comes from: enough to understand it, to check it and to run it again.

Nothing here depends on when, where or by whom it was computed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from robolin.output.result import Floats, Result
from robolin.version import __version__

FORMAT = 1


def meta(result: Result) -> dict[str, Any]:
    """The provenance of a result, in plain JSON types."""
    units = {array.name: array.unit for array in result.arrays} | {"time": "s"}
    return {
        "format": FORMAT,
        "robolin": __version__,
        "verb": result.verb,
        "options": plain(dict(sorted(result.options.items()))),
        "inputs": {PurePath(name).name: digest for name, digest in sorted(result.inputs.items())},
        "contract": plain(result.contract),
        "joints": list(result.joints),
        "rows": result.batch,
        "arrays": {
            name: {
                "unit": units[name],
                "shape": list(values.shape),
                "sha256": array_digest(values),
            }
            for name, values in result.stored()
        },
    }


def meta_text(result: Result) -> str:
    """The provenance as one line of JSON, the same for the same result."""
    return json.dumps(meta(result), ensure_ascii=False, allow_nan=False)


def array_digest(values: Floats) -> str:
    """SHA-256 of the numbers as little-endian float64, last axis fastest."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").data).hexdigest()


def plain(value: Any) -> Any:
    """The value in JSON's own types; a path keeps only its last part, infinity becomes a word."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, PurePath):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} has no place in a result's provenance")
