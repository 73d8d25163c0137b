"""A question over many recordings answered by the workers of somebody's cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from robolin.batch.batch_plan import Division
from robolin.batch.compute import RunSummary, compute_parts
from robolin.batch.parts_folder import recordings_for
from robolin.batch.plan_file import planned_in
from robolin.batch.recordings import require_outside
from robolin.batch.workers import by_workers
from robolin.core.arm import Arm
from robolin.core.choices import OnBadRow, TimeUnit
from robolin.errors import UsageError
from robolin.io.locations import parse_location
from robolin.queries.answer import emit_warning
from robolin.queries.query_context import MessageCallback, Settings, require_counts
from robolin.queries.question import Question
from robolin.queries.request import ARM_OPTION, ArmSource, checked_request
from robolin.queries.states import States


def compute(
    arm: Arm | str | os.PathLike[str],
    question: Question | str,
    trajectories: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    client: Any,
    part_rows: int | None = None,
    form: str | None = None,
    on_bad_row: OnBadRow | None = None,
    columns: Sequence[str] | Mapping[str, str] | str | None = None,
    time: str | None = None,
    time_unit: TimeUnit | None = None,
    degrees: bool = False,
    radians: bool = False,
    carry: Sequence[str] | str | None = None,
    rows: str | None = None,
    stride: int | None = None,
    resume: bool = True,
    notify: MessageCallback = emit_warning,
) -> RunSummary:
    """Answer for every row of many recordings by the workers of a Dask cluster.

    Workers need this version of robolin, and the recordings, the arm's file and the folder under
    the same paths.  Parts are the same, byte for byte, as those of `-o FOLDER/ --part-rows`.

    Args:
        arm: a robot file, the name of a bundled arm, or one that `robolin.load` has made of these
        question: a `Question`, or the name of a verb of which nothing special is asked
        trajectories: files, patterns or folders
        folder: where the parts go
        client: a `distributed.Client`
        part_rows: rows of a part; without it there is one part per recording, named after it
        form: 'parquet', 'npz', 'csv', …; without it parts are Parquet, others as the recording
        on_bad_row: what becomes of a row without an answer: 'error', or 'nan' in its place
        columns, time, time_unit, degrees, radians, carry, rows, stride: how recordings are read, as
            `robolin.States` says it
        resume: leave parts that are there already, complete and of the same plan
        notify: is called with 'note', 'warning' or 'summary' and a text

    Returns:
        a summary with `.written`, `.skipped`, `.rows` and `.finished`

    Raises:
        UsageError: question and recordings that do not go together, an arm that workers cannot
            load, no client
        RobolinError: a part without an answer, or a worker that does not fit, by name

    Example:
        >>> import distributed, robolin.cluster                                 # doctest: +SKIP
        >>> client = distributed.Client("tcp://scheduler:8786")                 # doctest: +SKIP
        >>> robolin.cluster.compute(                                            # doctest: +SKIP
        ...     "panda", "inverse", "logs/*.parquet", "out", client=client, part_rows=10**6
        ... )
    """
    _require_client(client)
    require_counts(part_rows=part_rows)
    asked = Question(question) if isinstance(question, str) else question
    several = [trajectories] if isinstance(trajectories, (str, os.PathLike)) else trajectories
    place = parse_location(os.fspath(folder))
    found = recordings_for(place, [os.fspath(each) for each in several])
    require_outside(str(place), found)
    states = States(
        trajectory=found[0].path,
        on_bad_row=on_bad_row,
        columns=columns,
        time=time,
        time_unit=time_unit,
        degrees=degrees,
        radians=radians,
        carry=carry,
        rows=rows,
        stride=stride,
    )
    inquiry = checked_request(_source_of(arm), asked, states, asked.verb)
    loaded = inquiry.source.arm()
    plan = planned_in(place, inquiry, loaded, found, Division(part_rows, form))
    return compute_parts(
        plan,
        inquiry,
        loaded,
        place,
        resume=resume,
        settings=Settings(jobs=1, notify=notify),
        work=by_workers(client),
    )


def _require_client(client: Any) -> None:
    if not callable(getattr(client, "submit", None)):
        hint = "distributed.Client('tcp://scheduler:8786')"
        raise UsageError(f"client is {type(client).__name__}, no client of a cluster", hint=hint)


def _source_of(arm: Arm | str | os.PathLike[str]) -> ArmSource:
    """What workers load the arm from."""
    if not isinstance(arm, Arm):
        return ArmSource(os.fspath(arm))
    if arm.loaded_with is None:
        message = "workers cannot load this arm: it was not made by robolin.load alone"
        raise UsageError(message, hint="give a robot file, or what robolin.load makes of one")
    texts = dict(arm.loaded_with)
    return ArmSource(texts.pop(ARM_OPTION), texts)
