"""The unit of each entry of an array, where turning and sliding joints have different ones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from robolin.files.provenance import Entry

_OR, _PER = " or ", " per "


def entry_units(entry: Entry, model: Mapping[str, Any] | None) -> list[str]:
    """One unit per entry, in the order of the columns.

    An arm with both kinds of joints has units such as 'N·m or N per rad or m', the turning
    joint's first: one part per axis, decided by the joint that stands there.
    """
    count = len(entry.column_names())
    parts = [part.split(_OR) for part in entry.unit.split(_PER)]
    joints = (model or {}).get("joints", {})
    known = all(label in joints for labels in entry.labels for label in labels)
    if _OR not in entry.unit or len(parts) != len(entry.labels) or not known:
        return [entry.unit] * count
    slides = {name: figures.get("type") == "prismatic" for name, figures in joints.items()}
    return [
        _PER.join(part[-1 if slides[label] else 0] for part, label in zip(parts, at, strict=True))
        for at in product(*entry.labels)
    ]
