"""The files an MJCF model is made of, and the lines its bodies and joints stand on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from math import prod
from pathlib import Path

from robolin.description.model import Finding, Place
from robolin.description.xml.xml_tree import Element, parse_xml
from robolin.errors import FileError, RobolinError

# attributes that name files MuJoCo opens, and those that name the folders they lie in
_FOLDERS = {"mesh": "meshdir", "hfield": "assetdir", "skin": "assetdir", "texture": "texturedir"}
_OPENING = ("include", "mesh", "hfield", "skin", "model")
_MOST_FILES = 2000
# elements that stand for many, and how many bodies and geoms may come of a file: MuJoCo's time
# grows with their square
_COPYING = ("replicate", "composite", "flexcomp")
_MOST_PARTS = 8000


@dataclass
class ModelFiles:
    """Every file of a model by its place from the main one, and where its parts stand."""

    main: Path
    shown: str
    roots: tuple[str, ...]
    findings: list[Finding] = field(default_factory=list)
    places: dict[tuple[str, str], Place] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The same wherever the files lie, another if any of them changes."""
        listed = "\n".join(f"{name} {self.digests[name]}" for name in sorted(self.digests))
        return sha256(listed.encode()).hexdigest()

    def at(self, tag: str, name: str) -> Place:
        """Where a part stands; the file alone where it has no name there."""
        return self.places.get((tag, name), Place(self.shown))


def model_files(path: Path, text: bytes, shown: str, folders: Iterable[str]) -> ModelFiles:
    """What an MJCF file includes and refers to; outside its folder and `folders` is refused."""
    roots = (os.path.realpath(path.absolute().parent), *map(os.path.realpath, folders))
    files = ModelFiles(path, shown, roots)
    root = _scan(files, text, shown, path.name)
    if root is None:
        return files
    folders = {key: value for part in _walk(root) for key, value in _directories(part)}
    for part in _walk(root):
        for name in _opened(part):
            own = folders.get(_FOLDERS.get(part.tag, ""), folders.get("assetdir", ""))
            _take(files, name if part.tag == "include" else os.path.join(own, name), part, shown)
    return files


def _scan(files: ModelFiles, text: bytes, shown: str, name: str) -> Element | None:
    root, findings = parse_xml(text, shown)
    files.findings += findings
    files.digests[name] = sha256(text).hexdigest()
    if root is not None and _parts(root) > _MOST_PARTS:
        hint = "an arm has a few hundred; is this a whole scene?"
        message = f"it stands for more than {_MOST_PARTS} bodies and geoms"
        raise RobolinError(message, where=shown, hint=hint)
    for part in _walk(root) if root is not None else ():
        if "name" in part.attributes:
            place = Place(shown, part.line)
            files.places.setdefault((part.tag, part.attributes["name"]), place)
    return root


def _walk(root: Element) -> Iterator[Element]:
    yield root
    for part in root.children:
        yield from _walk(part)


def _parts(part: Element) -> float:
    """How many bodies and geoms come of an element."""
    inside = sum(map(_parts, part.children)) + (part.tag in ("body", "geom", *_COPYING))
    if part.tag not in _COPYING:
        return inside
    counts = part.attributes.get("count", "1").split()
    # what is no number is refused by MuJoCo
    return inside * prod(float(count) if count.isdecimal() else 1.0 for count in counts)


def _directories(part: Element) -> Iterator[tuple[str, str]]:
    if part.tag == "compiler":
        for key in ("meshdir", "texturedir", "assetdir"):
            if key in part.attributes:
                yield key, part.attributes[key]


def _opened(part: Element) -> Iterator[str]:
    if part.tag in _OPENING and (name := part.attributes.get("file")):
        yield name


def _take(files: ModelFiles, name: str, part: Element, shown: str) -> None:
    """Note a file, and what an included one holds."""
    where = f"{shown}:{part.line}"
    folder = files.main.absolute().parent
    real = os.path.realpath(folder / name)
    if not any(os.path.commonpath((root, real)) == root for root in files.roots):
        hint = "--package NAME=FOLDER says what else may be read"
        raise RobolinError(f"'{name}' lies outside the model's folder", where=where, hint=hint)
    key = os.path.relpath(real, files.roots[0])
    if key in files.digests:
        return
    if len(files.digests) >= _MOST_FILES:
        raise RobolinError(f"more than {_MOST_FILES} files", where=where)
    try:
        text = Path(real).read_bytes()
    except OSError as error:
        raise FileError(f"'{name}' could not be read: {error.strerror}", where=where) from error
    if part.tag != "include":
        files.digests[key] = sha256(text).hexdigest()
        return
    inner = _scan(files, text, key, key)
    for each in _walk(inner) if inner is not None else ():
        if each.tag == "include":
            for nested in _opened(each):
                _take(files, nested, each, key)
