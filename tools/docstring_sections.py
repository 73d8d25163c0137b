"""Rename docstring sections for the site: Example becomes Examples, Fields becomes Attributes."""

from __future__ import annotations

import re
from typing import Any

import griffe

_KNOWN = {"Example:": "Examples:", "Fields:": "Attributes:"}
_SECTION = re.compile(r"^(Example|Fields):$", re.MULTILINE)


class DocstringSections(griffe.Extension):
    """Renames sections when docstrings are read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Process every object with a docstring."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = _SECTION.sub(lambda found: _KNOWN[found[0]], text)
