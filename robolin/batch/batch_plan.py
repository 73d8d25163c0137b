"""A request over many recordings as an ordered list of named parts.

The id of a plan is a hash of everything that determines the bytes of its parts: request, robot,
recordings, their division, and the version.  Paths and machines are not included.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from robolin.batch.recordings import NamedRecording
from robolin.batch.survey import SurveyedRecording, mixed_columns, surveyed_recording
from robolin.core.arm import Arm
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.format_table import (
    FORMATS,
    RECORDINGS,
    extensions,
    format_named,
    split_part,
    uncompressed_name,
)
from robolin.io.provenance_writer import to_json_types
from robolin.io.table_file import digest_of
from robolin.io.trajectories.open_table import TEXT_ENDINGS
from robolin.io.trajectories.read_options import RowSlice
from robolin.queries.option_specs import EXCLUDES, conflict
from robolin.queries.request import Request
from robolin.queries.states import require_nan_support, rules_of_file
from robolin.version import __version__

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
        hint = "add --part-rows N to number the results"
        raise UsageError(
            f"{times} recordings would have the same result '{name}'", where="-o", hint=hint
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
        message = "none of the selected rows exists" if total else "the recording has no rows"
        raise RobolinError(
            message, where=source.path, hint="remove the recording from --trajectory"
        )
    for first in range(0, rows, part_rows):
        part = choice.part(first, min(part_rows, rows - first))
        stop = total if part.stop is None else min(part.stop, total)
        yield f"{part.first}:{stop}"
