"""The unit of each entry of a stored array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robolin.files.provenance_reader import Entry
from robolin.quantities import entry_units


def stored_entry_units(entry: Entry, model: Mapping[str, Any] | None) -> list[str]:
    """One unit per entry, in the order of the columns, as far as the model tells its joints."""
    joints = (model or {}).get("joints", {})
    slides = {name: figures.get("type") == "prismatic" for name, figures in joints.items()}
    return entry_units(entry.name, entry.unit, entry.labels, slides)
