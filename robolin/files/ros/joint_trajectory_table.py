"""A planned motion as a table: the points of a message of type trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from robolin.errors import RobolinError
from robolin.files.ros.joint_states import LITTLE_ENDIAN_CDR
from robolin.files.ros.topic import Topic
from robolin.files.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    counted_place,
    require_finite,
)
from robolin.quantities import column_name

TIME = "time"
_FIELDS = {"q": "positions", "qd": "velocities", "qdd": "accelerations", "tau": "effort"}


def joint_trajectory_table(
    topic: Topic, joints: Sequence[str], digest: Callable[[], str]
) -> TableFile:
    """The points of the only message, with time from its start in nanoseconds."""
    found = list(islice(topic.messages(), 2))
    if len(found) != 1:
        message = f"the topic '{topic.name}' has {'no' if not found else 'more than one'} motion"
        hint = "record one, or the joint states that follow it"
        raise RobolinError(message, where=topic.file, hint=hint)
    planned = _message(found[0][1], topic)
    named, points = list(planned.joint_names), list(planned.points)
    if not points:
        raise RobolinError("the motion has no points", where=topic.file)
    given = [q for q, field in _FIELDS.items() if len(getattr(points[0], field))]
    names = [TIME, *(column_name(q, joint) for q in given for joint in named)]
    width = len(named)
    for number, point in enumerate(points, 1):
        for quantity in given:
            if len(getattr(point, _FIELDS[quantity])) != width:
                message = f"{_FIELDS[quantity]} of another length than the names of joints"
                raise RobolinError(message, where=f"{topic.file}, point {number}")
    stamps = [p.time_from_start.sec * 10**9 + p.time_from_start.nanosec for p in points]
    time = np.array(stamps, dtype=np.int64)
    columns = [[np.asarray(getattr(p, _FIELDS[q]), float) for p in points] for q in given]
    values = np.column_stack([time.astype(float), *(np.array(each) for each in columns)])

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        for first in range(0, len(time), request.rows):
            rows = slice(first, first + request.rows)
            some = values[rows][:, request.indices]
            place = counted_place(topic.file, first)
            block = TableBlock(some, place, first + len(some), {0: time[rows]})
            if not request.gaps:
                require_finite(block, [names[i] for i in request.indices], topic.file, None)
            yield block

    return TableFile(
        names,
        blocks,
        size=len(time),
        most_rows=lambda: len(time),
        digest=digest,
        whole=lambda i: i == 0,
        notes=(f"rows are the points of the motion in '{topic.name}'",),
        time_unit="ns",
    )


def _message(data: bytes, topic: Topic) -> Any:
    """The message as rosbags has it."""
    from rosbags.typesys import Stores, get_typestore

    if topic.ros1:
        store = get_typestore(Stores.ROS1_NOETIC)
        return store.deserialize_ros1(data, topic.kind)
    if data[:4] != LITTLE_ENDIAN_CDR:
        raise RobolinError("this is not little-endian CDR", where=topic.file)
    return get_typestore(Stores.ROS2_HUMBLE).deserialize_cdr(data, topic.kind)
