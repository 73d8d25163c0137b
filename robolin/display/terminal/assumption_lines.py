"""One or two lines about the model of a result; `--assumptions` prints the complete contract."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from textwrap import wrap
from typing import Any

from robolin.core.notebook import phrase
from robolin.core.result import Result
from robolin.core.text import join_and, list_some, pluralize

# contract entries with their own place on the screen, or of interest with --assumptions only
_HIDDEN = frozenset(
    {"arm", "joints", "inertial_frame", "units", "algorithm", "paper", "state", "torque", "notes"}
    | {"operating point", "stability", "modes", "closed loop", "closed modes", "frame"}
    | {"controllability", "observability", "Riccati equation", "units by name", "actuated"}
    | {"velocities", "start", "fixed", "ignored", "pose", "changed", "return"}
)
# contract entries that describe the model, in the order of the sentence
_MODEL = (
    *("gravity", "damping", "friction", "armature", "springs", "payload", "wrench", "locked"),
    *("mimic", "passive", "loops", "base", "tip"),
)
_PLAIN = re.compile(r"none|no\b|whole tree|link '.*', the root$|the root$|respected, none")
# ignored elements without an effect on dynamics
_APPEARANCE = frozenset(("visual", "collision", "material", "geom", "camera", "light", "site"))
# elements that are ignored only in a parent element where they have no meaning
_WITH_EFFECT = frozenset(("origin", "inertial", "mass", "inertia", "axis", "limit", "dynamics"))
# lines of 80 columns for the model and its ignored elements
_MOST_LINES = 2
# longer texts about the model are summarized
_LONG = 48
_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")


def assumptions(contract: Mapping[str, Any], hidden: Set[str] = frozenset()) -> Iterator[str]:
    """Sentences about the model where it differs from the plain one, and about this result.

    hidden: entries that the screen of the command omits
    """
    phrases = [_model_phrase(key, contract[key]) for key in _MODEL if key in contract]
    parts = [text for text in phrases if text]
    merged = phrase(contract["fixed"]) if "fixed" in contract else ""
    if parts:
        end = f"; {merged}" if merged and not _PLAIN.match(merged) else ""
        if ignored := contract.get("ignored"):
            yield _with_ignored(f"Assumes {join_and(parts)}{end}", ignored)
        else:
            yield f"Assumes {join_and(parts)}{end}."
    for key, value in contract.items():
        text = phrase(value)
        if key == "freedoms":
            yield _multi_dof_joints(text)
        elif key not in _HIDDEN | hidden and key not in _MODEL and text and not _PLAIN.match(text):
            yield f"{key}: {text}"


def _with_ignored(sentence: str, ignored: Sequence[str]) -> str:
    """The sentence with up to three kinds of ignored elements, in at most two lines.

    Shapes and colours are named last, because they have no effect on dynamics.
    """
    counted = f"{sentence}; ignored: {pluralize(len(ignored), 'kind')} of elements."
    lines = max(_MOST_LINES, len(wrap(counted, 80)))
    # names without counts, as in 'collision (17)', and without attributes
    kinds = [re.sub(r" \(\d+\).*", "", each) for each in ignored]
    kinds = [f"misplaced {kind}" if kind in _WITH_EFFECT else kind for kind in kinds]
    kinds.sort(key=lambda kind: kind.split()[0] in _APPEARANCE)
    for count in range(min(3, len(kinds)), 0, -1):
        more = [pluralize(len(kinds) - count, "more kind")] if count < len(kinds) else []
        named = f"{sentence}; ignored elements: {join_and(kinds[:count] + more)}."
        if len(wrap(named, 80)) <= lines:
            return named
    return counted


def zero_outside_limits(result: Result, short: Callable[[str], str]) -> str:
    """A line about the default position 0 if it is outside the limits of a joint; '' otherwise.

    short: function that shortens the name of a joint
    """
    state = str(result.contract.get("state", ""))
    if result.batch is not None or "q" in result.options or not re.match(r"q\b.*zero", state):
        return ""
    outside = [
        short(name)
        for name, joint in (result.model or {}).get("joints", {}).items()
        if joint.get("lower limit", 0.0) > 0.0 or joint.get("upper limit", 0.0) < 0.0
    ]
    return f"q = 0 is outside the limits of {list_some(outside)}: set --q" if outside else ""


def _model_phrase(key: str, value: Any) -> str:
    text = phrase(value)
    if key == "gravity":
        return _gravity(text)
    if not text or text == "[]" or _PLAIN.match(text):
        return ""
    if key == "friction" and "not applied" in text:
        return "friction off (--friction-velocity)"
    text = _NUMBER.sub(_shortened, text)
    if key == "friction" and text.startswith("applied, "):
        return _smooth_friction(text)
    if key in ("base", "tip"):
        return _end_of_chain(key, text)
    if key == "loops":
        return _loops(text)
    text = text.removeprefix("applied: ").removesuffix(": no motor in the robot file")
    if len(text) > _LONG and key in _SUMMARIES:
        return _SUMMARIES[key](text)
    return f"{key} {text}"


def _shortened(number: re.Match[str]) -> str:
    """A number of a file with at most six significant digits."""
    text = number[0]
    return f"{float(text):.6g}" if len(text) > len("-0.123456") else text


def _smooth_friction(text: str) -> str:
    """'applied, smoothed as FORMULA: VALUES', or the range of the values if they are many."""
    formula, _, values = text.rpartition(": ")
    if len(values) <= _LONG:
        return f"friction {text}"
    return f"{_per_joint('friction')(values)}, {formula.removeprefix('applied, ')}"


def _end_of_chain(key: str, text: str) -> str:
    """'floating: joint 'base' between …' as 'a floating base', 'link 'a'; …' as 'base 'a''."""
    link = re.match(r"link ('.*?')(?:;|$)", text)
    return f"{key} {link[1]}" if link else f"a {text.partition(':')[0]} {key}"


def _loops(text: str) -> str:
    state, _, listed = text.partition(": ")
    names = re.findall(r"(?:^|; )(\S+) \(", listed) or listed.split(", ")
    word = "closed" if state == "closed" else "open"
    return f"{word} loop{'s' * (len(names) > 1)} {join_and(names)}"


def _per_joint(key: str) -> Callable[[str], str]:
    """The range of numbers in a text such as '0.1 on a and b, c 2'."""

    def summary(text: str) -> str:
        values = [float(each) for each in _NUMBER.findall(re.sub(r"\bof \d+ joints", "", text))]
        if not values:
            return f"{key} as in the robot file"
        low, high = min(values), max(values)
        return f"{key} {low:g}" if low == high else f"{key} {low:g} to {high:g}"

    return summary


def _locked(text: str) -> str:
    return pluralize(text.replace("chain, at", "").count(", ") + 1, "locked joint")


_SUMMARIES: dict[str, Callable[[str], str]] = {
    "damping": _per_joint("damping"),
    "armature": _per_joint("armature"),
    "mimic": lambda text: pluralize(text.count("; ") + 1, "mimic joint"),
    "locked": _locked,
    "passive": lambda text: pluralize(text.count(", ") + 1, "passive joint"),
    "springs": lambda text: "joint springs",
}


def _multi_dof_joints(text: str) -> str:
    """Where the coordinates of multi-DoF joints are measured."""
    axes = re.findall(r"(?:^|; )(\S+) is \w+:.*? in the axes of (link '[^']*')", text)
    listed = join_and([f"{name} in the axes of {link}" for name, link in axes])
    return f"Velocities, accelerations and efforts of {listed}." if axes else text


def _gravity(text: str) -> str:
    """'0, 0, -9.81 m/s² in …' as 'gravity 9.81 m/s² along -z'."""
    match = re.match(r"(\S+), (\S+), (\S+) m/s²", text)
    if not match:
        return f"gravity {text}"
    along = [(float(entry), axis) for entry, axis in zip(match.groups(), "xyz", strict=True)]
    nonzero = [(entry, axis) for entry, axis in along if entry]
    if not nonzero:
        return "no gravity"
    if len(nonzero) == 1:
        entry, axis = nonzero[0]
        return f"gravity {abs(entry):g} m/s² along {'-' if entry < 0 else '+'}{axis}"
    return f"gravity ({', '.join(match.groups())}) m/s²"
