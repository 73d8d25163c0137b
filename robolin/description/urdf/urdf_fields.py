"""Access to attributes and children of URDF elements, with a finding for every problem.

An invalid value becomes a finding and is replaced by its default, so that one pass reports all
problems; a description with an error is never used.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from robolin.core.arm import Vector3
from robolin.description.model import MOST_KINDS, Finding, Level, SourceLocation
from robolin.description.xml_tree import Element

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[^ \t\r\n]+")
_XACRO = re.compile(r"\$[{(]")
_BELONGS = {
    "link": "robot",
    "inertial": "link",
    "mass": "inertial",
    "inertia": "inertial",
    "axis": "joint",
    "limit": "joint",
    "dynamics": "joint",
    "mimic": "joint",
    "parent": "joint",
    "child": "joint",
}
# elements without children of their own
_LEAVES = (
    *("origin", "mass", "inertia", "axis", "axis2", "limit", "dynamics", "mimic"),
    *("parent", "child"),
)
# elements and attributes that affect the dynamics but are not read, and their effect
_CHANGES_DYNAMICS = {
    "loop_joint": "it closes a loop",
    "force_element": "it applies forces",
    "drake:joint": "it is a joint",
    "drake:mimic": "it couples joints",
    "drake:linear_bushing_rpy": "it is a spring with a damper",
    "drake:linear_spring_damper": "it is a spring with a damper",
    "drake:ball_constraint": "it closes a loop",
    "drake:tendon_constraint": "it couples joints",
    "drake:rotor_inertia": "it adds armature",
    "quat_xyzw": "it is a rotation",
    **dict.fromkeys(("spring_stiffness", "springStiffness", "stiffness"), "it is a spring"),
}
_LEFT_OUT_HINT = "model it in YAML or MJCF, or add its effect to the result"
MOST_NUMBERS_IN_FIELD = 100
XACRO_HINT = "expand the file first: xacro file.xacro > file.urdf"


class Notes:
    """Findings and ignored elements of one file."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.findings: list[Finding] = []
        self.ignored: Counter[str] = Counter()

    def at(self, element: Element) -> SourceLocation:
        return SourceLocation(self.source, element.line)

    def add(self, what: str, level: Level, element: Element, message: str, hint: str = "") -> None:
        self.findings.append(Finding(what, level, self.at(element), message, hint))

    def error(self, what: str, element: Element, message: str, hint: str = "") -> None:
        self.add(what, "error", element, message, hint)

    def ignore(self, what: str) -> None:
        self.ignored[what] += 1


def children(
    element: Element, owner: str, known: Sequence[str], notes: Notes
) -> dict[str, Element]:
    """The known children by tag, at most one each; unknown children are listed as ignored."""
    elements: dict[str, Element] = {}
    for child in element.children:
        if child.tag not in known:
            note_unknown(child, child.tag, f"<{child.tag}> in {owner}", known, notes)
        elif child.tag in elements and _same_element(child, elements[child.tag]):
            message = f"{owner} has two equal <{child.tag}>; the first is on line "
            message += str(elements[child.tag].line)
            notes.add("repeated-element", "note", child, message, "keep one of them")
        elif child.tag in elements:
            message = f"{owner} has a second, different <{child.tag}>; the first is on line "
            message += str(elements[child.tag].line)
            notes.error("duplicate-element", child, message, "keep one of them")
        else:
            elements[child.tag] = child
    return elements


def _same_element(one: Element, other: Element) -> bool:
    """Return True if two elements have equal attributes and children, ignoring white space."""
    return (
        one.tag == other.tag
        and len(one.children) == len(other.children)
        and _words(one) == _words(other)
        and all(map(_same_element, one.children, other.children))
    )


def _words(element: Element) -> dict[str, list[str]]:
    return {name: value.split() for name, value in element.attributes.items()}


def check_attributes(element: Element, owner: str, known: Sequence[str], notes: Notes) -> None:
    """List unknown attributes as ignored, and warn about likely misspellings."""
    for name in element.attributes:
        if name not in known:
            where = f"{element.tag} attribute {name}"
            note_unknown(element, name, f"{owner}: {where}", known, notes, where)
    if element.tag in _LEAVES:
        children(element, f"<{element.tag}> of {owner}", (), notes)


def note_unknown(
    element: Element, name: str, what: str, known: Sequence[str], notes: Notes, listed: str = ""
) -> None:
    """Count an unread element or attribute; warn if it looks like a misspelt known name."""
    notes.ignore(listed or name)
    if len(notes.ignored) > MOST_KINDS:
        return
    if meant := resembled(name, known):
        notes.add("misspelt", "warning", element, f"{what} is ignored", f"did you mean '{meant}'?")
    elif name == element.tag and name in _BELONGS:
        hint = f"move it directly into <{_BELONGS[name]}>"
        notes.add("misplaced-element", "warning", element, f"{what} is ignored", hint)
    elif effect := _CHANGES_DYNAMICS.get(name):
        message = f"{what} is ignored, and it changes the dynamics: {effect}"
        notes.add("urdf-left-out", "warning", element, message, _LEFT_OUT_HINT)
    elif name == "gazebo":
        _check_simulator(element, notes)


def resembled(name: str, known: Sequence[str]) -> str | None:
    """The known name of which this one is a likely misspelling, None if there is none."""
    return next((word for word in known if _misspelt(name, word)), None)


def _check_simulator(gazebo: Element, notes: Notes) -> None:
    """Warn about springs and joints that only a simulator's settings contain."""
    for part in _descendants(gazebo):
        spring = part.tag in ("springStiffness", "spring_stiffness") and not _is_zero(part.text)
        if spring or (part.tag == "joint" and part.children):
            what = f"<{part.tag}> in <gazebo> is ignored, and it changes the dynamics"
            effect = "it is a spring" if spring else "it is a joint"
            notes.add("urdf-left-out", "warning", part, f"{what}: {effect}", _LEFT_OUT_HINT)


def _descendants(element: Element) -> Iterator[Element]:
    for part in element.children:
        yield part
        yield from _descendants(part)


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0.0
    except ValueError:
        return False


@lru_cache(maxsize=1024)
def _misspelt(name: str, word: str) -> bool:
    """Return True if a name is a word in another case or with swapped, added or missing letters."""
    name, word = name.lower(), word.lower()
    if abs(len(name) - len(word)) > len(word) // 2:
        return False
    if sorted(name) == sorted(word):
        return True
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name, word).ratio() >= 0.8


def name_of(element: Element, owner: str, notes: Notes, attribute: str = "name") -> str:
    """A name that is not empty; '' after reporting an error."""
    name = element.attributes.get(attribute)
    what = f"{owner} has no {attribute}" if name is None else f"{owner} has an empty {attribute}"
    hint = f'write <{element.tag} {attribute}="…">'
    if name is None:
        notes.error("name-missing", element, what, hint)
    elif not name.strip():
        notes.error("name-empty", element, what, hint)
    elif _XACRO.search(name):
        _unexpanded(element, f"{owner}: {attribute} {shown(name)}", notes)
    else:
        return name
    return ""


def number_attribute(
    element: Element, attribute: str, owner: str, notes: Notes, *, required: bool = False
) -> float | None:
    """A finite number; None if the attribute is absent or invalid."""
    text = element.attributes.get(attribute)
    what = f"{owner}: {element.tag} {attribute}"
    if text is None:
        if required:
            hint = f'write <{element.tag} {attribute}="…"/>'
            notes.error("missing-attribute", element, f"{what} is missing", hint)
        return None
    return finite_number(text.strip(" \t\r\n"), f"{what} {shown(text)}", element, notes)


def vector(
    element: Element | None, attribute: str, owner: str, notes: Notes, default: Vector3
) -> Vector3:
    """Three finite numbers; the default if the element or attribute is absent."""
    text = element.attributes.get(attribute) if element else None
    if element is None or text is None:
        return default
    values = number_list(element, attribute, owner, notes)
    if values is None:
        return default
    if len(values) != 3:
        what = f"{owner}: {element.tag} {attribute} {shown(text)}"
        more = (
            f"{MOST_NUMBERS_IN_FIELD} or more"
            if len(values) == MOST_NUMBERS_IN_FIELD
            else f"{len(values)}"
        )
        count = f"{more} number{'' if len(values) == 1 else 's'}"
        hint = f'write three numbers, as in {attribute}="0 0 0.5"'
        notes.error("wrong-count", element, f"{what} must have 3 numbers, got {count}", hint)
        return default
    return values[0], values[1], values[2]


def number_list(element: Element, attribute: str, owner: str, notes: Notes) -> list[float] | None:
    """Finite numbers separated by spaces; None if the attribute is absent or invalid."""
    text = element.attributes.get(attribute)
    if text is None:
        hint = f'write <{element.tag} {attribute}="…"/>'
        message = f"{owner}: {element.tag} {attribute} is missing"
        notes.error("missing-attribute", element, message, hint)
        return None
    what = f"{owner}: {element.tag} {attribute} {shown(text)}"
    return number_words(text, what, element, notes)


def number_words(text: str, what: str, element: Element, notes: Notes) -> list[float] | None:
    """Finite numbers separated by spaces; None after an error.

    what: name of the value in messages
    """
    if _XACRO.search(text):
        _unexpanded(element, what, notes)
        return None
    values = []
    for match in islice(_WORD.finditer(text), MOST_NUMBERS_IN_FIELD):
        word = match[0]
        value = finite_number(word, f"{what}: {shown(word)}", element, notes)
        if value is None:
            return None
        values.append(value)
    return values


def finite_number(text: str, what: str, element: Element, notes: Notes) -> float | None:
    """A finite number; None after an error.

    what: name of the value in messages
    """
    if _NUMBER.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return value
        notes.error("number-not-finite", element, f"{what} is too large", "check the exponent")
    elif _NOT_FINITE.fullmatch(text):
        hint = "write a finite number; omit a limit that is unknown"
        notes.error("number-not-finite", element, f"{what} is not finite", hint)
    elif _XACRO.search(text):
        _unexpanded(element, what, notes)
    else:
        hint = "write a decimal number such as 0.25 or 2.5e-1, in SI units"
        if "," in text:
            hint = "separate numbers by spaces and use a decimal point, no commas"
        notes.error("number-malformed", element, f"{what} is not a number", hint)
    return None


def _unexpanded(element: Element, what: str, notes: Notes) -> None:
    notes.error("xacro-unexpanded", element, f"{what} is unexpanded xacro", XACRO_HINT)


def shown(text: str, longest: int = 60) -> str:
    """A value for messages: quoted, shortened, with control characters escaped."""
    if not text.isprintable():
        text = text.encode("unicode_escape").decode("ascii")
    return f"'{text}'" if len(text) <= longest else f"'{text[:longest]}…'"
