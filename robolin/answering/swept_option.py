"""One option of a model given several values, and the answers to all of them as one result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robolin.errors import UsageError
from robolin.results.result import Array, Result

# the flags that can be swept: what stands before the values, and behind them
_FORMS = {
    "payload": re.compile(r"(?P<before>.+:)(?P<values>[^:@]*,[^:@]*)(?P<behind>@.*)?"),
    "armature": re.compile(r"(?P<before>[^=,]+=)(?P<values>[^=]*,[^=]*)(?P<behind>)"),
    "lock": re.compile(r"(?P<before>[^=,]+=)(?P<values>[^=]*,[^=]*)(?P<behind>)"),
    "friction-velocity": re.compile(r"(?P<before>)(?P<values>[^=]*,[^=]*)(?P<behind>)"),
}
SWEPT = tuple(_FORMS)
_UNITS = {
    "payload": ("kg", "kg"),
    "armature": ("kg·m²", "kg"),
    "lock": ("rad", "m"),
    "friction-velocity": ("rad/s", "m/s"),
}


@dataclass(frozen=True)
class SweptOption:
    """The option that takes several values: its name, what it is about, and each value as text."""

    label: str
    about: str
    texts: tuple[str, ...]


def swept_option(label: str, text: str) -> SweptOption | None:
    """The option with each of its values, if it is given several."""
    form = _FORMS.get(label)
    found = form.fullmatch(text) if form else None
    if found is None:
        return None
    before, behind = found["before"], found["behind"] or ""
    texts = tuple(f"{before}{value.strip()}{behind}" for value in found["values"].split(","))
    return SweptOption(label, before.rstrip(":="), texts)


def swept_result(option: SweptOption, values: Sequence[float], answers: Sequence[Result]) -> Result:
    """The answers as rows of one result, beside the values that make them differ."""
    first = answers[0]
    for answer in answers:
        if answer.batch is not None:
            hint = "give one state with --q, --qd, …"
            raise UsageError("a sweep is about one state, not about many rows", hint=hint)
        if [a.labels for a in answer.arrays] != [a.labels for a in first.arrays]:
            raise UsageError("the answers have different shapes", where=f"--{option.label}")
    arrays = tuple(
        replace(array, values=np.stack([answer.arrays[i].values for answer in answers]))
        for i, array in enumerate(first.arrays)
    )
    name = option.label.replace("-", "_")
    unit = _UNITS[option.label][_slides(option.about, first.model)]
    axis = Array(name, np.asarray(values, np.float64), (), unit)
    said = f"{first.verb} for {len(answers)} values of --{option.label} {option.about}".rstrip()
    contract = {**_common([answer.contract for answer in answers]), "sweep": said}
    return replace(first, verb="sweep", arrays=(axis, *arrays), contract=contract)


def _slides(joint: str, model: Mapping[str, object] | None) -> bool:
    joints = (model or {}).get("joints", {})
    figures = joints.get(joint, {}) if isinstance(joints, dict) else {}
    return figures.get("type") == "prismatic"


def _common(contracts: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What all of them say alike."""
    first = contracts[0]
    return {key: first[key] for key in first if all(c.get(key) == first[key] for c in contracts)}
