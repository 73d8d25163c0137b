"""ROS 1 bags, ROS 2 bags and MCAP files as tables, read with rosbags.

A topic with joint states has one column per joint and quantity, and one row per message.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Integers, Numbers
from robolin.core.quantity_table import column_name
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, quote_list
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.formats.joint_states import LITTLE_ENDIAN_CDR, MessageLayout, as_table, layout_of
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    digest_of,
    require_finite_cells,
    row_location,
)

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
        message = f"the path of a database must not contain any of {' '.join(_ODD)}"
        raise FileError(message, where=file, hint="rename the file or its folder")
    if path.is_dir():
        _require_unpacked(path, file)
    with bag_errors(file):
        reader = _reader(path, file)
        reader.open()
        # damaged names of topics raise errors here
        counts = {name: topic.msgcount for name, topic in reader.topics.items()}
    try:
        topic = _topic(reader, part, file, counts, ros1=path.suffix == ".bag")
        yield _TABLES[topic.kind](topic, joints, lambda: _digest(path))
    finally:
        reader.close()


def _reader(path: Path, file: str) -> Any:
    """The rosbags reader for this kind of bag."""
    module = "rosbags.rosbag1" if path.suffix == ".bag" else "rosbags.rosbag2"
    try:
        reader: Any = import_module(module).Reader
    except ImportError:
        hint = "pip install rosbags"
        raise RobolinError(
            "reading ROS bags requires the package rosbags", where=file, hint=hint
        ) from None
    return reader(path)


def _require_unpacked(path: Path, file: str) -> None:
    """Reject a folder with compressed files, which would be decompressed to another folder."""
    text = (path / _METADATA).read_text(errors="replace").lower()
    if re.search(r"compression_mode\W+file\b", text):
        hint = "decompress the files: unzstd FILE (compressed messages or chunks are supported)"
        raise RobolinError("the files of the bag are compressed", where=file, hint=hint)


def _topic(reader: Any, part: str, file: str, counts: Mapping[str, int], *, ros1: bool) -> Topic:
    """The named topic, or the only topic with joints."""
    kinds = {each.topic: each.msgtype for each in reader.connections}
    useful = [name for name, kind in kinds.items() if kind in _TABLES]
    if part:
        name = part if part in kinds else f"/{part}"
        if name not in useful:
            hint = did_you_mean(
                part, useful, f"topics with joint data: {quote_list(useful) or 'none'}"
            )
            what = "has no joint data" if name in kinds else "does not exist"
            raise UsageError(f"topic '{part}' {what}", where=file, hint=hint)
    else:
        filled = [name for name in useful if counts[name]] or useful
        if len(filled) != 1:
            message = (
                f"several topics have joint data: {quote_list(filled)}"
                if filled
                else "no topic has joint data"
            )
            hint = (
                f"select one topic: {file}:{filled[0]}"
                if filled
                else "record a topic of type JointState or JointTrajectory"
            )
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


TIME = "time"
# messages that are scanned for the layouts of the topic, and the largest number of layouts
_SAMPLE_MESSAGES, _MOST_KINDS = 200, 64


def joint_state_table(topic: Topic, joints: Sequence[str], digest: Callable[[], str]) -> TableFile:
    """Read the joint names from the first messages; messages about other joints are ignored."""
    seen = list(islice(topic.messages(), _SAMPLE_MESSAGES))
    if not seen:
        raise RobolinError(f"topic '{topic.name}' has no messages", where=topic.file)
    kinds = _kinds([data for _, data in seen], topic)
    ours = [kind for kind in kinds if set(kind.joints) & set(joints)]
    table = _JointStates(topic, (ours or kinds)[0], [k for k in kinds if ours and k not in ours])
    return TableFile(
        table.names,
        table.blocks,
        size=topic.count,
        most_rows=lambda: None,
        digest=digest,
        is_integer=lambda i: i == 0,
        notes=tuple(table.notes()),
        time_unit="ns",
    )


def _kinds(messages: Sequence[bytes], topic: Topic) -> list[MessageLayout]:
    """The different layouts of these messages, in order of appearance."""
    layouts: dict[tuple[str, ...], MessageLayout] = {}
    for number, data in enumerate(messages, 1):
        kind = layout_of(data, topic.ros1, f"{topic.file}, message {number}")
        layouts.setdefault(kind.joints, kind)
    return list(layouts.values())


class _JointStates:
    """Decodes the messages of one topic into columns."""

    def __init__(
        self, topic: Topic, first: MessageLayout, ignored: Sequence[MessageLayout]
    ) -> None:
        self._topic, self._first = topic, first
        self._ignored = {kind.joints for kind in ignored}
        self._kinds: set[tuple[object, ...]] = set()
        self._columns = [(q, joint) for q in first.numbers for joint in first.joints]
        self.names = [TIME, *(column_name(q, joint) for q, joint in self._columns)]
        sample = as_table([first.sample])
        self._by_bag = int(first.stamps(sample)[0]) == 0

    def notes(self) -> Iterator[str]:
        """Notes about assumptions and ignored messages."""
        yield f"each row is a message of topic '{self._topic.name}'"
        if self._by_bag:
            yield "messages have no time stamp; robolin uses the recording time"
        if self._ignored:
            names = quote_list(sorted({joint for joints in self._ignored for joint in joints}))
            yield f"messages that contain only other joints are ignored: {names}"

    def blocks(self, request: ReadRequest) -> Iterator[TableBlock]:
        """The messages in blocks of rows."""
        before = 0
        for batch in self._topic.batches(request.rows):
            stamps, values, kept = self._decoded(batch, before)
            before += len(batch)
            if not len(kept):
                continue
            numbers = [before - len(batch) + i + 1 for i in kept.tolist()]
            integers = {0: stamps[kept]}
            table = np.column_stack([stamps[kept].astype(float), values[kept]])
            block = TableBlock(table[:, request.indices], self._location(numbers), before, integers)
            if not request.allow_nan:
                topic = self._topic
                require_finite_cells(block, self.names, request, topic.file, topic.count)
            yield block

    def _location(self, numbers: Sequence[int]) -> Callable[[int], str]:
        return lambda row: f"{self._topic.file}, message {numbers[row]}"

    def _decoded(
        self, batch: Sequence[tuple[int, bytes]], before: int
    ) -> tuple[Integers, Floats, Integers]:
        """Times, numbers in the order of the columns, and the indices of the messages to keep."""
        stamps = np.array([stamp for stamp, _ in batch], dtype=np.int64)
        values = np.full((len(batch), len(self._columns)), np.nan)
        kept = np.zeros(len(batch), bool)
        lengths = np.array([len(data) for _, data in batch])
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            while len(rows):
                kind = self._kind(batch[int(rows[0])][1], before + int(rows[0]) + 1)
                table = as_table([batch[row][1] for row in rows.tolist()])
                fits = kind.fits(table)
                if kind.joints not in self._ignored:
                    mine, table = rows[fits], table[fits]
                    kept[mine] = True
                    values[mine] = self._in_order(kind, table)
                    if not self._by_bag:
                        stamps[mine] = kind.stamps(table)
                rows = rows[~fits]
        return stamps, values, np.flatnonzero(kept)

    def _kind(self, data: bytes, number: int) -> MessageLayout:
        """The layout of a message; an error if its joints or quantities changed."""
        where = f"{self._topic.file}, message {number}"
        kind = layout_of(data, self._topic.ros1, where)
        if kind.joints in self._ignored:
            return kind
        missing = [name for name in self._first.joints if name not in kind.joints]
        if missing or set(kind.numbers) != set(self._first.numbers):
            what = f"lacks {quote_list(missing)}" if missing else "has different quantities"
            message = f"the message {what}, unlike the first message"
            hint = "record a topic in which all messages have the same joints"
            raise RobolinError(message, where=where, hint=hint)
        self._kinds.add((kind.joints, kind.constant))
        if len(self._kinds) > _MOST_KINDS:
            hint = "use the same joint names in the same order in all messages"
            raise RobolinError(
                "the joints or quantities in the messages change too often", where=where, hint=hint
            )
        return kind

    def _in_order(self, kind: MessageLayout, table: Numbers) -> Floats:
        """The numbers of these messages in the joint order of the first layout."""
        order = [kind.joints.index(joint) for joint in self._first.joints]
        parts = [kind.values(table, quantity)[:, order] for quantity in self._first.numbers]
        return np.concatenate(parts, axis=1) if parts else np.empty((len(table), 0))


# a message with joint states has a few hundred bytes
_LARGEST = 1 << 24


@contextmanager
def bag_errors(file: str) -> Iterator[None]:
    """Raise any error of rosbags in a damaged bag as RobolinError."""
    try:
        yield
    except (RobolinError, OSError, MemoryError):
        raise
    except Exception as error:
        lines = str(error).splitlines() or [type(error).__name__]
        message = f"not a valid ROS bag: {lines[0][:120]}"
        raise RobolinError(message, where=file, hint="run `ros2 bag info` on the bag") from error


@dataclass(frozen=True, eq=False)
class Topic:
    """The messages of one topic, in the order of the bag.

    reader: the open rosbags reader
    """

    name: str
    kind: str
    connections: Sequence[Any]
    file: str
    ros1: bool
    reader: Any

    @property
    def count(self) -> int:
        """Number of messages according to the bag's index."""
        return sum(int(each.msgcount) for each in self.connections)

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """Yield the recording time in nanoseconds and the bytes of each message."""
        with bag_errors(self.file):
            for number, (_, stamp, data) in enumerate(self.reader.messages(self.connections), 1):
                if len(data) > _LARGEST:
                    message = f"{len(data)} bytes are not a valid joint message"
                    raise RobolinError(message, where=f"{self.file}, message {number}")
                yield stamp, bytes(data)

    def batches(self, size: int) -> Iterator[list[tuple[int, bytes]]]:
        """Yield lists of at most `size` messages."""
        messages = self.messages()
        while some := list(islice(messages, size)):
            yield some


_FIELDS = {"q": "positions", "qd": "velocities", "qdd": "accelerations", "tau": "effort"}


@dataclass(frozen=True, eq=False)
class _Points:
    """The points of a joint trajectory: column names, times in nanoseconds, and all numbers."""

    names: list[str]
    time: Integers
    values: Floats
    file: str

    def blocks(self, request: ReadRequest) -> Iterator[TableBlock]:
        """The points in blocks of rows."""
        for first in range(0, len(self.time), request.rows):
            rows = slice(first, first + request.rows)
            some = self.values[rows][:, request.indices]
            location = row_location(self.file, first)
            block = TableBlock(some, location, first + len(some), {0: self.time[rows]})
            if not request.allow_nan:
                require_finite_cells(block, self.names, request, self.file, len(self.time))
            yield block


def joint_trajectory_table(
    topic: Topic, joints: Sequence[str], digest: Callable[[], str]
) -> TableFile:
    """The points of the only message, with the time from its start in nanoseconds."""
    messages = list(islice(topic.messages(), 2))
    if len(messages) != 1:
        message = f"topic '{topic.name}' has {'no' if not messages else 'more than one'} trajectory"
        hint = "record exactly one trajectory, or the joint states of its execution"
        raise RobolinError(message, where=topic.file, hint=hint)
    points = _points(_message(messages[0][1], topic), topic.file)
    return TableFile(
        points.names,
        points.blocks,
        size=len(points.time),
        most_rows=lambda: len(points.time),
        digest=digest,
        is_integer=lambda i: i == 0,
        notes=(f"each row is a point of the trajectory in '{topic.name}'",),
        time_unit="ns",
    )


def _points(planned: Any, file: str) -> _Points:
    """The points of a message; each must have the quantities of the first one."""
    joints, points = list(planned.joint_names), list(planned.points)
    if not points:
        raise RobolinError("the trajectory has no points", where=file)
    quantities = [q for q, field in _FIELDS.items() if len(getattr(points[0], field))]
    for number, point in enumerate(points, 1):
        for quantity in quantities:
            if len(getattr(point, _FIELDS[quantity])) != len(joints):
                message = f"{_FIELDS[quantity]} must have one entry per joint name"
                raise RobolinError(message, where=f"{file}, point {number}")
    starts = [point.time_from_start for point in points]
    time = np.array([each.sec * 10**9 + each.nanosec for each in starts], dtype=np.int64)
    columns = [np.array([getattr(p, _FIELDS[q]) for p in points], dtype=float) for q in quantities]
    names = [TIME, *(column_name(q, joint) for q in quantities for joint in joints)]
    return _Points(names, time, np.column_stack([time.astype(float), *columns]), file)


def _message(data: bytes, topic: Topic) -> Any:
    """The message deserialized with rosbags."""
    from rosbags.typesys import Stores, get_typestore

    if topic.ros1:
        store = get_typestore(Stores.ROS1_NOETIC)
        return store.deserialize_ros1(data, topic.kind)
    if data[:4] != LITTLE_ENDIAN_CDR:
        raise RobolinError("messages must be little-endian CDR", where=topic.file)
    return get_typestore(Stores.ROS2_HUMBLE).deserialize_cdr(data, topic.kind)


_TABLES = {
    "sensor_msgs/msg/JointState": joint_state_table,
    "trajectory_msgs/msg/JointTrajectory": joint_trajectory_table,
}
