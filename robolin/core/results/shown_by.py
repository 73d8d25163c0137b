"""Who shows results: functions of rooms above this one, named here and imported when asked for.

A result is the same whether or not anything can draw it; the names let `result.plot()` and
notebooks find what does.  tests/test_layout.py knows this table as one that names rooms above.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

SHOWN_BY = {
    "figure": "robolin.display.plots.draw:figure_of",
    "html": "robolin.display.terminal.html_table:html_of",
}


def shown_by(kind: str) -> Callable[..., Any]:
    """The function that makes this of a result."""
    module, _, function = SHOWN_BY[kind].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
