"""Record reference results; check them: compute each again, compare, report an outcome."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from robolin.checking import differences as rounding
from robolin.checking.compare import Comparison, compare_with_stored
from robolin.checking.differences import LIBRARY_NOTE, Tolerances, from_a_library, tolerances_in
from robolin.checking.model_changes import Change, model_changes
from robolin.checking.outcome import CheckOutcome
from robolin.checking.recorded_question import (
    Inputs,
    RecordedQuestion,
    recorded_question,
    with_stored_motors,
)
from robolin.core.records import dataclass
from robolin.core.result import (
    Reference,
    Result,
    ResultStream,
    checked_stream,
    stream_of_one_part,
    validate_result,
)
from robolin.core.summary import SELECTED, only_arrays
from robolin.core.threads import result_of
from robolin.description.load import model_dict, read
from robolin.description.model import Description, JointEntry, LinkEntry, LoopEntry, SourceLocation
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.format_table import (
    FORMATS,
    JOIN,
    format_of,
    require_output_is_no_input,
    require_target,
    split_files,
    split_part,
)
from robolin.io.provenance import to_json_types
from robolin.io.stored import open_stored, require_holdable
from robolin.queries.option_specs import STATES_OPTION
from robolin.queries.question import answering_verb
from robolin.queries.request import (
    ARM_OPTION,
    DEFAULT_SETTINGS,
    MessageCallback,
    Request,
    Settings,
    run_request,
)
from robolin.queries.states import require_nan_support

if TYPE_CHECKING:
    from robolin.checking.suite import Case
    from robolin.io.stored import StoredFile


@dataclass(frozen=True)
class CheckSettings:
    """Options for checking stored results.

    close:    tolerances that replace those of the suite or the stored result
    settings: for the computations
    update:   store results again that differ
    """

    inputs: Inputs
    close: Tolerances | None = None
    settings: Settings = DEFAULT_SETTINGS
    update: bool = False


def check_file(path: str, options: CheckSettings) -> CheckOutcome:
    """Compute a stored result again and compare."""

    def check() -> CheckOutcome:
        _require_result_name(path)
        with open_stored(path) as stored:
            question = recorded_question(stored, options.inputs)
            return _checked(stored, path, question, options, options.close or _stored_with(stored))

    return _outcome(path, path, check)


def _require_result_name(path: str) -> None:
    """Reject a folder, and the provenance of a CSV result in place of the result."""
    if Path(path).is_dir():
        hint = f"check the results in it: {Path(path).as_posix().removesuffix('/')}/*"
        raise FileError("is a folder, not a stored result", where=path, hint=hint)
    table = path.removesuffix(FORMATS["csv"].companion)
    if table != path and Path(table).is_file():
        message = f"contains the provenance of {table}, not a result"
        raise UsageError(message, where=path, hint=f"check {table}")


def check_case(case: Case, options: CheckSettings) -> CheckOutcome:
    """Compute a case of a suite and compare with the stored result."""
    path = str(case.stored)

    def check() -> CheckOutcome:
        if not case.stored.exists():
            message = f"case '{case.name}': the stored result '{path}' does not exist"
            hint = "run `robolin record --suite` to compute missing results"
            raise RobolinError(message, where=case.where, hint=hint)
        with open_stored(path) as stored:
            close = options.close or case.tolerances or _stored_with(stored)
            return _checked(stored, case.name, case.question, options, close)

    return _outcome(case.name, path, check)


def check_pair(path: str, other: str, options: CheckSettings) -> CheckOutcome:
    """Compare two stored results without computing anything."""

    def check() -> CheckOutcome:
        with open_stored(path) as stored, open_stored(other) as second:
            close = options.close or _stored_with(stored)
            comparison = compare_with_stored(second.result_stream(), stored, close)
            return CheckOutcome(path, path, "same", _question(stored), comparison)

    return _outcome(path, path, check)


def check_in_parallel(
    checks: Iterable[Callable[[], CheckOutcome]], jobs: int
) -> tuple[CheckOutcome, ...]:
    """Run the checks in parallel and sort the outcomes by their duration."""
    pool = ThreadPoolExecutor(jobs)
    try:
        outcomes = [result_of(future) for future in [pool.submit(check) for check in checks]]
    finally:
        # after an interrupt, do not wait for checks that have started
        pool.shutdown(wait=False, cancel_futures=True)
    return tuple(sorted(outcomes, key=lambda outcome: outcome.seconds))


def in_case(case: Case, error: RobolinError) -> RobolinError:
    """The error of a command, with the case and its line in the suite file."""
    message = f"{error.where}: {error.message}" if error.where else error.message
    return type(error)(f"case '{case.name}': {message}", where=case.where, hint=error.hint)


def _checked(
    stored: StoredFile,
    name: str,
    request: RecordedQuestion,
    options: CheckSettings,
    close: Tolerances,
) -> CheckOutcome:
    question = _question(stored)
    try:
        now = with_stored_motors(request, stored.meta)
        comparison = _compared(stored, now, options.settings, close)
    except RobolinError as refused:
        # for example, a joint of the stored request no longer exists
        error = _with_recorded_command(refused, request.verb)
        changed = _changed_model(stored, request)
        location = changed_location(request.arm, changed.changes) if changed else None
        return CheckOutcome(
            name, stored.path, "refused", question, changed, error, location=location
        )
    if comparison.only_arrays(rounding.FORMER_ARRAYS):
        comparison = _by_former_algorithms(stored, request, options.settings, close) or comparison
    location = changed_location(request.arm, comparison.changes)
    if options.inputs.model is not None:
        comparison = _under_another_name(comparison)
    if not comparison.same and close.exact and _from_a_library(stored):
        comparison = replace(comparison, notes=(*comparison.notes, rounding.LIBRARY_NOTE))
    if options.update and not comparison.same:
        record_inquiry(request.inquiry(), Path(stored.path), options.settings, _stored_with(stored))
        return CheckOutcome(name, stored.path, "updated", question, comparison, location=location)
    return CheckOutcome(name, stored.path, "same", question, comparison, location=location)


def _with_recorded_command(error: RobolinError, verb: str) -> RobolinError:
    """The error with a hint that says which command has the options in it."""
    if len(error.parts) > 1 or "--" not in error.hint:
        return error
    hint = f"record the result again with `robolin {verb}`: {error.hint}"
    return type(error)(error.message, where=error.where, hint=hint)


def _compared(
    stored: StoredFile, request: RecordedQuestion, settings: Settings, close: Tolerances
) -> Comparison:
    """Compute the result and compare it with the stored one."""
    names = tuple(entry.name for entry in stored.entries if entry.name != "time")
    with run_request(request.inquiry(), replace(settings, arrays=names)) as answer:
        if SELECTED in stored.meta["contract"]:
            answer = only_arrays(answer, [*names])
        answer = checked_stream(answer)
        return compare_with_stored(answer, stored, close)


def _by_former_algorithms(
    stored: StoredFile, request: RecordedQuestion, settings: Settings, close: Tolerances
) -> Comparison | None:
    """Compare with the results of former algorithms; None if those differ too."""
    try:
        comparison = _compared(stored, request, replace(settings, former=True), close)
    except RobolinError:
        return None
    return comparison if comparison.same else None


def _changed_model(stored: StoredFile, request: RecordedQuestion) -> Comparison | None:
    """Model changes, for a request that fails; None if the model cannot be read."""
    before = stored.meta["model"]
    try:
        options = request.inquiry().sources[0].options
        changes = (
            model_changes(before, to_json_types(model_dict(request.arm, options))) if before else ()
        )
    except RobolinError:
        return None
    return Comparison((), changes=changes)


def _from_a_library(stored: StoredFile) -> bool:
    meta = stored.meta
    return rounding.from_a_library(meta["verb"], meta["options"], meta["model"])


def _under_another_name(comparison: Comparison) -> Comparison:
    """The comparison without the change of the arm's name, for `--model`."""
    kept = tuple(line for line in comparison.structure if not line.startswith("option arm:"))
    return replace(comparison, structure=kept)


def _outcome(name: str, path: str, check: Callable[[], CheckOutcome]) -> CheckOutcome:
    """Run a check and time it; an error becomes part of the outcome."""
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


# XML element that holds a joint parameter which has no location of its own
_PARTS = {
    **dict.fromkeys(("damping", "friction", "armature", "stiffness", "rest"), "dynamics"),
    "rotation": "origin",
    "positive": "friction",
    "negative": "friction",
}


def changed_location(arm: str, changes: Sequence[Change]) -> SourceLocation | None:
    """Location of the first change in the robot file; None if there is none."""
    if not changes or not Path(arm).is_file() or arm.lower().endswith(".xacro"):
        # line numbers of an expanded xacro are not those of the file
        return None
    try:
        description = read(arm).description
    except RobolinError:
        return None
    return None if description is None else next(_locations(description, changes), None)


def _locations(description: Description, changes: Sequence[Change]) -> Iterator[SourceLocation]:
    entries: dict[str, Sequence[LinkEntry | JointEntry | LoopEntry]] = {
        "link": description.links,
        "joint": description.joints,
        "loop": description.loops,
    }
    for change in changes:
        # a removed part has no line
        name = change.new if change.quantity == "renamed" else change.name
        for entry in entries.get(change.part, ()):
            if entry.name == name:
                yield _location(entry, change.quantity)


def _location(entry: LinkEntry | JointEntry | LoopEntry, quantity: str) -> SourceLocation:
    first = quantity.partition(" ")[0]
    if isinstance(entry, LinkEntry):
        return entry.location if quantity in ("added", "renamed") else entry.at(first)
    if isinstance(entry, JointEntry):
        if quantity.endswith(" limit"):
            return entry.at("limit")
        return entry.at(first if first in entry.locations else _PARTS.get(first, first))
    return entry.location


def record_inquiry(inquiry: Request, path: Path, settings: Settings, close: Tolerances) -> None:
    """Compute a result and store it as a reference."""
    require_target(str(path), None)
    require_output_is_no_input(path, inquiry.files.values())
    form = format_of(str(path), None)
    require_nan_support(inquiry.states, form)
    with run_request(inquiry, settings) as answer:
        kept = as_reference(answer, path, inquiry.files, close, settings.notify)
        FORMATS[form].write(kept, str(path))


def record_result(
    result: Result | ResultStream, path: Path, close: Tolerances, notify: MessageCallback
) -> None:
    """Store a computed result as a reference."""
    require_target(str(path), None)
    if not isinstance(result, Result):
        message = f"result must be a Result, got {type(result).__name__}"
        raise UsageError(message, hint="record a result of `robolin.answer`")
    validate_result(result)
    require_output_is_no_input(path, result.files.values())
    _require_repeatable(result)
    kept = as_reference(result, path, result.files, close, notify)
    FORMATS[format_of(str(path), None)].write(kept, str(path))


def as_reference(
    answer: Result | ResultStream,
    path: Path,
    files: Mapping[str, str],
    close: Tolerances,
    notify: MessageCallback,
) -> ResultStream:
    """A result as a reference: relative paths of its input files and tolerances added."""
    if isinstance(answer, Result):
        require_holdable(answer, format_of(str(path), None))
        if close.exact and from_a_library(answer.verb, answer.options, answer.model):
            notify("note", LIBRARY_NOTE)
        answer = stream_of_one_part(answer)
    reference = Reference(close.plain(), _relative_paths(files, path.resolve().parent))
    ending = answer.ending
    return replace(answer, ending=lambda rows: replace(ending(rows), reference=reference))


def _relative_paths(files: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Paths of the input files relative to a folder; bundled robots and pipes have none."""
    ways = {}
    for label, path in files.items():
        relative = [_relative_path(each, folder, label) for each in split_files(path)]
        if known := [each for each in relative if each is not None]:
            ways[label] = JOIN.join(known)
    return ways


def _relative_path(path: str, folder: Path, label: str) -> str | None:
    base, part = split_part(path)
    if path == "-" or not (Path(base).is_file() or (label != ARM_OPTION and Path(base).is_dir())):
        return None
    try:
        way = os.path.relpath(Path(base).resolve(), folder)
    except ValueError:
        # on another drive (Windows)
        way = str(Path(base).resolve())
    return Path(way).as_posix() + (f":{part}" if part else "")


def _require_repeatable(result: Result) -> None:
    """Reject results that cannot be computed again."""
    if answering_verb(result.verb) is None:
        message = f"results of '{result.verb}' cannot be computed again"
        raise RobolinError(message, hint="record a result of `robolin.answer`")
    if result.compared is not None:
        raise RobolinError(
            "a difference of results cannot be computed again",
            hint="record one of the two results instead",
        )
    if STATES_OPTION in result.options:
        hint = "store the states in a file and use States(trajectory=…)"
        raise RobolinError(
            "states passed as arrays are not stored, so the result cannot be computed again",
            hint=hint,
        )
    if ARM_OPTION not in result.options:
        hint = "load the robot from a file, or by the name of a bundled robot"
        raise RobolinError(
            "the robot was not loaded from a file and cannot be loaded again", hint=hint
        )
    if not result.files:
        hint = "compute the result with `robolin.answer` and record the whole result"
        raise RobolinError(
            "a result read from a file, or a part of a result, cannot be recorded", hint=hint
        )
    for label, path in result.files.items():
        if path == "-":
            hint = "store the data in a file and use the file"
            message = f"the {label} was read from standard input and cannot be read again"
            raise RobolinError(message, hint=hint)
        for each in split_files(path):
            if not (Path(each).is_file() or (label == ARM_OPTION and _bundled(each))):
                raise FileError(f"the {label} no longer exists", where=each)


def _bundled(name: str) -> bool:
    from robolin.description.robot_source import bundled_path

    return bundled_path(name) is not None
