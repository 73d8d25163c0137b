"""Outcomes of checking stored results, as objects, text, JSON, GitHub annotations, JUnit XML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape, quoteattr

from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.core.text import printable, printable_lines
from robolin.description.model import Finding, SourceLocation
from robolin.errors import FOUND_SOMETHING, RobolinError
from robolin.io.locations import shared_name, shared_text

if TYPE_CHECKING:
    from robolin.checking.compare import Comparison
    from robolin.checking.differences import Difference
    from robolin.checking.model_changes import Change

Status = Literal["same", "differs", "updated", "refused"]

SHOWN_AT_MOST = 20
# the same for GitHub annotations, and the number of annotations of a robot file
ANNOTATED_AT_MOST = 3


@dataclass(frozen=True, eq=False, repr=False)
class CheckOutcome(DisplayMixin):
    """Outcome of checking one stored result.

    Fields:
        name: name of the case, or the path of the stored result
        path: path of the stored result
        status: 'same', 'differs', 'updated' (stored again), or 'refused'
        question: the command and the robot, as far as known
        comparison: the differences.  `.entries` lists all of them, and `.beyond` those beyond
            their tolerance, each with `.array`, `.entry`, `.stored`, `.found`, `.unit` and
            `.rounding`.  `.worth_listing` omits round-off if there are real differences.
            `.structure`, `.notes` and `.contract` are sentences.  After an error, the comparison
            contains only the known model changes
        error: the reason for 'refused', otherwise None
        seconds: duration of the check, in s
        location: location of the first changed line in the robot file, or None

    Example:
        >>> result = robolin.answer(robolin.load("two-link"), "inverse")
        >>> robolin.record(result, "still.npz")
        >>> outcome = robolin.check("still.npz")
        >>> outcome.status, outcome.question, outcome.exit_code
        ('same', 'inverse two-link', 0)
    """

    name: str
    path: str
    status: Status
    question: str = ""
    comparison: Comparison | None = None
    error: RobolinError | None = None
    seconds: float = 0.0
    location: SourceLocation | None = None

    @property
    def exit_code(self) -> int:
        """Exit code of `robolin check`: 0 for 'same', 1 for 'differs', 3 or more for 'refused'."""
        if self.error is not None:
            # an outdated request is not a usage error of `check`
            return max(self.error.exit_code, RobolinError.exit_code)
        return 0 if self.status == "same" else FOUND_SOMETHING


def worst_exit_code(outcomes: Sequence[CheckOutcome]) -> int:
    """The most severe exit code: a failed check ranks above a difference."""
    return max((outcome.exit_code for outcome in outcomes), default=0)


def reasons(comparison: Comparison) -> Iterator[str]:
    """All differences except numbers: first the changes of the model, which explain the others."""
    yield from map(str, comparison.changes)
    yield from comparison.structure
    yield from comparison.notes
    if not comparison.same:
        yield from comparison.contract


def outcome_lines(
    outcome: CheckOutcome, everything: bool = False, most: int = SHOWN_AT_MOST
) -> list[str]:
    """An outcome as lines: the error, or the differences, largest first, at most `most`."""
    problems = outcome.error.parts if outcome.error is not None else ()
    lines = [line for part in problems for line in _problem(part)]
    if outcome.comparison is not None:
        lines += compared_lines(outcome.comparison, everything, most=most)
    return lines


def _problem(error: RobolinError) -> list[str]:
    """An error and its hint, one line each."""
    text = f"{error.where}: {error.message}" if error.where else error.message
    return [printable(line) for line in (text, error.hint and f"hint: {error.hint}") if line]


def compared_lines(
    comparison: Comparison,
    everything: bool = False,
    rest: str = " (--all)",
    most: int = SHOWN_AT_MOST,
) -> list[str]:
    """A comparison as lines.

    rest: suffix of the line that counts the omitted entries
    """
    shown, counts = shown_entries(comparison, everything, rest, most)
    return [*map(printable, (*reasons(comparison), *map(str, shown))), *counts]


def shown_entries(
    comparison: Comparison,
    everything: bool,
    rest: str = " (--all)",
    most: int = SHOWN_AT_MOST,
) -> tuple[tuple[Difference, ...], list[str]]:
    """The entries to show, and one line per kind of omitted entry."""
    if everything:
        return comparison.entries, []
    listed = comparison.worth_listing
    shown = listed[:most]
    more, rounded = len(listed) - len(shown), len(comparison.beyond) - len(listed)
    verb = "y differs" if more == 1 else "ies differ"
    counts = [f"… {more} {'more ' * bool(shown)}entr{verb}{rest}"] if more else []
    if rounded:
        entries = "entry differs" if rounded == 1 else "entries differ"
        counts.append(f"… {rounded} {entries} by round-off only{rest}")
    return shown, counts


def counted_outcomes(outcomes: Sequence[CheckOutcome]) -> str:
    """Number of outcomes of each kind, as text."""
    kinds = ("same", "differs", "updated", "refused")
    counts = {kind: sum(o.status == kind for o in outcomes) for kind in kinds}
    parts = [f"{count} {kind}" for kind, count in counts.items() if count]
    return f"{len(outcomes)} checked: {', '.join(parts) or 'nothing'}"


def outcomes_document(outcomes: Sequence[CheckOutcome], everything: bool = False) -> dict[str, Any]:
    """The outcomes as JSON types."""
    return {"checked": len(outcomes), "cases": [_plain(o, everything) for o in outcomes]}


def _plain(outcome: CheckOutcome, everything: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": outcome.name,
        "file": outcome.path,
        "question": outcome.question,
        "status": outcome.status,
        "seconds": round(outcome.seconds, 4),
    }
    if outcome.error is not None:
        document["errors"] = [
            {"where": part.where, "message": part.message, "hint": part.hint}
            for part in outcome.error.parts
        ]
    if (comparison := outcome.comparison) is not None:
        entries = comparison.entries if everything else comparison.beyond
        document |= {
            "differences": [_plain_entry(entry) for entry in entries],
            "structure": list(comparison.structure),
            "notes": list(comparison.notes),
            "contract": list(comparison.contract),
            "model": [plain_change(change) for change in comparison.changes],
        }
    return document


def _plain_entry(entry: Difference) -> dict[str, Any]:
    return {
        "array": entry.array,
        "entry": entry.entry,
        "row": entry.row,
        "stored": _number(entry.stored),
        "found": _number(entry.found),
        "unit": entry.unit,
        "relative": _number(entry.relative),
        "rtol": entry.tolerance.rtol,
        "atol": entry.tolerance.atol,
        "rows": entry.rows,
        "rounding": entry.rounding,
    }


def plain_change(change: Change) -> dict[str, Any]:
    """A model change as JSON types."""
    return {
        "part": change.part,
        "name": change.name,
        "quantity": change.quantity,
        "old": change.old,
        "new": change.new,
        "unit": change.unit,
        "relative": change.relative,
    }


def _number(value: float | complex) -> Any:
    if isinstance(value, complex):
        return {"re": _number(value.real), "im": _number(value.imag)}
    return value if isfinite(value) else str(value)


def github(outcomes: Sequence[CheckOutcome], everything: bool = False) -> str:
    """One GitHub workflow command per result that is not the same, then a summary line."""
    lines = []
    for outcome in outcomes:
        if outcome.status == "same" and not everything:
            continue
        level = "notice" if outcome.status == "same" else "error"
        shared = shared_outcome(outcome)
        title = f"robolin check: {shared.name} {outcome.status}"
        text = "\n".join(_lines(outcome, everything, ANNOTATED_AT_MOST)) or outcome.status
        lines.append(github_command(level, text, **_where(shared), title=title))
    return "".join(f"{line}\n" for line in (*lines, counted_outcomes(outcomes)))


def shared_outcome(outcome: CheckOutcome) -> CheckOutcome:
    """The outcome without absolute paths, for documents that leave this machine."""
    location = outcome.location
    return replace(
        outcome,
        name=shared_name(outcome.name) if outcome.name == outcome.path else outcome.name,
        path=shared_name(outcome.path),
        location=location and replace(location, file=shared_name(location.file)),
    )


def _lines(outcome: CheckOutcome, everything: bool, most: int = SHOWN_AT_MOST) -> list[str]:
    """Lines that describe an outcome, without absolute paths."""
    where = [part.where.partition(":")[0] for part in outcome.error.parts] if outcome.error else []
    paths = [outcome.path, *where, *([outcome.location.file] if outcome.location else [])]
    return [shared_text(line, paths) for line in outcome_lines(outcome, everything, most)]


def _where(outcome: CheckOutcome) -> dict[str, str | int]:
    """Annotation properties: the changed line of the robot file, otherwise the stored file."""
    location = outcome.location
    if location is None:
        return {"file": outcome.path}
    return {"file": location.file, "line": location.line, "col": location.column}


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


def shared_finding(finding: Finding, name: Callable[[str], str] = shared_name) -> Finding:
    """The finding with another name for its file, also in its message and hint."""
    location = finding.location
    return replace(
        finding,
        location=replace(location, file=name(location.file)),
        message=shared_text(finding.message, [location.file], name),
        hint=shared_text(finding.hint, [location.file], name),
    )
