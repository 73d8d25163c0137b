"""Text for machines of continuous integration: GitHub's workflow commands and JUnit's XML."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr


def github_command(level: str, message: str, **properties: str | int) -> str:
    """A workflow command, such as `::error file=arm.urdf,line=3,title=mass::it is negative`."""
    given = {name: value for name, value in properties.items() if value not in ("", 0)}
    places = ",".join(f"{name}={_property(str(value))}" for name, value in given.items())
    return f"::{level} {places}".rstrip() + f"::{_message(message)}"


def xml_attribute(text: str) -> str:
    """The text in quotes, as the value of an attribute."""
    return quoteattr(_without_controls(text))


def xml_lines(lines: Iterable[str]) -> str:
    """Lines between two tags; none of them can begin another one."""
    return escape("\n".join(_without_controls(line.replace("\n", "?")) for line in lines))


def _without_controls(text: str) -> str:
    """The text without characters that steer a terminal or that XML has no place for."""
    return "".join(c if c == "\n" or c.isprintable() else "?" for c in text)


def _message(text: str) -> str:
    plain = _without_controls(text.replace("\r\n", "\n"))
    return plain.replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
