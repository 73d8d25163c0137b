"""XML parser with line numbers; malicious or malformed text becomes a finding.

Any DOCTYPE is rejected, so no entity is defined and nothing outside the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from robolin.description.model import Finding, SourceLocation

LARGEST_FILE = 32 * 2**20
MOST_ELEMENTS = 100_000
MOST_ATTRIBUTES = 1000
DEEPEST_ELEMENT = 64
LONGEST_TEXT = 1000

# comments, a document's start, and then a key
_YAML = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*|---[^\n]*)?\r?\n)*[A-Za-z_]+:(?:\s|$)")

_HINTS = {
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "keep one of them",
    expat.errors.XML_ERROR_INVALID_TOKEN: "write & as &amp; and < as &lt;, quote every attribute",
    expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "write exactly one <robot> per file",
    expat.errors.XML_ERROR_MISPLACED_XML_PI: "remove everything before <?xml …?>",
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "use only &amp; &lt; &gt; &quot; &apos;",
}


@dataclass(slots=True)
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
        self.source, self.lines_before = source, lines_before
        self.longest_text = longest_text
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
            self.refuse("xml-too-deep", message, "check for a tag that is not closed")
        if self.count > MOST_ELEMENTS:
            self.refuse(
                "file-too-large", f"the file has more than the limit of {MOST_ELEMENTS} elements"
            )
        if len(attributes) > MOST_ATTRIBUTES:
            self.refuse(
                "file-too-large",
                f"<{tag[:20]}> has more than the limit of {MOST_ATTRIBUTES} attributes",
            )

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
    """The root element and notes, or None and the error in the XML.

    longest_text: length at which the text inside an element is cut
    """
    if refusal := _not_even_text(data, source):
        return None, [refusal]
    text, notes = _from_declaration(data, source)
    builder = _Builder(source, data.count(b"\n", 0, len(data) - len(text)), longest_text)
    try:
        builder.parser.Parse(text, True)
    except _RefusedError as refused:
        return None, [refused.finding]
    except expat.ExpatError as error:
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
    message, hint = (
        "white space precedes <?xml …?>",
        "remove it: other programs may reject the file",
    )
    return text, [Finding("space-before-xml", "note", SourceLocation(source, 1), message, hint)]


def _not_even_text(data: bytes, source: str) -> Finding | None:
    if len(data) > LARGEST_FILE:
        message = f"the file has {len(data)} bytes, more than the limit of {LARGEST_FILE}"
        hint = "keep meshes in separate files"
        return Finding("file-too-large", "error", SourceLocation(source), message, hint)
    location = SourceLocation(source, 1)
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        return Finding(
            "file-empty",
            "error",
            location,
            "the file is empty",
            "check that the file was written completely",
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")):
        return None  # UTF-16, which expat reads
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        if _YAML.match(data):
            hint = "name YAML files .yaml or .yml"
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
        what, hint = (
            "null byte",
            "remove the null bytes at the end of the file, or write the file again",
        )
    if builder.open and not hint:
        inner = builder.open[-1]
        hint = f"<{inner.tag}> of line {inner.line} is still open: close it with </{inner.tag}>"
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
