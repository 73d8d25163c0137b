"""Search for ROS packages without ROS: folders with a `package.xml`, or that look like one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

# search depth below a folder of ROS_PACKAGE_PATH
_DEPTH = 3
_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
# a manifest is short; a longer file is not a manifest
_LONGEST_MANIFEST = 1 << 20
# subfolders of a package with robot files; they identify a package without a manifest
_PARTS = ("urdf", "xacro", "meshes", "robots")
# the same for models of simulators
_SIMULATOR_PARTS = (*_PARTS, "assets", "mjcf")
# levels above the folder of a file at which such a package is looked for
_LEVELS = 3
# REP 127 and 144: letters, digits, underscores and dashes
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def package_of(file: Path) -> Path | None:
    """The package a file lies in: the nearest folder above it with a `package.xml`."""
    return next((up for up in file.parents if (up / "package.xml").is_file()), None)


def is_package_name(name: str) -> bool:
    """Return True for a valid package name; False for a path such as '/' or '..'."""
    return _PACKAGE_NAME.fullmatch(name) is not None


def searched_folders(file: Path, packages: Mapping[str, str]) -> list[str]:
    """Folders that `find_package` searches, with resolved links, for a file and `packages`."""
    own = package_of(file)
    folders = [file.parent, *map(Path, packages.values())]
    if own is not None:
        folders += [own.parent, *_links(own.parent, 2)]
    folders += _unmarked_packages(file)
    for prefix in _folders("AMENT_PREFIX_PATH"):
        folders += [prefix / "share", *_links(prefix / "share", 1)]
    for folder in _folders("ROS_PACKAGE_PATH"):
        folders += [folder, *_links(folder, _DEPTH)]
    return sorted({os.path.realpath(folder) for folder in folders if folder.is_dir()})


def find_package(name: str, file: Path, packages: Mapping[str, str]) -> Path | None:
    """The folder of the package in `$(find NAME)` of a file, None if it does not exist.

    packages: folders set by the user, by package name; they have priority
    """
    if not is_package_name(name):
        return None
    if name in packages:
        return Path(packages[name]).absolute()
    return next(_candidates(name, file), None) or _unmarked_package(name, file)


def _candidates(name: str, file: Path) -> Iterator[Path]:
    """Candidate folders: around the file itself, then in the search path of ROS."""
    own = package_of(file)
    if own is not None and _is_package(own, name):
        yield own
    if own is not None:
        yield from _below(own.parent, name, 2)
    for prefix in _folders("AMENT_PREFIX_PATH"):
        share = prefix / "share" / name
        if share.is_dir():
            yield share
    for folder in _folders("ROS_PACKAGE_PATH"):
        yield from _below(folder, name, _DEPTH)


def _unmarked_packages(file: Path) -> list[Path]:
    """Folders around a file that look like packages but have no manifest: its own, and siblings."""
    folders = [path for own in _packages_or_similar(file) for path in _subfolders(own.parent)]
    return [path for path in folders if _looks_like_package(path)]


def _unmarked_package(name: str, file: Path) -> Path | None:
    """One of these by name; does not list folders, which the process may not be allowed to do."""
    folders = (own.parent / name for own in _packages_or_similar(file))
    return next(filter(_looks_like_package, folders), None)


def _packages_or_similar(file: Path) -> list[Path]:
    """The package of a file, and the nearest folder above it that looks like one."""
    similar = (package_of(file), _similar(file, _PARTS))
    return [folder for folder in similar if folder is not None]


def _similar(file: Path, parts: tuple[str, ...]) -> Path | None:
    above = file.parents[:_LEVELS]
    return next((up for up in above if _looks_like_package(up, parts)), None)


def _looks_like_package(folder: Path, parts: tuple[str, ...] = _PARTS) -> bool:
    """Return True for a folder with the subfolders of a package, but without its manifest."""
    has_parts = any((folder / part).is_dir() for part in parts)
    return has_parts and not (folder / "package.xml").is_file()


def _folders(variable: str) -> list[Path]:
    listed = os.environ.get(variable, "").split(os.pathsep)
    return [path for text in listed if text and (path := Path(text)).is_absolute()]


def _links(folder: Path, depth: int) -> Iterator[Path]:
    """Targets of symbolic links in the search path, which may be anywhere."""
    if not depth or (folder / "package.xml").is_file():
        return
    for path in _subfolders(folder):
        if path.is_symlink():
            yield path
        yield from _links(path, depth - 1)


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _below(folder: Path, name: str, depth: int) -> Iterator[Path]:
    """The package in this folder or below it; packages do not contain other packages."""
    if _is_package(folder, name):
        yield folder
    elif depth and not (folder / "package.xml").is_file():
        # a folder with the package's name first: it is nearly always the right one
        for path in sorted(_subfolders(folder), key=lambda path: path.name != name):
            yield from _below(path, name, depth - 1)


def _is_package(folder: Path, name: str) -> bool:
    """Return True if the manifest of a folder has this package name."""
    manifest = folder / "package.xml"
    try:
        if not manifest.is_file():
            return False
        with manifest.open("rb") as stream:
            match = _NAME.search(stream.read(_LONGEST_MANIFEST))
    except OSError:
        return False
    return match is not None and match[1].decode(errors="replace") == name


def package_or_repository(file: Path) -> Path | None:
    """The nearest folder above a file with a `package.xml` or the `.git` of a repository.

    Otherwise the nearest folder with the subfolders of a package, such as `meshes`.
    """
    markers = ("package.xml", ".git")
    marked = next((up for up in file.parents if any((up / m).exists() for m in markers)), None)
    return marked or _similar(file, _SIMULATOR_PARTS)
