"""A request over many recordings as an ordered list of named parts.

Recordings are given by file, pattern or folder, and read in a reproducible order.
The id of a plan is a hash of everything that determines the bytes of its parts: request, robot,
recordings, their division, and the version.  Paths and machines are not included.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from robolin import __version__
from robolin.batch.survey import (
    NamedRecording,
    SurveyedRecording,
    mixed_columns,
    surveyed_recording,
)
from robolin.core.arm import Arm
from robolin.core.records import dataclass
from robolin.errors import FileError, RobolinError, UsageError, raise_all, require_path
from robolin.io.format_table import (
    FORMATS,
    RECORDINGS,
    base_name,
    extensions,
    format_named,
    is_stored,
    recordings_in_folder,
    require_utf8_name,
    split_files,
    split_part,
    trajectory_formats,
    uncompressed_name,
)
from robolin.io.object_stores import list_objects
from robolin.io.provenance import to_json_types
from robolin.io.table_file import digest_of
from robolin.io.trajectories.open_table import TEXT_ENDINGS, is_other_programs
from robolin.io.trajectories.read_options import RowSlice
from robolin.queries.option_specs import EXCLUDES, conflict
from robolin.queries.request import Request
from robolin.queries.states import require_nan_support, rules_of_file


def names_several(text: str) -> bool:
    """True if a text is a pattern or a folder of recordings."""
    if is_stored(text):
        return text.endswith("/") or glob.has_magic(text)
    if os.path.isdir(text):
        return not is_other_programs(text) or len(recordings_in_folder(text)) > 1
    return glob.has_magic(text) and not os.path.exists(text)


def recording_paths(source: str | os.PathLike[str]) -> list[str]:
    """Paths of all recordings in a folder or a LeRobot dataset, or of a file name pattern.

    Args:
        source: a pattern such as 'logs/**/*.csv', a folder, a dataset, or one recording

    Returns:
        each recording once, for `States(trajectory=…)`; files of a folder or pattern sorted by
        name, the episodes of a dataset in order ('dataset/:0', 'dataset/:1', …)

    Raises:
        FileError: a pattern, folder or dataset without recordings

    Example:
        >>> arm = robolin.load("two-link")
        >>> fall = robolin.answer(arm, robolin.Question("simulate", duration=0.1, dt=0.01))
        >>> robolin.write(fall, "fall.csv")
        >>> for path in robolin.recording_paths("fall*.csv"):
        ...     print(path, robolin.answer(arm, "inverse", robolin.States(trajectory=path)))
        fall.csv <Result of inverse: tau (11, 2) [N·m]>
    """
    require_path(source=source)
    return [each.path for each in recordings([os.fspath(source)])]


def recordings(texts: Sequence[str], left_out: Collection[str] = ()) -> tuple[NamedRecording, ...]:
    """All named files once: in the given order, those of a pattern or folder sorted by name.

    Names are paths relative to the common folder; a part of a bag or dataset is treated as a file
    inside it.

    left_out: files that patterns and folders skip, as returned by `real_name`
    """
    paths = list(dict.fromkeys(path for text in texts for path in _paths(text, left_out)))
    for path in paths:
        require_utf8_name(path)
    if "-" in paths and len(paths) > 1:
        hint = "pass the files by name, or pipe all rows as one recording"
        raise UsageError("cannot be used with other recordings", where="--trajectory -", hint=hint)
    full_paths = [_with_part(path) for path in paths]
    root = os.path.commonpath([os.path.dirname(path) for path in full_paths])
    named = [PurePath(os.path.relpath(path, root)).as_posix() for path in full_paths]
    return tuple(map(NamedRecording, paths, named))


def _with_part(path: str) -> str:
    """Path of a recording with its part: 'set/3' for 'set/:3', 'run.mcap/arm' for 'run.mcap:/arm'.

    Object stores are treated as additional folders.
    """
    if is_stored(path):
        return f"/{path.replace('://', ':/', 1)}"
    if len(files := split_files(path)) > 1:
        return os.path.join(os.path.dirname(_with_part(files[0])), base_name(path))
    base, part = split_part(path)
    below = [word for word in part.split("/") if word not in ("", ".", "..")]
    return os.path.join(os.path.abspath(base), *below)


def real_name(path: str) -> str:
    """Resolved path of a file, the same through all symbolic links."""
    return path if is_stored(path) else os.path.realpath(path)


def _paths(text: str, left_out: Collection[str]) -> list[str]:
    if not names_several(text):
        return [text]
    matches = _match_in_store(text) if is_stored(text) else _match_on_disk(text)
    if left_out:
        matches = [path for path in matches if real_name(path) not in left_out]
    if not matches:
        raise _none_found(text)
    return matches if os.path.isdir(text) and is_other_programs(text) else sorted(matches)


def _match_on_disk(text: str) -> list[str]:
    """Files that match a pattern, also in matching folders, or files directly in a folder."""
    folder = os.path.isdir(text)
    if folder and (parts := recordings_in_folder(text)):
        return parts
    matches = glob.glob(os.path.join(glob.escape(text), "*") if folder else text, recursive=True)
    files = [path for path in matches if _is_recording(path)]
    for path in matches:
        if not folder and names_several(path):
            files += _match_on_disk(path)
    return files


def _match_in_store(text: str) -> list[str]:
    """Objects that match a pattern, or objects directly below a name that ends in /."""
    begin = re.split(r"[*?[]", text, maxsplit=1)[0]
    pattern = f"{text}*".split("/") if text.endswith("/") else text.split("/")
    files = [url for url in list_objects(begin) if _matches(url.split("/"), pattern)]
    return [url for url in files if _is_recording(url)]


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Match names as on a disk: ** is any number of them, a leading dot must be explicit."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(_matches(names[i:], pattern[1:] or ["*"]) for i in range(len(names) + 1))
    if not names or (names[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    return fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])


def _none_found(text: str) -> FileError:
    hint = (
        "check the path; recordings end in "
        f"{extensions([*trajectory_formats(), *RECORDINGS], ', ')}"
    )
    return FileError("no recording found", where=f"--trajectory={text}", hint=hint)


def _is_recording(path: str) -> bool:
    if not is_stored(path) and os.path.isdir(path):
        return not names_several(path)
    name = uncompressed_name(path).lower()
    known = (*trajectory_formats(), *RECORDINGS)
    return name.endswith(TEXT_ENDINGS) or format_named(name) in known


def require_outside(folder: str, named: Sequence[NamedRecording]) -> None:
    """Reject recordings inside the output folder: the next run would read its results."""
    for recording in recordings_inside(folder, named):
        message = f"the recording '{recording.path}' is in the output folder"
        raise UsageError(message, where=folder, hint="write to another folder")


def recordings_inside(folder: str, named: Sequence[NamedRecording]) -> Iterator[NamedRecording]:
    """Recordings in a folder or below it."""
    root = real_name(folder).rstrip("/")
    for recording in named:
        if is_stored(recording.path) == is_stored(folder):
            path = real_name(recording.path)
            if path.startswith((f"{root}/", f"{root}{os.sep}")):
                yield recording


# format number that the id of a plan includes
PLAN_FORMAT = 2
# default format of parts, also for recordings in a format that results cannot use
DEFAULT_FORM = "parquet"
_DIGITS = 5


@dataclass(frozen=True)
class PlannedPart:
    """One output file: some rows of one recording.

    source: index of the recording
    rows:   as for --rows; None for all rows of the request
    """

    name: str
    source: int
    rows: str | None = None


@dataclass(frozen=True)
class PartsPlan:
    """All parts in order.

    request: command, options, robot and files of every part, as JSON types
    mixed:   columns that hold integers in some recordings, and floats in all parts
    """

    request: Mapping[str, Any]
    sources: tuple[SurveyedRecording, ...]
    parts: tuple[PlannedPart, ...]
    version: str = __version__
    mixed: tuple[str, ...] = ()

    @cached_property
    def id(self) -> str:
        """SHA-256 of everything that determines the bytes of the parts."""
        sources = [
            [each.name, each.sha256, [one.look for one in each.columns]] for each in self.sources
        ]
        parts = [[part.name, part.source, part.rows] for part in self.parts]
        content = [PLAN_FORMAT, self.version, self.request, sources, parts, self.mixed]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Division:
    """Division of recordings into parts.

    part_rows: rows per part; None for one part per recording, with its name
    form:      file format of the parts; None for that of the recording
    """

    part_rows: int | None = None
    form: str | None = None


def planned_parts(
    inquiry: Request,
    arm: Arm,
    named: Sequence[NamedRecording],
    division: Division,
    before: Sequence[SurveyedRecording] = (),
    keep: Callable[[SurveyedRecording], None] | None = None,
) -> PartsPlan:
    """Plan a request over the recordings.

    before: surveyed recordings; those that are unchanged are not read again
    keep:   called with every recording that is surveyed now
    """
    require_divisible(inquiry, division)
    choice = inquiry.states.row_slice
    sources: list[SurveyedRecording] = []
    problems: list[RobolinError] = []
    surveyed = {(each.name, each.part): each for each in before}
    every = division.part_rows and division.part_rows * choice.stride
    for recording in named:
        old = surveyed.get((recording.name, split_part(recording.path)[1]))
        old = old and replace(old, path=recording.path)
        try:
            if old is not None and old.is_unchanged() and (every is None or old.rows is not None):
                sources.append(old)
            else:
                rules = rules_of_file(inquiry.states, arm)
                sources.append(surveyed_recording(recording, arm, rules, every, choice.first))
                if keep is not None:
                    keep(sources[-1])
        except RobolinError as error:
            problems += error.parts
    raise_all(problems)
    request, mixed = query_dict(inquiry, arm), tuple[str, ...]()
    if division.part_rows is None:
        parts = _one_each(sources, division)
    else:
        mixed = mixed_columns(dict(zip(named, (each.columns for each in sources), strict=True)))
        parts = _numbered(sources, choice, division.part_rows, division.form or DEFAULT_FORM)
    return PartsPlan(request, tuple(sources), parts, mixed=mixed)


def require_divisible(inquiry: Request, division: Division) -> None:
    """Reject a division that does not suit the request."""
    if division.form is not None and division.form not in FORMATS:
        hint = f"choose one of {extensions(FORMATS, ', ')}"
        raise UsageError(
            "parts cannot be written in this format", where=f"--format={division.form}", hint=hint
        )
    together = inquiry.question.needs_all_rows
    if getattr(inquiry.states, "differentiate", None):
        # a row then depends on its neighbours, which may be in another part
        together = "differentiate"
    if division.part_rows is not None and together:
        hint = f"--{together} requires all rows of a recording in one part"
        raise conflict("part-rows", EXCLUDES, [together], hint)
    if division.form is not None:
        require_nan_support(inquiry.states, division.form)


def query_dict(inquiry: Request, arm: Arm) -> dict[str, Any]:
    """The request as JSON types, identical on all machines."""
    options = {name: value for name, value in inquiry.options.items() if name != "trajectory"}
    model = json.dumps(to_json_types([arm.model_dict, arm.contract]), sort_keys=True)
    return {
        "verb": inquiry.question.verb,
        "options": to_json_types(dict(sorted(options.items()))),
        "arm": {"sha256": arm.digest, "figures": hashlib.sha256(model.encode()).hexdigest()},
        "files": {label: _digest(path) for label, path in sorted(inquiry.question.files.items())},
    }


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return digest_of(stream)
    except OSError as error:
        raise RobolinError(f"could not read: {error.strerror or error}", where=path) from error


def _one_each(sources: Sequence[SurveyedRecording], division: Division) -> tuple[PlannedPart, ...]:
    """One part per recording, named after it."""
    names = [_result_name(each.name, division.form) for each in sources]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        hint = "add --part-rows N, which numbers the result files"
        raise UsageError(
            f"{times} recordings would have the same result file '{name}'", where="-o", hint=hint
        )
    return tuple(PlannedPart(name, i) for i, name in enumerate(names))


def _result_name(name: str, form: str | None) -> str:
    plainly = Path(uncompressed_name(name))
    own = "csv" if plainly.name.lower().endswith(TEXT_ENDINGS) else format_named(plainly)
    written = form or (own if own in FORMATS else DEFAULT_FORM)
    if own in FORMATS or own in RECORDINGS:
        plainly = plainly.with_suffix("")
    return f"{plainly.as_posix()}.{written}"


def _numbered(
    sources: Sequence[SurveyedRecording], choice: RowSlice, part_rows: int, form: str
) -> tuple[PlannedPart, ...]:
    """Parts of `part_rows` rows, numbered across all recordings."""
    parts = [
        (i, rows) for i, each in enumerate(sources) for rows in _ranges(each, choice, part_rows)
    ]
    digits = max(_DIGITS, len(str(len(parts) - 1)))
    return tuple(
        PlannedPart(f"part-{number:0{digits}}.{form}", i, rows)
        for number, (i, rows) in enumerate(parts)
    )


def _ranges(source: SurveyedRecording, choice: RowSlice, part_rows: int) -> Iterator[str]:
    if source.rows is None:
        hint = "omit --part-rows to write one result"
        raise RobolinError(
            "--part-rows does not support bags, datasets and joined files",
            where=source.path,
            hint=hint,
        )
    total = source.rows
    rows = choice.count(total)
    if not rows:
        message = (
            ("the recording has none of the selected rows")
            if total
            else "the recording has no rows"
        )
        raise RobolinError(
            message, where=source.path, hint="remove the recording from --trajectory"
        )
    for first in range(0, rows, part_rows):
        part = choice.part(first, min(part_rows, rows - first))
        stop = total if part.stop is None else min(part.stop, total)
        yield f"{part.first}:{stop}"
