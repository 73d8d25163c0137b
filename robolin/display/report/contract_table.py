"""Contracts side by side: what every number on a page includes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from robolin.core.text import printable
from robolin.display.report.page_markup import PageTable, shown_name, table

# a contract may list hundreds of ignored tags
_LONGEST = 400


def contract_table(names: Sequence[str], contracts: Sequence[Mapping[str, Any]]) -> Element:
    """One column for each, where one is silent an empty cell."""
    keys = list(dict.fromkeys(key for each in contracts for key in each))
    header = ("about", *map(shown_name, names)) if len(names) > 1 else ("about", "says")
    rows = [(shown_name(key), *(cell_text(each.get(key)) for each in contracts)) for key in keys]
    return table(PageTable("Contract", header, rows))


def cell_text(value: Any) -> str:
    """What a contract says as a cell shows it, cut where it would fill the page."""
    shown = printable(_words(value)[: 2 * _LONGEST])
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def _words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{key} = {_words(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
