"""Flags for many recordings: selection, and division of the work."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import OUTPUT, flag, validated_path
from robolin.cli.flags.output_flags import Output, count_flag
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS
from robolin.queries.option_specs import EXCLUDES, MODIFIES, conflict

if TYPE_CHECKING:
    from robolin.batch.recordings import NamedRecording
    from robolin.queries.question import Question

_OF_RECORDINGS = {"trajectory": "--trajectory names the recordings"}
_PART_ROWS = count_flag(
    "--part-rows",
    modifies=_OF_RECORDINGS,
    text="With -o FOLDER/: results in files part-00000.parquet, part-00001.parquet and so on, of "
    "at most so many rows each; a part ends where its recording does.",
)
_SHARD = flag(
    "--shard",
    section=OUTPUT,
    modifies=_OF_RECORDINGS,
    metavar="K/N",
    help="With -o FOLDER/: compute every Nth part only, from the Kth on; N such commands, one "
    "after the other or at the same time, compute all of them.",
)
_RESUME = flag(
    "--resume",
    section=OUTPUT,
    modifies=_OF_RECORDINGS,
    is_flag=True,
    help="With -o FOLDER/: leave what is there already, complete and of the same question.",
)

_ONLY_CSV = "it writes CSV to standard output; > FILE stores that"
_LIVE = flag(
    "--live",
    section=OUTPUT,
    requires={"trajectory=-": "--trajectory - reads from standard input"},
    excludes={"output": _ONLY_CSV, "format if !format=csv": _ONLY_CSV},
    is_flag=True,
    help="With --trajectory -: answer lines as they arrive, as CSV on standard output.  Time is "
    "then a number with a point, unless the first one is a date or too large for that.",
)

_CLUSTER = flag(
    "--cluster",
    section=OUTPUT,
    modifies=_OF_RECORDINGS,
    metavar="WHERE",
    help="With -o FOLDER/: parts are computed by Dask, by N processes here (local:N) or by the "
    "workers of a scheduler (tcp://scheduler:8786).",
)

MANY_PARAMS: list[click.Parameter] = [_PART_ROWS, _SHARD, _RESUME, _CLUSTER, _LIVE]
_PART_FLAGS = ("part_rows", "shard", "resume", "cluster")


@dataclass(frozen=True)
class RecordingSet:
    """Recordings, output, and division of the work.

    folder: output folder of the parts; None for one result
    """

    recordings: tuple[NamedRecording, ...]
    folder: str | None = None
    part_rows: int | None = None
    shard: str | None = None
    resume: bool = False
    cluster: str | None = None


def recording_set(ctx: click.Context) -> RecordingSet | None:
    """Parse the flags for many recordings; None for a single result."""
    trajectory = ctx.params.get("trajectory")
    flags: dict[str, Any] = {name: ctx.params.get(name) for name in _PART_FLAGS}
    folder = _folder(ctx.params.get("path"), any(flags.values()))
    texts = tuple(map(validated_path, trajectory)) if isinstance(trajectory, tuple) else ()
    if not texts:
        return None
    if folder is None:
        for name in (name for name, value in flags.items() if value):
            hint = "-o FOLDER/ says where the parts go"
            raise conflict(name.replace("_", "-"), MODIFIES, ["-o FOLDER/"], hint)
        if len(texts) == 1 and _is_one_file(texts[0]):
            return None
    from robolin.batch.recordings import names_several, recordings

    if folder is None and len(texts) == 1 and not names_several(texts[0]):
        return None
    if folder is None:
        return RecordingSet(recordings(texts), **flags)
    from robolin.batch.parts_folder import recordings_for
    from robolin.io.locations import parse_location

    named = recordings_for(parse_location(folder), texts)
    if named[0].path == "-":
        hint = "store what comes in a file first, or write to a file"
        raise UsageError("standard input cannot be read again", where="--trajectory -", hint=hint)
    return RecordingSet(named, folder, **flags)


def live_output(ctx: click.Context, out: Output, question: Question) -> Output:
    """The output of a command with --live, or the output unchanged."""
    if not ctx.params.get("live"):
        return out
    if question.answers_together:
        hint = "it needs all rows before the first result"
        raise conflict("live", EXCLUDES, [question.answers_together], hint)
    return replace(out, form="csv", live=True)


def _is_one_file(text: str) -> bool:
    """True if a text names a single local recording: not a pattern, folder or object."""
    return text == "-" or ("://" not in text and os.path.isfile(text))


def _folder(path: str | None, divided: bool) -> str | None:
    """The folder of the parts, if the path ends in /, is a folder, or must be one."""
    if path is None:
        return None
    if path.endswith(("/", os.sep)):
        return path
    named_as_file = PurePath(path).suffix.removeprefix(".") in FORMATS
    is_folder = divided or os.path.isdir(path)
    return path if is_folder and not named_as_file else None
