"""A planned motion as a table: the points of a message of type trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Integers
from robolin.core.quantity_table import column_name
from robolin.errors import RobolinError
from robolin.io.formats.joint_states import LITTLE_ENDIAN_CDR
from robolin.io.formats.topic import Topic
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    counted_place,
    require_finite_cells,
)

TIME = "time"
_FIELDS = {"q": "positions", "qd": "velocities", "qdd": "accelerations", "tau": "effort"}


@dataclass(frozen=True, eq=False)
class _Points:
    """The points of a motion: names of columns, times in nanoseconds, and all numbers."""

    names: list[str]
    time: Integers
    values: Floats
    file: str

    def blocks(self, request: ReadRequest) -> Iterator[TableBlock]:
        """Some points at a time."""
        for first in range(0, len(self.time), request.rows):
            rows = slice(first, first + request.rows)
            some = self.values[rows][:, request.indices]
            place = counted_place(self.file, first)
            block = TableBlock(some, place, first + len(some), {0: self.time[rows]})
            if not request.gaps:
                require_finite_cells(block, self.names, request, self.file, len(self.time))
            yield block


def joint_trajectory_table(
    topic: Topic, joints: Sequence[str], digest: Callable[[], str]
) -> TableFile:
    """The points of the only message, with time from its start in nanoseconds."""
    found = list(islice(topic.messages(), 2))
    if len(found) != 1:
        message = f"the topic '{topic.name}' has {'no' if not found else 'more than one'} motion"
        hint = "record one, or the joint states that follow it"
        raise RobolinError(message, where=topic.file, hint=hint)
    points = _points(_message(found[0][1], topic), topic.file)
    return TableFile(
        points.names,
        points.blocks,
        size=len(points.time),
        most_rows=lambda: len(points.time),
        digest=digest,
        whole=lambda i: i == 0,
        notes=(f"rows are the points of the motion in '{topic.name}'",),
        time_unit="ns",
    )


def _points(planned: Any, file: str) -> _Points:
    """The points of a message, each of which has all that the first one has."""
    joints, points = list(planned.joint_names), list(planned.points)
    if not points:
        raise RobolinError("the motion has no points", where=file)
    given = [q for q, field in _FIELDS.items() if len(getattr(points[0], field))]
    for number, point in enumerate(points, 1):
        for quantity in given:
            if len(getattr(point, _FIELDS[quantity])) != len(joints):
                message = f"{_FIELDS[quantity]} of another length than the names of joints"
                raise RobolinError(message, where=f"{file}, point {number}")
    starts = [point.time_from_start for point in points]
    time = np.array([each.sec * 10**9 + each.nanosec for each in starts], dtype=np.int64)
    columns = [np.array([getattr(p, _FIELDS[q]) for p in points], dtype=float) for q in given]
    names = [TIME, *(column_name(q, joint) for q in given for joint in joints)]
    return _Points(names, time, np.column_stack([time.astype(float), *columns]), file)


def _message(data: bytes, topic: Topic) -> Any:
    """The message as rosbags has it."""
    from rosbags.typesys import Stores, get_typestore

    if topic.ros1:
        store = get_typestore(Stores.ROS1_NOETIC)
        return store.deserialize_ros1(data, topic.kind)
    if data[:4] != LITTLE_ENDIAN_CDR:
        raise RobolinError("this is not little-endian CDR", where=topic.file)
    return get_typestore(Stores.ROS2_HUMBLE).deserialize_cdr(data, topic.kind)
