"""The page of findings lists what the code can find."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from robolin.description.finding_ids import READING_IDS, VALIDATION_IDS
from tools.finding_fixes import FIXES
from tools.markdown import DOCS, ROOT
from tools.pages import findings_page


def test_the_page_is_current() -> None:
    """docs/reference/findings.md is what `python -m tools.pages` would write."""
    assert (DOCS / "reference/findings.md").read_text("utf-8") == findings_page()


def test_every_finding_has_a_fix() -> None:
    """Every id has advice, all advice is used, and no id is in both lists."""
    assert set(FIXES) == set(READING_IDS) | set(VALIDATION_IDS)
    assert not set(READING_IDS) & set(VALIDATION_IDS)


def test_no_id_is_made_up_in_the_code() -> None:
    """An id written in the code that looks for findings is one that the page lists."""
    unknown = set(_ids_in_code()) - set(FIXES)
    assert not unknown


def _ids_in_code() -> Iterator[str]:
    """The first argument of every call that makes a finding, where it is a plain text."""
    makers = {"Finding", "finding"}
    for module in (ROOT / "robolin" / "description").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in makers and isinstance(first, ast.Constant):
                    yield first.value
