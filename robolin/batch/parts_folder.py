"""A folder of parts: created with a plan, inspected, and marked complete after the last part.

The plan file and the completion file are in the folder.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from robolin.batch.batch_plan import (
    PLAN_FORMAT,
    Division,
    PartsPlan,
    PlannedPart,
    planned_parts,
    query_dict,
    real_name,
    recordings,
    recordings_inside,
)
from robolin.batch.survey import NamedRecording, SurveyedRecording, surveyed_from, surveyed_plain
from robolin.core.arm import Arm
from robolin.core.arrays import INTEGER
from robolin.core.records import dataclass
from robolin.core.text_parsing import FlagText, parse_shard
from robolin.errors import FileError, RobolinError
from robolin.io.atomic import as_file_error
from robolin.io.format_table import FORMATS, format_named, require_outputs_are_no_inputs
from robolin.io.locations import FileLocation, content, exists, local_copy, make_folder, write_file
from robolin.io.object_stores import StorePath, list_objects, open_object
from robolin.io.provenance import (
    Meta,
    are_options,
    is_size,
    matches,
    meta_digest,
    open_bytes,
    with_checksum,
)
from robolin.io.stored import open_stored
from robolin.queries.request import Request

PLAN, COMPLETE = "_plan.json", "_robolin.json"
# the file has a checksum from format 3 on
PLAN_FILE_FORMAT = 3
_DAMAGED = "the file is not a plan, or is damaged"
_REMOVE = "remove the file: the next run writes a new plan and reuses the matching parts"
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
            raise ValueError("the file is not a plan")
        if stored["format"] != PLAN_FILE_FORMAT:
            raise _other_format(path, stored["format"])
        return _plan_from(stored)
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error


def _plan_from(stored: Mapping[str, Any]) -> PartsPlan:
    """Parse a plan file; ValueError if it was modified or is not from robolin."""
    if stored.get("sha256") != meta_digest(stored, strict=True):
        raise ValueError("the file was changed after it was written")
    if not matches(stored, _FIELDS) or not stored["parts"]:
        raise ValueError("a field has an invalid value")
    sources = tuple(surveyed_from(each) for each in stored["sources"])
    parts = tuple(PlannedPart(*part) for part in stored["parts"])
    if not all(part.source < len(sources) for part in parts):
        raise ValueError("a part belongs to a recording that is not in the plan")
    plan = PartsPlan(stored["asked"], sources, parts, stored["robolin"], tuple(stored["mixed"]))
    if plan.id != stored["id"]:
        raise ValueError("the id belongs to another plan")
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
        return f"robolin {old.version} wrote the other plan, but this is robolin {new.version}"
    for key, value in old.request.items():
        if new.request.get(key) != value:
            return f"{key} was {_short(value)} and is now {_short(new.request.get(key))}"
    before = {each.name: each.sha256 for each in old.sources}
    now = {each.name: each.sha256 for each in new.sources}
    for name in {**before, **now}:
        if name not in now or name not in before:
            return f"the recording '{name}' is {'missing' if name not in now else 'new'}"
        if now[name] != before[name]:
            return f"the recording '{name}' was changed"
    return "the division of the recordings into parts has changed"


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


DONE, MISSING, DAMAGED, FOREIGN = "done", "missing", "damaged", "of another plan"


@dataclass(frozen=True)
class PartState:
    """State of a part: done, missing, damaged or of another plan, and the reason.

    entry:    for a finished part its name, rows and the hash of its provenance
    integers: names of its integer arrays
    """

    name: str
    state: str
    why: str = ""
    entry: Mapping[str, Any] | None = None
    integers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shard:
    """The parts of one of several runs that share the work: every count-th part."""

    number: int = 1
    count: int = 1

    def has(self, part: int) -> bool:
        """True if the shard includes the part, counted from 0."""
        return part % self.count == self.number - 1


ONLY_SHARD = Shard()


def shard(text: str | None) -> Shard:
    """Parse --shard, such as 3/16."""
    if text is None:
        return ONLY_SHARD
    return Shard(*parse_shard(FlagText("--shard", text)))


def recordings_for(folder: FileLocation, texts: Sequence[str]) -> tuple[NamedRecording, ...]:
    """Recordings that match the texts, without parts of the folder itself."""
    named = recordings(texts)
    if not any(recordings_inside(str(folder), named)):
        return named
    # a plan is written before its parts
    plan = read_plan(folder)
    parts = plan.parts if plan else ()
    return recordings(texts, left_out={real_name(str(folder / part.name)) for part in parts})


def begin(folder: FileLocation, plan: PartsPlan, inputs: Iterable[str]) -> None:
    """Write the plan to a folder; reject a folder with another plan, or inputs that are parts."""
    make_folder(folder)
    old = read_plan(folder)
    if old is not None:
        clear_survey_cache(folder)
        require_same_plan(folder, old, plan)
    require_outputs_are_no_inputs([str(folder / part.name) for part in plan.parts], inputs)
    for below in {posixpath.dirname(part.name) for part in plan.parts} - {""}:
        make_folder(folder / below)
    if old is None or old.sources != plan.sources:
        write_plan(folder, plan)
    clear_survey_cache(folder)


def parts_there(folder: FileLocation, plan: PartsPlan) -> set[int]:
    """Indices of the parts with a file, valid or not."""
    if isinstance(folder, StorePath):
        there = {*list_objects(f"{folder}/")}
        return {i for i, part in enumerate(plan.parts) if str(folder / part.name) in there}
    return {i for i, part in enumerate(plan.parts) if exists(folder / part.name)}


def part_states(
    folder: FileLocation, plan: PartsPlan, *, thorough: bool = False
) -> list[PartState]:
    """State of every part.

    thorough: read every number, as slow as reading all files
    """
    return [part_state(folder, plan, i, thorough=thorough) for i in range(len(plan.parts))]


def part_state(
    folder: FileLocation,
    plan: PartsPlan,
    number: int,
    *,
    thorough: bool = False,
    fresh: bool = False,
) -> PartState:
    """State of one part.

    fresh: written just now, so that reading it again is not needed
    """
    name = plan.parts[number].name
    path = folder / name
    try:
        if not exists(path):
            return PartState(name, MISSING)
        meta = _sound_provenance(path, thorough, fresh)
    except RobolinError as error:
        if isinstance(error, FileError) and isinstance(path, StorePath):
            # a store that does not respond gives no information about the part
            raise
        return PartState(name, DAMAGED, error.message)
    if meta.get("plan") != {"id": plan.id, "part": number, "of": len(plan.parts)}:
        return PartState(name, FOREIGN, _owner(meta.get("plan")))
    entry = {"name": name, "rows": meta["rows"], "sha256": meta["sha256"]}
    integers = (
        each for each, array in meta["arrays"].items() if array.get("numbers") == INTEGER.name
    )
    return PartState(name, DONE, entry=entry, integers=frozenset(integers))


def _sound_provenance(path: FileLocation, thorough: bool, fresh: bool) -> Meta:
    """Provenance of a part; a corrupt part is an error."""
    form = FORMATS[format_named(path.name)]
    # object stores write atomically, so the provenance alone is sufficient
    is_atomic = fresh or (isinstance(path, StorePath) and not thorough)
    if form.provenance_reader and is_atomic:
        where = str(path)
        with open_object(where) if isinstance(path, StorePath) else open_bytes(where) as stream:
            return form.read_provenance(stream, where)
    with local_copy(path) as here, open_stored(here) as stored:
        if thorough or not (form.sealed or fresh):
            for _ in stored.blocks():
                pass
        return stored.meta


def complete(
    folder: FileLocation,
    plan: PartsPlan,
    known: Mapping[int, PartState] | None = None,
    fresh: Collection[int] = (),
) -> bool:
    """True if all parts are finished; then the completion file is written.

    known: parts with a known state
    fresh: parts that were written just now
    """
    entries: list[Mapping[str, Any]] = []
    for number in range(len(plan.parts)):
        state = (known or {}).get(number)
        state = state or part_state(folder, plan, number, fresh=number in fresh)
        if state.entry is None:
            return False
        entries.append(state.entry)
    write_complete(folder, plan, entries)
    return True


def plan_in(folder: FileLocation) -> PartsPlan:
    """The plan of a folder; an error if there is none."""
    there = isinstance(folder, StorePath) or folder.is_dir()
    plan = read_plan(folder) if there else None
    if plan is None:
        message = "not a folder of parts: _plan.json is missing" if there else "no such folder"
        hint = "compute parts: robolin COMMAND ARM --trajectory FILES -o FOLDER/"
        raise FileError(message, where=str(folder), hint=hint)
    return plan


def remaining_by_shard(states: Sequence[PartState], count: int) -> dict[int, int]:
    """Number of unfinished parts per shard, for shards that have any."""
    left: dict[int, int] = {}
    for number, state in enumerate(states):
        if state.state != DONE:
            left[number % count + 1] = left.get(number % count + 1, 0) + 1
    return dict(sorted(left.items()))


def _owner(plan: Any) -> str:
    if not _has_part(plan):
        return "not part of a plan"
    return f"part {plan['part']} of plan {plan['id'][:12]}"


def _has_part(plan: Any) -> bool:
    return isinstance(plan, dict) and isinstance(plan.get("id"), str) and "part" in plan
