"""Parts of a page as elements, escaped by the standard library and by nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, tostring

from robolin.core.text import printable, range_text

# a longer name would push everything else off the page
LONGEST_NAME = 80
_HEAD, _TAIL = 55, 20


@dataclass(frozen=True)
class PageTable:
    """A table of texts; the columns named in `numbers` stand to the right.

    key: by which the page finds the table again, '' for none
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()
    key: str = ""


def shown_name(name: str) -> str:
    """A name as the page shows it: nothing that steers or breaks, and no longer than fits."""
    # what is cut off need not be spelt out
    text = printable(name[: 4 * LONGEST_NAME])
    if len(name) <= 4 * LONGEST_NAME and len(text) <= LONGEST_NAME:
        return text
    return f"{text[:_HEAD]}…{printable(name[-_TAIL:])[-_TAIL:]} ({len(name)} characters)"


def figure_cell(value: float | None, digits: int = 6) -> str:
    """A number as tables show it, nothing where there is none."""
    return "" if value is None else f"{value:.{digits}g}"


def range_cell(value: float | list[float] | None) -> str:
    """A limit as tables show it: one number, or its two ends."""
    return "" if value is None else range_text(value)


def element(tag: str, *children: Element | str, **attributes: str) -> Element:
    """An element; `class_` is its class, and an attribute with `_` has a hyphen there."""
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    made = Element(tag, named)
    for child in children:
        if isinstance(child, str):
            _append_text(made, child)
        else:
            made.append(child)
    return made


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def markup(*parts: Element) -> str:
    """The elements as text of a page."""
    return "\n".join(tostring(part, encoding="unicode", method="html") for part in parts)


def table(shown: PageTable) -> Element:
    """A table with a caption, in a box that scrolls by itself and can be reached by keyboard."""
    right = [name in shown.numbers for name in shown.header]
    mostly = sum(right) * 2 > len(right) - 1
    # what most columns are goes without saying, which saves a third of a large table
    odd = {"class_": "w" if mostly else "number"}
    marks = [{} if each == mostly else odd for each in right]
    caption = element("caption", shown.title)
    head = element("thead", element("tr", *map(_heading, shown.header, marks)))
    rows = [element("tr", *_cells(row, marks)) for row in shown.rows]
    found = element("table", caption, head, element("tbody", *rows))
    if mostly:
        found.set("class", "numbers")
    if shown.key:
        found.set("data-key", shown.key)
    label = f"Table: {shown.title}"
    return element("div", found, class_="table", tabindex="0", role="region", aria_label=label)


def _heading(name: str, mark: Mapping[str, str]) -> Element:
    return element("th", name, scope="col", **mark)


def _cells(row: Sequence[str], marks: Sequence[Mapping[str, str]]) -> Iterable[Element]:
    """The cells of a row, of which the first names it, as browsers tell by its place."""
    yield element("th", row[0])
    for text, mark in zip(row[1:], marks[1:], strict=True):
        yield element("td", text, **mark)


def paragraph(text: str, class_: str = "") -> Element:
    """A paragraph of plain text."""
    return element("p", text, **({"class_": class_} if class_ else {}))
