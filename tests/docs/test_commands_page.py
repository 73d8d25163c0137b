"""The page of commands shows the help pages that the commands print."""

from __future__ import annotations

import re

import click
import pytest

from tests.cases import for_each
from tools.markdown import DOCS
from tools.pages import commands, commands_page, help_text

ONE_LINE = 70
WIDEST = 100


def test_the_page_is_current() -> None:
    """docs/reference/commands.md is what `python -m tools.pages` would write."""
    assert (DOCS / "reference/commands.md").read_text("utf-8") == commands_page()


@pytest.mark.parametrize("name", commands())
def test_every_command_has_a_summary_and_an_example(name: str) -> None:
    """The list of verbs has a summary of each, and its page has an example."""
    command = commands()[name]
    summary = command.get_short_help_str(limit=ONE_LINE)
    page = help_text(name)

    assert summary
    assert not summary.endswith("..."), "the summary does not fit on its line"
    assert re.search(rf"^ *robolin {name}\b", page, re.MULTILINE), "no example"


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
