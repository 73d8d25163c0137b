"""Store reference results for later checks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from robolin.checking.tolerance import LIBRARY_NOTE, Tolerances, from_a_library
from robolin.core.results.result import Reference, Result, ResultStream, stream_of_one_part
from robolin.core.results.sound_arrays import validate_result
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.format_table import FORMATS, format_of
from robolin.io.paths import require_output_is_no_input, require_target, split_part
from robolin.io.stored import require_holdable
from robolin.queries.query_context import MessageCallback, Settings, run_request
from robolin.queries.request import ARM_OPTION, Request
from robolin.queries.state_parsing import require_nan_support
from robolin.queries.states import STATES_OPTION
from robolin.queries.verbs import answering_verb


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
        message = f"a {type(result).__name__} cannot be recorded"
        raise UsageError(message, hint="record what robolin.answer gives")
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
        base, part = split_part(path)
        if path != "-" and (Path(base).is_file() or (label != ARM_OPTION and Path(base).is_dir())):
            try:
                way = os.path.relpath(Path(base).resolve(), folder)
            except ValueError:
                # on another drive (Windows)
                way = str(Path(base).resolve())
            ways[label] = Path(way).as_posix() + (f":{part}" if part else "")
    return ways


def _require_repeatable(result: Result) -> None:
    """Reject results that cannot be computed again."""
    if answering_verb(result.verb) is None:
        message = f"no verb '{result.verb}' answers it again"
        raise RobolinError(message, hint="record what robolin.answer gives")
    if result.compared is not None:
        raise RobolinError("a difference of results answers no question", hint="record either")
    if STATES_OPTION in result.options:
        hint = "store them as a trajectory, and ask with States(trajectory=…)"
        raise RobolinError("states given as arrays cannot be asked about again", hint=hint)
    if ARM_OPTION not in result.options:
        hint = "load it from a file, or by the name of a bundled one"
        raise RobolinError("the arm came from no file and cannot be loaded again", hint=hint)
    if not result.files:
        hint = "ask again with robolin.answer, and record all that it gives"
        raise RobolinError("what was read, or some rows of it, is no answer to record", hint=hint)
    for label, path in result.files.items():
        if path == "-":
            hint = "store it as a file and give that"
            raise RobolinError(f"the {label} was read from standard input", hint=hint)
        if not (Path(path).is_file() or (label == ARM_OPTION and _bundled(path))):
            raise FileError(f"the {label} is not there any more", where=path)


def _bundled(name: str) -> bool:
    from robolin.description.robot_source import bundled_path

    return bundled_path(name) is not None
