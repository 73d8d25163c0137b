"""The models in an SDF file, with nested models and the files that `<include>` names.

An included file must be in the package of the file (the nearest folder with a `package.xml` or a
repository), in its model database, in a folder of the search path, or in one that the user names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path

from robolin.core.arm import Vector3
from robolin.core.records import dataclass
from robolin.core.text import quote_list, quote_value
from robolin.description.robot_source import robot_file_bytes
from robolin.description.sdf.sdf_fields import (
    FileNotes,
    SdfVersion,
    boolean,
    boolean_attribute,
    check_attributes,
    element_text,
    left_out,
    parts,
    urdf_as_sdf,
    vector,
)
from robolin.description.xacro.xacro_text import find_package, package_or_repository
from robolin.description.xml_tree import MOST_ELEMENTS, Element, parse_xml
from robolin.errors import FileError

OLDEST, NEWEST = SdfVersion(1, 2), SdfVersion(1, 12)
# gravity of a world that does not specify it
WORLD_GRAVITY: Vector3 = (0.0, 0.0, -9.8)
_MOST_INCLUDES = 1000
_DEEPEST_MODEL = 16
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})", re.ASCII)
# folders of models for Gazebo, libsdformat and Gazebo classic
_SEARCH_PATHS = ("GZ_SIM_RESOURCE_PATH", "SDF_PATH", "GAZEBO_MODEL_PATH")
_INCLUDE_HINT = "name the folder of the model: --package NAME=FOLDER"


@dataclass(eq=False)
class Model:
    """A `<model>` with its file: nested models and included ones are models inside it.

    pose:     its `<pose>`, or that of the `<include>`, with the notes of that file
    findings: for a model of a world, the slice of its findings in those of the file
    """

    element: Element
    name: str
    notes: FileNotes
    pose: Element | None
    pose_notes: FileNotes
    placement: str = ""
    static: bool = False
    merged: bool = False
    inside: list[Model | Element] = field(default_factory=list)
    findings: slice = field(default_factory=lambda: slice(0))


@dataclass
class SdfFiles:
    """The readable folders, and the hashes of all files that were read."""

    path: Path | None
    packages: Mapping[str, str]
    digests: dict[str, str] = field(default_factory=dict)
    parsed: dict[str, tuple[Element, FileNotes]] = field(default_factory=dict)
    includes: int = 0
    elements: int = 0

    @property
    def digest(self) -> str:
        """SHA-256 of all files, independent of their folder."""
        if len(self.digests) == 1:
            return next(iter(self.digests.values()))
        listed = "\n".join(f"{name} {self.digests[name]}" for name in sorted(self.digests))
        return sha256(listed.encode()).hexdigest()


@dataclass
class World:
    """The content of a world, or of a file without a world, and its models.

    gravity: None without a world
    """

    element: Element
    notes: FileNotes
    inside: list[Model | Element]
    gravity: Vector3 | None

    @property
    def models(self) -> list[Model]:
        return [part for part in self.inside if isinstance(part, Model)]


def read_world(files: SdfFiles, text: bytes, notes: FileNotes) -> World | None:
    """All models of a file; None if the file is not SDF."""
    root = _parsed(files, text, notes, files.path.name if files.path else notes.source)
    if root is None:
        return None
    worlds = [part for part in root.children if part.tag == "world"]
    around = worlds[0] if worlds else root
    for part in root.children if worlds else ():
        if part is not around:
            notes.ignore(part.tag)
    gravity = _gravity(around, notes) if worlds else None
    return World(around, notes, list(_inside(files, around, notes, 0)), gravity)


def _parsed(files: SdfFiles, text: bytes, notes: FileNotes, key: str) -> Element | None:
    """The root element of a file, whose notes get its version; None after an error."""
    files.digests[key] = sha256(text).hexdigest()
    root, findings = parse_xml(text, notes.source)
    notes.findings += findings
    if root is None:
        return None
    included = len(files.digests) > 1
    if root.tag == "robot" and included:
        return _included_urdf(text, root, notes)
    if root.tag != "sdf":
        hint = "use <sdf> as the root element, or use the file extension of the actual format"
        if included:
            hint = "include an SDF or URDF file"
        notes.error("not-a-robot", root, f"the root element is <{root.tag}>, not <sdf>", hint)
        return None
    check_attributes(root, "the file", ("version",), notes)
    written = root.attributes.get("version", "")
    match = _VERSION.fullmatch(written.strip())
    notes.version = SdfVersion(int(match[1]), int(match[2])) if match else SdfVersion(0, 0)
    if not OLDEST <= notes.version <= NEWEST:
        hint = f"use a version from {OLDEST} to {NEWEST}"
        notes.error("format-version", root, f"SDF version {quote_value(written)} is unknown", hint)
        # other problems of the file are reported with the rules of the nearest known version
        notes.version = OLDEST if match and notes.version < OLDEST else NEWEST
    return root


def _included_urdf(text: bytes, root: Element, notes: FileNotes) -> Element | None:
    """The SDF elements of a URDF file; None if the file has an error."""
    from robolin.description.urdf.urdf_reader import read_urdf

    reading = read_urdf(text, notes.source)
    notes.findings += [each for each in reading.findings if each not in notes.findings]
    if reading.description is None:
        return None
    if rotors := [joint.name for joint in reading.description.joints if joint.armature]:
        message = f"armature of {quote_list(rotors)} in an included URDF file is ignored"
        left_out(root, message, notes, "set the armature with --armature JOINT=VALUE")
    notes.version = NEWEST
    return urdf_as_sdf(root, notes)


def _gravity(world: Element, notes: FileNotes) -> Vector3:
    """Gravity of the world; before version 1.6 it is in <physics>."""
    inside: Element | None = world
    if notes.version < (1, 6):
        inside = next((part for part in world.children if part.tag == "physics"), None)
    written = [part for part in (inside.children if inside else ()) if part.tag == "gravity"]
    return vector(written[0] if written else None, "the world", notes, WORLD_GRAVITY)


def _inside(
    files: SdfFiles, around: Element, notes: FileNotes, depth: int
) -> Iterator[Model | Element]:
    """The content of a world, a file or a model, with included models in place of <include>."""
    for part in around.children:
        before = len(notes.findings)
        if part.tag == "model":
            model: Model | None = _model(files, part, notes, depth)
        elif part.tag == "include":
            model = _included(files, part, notes, depth)
        else:
            yield part
            continue
        added = slice(before, len(notes.findings))
        if model is not None:
            model.findings = added
            yield model
        elif depth == 0:
            # a world has other models, such as the sun, that the robot does not need
            not_needed(notes, added)


def not_needed(notes: FileNotes, added: slice) -> None:
    """Turn errors in models that are not the robot into warnings."""
    for k in range(*added.indices(len(notes.findings))):
        if notes.findings[k].level == "error":
            changed = replace(notes.findings[k], id="sdf-world-include", level="warning")
            notes.findings[k] = changed


def _model(files: SdfFiles, element: Element, notes: FileNotes, depth: int) -> Model:
    name = element.attributes.get("name", "")
    owner = f"model {quote_value(name)}"
    if not name.strip():
        notes.error("name-missing", element, "a model has no name", 'write <model name="…">')
    check_attributes(element, owner, ("name", "canonical_link", "placement_frame"), notes)
    first = {part.tag: part for part in reversed(element.children)}
    model = Model(element, name, notes, first.get("pose"), notes)
    model.placement = element.attributes.get("placement_frame", "")
    model.static = boolean(first.get("static"), owner, notes)
    if depth < _DEEPEST_MODEL:
        model.inside += _inside(files, element, notes, depth + 1)
    else:
        message = f"models are nested deeper than the limit of {_DEEPEST_MODEL} levels"
        notes.error("sdf-include", element, message, "check for a file that includes itself")
    return model


def _included(files: SdfFiles, include: Element, notes: FileNotes, depth: int) -> Model | None:
    """The model of an included file, with the name and pose that the <include> sets."""
    known = ("uri", "name", "pose", "static", "placement_frame")
    elements = parts(include, "<include>", known, notes)
    check_attributes(include, "<include>", ("merge",), notes)
    uri = element_text(elements.get("uri"))
    if not uri:
        hint = "write <uri>model://NAME</uri>"
        notes.error("missing-element", include, "<include> has no <uri>", hint)
        return None
    file = _located(files, uri, include, notes)
    loaded = _loaded(files, file, uri, include, notes) if file else None
    if loaded is None:
        return None
    root, inner = loaded
    models = [part for part in root.children if part.tag == "model"]
    if len(models) != 1:
        message = (
            f"{quote_value(uri)} has {len(models)} models; an included file must have one model"
        )
        notes.error("sdf-include", include, message, "include a file with one <model>")
        return None
    model = _model(files, models[0], inner, depth)
    model.merged = boolean_attribute(include, "merge", "<include>", notes)
    model.name = element_text(elements.get("name")) or model.name
    if "pose" in elements:
        model.pose, model.pose_notes = elements["pose"], notes
    model.placement = element_text(elements.get("placement_frame")) or model.placement
    model.static = boolean(elements.get("static"), "<include>", notes, model.static)
    return model


def _loaded(
    files: SdfFiles, file: Path, uri: str, include: Element, notes: FileNotes
) -> tuple[Element, FileNotes] | None:
    """The parsed file of an <include>, with its own notes; None after an error."""
    real = os.path.realpath(file)
    files.includes += 1
    if files.includes > _MOST_INCLUDES:
        message = f"more than the limit of {_MOST_INCLUDES} included models"
        notes.error("sdf-include", include, message, "check for a file that includes itself")
        return None
    if real not in files.parsed:
        try:
            text = robot_file_bytes(file)
        except FileError as error:
            notes.error("sdf-include", include, f"{quote_value(uri)} {error.message}")
            return None
        main = files.path.absolute().parent if files.path else Path()
        key = os.path.relpath(real, os.path.realpath(main))
        inner = FileNotes(key, file.parent, notes)
        root = _parsed(files, text, inner, key)
        if root is None:
            return None
        files.parsed[real] = (root, inner)
    loaded = files.parsed[real]
    files.elements += _count(loaded[0])
    if files.elements > MOST_ELEMENTS:
        message = f"the included files have more than the limit of {MOST_ELEMENTS} elements"
        notes.error("file-too-large", include, message, "check for a file that includes itself")
        return None
    return loaded


def _count(element: Element) -> int:
    """The number of elements in a tree."""
    waiting, count = [element], 0
    while waiting:
        waiting.extend(waiting.pop().children)
        count += 1
    return count


def _located(files: SdfFiles, uri: str, include: Element, notes: FileNotes) -> Path | None:
    """The readable file of an <include>; None after an error."""
    hint, folders = _INCLUDE_HINT, list(_readable(files))
    path = next((each for each in _candidates(files, uri, notes) if os.path.exists(each)), None)
    if path is not None and os.path.isdir(path):
        path /= _main_file(path, folders)
    real = Path(os.path.realpath(path or ""))
    if uri.startswith(("http:", "https:")):
        message = f"{quote_value(uri)} is on a server, and robolin does not download models"
    elif path is None:
        message = f"{quote_value(uri)} was not found"
    elif not any(real.is_relative_to(os.path.realpath(folder)) for folder in folders):
        message, hint = f"{quote_value(uri)} is outside the package of the file", _INCLUDE_HINT
    elif not real.is_file():
        message, hint = f"{quote_value(uri)} is not an SDF file or a folder with one", ""
    else:
        return path
    notes.error("sdf-include", include, message, hint)
    return None


def _candidates(files: SdfFiles, uri: str, notes: FileNotes) -> Iterator[Path]:
    """Possible paths of a URI, in the order in which they are tried."""
    scheme, colon, rest = uri.partition("://")
    if not colon:
        scheme, rest = "", uri
    head, _, tail = rest.partition("/")
    if "\0" in uri:
        return
    if scheme == "file" and rest.startswith("/"):
        yield Path(rest)
    elif scheme in ("", "file") and notes.folder is not None:
        yield notes.folder / rest
    if scheme in ("", "model", "package"):
        if head in files.packages:
            yield Path(files.packages[head], tail)
        for folder in _own_folders(files):
            yield folder / rest
            yield folder / "models" / rest
        for folder in _search_folders():
            yield folder / rest
        package = find_package(head, files.path.absolute(), {}) if files.path else None
        if scheme == "package" and package is not None:
            yield package / tail


def _own_folders(files: SdfFiles) -> Iterator[Path]:
    """The folders from that of the file up to its package or its model database."""
    if files.path is None:
        return
    path = files.path.absolute()
    package = package_or_repository(path)
    for folder in path.parents:
        yield folder
        if package is None or folder == package:
            break
    if (path.parent / "model.config").is_file():
        # the folder next to those of other models
        yield path.parent.parent


def _search_folders() -> Iterator[Path]:
    for variable in _SEARCH_PATHS:
        for text in os.environ.get(variable, "").split(os.pathsep):
            if text and (path := Path(text)).is_absolute():
                yield path


def _readable(files: SdfFiles) -> Iterator[Path]:
    yield from _own_folders(files)
    yield from _search_folders()
    yield from map(Path, files.packages.values())


def _main_file(folder: Path, readable: list[Path]) -> str:
    """The name of the SDF file in the folder of a model, from its `model.config` if it has one."""
    config = folder / "model.config"
    inside = Path(os.path.realpath(config))
    if not config.is_file() or not any(
        inside.is_relative_to(os.path.realpath(each)) for each in readable
    ):
        return "model.sdf"
    root, _ = parse_xml(robot_file_bytes(config), str(config))
    listed: dict[tuple[int, int], str] = {}
    for part in root.children if root is not None else ():
        match = _VERSION.fullmatch(part.attributes.get("version", "1.2").strip())
        if part.tag == "sdf" and match and "\0" not in part.text:
            listed[int(match[1]), int(match[2])] = part.text.strip()
    known = [version for version in listed if version <= NEWEST]
    return listed[max(known)] if known else "model.sdf"
