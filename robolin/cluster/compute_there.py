"""A question over many recordings answered by the workers of somebody's cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from robolin.answering.answer import as_python_warnings
from robolin.answering.given_states import States
from robolin.answering.inquiry import ArmSource, Inquiry
from robolin.answering.posed_question import Notify, Settings
from robolin.answering.question import Question
from robolin.choices import OnBadRow
from robolin.cluster.workers import by_workers
from robolin.files.places import place_named
from robolin.parts.compute import WorkDone, compute_parts
from robolin.parts.looked_file import planned_in
from robolin.parts.parts_plan import Division
from robolin.parts.recordings import recordings, require_outside


def compute(
    arm: str | os.PathLike[str],
    question: Question | str,
    trajectories: Sequence[str | os.PathLike[str]] | str,
    folder: str | os.PathLike[str],
    *,
    client: Any,
    part_rows: int | None = None,
    form: str | None = None,
    on_bad_row: OnBadRow | None = None,
    resume: bool = True,
    notify: Notify = as_python_warnings,
) -> WorkDone:
    """Answer for every row of many recordings by the workers of a Dask cluster.

    Workers need this version of robolin, and the recordings, the arm's file and the folder under
    the same paths.  Parts are the same, byte for byte, as those of `-o FOLDER/ --part-rows`.

    Args:
        arm: a robot file, or the name of a bundled arm
        question: a `Question`, or the name of a verb of which nothing special is asked
        trajectories: files, patterns or folders
        folder: where the parts go
        client: a `distributed.Client`
        part_rows: rows of a part; without it there is one part per recording, named after it
        form: 'parquet', 'npz', 'csv', …; without it parts are Parquet, others as the recording
        on_bad_row: what becomes of a row without an answer: 'error', or 'nan' in its place
        resume: leave parts that are there already, complete and of the same plan
        notify: is called with 'note', 'warning' or 'summary' and a text

    Returns:
        a summary with `.written`, `.skipped`, `.rows` and `.finished`

    Raises:
        UsageError: question and recordings that do not go together
        RobolinError: a part without an answer, or a worker that does not fit, by name

    Example:
        >>> import distributed, robolin.cluster                                 # doctest: +SKIP
        >>> client = distributed.Client("tcp://scheduler:8786")                 # doctest: +SKIP
        >>> robolin.cluster.compute(                                            # doctest: +SKIP
        ...     "panda", "inverse", "logs/*.parquet", "out", client=client, part_rows=10**6
        ... )
    """
    asked = Question(question) if isinstance(question, str) else question
    texts = (
        [trajectories]
        if isinstance(trajectories, str)
        else [os.fspath(each) for each in trajectories]
    )
    found, place = recordings(texts), place_named(os.fspath(folder))
    require_outside(str(place), found)
    states = States(trajectory=found[0].path, on_bad_row=on_bad_row)
    inquiry = Inquiry(ArmSource(os.fspath(arm)), asked, states)
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
