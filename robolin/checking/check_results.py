"""Stored results, each of them checked and told about by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from robolin.checking import tolerance as rounding
from robolin.checking.compare import Comparison, compare_with_stored
from robolin.checking.model_changes import Change, model_changes
from robolin.checking.outcome import CheckOutcome
from robolin.checking.record_results import record_inquiry
from robolin.checking.recorded_question import (
    Inputs,
    RecordedQuestion,
    recorded_question,
    with_stored_motors,
)
from robolin.checking.tolerance import Tolerances, tolerances_in
from robolin.core.results.result import Result, stream_of_one_part
from robolin.core.results.sound_arrays import require_finite
from robolin.core.threads import result_of
from robolin.description.load import figures, read
from robolin.description.model import Description, JointEntry, LinkEntry, LoopEntry, SourceLocation
from robolin.errors import RobolinError
from robolin.io.provenance_writer import to_json_types
from robolin.io.stored import open_stored
from robolin.queries.query_context import DEFAULT_SETTINGS, Settings, run_request

if TYPE_CHECKING:
    from robolin.checking.suite import Case
    from robolin.io.stored import StoredFile


@dataclass(frozen=True)
class CheckSettings:
    """How stored results are checked.

    close:    the tolerances asked for, in place of those of the suite or the stored result
    settings: for the verbs that are run again
    update:   whether what differs is stored anew
    """

    inputs: Inputs
    close: Tolerances | None = None
    settings: Settings = DEFAULT_SETTINGS
    update: bool = False


def check_file(path: str, how: CheckSettings) -> CheckOutcome:
    """A stored result beside what its question is answered with now."""

    def check() -> CheckOutcome:
        with open_stored(path) as stored:
            asked = recorded_question(stored, how.inputs)
            return _checked(stored, path, asked, how, how.close or _stored_with(stored))

    return _outcome(path, path, check)


def check_case(case: Case, how: CheckSettings) -> CheckOutcome:
    """A case of a suite beside what is stored for it."""
    path = str(case.stored)

    def check() -> CheckOutcome:
        if not case.stored.exists():
            message = f"the stored result '{path}' of case '{case.name}' is missing"
            hint = "`robolin record --suite` makes the missing ones"
            raise RobolinError(message, where=case.where, hint=hint)
        with open_stored(path) as stored:
            close = how.close or case.tolerances or _stored_with(stored)
            return _checked(stored, case.name, case.question, how, close)

    return _outcome(case.name, path, check)


def check_pair(path: str, other: str, how: CheckSettings) -> CheckOutcome:
    """A stored result beside another one; nothing is computed."""

    def check() -> CheckOutcome:
        with open_stored(path) as stored, open_stored(other) as second:
            close = how.close or _stored_with(stored)
            comparison = compare_with_stored(second.result_stream(), stored, close)
            return CheckOutcome(path, path, "same", _question(stored), comparison)

    return _outcome(path, path, check)


def check_in_parallel(
    checks: Iterable[Callable[[], CheckOutcome]], jobs: int
) -> tuple[CheckOutcome, ...]:
    """All outcomes, from the quickest to the slowest."""
    pool = ThreadPoolExecutor(jobs)
    try:
        found = [result_of(future) for future in [pool.submit(check) for check in checks]]
    finally:
        # somebody who interrupts does not wait for what has begun
        pool.shutdown(wait=False, cancel_futures=True)
    return tuple(sorted(found, key=lambda outcome: outcome.seconds))


def in_case(case: Case, error: RobolinError) -> RobolinError:
    """What a verb complained about, with the place of the case that asked it."""
    message = f"{error.where}: {error.message}" if error.where else error.message
    return type(error)(f"case '{case.name}': {message}", where=case.where, hint=error.hint)


def _checked(
    stored: StoredFile, name: str, asked: RecordedQuestion, how: CheckSettings, close: Tolerances
) -> CheckOutcome:
    question = _question(stored)
    try:
        now = with_stored_motors(asked, stored.meta)
        comparison = _compared(stored, now, how.settings, close)
    except RobolinError as error:
        # a joint that is gone, for example, takes the question with it
        changed = _changed_model(stored, asked)
        place = changed_place(asked.arm, changed.changes) if changed else None
        return CheckOutcome(name, stored.path, "refused", question, changed, error, place=place)
    if comparison.only_arrays(rounding.FORMER_ARRAYS):
        comparison = _by_former_algorithms(stored, asked, how.settings, close) or comparison
    place = changed_place(asked.arm, comparison.changes)
    if how.inputs.model is not None:
        comparison = _under_another_name(comparison)
    if not comparison.same and close.exact and _from_a_library(stored):
        comparison = replace(comparison, notes=(*comparison.notes, rounding.LIBRARY_NOTE))
    if how.update and not comparison.same:
        record_inquiry(asked.inquiry(), Path(stored.path), how.settings, _stored_with(stored))
        return CheckOutcome(name, stored.path, "updated", question, comparison, place=place)
    return CheckOutcome(name, stored.path, "same", question, comparison, place=place)


def _compared(
    stored: StoredFile, asked: RecordedQuestion, settings: Settings, close: Tolerances
) -> Comparison:
    """The answer as it is now beside the stored one."""
    with run_request(asked.inquiry(), settings) as answer:
        if isinstance(answer, Result):
            require_finite(answer)
            answer = stream_of_one_part(answer)
        return compare_with_stored(answer, stored, close)


def _by_former_algorithms(
    stored: StoredFile, asked: RecordedQuestion, settings: Settings, close: Tolerances
) -> Comparison | None:
    """The comparison with what former algorithms answer, if that is the stored result."""
    try:
        comparison = _compared(stored, asked, replace(settings, former=True), close)
    except RobolinError:
        return None
    return comparison if comparison.same else None


def _changed_model(stored: StoredFile, asked: RecordedQuestion) -> Comparison | None:
    """What differs about the arm where its question cannot be answered, as far as is known."""
    before = stored.meta["model"]
    try:
        options = asked.inquiry().sources[0].options
        changes = (
            model_changes(before, to_json_types(figures(asked.arm, options))) if before else ()
        )
    except RobolinError:
        return None
    return Comparison((), changes=changes)


def _from_a_library(stored: StoredFile) -> bool:
    meta = stored.meta
    return rounding.from_a_library(meta["verb"], meta["options"], meta["model"])


def _under_another_name(comparison: Comparison) -> Comparison:
    """The comparison without the name of an arm that was asked for instead."""
    kept = tuple(line for line in comparison.structure if not line.startswith("option arm:"))
    return replace(comparison, structure=kept)


def _outcome(name: str, path: str, check: Callable[[], CheckOutcome]) -> CheckOutcome:
    """The outcome with its time; what went wrong is part of it."""
    start = perf_counter()
    try:
        outcome = check()
    except RobolinError as error:
        outcome = CheckOutcome(name, path, "refused", error=error)
    if outcome.status == "same" and outcome.comparison and not outcome.comparison.same:
        outcome = replace(outcome, status="differs")
    return replace(outcome, seconds=perf_counter() - start)


def _stored_with(stored: StoredFile) -> Tolerances:
    return tolerances_in(stored.meta.get("tolerances", {}))


def _question(stored: StoredFile) -> str:
    arm: Sequence[str] = [stored.meta["options"].get("arm", "")]
    return " ".join([stored.meta["verb"], *filter(None, arm)])


# the part of a joint that a figure of it is written in, where it has no place of its own
_PARTS = {
    **dict.fromkeys(("damping", "friction", "armature", "stiffness", "rest"), "dynamics"),
    "rotation": "origin",
    "negative": "friction",
}


def changed_place(arm: str, changes: Sequence[Change]) -> SourceLocation | None:
    """The line of the first change that is still to be seen in the file of an arm."""
    if not changes or not Path(arm).is_file() or arm.lower().endswith(".xacro"):
        # lines of an expansion are no lines of the file
        return None
    try:
        description = read(arm).description
    except RobolinError:
        return None
    return None if description is None else next(_places(description, changes), None)


def _places(description: Description, changes: Sequence[Change]) -> Iterator[SourceLocation]:
    entries: dict[str, Sequence[LinkEntry | JointEntry | LoopEntry]] = {
        "link": description.links,
        "joint": description.joints,
        "loop": description.loops,
    }
    for change in changes:
        # a part that was removed has no line any more
        name = change.new if change.quantity == "renamed" else change.name
        for entry in entries.get(change.part, ()):
            if entry.name == name:
                yield _place(entry, change.quantity)


def _place(entry: LinkEntry | JointEntry | LoopEntry, quantity: str) -> SourceLocation:
    first = quantity.partition(" ")[0]
    if isinstance(entry, LinkEntry):
        return entry.place if quantity in ("added", "renamed") else entry.at(first)
    if isinstance(entry, JointEntry):
        if quantity.endswith(" limit"):
            return entry.at("limit")
        return entry.at(first if first in entry.places else _PARTS.get(first, first))
    return entry.place
