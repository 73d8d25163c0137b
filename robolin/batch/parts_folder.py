"""A folder of parts: begun with a plan, looked through, and complete with its last part."""

from __future__ import annotations

import posixpath
import re
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
from robolin.core.results.number_kind import INTEGER
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.format_table import FORMATS, format_named
from robolin.io.locations import FilePlace, exists, local_copy, make_folder
from robolin.io.paths import require_outputs_are_no_inputs
from robolin.io.provenance_reader import Meta, open_bytes
from robolin.io.stored import open_stored
from robolin.io.stores.objects import StorePath, list_objects, open_object

DONE, MISSING, DAMAGED, FOREIGN = "done", "missing", "damaged", "of another plan"

_SHARD = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")


@dataclass(frozen=True)
class PartState:
    """What there is of a part: done, missing, damaged or of another plan, and why.

    entry: for a part that is done its name, rows and the digest of its provenance
    whole: its arrays of whole numbers
    """

    name: str
    state: str
    why: str = ""
    entry: Mapping[str, Any] | None = None
    whole: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shard:
    """The parts that fall to one of several who share the work: every count-th of them."""

    number: int = 1
    count: int = 1

    def has(self, part: int) -> bool:
        """Whether a part, counted from 0, falls to it."""
        return part % self.count == self.number - 1


ONLY_SHARD = Shard()


def shard(text: str | None) -> Shard:
    """The shard that --shard says, such as 3/16."""
    if text is None:
        return ONLY_SHARD
    where, found = f"--shard={text}", _SHARD.fullmatch(text)
    hint = "1/16, 2/16, … 16/16"
    if found is None:
        raise UsageError("this is not NUMBER/COUNT", where=where, hint=hint)
    number, count = int(found[1]), int(found[2])
    if not 1 <= number <= count:
        message = f"of {count} there is no number {number}" if count else "there are none of 0"
        raise UsageError(message, where=where, hint=hint)
    return Shard(number, count)


def recordings_for(folder: FilePlace, texts: Sequence[str]) -> tuple[NamedRecording, ...]:
    """All files that are named but for the folder's own parts, which a pattern may find as well."""
    found = recordings(texts)
    if not any(recordings_inside(str(folder), found)):
        return found
    # whoever sees a part sees the plan that was there before it
    plan = read_plan(folder)
    parts = plan.parts if plan else ()
    return recordings(texts, left_out={real_name(str(folder / part.name)) for part in parts})


def begin(folder: FilePlace, plan: PartsPlan, inputs: Iterable[str]) -> None:
    """Let a folder have this plan; one that has another is refused, and so is a part to be read."""
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


def parts_there(folder: FilePlace, plan: PartsPlan) -> set[int]:
    """The parts that have a file, whatever is in it."""
    if isinstance(folder, StorePath):
        there = {*list_objects(f"{folder}/")}
        return {i for i, part in enumerate(plan.parts) if str(folder / part.name) in there}
    return {i for i, part in enumerate(plan.parts) if exists(folder / part.name)}


def part_states(folder: FilePlace, plan: PartsPlan, *, thorough: bool = False) -> list[PartState]:
    """What there is of every part.

    thorough: read every number, which takes as long as reading all files does
    """
    return [part_state(folder, plan, i, thorough=thorough) for i in range(len(plan.parts))]


def part_state(
    folder: FilePlace, plan: PartsPlan, number: int, *, thorough: bool = False, fresh: bool = False
) -> PartState:
    """What there is of one part.

    fresh: it was written just now, so that nobody has to read it to know that it is sound
    """
    name = plan.parts[number].name
    path = folder / name
    try:
        if not exists(path):
            return PartState(name, MISSING)
        meta = _sound_provenance(path, thorough, fresh)
    except RobolinError as error:
        if isinstance(error, FileError) and isinstance(path, StorePath):
            # that a store does not answer says nothing about what it keeps
            raise
        return PartState(name, DAMAGED, error.message)
    if meta.get("plan") != {"id": plan.id, "part": number, "of": len(plan.parts)}:
        return PartState(name, FOREIGN, _owner(meta.get("plan")))
    entry = {"name": name, "rows": meta["rows"], "sha256": meta["sha256"]}
    whole = (each for each, said in meta["arrays"].items() if said.get("numbers") == INTEGER.name)
    return PartState(name, DONE, entry=entry, whole=frozenset(whole))


def _sound_provenance(path: FilePlace, thorough: bool, fresh: bool) -> Meta:
    """What a part says of itself, if it is sound."""
    form = FORMATS[format_named(path.name)]
    # a store keeps objects whole, and need not send all of them
    kept_whole = fresh or (isinstance(path, StorePath) and not thorough)
    if form.provenance_reader and kept_whole:
        where = str(path)
        with open_object(where) if isinstance(path, StorePath) else open_bytes(where) as stream:
            return form.read_provenance(stream, where)
    with local_copy(path) as here, open_stored(here) as stored:
        if thorough or not (form.sealed or fresh):
            for _ in stored.blocks():
                pass
        return stored.meta


def complete(
    folder: FilePlace,
    plan: PartsPlan,
    known: Mapping[int, PartState] | None = None,
    fresh: Collection[int] = (),
) -> bool:
    """Whether all parts are there; then the note that says so is there as well.

    known: parts that were looked at already
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


def plan_in(folder: FilePlace) -> PartsPlan:
    """The plan of a folder that has one."""
    there = isinstance(folder, StorePath) or folder.is_dir()
    plan = read_plan(folder) if there else None
    if plan is None:
        message = "there is no plan in it" if there else "there is no such folder"
        hint = "robolin VERB ARM --trajectory FILES -o FOLDER/ makes one"
        raise FileError(message, where=str(folder), hint=hint)
    return plan


def remaining_by_shard(states: Sequence[PartState], count: int) -> dict[int, int]:
    """For each of so many shards that has something left, how many parts that are."""
    left: dict[int, int] = {}
    for number, state in enumerate(states):
        if state.state != DONE:
            left[number % count + 1] = left.get(number % count + 1, 0) + 1
    return dict(sorted(left.items()))


def _owner(plan: Any) -> str:
    if not _is_part(plan):
        return "it is of no plan"
    return f"it is part {plan['part']} of plan {plan['id'][:12]}"


def _is_part(plan: Any) -> bool:
    return isinstance(plan, dict) and isinstance(plan.get("id"), str) and "part" in plan
