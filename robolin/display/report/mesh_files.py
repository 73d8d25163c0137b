"""Triangles of mesh files (STL, OBJ, DAE) and of simple shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.description.xml_tree import LARGEST_FILE, Element, parse_xml

# segments of a circle
_AROUND = 24
_MOST_NODES = 5000

Colour = tuple[float, ...] | None


class Surface(NamedTuple):
    """Triangles (T, 3) of points (V, 3) in m, and their colour; None if the file has none."""

    points: Floats
    triangles: Numbers
    colour: Colour = None


class UnreadableError(Exception):
    """The reason why a mesh cannot be drawn."""


def read_stl(data: bytes) -> list[Surface]:
    """Binary or text STL; binary files may also begin with 'solid'."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) == 84 + 50 * count:
        rows = np.frombuffer(data, np.uint8, 50 * count, 84).reshape(-1, 50)
        points = np.ascontiguousarray(rows[:, 12:48]).view("<f4").reshape(-1, 3)
    elif texts := re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data):
        points = np.array(texts, dtype="S32").astype(np.float64).reshape(-1, 3)
        points = points[: len(points) // 3 * 3]
    else:
        raise UnreadableError("malformed STL")
    return [Surface(points.astype(np.float64), np.arange(len(points)).reshape(-1, 3))]


def read_obj(data: bytes) -> list[Surface]:
    """Vertices and faces of an OBJ file; polygons become fans of triangles."""
    points: list[list[bytes]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.splitlines():
        words = line.split()
        if line.startswith(b"v "):
            points.append(words[1:4])
        elif line.startswith(b"f "):
            corners = [int(word.split(b"/")[0]) for word in words[1:]]
            # negative numbers count from the last vertex
            corners = [k - 1 if k > 0 else len(points) + k for k in corners]
            triangles += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
    return [Surface(np.array(points, np.float64).reshape(-1, 3), np.array(triangles, np.int64))]


def read_dae(data: bytes) -> list[Surface]:
    """Meshes of a COLLADA scene with their diffuse colours.

    The up axis is ignored, as in RViz: robot files place meshes by their own coordinates.
    """
    root, findings = parse_xml(data, "", LARGEST_FILE)
    if root is None:
        raise UnreadableError(findings[0].message)
    scene = _Scene(root)
    unit = next((each.attributes.get("meter") for each in _all(root, "unit")), None)
    size = np.diag([float(unit or 1.0)] * 3 + [1.0])
    tops = [node for each in _all(root, "visual_scene") for node in _inside(each, "node")]
    return [surface for node in tops for surface in scene.drawn(node, size)]


class _Scene:
    """A COLLADA document: its elements by id, and the surfaces of its nodes."""

    def __init__(self, root: Element) -> None:
        self._ids = {part.attributes["id"]: part for part in _all(root) if "id" in part.attributes}
        self._meshes: dict[str, list[tuple[str, Surface]]] = {}
        self._instances = 0

    def drawn(self, node: Element, pose: Floats, depth: int = 0) -> Iterator[Surface]:
        """Surfaces of a node and the nodes below it, in the axes of the scene."""
        self._instances += 1
        if self._instances > _MOST_NODES or depth > 100:
            raise UnreadableError("too many nodes")
        for part in node.children:
            if part.tag in _TRANSFORMS:
                pose = pose @ _TRANSFORMS[part.tag](_numbers(part))
            elif part.tag == "node":
                yield from self.drawn(part, pose, depth + 1)
            elif part.tag == "instance_node":
                yield from self.drawn(self._at(part, "url"), pose, depth + 1)
            elif part.tag == "instance_geometry":
                bound = {
                    each.attributes.get("symbol", ""): each
                    for each in _all(part, "instance_material")
                }
                for symbol, surface in self._mesh(self._at(part, "url")):
                    points = surface.points @ pose[:3, :3].T + pose[:3, 3]
                    yield Surface(points, surface.triangles, self._colour(bound.get(symbol)))

    def _at(self, part: Element, key: str) -> Element:
        element = self._referenced(part, key)
        if element is None:
            raise UnreadableError(f"<{part.tag}> has no valid '{key}'")
        return element

    def _referenced(self, part: Element | None, key: str) -> Element | None:
        name = "" if part is None else part.attributes.get(key, "")
        return self._ids.get(name.removeprefix("#"))

    def _colour(self, material: Element | None) -> Colour:
        """Diffuse colour of the effect of a material; None without one."""
        target = self._referenced(material, "target")
        effect = self._referenced(_first(target, "instance_effect"), "url")
        shown = _first(_first(effect, "diffuse"), "color")
        return None if shown is None else tuple(float(x) for x in _numbers(shown)[:3])

    def _mesh(self, geometry: Element) -> list[tuple[str, Surface]]:
        """Triangles of a geometry by the symbol of their material."""
        name = geometry.attributes["id"]
        if name not in self._meshes:
            kinds = ("triangles", "polylist", "polygons")
            parts = [part for part in _all(geometry) if part.tag in kinds]
            self._meshes[name] = [self._group(part) for part in parts]
        return self._meshes[name]

    def _group(self, group: Element) -> tuple[str, Surface]:
        inputs = list(_inside(group, "input"))
        vertex = _input(group, "VERTEX")
        stride = 1 + max(int(each.attributes.get("offset", "0")) for each in inputs)
        start = int(vertex.attributes.get("offset", "0"))
        lists = [_numbers(part).astype(np.int64)[start::stride] for part in _inside(group, "p")]
        corners = np.concatenate([*lists, np.empty(0, np.int64)])
        if group.tag == "triangles":
            sizes = np.full(len(corners) // 3, 3)
        elif group.tag == "polylist":
            sizes = _numbers(_required(group, "vcount")).astype(np.int64)
        else:
            sizes = np.array([len(each) for each in lists], np.int64)
        surface = Surface(self._points(self._at(vertex, "source")), _fans(corners, sizes))
        return group.attributes.get("material", ""), surface

    def _points(self, vertices: Element) -> Floats:
        source = self._at(_input(vertices, "POSITION"), "source")
        stride = int(_required(source, "accessor").attributes.get("stride", "3"))
        values = _numbers(_required(source, "float_array"))
        if stride < 3:
            raise UnreadableError("points have fewer than 3 coordinates")
        return values[: len(values) // stride * stride].reshape(-1, stride)[:, :3]


def _fans(corners: Numbers, sizes: Numbers) -> Numbers:
    """Triangles of polygons with these numbers of corners."""
    if sizes.min(initial=0) < 0 or sizes.sum() > len(corners):
        raise UnreadableError("polygons with missing corners")
    starts = np.cumsum(sizes) - sizes
    counts = np.maximum(sizes - 2, 0)
    first = np.repeat(starts, counts)
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    triangles: Numbers = corners[np.stack([first, first + step + 1, first + step + 2], axis=1)]
    return triangles


def _all(element: Element, tag: str = "") -> Iterator[Element]:
    """This element and all below it, with this tag."""
    if tag in ("", element.tag):
        yield element
    for child in element.children:
        yield from _all(child, tag)


def _inside(element: Element, tag: str) -> Iterator[Element]:
    return (child for child in element.children if child.tag == tag)


def _first(element: Element | None, tag: str) -> Element | None:
    """The first element with this tag; None without one."""
    return None if element is None else next(_all(element, tag), None)


def _required(element: Element, tag: str) -> Element:
    part = _first(element, tag)
    if part is None:
        raise UnreadableError(f"<{element.tag}> has no <{tag}>")
    return part


def _input(element: Element, semantic: str) -> Element:
    for part in _inside(element, "input"):
        if part.attributes.get("semantic") == semantic:
            return part
    raise UnreadableError(f"<{element.tag}> has no input '{semantic}'")


def _numbers(element: Element) -> Floats:
    return np.array(element.text.split(), np.float64)


def _about(values: Floats) -> Floats:
    """Rotation by an angle in degrees about an axis."""
    *axis, degrees = values
    x, y, z = np.array(axis) / (np.linalg.norm(axis) or 1.0)
    angle = np.radians(degrees)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    pose = np.eye(4)
    pose[:3, :3] += np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return pose


def _moved(values: Floats) -> Floats:
    pose = np.eye(4)
    pose[:3, 3] = values[:3]
    return pose


_TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {
    "matrix": lambda values: values.reshape(4, 4),
    "translate": _moved,
    "rotate": _about,
    "scale": lambda values: np.diag([*values[:3], 1.0]),
}
READERS = {".stl": read_stl, ".obj": read_obj, ".dae": read_dae}


def box_shape(sides: Sequence[float]) -> tuple[Floats, Numbers]:
    """Box with its centre at the origin."""
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], np.float64)
    quads = np.array(
        [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    )
    return corners * np.array(sides) / 2.0, _fans(quads.ravel(), np.full(6, 4))


def _revolved(radii: Sequence[float] | Floats, heights: Floats) -> tuple[Floats, Numbers]:
    """Surface of circles about z."""
    angles = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [
        np.column_stack([radius * circle, np.full(_AROUND, height)])
        for radius, height in zip(radii, heights, strict=True)
    ]
    k, after = np.arange(_AROUND), (np.arange(_AROUND) + 1) % _AROUND
    around = np.stack([k, after, after + _AROUND, k + _AROUND], axis=1)
    quads = [around + i * _AROUND for i in range(len(rings) - 1)]
    corners = np.concatenate(quads).ravel()
    return np.concatenate(rings), _fans(corners, np.full(len(corners) // 4, 4))


def cylinder_shape(values: Sequence[float]) -> tuple[Floats, Numbers]:
    """Cylinder of this radius and length along z."""
    radius, length = values
    return _revolved((0.0, radius, radius, 0.0), np.array([-1.0, -1.0, 1.0, 1.0]) * length / 2.0)


def capsule_shape(values: Sequence[float]) -> tuple[Floats, Numbers]:
    """Cylinder of this length along z with round ends; a sphere without length."""
    radius, length = values
    rising = np.linspace(0.0, np.pi / 2.0, 7)
    angles, ends = np.concatenate([-rising[::-1], rising]), np.repeat([-0.5, 0.5], 7)
    return _revolved(radius * np.cos(angles), radius * np.sin(angles) + ends * length)


SHAPES: dict[str, Callable[[Sequence[float]], tuple[Floats, Numbers]]] = {
    "box": box_shape,
    "cylinder": cylinder_shape,
    "capsule": capsule_shape,
    "sphere": lambda values: capsule_shape((values[0], 0.0)),
}
