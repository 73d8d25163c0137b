"""Edit XML text in place: elements with their byte ranges; all other bytes stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from xml.parsers import expat

from robolin.core.records import dataclass
from robolin.description.model import Finding, SourceLocation
from robolin.errors import RobolinError

_ATTRIBUTE = re.compile(rb"\s+([^\s=/>]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_TAG_END = re.compile(rb"(?:[^>\"']|\"[^\"]*\"|'[^']*')*>")
_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.-]+)")
_COMMENT = re.compile(rb"<!--(.*?)(?:-->|\Z)", re.DOTALL)
# names of the entries of a rotational inertia, in the order of `Inertia.rotary`
INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

_TWO_BYTES = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")


def without_dashes(text: bytes) -> bytes:
    """The text with blanks for the hyphens in comments that contain two of them in a row.

    XML does not allow them, but the parsers of ROS, Gazebo and MuJoCo do.  Offsets stay the same.
    """

    def blanked(comment: re.Match[bytes]) -> bytes:
        inside = comment[1]
        wrong = b"--" in inside + b"-"
        return comment[0].replace(inside, inside.replace(b"-", b" "), 1) if wrong else comment[0]

    return _COMMENT.sub(blanked, text)


def hyphens_in_comment(source: str, line: int) -> Finding:
    """The warning about a comment that `without_dashes` changes."""
    message, hint = (
        "a comment contains --",
        "remove the hyphens: other programs may reject the file",
    )
    return Finding("comment-hyphens", "warning", SourceLocation(source, line), message, hint)


_UNIT = re.compile(rb"<(link|joint)(?=[\s>/])")
# ends of the elements that contain a link or joint of SDF, and starts of nested models
_AROUND = re.compile(rb"<(?:/model|/world|/sdf|model)(?=[\s>/])")
# malformed elements that are reported in one run
_MOST_MALFORMED = 50
_NAME = re.compile(rb"\bname\s*=\s*[\"']?([\w.:/-]+)")


def cut_malformed(
    text: bytes,
    source: str,
    broken: list[Finding],
    parse: Callable[[bytes, str], tuple[object, list[Finding]]],
) -> tuple[list[Finding], bytes | None]:
    """One finding for each malformed link and joint, and the text without these elements.

    None instead of the text if it stays malformed.

    broken: findings of `parse`, which returns None and the error for a malformed text
    """
    findings: list[Finding] = []
    while len(findings) < _MOST_MALFORMED:
        rest = without_malformed(text) if broken[0].id == "xml-malformed" else None
        if rest is None:
            return [*findings, *broken], None
        text, name = rest
        findings.append(replace(broken[0], message=f"{broken[0].message}, in {name}"))
        root, broken = parse(text, source)
        if root is not None:
            return findings, text
    return findings, None


def without_malformed(text: bytes) -> tuple[bytes, str] | None:
    """The text without a malformed link or joint, and the name of this element.

    An empty element replaces a link, so that joints can name it.  Line numbers do not change.
    None if no link or joint is malformed.
    """
    opened: list[tuple[str, int]] = []
    parser = expat.ParserCreate()

    def start(tag: str, _attributes: object) -> None:
        opened.append((tag, parser.CurrentByteIndex))

    def end(_tag: str) -> None:
        opened.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, LookupError, ValueError):
        stop = parser.ErrorByteIndex
        units = [begin for tag, begin in opened if tag in ("link", "joint")]
        before = [unit.start() for unit in _UNIT.finditer(text, 0, stop)]
        tag_end = _TAG_END.match(text, before[-1]) if before else None
        if before and (tag_end is None or tag_end.end() > stop):
            # the start tag itself is malformed
            units = before[-1:]
        # in UTF-16, no bytes of a tag match
        return _cut(text, units[-1]) if units and _UNIT.match(text, units[-1]) else None
    return None


def _cut(text: bytes, begin: int) -> tuple[bytes, str]:
    """The text without the element that begins here and ends before the next link or joint."""
    unit = _UNIT.match(text, begin)
    assert unit is not None, "a link or joint begins here"
    following = _UNIT.search(text, unit.end())
    around = _AROUND.search(text, unit.end())
    closing = text.rfind(b"</robot", begin)
    ends = [each.start() for each in (following, around) if each]
    stop = min(ends) if ends else closing if closing > begin else len(text)
    name = _NAME.search(text, begin, stop)
    stub = b'<link name="%s"/>' % name[1] if name and unit[1] == b"link" else b""
    shown = f"{unit[1].decode()} '{name[1].decode(errors='replace') if name else ''}'"
    return text[:begin] + stub + b"\n" * text.count(b"\n", begin, stop) + text[stop:], shown


@dataclass
class XmlNode:
    """An element with its byte ranges.

    start, content_start: of its start tag
    end, stop: of its end tag; both are `content_start` for an empty element
    text: the characters directly inside it, without comments
    """

    tag: str
    attributes: Mapping[str, str]
    start: int
    content_start: int
    end: int = 0
    stop: int = 0
    empty: bool = False
    text: str = ""
    children: list[XmlNode] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.attributes.get("name", "")

    def child(self, tag: str) -> XmlNode | None:
        return next((node for node in self.children if node.tag == tag), None)

    def all_nodes(self) -> Iterator[XmlNode]:
        yield self
        for node in self.children:
            yield from node.all_nodes()


class XmlEdits:
    """A text with changes of single elements; all other bytes stay as they are."""

    source: bytes
    shown: str

    def __init__(self, text: bytes, shown: str) -> None:
        if text.startswith(_TWO_BYTES):
            message = "cannot be edited, because the file is not UTF-8"
            raise RobolinError(message, where=shown, hint="save the file as UTF-8")
        self.source, self.shown = text, shown
        self.root: XmlNode = _tree(text, shown)
        self._changes: list[tuple[int, int, bytes]] = []

    def insert(self, node: XmlNode, *elements: str) -> None:
        """Insert elements before the others inside a node, indented as they are."""
        inside = self.source[node.content_start : node.end]
        lead = re.match(rb"\s*", inside)[0] if node.children else b""  # type: ignore[index]
        inner = b"".join(lead + element.encode() for element in elements)
        if not node.empty:
            self._change(node.content_start, node.content_start, inner)
            return
        opened = self.source[node.start : node.content_start].rstrip()[:-2].rstrip() + b">"
        self._change(node.start, node.content_start, opened + inner + f"</{node.tag}>".encode())

    def set_attributes(
        self, node: XmlNode, values: Mapping[str, str], remove: Sequence[str] = ()
    ) -> None:
        """Set and remove attributes of a start tag; all others keep their text."""
        tag = self.source[node.start : node.content_start]
        parts, at, left = [], 0, dict(values)
        for attribute in _ATTRIBUTE.finditer(tag):
            name = attribute[1].decode()
            if name in remove:
                parts.append(tag[at : attribute.start()])
                at = attribute.end()
            elif name in left:
                parts.append(tag[at : attribute.start(2)] + f'"{left.pop(name)}"'.encode())
                at = attribute.end()
        last = len(tag) - (2 if node.empty else 1)
        # a space before the slash stays there
        ends = len(tag[:last].rstrip())
        parts.append(tag[at:ends])
        parts += [f' {name}="{value}"'.encode() for name, value in left.items()]
        self._change(node.start, node.content_start, b"".join(parts) + tag[ends:])

    def set_content(self, node: XmlNode, content: str, remove: Sequence[str] = ()) -> None:
        """Replace all that is inside an element, and remove attributes."""
        tag = self.source[node.start : node.content_start]
        for attribute in reversed(list(_ATTRIBUTE.finditer(tag))):
            if attribute[1].decode() in remove:
                tag = tag[: attribute.start()] + tag[attribute.end() :]
        if node.empty:
            opened = tag.rstrip()[:-2].rstrip() + b">"
            closed = f"{content}</{node.tag}>".encode()
            self._change(node.start, node.content_start, opened + closed)
        else:
            self._change(node.start, node.end, tag + content.encode())

    def comment(self, lines: Sequence[str]) -> None:
        """Add a comment at the end of the file's root element."""
        if not lines:
            return
        text = "".join(f"  {line}\n" for line in lines)
        text, flags = re.subn(r"(?<= )--([a-z][a-z-]*)", r"the flag '\1'", text)
        if flags:
            text += "  (flags start with two hyphens, which XML comments must not contain)\n"
        text = text.replace("--", "- -")
        declared = _ENCODING.match(self.source)
        written = f"<!--\n{text}-->\n".encode(
            declared[1].decode() if declared else "utf-8", "xmlcharrefreplace"
        )
        if b"\r\n" in self.source:
            written = written.replace(b"\n", b"\r\n")
        self._change(self.root.end, self.root.end, written)

    def result(self) -> bytes:
        """The text with all changes."""
        text = self.source
        for start, stop, replacement in sorted(self._changes, reverse=True):
            text = text[:start] + replacement + text[stop:]
        return text

    def _change(self, start: int, stop: int, replacement: bytes) -> None:
        self._changes.append((start, stop, replacement))


class XmlEditor:
    """Base class of the editors of URDF, SDF and MJCF files."""

    edits: XmlEdits

    def __init__(self, text: bytes, shown: str) -> None:
        self.edits = XmlEdits(text, shown)
        self._links: dict[str, XmlNode] = {}
        self._joints: dict[str, XmlNode] = {}

    @property
    def links(self) -> Collection[str]:
        return self._links

    @property
    def joints(self) -> Collection[str]:
        return self._joints

    def result(self, remarks: Sequence[str]) -> bytes:
        self.edits.comment(remarks)
        return self.edits.result()


def empty_element(tag: str, attributes: Mapping[str, str]) -> str:
    """The text of an empty element."""
    texts = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{texts}/>"


def number_list(values: Sequence[float]) -> str:
    """Numbers with all digits, separated by spaces."""
    return " ".join(repr(float(value)) for value in values)


def _tree(text: bytes, shown: str) -> XmlNode:
    """All elements of a text with their byte ranges."""
    # XML allows no white space before its declaration, the readers do
    body = text.removeprefix(b"\xef\xbb\xbf")
    shift = len(text) - len(body.lstrip())
    open_nodes: list[XmlNode] = []
    roots: list[XmlNode] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        first = parser.CurrentByteIndex + shift
        end = _TAG_END.match(text, first)
        inner = end.end() if end else first
        node = XmlNode(tag, attributes, first, inner, empty=text[inner - 2 : inner] == b"/>")
        (open_nodes[-1].children if open_nodes else roots).append(node)
        open_nodes.append(node)

    def end(_: str) -> None:
        node = open_nodes.pop()
        node.end = node.stop = node.content_start
        if not node.empty:
            node.end = parser.CurrentByteIndex + shift
            node.stop = text.index(b">", node.end) + 1

    def characters(characters: str) -> None:
        open_nodes[-1].text += characters

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    try:
        parser.Parse(without_dashes(text[shift:]), True)
    except expat.ExpatError as error:
        raise RobolinError(f"is not valid XML: {error}", where=shown) from error
    return roots[0]
