"""Plan file and completion file in the folder of parts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from robolin.batch.batch_plan import (
    PLAN_FORMAT,
    Division,
    PartsPlan,
    PlannedPart,
    planned_parts,
    query_dict,
)
from robolin.batch.recordings import NamedRecording
from robolin.batch.survey import SurveyedRecording, surveyed_from, surveyed_plain
from robolin.core.arm import Arm
from robolin.errors import RobolinError
from robolin.io.atomic import as_file_error
from robolin.io.format_table import FORMATS, format_named
from robolin.io.locations import FileLocation, content, exists, make_folder, write_file
from robolin.io.provenance_reader import are_options, is_size, matches
from robolin.io.provenance_writer import meta_digest, with_checksum
from robolin.queries.request import Request

PLAN, COMPLETE = "_plan.json", "_robolin.json"
# the file has a checksum from format 3 on
PLAN_FILE_FORMAT = 3
_DAMAGED = "the file is not a plan, or is damaged"
_REMOVE = "remove the file: the next run writes it again and keeps matching parts"
_ROWS = re.compile(r"\d{1,15}:\d{1,15}")


def read_plan(folder: FileLocation) -> PartsPlan | None:
    """The plan of a folder; None if it has none."""
    path = folder / PLAN
    data = content(path)
    if data is None:
        return None
    try:
        stored = json.loads(data.decode("utf-8"))
        if not isinstance(stored, dict) or not is_size(stored.get("format")):
            raise ValueError("not a plan")
        if stored["format"] != PLAN_FILE_FORMAT:
            raise _other_format(path, stored["format"])
        return _plan_from(stored)
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error


def _plan_from(stored: Mapping[str, Any]) -> PartsPlan:
    """Parse a plan file; ValueError if it was modified or is not from robolin."""
    if stored.get("sha256") != meta_digest(stored, strict=True):
        raise ValueError("changed after it was written")
    if not matches(stored, _FIELDS) or not stored["parts"]:
        raise ValueError("a field has an invalid value")
    sources = tuple(surveyed_from(each) for each in stored["sources"])
    parts = tuple(PlannedPart(*part) for part in stored["parts"])
    if not all(part.source < len(sources) for part in parts):
        raise ValueError("a part without a recording")
    plan = PartsPlan(stored["asked"], sources, parts, stored["robolin"], tuple(stored["mixed"]))
    if plan.id != stored["id"]:
        raise ValueError("the id of another plan")
    return plan


def _is_part(value: Any) -> bool:
    """Name, recording and rows; the name must not leave the folder."""
    if not isinstance(value, list) or len(value) != 3:
        return False
    name, source, rows = value
    return (
        isinstance(name, str)
        and is_size(source)
        and (rows is None or (isinstance(rows, str) and _ROWS.fullmatch(rows) is not None))
        and "\0" not in name
        and not PurePosixPath(name).is_absolute()
        and ".." not in PurePosixPath(name).parts
        and format_named(name) in FORMATS
    )


_FIELDS = {
    "id": str,
    "robolin": str,
    "asked": {"verb": str, "options": are_options},
    "mixed": [str],
    "sources": list,
    "parts": [_is_part],
}


def write_plan(folder: FileLocation, plan: PartsPlan) -> None:
    """Write the plan to the folder of its parts."""
    document = {
        "format": PLAN_FILE_FORMAT,
        "id": plan.id,
        "robolin": plan.version,
        "asked": plan.request,
        "mixed": plan.mixed,
        "sources": [surveyed_plain(each) for each in plan.sources],
        "parts": [[part.name, part.source, part.rows] for part in plan.parts],
    }
    _write(folder / PLAN, with_checksum(document))


def write_complete(folder: FileLocation, plan: PartsPlan, parts: list[Mapping[str, Any]]) -> None:
    """Write the completion file, unless it exists; nothing is written after it."""
    rows = sum(part["rows"] or 0 for part in parts)
    document = {"format": PLAN_FORMAT, "plan": plan.id, "rows": rows, "parts": parts}
    if content(folder / COMPLETE) != _bytes(document):
        _write(folder / COMPLETE, document)


def require_same_plan(folder: FileLocation, old: PartsPlan, new: PartsPlan) -> None:
    """Reject adding parts of one plan to those of another."""
    if old.id == new.id:
        return
    hint = "write to another folder, or remove this folder"
    message = f"the folder has parts of another plan: {_difference(old, new)}"
    raise RobolinError(message, where=str(folder), hint=hint)


def _difference(old: PartsPlan, new: PartsPlan) -> str:
    """First difference between two plans, as text."""
    if old.version != new.version:
        return f"written by robolin {old.version}, now {new.version}"
    for key, value in old.request.items():
        if new.request.get(key) != value:
            return f"{key} was {_short(value)}, now {_short(new.request.get(key))}"
    before = {each.name: each.sha256 for each in old.sources}
    now = {each.name: each.sha256 for each in new.sources}
    for name in {**before, **now}:
        if name not in now or name not in before:
            return f"the recording '{name}' is {'missing' if name not in now else 'new'}"
        if now[name] != before[name]:
            return f"the recording '{name}' was changed"
    return "the recordings were split differently"


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:200]


def _write(path: FileLocation, document: Mapping[str, Any]) -> None:
    write_file(path, _bytes(document))


def _bytes(document: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(document, ensure_ascii=False, allow_nan=False)}\n".encode()


def _damaged(path: FileLocation) -> RobolinError:
    return RobolinError(_DAMAGED, where=str(path), hint=_REMOVE)


def _other_format(path: FileLocation, version: int) -> RobolinError:
    message = (
        f"plan format {version} is not supported; this robolin reads format {PLAN_FILE_FORMAT}"
    )
    return RobolinError(message, where=str(path), hint=_REMOVE)


SURVEY_CACHE = "_looked.jsonl"
# bytes of recordings that are surveyed in about 10 ms, too few to cache
_FEW = 1 << 24


def planned_in(
    folder: FileLocation,
    inquiry: Request,
    arm: Arm,
    recordings: Sequence[NamedRecording],
    division: Division,
) -> PartsPlan:
    """Plan for a folder; recordings that were surveyed before are not read again."""
    old = read_plan(folder)
    if not isinstance(folder, Path):
        # no appending to object stores
        return planned_parts(inquiry, arm, recordings, division, old.sources if old else ())
    cache = _SurveyCache(folder, _question(inquiry, arm, division))
    before = (*cache.recordings(), *(old.sources if old else ()))
    return planned_parts(inquiry, arm, recordings, division, before, cache.add)


def clear_survey_cache(folder: FileLocation) -> None:
    """Remove the survey cache once the plan exists."""
    # a read-only folder raises an error even for a missing file
    if isinstance(folder, Path) and exists(folder / SURVEY_CACHE):
        with as_file_error(folder / SURVEY_CACHE):
            (folder / SURVEY_CACHE).unlink(missing_ok=True)


def _question(inquiry: Request, arm: Arm, division: Division) -> str:
    """Hash of everything that determines the survey."""
    text = json.dumps([query_dict(inquiry, arm), division.part_rows], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class _SurveyCache:
    """Cache of the recordings surveyed for one request."""

    def __init__(self, folder: Path, question: str) -> None:
        self._folder, self._question = folder, question
        self._waiting: list[SurveyedRecording] = []
        self._bytes = 0

    def recordings(self) -> Iterator[SurveyedRecording]:
        """Recordings in the cache."""
        for line in (content(self._folder / SURVEY_CACHE) or b"").splitlines():
            if (recording := _parsed_line(line, self._question)) is not None:
                yield recording

    def add(self, recording: SurveyedRecording) -> None:
        """Add a recording; small ones are buffered."""
        self._waiting.append(recording)
        self._bytes += recording.size
        if self._bytes < _FEW:
            return
        make_folder(self._folder)
        path = self._folder / SURVEY_CACHE
        with as_file_error(path), open(path, "ab") as stream:
            # an interrupted write may have left half a line
            stream.write(b"\n" + b"".join(map(self._line, self._waiting)))
        self._waiting, self._bytes = [], 0

    def _line(self, recording: SurveyedRecording) -> bytes:
        document = {"question": self._question, "recording": surveyed_plain(recording)}
        return json.dumps(with_checksum(document), ensure_ascii=True).encode() + b"\n"


def _parsed_line(line: bytes, question: str) -> SurveyedRecording | None:
    """The recording of a line; None if it is corrupt or belongs to another request."""
    try:
        stored = json.loads(line)
        if not isinstance(stored, dict) or stored.get("sha256") != meta_digest(stored, strict=True):
            return None
        mine = stored.get("question") == question
        return surveyed_from(stored.get("recording")) if mine else None
    except (ValueError, RecursionError):
        return None
