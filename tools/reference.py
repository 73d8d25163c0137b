"""docs/reference/api.md: every public Python name, by the chapters of reference/python.md.

The docs site inserts the docstrings below the names.  Tables of the options of each command follow,
from the table of verbs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from robolin import _PUBLIC
from robolin.queries.option_specs import Verb
from robolin.queries.question import keywords_of
from robolin.queries.verbs import VERBS
from tools.markdown import DOCS, cell

_INTRO = """\
# Python reference

Look up the arguments, shapes, units, results and errors of every public function and class.
On the [site](../index.md#this-site), this page contains all docstrings.
In Python, for example, `help(robolin.inverse)` prints the docstring of `inverse`.
The page [Python functions and classes](python.md) lists all names by subject.
"""
_KEYWORDS = """\
## Keyword arguments of Question

The tables list the keywords of `robolin.Question(verb, …)` for each command.
`robolin.Question.keywords(verb)` returns the same text.
The state is not a keyword, but an argument of `robolin.States`.
Model options are arguments of `robolin.load`.
"""
# public names of modules that require other packages
_OPTIONAL = ("torch.function", "torch.InverseDynamics", "torch.ForwardDynamics", "jax.function")
_CHAPTER = re.compile(r"^## (.+)$")
_NAME = re.compile(r"(?:robolin\.)?([A-Za-z_][\w.]*)")


def public_names() -> list[str]:
    """Every public name of the package."""
    return sorted(name for names in _PUBLIC.values() for name in names.split())


def chapters() -> dict[str, list[str]]:
    """Public names by the chapter of docs/reference/python.md that first lists them."""
    text = (DOCS / "reference/python.md").read_text("utf-8")
    left = {*public_names(), *_OPTIONAL}
    by_chapter: dict[str, list[str]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if chapter := _CHAPTER.match(line):
            names = by_chapter[chapter[1]] = []
            continue
        for code in re.findall(r"`(.*?)`", line):
            name = _NAME.match(code)
            if name and name[1] in left:
                left.remove(name[1])
                names.append(name[1])
    assert not left, f"docs/reference/python.md does not list {sorted(left)}"
    return by_chapter


def reference_page() -> str:
    """The page, one line per name."""
    parts = [_INTRO]
    for chapter, names in chapters().items():
        parts += [f"## {chapter}", "", *(f"::: robolin.{name}\n" for name in names)]
    return "\n".join([*parts, _KEYWORDS, *_keyword_tables()])


def _keyword_tables() -> Iterator[str]:
    """Tables of options, verb by verb."""
    for verb in VERBS.values():
        if verb.answers:
            yield f"### Keywords of {verb.name}\n"
            yield from (
                _keyword_rows(verb) if verb.own_options else ["This command has no keywords."]
            )
            yield ""


def _keyword_rows(verb: Verb) -> Iterator[str]:
    yield "| keyword | value | meaning |"
    yield "| --- | --- | --- |"
    for name, value, meaning in keywords_of(verb):
        yield f"| `{name}` | {cell(value)} | {cell(meaning)} |"
