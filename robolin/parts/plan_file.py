"""The plan in the folder of its parts, and the note that says that all of them are there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from robolin.errors import RobolinError
from robolin.files.places import FilePlace, content, write_place
from robolin.parts.parts_plan import PLAN_FORMAT, PartsPlan, PlannedPart
from robolin.parts.survey import surveyed_from, surveyed_plain

PLAN, COMPLETE = "_plan.json", "_robolin.json"
_DAMAGED = "it is no plan, or a damaged one"


def read_plan(folder: FilePlace) -> PartsPlan | None:
    """The plan that a folder has parts of; None if it has none."""
    path = folder / PLAN
    data = content(path)
    if data is None:
        return None
    try:
        told = json.loads(data.decode("utf-8"))
    except ValueError as error:
        raise _damaged(path) from error
    try:
        if told["format"] != PLAN_FORMAT:
            message = f"a plan of format {told['format']!r}; robolin here knows {PLAN_FORMAT}"
            raise RobolinError(message, where=str(path), hint="use the robolin that made it")
        sources = tuple(surveyed_from(each) for each in told["sources"])
        parts = tuple(PlannedPart(*part) for part in told["parts"])
        plan = PartsPlan(told["asked"], sources, parts, told["robolin"], tuple(told["mixed"]))
        if plan.id != told["id"]:
            raise _damaged(path)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _damaged(path) from error
    return plan


def write_plan(folder: FilePlace, plan: PartsPlan) -> None:
    """Keep the plan with its parts."""
    told = {
        "format": PLAN_FORMAT,
        "id": plan.id,
        "robolin": plan.version,
        "asked": plan.asked,
        "mixed": plan.mixed,
        "sources": [surveyed_plain(each) for each in plan.sources],
        "parts": [[part.name, part.source, part.rows] for part in plan.parts],
    }
    _write(folder / PLAN, told)


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
    return RobolinError(_DAMAGED, where=str(path), hint="remove it: the next run makes it anew")
