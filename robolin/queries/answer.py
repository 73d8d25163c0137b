"""What Python asks, answered as commands are: whole, or part by part."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from robolin.core.arm import Arm
from robolin.core.results.result import Result, ResultStream, stream_of_one_part
from robolin.core.results.sound_arrays import require_finite
from robolin.errors import RobolinWarning, UsageError
from robolin.queries.query_context import MessageCallback, ResultCallback, Settings, run_query
from robolin.queries.question import Question
from robolin.queries.states import States

# what stands between whoever asks and whoever warns
_OURS = ("robolin", "contextlib")


def emit_warning(kind: str, text: str) -> None:
    """Warnings as Python's own; notes are for those who ask for them."""
    if kind == "warning":
        warnings.warn(text, RobolinWarning, stacklevel=_levels_to_caller())


def _levels_to_caller() -> int:
    """How far up the first frame is that is not robolin's: that is where to point."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    return level


def answer(
    arm: Arm,
    question: Question | str,
    states: States | None = None,
    *,
    jobs: int | None = None,
    chunk_rows: int | None = None,
    notify: MessageCallback = emit_warning,
) -> Result:
    """Answer a question about an arm, as the command line would.

    Args:
        arm: what `robolin.load` gives
        question: a `Question`, or the name of a verb of which nothing special is asked
        states: a `States`; all quantities 0 if left out
        jobs: threads, one per processor by default; it changes no bit of the result
        chunk_rows: rows of a trajectory to compute at once; neither does this
        notify: is called with 'note', 'warning' or 'summary' and a text; by default warnings
            become Python's own and the others are left out, the contract has them

    Returns:
        a `Result` with `.arrays`, each with name, values of shape (…) or (rows, …), labels and
        unit, `.joints`, `.contract`, `.options` and `.inputs`; `result["tau"]` is the values of
        an array

    Raises:
        UsageError: question, states and arm that do not go together
        RobolinError: a state without an answer, or a file that cannot be understood
        FileError: a file that cannot be read

    Example:
        >>> arm = robolin.load("two-link")
        >>> result = robolin.answer(arm, "inverse", robolin.States(q=[0.3, -0.7]))
        >>> result["tau"].round(4)
        array([18.5756,  4.5178])
    """
    with answer_stream(
        arm, question, states, jobs=jobs, chunk_rows=chunk_rows, notify=notify
    ) as stream:
        return concat_parts(stream)


@contextmanager
def answer_stream(
    arm: Arm,
    question: Question | str,
    states: States | None = None,
    *,
    jobs: int | None = None,
    chunk_rows: int | None = None,
    notify: MessageCallback = emit_warning,
    watch: ResultCallback | None = None,
) -> Iterator[ResultStream]:
    """The answer part by part, for trajectories that are larger than memory.

    To be used in a `with`: the trajectory stays open as long as that lasts.

    Args:
        arm: what `robolin.load` gives
        question: a `Question`, or the name of a verb of which nothing special is asked
        states: a `States`; all quantities 0 if left out
        jobs: threads, one per processor by default; it changes no bit of the result
        chunk_rows: rows of a trajectory to compute at once; neither does this
        notify: is called with 'note', 'warning' or 'summary' and a text
        watch: is called with the state and the result of each part

    Returns:
        a `ResultStream` whose `.parts` are results of some rows each, arrays of shape (rows, …)

    Raises:
        UsageError: question, states and arm that do not go together
        RobolinError: a state without an answer, or a file that cannot be understood
        FileError: a file that cannot be read

    Example:
        >>> arm = robolin.load("two-link")
        >>> with robolin.answer_stream(arm, "mass-matrix") as stream:
        ...     for part in stream.parts:
        ...         part["mass_matrix"].shape
        (2, 2)
    """
    settings = Settings(jobs, chunk_rows, notify=notify, watch=watch)
    asked, given = coerce_query_and_states(question, states)
    with run_query(arm, asked, given, settings) as found:
        if isinstance(found, Result):
            require_finite(found)
            found = stream_of_one_part(found)
        yield found


def coerce_query_and_states(
    question: Question | str, states: States | None
) -> tuple[Question, States]:
    """A question and states, whichever way they were said."""
    asked = Question(question) if isinstance(question, str) else question
    given = States() if states is None else states
    for what, value, kind in (("question", asked, Question), ("states", given, States)):
        if not isinstance(value, kind):
            hint = "robolin.answer(arm, Question(…), States(…))"
            raise UsageError(f"{what}: {value!r} is no {kind.__name__}", hint=hint)
    return asked, given


def concat_parts(stream: ResultStream) -> Result:
    """All parts of an answer as one result."""
    parts = list(stream.parts)
    first = parts[0]
    rows = None if first.batch is None else sum(part.batch or 0 for part in parts)
    footer = stream.ending(rows or 0)
    if len(parts) > 1:
        arrays = tuple(
            replace(array, values=np.concatenate([part.arrays[i].values for part in parts]))
            for i, array in enumerate(first.arrays)
        )
        times = [part.time for part in parts if part.time is not None]
        first = replace(first, arrays=arrays, time=np.concatenate(times) if times else None)
    return replace(first, contract=footer.contract, inputs=footer.inputs, model=footer.model)
