"""Prepare docstrings for the site: known section names, and one entry per argument."""

from __future__ import annotations

import re
from typing import Any

import griffe

_KNOWN = {"Example:": "Examples:", "Fields:": "Attributes:"}
_SECTION = re.compile(r"^(Example|Fields):$", re.MULTILINE)
# an entry of several arguments, `rtol, atol: text`; the site would list it as one required argument
_GROUP = re.compile(r"^    (\w+(?:, \w+)+): (.*(?:\n     +.*)*)", re.MULTILINE)


class DocstringSections(griffe.Extension):
    """Renames sections and splits entries when docstrings are read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Process every object with a docstring."""
        if obj.docstring is not None:
            text = _SECTION.sub(lambda match: _KNOWN[match[0]], obj.docstring.value)
            obj.docstring.value = _GROUP.sub(_one_entry_each, text)


def _one_entry_each(group: re.Match[str]) -> str:
    return "\n".join(f"    {name}: {group[2]}" for name in group[1].split(", "))
