"""Check outcomes for continuous integration: GitHub annotations and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr

from robolin.checking.outcome import CheckOutcome, counted_outcomes, outcome_lines
from robolin.core.text import printable, printable_lines
from robolin.io.paths import shared_name, shared_text


def github(outcomes: Sequence[CheckOutcome], everything: bool = False) -> str:
    """One GitHub workflow command per result that is not the same, then a summary line."""
    lines = []
    for outcome in outcomes:
        if outcome.status == "same" and not everything:
            continue
        level = "notice" if outcome.status == "same" else "error"
        shared = shared_outcome(outcome)
        title = f"robolin check: {shared.name} {outcome.status}"
        text = "\n".join(_lines(outcome, everything)) or outcome.status
        lines.append(github_command(level, text, **_where(shared), title=title))
    return "".join(f"{line}\n" for line in (*lines, counted_outcomes(outcomes)))


def shared_outcome(outcome: CheckOutcome) -> CheckOutcome:
    """The outcome without absolute paths, for documents that leave this machine."""
    place = outcome.place
    return replace(
        outcome,
        name=shared_name(outcome.name) if outcome.name == outcome.path else outcome.name,
        path=shared_name(outcome.path),
        place=place and replace(place, file=shared_name(place.file)),
    )


def _lines(outcome: CheckOutcome, everything: bool) -> list[str]:
    """Lines that describe an outcome, without absolute paths."""
    where = [part.where.partition(":")[0] for part in outcome.error.parts] if outcome.error else []
    paths = [outcome.path, *where, *([outcome.place.file] if outcome.place else [])]
    return [shared_text(line, paths) for line in outcome_lines(outcome, everything)]


def _where(outcome: CheckOutcome) -> dict[str, str | int]:
    """Annotation properties: the changed line of the robot file, otherwise the stored file."""
    place = outcome.place
    if place is None:
        return {"file": outcome.path}
    return {"file": place.file, "line": place.line, "col": place.column}


def junit(outcomes: Sequence[CheckOutcome], everything: bool = False) -> str:
    """A JUnit document with one test case for each result."""
    failures = sum(outcome.status in ("differs", "updated") for outcome in outcomes)
    errors = sum(outcome.status == "refused" for outcome in outcomes)
    total = sum(outcome.seconds for outcome in outcomes)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="robolin check" tests="{len(outcomes)}" failures="{failures}" '
        f'errors="{errors}" time="{total:.3f}">',
    ]
    for outcome in outcomes:
        lines += _testcase(outcome, everything)
    return "".join(f"{line}\n" for line in (*lines, "</testsuite>"))


def _testcase(outcome: CheckOutcome, everything: bool) -> list[str]:
    name = xml_attribute(shared_outcome(outcome).name)
    kind = xml_attribute(outcome.question or "robolin")
    head = f'  <testcase name={name} classname={kind} time="{outcome.seconds:.3f}"'
    if outcome.status == "same":
        return [f"{head}/>"]
    tag = "error" if outcome.status == "refused" else "failure"
    lines = _lines(outcome, everything) or [outcome.status]
    text = xml_lines(lines)
    message = xml_attribute(lines[0])
    return [f"{head}>", f"    <{tag} message={message}>{text}</{tag}>", "  </testcase>"]


def github_command(level: str, message: str, **properties: str | int) -> str:
    """A workflow command, such as `::error file=arm.urdf,line=3,title=mass::it is negative`."""
    nonempty = {name: value for name, value in properties.items() if value not in ("", 0)}
    fields = ",".join(f"{name}={_property(str(value))}" for name, value in nonempty.items())
    return f"::{level} {fields}".rstrip() + f"::{_message(message)}"


def xml_attribute(text: str) -> str:
    """The text escaped and quoted as an XML attribute value."""
    return quoteattr(printable(text))


def xml_lines(lines: Iterable[str]) -> str:
    """The lines escaped as XML character data."""
    return escape("\n".join(map(printable, lines)))


def _message(text: str) -> str:
    return printable_lines(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
