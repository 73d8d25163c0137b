"""The docs become a site: strictly, offline, with every name once."""

from __future__ import annotations

import re
import tomllib
from collections import Counter

import pytest

import robolin
from robolin.description.finding_ids import READING_IDS, VALIDATION_IDS
from robolin.queries.verbs import VERBS
from tests.docs.test_pages_are_complete import SEARCH_TERMS
from tools.markdown import DOCS, ROOT
from tools.reference import public_names, reference_page


def test_the_reference_is_current() -> None:
    """docs/reference/api.md is what `python -m tools.pages` would write."""
    assert (DOCS / "reference/api.md").read_text("utf-8") == reference_page()


def test_every_name_is_there_once() -> None:
    """Public Python names, verbs and findings each have exactly one place in the reference."""
    names = re.findall(r"^::: robolin\.(\w+)$", reference_page(), re.MULTILINE)
    assert sorted(names) == public_names()
    assert set(public_names()) == set(robolin.__all__) - {"__version__"}
    assert {page.stem for page in (DOCS / "reference/commands").iterdir()} == set(VERBS)
    findings = (DOCS / "reference/findings.md").read_text("utf-8")
    rows = Counter(re.findall(r"^\| `([\w-]+)` \|", findings, re.MULTILINE))
    assert rows == Counter([*READING_IDS, *VALIDATION_IDS])


def test_every_page_has_a_place_on_the_site() -> None:
    """A page that is in docs/ is in the site's list of pages, once."""
    settings = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))

    def named(entries: list[dict[str, object]]) -> list[str]:
        pages: list[str] = []
        for entry in entries:
            for target in entry.values():
                pages += named(target) if isinstance(target, list) else [str(target)]
        return pages

    listed = named(settings["project"]["nav"])
    pages = (page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    assert sorted(listed) == sorted(pages)


@pytest.mark.slow
def test_the_site_is_built_and_loads_nothing_from_elsewhere() -> None:
    """A strict build succeeds, documents every name, and names no script, style or font outside."""
    pytest.importorskip("zensical", reason="the extra docs is absent")
    pytest.importorskip("mkdocstrings", reason="the extra docs is absent")
    pytest.importorskip("latex2mathml", reason="the extra docs is absent")
    from tools.site import build

    # other tests verify robots and read the section about it
    site = build(verify_states=0)
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        outside = re.findall(r'<(?:script|img|iframe)[^>]*src="(?:https?:)?//[^"]*"', text)
        outside += re.findall(r'<link[^>]*rel="?(?:stylesheet|preconnect)[^>]*//[^>]*>', text)
        assert outside == [], page.name
        assert "arithmatex" not in text, f"{page.name}: a formula that is not MathML"
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"url\([\"']?(?:https?:)?//", sheet.read_text("utf-8")), sheet.name
    index = (site / "search.json").read_text("utf-8").lower()
    assert [term for term in SEARCH_TERMS if term.lower() not in index] == []
    reference = (site / "reference" / "api.html").read_text("utf-8")
    for name in public_names():
        # griffe's own name of what is imported from elsewhere
        assert len(re.findall(rf'<h3 id="robolin\.[\w.]*\b{name}"', reference)) >= 1, name
    # a group of arguments would be shown as one argument that is required
    assert re.findall(r"<td>\s*<code>\w+(?:, \w+)+</code>", reference) == []
