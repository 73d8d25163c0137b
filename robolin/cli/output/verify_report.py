"""How a verification is shown: one page, or JSON with every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from math import inf, isfinite
from textwrap import wrap
from typing import Any

from robolin.checking.verification.checks import WHY, YARDSTICK, Check, RightDigits
from robolin.checking.verification.verify import Verification
from robolin.cli.output.report import ReportSection, ReportTable, TextLines
from robolin.core.text import pluralize

WIDTH = 100

# right digits below which it is said where
FEW = 10.0


def verify_sections(found: Verification) -> list[ReportSection]:
    """What was compared, what was not and why, and the verdict on the last line."""
    compared = [check for check in found.checks if check.error is not None]
    plain = [check for check in compared if check.family != "digits"]
    shown: list[ReportSection] = [TextLines([_head(found)]), _report_table(plain)]
    if exact := [check for check in compared if check.family == "digits"]:
        shown.append(TextLines(_digits(exact), _digits_title(len(found.condition))))
    if absent := list(_absent(found)):
        shown.append(TextLines(absent, "not compared"))
    if found.comparison is not None:
        shown.append(TextLines(_accounted(found), f"against {found.comparison.peer}"))
    shown.append(TextLines(_worst(found), "worst"))
    reasons = dict.fromkeys(check.why for check in compared)
    bounds = [f"{why}: {WHY[why]}" for why in reasons]
    shown.append(TextLines([*wrap(YARDSTICK, WIDTH), *bounds], "bounds"))
    shown.append(TextLines(_verdict(found)))
    return shown


def _head(found: Verification) -> str:
    low, high = (_number(float(x)) for x in (found.condition.min(), found.condition.max()))
    return (
        f"{found.arm}: {pluralize(len(found.joints), 'joint')}, {len(found.condition)} states "
        f"inside its limits (seed {found.seed}), cond(M) {low} to {high}"
    )


def _report_table(checks: list[Check]) -> ReportTable:
    header = ("check", "what", "error", "bound", "by", "state", "verdict")
    rows = [
        (
            check.family,
            check.name,
            _number(check.error),
            _number(check.bound),
            check.why,
            str(check.state),
            check.verdict if check.verdict == "passed" else check.verdict.upper(),
        )
        for check in checks
    ]
    return ReportTable(header, rows, frozenset(("error", "bound", "state")), keys=2)


def _digits_title(states: int) -> str:
    every = f"all {states} states" if states > 1 else "the one state"
    return f"right digits beside the largest entry: the fewest of {every}, by 50-digit arithmetic"


def _digits(checks: list[Check]) -> list[str]:
    """The fewest right digits of each result, over all algorithms that give it."""
    fewest: dict[str, RightDigits] = {}
    for told in (told for check in checks for told in check.digits):
        fewest[told.array] = min(fewest.get(told.array, told), told, key=_in_question)
    lines = _wrapped(_right(told) for told in fewest.values() if told.digits is not None)
    for why, names in _without_digits(fewest.values()).items():
        lines += wrap(f"{why}: {', '.join(names)}", WIDTH, subsequent_indent="    ")
    return lines


def _wrapped(words: Iterable[str]) -> list[str]:
    """Lines that keep every result beside its digits."""
    together = ", ".join(word.replace(" ", "\0", 1) for word in words)
    lines = wrap(together, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _in_question(told: RightDigits) -> tuple[float, int]:
    return inf if told.digits is None else told.digits, told.answered


def _right(told: RightDigits) -> str:
    """The digits, where all too few of them are seen, and how often there is an answer."""
    remarks = []
    if told.digits is not None and told.digits < FEW:
        remarks.append(f"in state {told.state}, largest entry {_number(told.largest)}")
    if told.answered < told.states:
        remarks.append(f"{told.answered} of {told.states} states have an answer")
    return f"{told.array} {told.digits:.1f}" + (f" ({'; '.join(remarks)})" if remarks else "")


def _without_digits(results: Iterable[RightDigits]) -> dict[str, list[str]]:
    """Results of which there are no digits to count, by the reason."""
    reasons: dict[str, list[str]] = {}
    for told in results:
        if told.digits is None:
            why = "0 in all states" if told.answered else "no answer in any state"
            reasons.setdefault(why, []).append(told.array)
    return reasons


def _absent(found: Verification) -> Iterator[str]:
    """What was not compared, gathered by reason."""
    reasons: dict[str, list[str]] = {}
    for check in found.checks:
        if check.error is None:
            reasons.setdefault(f"{check.verdict}: {check.detail}", []).append(check.name)
    for reason, names in reasons.items():
        yield reason
        lines = wrap("; ".join(names), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        yield from (f"    {line}" for line in lines)


def _accounted(found: Verification) -> list[str]:
    assert found.comparison is not None
    said = [f"{name}: {what}" for name, what in found.comparison.accounted.items()]
    return [f"model: {found.comparison.read}", *said] if found.comparison.read else said


def _worst(found: Verification) -> list[str]:
    worst = found.worst
    if worst.state is None:
        return ["nothing could be compared"]
    share = worst.share
    used = f"{share:.1%} of its bound" if isfinite(share) else "out of its bound"
    lines = [
        f"{worst.family}, {worst.name}: {_number(worst.error)}, {used}, in state {worst.state}"
    ]
    for name, values in found.state(worst.state).items():
        text = ", ".join(f"{value:.6g}" for value in values)
        lines += wrap(
            f"{name} = {text}", WIDTH, initial_indent="    ", subsequent_indent="        "
        )
    return lines


def _verdict(found: Verification) -> list[str]:
    lines = [f"defect: {text}" for text in found.defects]
    lines += [
        f"out of bounds: {check.family}, {check.name} {check.detail}" for check in found.failed
    ]
    done = sum(check.error is not None for check in found.checks)
    out = len(found.failed)
    if found.passed:
        return [f"passed: {done} checks within bounds"]
    summary = [f"{out} of {done} checks out of bounds"] if out else [f"{done} checks within bounds"]
    if found.defects:
        summary.append(f"{pluralize(len(found.defects), 'defect')} of the arm")
    return [*lines, f"FAILED: {', '.join(summary)}" if out else f"DEFECT: {', '.join(summary)}"]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if not isfinite(value):
        return "infinite"
    return f"{value:.1e}" if value else "0"


def verify_document(found: Verification) -> dict[str, Any]:
    """Everything, for machines."""
    comparison = found.comparison
    return {
        "arm": found.arm,
        "joints": list(found.joints),
        "samples": len(found.condition),
        "seed": found.seed,
        "passed": found.passed,
        "defects": list(found.defects),
        "condition": [_finite(float(x)) for x in found.condition],
        "checks": [_entry(check) for check in found.checks],
        "worst": _entry(found.worst),
        "bounds": dict(WHY),
        "against": None
        if comparison is None
        else {
            "peer": comparison.peer,
            "model": comparison.read,
            "accounted": dict(comparison.accounted),
        },
        "states": [found.state(i) for i in range(len(found.condition))],
    }


def _entry(check: Check) -> dict[str, Any]:
    return {
        "family": check.family,
        "name": check.name,
        "verdict": check.verdict,
        "error": None if check.error is None else _finite(check.error),
        "bound": None if check.bound is None else _finite(check.bound),
        "why": check.why,
        "state": check.state,
        "detail": check.detail,
        **({"digits": [asdict(told) for told in check.digits]} if check.digits else {}),
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if isfinite(value) else None
