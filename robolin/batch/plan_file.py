"""The plan in the folder of its parts, and the note that says that all of them are there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from robolin.batch.batch_plan import PLAN_FORMAT, PartsPlan, PlannedPart
from robolin.batch.survey import surveyed_from, surveyed_plain
from robolin.errors import RobolinError
from robolin.io.format_table import FORMATS, format_named
from robolin.io.locations import FilePlace, content, write_place
from robolin.io.meta_schema import are_options, are_texts, is_size, is_utf8
from robolin.io.provenance_writer import meta_digest, sealed

PLAN, COMPLETE = "_plan.json", "_robolin.json"
# the file is sealed from format 3 on
PLAN_FILE_FORMAT = 3
_DAMAGED = "it is no plan, or a damaged one"
_REMOVE = "remove it: the next run makes it again, and keeps the parts that fit"
_ROWS = re.compile(r"\d{1,15}:\d{1,15}")


def read_plan(folder: FilePlace) -> PartsPlan | None:
    """The plan that a folder has parts of; None if it has none."""
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
    """The plan in a sealed file; ValueError if it was changed, or is not what robolin writes."""
    if stored.get("sha256") != meta_digest(stored):
        raise ValueError("changed after it was written")
    for name, check in _FIELDS.items():
        if not check(stored.get(name)):
            raise ValueError(f"'{name}' is not what it should be")
    sources = tuple(surveyed_from(each) for each in stored["sources"])
    parts = tuple(PlannedPart(*part) for part in stored["parts"])
    if not all(part.source < len(sources) for part in parts):
        raise ValueError("a part of no recording")
    plan = PartsPlan(stored["asked"], sources, parts, stored["robolin"], tuple(stored["mixed"]))
    if plan.id != stored["id"]:
        raise ValueError("the id of another plan")
    return plan


def _is_request(value: Any) -> bool:
    return (
        isinstance(value, dict) and is_utf8(value.get("verb")) and are_options(value.get("options"))
    )


def _is_part(value: Any) -> bool:
    """Name, recording and rows; no name leads out of the folder."""
    if not isinstance(value, list) or len(value) != 3:
        return False
    name, source, rows = value
    return (
        is_utf8(name)
        and is_size(source)
        and (rows is None or (is_utf8(rows) and _ROWS.fullmatch(rows) is not None))
        and "\0" not in name
        and not PurePosixPath(name).is_absolute()
        and ".." not in PurePosixPath(name).parts
        and format_named(name) in FORMATS
    )


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "id": is_utf8,
    "robolin": is_utf8,
    "asked": _is_request,
    "mixed": are_texts,
    "sources": lambda value: isinstance(value, list),
    "parts": lambda value: isinstance(value, list) and bool(value) and all(map(_is_part, value)),
}


def write_plan(folder: FilePlace, plan: PartsPlan) -> None:
    """Keep the plan with its parts."""
    told = {
        "format": PLAN_FILE_FORMAT,
        "id": plan.id,
        "robolin": plan.version,
        "asked": plan.asked,
        "mixed": plan.mixed,
        "sources": [surveyed_plain(each) for each in plan.sources],
        "parts": [[part.name, part.source, part.rows] for part in plan.parts],
    }
    _write(folder / PLAN, sealed(told))


def write_complete(folder: FilePlace, plan: PartsPlan, parts: list[Mapping[str, Any]]) -> None:
    """Note that all parts are there; nothing is written after this, nor if it is noted already."""
    rows = sum(part["rows"] or 0 for part in parts)
    told = {"format": PLAN_FORMAT, "plan": plan.id, "rows": rows, "parts": parts}
    if content(folder / COMPLETE) != _bytes(told):
        _write(folder / COMPLETE, told)


def require_same_plan(folder: FilePlace, old: PartsPlan, new: PartsPlan) -> None:
    """Refuse to put parts of one plan beside those of another."""
    if old.id == new.id:
        return
    hint = "write to another folder, or remove this one"
    message = f"it has parts of another plan: {_difference(old, new)}"
    raise RobolinError(message, where=str(folder), hint=hint)


def _difference(old: PartsPlan, new: PartsPlan) -> str:
    """What tells two plans apart, in words."""
    if old.version != new.version:
        return f"robolin {old.version} made it, this is {new.version}"
    for key, value in old.asked.items():
        if new.asked.get(key) != value:
            return f"{key} was {_short(value)}, now it is {_short(new.asked.get(key))}"
    before = {each.name: each.sha256 for each in old.sources}
    now = {each.name: each.sha256 for each in new.sources}
    for name in {**before, **now}:
        if name not in now or name not in before:
            return f"the recording '{name}' is {'gone' if name not in now else 'new'}"
        if now[name] != before[name]:
            return f"the recording '{name}' was changed"
    return "recordings were divided otherwise"


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:200]


def _write(path: FilePlace, told: Mapping[str, Any]) -> None:
    write_place(path, _bytes(told))


def _bytes(told: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(told, ensure_ascii=False, allow_nan=False)}\n".encode()


def _damaged(path: FilePlace) -> RobolinError:
    return RobolinError(_DAMAGED, where=str(path), hint=_REMOVE)


def _other_format(path: FilePlace, found: int) -> RobolinError:
    message = f"a plan of format {found}; this robolin reads format {PLAN_FILE_FORMAT}"
    return RobolinError(message, where=str(path), hint=_REMOVE)
