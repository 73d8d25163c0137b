"""Names and texts as C has them: whatever a robot file calls things, they are harmless there."""

from __future__ import annotations

import re

from robolin.core.text import printable
from robolin.errors import UsageError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def prefix_for(arm_name: str, asked: str | None) -> str:
    """What the names of all functions begin with: what was asked for, or the arm's own name."""
    if asked is not None:
        if not isinstance(asked, str) or not _IDENTIFIER.fullmatch(asked):
            hint = "letters, digits and _, 64 at the most and no digit first"
            raise UsageError(f"'{asked}' cannot begin the name of a function", hint=hint)
        return asked
    name = re.sub(r"[^A-Za-z0-9]+", "_", arm_name).strip("_").lower()[:64] or "arm"
    return f"arm_{name}"[:64] if name[0].isdigit() else name


def function_name(prefix: str, verb: str) -> str:
    return f"{prefix}_{verb.replace('-', '_')}"


def quoted_text(text: str) -> str:
    """A text as a string of C, in ASCII; ? and \\ cannot begin anything there."""
    spelt = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{"".join(spelt)}"'


def comment_text(text: str) -> str:
    """A text that neither ends a comment, begins another, nor breaks the line."""
    harmless = printable(text).replace("\\", "/").replace("*/", "* /").replace("/*", "/ *")
    # no trigraph: ??/ at the end of a line would be a backslash
    return re.sub(r"\?(?=\?)", "? ", harmless)
