"""ROS bags for tests, written by rosbags: one motion of the two-link arm."""

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
    effort: np.ndarray | None = None

    @classmethod
    def random(cls, rows: int) -> Motion:
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


def as_joint_states(motion: Motion, ros1: bool, *, stamped: bool = True) -> list[tuple[int, bytes]]:
    """Joint state messages of a motion: the time stamp (ns) and the bytes of each."""
    store = _types(ros1)
    messages = []
    for i, time in enumerate(motion.time.tolist()):
        message = store.types[STATE](
            header=_header(store, i, time if stamped else 0, ros1),
            name=list(motion.joints),
            position=np.ascontiguousarray(motion.q[i]),
            velocity=np.ascontiguousarray(motion.qd[i]),
            effort=np.array([] if motion.effort is None else motion.effort[i]),
        )
        data = store.serialize_ros1(message, STATE) if ros1 else store.serialize_cdr(message, STATE)
        messages.append((time, bytes(data)))
    return messages


def as_trajectory(motion: Motion, ros1: bool) -> list[tuple[int, bytes]]:
    """The motion as one JointTrajectory message."""
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


def write_bag(path: Path, motion: Motion, compression: str = "", topics: Topics = ()) -> Path:
    """A ROS 1 bag; `compression` is '', 'bz2' or 'lz4'."""
    from rosbags.rosbag1 import Writer

    writer = Writer(path)
    if compression:
        writer.set_compression(Writer.CompressionFormat[compression.upper()])
    return _write(
        writer, path, topics or [("/joint_states", STATE, as_joint_states(motion, True))], True
    )


def write_bag2(
    path: Path, motion: Motion, suffix: str, compression: str = "", topics: Topics = ()
) -> Path:
    """A ROS 2 bag in a folder, .mcap or .db3; `compression` is '', 'message' or 'storage'."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

    plugin = StoragePlugin.MCAP if suffix == ".mcap" else StoragePlugin.SQLITE3
    writer = Writer(path, version=9, storage_plugin=plugin)
    if compression:
        writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    file = path / f"{path.name}{suffix}"
    return _write(
        writer, file, topics or [("/joint_states", STATE, as_joint_states(motion, False))], False
    )


def _write(writer: Any, file: Path, topics: Topics, ros1: bool) -> Path:
    store = _types(ros1)
    with writer:
        connections = [
            (writer.add_connection(name, kind, typestore=store), messages)
            for name, kind, messages in topics
        ]
        for connection, messages in connections:
            for time, data in messages:
                writer.write(connection, time, data)
    return file
