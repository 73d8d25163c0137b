"""Contracts side by side: what every number on a page includes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from robolin.report.page_markup import PageTable, shown_name, table
from robolin.wording import printable

# a contract may list hundreds of ignored tags
_LONGEST = 400


def contract_table(names: Sequence[str], contracts: Sequence[Mapping[str, Any]]) -> Element:
    """One column for each, where one is silent an empty cell."""
    keys = list(dict.fromkeys(key for each in contracts for key in each))
    header = ("about", *map(shown_name, names)) if len(names) > 1 else ("about", "says")
    rows = [(shown_name(key), *(said(each.get(key)) for each in contracts)) for key in keys]
    return table(PageTable("Contract", header, rows))


def said(value: Any) -> str:
    """A text or a list of them as a cell shows it, cut where it would fill the page."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else ", ".join(map(str, value)) or "none"
    shown = printable(text[: 2 * _LONGEST])
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
