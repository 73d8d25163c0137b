"""The files a page is made of, and the policy that lets nothing else run in it."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from string import Template

_FOLDER = Path(__file__).parent / "page"
_STYLES = ("uPlot.min.css", "style.css")
_PROGRAMS = ("arm_view.js", "curves.js", "page.js")


@cache
def text_of(name: str) -> str:
    """A file of the page as it is."""
    return (_FOLDER / name).read_text("utf-8")


def filled(file: str, /, **values: str) -> str:
    """A piece of the page with its places filled by what is markup already."""
    return Template(text_of(file)).substitute(values)


def style() -> str:
    """All rules of how the page looks."""
    return "\n".join(map(text_of, _STYLES))


def drawing() -> str:
    """The library that draws curves, with its licence."""
    return f"/*\n{text_of('uPlot-LICENSE.txt')}\n*/\n{text_of('uPlot.iife.min.js')}"


def program() -> str:
    """What moves the page."""
    return '"use strict";\n' + "\n".join(map(text_of, _PROGRAMS))


def policy(style_text: str, *programs: str) -> str:
    """Only these very texts run, and nothing is ever asked of anybody."""
    scripts = " ".join(map(_digest, programs))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(style_text)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"
