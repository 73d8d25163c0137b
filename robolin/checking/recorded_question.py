"""Questions asked again: from the options of a stored result, or from a case of a suite."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robolin.core.results.result import base_verb
from robolin.errors import FileError, RobolinError
from robolin.io.paths import split_part
from robolin.queries.query_context import arm_inputs
from robolin.queries.request import ARM_OPTION, Request, request_from_options
from robolin.queries.states import STATES_OPTION
from robolin.queries.verbs import VERBS, answering_verb

if TYPE_CHECKING:
    from robolin.io.stored import StoredFile

_COMPARE = "compare it with another result: robolin check FILE --against OTHER"


@dataclass(frozen=True)
class RecordedQuestion:
    """A verb, the arm, and options by name with their values; the paths among them are complete."""

    verb: str
    arm: str
    options: Mapping[str, Any]

    @property
    def files(self) -> tuple[str, ...]:
        """The arm and every other file that it names."""
        asks = VERBS[base_verb(self.verb)].options
        return (self.arm, *(str(self.options[each]) for each in asks if self._names(each)))

    def _names(self, label: str) -> bool:
        return label in self.options and VERBS[base_verb(self.verb)].options[label].kind == "file"

    def inquiry(self) -> Request:
        """What is asked, refused if it makes no sense."""
        return request_from_options(self.verb, self.arm, self.options)


@dataclass(frozen=True)
class Inputs:
    """Where the files are that a stored result was computed from.

    model: an arm to use in place of the recorded one
    root:  the folder that recorded paths are meant from, in place of the result's own
    """

    model: str | None = None
    root: Path | None = None


def recorded_question(stored: StoredFile, inputs: Inputs) -> RecordedQuestion:
    """The question that a stored result answers, with its files where they are now."""
    meta = stored.meta
    verb = answering_verb(meta["verb"])
    if verb is None:
        message = f"its verb '{meta['verb']}' cannot be run again"
        raise RobolinError(message, where=stored.path, hint=_COMPARE)
    options = dict(meta["options"])
    if STATES_OPTION in options:
        message = "it answers for states that were given as arrays"
        raise RobolinError(message, where=stored.path, hint=_COMPARE)
    if isinstance(options.get("trajectory"), list):
        message = "it answers for several recordings at once"
        raise RobolinError(message, where=stored.path, hint=_COMPARE)
    for label, ask in verb.options.items():
        if ask.kind == "file" and label in options:
            options[label] = _found(label, stored, inputs)
    arm = inputs.model or _found(ARM_OPTION, stored, inputs)
    options.pop(ARM_OPTION, None)
    unknown = [label for label in options if label not in verb.options]
    if unknown:
        message = f"it was asked with --{unknown[0]}, which {verb.name} does not have"
        raise RobolinError(message, where=stored.path, hint="compute the file again")
    return RecordedQuestion(verb.name, arm, {**options, **frame_in_contract(meta)})


def frame_in_contract(meta: Mapping[str, Any]) -> dict[str, str]:
    """The frame a stored answer is about, if it was not named when it was asked for."""
    verb = answering_verb(meta["verb"])
    option = next((label for label, ask in verb.asks.items() if ask.frame), None) if verb else None
    told = meta["contract"].get("frame", "")
    if option is None or meta["options"].get(option) or not isinstance(told, str):
        return {}
    # written as 'NAME', and the rest in words
    name = told.partition("'")[2].partition("'")[0]
    return {option: name} if name else {}


def motors_in_contract(meta: Mapping[str, Any]) -> dict[str, str]:
    """The motors of a stored linear model, if neither its options nor its description name them."""
    verb, options = answering_verb(meta["verb"]), meta["options"]
    line = meta["contract"].get("actuated")
    if verb is None or "actuated" not in verb.options or not isinstance(line, str):
        return {}
    joints = (meta["model"] or {}).get("joints", {}).values()
    described = any("actuated" in figures for figures in joints)
    if described or options.get("actuated") or options.get("passive"):
        return {}
    return {"actuated": "all" if line == "all joints" else line}


def with_stored_motors(asked: RecordedQuestion, meta: Mapping[str, Any]) -> RecordedQuestion:
    """The question about the motors of a result stored before passive joints were read.

    A robot file that has changed since then is asked about as it is now.
    """
    motors = motors_in_contract(meta)
    if not motors or asked.options.get("actuated") or asked.options.get("passive"):
        return asked
    arm = asked.inquiry().source.arm()
    same_file = all(meta["inputs"].get(name) == digest for name, digest in arm_inputs(arm).items())
    if not (arm.passive_joints and same_file):
        return asked
    return replace(asked, options={**asked.options, **motors})


def _found(label: str, stored: StoredFile, inputs: Inputs) -> str:
    """Where a file that was given for an option is now."""
    meta = stored.meta
    if label not in meta["options"]:
        hint = "--model ARM stands in for it"
        raise RobolinError("its arm came from no file", where=stored.path, hint=hint)
    name: str = meta["options"][label]
    recorded: str | None = meta.get("files", {}).get(label)
    if name == "-":
        stand_in = "--model ARM stands in for it"
        hint = stand_in if label == ARM_OPTION else "store it with a file instead"
        message = f"the {label} was read from standard input"
        raise RobolinError(message, where=stored.path, hint=hint)
    places = _places(name, recorded, Path(stored.path).parent, inputs.root)
    # results are called as their recordings are, and none is its own input
    places = [place for place in places if not _is_same_file(place, stored.path)]
    for place in places:
        # of a recording, which may be a folder, a part may be named
        inside, part = split_part(str(place))
        if place.is_file() or part or (label != ARM_OPTION and place.is_dir()):
            return os.path.normpath(inside) + (f":{part}" if part else "")
    if label == ARM_OPTION and recorded is None:
        from robolin.description.robot_source import bundled_path

        if bundled_path(name):
            return name
    tried = " or ".join(dict.fromkeys(f"'{os.path.normpath(place)}'" for place in places))
    raise FileError(
        f"the {label} '{name}' is not there" + (f"; looked for {tried}" if tried else ""),
        where=stored.path,
        hint="--root FOLDER says where its files are"
        + ", --model ARM which arm" * (label == ARM_OPTION)
        + "; `robolin record` keeps the way to them" * (recorded is None),
    )


def _is_same_file(place: Path, other: str) -> bool:
    return place.is_file() and os.path.exists(other) and place.samefile(other)


def _places(name: str, recorded: str | None, beside: Path, root: Path | None) -> list[Path]:
    """Where to look for a file: as recorded, or by its name alone."""
    if root is not None:
        return [root / (recorded or name), root / name]
    return [beside / recorded] if recorded else [beside / name, Path(name)]
