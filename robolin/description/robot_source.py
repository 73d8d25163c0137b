"""Sources of robot texts: a path, a git revision, standard input, a bundled arm, a package."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from robolin.core.records import dataclass
from robolin.core.text import closest_match, did_you_mean, printable, quote_list
from robolin.errors import FileError, RobolinError, UsageError

BUNDLED_SUFFIXES = (".urdf", ".yaml")
HEADER_KEYS = ("title", "source", "licence", "options", "notes")

# enough for any header; the format is detected without the data below it
_HEADER_BYTES = 16_384


class SupportsRead(Protocol):
    """An open file, of text or of bytes."""

    def read(self, size: int, /) -> str | bytes: ...


# a path, '-', the name of a bundled arm, `robot_descriptions:NAME`, or the text itself
Source = str | os.PathLike[str] | bytes | SupportsRead

ROBOT_FORMATS = {
    ".urdf": "urdf",
    ".xml": "urdf",
    ".xacro": "xacro",
    ".mjcf": "mjcf",
    ".sdf": "sdf",
    ".world": "sdf",
    ".yaml": "yaml",
    ".yml": "yaml",
}

# other formats also end in .xml: their root element identifies them
# atomic: a comment ends at its first -->, otherwise the time grows exponentially with comments
_ROOT = rb"(?s:(?:\xef\xbb\xbf)?(?>\s+|<\?.*?\?>|<!--.*?-->)*+<(mujoco|sdf)[\s>/])"
_ROOT_FORMATS = {b"mujoco": "mjcf", b"sdf": "sdf"}

# `REVISION:PATH` of a robot file in a git repository; a drive letter is not a revision
_GIT_SOURCE = r"((?!-)[\w@^~./{}-]{2,}):(?![:/\\])(.+\.(?:urdf|xml|xacro|mjcf|sdf|ya?ml))"

# name of standard input in messages
STANDARD_INPUT = "<stdin>"
# name of a text without a file in messages
INLINE_TEXT = "<text>"

# larger than any robot file; limits the memory that an endless stream can use
LARGEST_FILE = 64 * 1024 * 1024


# annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each
class RobotText(NamedTuple):
    """The text of a source: its bytes, its name in messages, its format and its file.

    part: name of one model in the file, '' if not given
    """

    text: bytes
    shown: str
    kind: str
    path: Path | None = None
    origin: str = ""
    part: str = ""


def robot_text(source: Source) -> RobotText:
    """Read the text of a path, '-' for standard input, or a bundled name."""
    contents = _text_itself(source)
    if contents is not None:
        return RobotText(_bounded(contents, INLINE_TEXT), INLINE_TEXT, format_of_text(contents))
    name = name_of(source)
    if name == "-":
        text = _standard_input()
        return RobotText(text, STANDARD_INPUT, format_of_text(text))
    if name.startswith(PREFIX):
        path, origin = fetched_description(name)
        text = robot_file_bytes(path)
        return RobotText(text, path.name, _format(path, text), path, origin)
    if ":" in name and (committed := re.fullmatch(_GIT_SOURCE, name)) and not os.path.exists(name):
        return _committed(name, committed[1], committed[2])
    name, part = model_of(name)
    path = _path_of(name)
    text = robot_file_bytes(path)
    shown = path.name if path == bundled_path(name) else name
    return RobotText(text, shown, _format(path, text), path, part=part)


def _committed(name: str, revision: str, path: str) -> RobotText:
    """The text of `REVISION:PATH`, with the path relative to the working directory."""
    from subprocess import run

    try:
        shown = ["git", "show", "--end-of-options", f"{revision}:./{path}"]
        ended = run(shown, capture_output=True, check=False)
    except OSError as error:
        raise FileError(f"git cannot be started: {error.strerror}", where=name) from error
    if ended.returncode:
        reason = ended.stderr.decode(errors="replace").strip().partition("\n")[0]
        hint = "write REVISION:PATH with the path relative to the working directory"
        raise FileError(f"git cannot read the file: {printable(reason)}", where=name, hint=hint)
    text = _bounded(ended.stdout, name)
    kind = _format(Path(path), text)
    if kind in ("xacro", "mjcf"):
        hint = "check out the revision: git worktree add FOLDER REVISION"
        raise RobolinError(
            f"{kind} files may include other files, but git show returns only one file",
            where=name,
            hint=hint,
        )
    return RobotText(text, name, kind)


def model_of(name: str) -> tuple[str, str]:
    """The path and the model in `FILE.sdf:MODEL`, '' without a model."""
    path, colon, model = name.partition(":")
    while colon and not path.lower().endswith((".sdf", ".world")):
        more, colon, model = model.partition(":")
        path = f"{path}:{more}"
    return (path, model) if colon and not os.path.exists(name) else (name, "")


def _is_text(source: object) -> bool:
    """Return True if a source is the text itself: bytes, an open file, or XML or YAML in a str."""
    if isinstance(source, str):
        return "\n" in source or source.lstrip()[:1] == "<"
    return isinstance(source, bytes | bytearray) or hasattr(source, "read")


def _text_itself(source: Any) -> bytes | None:
    """The text if the source is the text itself, None if it is a name."""
    if not _is_text(source):
        return None
    text = source.read(LARGEST_FILE + 1) if hasattr(source, "read") else source
    return text.encode() if isinstance(text, str) else bytes(text)


def name_of(source: object) -> str:
    """The name of a source; reject objects that are not a name or a path."""
    if _is_text(source):
        return INLINE_TEXT
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if isinstance(name, str):
        return name
    hint = (
        "use the path of a URDF, Xacro, SDF, MJCF or YAML file, or the name of a bundled robot "
        "such as 'panda'"
    )
    raise UsageError(f"{source!r} is neither a path nor the name of a bundled robot", hint=hint)


def _path_of(name: str) -> Path:
    """The file of a name: an existing path, or else a bundled arm."""
    if not name:
        raise UsageError(
            "the name of the robot is empty",
            hint="use a URDF, Xacro, SDF, MJCF or YAML file, or the name of a bundled robot",
        )
    if "\0" in name:
        raise UsageError(f"{name!r} is not a valid file name", hint="remove the null byte")
    path = Path(name)
    try:
        exists, folder = path.exists(), path.is_dir()
    except OSError as error:
        raise _unreadable(name, error) from error
    bare = path.name == name and path.suffix not in ROBOT_FORMATS
    if bare and (folder or not exists) and (bundled := bundled_path(name)):
        return bundled
    if folder:
        hint = "use the path of a robot file in this folder"
        raise FileError("is a folder, not a robot file", where=name, hint=hint)
    if not exists:
        raise _missing(path, bare)
    return path


def _missing(path: Path, bare: bool) -> FileError:
    """The error for a missing file, with the closest existing name."""
    names = bundled_names()
    if bare:
        meant = did_you_mean(path.name.lower(), names, f"bundled robots: {quote_list(names)}")
        hint = f"{meant} (`robolin models` lists all robots)"
        return FileError(
            "file not found, and no bundled robot has this name", where=str(path), hint=hint
        )
    stems = _stems_beside(path)
    if path.stem.lower() in names and path.name == str(path):
        hint = f"to use the bundled robot, write '{path.stem.lower()}'"
    elif near := closest_match(path.stem, stems):
        hint = f"did you mean '{path.parent / stems[near]}'?"
    else:
        hint = "check the path; `robolin models` lists the bundled robots"
    return FileError("file not found", where=str(path), hint=hint)


def _stems_beside(path: Path) -> dict[str, str]:
    """The robot files in the folder of a path, by name without extension."""
    try:
        return {
            other.stem: other.name
            for other in path.parent.iterdir()
            if other.suffix in ROBOT_FORMATS
        }
    except OSError:
        return {}


def text_digest(text: bytes) -> str:
    """SHA-256 of a robot file."""
    try:
        # as in `random` of the standard library: hashlib loads OpenSSL, which takes milliseconds
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found]
        except ImportError:
            from hashlib import sha256
    digest: str = sha256(text).hexdigest()
    return digest


def robot_file_bytes(path: Path) -> bytes:
    """The content of a file, limited in size."""
    try:
        with path.open("rb") as stream:
            return _take(stream, str(path))
    except OSError as error:
        raise _unreadable(str(path), error) from error


def _standard_input() -> bytes:
    name = STANDARD_INPUT
    if sys.stdin is None:
        raise FileError(
            "standard input is closed", where=name, hint="pipe a robot file into the command"
        )
    try:
        return _take(sys.stdin.buffer, name)
    except OSError as error:
        raise _unreadable(name, error) from error


def _take(stream: BinaryIO, name: str) -> bytes:
    return _bounded(stream.read(LARGEST_FILE + 1), name)


def _bounded(text: bytes, name: str) -> bytes:
    if len(text) > LARGEST_FILE:
        raise FileError(
            f"is larger than {LARGEST_FILE >> 20} MiB, the size limit of robot files", where=name
        )
    return text


def _unreadable(name: str, error: OSError) -> FileError:
    return FileError(f"cannot be read: {error.strerror or error}", where=name)


def _format(path: Path, text: bytes) -> str:
    """The format by the extension; without one, as for a pipe, by the first character."""
    suffix = path.suffix.lower()
    if suffix == ".xml" and (root := re.match(_ROOT, text)):
        return _ROOT_FORMATS[root[1]]
    if suffix in ROBOT_FORMATS:
        return ROBOT_FORMATS[suffix]
    if not suffix:
        return format_of_text(text)
    if suffix == ".srdf":
        hint = f"use the URDF file of the robot, and add --srdf {path} for the poses"
        message = "is an SRDF file: it has groups and poses, but no links and joints"
        raise RobolinError(message, where=str(path), hint=hint)
    hint = f"use a file with the extension {', '.join(ROBOT_FORMATS)}; '-' reads standard input"
    raise RobolinError(f"'{suffix}' is not an extension of robot files", where=str(path), hint=hint)


def format_of_text(text: bytes) -> str:
    """The format of a text without a file: SDF by its root element, else URDF or YAML."""
    root = re.match(_ROOT, text)
    if root and root[1] == b"sdf":
        return "sdf"
    return "urdf" if text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<" else "yaml"


@dataclass(frozen=True)
class About:
    """The fields of a bundled file's header comment; '' if absent."""

    name: str
    title: str = ""
    source: str = ""
    licence: str = ""
    options: str = ""
    notes: str = ""


def bundled_names() -> tuple[str, ...]:
    """The bare names of the bundled arms, sorted."""
    return tuple(sorted(_files_in(_folder())))


def bundled_path(name: str) -> Path | None:
    """The file of a bundled arm, None if the name is unknown."""
    return _files_in(_folder()).get(name)


def bundled_about(path: Path) -> About:
    """The header of a bundled file: `key: value` lines; a line without a key continues the last."""
    entries: dict[str, list[str]] = {}
    key = ""
    for line in _header(path):
        word, colon, rest = line.partition(":")
        if colon and word.strip() in HEADER_KEYS:
            key, line = word.strip(), rest
        if key and line.strip():
            entries.setdefault(key, []).append(line.strip())
    return About(path.stem, **{key: " ".join(lines) for key, lines in entries.items()})


@cache
def _files_in(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in folder.glob("*") if path.suffix in BUNDLED_SUFFIXES}


def _folder() -> Path:
    """The folder of models: next to the installed modules, or at the top of a source checkout."""
    package = Path(__file__).parents[1]
    installed = package / "models"
    return installed if installed.is_dir() else package.parent / "models"


def _header(path: Path) -> list[str]:
    """The lines of the first XML comment, or of the comment that a YAML file starts with."""
    with path.open("rb") as stream:
        text = stream.read(_HEADER_BYTES).decode("utf-8", "replace")
    if path.suffix == ".urdf":
        return text.partition("<!--")[2].partition("-->")[0].splitlines()
    lines = text.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return [line.removeprefix("#") for line in lines[:end]]


PREFIX = "robot_descriptions:"
_ENDING = "_description"
# attributes of a robot_descriptions module, in order of preference
_PATHS = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")


class FoundDescription(NamedTuple):
    """The file of a named robot, with the repository and version it comes from."""

    path: Path
    origin: str


def fetched_description(name: str) -> FoundDescription:
    """The robot file of `robot_descriptions:NAME`, downloaded on first use."""
    robot = name.removeprefix(PREFIX)
    if find_spec("robot_descriptions") is None:
        hint = "pip install robot_descriptions"
        raise RobolinError(
            "requires the package robot_descriptions, which is not installed", where=name, hint=hint
        )
    known = list(_known())
    module = next((each for each in (robot, robot + _ENDING) if each in known), None)
    if module is None:
        names = [each.removesuffix(_ENDING) for each in known]
        hint = did_you_mean(
            robot, names, "see the README of robot_descriptions for the list of robots"
        )
        raise FileError("robot_descriptions has no robot of this name", where=name, hint=hint)
    description = _fetched(name, module)
    for each in _PATHS:
        if path := getattr(description, each, None):
            return FoundDescription(Path(path), _origin(description))
    raise RobolinError(
        "robot_descriptions has no URDF, xacro or MJCF file for this robot", where=name
    )


def _known() -> Iterator[str]:
    from pkgutil import iter_modules

    folder: Any = import_module("robot_descriptions")
    for module in iter_modules(folder.__path__):
        if module.name.endswith(_ENDING) and not module.name.startswith("_"):
            yield module.name


def _fetched(name: str, module: str) -> Any:
    """The module of a robot; its import downloads the repository."""
    try:
        # it prints progress on standard output, which is reserved for results
        with redirect_stdout(sys.stderr):
            return import_module(f"robot_descriptions.{module}")
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        hint = "check the network and git: the first use downloads the robot"
        raise FileError(f"cannot be downloaded: {reason}", where=name, hint=hint) from error


def _origin(module: Any) -> str:
    """Repository and commit of the file, if known."""
    folder = Path(str(getattr(module, "REPOSITORY_PATH", "")))
    head = folder / ".git" / "HEAD"
    commit = head.read_text().strip() if head.is_file() else "an unknown commit"
    return f"robot_descriptions, repository {folder.name} at {commit.removeprefix('ref: ')}"
