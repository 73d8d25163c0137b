"""YAML text as a tree of nodes with line and column; values are not converted.

Only data is accepted: mappings, lists and scalars of one document.  Anchors, aliases, tags and
merge keys are rejected with their location.  The tree is built from the parser's events with an
explicit stack, so deep nesting cannot exhaust Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from robolin.core.records import dataclass
from robolin.core.text import printable
from robolin.description.model import Finding, SourceLocation
from robolin.description.robot_source import STANDARD_INPUT

if TYPE_CHECKING:
    from yaml import Event, YAMLError, events

MAX_BYTES = 2 * 1024 * 1024
MAX_NODES = 60_000
MAX_DEPTH = 32
# reading stops after this number of errors
MAX_FINDINGS = 1000
_XML = re.compile(r"\s*<[?!A-Za-z]")

NodeKind = Literal["scalar", "list", "mapping", "refused"]


@dataclass(frozen=True)
class Node:
    """One value; `children` are a list's items, or a mapping's alternating keys and values.

    A refused node marks an error that has already been reported.
    """

    kind: NodeKind
    location: SourceLocation
    text: str = ""
    quoted: bool = False
    children: tuple[Node, ...] = ()

    @property
    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """The keys of a mapping with their values."""
        return zip(self.children[::2], self.children[1::2], strict=True)

    def get(self, key: str) -> Node | None:
        """The value at a key, or None."""
        return next((value for name, value in self.pairs if name.text == key), None)

    @property
    def empty(self) -> bool:
        """True for an empty value."""
        return self.kind == "scalar" and not self.quoted and self.text in ("", "~", "null")


def shown(text: str, at_most: int = 40) -> str:
    """A text of the file, shortened and escaped for a message."""
    safe = printable(text[: at_most + 1])
    return f"'{safe}'" if len(text) <= at_most else f"'{safe[:at_most]}…'"


def read_nodes(data: bytes, source: str) -> tuple[Node | None, list[Finding]]:
    """The document in a file, or None if it is not readable, and all findings."""
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data)} bytes, more than the limit of {MAX_BYTES}"
        return None, [
            _finding(
                "file-too-large", SourceLocation(source), message, "check that this is a robot file"
            )
        ]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        hint = "save the file as UTF-8"
        return None, [_finding("encoding", SourceLocation(source, line), message, hint)]
    if _XML.match(text):
        hint = "use the extension .urdf or .xml for URDF files"
        return None, [
            _finding("yaml-malformed", SourceLocation(source, 1), "this is XML, not YAML", hint)
        ]
    root, findings = _composed(text, source)
    return root, list(findings)


# cached: repeated queries about an arm read the same text
@lru_cache(maxsize=16)
def _composed(text: str, source: str) -> tuple[Node | None, tuple[Finding, ...]]:
    from yaml import SafeLoader, YAMLError, parse

    tree = _Tree(source, SourceLocation(source, 1))
    try:
        for event in parse(text, SafeLoader):
            tree.take(event)
            if tree.done:
                break
    except YAMLError as error:
        return None, (*tree.findings, _syntax_finding(error, text, source))
    except (ValueError, OverflowError) as error:
        # an escape or a directive with an invalid number
        message, hint = (
            f"malformed YAML after this position: {error}",
            "check the escapes in quoted text",
        )
        return None, (*tree.findings, _finding("yaml-malformed", tree.reached, message, hint))
    if tree.root is None and not tree.findings:
        hint = "start the file with 'robolin: 1'"
        if source == STANDARD_INPUT:
            hint = "pipe a robot file: YAML that starts with 'robolin: 1', or URDF, SDF or MJCF"
        return None, (_finding("file-empty", SourceLocation(source, 1), "the file is empty", hint),)
    return tree.root, tuple(tree.findings)


@dataclass
class _Open:
    """A list or mapping that is not yet complete."""

    kind: NodeKind
    location: SourceLocation
    children: list[Node] = field(default_factory=list)
    keys: dict[str, SourceLocation] = field(default_factory=dict)

    @property
    def awaits_key(self) -> bool:
        return self.kind == "mapping" and len(self.children) % 2 == 0


@dataclass
class _Tree:
    """The tree under construction: complete nodes are children of the last open one."""

    source: str
    reached: SourceLocation
    root: Node | None = None
    done: bool = False
    documents: int = 0
    nodes: int = 0
    open: list[_Open] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def take(self, event: Event) -> None:
        from yaml import events

        location = self.reached = _location(event.start_mark, self.source)
        match event:
            case events.DocumentStartEvent():
                self._begin_document(location)
            case events.AliasEvent():
                self._refuse_alias(location, f"alias '*{event.anchor}' is not supported")
                self._add(Node("refused", location))
            case events.ScalarEvent():
                self._refuse_extras(event, location)
                quoted = event.style is not None
                self._add(Node("scalar", location, event.value, quoted))
            case events.SequenceStartEvent():
                self._begin(event, "list", location)
            case events.MappingStartEvent():
                self._begin(event, "mapping", location)
            case events.CollectionEndEvent():
                self._end()
        if self.done:
            self.root = None

    def _begin_document(self, location: SourceLocation) -> None:
        self.documents += 1
        if self.documents > 1:
            self._stop(
                "yaml-documents",
                location,
                "a second document starts here",
                "write one robot per file",
            )

    def _begin(
        self, event: events.CollectionStartEvent, kind: NodeKind, location: SourceLocation
    ) -> None:
        self._refuse_extras(event, location)
        if len(self.open) == MAX_DEPTH:
            message = f"values are nested deeper than the limit of {MAX_DEPTH} levels"
            self._stop(
                "yaml-too-deep", location, message, "reduce the nesting: a robot needs five levels"
            )
        else:
            self.open.append(_Open(kind, location))

    def _end(self) -> None:
        ended = self.open.pop()
        self._add(Node(ended.kind, ended.location, children=tuple(ended.children)))

    def _add(self, node: Node) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"the file has more than the limit of {MAX_NODES} values"
            self._stop("file-too-large", node.location, message, "check that this is a robot file")
            return
        if not self.open:
            self.root = node
            return
        around = self.open[-1]
        if around.awaits_key:
            node = self._checked_key(node, around)
        around.children.append(node)

    def _checked_key(self, key: Node, around: _Open) -> Node:
        """The key, or a refused node after an error."""
        if key.kind != "scalar":
            if key.kind != "refused":
                self._complain("yaml-key", key.location, "a key must be a word", "write key: value")
        elif key.text == "<<" and not key.quoted:
            hint = "write every key in this mapping"
            self._complain("yaml-merge", key.location, "merge key '<<' is not supported", hint)
        elif first := around.keys.get(key.text):
            message = f"key {shown(key.text)} occurs twice; the first is at {first}"
            self._complain("duplicate-key", key.location, message, "remove one of the two keys")
        else:
            around.keys[key.text] = key.location
            return key
        return Node("refused", key.location)

    def _refuse_extras(
        self, event: events.ScalarEvent | events.CollectionStartEvent, location: SourceLocation
    ) -> None:
        if event.anchor:
            self._refuse_alias(location, f"anchor '&{event.anchor}' is not supported")
        if event.tag:
            message = f"tag {shown(event.tag)} is not supported"
            self._complain(
                "yaml-tag", location, message, "remove the tag: every key has a fixed type"
            )

    def _refuse_alias(self, location: SourceLocation, message: str) -> None:
        self._complain(
            "yaml-alias", location, message, "write the values in full where they are used"
        )

    def _stop(self, rule: str, location: SourceLocation, message: str, hint: str) -> None:
        self._complain(rule, location, message, hint)
        self.root, self.done = None, True

    def _complain(self, rule: str, location: SourceLocation, message: str, hint: str) -> None:
        self.findings.append(_finding(rule, location, message, hint))
        if len(self.findings) > MAX_FINDINGS:
            self.root, self.done = None, True


def _finding(rule: str, location: SourceLocation, message: str, hint: str) -> Finding:
    return Finding(rule, "error", location, message, hint)


def _location(mark: Any, source: str) -> SourceLocation:
    """The location of a parser mark, which counts from 0 and may be missing."""
    return (
        SourceLocation(source, mark.line + 1, mark.column + 1) if mark else SourceLocation(source)
    )


def _syntax_finding(error: YAMLError, text: str, source: str) -> Finding:
    from yaml import MarkedYAMLError
    from yaml.reader import ReaderError

    location, problem = SourceLocation(source), "the text is malformed"
    if isinstance(error, ReaderError):
        location = SourceLocation(source, text.count("\n", 0, error.position) + 1)
        problem = f"character {text[error.position]!a} is not allowed"
    elif isinstance(error, MarkedYAMLError):
        location = _location(error.problem_mark or error.context_mark, source)
        problem = " ".join(filter(None, [error.context, error.problem]))
    return _finding("yaml-malformed", location, f"malformed YAML: {problem}", _syntax_hint(problem))


def _syntax_hint(problem: str) -> str:
    if r"'\t'" in problem:
        return "indent with spaces, not with tabs"
    if "mapping values are not allowed" in problem:
        return "check the indentation of this line and the line above"
    return "check indentation, brackets and quotes here and on the line above"
