"""What each verb can be asked in Python: its keywords, their values, and what they mean."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, NamedTuple

from robolin.queries.option_specs import Ask, Verb
from robolin.queries.verbs import VERBS

_FLAG = re.compile(r"--([a-z][a-z-]*)")
# few enough to stand in a line, which `textwrap` would take milliseconds of a start to find
_IN_A_ROW = 5


class Keyword(NamedTuple):
    """A keyword of a question.

    value: what may be given for it, as a help page would put it
    """

    name: str
    value: str
    meaning: str


def keyword_names(verb: Verb) -> list[str]:
    """The keywords of a verb, as Python writes the names of its flags."""
    return [label.replace("-", "_") for label in verb.asks]


def keywords_by_verb() -> str:
    """Every verb that answers with its keywords, as a section of a docstring."""
    lines = ["Keywords:"]
    for verb in VERBS.values():
        if verb.answers:
            names = keyword_names(verb) or ["none"]
            rows = [", ".join(names[i : i + _IN_A_ROW]) for i in range(0, len(names), _IN_A_ROW)]
            lines.append(f"    {verb.name}: " + ",\n        ".join(rows))
    return "\n".join(lines)


def keywords_of(verb: Verb) -> list[Keyword]:
    """The keywords of a verb with what they mean, which the flags of its command tell."""
    flags = {
        option.removeprefix("--"): flag
        for flag in import_module(verb.command).command.params
        for option in flag.opts
    }
    found = zip(keyword_names(verb), verb.asks.items(), strict=True)
    return [
        Keyword(name, _value(ask, flags[label]), _in_python(flags[label].help))
        for name, (label, ask) in found
    ]


def _value(ask: Ask, flag: Any) -> str:
    """What may be given, in a few words."""
    if ask.kind == "switch":
        return "True"
    if ask.kind == "choice":
        return ", ".join(f"'{choice}'" for choice in ask.choices)
    if ask.kind == "count":
        return f"a number from {ask.least} on"
    if ask.bare:
        return f"{flag.metavar.strip('[]')} or True"
    value = "a path" if ask.kind == "file" else flag.metavar
    return f"{value}, or a list of them" if ask.repeats else value


def _in_python(text: str) -> str:
    """A help text that speaks of keywords rather than of flags."""
    keywords = _FLAG.sub(lambda flag: flag[1].replace("-", "_"), text)
    return " ".join(keywords.replace("; repeatable", "").split())
