"""robolin verify: verify results for one robot, as text or as JSON with every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from math import inf, isfinite
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import METHOD, OUTPUT, VerbCommand, flag
from robolin.cli.flags.state_flags import model_option_flags
from robolin.cli.report import Report, ReportSection, ReportTable, TextLines, report_options
from robolin.core.text import pluralize
from robolin.errors import FOUND_SOMETHING
from robolin.queries.request import ArmSource

if TYPE_CHECKING:
    from robolin.checking.verification.checks import Check, RightDigits
    from robolin.checking.verification.verify import Verification

PEERS = ("pinocchio", "mujoco")

_FLAGS = [
    flag(
        "--samples N",
        METHOD,
        "Number of random states (default 20, fewer for large robots)",
        type=click.IntRange(1),
    ),
    flag("--seed N", METHOD, "Random seed", type=click.IntRange(0), default=0),
    flag("--against", METHOD, "Also compare with another program, if installed", choices=PEERS),
    flag("-v --verbose", OUTPUT, "List all checks with error, bound and worst state"),
]


@click.command("verify", cls=VerbCommand, params=_FLAGS)
@model_option_flags
@report_options
def command(
    model: ArmSource,
    report: Report,
    samples: int | None,
    seed: int,
    against: str | None,
    verbose: bool,
) -> None:
    """Verify robolin's results for a robot.

    Uses random states within the joint limits. Compares derivatives with complex steps,
    results with identities of mechanics, algorithms with each other, kernels with plain
    Python, and all results with 50-digit arithmetic. Exits with code 1 if an error exceeds
    its bound, or if ARM has a defect, such as a joint that moves no mass.

    \b
    Examples:
      robolin verify panda
      robolin verify ur5 --seed 1 -v
      robolin verify arm.urdf --samples 100 --against pinocchio
      robolin verify arm.urdf --format json
    """
    from robolin.checking.verification.verify import verify

    verification = verify(model.arm(), samples=samples, seed=seed, against=against)
    report.write(verify_sections(verification, verbose), verify_document(verification))
    if not verification.passed:
        click.get_current_context().exit(FOUND_SOMETHING)


WIDTH = 100

# number of correct digits below which the state is shown
FEW = 10.0
# results with the fewest correct digits that are listed
_WORST = 5


def verify_sections(outcome: Verification, everything: bool = False) -> list[ReportSection]:
    """The verdict, then failures and a line per family; every check with `everything`."""
    compared = [check for check in outcome.checks if check.error is not None]
    plain = [check for check in compared if check.family != "digits"]
    exact = [check for check in compared if check.family == "digits"]
    absent = list(_absent(outcome))
    shown: list[ReportSection] = [
        TextLines([_verdict(outcome), _head(outcome), *_failures(outcome)])
    ]
    if everything:
        shown.append(_report_table(plain))
    else:
        if failed := [check for check in plain if check.verdict != "passed"]:
            shown.append(_report_table(failed))
        shown.append(_family_table(compared))
    if exact:
        shown.append(TextLines(_digits(exact, everything), _digits_title(len(outcome.condition))))
    if absent and everything:
        shown.append(TextLines(absent, "not compared"))
    if outcome.comparison is not None:
        shown.append(TextLines(_accounted(outcome), f"against {outcome.comparison.peer}"))
    if not everything:
        skipped = sum(check.error is None for check in outcome.checks)
        more = f"{pluralize(skipped, 'check')} not compared; " if skipped else ""
        return [*shown, TextLines([f"{more}-v lists every check, its bound and the worst state"])]
    from robolin.checking.verification.checks import WHY, YARDSTICK

    shown.append(TextLines(_worst(outcome), "worst"))
    reasons = dict.fromkeys(check.why for check in compared)
    bounds = [f"{why}: {WHY[why]}" for why in reasons]
    shown.append(TextLines([*wrap(YARDSTICK, WIDTH), *bounds], "bounds"))
    return shown


def _head(outcome: Verification) -> str:
    low, high = (_number(float(x)) for x in (outcome.condition.min(), outcome.condition.max()))
    return (
        f"{pluralize(len(outcome.joints), 'joint')}, "
        f"{pluralize(len(outcome.condition), 'state')} within the joint limits "
        f"(seed {outcome.seed}), cond(M) {low} to {high}"
    )


def _family_table(checks: list[Check]) -> ReportTable:
    """One line per family: number of checks, and the one nearest to its bound."""
    families: dict[str, list[Check]] = {}
    for check in checks:
        families.setdefault(check.family, []).append(check)
    rows = []
    for family, members in families.items():
        worst = max(members, key=lambda check: check.share)
        passed = sum(check.verdict == "passed" for check in members)
        share = f"{worst.share:.1%}" if isfinite(worst.share) else "above"
        if not worst.bound:
            share = "equal" if not worst.error else "differ"
        rows.append((family, f"{passed} of {len(members)}", share, worst.name))
    header = ("checks", "passed", "error/bound", "check closest to its bound")
    return ReportTable(header, rows, frozenset(("passed", "error/bound")))


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
    return f"fewest correct digits in {every}, compared with 50-digit arithmetic"


def _digits(checks: list[Check], everything: bool) -> list[str]:
    """Fewest correct digits of each result over all its algorithms, or of the five worst."""
    fewest: dict[str, RightDigits] = {}
    for result in (result for check in checks for result in check.digits):
        fewest[result.array] = min(fewest.get(result.array, result), result, key=_digits_key)
    counted = [result for result in fewest.values() if result.digits is not None]
    if not everything:
        # the terminal wraps it
        return [", ".join(_right(result) for result in sorted(counted, key=_digits_key)[:_WORST])]
    lines = _wrapped(_right(result) for result in counted)
    for why, names in _without_digits(fewest.values()).items():
        lines += wrap(f"{why}: {', '.join(names)}", WIDTH, subsequent_indent="    ")
    return lines


def _wrapped(words: Iterable[str]) -> list[str]:
    """Wrapped lines; a result and its digits stay on one line."""
    together = ", ".join(word.replace(" ", "\0") for word in words)
    lines = wrap(together, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _digits_key(result: RightDigits) -> tuple[float, int]:
    return inf if result.digits is None else result.digits, result.solved


def _right(result: RightDigits) -> str:
    """Correct digits, the state if they are few, and the number of states with a result."""
    remarks = []
    if result.digits is not None and result.digits < FEW:
        remarks.append(f"in state {result.state}, largest entry {_number(result.largest)}")
    if result.solved < result.states:
        remarks.append(f"{result.solved} of {result.states} states have a result")
    return f"{result.array} {result.digits:.1f}" + (f" ({'; '.join(remarks)})" if remarks else "")


def _without_digits(results: Iterable[RightDigits]) -> dict[str, list[str]]:
    """Results without digits, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for result in results:
        if result.digits is None:
            why = "0 in all states" if result.solved else "no result in any state"
            reasons.setdefault(why, []).append(result.array)
    return reasons


def _absent(outcome: Verification) -> Iterator[str]:
    """Skipped checks, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for check in outcome.checks:
        if check.error is None:
            reasons.setdefault(f"{check.verdict}: {check.detail}", []).append(check.name)
    for reason, names in reasons.items():
        yield reason
        lines = wrap("; ".join(names), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        yield from (f"    {line}" for line in lines)


def _accounted(outcome: Verification) -> list[str]:
    assert outcome.comparison is not None
    lines = [f"{name}: {what}" for name, what in outcome.comparison.accounted.items()]
    return [f"model: {outcome.comparison.read}", *lines] if outcome.comparison.read else lines


def _worst(outcome: Verification) -> list[str]:
    worst = outcome.worst
    if worst.state is None:
        return ["no check was possible"]
    share = worst.share
    used = f"{share:.1%} of its bound" if isfinite(share) else "above its bound"
    lines = [
        f"{worst.family}, {worst.name}: {_number(worst.error)}, {used}, in state {worst.state}"
    ]
    for name, values in outcome.state(worst.state).items():
        text = ", ".join(f"{value:.6g}" for value in values)
        lines += wrap(
            f"{name} = {text}", WIDTH, initial_indent="    ", subsequent_indent="        "
        )
    return lines


def _failures(outcome: Verification) -> list[str]:
    lines = [f"defect: {text}" for text in outcome.defects]
    return lines + [
        f"exceeds its bound: {check.family}, {check.name} {check.detail}"
        for check in outcome.failed
    ]


def _verdict(outcome: Verification) -> str:
    """The first line: passed or failed, and the largest share of a bound."""
    done = sum(check.error is not None for check in outcome.checks)
    share = outcome.worst.share
    used = f", largest error {share:.1%} of its bound" if isfinite(share) else ""
    if outcome.passed:
        return f"{outcome.arm}: passed, {pluralize(done, 'check')}{used}"
    out = len(outcome.failed)
    parts = (
        [f"{out} of {done} checks exceed their bounds"] if out else [f"{done} checks within bounds"]
    )
    if outcome.defects:
        parts.append(f"{pluralize(len(outcome.defects), 'defect')} of the robot")
    return f"{outcome.arm}: {'FAILED' if out else 'DEFECT'}, {', '.join(parts)}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if not isfinite(value):
        return "infinite"
    return f"{value:.1e}" if value else "0"


def verify_document(outcome: Verification) -> dict[str, Any]:
    """The verification as a JSON document."""
    from robolin.checking.verification.checks import WHY

    comparison = outcome.comparison
    return {
        "arm": outcome.arm,
        "joints": list(outcome.joints),
        "samples": len(outcome.condition),
        "seed": outcome.seed,
        "passed": outcome.passed,
        "defects": list(outcome.defects),
        "condition": [_finite(float(x)) for x in outcome.condition],
        "checks": [_entry(check) for check in outcome.checks],
        "worst": _entry(outcome.worst),
        "bounds": dict(WHY),
        "against": None
        if comparison is None
        else {
            "peer": comparison.peer,
            "model": comparison.read,
            "accounted": dict(comparison.accounted),
        },
        "states": [outcome.state(i) for i in range(len(outcome.condition))],
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
        **({"digits": [asdict(result) for result in check.digits]} if check.digits else {}),
    }


def _finite(value: float) -> float | None:
    """The value, or None for infinity and NaN, which JSON lacks."""
    return value if isfinite(value) else None
