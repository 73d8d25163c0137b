"""The files of an MJCF model, and the lines of its bodies and joints.

MuJoCo opens every file in an attribute `file…` of any element.  This module resolves each such name
as MuJoCo does, before MuJoCo compiles the model: files outside the package of the model are
rejected, and every file is part of the hash.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from hashlib import file_digest, sha256
from math import isfinite, prod
from pathlib import Path
from typing import Any, NamedTuple

from robolin.core.records import dataclass
from robolin.core.text import closest_match, path_hint
from robolin.description.model import Finding, SourceLocation
from robolin.description.xacro.xacro_text import package_or_repository
from robolin.description.xml_tree import Element, parse_xml
from robolin.errors import FileError, RobolinError

# MuJoCo reads the files of these elements from a folder set by <compiler>
_FOLDERS = {
    **dict.fromkeys(("mesh", "hfield", "skin", "flexcomp"), ("meshdir",)),
    "texture": ("texturedir",),
    **dict.fromkeys(("include", "model"), ()),
}
# names with a scheme, such as http: or package://, are not paths
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|.+:/")
# words of MuJoCo's messages that a location replaces
_MUJOCO_WORDS = re.compile(r"\nElement .*|(?:XML )?Error: |Schema violation: ")
_MOST_FILES = 2000
_DEEPEST_ELEMENT = 256
_DEEPEST_MODEL = 16
# elements that expand to many, and the maximum number of bodies and geoms: MuJoCo's time grows
# with their square
_COPYING = ("replicate", "composite", "flexcomp")
_MOST_PARTS = 8000


@dataclass
class ModelFiles:
    """Every file of a model by its path relative to the main one, and the lines of its parts."""

    main: Path
    shown: str
    folder: str
    roots: tuple[str, ...]
    findings: list[Finding] = field(default_factory=list)
    locations: dict[tuple[str, str], SourceLocation] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    # of the main model and of those it attaches, the elements of included files inside <include>
    trees: list[Element] = field(default_factory=list)
    # files that do not exist, by name; MuJoCo may not need them
    missing: dict[str, FileError] = field(default_factory=dict)
    opened: int = 0
    # elements of the main model in document order, those of included files inside <include>
    parts: list[tuple[Element, str]] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """SHA-256 of all files, independent of their folder."""
        listed = "\n".join(f"{name} {self.digests[name]}" for name in sorted(self.digests))
        return sha256(listed.encode()).hexdigest()

    def at(self, tag: str, name: str) -> SourceLocation:
        """Location of a part; only the file if the part has no name."""
        return self.locations.get((tag, name), SourceLocation(self.shown))

    def outline(self) -> tuple[list[list[Any]], list[SourceLocation]]:
        """Depth, tag and attributes of each element without <include>, and their locations."""
        rows = zip(_depths(self.trees[0], 0), self.parts, strict=True)
        kept = [(depth, *part) for depth, part in rows if part[0].tag.lower() != "include"]
        return (
            [[depth, part.tag, dict(part.attributes)] for depth, part, _ in kept],
            [SourceLocation(shown, part.line) for _, part, shown in kept],
        )


class _Origin(NamedTuple):
    """The file of an element: its folder, and its name in messages."""

    folder: str
    shown: str


@dataclass
class _Model:
    """One model, the main one or an attached one, with the elements of its included files."""

    folder: str
    depth: int
    parts: list[tuple[Element, _Origin]] = field(default_factory=list)
    included: set[str] = field(default_factory=set)


def model_files(path: Path, text: bytes, shown: str, folders: Iterable[str]) -> ModelFiles:
    """The files that an MJCF file includes and refers to.

    The package of the file (the nearest folder with a `package.xml` or a repository), or its
    folder, and `folders` may be read; everything else is rejected.
    """
    folder = os.path.realpath(path.absolute().parent)
    package = package_or_repository(path.absolute())
    roots = (folder, *map(os.path.realpath, [package] if package else []))
    files = ModelFiles(path, shown, folder, (*roots, *map(os.path.realpath, folders)))
    _read_model(files, text, _Origin(str(path.absolute().parent), shown), path.name, 0)
    return files


def _read_model(files: ModelFiles, text: bytes, origin: _Origin, key: str, depth: int) -> None:
    """Record the files of one model, and those of the models it attaches."""
    root = _parsed(files, text, origin, key)
    if root is None:
        return
    if root.tag.lower() != "mujoco":
        message = f"the root element is <{root.tag}>, not <mujoco>"
        hint = "use the extension .urdf for URDF files; MJCF can attach only MJCF files"
        location = SourceLocation(origin.shown, root.line)
        files.findings.append(Finding("not-a-robot", "error", location, message, hint))
        return
    model = _Model(origin.folder, depth)
    _collect(files, model, root, origin, 0)
    if _parts(root) > _MOST_PARTS:
        hint = "use a file with one robot instead of a whole scene"
        message = f"the model expands to more than {_MOST_PARTS} bodies and geoms"
        raise RobolinError(message, where=origin.shown, hint=hint)
    files.trees.append(root)
    files.parts = files.parts or [(part, where.shown) for part, where in model.parts]
    directories, strip = _settings(part for part, _ in model.parts)
    for part, where in model.parts:
        tag = part.tag.lower()
        if tag == "include":
            continue
        for name in _opened(part):
            short = re.split(r"[/\\]", name)[-1] if strip and tag != "model" else name
            inside = _FOLDERS.get(tag, tuple(directories)) or ("",)
            tried = [os.path.join(directories.get(each, ""), short) for each in inside]
            paths = [(model.folder, each) for each in tried]
            if where is not origin and (not strip or tag == "model"):
                # MuJoCo also searches the folder of the included file
                paths.append((where.folder, name))
            for path in _existing(files, name, paths, part, where):
                _take(files, path, name, part, where, model.depth)


def _collect(
    files: ModelFiles, model: _Model, element: Element, origin: _Origin, depth: int
) -> None:
    """List all elements of a model in order, those of included files inside their <include>."""
    if depth > _DEEPEST_ELEMENT:
        message = f"elements are nested deeper than the limit of {_DEEPEST_ELEMENT} levels"
        raise RobolinError(message, where=f"{origin.shown}:{element.line}")
    model.parts.append((element, origin))
    if element.tag.lower() == "include":
        origin = _included(files, model, element, origin)
    for child in element.children:
        _collect(files, model, child, origin, depth + 1)


def _included(files: ModelFiles, model: _Model, include: Element, origin: _Origin) -> _Origin:
    """Put the elements of an included file into its <include>."""
    for name in _opened(include):
        paths = [(folder, name) for folder in (model.folder, origin.folder)]
        existing = _existing(files, name, paths, include, origin)
        if not existing:
            raise files.missing[name]
        key = _key(files, existing[0])
        if key in model.included:
            # MuJoCo reports the error
            continue
        model.included.add(key)
        inner = _Origin(os.path.dirname(existing[0]), key)
        root = _parsed(files, _bytes(files, existing[0], name, include, origin), inner, key)
        include.children = root.children if root is not None else []
        return inner
    return origin


def _parsed(files: ModelFiles, text: bytes, origin: _Origin, key: str) -> Element | None:
    root, findings = parse_xml(text, origin.shown)
    files.findings += findings
    files.digests[key] = sha256(text).hexdigest()
    for part in _walk(root) if root is not None else ():
        if "name" in part.attributes:
            location = SourceLocation(origin.shown, part.line)
            files.locations.setdefault((part.tag, part.attributes["name"]), location)
    return root


def _walk(root: Element) -> Iterator[Element]:
    yield root
    for part in root.children:
        yield from _walk(part)


def _depths(part: Element, depth: int) -> Iterator[int]:
    """Depth of every element in document order; <include> adds no level."""
    yield depth
    for inner in part.children:
        yield from _depths(inner, depth + (part.tag.lower() != "include"))


def _parts(part: Element) -> float:
    """The number of bodies and geoms that an element stands for."""
    inside = sum(map(_parts, part.children)) + (part.tag in ("body", "geom", *_COPYING))
    if part.tag not in _COPYING:
        return inside
    counts = part.attributes.get("count", "1").split()
    # MuJoCo rejects a count that is not a number
    return inside * prod(float(count) if count.isdecimal() else 1.0 for count in counts)


def _settings(parts: Iterable[Element]) -> tuple[dict[str, str], bool]:
    """The folders of meshes and textures, and the `strippath` setting: the last value counts."""
    directories, strip = {"meshdir": "", "texturedir": ""}, False
    for part in parts:
        if part.tag.lower() == "compiler":
            values = part.attributes
            if "assetdir" in values:
                directories = dict.fromkeys(directories, values["assetdir"])
            directories |= {key: values[key] for key in directories if key in values}
            strip = values.get("strippath", str(strip).lower()) == "true"
    return directories, strip


def _opened(part: Element) -> Iterator[str]:
    """The names of files in an element: MuJoCo's schema has `file`, `fileup`, and so on."""
    for attribute, name in part.attributes.items():
        if attribute.startswith("file") and name:
            yield name


def _existing(
    files: ModelFiles,
    name: str,
    paths: Iterable[tuple[str, str]],
    part: Element,
    origin: _Origin,
) -> list[str]:
    """The existing paths among the candidates; a path outside the package is an error."""
    where, tried = f"{origin.shown}:{part.line}", []
    for folder, path in paths:
        if _SCHEME.match(os.path.splitdrive(path)[1]):
            raise RobolinError(
                f"'{path}' is not a valid path", where=where, hint="write the path of a file"
            )
        # MuJoCo accepts backslashes as separators, and resolves .. textually
        plain = os.path.join(folder, path.replace("\\", "/"))
        tried += [os.path.normpath(plain), plain]
    existing = {os.path.realpath(path): path for path in reversed(tried) if os.path.exists(path)}
    if not all(_inside(files, real) for real in existing or [os.path.realpath(tried[0])]):
        hint = "allow the folder with --package NAME=FOLDER"
        raise RobolinError(f"'{name}' is outside the model's package", where=where, hint=hint)
    if not existing:
        message = f"'{name}' could not be read: No such file or directory"
        # the folder is not part of the hint
        hint = path_hint(tried[0]).replace(f"{os.path.dirname(tried[0])}{os.sep}", "")
        files.missing[name] = FileError(message, where=where, hint=hint)
    return list(existing.values())[::-1]


def _inside(files: ModelFiles, real: str) -> bool:
    return any(Path(real).is_relative_to(root) for root in files.roots)


def _take(
    files: ModelFiles, path: str, name: str, part: Element, origin: _Origin, depth: int
) -> None:
    """Record a file that an element refers to, and the files of an attached model."""
    key = _key(files, path)
    if part.tag.lower() != "model":
        if key not in files.digests:
            files.digests[key] = _digest(files, path, name, part, origin)
        return
    if depth >= _DEEPEST_MODEL:
        message = f"models are nested deeper than the limit of {_DEEPEST_MODEL} levels"
        raise RobolinError(message, where=f"{origin.shown}:{part.line}")
    text = _bytes(files, path, name, part, origin)
    _read_model(files, text, _Origin(os.path.dirname(path), key), key, depth + 1)


def _key(files: ModelFiles, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), files.folder)


def _bytes(files: ModelFiles, path: str, name: str, part: Element, origin: _Origin) -> bytes:
    _count(files, path, name, part, origin)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(name, error.strerror, part, origin) from error


def _digest(files: ModelFiles, path: str, name: str, part: Element, origin: _Origin) -> str:
    _count(files, path, name, part, origin)
    try:
        with open(path, "rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(name, error.strerror, part, origin) from error


def _count(files: ModelFiles, path: str, name: str, part: Element, origin: _Origin) -> None:
    """Reject too many files, and files that are not regular and may be endless."""
    files.opened += 1
    if files.opened > _MOST_FILES:
        message = f"the model includes more than the limit of {_MOST_FILES} files"
        raise RobolinError(message, where=f"{origin.shown}:{part.line}")
    if not os.path.isfile(path):
        raise _unreadable(name, "the path is not a regular file", part, origin)


def _unreadable(name: str, reason: str | None, part: Element, origin: _Origin) -> FileError:
    where = f"{origin.shown}:{part.line}"
    return FileError(f"'{name}' could not be read: {reason}", where=where)


# a part of MuJoCo's message, and the correction
_REMEDIES = {
    r"invalid keyword|unrecognized attribute|unrecognized element|schema violation": (
        "correct the spelling; the XML reference of MuJoCo lists the elements and their values"
    ),
    r"repeated name|name .* already": "rename one of the two elements",
    r"A \+ B >= C": (
        "correct the inertia: no principal moment may exceed the sum of the other two"
    ),
    r"size .* must be positive|invalid size|incomplete size|size too small": (
        "write every size that this type of geom needs, in m"
    ),
    r"axis too small": 'write a non-zero axis, such as axis="0 0 1"',
    r"mass and inertia .* too small|must be larger than mjMINVAL|moving bodies": (
        "add an <inertial>, or a geom with a mass, to the body"
    ),
    r"mass must be|density must be|must be positive|cannot be negative|must be nonnegative": (
        "write a positive number"
    ),
    r"range|lower.*upper": "write two numbers, the smaller one first",
    r"problem reading|not enough data|too much data|size does not match|bad format|number": (
        "write as many numbers as the attribute needs, separated by spaces"
    ),
    r"required attribute|missing|must be specified|must have": (
        "add the missing attribute or element"
    ),
    r"unknown|not found|not recognized|could not find": (
        "correct the name, or define an element with this name"
    ),
    r"Error opening file|could not open|resource": (
        "correct the path, or allow its folder with --package NAME=FOLDER"
    ),
    r"XML|syntax|Unexpected|parse": "correct the XML at this line",
    r"quat": "write four numbers that are not all zero",
}


def _rejection_hint(reason: str) -> str:
    """The correction for a message of MuJoCo."""
    hints = (hint for part, hint in _REMEDIES.items() if re.search(part, reason, re.IGNORECASE))
    return next(hints, "correct the element; the XML reference of MuJoCo describes it")


_HINTS = {
    "mjcf-left-out": "no action is needed if you want the dynamics without this effect",
    "mjcf-warning": "correct the file as the warning of MuJoCo suggests",
    "mjcf-unread": "no action is needed; add the files if another program needs them",
    "mjcf-from-outside": "no action is needed: pass torques and wrenches as options",
}


def with_hints(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each with the hint of its id if it has none of its own."""
    return [x if x.hint else replace(x, hint=_HINTS.get(x.id, "")) for x in findings]


def rejections(
    files: ModelFiles,
    errors: Iterable[tuple[str, int | None]],
    rows: list[list[Any]],
    locations: list[SourceLocation],
) -> Iterator[Finding]:
    """A finding for every message of MuJoCo about an element of the outline, or about the file."""
    names = [name for _, name in files.locations]
    for message, element in errors:
        what, where = "the file", SourceLocation(files.shown)
        if element is not None:
            name, tag = rows[element][2].get("name"), rows[element][1]
            what, where = f"{tag} '{name}'" if name else f"<{tag}>", locations[element]
        reason = " ".join(_MUJOCO_WORDS.sub("", message).split())
        missing = [e for name, e in files.missing.items() if os.path.basename(name) in reason]
        message = missing[0].message if missing else f"MuJoCo rejects {what}: {reason}"
        unknown = re.search(r"(?:unknown|unrecognized) .*?'([^']+)'|'([^']+)' not found", reason)
        near = closest_match(unknown[1] or unknown[2], names) if unknown else None
        hint = f"did you mean '{near}'?" if near else _rejection_hint(reason)
        if missing:
            hint = f"{missing[0].hint.rstrip('?')}? " if "?" in missing[0].hint else ""
            hint += "a missing mesh is accepted if its body has an <inertial>"
        yield Finding("mjcf-rejected", "error", where, message, hint)


Row = Mapping[str, Any]

_OF_BODY = ("pos", "quat", "mass", "ipos", "iquat", "inertia")
_OF_JOINT = ("axis", "pos", "stiffness")
_OF_FREEDOM = ("damping", "frictionloss", "armature")


def not_finite(model: Row, files: ModelFiles) -> Iterator[Finding]:
    """A finding for every value that is NaN or infinite."""
    hint = "use finite numbers"
    for tag, name, figure, value in _figures(model):
        wrong = [x for x in (value if isinstance(value, list) else [value]) if not isfinite(x)]
        if wrong:
            whose = f"{tag} '{name}': " if name else ""
            message = f"{whose}{figure} is {wrong[0]} in the model compiled by MuJoCo"
            yield Finding("number-not-finite", "error", files.at(tag, name), message, hint)


def _figures(model: Row) -> Iterator[tuple[str, str, str, Any]]:
    """Tag and name of an element, and name and value of each of its numbers."""
    yield "option", "", "gravity", model["gravity"]
    for body in model["body"]:
        for figure in _OF_BODY:
            yield "body", body["name"], figure, body[figure]
    for joint in model["joint"]:
        for figure in _OF_JOINT:
            yield "joint", joint["name"], figure, joint[figure]
        yield "joint", joint["name"], "ref", model["qpos0"][joint["qposadr"]]
        if joint["stiffness"]:
            rest = model["qpos_spring"][joint["qposadr"]]
            yield "joint", joint["name"], "springref", rest
        for figure in _OF_FREEDOM:
            yield "joint", joint["name"], figure, model["dof"][joint["dofadr"]][figure]
    for equality in model["equality"]:
        yield "equality", equality["name"], "data", equality["data"]
    for site in model["site"]:
        yield "site", site["name"], "pos", [*site["pos"], *site["quat"]]
    for tendon in model["tendon"]:
        coefficients = [c for _, c in tendon["terms"] or ()]
        yield "fixed", tendon["name"], "coef", [tendon["armature"], *coefficients]
