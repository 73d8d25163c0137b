"""Mutated bags and MCAP files; every result must match the positions that rosbags reads."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import robolin
from tests.fuzz import mutators
from tests.ros_bags import JOINTS, Motion, write_bag, write_bag2

ARM = "two-link"
# values that lengths, counts and offsets in a file may become
_LENGTHS = [0, 1, 2, 7, 255, 1 << 16, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40]


def bags(_: Path) -> list[bytes]:
    """Bags of ROS 1, plain and compressed."""
    return [_made(".bag", packed) for packed in ("", "bz2", "lz4")]


def mcaps(_: Path) -> list[bytes]:
    """MCAP files, plain and with compressed chunks."""
    return [_made(".mcap", packed) for packed in ("", "storage")]


def databases(_: Path) -> list[bytes]:
    """Bags of ROS 2 in SQLite."""
    return [_made(".db3", "")]


def _made(ending: str, packed: str) -> bytes:
    motion = Motion.random(12)
    with TemporaryDirectory() as folder:
        if ending == ".bag":
            return write_bag(Path(folder) / "m.bag", motion, packed).read_bytes()
        return write_bag2(Path(folder) / "m", motion, ending, packed).read_bytes()


def changed(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, or a number of four or eight bytes that may be a length."""
    if rng.random() < 0.5:
        return mutators.any_bytes(data, rng)
    form, size = rng.choice([("<I", 4), ("<Q", 8), ("<H", 2)])
    at, other = rng.randrange(len(data) - size), rng.choice(_LENGTHS)
    old = struct.unpack_from(form, data, at)[0]
    new = rng.choice([other, old + 1, old - 1, old * 2, old ^ 1]) % (1 << 8 * size)
    held = io.BytesIO(data)
    held.seek(at)
    held.write(struct.pack(form, new))
    return held.getvalue()[: rng.choice([None, None, None, rng.randrange(len(data))])]


def words(path: str) -> list[str]:
    return ["mass-matrix", ARM, "--trajectory", path, "--format", "csv"]


def same_as_rosbags(path: str, out: str) -> None:
    """Check that each row is the mass matrix of the positions that rosbags decodes."""
    q = _decoded(Path(path))
    if q is None:
        return
    rows = np.array([[float(x) for x in line.split(",")] for line in out.splitlines()[1:]])
    truth = robolin.mass_matrix(robolin.load(ARM), q, engine="python")
    assert len(rows) == len(q), "there are other rows in the answer than messages in the bag"
    assert rows[:, -4:].tobytes() == truth.reshape(-1, 4).tobytes(), "it is of another motion"


@cache
def _store(ros1: bool) -> Any:
    """The message types of rosbags, which take longer to define than a bag to read."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)


def _decoded(path: Path) -> np.ndarray | None:
    """Return the positions of all messages, decoded by rosbags; None if rosbags fails."""
    from rosbags import rosbag1, rosbag2

    ros1 = path.suffix == ".bag"
    store = _store(ros1)
    decode = store.deserialize_ros1 if ros1 else store.deserialize_cdr
    reader: Any = (rosbag1 if ros1 else rosbag2).Reader(path)
    kind = "sensor_msgs/msg/JointState"
    rows = []
    try:
        with reader:
            ours = [each for each in reader.connections if each.msgtype == kind]
            for _, _, data in reader.messages(ours):
                message: Any = decode(data, kind)
                by_name = dict(zip(message.name, message.position, strict=True))
                rows.append([by_name[joint] for joint in JOINTS])
    except Exception:
        return None
    return np.array(rows)


def bag_subjects(make: Callable[..., Any]) -> dict[str, Any]:
    """The kinds of bags, as subjects of a campaign."""
    try:
        import rosbags.rosbag2  # noqa: F401
    except ImportError:
        return {}
    return {
        "mcap": make("mcap", mcaps, changed, words, same_as_rosbags),
        "bag": make("bag", bags, changed, words, same_as_rosbags),
        "db3": make("db3", databases, changed, words, same_as_rosbags),
    }
