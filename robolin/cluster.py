"""Parts computed by the workers of a Dask cluster; the files are written by robolin alone."""

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
from robolin.core.choices import Join, OnBadRow, TimeUnit
from robolin.errors import UsageError
from robolin.io.locations import parse_location
from robolin.queries.answer import emit_warning
from robolin.queries.question import Question
from robolin.queries.request import (
    ArmSource,
    MessageCallback,
    Settings,
    checked_request,
    require_counts,
    source_of,
)
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
    sample_time: float | None = None,
    degrees: bool = False,
    radians: bool = False,
    no_header: bool = False,
    join: Join | None = None,
    torque_constants: str | Sequence[float] | Mapping[str, float] | None = None,
    carry: Sequence[str] | str | None = None,
    rows: str | None = None,
    stride: int | None = None,
    resume: bool = True,
    notify: MessageCallback = emit_warning,
) -> RunSummary:
    """Compute every row of many recordings on the workers of a Dask cluster.

    Workers need this version of robolin, and the recordings, the robot file and the folder under
    the same paths.  Parts are bit-identical to those of `-o FOLDER/ --part-rows`.

    Args:
        arm: a robot file, the name of a bundled robot, or one that `robolin.load` returned
        question: a `Question`, or the name of a command with default options
        trajectories: files, patterns or folders
        folder: output folder of the parts
        client: a `distributed.Client`
        part_rows: rows per part; None for one part per recording, named after it
        form: 'parquet', 'npz', 'csv', …; None for Parquet, or without `part_rows` the input format
        on_bad_row: for a row without a result: 'error', or 'nan' to write NaN
        columns, time, time_unit, degrees, radians, carry, rows, stride: options for reading
            recordings, see `robolin.States`
        no_header, join, torque_constants: options for text without names, several files, and
            motor currents
        sample_time: time between two rows in s, for files without a time column
        resume: skip parts that are complete and belong to the same plan
        notify: called with 'note', 'warning' or 'summary' and a text

    Returns:
        a summary with `.written`, `.skipped`, `.rows` and `.finished`

    Raises:
        UsageError: request and recordings that cannot be combined, an arm that workers cannot
            load, not a client
        RobolinError: a part that failed, or an unsuitable worker, by name

    Example:
        >>> import distributed, robolin.cluster                                 # doctest: +SKIP
        >>> client = distributed.Client("tcp://scheduler:8786")                 # doctest: +SKIP
        >>> robolin.cluster.compute(                                            # doctest: +SKIP
        ...     "panda", "inverse", "logs/*.parquet", "out", client=client, part_rows=10**6
        ... )
    """
    _require_client(client)
    require_counts(part_rows=part_rows)
    request = Question(question) if isinstance(question, str) else question
    several = [trajectories] if isinstance(trajectories, (str, os.PathLike)) else trajectories
    location = parse_location(os.fspath(folder))
    recordings = recordings_for(location, [os.fspath(each) for each in several])
    require_outside(str(location), recordings)
    states = States(
        trajectory=recordings[0].path,
        on_bad_row=on_bad_row,
        columns=columns,
        time=time,
        time_unit=time_unit,
        sample_time=sample_time,
        degrees=degrees,
        radians=radians,
        no_header=no_header,
        join=join,
        torque_constants=torque_constants,
        carry=carry,
        rows=rows,
        stride=stride,
    )
    inquiry = checked_request(_source_of(arm), request, states, request.verb)
    loaded = inquiry.source.arm()
    plan = planned_in(location, inquiry, loaded, recordings, Division(part_rows, form))
    return compute_parts(
        plan,
        inquiry,
        loaded,
        location,
        resume=resume,
        settings=Settings(jobs=1, notify=notify),
        work=by_workers(client),
    )


def _require_client(client: Any) -> None:
    if not callable(getattr(client, "submit", None)):
        hint = "use distributed.Client('tcp://scheduler:8786')"
        raise UsageError(
            f"must be a client of dask.distributed, got {type(client).__name__}",
            where="client",
            hint=hint,
        )


def _source_of(arm: Arm | str | os.PathLike[str]) -> ArmSource:
    """The file or name from which workers load the robot."""
    if not isinstance(arm, Arm):
        return ArmSource(os.fspath(arm))
    if arm.loaded_with is None:
        message = "workers cannot load this robot: it was changed after robolin.load"
        raise UsageError(message, hint="pass a robot file, or an unchanged result of robolin.load")
    return source_of(arm)
