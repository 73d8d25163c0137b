"""HTML elements of a page; escaping is left to the standard library."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any
from xml.etree.ElementTree import Element, tostring

import numpy as np

from robolin.codegen.wasm_files import binding_text
from robolin.core.arrays import Floats, Numbers
from robolin.core.records import dataclass
from robolin.core.text import printable, range_text
from robolin.display.plots.panels import NO_ROUNDING, Rounding, decimate_keep_extremes

# a longer name would break the layout
LONGEST_NAME = 80
_HEAD, _TAIL = 55, 20


@dataclass(frozen=True)
class PageTable:
    """A table of texts; the columns named in `numbers` are right-aligned.

    key: identifier of the table for scripts, '' for none
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()
    key: str = ""


def shown_name(name: str) -> str:
    """A name for the page: without control characters, and of limited length."""
    # shorten before escaping
    text = printable(name[: 4 * LONGEST_NAME])
    if len(name) <= 4 * LONGEST_NAME and len(text) <= LONGEST_NAME:
        return text
    return f"{text[:_HEAD]}…{printable(name[-_TAIL:])[-_TAIL:]} ({len(name)} characters)"


def figure_cell(value: float | None, digits: int = 6) -> str:
    """A number as a table cell, empty for None."""
    return "" if value is None else f"{value:.{digits}g}"


def range_cell(value: float | list[float] | None) -> str:
    """A limit as a table cell: one number, or its two ends."""
    return "" if value is None else range_text(value)


def element(tag: str, *children: Element | str, **attributes: str) -> Element:
    """An element; `class_` is its class, and `_` in other attributes becomes a hyphen."""
    names = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    node = Element(tag, names)
    for child in children:
        if isinstance(child, str):
            _append_text(node, child)
        else:
            node.append(child)
    return node


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def markup(*parts: Element) -> str:
    """The elements as HTML text."""
    return "\n".join(tostring(part, encoding="unicode", method="html") for part in parts)


def table(shown: PageTable) -> Element:
    """A table with a caption, in a scrollable box that the keyboard can focus."""
    right = [name in shown.numbers for name in shown.header]
    mostly = sum(right) * 2 > len(right) - 1
    # the most common alignment is the default, which saves a third of a large table
    odd = {"class_": "w" if mostly else "number"}
    marks = [{} if each == mostly else odd for each in right]
    caption = element("caption", shown.title)
    head = element("thead", element("tr", *map(_heading, shown.header, marks)))
    rows = [element("tr", *_cells(row, marks)) for row in shown.rows]
    node = element("table", caption, head, element("tbody", *rows))
    if mostly:
        node.set("class", "numbers")
    if shown.key:
        node.set("data-key", shown.key)
    label = f"Table: {shown.title}"
    return element("div", node, class_="table", tabindex="0", role="region", aria_label=label)


def _heading(name: str, mark: Mapping[str, str]) -> Element:
    """A heading that may wrap after an underscore, as names of joints are wider than numbers."""
    parts = name.split("_")
    wrapped = [text for part in parts[:-1] for text in (f"{part}_", element("wbr"))]
    return element("th", *wrapped, parts[-1], scope="col", **mark)


def _cells(row: Sequence[str], marks: Sequence[Mapping[str, str]]) -> Iterable[Element]:
    """Cells of a row; the first is its heading, which browsers infer from its position."""
    yield element("th", row[0])
    for text, mark in zip(row[1:], marks[1:], strict=True):
        yield element("td", text, **mark)


def paragraph(text: str, class_: str = "") -> Element:
    """A paragraph of plain text; parts between backticks are code."""
    parts = text.split("`")
    plain = [text] if len(parts) % 2 == 0 else parts
    children = [element("code", part) if i % 2 else part for i, part in enumerate(plain)]
    return element("p", *children, **({"class_": class_} if class_ else {}))


@dataclass
class PageNumbers:
    """The arrays of a page, referenced by index; `count` is their size in numbers of 4 bytes."""

    texts: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, values: Numbers, exact: bool = False) -> int:
        """Add an array in row order and return its index; exact: in double precision, with ':'."""
        plain = np.ascontiguousarray(values, dtype="<f8" if exact else "<f4")
        self.texts.append(":" * exact + b64encode(plain.tobytes()).decode("ascii"))
        self.count += plain.nbytes // 4
        return len(self.texts) - 1


# a contract may list hundreds of ignored tags
_LONGEST = 400


def contract_table(names: Sequence[str], contracts: Sequence[Mapping[str, Any]]) -> Element:
    """One column per contract; missing entries are empty cells."""
    keys = list(dict.fromkeys(key for each in contracts for key in each))
    header = ("assumption", *map(shown_name, names)) if len(names) > 1 else ("assumption", "value")
    rows = [(shown_name(key), *(cell_text(each.get(key)) for each in contracts)) for key in keys]
    return table(PageTable("Model assumptions", header, rows))


def cell_text(value: Any) -> str:
    """A contract value as a table cell, shortened if it would fill the page."""
    text = printable(_words(value)[: 2 * _LONGEST])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{key} = {_words(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass
class PagePlots:
    """Curves of a page: data for the script, and placeholders in the HTML."""

    numbers: PageNumbers
    drawn: list[dict[str, Any]] = field(default_factory=list)

    def add(self, x: Floats, series: dict[str, Floats], **more: Any) -> int:
        """Add curves over one axis and return their index."""
        curves = [{"label": label, "y": self.numbers.add(y)} for label, y in series.items()]
        self.drawn.append({"x": self.numbers.add(x), "series": curves, **more})
        return len(self.drawn) - 1


def curve_figure(
    time: Floats,
    curves: dict[str, Floats],
    caption: Sequence[Element | str],
    figures: PagePlots,
    *,
    rounding: Rounding = NO_ROUNDING,
    extremes: bool = True,
    **more: Any,
) -> Element:
    """Curves with as many rows as visible, and their extremes as text unless switched off.

    Curves that are only round-off are drawn on their reference scale.
    """
    sizes = [np.abs(y[np.isfinite(y)]).max(initial=0.0) for y in curves.values()]
    largest = float(max(sizes, default=0.0))
    if rounding.covers(largest):
        more["reach"] = rounding.reference
    rows = decimate_keep_extremes(np.stack(list(curves.values()), axis=1))
    number = figures.add(time[rows], {k: y[rows] for k, y in curves.items()}, **more)
    text = "; ".join(_extremes(label, y) for label, y in curves.items()) if extremes else ""
    if rounding.covers(largest):
        text = rounding.words(largest)
    return element(
        "figure",
        element("figcaption", *caption, text),
        element("div", class_="curves"),
        class_="plot",
        data_figure=str(number),
    )


def _extremes(label: str, values: Floats) -> str:
    fine = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(fine).all():
        return f"{label}: no numbers"
    low, high = int(np.nanargmin(fine)), int(np.nanargmax(fine))
    name = "" if label == "value" else f"{label} "
    if values[low] == values[high]:
        return f"{name}{figure_cell(float(values[low]))} throughout"
    ends = [f"{figure_cell(float(values[row]))} in row {row + 1}" for row in (low, high)]
    return f"{name}from {ends[0]} to {ends[1]}"


_FOLDER = Path(__file__).parent / "page"
_STYLES = ("uPlot.min.css", "style.css")
_PROGRAMS = ("solids.js", "arm_view.js", "curves.js", "page.js")
_LIVE_PROGRAMS = ("linear_algebra.js", "live.js")


@cache
def page_file_text(name: str) -> str:
    """Content of a file of the page."""
    return (_FOLDER / name).read_text("utf-8")


def filled(file: str, /, **values: str) -> str:
    """A template of the page with its fields replaced by HTML."""
    return Template(page_file_text(file)).substitute(values)


def page_style() -> str:
    """All style sheets of the page."""
    return "\n".join(_dense(page_file_text(name)) for name in _STYLES)


def curve_library() -> str:
    """The plotting library, with its licence."""
    return f"/*\n{page_file_text('uPlot-LICENSE.txt')}\n*/\n{page_file_text('uPlot.iife.min.js')}"


def page_program(live: bool = False) -> str:
    """The script of the page, with that of the live section if it has one."""
    texts = [page_file_text(name) for name in (*(_LIVE_PROGRAMS if live else ()), *_PROGRAMS)]
    if live:
        texts.insert(0, f"const boundModule = {binding_text()};")
    return '"use strict";\n' + "\n".join(map(_dense, texts))


def _dense(text: str) -> str:
    """A script or a style sheet without indentation and comment lines."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def content_policy(style_text: str, *programs: str, wasm: bool = False) -> str:
    """Content security policy: only these scripts and styles, no network access."""
    scripts = " ".join([*map(_digest, programs), *(["'wasm-unsafe-eval'"] if wasm else [])])
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(style_text)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"
