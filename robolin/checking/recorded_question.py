"""Requests that can be run again, from a stored result or a case of a suite."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robolin.core.choices import base_verb
from robolin.core.records import dataclass
from robolin.errors import FileError, RobolinError
from robolin.io.format_table import JOIN, split_part
from robolin.queries.option_specs import STATES_OPTION
from robolin.queries.question import answering_verb
from robolin.queries.request import ARM_OPTION, Request, arm_inputs, request_from_options
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.io.stored import StoredFile

_COMPARE = "compare with another result: robolin check FILE --against OTHER"


@dataclass(frozen=True)
class RecordedQuestion:
    """A command, the robot, and options by name; paths are resolved."""

    verb: str
    arm: str
    options: Mapping[str, Any]

    @property
    def files(self) -> tuple[str, ...]:
        """The robot and all other files of the request."""
        options = VERBS[base_verb(self.verb)].options
        return (self.arm, *(str(self.options[each]) for each in options if self._names(each)))

    def _names(self, label: str) -> bool:
        return label in self.options and VERBS[base_verb(self.verb)].options[label].kind == "file"

    def inquiry(self) -> Request:
        """The request as an object; an invalid one is rejected."""
        return request_from_options(self.verb, self.arm, self.options)


@dataclass(frozen=True)
class Inputs:
    """Location of the files that a stored result was computed from.

    model: a robot that replaces the recorded robot
    root:  base folder of recorded paths, in place of the folder of the result
    """

    model: str | None = None
    root: Path | None = None


def recorded_question(stored: StoredFile, inputs: Inputs) -> RecordedQuestion:
    """The request of a stored result, with current paths of its files."""
    meta = stored.meta
    verb = answering_verb(meta["verb"])
    if verb is None:
        message = f"the command '{meta['verb']}' cannot be run again"
        raise RobolinError(message, where=stored.path, hint=_COMPARE)
    options = dict(meta["options"])
    if STATES_OPTION in options:
        message = "the states were passed as arrays and are not stored"
        raise RobolinError(message, where=stored.path, hint=_COMPARE)
    if isinstance(options.get("trajectory"), list):
        message = "results of several recordings cannot be computed again"
        raise RobolinError(message, where=stored.path, hint=_COMPARE)
    for label, spec in verb.options.items():
        if spec.kind == "file" and label in options:
            options[label] = _locate(label, stored, inputs)
    arm = inputs.model or _locate(ARM_OPTION, stored, inputs)
    options.pop(ARM_OPTION, None)
    unknown = [label for label in options if label not in verb.options]
    if unknown:
        message = (
            f"the stored command has the option --{unknown[0]}, which {verb.name} does not support"
        )
        raise RobolinError(
            message, where=stored.path, hint="compute the result again, and replace the file"
        )
    return RecordedQuestion(verb.name, arm, {**options, **frame_in_contract(meta)})


def frame_in_contract(meta: Mapping[str, Any]) -> dict[str, str]:
    """The frame of a stored result, if no option names it."""
    verb = answering_verb(meta["verb"])
    option = (
        next((label for label, spec in verb.own_options.items() if spec.frame), None)
        if verb
        else None
    )
    line = meta["contract"].get("frame", "")
    if option is None or meta["options"].get(option) or not isinstance(line, str):
        return {}
    # the text is 'NAME', followed by a description
    name = line.partition("'")[2].partition("'")[0]
    return {option: name} if name else {}


def motors_in_contract(meta: Mapping[str, Any]) -> dict[str, str]:
    """Actuated joints of a stored linear model, if neither options nor the model name them."""
    verb, options = answering_verb(meta["verb"]), meta["options"]
    line = meta["contract"].get("actuated")
    if verb is None or "actuated" not in verb.options or not isinstance(line, str):
        return {}
    joints = (meta["model"] or {}).get("joints", {}).values()
    described = any("actuated" in joint for joint in joints)
    if described or options.get("actuated") or options.get("passive"):
        return {}
    return {"actuated": "all" if line == "all joints" else line}


def with_stored_motors(request: RecordedQuestion, meta: Mapping[str, Any]) -> RecordedQuestion:
    """The request with the actuated joints of a result stored before passive joints were read.

    If the robot file has changed since then, its own actuated joints are used.
    """
    motors = motors_in_contract(meta)
    if not motors or request.options.get("actuated") or request.options.get("passive"):
        return request
    arm = request.inquiry().source.arm()
    same_file = all(meta["inputs"].get(name) == digest for name, digest in arm_inputs(arm).items())
    if not (arm.passive_joints and same_file):
        return request
    return replace(request, options={**request.options, **motors})


def _locate(label: str, stored: StoredFile, inputs: Inputs) -> str:
    """Current path of a file that was passed as an option."""
    meta = stored.meta
    if label not in meta["options"]:
        hint = "set the robot with --model ARM"
        raise RobolinError(
            "the stored result does not contain the name of the robot file",
            where=stored.path,
            hint=hint,
        )
    for value in (meta["options"][label], meta.get("files", {}).get(label, "")):
        if not isinstance(value, str):
            message = f"the {label} must be a string, got {value!r}"
            raise RobolinError(
                message, where=stored.path, hint="compute the result again, and replace the file"
            )
    name: str = meta["options"][label]
    recorded: str | None = meta.get("files", {}).get(label)
    if name == "-":
        stand_in = "set the robot with --model ARM"
        hint = stand_in if label == ARM_OPTION else "store the result again with a file as input"
        message = f"the {label} was read from standard input and cannot be read again"
        raise RobolinError(message, where=stored.path, hint=hint)
    names = name.split(JOIN) if label != ARM_OPTION else [name]
    ways = [None] * len(names) if recorded is None else recorded.split(JOIN)
    if len(names) > 1 and len(ways) == len(names):
        locations = [
            _located(label, each, way, stored, inputs)
            for each, way in zip(names, ways, strict=True)
        ]
        if all(locations):
            return JOIN.join(each for each in locations if each)
    if (one := _located(label, name, recorded, stored, inputs)) is not None:
        return one
    if label == ARM_OPTION and recorded is None:
        from robolin.description.robot_source import bundled_path

        if bundled_path(name):
            return name
    candidates = _candidates(name, recorded, stored, inputs)
    tried = " or ".join(
        dict.fromkeys(f"'{os.path.normpath(candidate)}'" for candidate in candidates)
    )
    raise FileError(
        f"the {label} '{name}' does not exist"
        + (f"; looked for {tried}" if tried not in ("", f"'{name}'") else ""),
        where=stored.path,
        hint="use --root FOLDER to name the folder that contains the files"
        + ", or set the robot with --model ARM" * (label == ARM_OPTION)
        + "; results of `robolin record` contain the paths of their files" * (recorded is None),
    )


def _candidates(name: str, recorded: str | None, stored: StoredFile, inputs: Inputs) -> list[Path]:
    """Candidate paths of a file, without the result itself."""
    candidates = _candidate_paths(name, recorded, Path(stored.path).parent, inputs.root)
    # results often have the same name as their recording; a result is not its own input
    return [candidate for candidate in candidates if not _is_same_file(candidate, stored.path)]


def _located(
    label: str, name: str, recorded: str | None, stored: StoredFile, inputs: Inputs
) -> str | None:
    """Current path of one file, None if it does not exist."""
    for candidate in _candidates(name, recorded, stored, inputs):
        # a recording may be a folder with a part name
        inside, part = split_part(str(candidate))
        if candidate.is_file() or part or (label != ARM_OPTION and candidate.is_dir()):
            return os.path.normpath(inside) + (f":{part}" if part else "")
    return None


def _is_same_file(path: Path, other: str) -> bool:
    return path.is_file() and os.path.exists(other) and path.samefile(other)


def _candidate_paths(
    name: str, recorded: str | None, folder: Path, root: Path | None
) -> list[Path]:
    """Candidate paths of a file: as recorded, then by its name alone."""
    if root is not None:
        return [root / (recorded or name), root / name]
    return [folder / recorded] if recorded else [folder / name, Path(name)]
