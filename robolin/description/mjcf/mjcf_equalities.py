"""MuJoCo's equality constraints: joints that follow others, and closures of loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from robolin.core.arm import NO_TURN, Mimic, Pose
from robolin.description.mjcf.mjcf_files import ModelFiles
from robolin.description.model import Finding, LoopEnd, LoopEntry

# MuJoCo's numbers of equality types
_CONNECT, _WELD, _JOINT, _TENDON = range(4)
_NAMES = {_WELD: "weld", _TENDON: "tendon"}
_TAGS = {_CONNECT: "connect", _WELD: "weld", _JOINT: "joint", _TENDON: "tendon"}
_BODY = 1


def followers(
    model: Mapping[str, Any], files: ModelFiles, found: list[Finding]
) -> dict[str, Mimic]:
    """Joints that follow another one along a straight line, by name; others are refused."""
    rules: dict[str, Mimic] = {}
    for equality in _active(model, _JOINT):
        first, second = equality["obj1id"], equality["obj2id"]
        name = model["joint"][first]["name"]
        offset, ratio, *bends = equality["data"][:5]
        if second < 0 or any(bends) or name in rules:
            what = "stands still" if second < 0 else "follows another on a curve, or follows two"
            hint = "--lock holds a joint still" if second < 0 else "only straight lines are known"
            found.append(_refused(files, equality, f"joint '{name}' {what}", hint))
            continue
        # MuJoCo counts both positions from where the model starts
        start, leads = (model["qpos0"][model["joint"][k]["qposadr"]] for k in (first, second))
        leader = model["joint"][second]["name"]
        rules[name] = Mimic(leader, ratio, start + offset - ratio * leads)
    return rules


def equality_closures(
    model: Mapping[str, Any], files: ModelFiles, found: list[Finding]
) -> Iterator[LoopEntry]:
    """Points of two bodies held together; whatever else closes a loop is refused by name."""
    for equality in _active(model, None):
        kind, place = equality["type"], files.at("connect", equality["name"])
        if kind == _CONNECT and equality["objtype"] == _BODY:
            ends = []
            for body, at in ((equality["obj1id"], 0), (equality["obj2id"], 3)):
                x, y, z = equality["data"][at : at + 3]
                ends.append(LoopEnd(model["body"][body]["name"], place, Pose(NO_TURN, (x, y, z))))
            yield LoopEntry(equality["name"], "point", place, *ends)
        elif kind != _JOINT:
            what = _NAMES.get(kind, "constraint of another kind")
            message = f"equality '{equality['name']}' is a {what}, which an arm has no place for"
            found.append(_refused(files, equality, message, "remove it, or connect two bodies"))


def _active(model: Mapping[str, Any], kind: int | None) -> Iterator[Mapping[str, Any]]:
    for equality in model["equality"]:
        if equality["active0"] and kind in (None, equality["type"]):
            yield equality


def _refused(files: ModelFiles, equality: Mapping[str, Any], message: str, hint: str) -> Finding:
    place = files.at(_TAGS.get(equality["type"], "equality"), equality["name"])
    return Finding("mjcf-equality", "error", place, message, hint)
