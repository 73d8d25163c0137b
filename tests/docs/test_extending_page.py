"""The recipes of docs/dev/extending.md name existing files and tests, and few sources."""

from __future__ import annotations

import re

import pytest

from tools.markdown import DOCS, ROOT

PAGE = (DOCS / "dev/extending.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
# recipe -> most source files; a quantity is in addition to a flag
MOST = {
    "A flag": 3,
    "A quantity": 1,
    "A command": 3,
    "An algorithm": 2,
    "A file format": 2,
    "A joint type": 6,
}


def test_files_of_recipes_exist() -> None:
    """Every path without a placeholder is a file or folder of the project."""
    paths = re.findall(r"`((?:robolin|tests|tools|docs)/[\w/.]+)`", PAGE)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("recipe", MOST)
def test_recipes_have_few_sources_and_a_test(recipe: str) -> None:
    """A recipe has at most its number of source files, and a test that follows it."""
    text = RECIPES[recipe]
    tables = re.findall(r"^\| source file \|.*\n\| --- .*\n((?:\|.*\n)+)", text, re.MULTILINE)
    sources = [row for table in tables for row in table.splitlines()]
    assert 0 < len(sources) <= MOST[recipe]
    assert re.search(r"`tests/[\w/]*recipes?\.py` follows this recipe", text)
