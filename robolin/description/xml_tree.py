"""XML parser with line numbers, and access to attributes and children with findings.

Any DOCTYPE is rejected, so no entity is defined and nothing outside the file is read.  An invalid
value becomes a finding and is replaced by its default, so that one pass reports all problems; a
description with an error is never used.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from xml.parsers import expat

from robolin.core.arm import Vector3
from robolin.core.records import dataclass
from robolin.core.text import quote_value, resembled
from robolin.description.model import MOST_KINDS, Finding, Level, SourceLocation

LARGEST_FILE = 32 * 2**20
MOST_ELEMENTS, MOST_ATTRIBUTES = 100_000, 1000
DEEPEST_ELEMENT = 64
LONGEST_TEXT = 1000

# comments, a document's start, and then a key
_YAML = rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*|---[^\n]*)?\r?\n)*[A-Za-z_]+:(?:\s|$)"

_HINTS = {
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "keep only one of these attributes",
    expat.errors.XML_ERROR_INVALID_TOKEN: "write & as &amp; and < as &lt;, quote every attribute",
    expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "write exactly one <robot> per file",
    expat.errors.XML_ERROR_MISPLACED_XML_PI: "remove everything before <?xml …?>",
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "use only &amp; &lt; &gt; &quot; &apos;",
}

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = r"(?ai:[+-]?(nan|inf|infinity))"
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
    "loop_joint": "the element closes a loop",
    "force_element": "the element applies forces",
    "drake:joint": "the element adds a joint",
    "drake:mimic": "the element couples joints",
    "drake:linear_bushing_rpy": "the element adds a spring with a damper",
    "drake:linear_spring_damper": "the element adds a spring with a damper",
    "drake:ball_constraint": "the element closes a loop",
    "drake:tendon_constraint": "the element couples joints",
    "drake:rotor_inertia": "the element adds armature",
    "quat_xyzw": "it defines a rotation",
    **dict.fromkeys(("spring_stiffness", "springStiffness", "stiffness"), "it adds a spring"),
}
_KEEP_ONE = "keep only one of the two elements"
_LEFT_OUT_HINT = "model this effect in YAML or MJCF; the result does not include the effect"
MOST_NUMBERS_IN_FIELD = 100
XACRO_HINT = "expand the file first: xacro file.xacro > file.urdf"


@dataclass
class Element:
    """One XML element, the line its tag starts on, and the text directly inside it."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)


class _RefusedError(Exception):
    """Parsing stopped with a finding."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding


class _Builder:
    """Builds the tree from expat's events; `open` is the path from the root to the current tag."""

    def __init__(self, source: str, lines_before: int, longest_text: int) -> None:
        self.source, self.lines_before, self.longest_text = source, lines_before, longest_text
        self.open: list[Element] = []
        self.root: Element | None = None
        self.count = 0
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        # text arrives in few pieces, which are joined one by one
        parser.buffer_size = max(parser.buffer_size, longest_text)
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype

    @property
    def line(self) -> int:
        """The current line of the file."""
        return self.lines_before + self.parser.CurrentLineNumber

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.line)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.count += 1
        if len(self.open) > DEEPEST_ELEMENT:
            message = f"elements are nested deeper than the limit of {DEEPEST_ELEMENT} levels"
            self.refuse("xml-too-deep", message, "check that every tag is closed")
        if self.count > MOST_ELEMENTS:
            message = f"the file has more than the limit of {MOST_ELEMENTS} elements"
            self.refuse("file-too-large", message)
        if len(attributes) > MOST_ATTRIBUTES:
            message = f"<{tag[:20]}> has more than the limit of {MOST_ATTRIBUTES} attributes"
            self.refuse("file-too-large", message)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        if len(self.open[-1].text) < self.longest_text:
            self.open[-1].text += text[: self.longest_text]

    def doctype(self, *_declaration: object) -> None:
        hint = "remove the <!DOCTYPE …> declaration"
        self.refuse("xml-doctype", "the file declares a DOCTYPE, which is rejected", hint)

    def refuse(self, finding_id: str, message: str, hint: str = "") -> None:
        location = SourceLocation(self.source, self.line)
        raise _RefusedError(Finding(finding_id, "error", location, message, hint))


def parse_xml(
    data: bytes, source: str, longest_text: int = LONGEST_TEXT
) -> tuple[Element | None, list[Finding]]:
    """The root element and notes, or None and the error in the XML; long texts are cut."""
    if refusal := _not_even_text(data, source):
        return None, [refusal]
    text, notes = _from_declaration(data, source)
    builder = _Builder(source, data.count(b"\n", 0, len(data) - len(text)), longest_text)
    try:
        builder.parser.Parse(text, True)
    except _RefusedError as refused:
        return None, [refused.finding]
    except expat.ExpatError as error:
        from robolin.description.xml_edits import hyphens_in_comment, without_dashes

        if (repaired := without_dashes(data)) != data:
            root, more = parse_xml(repaired, source, longest_text)
            warning = hyphens_in_comment(source, builder.lines_before + error.lineno)
            return root, [warning, *more] if root else more
        return None, [_malformed(error, builder, text)]
    except (LookupError, ValueError):  # from Python's side of expat: an encoding it cannot use
        message = "the encoding in <?xml …?> is unknown"
        return None, [_bad_encoding(SourceLocation(source, builder.line), message)]
    return builder.root, notes


def _from_declaration(data: bytes, source: str) -> tuple[bytes, list[Finding]]:
    """The text without white space before <?xml …?>, which XML does not allow there."""
    body = data.removeprefix(b"\xef\xbb\xbf")
    text = body.lstrip(b" \t\r\n")
    if body == text or not text.startswith(b"<?xml"):
        return data, []
    message = "white space precedes <?xml …?>"
    hint = "remove the white space: other programs may reject the file"
    return text, [Finding("space-before-xml", "note", SourceLocation(source, 1), message, hint)]


def _not_even_text(data: bytes, source: str) -> Finding | None:
    if len(data) > LARGEST_FILE:
        message = f"the file has {len(data)} bytes, more than the limit of {LARGEST_FILE}"
        hint = "keep meshes in separate files"
        return Finding("file-too-large", "error", SourceLocation(source), message, hint)
    location = SourceLocation(source, 1)
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        hint = "check that the file was written completely"
        return Finding("file-empty", "error", location, "the file is empty", hint)
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")):
        return None  # UTF-16, which expat reads
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        if re.match(_YAML, data):
            hint = "use the extension .yaml or .yml for YAML files"
            return Finding("not-xml", "error", location, "this is YAML, not XML", hint)
        message = "the file does not start with '<', so it is not XML"
        hint = 'start a URDF file with <?xml version="1.0"?> or <robot name="…">'
        return Finding("not-xml", "error", location, message, hint)
    return None


def _malformed(error: expat.ExpatError, builder: _Builder, data: bytes) -> Finding:
    location = SourceLocation(builder.source, builder.lines_before + error.lineno, error.offset + 1)
    what = expat.ErrorString(error.code)
    if what == expat.errors.XML_ERROR_UNKNOWN_ENCODING:
        return _bad_encoding(location, "the encoding in <?xml …?> is unknown")
    if what == expat.errors.XML_ERROR_INCORRECT_ENCODING:
        return _bad_encoding(location, "the encoding in <?xml …?> does not match the file")
    if what == expat.errors.XML_ERROR_INVALID_TOKEN and (stray := _stray_byte(data, builder)):
        return _bad_encoding(location, f"byte 0x{stray:02x} is not UTF-8")
    hint = _HINTS.get(what, "")
    if data[builder.parser.ErrorByteIndex :][:1] == b"\0":
        what = "null byte"
        hint = "remove the null bytes at the end of the file, or write the file again"
    if builder.open and not hint:
        inner = builder.open[-1]
        hint = f"<{inner.tag}> on line {inner.line} is not closed: add </{inner.tag}>"
    return Finding("xml-malformed", "error", location, f"malformed XML: {what}", hint)


def _stray_byte(data: bytes, builder: _Builder) -> int | None:
    """The offset of the first byte that is not UTF-8, if expat stopped there."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return data[error.start] if error.start == builder.parser.ErrorByteIndex else None
    return None


def _bad_encoding(location: SourceLocation, message: str) -> Finding:
    return Finding("encoding", "error", location, message, "save the file as UTF-8")


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

    def unexpanded(self, element: Element, what: str) -> None:
        self.error("xacro-unexpanded", element, f"{what} is unexpanded xacro", XACRO_HINT)

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
        elif first := elements.get(child.tag):
            same = _same_element(child, first)
            number = "two equal" if same else "a second, different"
            message = f"{owner} has {number} <{child.tag}>; the first is on line {first.line}"
            if same:
                notes.add("repeated-element", "note", child, message, _KEEP_ONE)
            elif child.tag == "inertial":
                message += ", and robolin uses the first, as ROS and Pinocchio do"
                notes.add("second-inertial", "warning", child, message, _KEEP_ONE)
            else:
                notes.error("duplicate-element", child, message, _KEEP_ONE)
        else:
            elements[child.tag] = child
    return elements


def _same_element(one: Element, other: Element) -> bool:
    """Return True if two elements have equal attributes and children, ignoring white space."""
    words, others = (
        {name: value.split() for name, value in each.attributes.items()} for each in (one, other)
    )
    return (
        (one.tag, words) == (other.tag, others)
        and len(one.children) == len(other.children)
        and all(map(_same_element, one.children, other.children))
    )


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
        hint = f"move the element directly into <{_BELONGS[name]}>"
        notes.add("misplaced-element", "warning", element, f"{what} is ignored", hint)
    elif effect := _CHANGES_DYNAMICS.get(name):
        message = f"{what} is ignored, although it changes the dynamics: {effect}"
        notes.add("urdf-left-out", "warning", element, message, _LEFT_OUT_HINT)
    elif name == "gazebo":
        _check_simulator(element, notes)


def _check_simulator(gazebo: Element, notes: Notes) -> None:
    """Warn about springs and joints that only a simulator's settings contain."""
    for part in _descendants(gazebo):
        spring = part.tag in ("springStiffness", "spring_stiffness") and not _is_zero(part.text)
        if spring or (part.tag == "joint" and part.children):
            what = f"<{part.tag}> in <gazebo> is ignored, although it changes the dynamics"
            effect = "it adds a spring" if spring else "it adds a joint"
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


def name_of(element: Element, owner: str, notes: Notes, attribute: str = "name") -> str:
    """A name that is not empty; '' after reporting an error."""
    name = element.attributes.get(attribute)
    what = f"{owner} has no {attribute}" if name is None else f"{owner} has an empty {attribute}"
    hint = f'write <{element.tag} {attribute}="…">'
    if name is None or not name.strip():
        notes.error("name-missing" if name is None else "name-empty", element, what, hint)
    elif _XACRO.search(name):
        notes.unexpanded(element, f"{owner}: {attribute} {quote_value(name)}")
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
    return finite_number(text.strip(" \t\r\n"), f"{what} {quote_value(text)}", element, notes)


def vector(
    element: Element | None, attribute: str, owner: str, notes: Notes, default: Vector3
) -> Vector3:
    """Three finite numbers; the default if the element or attribute is absent."""
    if element is None or attribute not in element.attributes:
        return default
    values = number_list(element, attribute, owner, notes)
    if values is None:
        return default
    if len(values) != 3:
        what = f"{owner}: {element.tag} {attribute} {quote_value(element.attributes[attribute])}"
        more = " or more" if len(values) == MOST_NUMBERS_IN_FIELD else ""
        count = f"{len(values)}{more} number{'' if len(values) == 1 else 's'}"
        hint = f'write three numbers, as in {attribute}="0 0 0.5"'
        notes.error("wrong-count", element, f"{what} must have 3 numbers, got {count}", hint)
        return default
    return values[0], values[1], values[2]


def number_list(element: Element, attribute: str, owner: str, notes: Notes) -> list[float] | None:
    """Finite numbers separated by spaces; None if the attribute is absent or invalid."""
    text = element.attributes.get(attribute)
    what = f"{owner}: {element.tag} {attribute}"
    if text is None:
        hint = f'write <{element.tag} {attribute}="…"/>'
        notes.error("missing-attribute", element, f"{what} is missing", hint)
        return None
    return number_words(text, f"{what} {quote_value(text)}", element, notes)


def number_words(text: str, what: str, element: Element, notes: Notes) -> list[float] | None:
    """Finite numbers separated by spaces; None after an error.

    what: name of the value in messages
    """
    if _XACRO.search(text):
        notes.unexpanded(element, what)
        return None
    values = []
    for word in (match[0] for match in islice(_WORD.finditer(text), MOST_NUMBERS_IN_FIELD)):
        value = finite_number(word, f"{what}: {quote_value(word)}", element, notes)
        if value is None:
            return None
        values.append(value)
    return values


def finite_number(text: str, what: str, element: Element, notes: Notes) -> float | None:
    """A finite number; None after an error.

    what: name of the value in messages
    """
    if _NUMBER.fullmatch(text):
        if math.isfinite(value := float(text)):
            return value
        notes.error("number-not-finite", element, f"{what} is too large", "check the exponent")
    elif re.fullmatch(_NOT_FINITE, text):
        hint = "write a finite number; if a limit is unknown, omit it"
        notes.error("number-not-finite", element, f"{what} is not finite", hint)
    elif _XACRO.search(text):
        notes.unexpanded(element, what)
    else:
        hint = "write a decimal number such as 0.25 or 2.5e-1, in SI units"
        if "," in text:
            hint = "separate numbers by spaces and use a decimal point, no commas"
        notes.error("number-malformed", element, f"{what} is not a number", hint)
    return None
