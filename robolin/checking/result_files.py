"""Write, record and check results from Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from inspect import GEN_CREATED, getgeneratorstate
from pathlib import Path
from types import GeneratorType

from robolin.checking.check_results import CheckSettings, check_file, record_result
from robolin.checking.differences import Tolerances, uniform_tolerances
from robolin.checking.outcome import CheckOutcome
from robolin.checking.recorded_question import Inputs
from robolin.core.result import Result, ResultStream, stream_of_one_part, validate_result
from robolin.core.threads import close_generator
from robolin.errors import UsageError, require_path
from robolin.io.format_table import FORMATS, format_of, require_output_is_no_input, require_target
from robolin.io.stored import StoredResult, require_holdable
from robolin.queries.answer import emit_warning
from robolin.queries.request import Settings


def write(result: Result | ResultStream | StoredResult, path: str | Path) -> None:
    """Write a result as `-o` does; the extension .csv, .json, .npz, .parquet or .mat sets the
    format.

    The file is complete or absent, and is bit-identical to the file of the equivalent command.

    Args:
        result: from `robolin.answer` or `robolin.read_result`, or the stream of
            `robolin.answer_stream` inside its `with`
        path: output file

    Returns:
        nothing

    Raises:
        UsageError: not a result, arrays that do not match their labels or each other, a stream
            whose rows were already consumed, an unknown extension, or an input file of the result
        FileError: a file that cannot be written
        RobolinError: a number that is not finite

    Example:
        >>> result = robolin.answer(robolin.load("two-link"), "inverse")
        >>> robolin.write(result, "still.npz")
        >>> robolin.read_result("still.npz").arrays["tau"]
        array([19.62 ,  4.905])
    """
    require_target(str(path), None)
    form = format_of(str(path), None)
    stream = _require_stream(result, form)
    FORMATS[form].write(replace(stream, parts=_apart(stream.parts, path)), path)


def _require_stream(result: object, form: str) -> ResultStream:
    """The result as a stream that a format can write."""
    if isinstance(result, StoredResult):
        result = result.result
    if isinstance(result, Result):
        validate_result(result)
        require_holdable(result, form)
        return stream_of_one_part(result)
    if isinstance(result, ResultStream):
        parts = result.parts
        if isinstance(parts, GeneratorType) and getgeneratorstate(parts) != GEN_CREATED:
            hint = "compute the stream again for each file"
            raise UsageError("the stream has already been read", hint=hint)
        return result
    if isinstance(result, AbstractContextManager):
        hint = "write `with robolin.answer_stream(…) as stream: robolin.write(stream, path)`"
        raise UsageError("the stream is not open", hint=hint)
    hint = "write a result of `robolin.answer`"
    raise UsageError(f"result must be a Result or a stream, got {type(result).__name__}", hint=hint)


def _apart(parts: Iterable[Result], path: str | Path) -> Iterator[Result]:
    """Pass the parts on; reject an output path that is an input file."""
    try:
        for part in parts:
            require_output_is_no_input(path, part.files.values())
            yield part
    finally:
        close_generator(parts)


def record(
    result: Result, path: str | Path, *, rtol: float | None = None, atol: float | None = None
) -> None:
    """Store a reference result for `robolin.check`, as `robolin record` does.

    Args:
        result: from `robolin.answer`
        path: .npz, .csv, .json, .parquet or .mat
        rtol: later results may differ by rtol |stored|
        atol: later results may differ by atol, in the unit of the array

    Returns:
        nothing

    Raises:
        RobolinError: a result that cannot be recomputed: the arm was built in Python or read from
            standard input, or the states were arrays with rows
        UsageError: an unknown extension, or a tolerance below 0
        FileError: a file that cannot be written

    Example:
        >>> states = robolin.States(q={"elbow": 0.5})
        >>> result = robolin.answer(robolin.load("two-link"), "inverse", states)
        >>> robolin.record(result, "holding.npz", rtol=1e-9)
        >>> robolin.check("holding.npz").status
        'same'
    """
    require_path(path=path)
    close = uniform_tolerances(rtol, atol) or Tolerances({})
    record_result(result, Path(path), close, emit_warning)


def check(
    path: str | Path,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    model: str | Path | None = None,
    root: str | Path | None = None,
    jobs: int | None = None,
) -> CheckOutcome:
    """Compute a stored result again and compare the numbers, as `robolin check` does.

    Args:
        path: a file from `robolin.record`, `robolin record` or `-o`
        rtol, atol: tolerances (default: the tolerances stored with the result, else 0)
        model: a robot that replaces the recorded robot
        root: base folder of recorded paths, in place of the folder of the stored result
        jobs: threads, one per processor by default

    Returns:
        a `CheckOutcome` with `.status` 'same', 'differs' or 'refused', `.comparison` with the
        differences, and `.error` with the reason for 'refused'

    Raises:
        UsageError: a tolerance below 0

    Example:
        >>> result = robolin.answer(robolin.load("two-link"), "inverse")
        >>> robolin.write(result, "still.json")
        >>> robolin.check("still.json").status
        'same'
    """
    if root is not None:
        require_path(root=root)
    inputs = Inputs(None if model is None else str(model), None if root is None else Path(root))
    close = uniform_tolerances(rtol, atol)
    return check_file(str(path), CheckSettings(inputs, close, Settings(jobs)))
