"""Every command has a page with its own options; shared options are on pages of topics."""

from __future__ import annotations

import re

import click
import pytest

from robolin.queries.verbs import VERBS
from tests.cases import for_each
from tools.command_pages import FOLDER, OPTIONS, commands, pages, site_settings
from tools.markdown import DOCS, ROOT
from tools.pages import help_text

ONE_LINE = 70
WIDEST = 100


def test_the_pages_are_current() -> None:
    """The pages are what `python -m tools.pages` would write, and there are no others."""
    expected = pages()
    for path, text in expected.items():
        assert (DOCS / path).read_text("utf-8") == text, path
    folders = (DOCS / FOLDER, DOCS / OPTIONS)
    existing = {
        page.relative_to(DOCS).as_posix() for folder in folders for page in folder.iterdir()
    }
    assert existing == set(expected) - {"reference/commands.md"}
    assert (ROOT / "zensical.toml").read_text("utf-8") == site_settings()


def test_every_option_is_on_one_page() -> None:
    """A command's page has each of its options once, in its table or as a shared option."""
    texts = pages()
    for name, command in commands().items():
        page = texts[f"{FOLDER}/{name}.md"]
        tables = [line for line in page.splitlines() if line.startswith(("| ", "- ["))]
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                word = re.compile(rf"(?<![\w-]){max(option.opts, key=len)}(?![\w-])")
                named = [line for line in tables if word.search(line.split(" | ")[0])]
                assert len(named) == 1, f"{name} {option.opts}"


@pytest.mark.parametrize("name", commands())
def test_every_command_has_a_summary_and_an_example(name: str) -> None:
    """The list of verbs has a summary of each, and its page has an example."""
    command = commands()[name]
    summary = command.get_short_help_str(limit=ONE_LINE)
    page = help_text(name)

    assert summary
    assert not summary.endswith("..."), "the summary does not fit on its line"
    words = VERBS[name].path or name
    assert re.search(rf"^ *(eval \S*)?robolin {words}\b", page, re.MULTILINE), "no example"


@for_each("name", commands())
def test_every_option_has_a_help_text(name: str) -> None:
    """No option is listed without a word about it."""
    options = (p for p in commands()[name].params if isinstance(p, click.Option) and not p.hidden)
    silent = [option.opts[0] for option in options if not option.help]
    assert not silent


@pytest.mark.parametrize("name", commands())
def test_help_fits_the_page(name: str) -> None:
    """No line of a help page is wider than the docs."""
    wide = [line for line in help_text(name).splitlines() if len(line) > WIDEST]
    assert not wide
