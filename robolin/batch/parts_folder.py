"""A folder of parts: created with a plan, inspected, and marked complete after the last part."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robolin.batch.batch_plan import PartsPlan
from robolin.batch.plan_file import (
    clear_survey_cache,
    read_plan,
    require_same_plan,
    write_complete,
    write_plan,
)
from robolin.batch.recordings import NamedRecording, real_name, recordings, recordings_inside
from robolin.core.arrays import INTEGER
from robolin.core.text_parsing import FlagText, parse_shard
from robolin.errors import FileError, RobolinError
from robolin.io.format_table import FORMATS, format_named, require_outputs_are_no_inputs
from robolin.io.locations import FileLocation, exists, local_copy, make_folder
from robolin.io.provenance_reader import Meta, open_bytes
from robolin.io.stored import open_stored
from robolin.io.stores.objects import StorePath, list_objects, open_object

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
        message = "the folder has no plan" if there else "no such folder"
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
    if not _is_part(plan):
        return "not part of a plan"
    return f"part {plan['part']} of plan {plan['id'][:12]}"


def _is_part(plan: Any) -> bool:
    return isinstance(plan, dict) and isinstance(plan.get("id"), str) and "part" in plan
