"""ROS 1 bags, ROS 2 bags and MCAP files as tables, read with rosbags."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from robolin.core.text import did_you_mean, quote_list
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.formats.joint_state_table import (
    Topic,
    bag_errors,
    joint_state_table,
    joint_trajectory_table,
)
from robolin.io.table_file import TableFile, digest_of

_TABLES = {
    "sensor_msgs/msg/JointState": joint_state_table,
    "trajectory_msgs/msg/JointTrajectory": joint_trajectory_table,
}
_METADATA = "metadata.yaml"
# characters with a special meaning in the URI of an SQLite database
_ODD = "?#%"


def is_bag_folder(path: Path) -> bool:
    """Return whether a folder is a ROS 2 bag."""
    return (path / _METADATA).is_file()


@contextmanager
def open_bag(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """The messages of one topic as a table; `part` names the topic, '' the only one."""
    path = Path(location)
    if path.suffix == ".db3" and any(letter in str(path) for letter in _ODD):
        hint = f"a database cannot have one of {' '.join(_ODD)} in its path: rename it"
        raise FileError("could not read", where=file, hint=hint)
    if path.is_dir():
        _require_unpacked(path, file)
    with bag_errors(file):
        reader = _reader(path, file)
        reader.open()
    try:
        topic = _topic(reader, part, file, ros1=path.suffix == ".bag")
        yield _TABLES[topic.kind](topic, joints, lambda: _digest(path))
    finally:
        reader.close()


def _reader(path: Path, file: str) -> Any:
    """The rosbags reader for this kind of bag."""
    module = "rosbags.rosbag1" if path.suffix == ".bag" else "rosbags.rosbag2"
    try:
        reader: Any = import_module(module).Reader
    except ImportError:
        hint = "pip install 'robolin[ros]'"
        raise RobolinError("bags need the package rosbags", where=file, hint=hint) from None
    return reader(path)


def _require_unpacked(path: Path, file: str) -> None:
    """Reject a folder with compressed files, which would be decompressed to another folder."""
    text = (path / _METADATA).read_text(errors="replace").lower()
    if re.search(r"compression_mode\W+file\b", text):
        hint = "unpack it first: unzstd FILE; compression of messages or chunks can stay"
        raise RobolinError("its files are compressed", where=file, hint=hint)


def _topic(reader: Any, part: str, file: str, ros1: bool) -> Topic:
    """The named topic, or the only topic with joints."""
    kinds = {each.topic: each.msgtype for each in reader.connections}
    useful = [name for name, kind in kinds.items() if kind in _TABLES]
    if part:
        name = part if part in kinds else f"/{part}"
        if name not in useful:
            hint = did_you_mean(part, useful, f"topics with joints: {quote_list(useful) or 'none'}")
            what = "has no joint states" if name in kinds else "is not there"
            raise UsageError(f"the topic '{part}' {what}", where=file, hint=hint)
    else:
        filled = [name for name in useful if reader.topics[name].msgcount] or useful
        if len(filled) != 1:
            message = f"it has joints in {quote_list(filled)}" if filled else "no topic has joints"
            hint = f"{file}:{filled[0]}" if filled else "JointState or JointTrajectory"
            raise RobolinError(message, where=file, hint=hint)
        (name,) = filled
    connections = [each for each in reader.connections if each.topic == name]
    return Topic(name, kinds[name], connections, file, ros1, reader)


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the names and hashes of a folder's files."""
    if path.is_file():
        with path.open("rb") as stream:
            return digest_of(stream)
    digest = hashlib.sha256()
    for inside in sorted(each for each in path.iterdir() if each.is_file()):
        with inside.open("rb") as stream:
            digest.update(f"{inside.name} {digest_of(stream)}\n".encode())
    return digest.hexdigest()
