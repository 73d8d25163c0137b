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
def page_file_text(name: str) -> str:
    """A file of the page as it is."""
    return (_FOLDER / name).read_text("utf-8")


def filled(file: str, /, **values: str) -> str:
    """A piece of the page with its places filled by what is markup already."""
    return Template(page_file_text(file)).substitute(values)


def page_style() -> str:
    """All rules of how the page looks."""
    return "\n".join(_dense(page_file_text(name)) for name in _STYLES)


def curve_library() -> str:
    """The library that draws curves, with its licence."""
    return f"/*\n{page_file_text('uPlot-LICENSE.txt')}\n*/\n{page_file_text('uPlot.iife.min.js')}"


def page_program() -> str:
    """What moves the page."""
    return '"use strict";\n' + "\n".join(_dense(page_file_text(name)) for name in _PROGRAMS)


def _dense(text: str) -> str:
    """A program or a style without its indents and lines of comment, which browsers do not need."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def content_policy(style_text: str, *programs: str) -> str:
    """Only these very texts run, and nothing is ever asked of anybody."""
    scripts = " ".join(map(_digest, programs))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(style_text)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"
