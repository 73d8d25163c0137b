"""Text for machines of continuous integration: GitHub's workflow commands and JUnit's XML."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from robolin.core.text import printable, printable_lines


def github_command(level: str, message: str, **properties: str | int) -> str:
    """A workflow command, such as `::error file=arm.urdf,line=3,title=mass::it is negative`."""
    given = {name: value for name, value in properties.items() if value not in ("", 0)}
    places = ",".join(f"{name}={_property(str(value))}" for name, value in given.items())
    return f"::{level} {places}".rstrip() + f"::{_message(message)}"


def xml_attribute(text: str) -> str:
    """The text in quotes, as the value of an attribute."""
    return quoteattr(printable(text))


def xml_lines(lines: Iterable[str]) -> str:
    """Lines between two tags; none of them can begin another one."""
    return escape("\n".join(map(printable, lines)))


def _message(text: str) -> str:
    return printable_lines(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
