"""Run a request over many recordings: one file per part, or one result."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from robolin.batch.batch_plan import Division, require_outside
from robolin.batch.compute import compute_parts
from robolin.batch.joined import answered_recordings, merged_parts
from robolin.batch.parts_folder import planned_in, shard
from robolin.cli.main import say
from robolin.cli.query_command import stderr_is_terminal, tune_malloc
from robolin.core.text import pluralize
from robolin.errors import UsageError
from robolin.io.format_table import require_output_is_no_input
from robolin.io.locations import FileLocation, parse_location
from robolin.queries.states import require_nan_support

if TYPE_CHECKING:
    from robolin.batch.compute import PartDone, PartsWork
    from robolin.cli.flags.output_flags import Output
    from robolin.cli.query_command import RecordingSet
    from robolin.queries.request import Request

# seconds between two progress lines
_BETWEEN = 2.0


def run_many(inquiry: Request, out: Output, many: RecordingSet) -> None:
    """Run the request for all recordings."""
    tune_malloc()
    if many.folder is None:
        _respond_with_one(inquiry, out, many)
    else:
        _respond_with_parts(inquiry, out, many, parse_location(many.folder))


def _respond_with_one(inquiry: Request, out: Output, many: RecordingSet) -> None:
    summary = inquiry.question.flag("residual")
    # --format applies to the summary
    target = replace(out, form=None) if summary and out.path else out
    files = {**inquiry.files, "trajectory": ""}.values()
    target.require_target([*filter(None, files), *(each.path for each in many.recordings)])
    if summary:
        from robolin.cli.residual_report import run_with_residuals_of_all

        run_with_residuals_of_all(inquiry, out, many.recordings)
        return
    require_nan_support(inquiry.states, out.resolved_format())
    arm = inquiry.source.arm()
    out.write(answered_recordings(inquiry, arm, many.recordings, out.settings()))


def _respond_with_parts(
    inquiry: Request, out: Output, many: RecordingSet, folder: FileLocation
) -> None:
    if out.arrays:
        hint = "remove --only, or write one file: -o FILE"
        raise UsageError("parts always contain all arrays", where="--only", hint=hint)
    share = shard(many.shard)
    require_outside(str(folder), many.recordings)
    for path in inquiry.question.files.values():
        require_output_is_no_input(path, [str(folder)])
    if isinstance(folder, Path) and folder.exists() and not folder.is_dir():
        hint = "choose another folder with -o"
        raise UsageError("is a file, not a folder", where=str(folder), hint=hint)
    arm = inquiry.source.arm()
    plan = planned_in(folder, inquiry, arm, many.recordings, Division(many.part_rows, out.form))
    settings = replace(out.settings(), notify=out.notify_part)
    progress = PartsProgress(not out.quiet and stderr_is_terminal())
    if many.cluster:
        # a worker is a separate process, with one thread by default
        settings = replace(settings, jobs=settings.jobs or 1)
    with _workers(many.cluster) as work:
        done = compute_parts(
            plan,
            inquiry,
            arm,
            folder,
            shard=share,
            resume=many.resume,
            settings=settings,
            work=work,
            watch=progress.part,
        )
    there = f", {done.skipped} skipped" if many.resume else ""
    ended = "" if done.finished else "; other parts are missing"
    out.note(f"{folder}: {pluralize(done.written, 'part')} written{there}{ended}")
    if inquiry.question.flag("residual") and done.finished:
        from robolin.cli.residual_report import write_residuals_of_parts

        names = [each.name for each in plan.sources]
        write_residuals_of_parts(out, arm, merged_parts(folder), names)


@contextmanager
def _workers(where: str | None) -> Iterator[PartsWork | None]:
    """Workers of the cluster, or None for this process."""
    if where is None:
        yield None
        return
    from robolin.batch.cluster import workers

    with workers(where) as work:
        yield work


class PartsProgress:
    """Progress of many parts on stderr, printed at intervals."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._begun = self._last = monotonic()
        self._parts = self._rows = 0

    def part(self, done: PartDone, of: int) -> None:
        """Count a finished part."""
        self._parts, self._rows = self._parts + 1, self._rows + done.rows
        now = monotonic()
        if self._shown and (now - self._last > _BETWEEN) and sys.stderr is not None:
            self._last = now
            rate = self._rows / max(now - self._begun, 1e-9)
            progress = f"{self._parts} of {of} parts, {self._rows:,} rows, {rate:,.0f} rows/s"
            say("note", progress)
