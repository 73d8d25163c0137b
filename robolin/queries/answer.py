"""Python entry points: a complete result, or a stream of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from robolin.core.arm import Arm
from robolin.core.result import Result, ResultStream, checked_stream
from robolin.errors import require_callable, warn
from robolin.queries.question import Question
from robolin.queries.request import (
    MessageCallback,
    ResultCallback,
    Settings,
    request_about,
    run_request,
)
from robolin.queries.states import States


def emit_warning(kind: str, text: str) -> None:
    """Emit warnings as Python warnings; drop notes and summaries."""
    if kind == "warning":
        warn(text)


def answer(
    arm: Arm,
    question: Question | str,
    states: States | None = None,
    *,
    jobs: int | None = None,
    chunk_rows: int | None = None,
    notify: MessageCallback = emit_warning,
) -> Result:
    """Run a command with its options for an arm, as the command line does.

    Args:
        arm: the robot, from `robolin.load`
        question: a `Question`, or a command name for a question without options
        states: a `States`; all quantities are 0 by default
        jobs: number of threads (default: one per processor); results are bit-identical
        chunk_rows: rows of a trajectory per chunk; results are bit-identical
        notify: called with 'note', 'warning' or 'summary' and a text; by default, warnings become
            Python warnings, and notes and summaries are only in the contract

    Returns:
        a `Result` with `.arrays`, each with name, values of shape (…) or (rows, …), labels and
        unit, `.joints`, `.contract`, `.options` and `.inputs`; `result["tau"]` returns the values
        of an array

    Raises:
        UsageError: a command, states and arm that cannot be combined
        RobolinError: a state without a result, or an invalid file
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
    """Run a command in chunks of rows, for trajectories larger than memory.

    Use it in a `with` statement: the trajectory stays open inside the block.

    Args:
        arm: the robot, from `robolin.load`
        question: a `Question`, or a command name for a question without options
        states: a `States`; all quantities are 0 by default
        jobs: number of threads (default: one per processor); results are bit-identical
        chunk_rows: rows of a trajectory per chunk; results are bit-identical
        notify: called with 'note', 'warning' or 'summary' and a text
        watch: called with the state and the result of each part

    Returns:
        a `ResultStream`; each of its `.parts` is a `Result` for some rows, arrays (rows, …)

    Raises:
        UsageError: a command, states and arm that cannot be combined
        RobolinError: a state without a result, or an invalid file
        FileError: a file that cannot be read

    Example:
        >>> arm = robolin.load("two-link")
        >>> with robolin.answer_stream(arm, "mass-matrix") as stream:
        ...     for part in stream.parts:
        ...         part["mass_matrix"].shape
        (2, 2)
    """
    require_callable(notify=notify, watch=watch)
    settings = Settings(jobs, chunk_rows, notify=notify, watch=watch)
    with run_request(request_about(arm, question, states), settings, arm) as output:
        output = checked_stream(output)
        yield output


def concat_parts(stream: ResultStream) -> Result:
    """Concatenate all parts of a stream into one result."""
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
