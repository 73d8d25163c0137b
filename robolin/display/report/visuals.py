"""Visual shapes of a robot: the meshes and simple shapes that its file names, packed for a page.

Meshes are found by the rules of the readers: only files of the robot's package, of the packages
it names, and of folders that the user added are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arm_parts import (
    HERE,
    Pose,
    compose,
    rotation_from_quaternion,
    rotation_from_rpy,
)
from robolin.core.records import dataclass
from robolin.core.text import printable
from robolin.description.robot_source import RobotText, robot_text
from robolin.description.worker_process import OutOfBoundsError, run_in_separate_process
from robolin.description.xacro.xacro_text import find_package, package_or_repository
from robolin.description.xml_tree import Element, parse_xml
from robolin.display.report import mesh_worker
from robolin.display.report.arm_section import (
    drawn_index,
    float32_digits,
    link_radii,
    segment_ends,
)
from robolin.display.report.mesh_files import UnreadableError
from robolin.display.report.mesh_worker import packed_surface
from robolin.errors import RobolinError
from robolin.queries.request import source_of

# vertices and triangles of all robots of a page; each takes 8 bytes
BUDGET = 45_000
_MOST_SHAPES = 5000
_NAMED = 6
_PACKAGE = re.compile(r"(?:file://)?(?:package|model)://([^/]+)/(.+)", re.DOTALL)


@dataclass
class Visuals:
    """Surfaces of a robot, and the reasons for meshes that are missing.

    meshes: packed surfaces, see `mesh_worker`
    parts:  one per surface: index of the mesh, index of the link (-1 for the base), pose, colour
    missing: reason -> names of the meshes
    """

    meshes: list[dict[str, Any]] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """One sentence about the missing meshes; '' without any."""
        if not self.missing:
            return ""
        count = sum(map(len, self.missing.values()))
        listed = "; ".join(f"{_named(names)} ({why})" for why, names in self.missing.items())
        noun = "mesh" if count == 1 else "meshes"
        return f"Capsules are drawn instead of {count} {noun} of the robot file: {listed}."

    def miss(self, name: str, reason: str) -> None:
        """Record a mesh that cannot be drawn, by its base name."""
        names = self.missing.setdefault(printable(reason), [])
        base = printable(PurePosixPath(name.replace("\\", "/")).name[:80])
        names += [base] if base not in names else []


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


@dataclass(frozen=True)
class _Shape:
    """A shape of a link: its kind and size for the worker, its pose and its colour."""

    link: str
    values: tuple[Any, ...]
    pose: Pose = HERE
    colour: Sequence[float] | None = None
    name: str = ""


def robot_visuals(arm: Arm, budget: int = BUDGET) -> Visuals:
    """The visual shapes of the file that an arm was loaded from; empty without a file."""
    source, visuals = source_of(arm), Visuals()
    if source.path in ("", "-"):
        return visuals
    try:
        robot, packages = robot_text(source.path), source.options.packages
        if robot.kind == "mjcf":
            _add_geoms(arm, robot, packages, budget, visuals)
        elif robot.kind in ("urdf", "xacro"):
            _add_shapes(arm, robot, _expanded(robot, source.options), packages, budget, visuals)
    except RobolinError:
        # the file has changed since it was read
        return Visuals()
    except OutOfBoundsError:
        visuals = Visuals()
        seconds, size = mesh_worker.BOUNDS.seconds, mesh_worker.BOUNDS.memory >> 30
        visuals.miss("all", f"reading took more than {seconds} s or {size} GiB")
    return visuals


def _expanded(robot: RobotText, options: Any) -> bytes:
    if robot.kind == "urdf":
        return robot.text
    from robolin.description.xacro.xacro_text import expanded_xacro

    assert robot.path is not None, "the xacro file has a path"
    return expanded_xacro(robot.path, options.xacro_args, options.packages).text


def _add_shapes(
    arm: Arm,
    robot: RobotText,
    text: bytes,
    packages: Mapping[str, str],
    budget: int,
    visuals: Visuals,
) -> None:
    """Shapes of a URDF file; links whose meshes are all missing become capsules."""
    root, _ = parse_xml(text, robot.shown)
    if root is None or robot.path is None or sha256(text).hexdigest() != arm.digest:
        return
    search = _Search(robot.path.absolute(), packages)
    shapes = [_located(each, search, visuals) for each in _urdf_shapes(root)]
    failed = {each.link for each in shapes if not each.values}
    shapes = [each for each in shapes if each.values]
    if shapes and not (failed and not any(each.name for each in shapes)):
        # the same file on several links is read once
        unique = list(dict.fromkeys(each.values for each in shapes))
        request = {
            "shapes": unique,
            "readable": sorted(search.roots),
            "budget": budget,
        }
        reply = run_in_separate_process(mesh_worker.__name__, request, mesh_worker.BOUNDS)
        packed = dict(zip(unique, reply["shapes"], strict=True))
        missing = {unique[int(i)]: reason for i, reason in reply["missing"].items()}
        for shape in shapes:
            if shape.values in missing:
                visuals.miss(shape.name, missing[shape.values])
                failed.add(shape.link)
            _add(arm, shape, packed[shape.values], visuals)
    drawn = {part["link"] for part in visuals.parts}
    meshes = {_index(arm, each.link) for each in shapes if each.name}
    if failed and not meshes & drawn:
        # simple shapes alone would show a robot without its main parts
        visuals.meshes, visuals.parts = [], []
        return
    for index in sorted({_index(arm, link) for link in failed} - drawn):
        for shape in _capsules(arm, index):
            _add_part(index, shape.pose, None, packed_surface(shape.values), visuals)


def _add(arm: Arm, shape: _Shape, packed: Sequence[dict[str, Any]], visuals: Visuals) -> None:
    """Place the surfaces of a shape on the moving link that carries it."""
    frame = arm.frames.get(shape.link)
    if frame is not None:
        for each in packed:
            pose = compose(frame.pose, shape.pose)
            _add_part(drawn_index(arm, frame.link), pose, shape.colour, each, visuals)


def _add_part(
    link: int,
    pose: Pose,
    colour: Sequence[float] | None,
    packed: dict[str, Any],
    visuals: Visuals,
) -> None:
    mesh = {key: value for key, value in packed.items() if key != "colour"}
    if mesh not in visuals.meshes:
        visuals.meshes.append(mesh)
    shown = colour if packed["colour"] is None else packed["colour"]
    visuals.parts.append(
        {
            "mesh": visuals.meshes.index(mesh),
            "link": link,
            "rotation": float32_digits(pose.rotation),
            "origin": float32_digits(pose.translation),
            "colour": None if shown is None else [round(min(max(x, 0.0), 1.0), 3) for x in shown],
        }
    )


def _index(arm: Arm, link: str) -> int:
    frame = arm.frames.get(link)
    return -1 if frame is None else drawn_index(arm, frame.link)


def _capsules(arm: Arm, index: int) -> Iterator[_Shape]:
    """Capsules of a link as in the drawing without meshes."""
    radii = link_radii(arm)
    body = arm.links[index].inertia if index >= 0 else None
    ends = [
        *segment_ends(arm, index),
        *([body.com] if body is not None and body.mass > 0.0 else []),
    ]
    for end in dict.fromkeys(ends):
        length = float(np.linalg.norm(end))
        x, y, z = (each / length for each in end) if length else (0.0, 0.0, 1.0)
        # half a turn about the line between z and the direction
        w = float(np.sqrt(2.0 * (1.0 + z)))
        about = (0.0, x / w, y / w, w / 2.0) if w > 1e-6 else (0.0, 1.0, 0.0, 0.0)
        middle = (end[0] / 2.0, end[1] / 2.0, end[2] / 2.0)
        radius = radii[index] if index >= 0 else max(radii)
        yield _Shape(
            "", ("capsule", radius, length), Pose(rotation_from_quaternion(*about), middle)
        )


def _urdf_shapes(root: Element) -> list[_Shape]:
    """Visual shapes of all links; collision shapes if the file has no visual ones."""
    colours = dict(_colours(each) for each in root.children if each.tag == "material")
    for tag in ("visual", "collision"):
        shapes = [
            shape
            for link in root.children
            if link.tag == "link"
            for part in link.children
            if part.tag == tag
            for shape in _shapes_of(link.attributes.get("name", ""), part, colours)
        ]
        if shapes:
            return shapes[:_MOST_SHAPES]
    return []


def _shapes_of(
    link: str, part: Element, colours: Mapping[str, list[float] | None]
) -> Iterator[_Shape]:
    """Shapes of one <visual>; invisible ones and those with invalid numbers are skipped."""
    inside = {child.tag: child for child in part.children}
    try:
        pose = _pose(inside["origin"].attributes) if "origin" in inside else HERE
        name, own = _colours(inside["material"]) if "material" in inside else ("", None)
        colour = own or colours.get(name)
        if colour is not None and colour[3:4] == [0.0]:
            return
        for shape in inside["geometry"].children if "geometry" in inside else ():
            values = _values(shape)
            file = shape.attributes.get("filename", "") if shape.tag == "mesh" else ""
            if values and (shape.tag != "mesh" or file):
                yield _Shape(link, values, pose, colour and colour[:3], file)
    except ValueError:
        return


def _values(shape: Element) -> tuple[Any, ...]:
    attributes = shape.attributes
    size, radius, length = (attributes.get(key, "") for key in ("size", "radius", "length"))
    if shape.tag == "mesh":
        return (
            "mesh",
            attributes.get("filename", ""),
            *_numbers(attributes.get("scale", "1 1 1"), 3),
        )
    if shape.tag == "box":
        return ("box", *_numbers(size, 3))
    if shape.tag in ("cylinder", "capsule"):
        return (shape.tag, *_numbers(radius, 1), *_numbers(length, 1))
    return ("sphere", *_numbers(radius, 1)) if shape.tag == "sphere" else ()


def _colours(material: Element) -> tuple[str, list[float] | None]:
    """Name and colour of a material, with its transparency."""
    color = next((each for each in material.children if each.tag == "color"), None)
    try:
        colour = None if color is None else _numbers(color.attributes.get("rgba", ""), 4)
    except ValueError:
        colour = None
    return material.attributes.get("name", ""), colour


def _numbers(text: str, count: int) -> list[float]:
    values = [float(word) for word in text.split()]
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(text)
    return values


def _pose(origin: Mapping[str, str]) -> Pose:
    x, y, z = _numbers(origin.get("xyz", "0 0 0"), 3)
    return Pose(rotation_from_rpy(*_numbers(origin.get("rpy", "0 0 0"), 3)), (x, y, z))


def _located(shape: _Shape, search: _Search, visuals: Visuals) -> _Shape:
    """The shape with the path of its mesh; without values if the file cannot be read."""
    if not shape.name:
        return shape
    try:
        return replace(shape, values=("mesh", search.path(shape.name), *shape.values[2:]))
    except UnreadableError as error:
        visuals.miss(shape.name, str(error))
        return replace(shape, values=())


class _Search:
    """Folders whose meshes may be read; packages are added as they are found."""

    def __init__(self, file: Path, packages: Mapping[str, str]) -> None:
        self._file, self._packages = file, packages
        own = package_or_repository(file)
        self.roots = {os.path.realpath(file.parent), *map(os.path.realpath, packages.values())}
        self.roots |= {os.path.realpath(own)} if own is not None else set()

    def path(self, name: str) -> str:
        """Path of a mesh by its name in the robot file."""
        if match := _PACKAGE.fullmatch(name):
            folder = self._package(match[1])
            path = os.path.join(folder, unquote(match[2]))
        elif "://" in name and not name.startswith("file://"):
            raise UnreadableError("not a file")
        else:
            plain = unquote(name.removeprefix("file://")) if name.startswith("file://") else name
            path = os.path.join(self._file.parent, plain.replace("\\", "/"))
        try:
            real = os.path.realpath(path)
            if not any(Path(real).is_relative_to(root) for root in self.roots):
                raise UnreadableError("outside the robot's package")
            if not os.path.isfile(real):
                raise UnreadableError("not found")
        except (OSError, ValueError):
            raise UnreadableError("not found") from None
        return real

    def _package(self, name: str) -> str:
        """Folder of a package: found as for xacro, or a folder of this name around the file."""
        folder = find_package(name, self._file, self._packages)
        if folder is None:
            inside = [up for up in self._file.parents if self._readable(up)]
            around = [up for up in inside if up.name == name] + [up / name for up in inside]
            folder = next((each for each in around if each.is_dir()), None)
        if folder is None:
            raise UnreadableError(f"package '{name[:80]}' not found")
        self.roots.add(os.path.realpath(folder))
        return str(folder)

    def _readable(self, folder: Path) -> bool:
        real = Path(os.path.realpath(folder))
        return any(real.is_relative_to(root) for root in self.roots)


def _add_geoms(
    arm: Arm, robot: RobotText, packages: Mapping[str, str], budget: int, visuals: Visuals
) -> None:
    """Visible geoms of an MJCF file, as MuJoCo compiles it."""
    from robolin.description.mjcf.mjcf_files import model_files

    assert robot.path is not None, "the MJCF file has a path"
    files = model_files(robot.path, robot.text, robot.shown, packages.values())
    if files.digest != arm.digest:
        return
    request = {
        "mjcf": str(robot.path.absolute()),
        "readable": list(files.roots),
        "budget": budget,
    }
    reply = run_in_separate_process(mesh_worker.__name__, request, mesh_worker.BOUNDS)
    for geom, packed in zip(reply["geoms"], reply["shapes"], strict=True):
        x, y, z = geom["position"]
        pose = Pose(rotation_from_quaternion(*geom["quaternion"]), (x, y, z))
        _add(arm, _Shape(geom["link"], (), pose, geom["colour"]), packed, visuals)
