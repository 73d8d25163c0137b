"""Bags for tests, written by rosbags itself: one motion of the two-link arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

JOINTS = ("shoulder", "elbow")
START = 1_700_000_000_000_000_001
STATE, TRAJECTORY = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"


@dataclass(frozen=True)
class Motion:
    """Stamps in ns, and positions and velocities of shape (rows, 2)."""

    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    joints: tuple[str, ...] = JOINTS

    @classmethod
    def drawn(cls, rows: int) -> Motion:
        values = np.random.default_rng(0).uniform(-1, 1, (2, rows, 2))
        return cls(START + 10_000_000 * np.arange(rows), *values)


def _types(ros1: bool) -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)


def _stamp(store: Any, time: int, kind: str = "Time") -> Any:
    return store.types[f"builtin_interfaces/msg/{kind}"](time // 10**9, time % 10**9)


def _header(store: Any, number: int, time: int, ros1: bool) -> Any:
    more = {"seq": number} if ros1 else {}
    make = store.types["std_msgs/msg/Header"]
    return make(stamp=_stamp(store, time), frame_id="base", **more)


def states(motion: Motion, ros1: bool, *, stamped: bool = True) -> list[tuple[int, bytes]]:
    """The motion as joint states: when each was recorded, and its bytes."""
    store = _types(ros1)
    written = []
    for i, time in enumerate(motion.time.tolist()):
        message = store.types[STATE](
            header=_header(store, i, time if stamped else 0, ros1),
            name=list(motion.joints),
            position=np.ascontiguousarray(motion.q[i]),
            velocity=np.ascontiguousarray(motion.qd[i]),
            effort=np.array([]),
        )
        data = store.serialize_ros1(message, STATE) if ros1 else store.serialize_cdr(message, STATE)
        written.append((time, bytes(data)))
    return written


def planned(motion: Motion, ros1: bool) -> list[tuple[int, bytes]]:
    """The motion as one message with all its points."""
    store = _types(ros1)
    point = store.types["trajectory_msgs/msg/JointTrajectoryPoint"]
    empty = np.array([])
    points = [
        point(q, qd, empty, empty, _stamp(store, int(time - motion.time[0]), "Duration"))
        for time, q, qd in zip(motion.time, motion.q, motion.qd, strict=True)
    ]
    header = _header(store, 0, int(motion.time[0]), ros1)
    message = store.types[TRAJECTORY](header, list(motion.joints), points)
    write = store.serialize_ros1 if ros1 else store.serialize_cdr
    return [(int(motion.time[0]), bytes(write(message, TRAJECTORY)))]


Topics = Sequence[tuple[str, str, list[tuple[int, bytes]]]]


def write_bag(path: Path, motion: Motion, packed: str = "", topics: Topics = ()) -> Path:
    """A bag of ROS 1; `packed` is '', 'bz2' or 'lz4'."""
    from rosbags.rosbag1 import Writer

    writer = Writer(path)
    if packed:
        writer.set_compression(Writer.CompressionFormat[packed.upper()])
    return _written(writer, path, topics or [("/joint_states", STATE, states(motion, True))], True)


def write_bag2(
    path: Path, motion: Motion, ending: str, packed: str = "", topics: Topics = ()
) -> Path:
    """A bag of ROS 2 in a folder, .mcap or .db3; `packed` is '', 'message' or 'storage'."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

    plugin = StoragePlugin.MCAP if ending == ".mcap" else StoragePlugin.SQLITE3
    writer = Writer(path, version=9, storage_plugin=plugin)
    if packed:
        writer.set_compression(CompressionMode[packed.upper()], CompressionFormat.ZSTD)
    file = path / f"{path.name}{ending}"
    return _written(
        writer, file, topics or [("/joint_states", STATE, states(motion, False))], False
    )


def _written(writer: Any, file: Path, topics: Topics, ros1: bool) -> Path:
    store = _types(ros1)
    with writer:
        opened = [
            (writer.add_connection(name, kind, typestore=store), messages)
            for name, kind, messages in topics
        ]
        for connection, messages in opened:
            for time, data in messages:
                writer.write(connection, time, data)
    return file
