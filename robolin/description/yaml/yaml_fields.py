"""Typed access to the keys of a YAML mapping; invalid values become findings, not exceptions.

Every accessor returns a usable value, so that one pass reports all problems of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isfinite, nan, pi, radians
from typing import NamedTuple

from robolin.core.arm import ORIGIN, Inertia, Rotary, Vector3
from robolin.core.arm_parts import rotation_from_rpy, turned_rotary
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, quote_list
from robolin.description.model import Finding, Level, SourceLocation
from robolin.description.yaml.yaml_nodes import Node, shown

_UNSIGNED = r"(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER = re.compile(rf"[-+]?{_UNSIGNED}")
_NOT_FINITE = re.compile(r"[-+]?\.?(nan|inf|infinity)", re.IGNORECASE)
_DEGREES = re.compile(rf"([-+]?{_UNSIGNED}) ?(?:deg|°)")
_PI = re.compile(rf"([-+]?)(?:({_UNSIGNED}) ?\* ?)?pi(?: ?/ ?({_UNSIGNED}))?")
_KINDS = {"scalar": "a single value", "list": "a list", "mapping": "a mapping"}


@dataclass(frozen=True)
class Fields:
    """A mapping of the file, the name of its object, and the findings of its accessors."""

    node: Node
    what: str
    findings: list[Finding]
    prefix: str = ""

    def has(self, key: str) -> bool:
        return self.node.get(key) is not None

    def location(self, key: str) -> SourceLocation:
        """Location of the value of a key, or of the mapping if the key is missing."""
        value = self.node.get(key)
        return value.location if value else self.node.location

    def error(self, rule: str, location: SourceLocation, message: str, hint: str = "") -> None:
        self._note(rule, "error", location, message, hint)

    def warning(self, rule: str, location: SourceLocation, message: str, hint: str = "") -> None:
        self._note(rule, "warning", location, message, hint)

    def need(self, *keys: str, hint: str = "") -> None:
        """Report each of these keys that is missing."""
        for key in keys:
            if not self.has(key):
                message = f"{self.what} has no '{self.prefix}{key}'"
                self.error("missing-key", self.node.location, message, hint or f"add '{key}: …'")

    def number(self, key: str, default: float = 0.0, angle: bool = False) -> float:
        """A finite decimal number; an angle may also be written as 30deg or pi/6."""
        value = self.maybe_number(key, angle)
        return default if value is None else value

    def maybe_number(self, key: str, angle: bool = False) -> float | None:
        """A finite decimal number, or None if the key is missing or invalid."""
        value = self._value(key, "scalar", "a number")
        return None if value is None else self._as_number(value, self.prefix + key, angle)

    def vector(self, key: str, default: Vector3 = ORIGIN, angle: bool = False) -> Vector3:
        """A list of three numbers."""
        value = self._value(key, "list", "a list of three numbers")
        if value is None:
            return default
        name = self.prefix + key
        if len(value.children) != 3:
            message = f"{self.what}: {name} must have 3 values, got {len(value.children)}"
            self.error("wrong-count", value.location, message, f"write {key}: [x, y, z]")
            return default
        x, y, z = (
            self._as_number(item, f"{name}[{i}]", angle) for i, item in enumerate(value.children)
        )
        return default if x is None or y is None or z is None else (x, y, z)

    def is_kind(self, key: str, kind: str) -> bool:
        """Return True if the value of the key is of this kind: list, mapping or scalar."""
        value = self.node.get(key)
        return value is not None and value.kind == kind

    def pair(self, key: str, hint: str) -> tuple[float, float] | None:
        """A list of two numbers, or None if it is invalid."""
        value = self._value(key, "list", "a list of two numbers")
        if value is None:
            return None
        name = self.prefix + key
        if len(value.children) != 2:
            message = f"{self.what}: {name} must have 2 values, got {len(value.children)}"
            self.error("wrong-count", value.location, message, hint)
            return None
        first, second = (
            self._as_number(item, f"{name}[{i}]") for i, item in enumerate(value.children)
        )
        return None if first is None or second is None else (first, second)

    def numbers(self, key: str, angles: Sequence[bool], hint: str) -> list[float] | None:
        """A list of numbers, one per entry of `angles`, which is True where angles are allowed."""
        value = self._value(key, "list", "a list of numbers")
        if value is None:
            return None
        if len(value.children) != len(angles):
            message = f"{self.what}: must have {len(angles)} values, got {len(value.children)}"
            self.error("wrong-count", value.location, message, hint)
            return None
        items = zip(value.children, angles, strict=True)
        numbers = [
            self._as_number(item, f"value {i}", angle)
            for i, (item, angle) in enumerate(items, start=1)
        ]
        return [0.0 if number is None else number for number in numbers]

    def text(self, key: str) -> str:
        """A word or a line of text; empty if missing."""
        value = self._value(key, "scalar", "text")
        if value is None:
            return ""
        text = " ".join(value.text.split())
        if text and text.isprintable():
            return text
        problem = "has unprintable characters" if text else "is blank"
        message = f"{self.what}: {self.prefix}{key} {shown(value.text)} {problem}"
        self.error("bad-text", value.location, message, "use letters, digits, '_' and '-'")
        return ""

    def truth(self, key: str, default: bool) -> bool:
        """`true` or `false`."""
        value = self._value(key, "scalar", "true or false")
        if value is None:
            return default
        word = value.text.strip()
        if value.quoted or word not in ("true", "false"):
            message = (
                f"{self.what}: {self.prefix}{key} must be true or false, got {shown(value.text)}"
            )
            self.error("wrong-kind", value.location, message, f"write {key}: true or {key}: false")
            return default
        return word == "true"

    def choice(self, key: str, choices: Sequence[str], rule: str) -> str:
        """One of the choices; empty after a finding with the id `rule`."""
        word = self.text(key)
        if not word or word in choices:
            return word
        message = (
            f"{self.what}: {self.prefix}{key} must be one of {quote_list(choices)}, got "
            f"{shown(word)}"
        )
        self.error(rule, self.location(key), message, did_you_mean(word, choices))
        return ""

    def fields(self, key: str, known: Sequence[str]) -> Fields | None:
        """A mapping below this one, with only the known keys."""
        value = self._value(key, "mapping", "a mapping")
        if value is None:
            return None
        return fields_of(value, self.what, known, self.findings, f"{self.prefix}{key}.")

    def items(self, key: str) -> Sequence[Node]:
        """The items of a list."""
        value = self._value(key, "list", "a list")
        return value.children if value else ()

    def _value(self, key: str, kind: str, expected: str) -> Node | None:
        """The value of a key if it exists and has the right kind."""
        value = self.node.get(key)
        if value is None:
            return None
        return value if self._fits(value, self.prefix + key, kind, expected) else None

    def _fits(self, value: Node, name: str, kind: str, expected: str) -> bool:
        if value.empty:
            message = f"{self.what}: {name} has no value; expected {expected}"
            self.error("missing-value", value.location, message, "write a value, or remove the key")
        elif value.kind not in (kind, "refused"):
            got = shown(value.text) if value.kind == "scalar" else _KINDS[value.kind]
            message = f"{self.what}: {name} must be {expected}, got {got}"
            self.error("wrong-kind", value.location, message, _kind_hint(kind))
        return value.kind == kind and not value.empty

    def _as_number(self, value: Node, name: str, angle: bool = False) -> float | None:
        if not self._fits(value, name, "scalar", "a number"):
            return None
        if angle and not value.quoted and (radians := _angle(value.text.strip())) is not None:
            return radians
        is_decimal = not value.quoted and _NUMBER.fullmatch(value.text)
        number = float(value.text) if is_decimal else nan
        if isfinite(number):
            return number
        message = f"{self.what}: {name} is {shown(value.text)}"
        if is_decimal or _NOT_FINITE.fullmatch(value.text):
            hint = "write a finite number; omit the key if the value is unknown"
            self.error("number-not-finite", value.location, f"{message}, which is not finite", hint)
        else:
            hint = _number_hint(value)
            self.error(
                "number-malformed",
                value.location,
                f"{message}, which is not a decimal number",
                hint,
            )
        return None

    def _note(
        self, rule: str, level: Level, location: SourceLocation, message: str, hint: str
    ) -> None:
        self.findings.append(Finding(rule, level, location, message, hint))


_NO_ROBOT = "use XML, or YAML with joints and links, instead of plain text"


def fields_of(
    node: Node, what: str, known: Sequence[str], findings: list[Finding], prefix: str = ""
) -> Fields | None:
    """The fields of a mapping, with a finding for each unknown key; None for other nodes."""
    fields = Fields(node, what, findings, prefix)
    if node.kind != "mapping":
        if node.kind != "refused":
            message = f"{what} must be a mapping, got {_KINDS[node.kind]}"
            hint = _NO_ROBOT if node.kind == "scalar" and what == "the robot" else ""
            fields.error("wrong-kind", node.location, message, hint or _kind_hint("mapping"))
        return None
    for key, _ in node.pairs:
        if key.kind == "scalar" and key.text not in known:
            message = f"{what} has an unknown key {shown(prefix + key.text)}"
            fields.error("unknown-key", key.location, message, did_you_mean(key.text, known))
    return fields


def name_or_number(node: Node, kind: str, number: int) -> str:
    """The label of a list item in messages: its name, or else its number from 1."""
    name = node.get("name") if node.kind == "mapping" else None
    if name and name.kind == "scalar" and not name.empty:
        return f"{kind} {shown(name.text)}"
    return f"{kind} number {number}"


def _kind_hint(kind: str) -> str:
    return {
        "scalar": "write one value after the colon",
        "list": "write [first, second, …], or one item per line after '- '",
        "mapping": "write {key: value, …}, or one 'key: value' per line, indented",
    }[kind]


def _angle(text: str) -> float | None:
    """The angle in rad of a text in degrees or multiples of π; None for any other text."""
    if match := _DEGREES.fullmatch(text):
        angle = radians(float(match[1]))
    elif (match := _PI.fullmatch(text)) and float(match[3] or 1):
        angle = float(match[2] or 1) * pi / float(match[3] or 1)
        angle = -angle if match[1] == "-" else angle
    else:
        return None
    return angle if isfinite(angle) else None


def _number_hint(value: Node) -> str:
    """A hint for a value that is not a number."""
    text = value.text.strip()
    if value.quoted and (_NUMBER.fullmatch(text) or _angle(text) is not None):
        return f"remove the quotes: {text}"
    if (angle := _angle(text)) is not None:
        return f"write a number without an angle unit (as an angle it would be {angle!r})"
    if "_" in text and _NUMBER.fullmatch(text.replace("_", "")):
        return f"write the number without underscores: {text.replace('_', '')}"
    if re.fullmatch(r"[-+]?0[0-9]+(\.[0-9]*)?", text):
        return f"leading zeros can mean octal: write {text[0].strip('0')}{text.lstrip('-+0') or 0}"
    return "write a number like 0.5, -2 or 1e-3, in SI units"


BODY_SHAPES = ("box", "cylinder", "rod", "sphere")
SHAPE_KEYS = (*BODY_SHAPES, "rpy")
CYLINDER_KEYS = ("radius", "length")


class Solid(NamedTuple):
    """A uniform shape of mass 1: moments of inertia about its centre, and volume, 0 for a rod."""

    xx: float
    yy: float
    zz: float
    volume: float


def shaped_inertia(link: Fields) -> Inertia | None:
    """The inertia of a link with a shape; None after an error."""
    shape = link.fields("shape", SHAPE_KEYS)
    if shape is None:
        return None
    if link.has("inertia"):
        message = f"{link.what} has both 'shape' and 'inertia'"
        link.error(
            "shape-twice",
            link.location("inertia"),
            message,
            "remove one of the two keys: the shape determines the inertia",
        )
    shapes = [name for name in BODY_SHAPES if shape.has(name)]
    if len(shapes) != 1:
        message = f"{link.what}: shape must contain exactly 1 shape, got {len(shapes)}"
        link.error(
            "shape-twice", link.location("shape"), message, f"use one of {', '.join(BODY_SHAPES)}"
        )
        return None
    solid = _SOLIDS[shapes[0]](shape)
    mass = _mass(link, solid, shapes[0])
    rotary: Rotary = (mass * solid.xx, 0.0, 0.0, mass * solid.yy, 0.0, mass * solid.zz)
    if shape.has("rpy"):
        turn = rotation_from_rpy(*shape.vector("rpy", angle=True))
        rotary = turned_rotary(turn, rotary)
    return Inertia(mass, link.vector("com"), rotary)


def _mass(link: Fields, solid: Solid, shape: str) -> float:
    if link.has("mass") and link.has("density"):
        message = f"{link.what} has both 'mass' and 'density'"
        link.error("shape-twice", link.location("density"), message, "keep only one of these keys")
    if not link.has("density"):
        link.need("mass", hint="add a mass in kg, or a density in kg/m³")
        return link.number("mass")
    if not solid.volume and shape == "rod":
        message = f"{link.what}: a thin rod has no volume, so it cannot have a density"
        link.error("shape-size", link.location("density"), message, "give its mass")
    return link.number("density") * solid.volume


def _box(shape: Fields) -> Solid:
    x, y, z = (_size(shape, "box", edge) for edge in shape.vector("box"))
    diagonal = ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)
    return Solid(*diagonal, x * y * z)


def _cylinder(shape: Fields) -> Solid:
    sizes = shape.fields("cylinder", CYLINDER_KEYS)
    if sizes is None:
        return Solid(0.0, 0.0, 0.0, 0.0)
    sizes.need(*CYLINDER_KEYS)
    r, length = (_size(sizes, key, sizes.number(key, 1.0)) for key in CYLINDER_KEYS)
    across = (3 * r * r + length * length) / 12
    return Solid(across, across, r * r / 2, pi * r * r * length)


def _rod(shape: Fields) -> Solid:
    length = _size(shape, "rod", shape.number("rod", 1.0))
    return Solid(length * length / 12, length * length / 12, 0.0, 0.0)


def _sphere(shape: Fields) -> Solid:
    r = _size(shape, "sphere", shape.number("sphere", 1.0))
    inertia = 2 * r * r / 5
    return Solid(inertia, inertia, inertia, 4 * pi * r * r * r / 3)


_SOLIDS: dict[str, Callable[[Fields], Solid]] = {
    "box": _box,
    "cylinder": _cylinder,
    "rod": _rod,
    "sphere": _sphere,
}


def _size(fields: Fields, key: str, size: float) -> float:
    if size <= 0.0:
        message = f"{fields.what}: {fields.prefix}{key} must be > 0, got {size:g} m"
        fields.error("shape-size", fields.location(key), message, "give sizes in m")
    return size
