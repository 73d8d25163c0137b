"""Decode many messages of type sensor_msgs/JointState in one pass.

Successive messages usually have equal names and lengths, so every number has the same byte offset.
The layout is parsed once; messages that equal it in all bytes except the numbers are decoded
with NumPy.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask, Numbers
from robolin.core.records import dataclass
from robolin.errors import RobolinError

JOINT_STATE_QUANTITIES = ("q", "qd", "tau")
LITTLE_ENDIAN_CDR = b"\x00\x01\x00\x00"
_SECOND = 10**9
_LONGEST = 1 << 20


@dataclass(frozen=True)
class MessageLayout:
    """Byte offsets in messages of one kind.

    sample:   one of the messages
    joints:   the joint names
    stamp:    offset of the time: seconds and nanoseconds of 32 bits each
    numbers:  offset of each quantity that is present
    constant: byte ranges that are equal in all messages of this kind
    """

    sample: bytes
    joints: tuple[str, ...]
    stamp: int
    numbers: dict[str, int]
    constant: tuple[tuple[int, int], ...]

    @cached_property
    def _same(self) -> Integers:
        return np.concatenate([np.arange(*each) for each in self.constant])

    def fits(self, table: Numbers) -> Mask:
        """Return which of the messages, one per row of bytes, have this layout."""
        sample = np.frombuffer(self.sample, np.uint8)
        mask: Mask = (table[:, self._same] == sample[self._same]).all(axis=1)
        return mask

    def values(self, table: Numbers, quantity: str) -> Floats:
        """One quantity of all joints in every message."""
        begin = self.numbers[quantity]
        part = np.ascontiguousarray(table[:, begin : begin + 8 * len(self.joints)])
        return np.asarray(part.view("<f8"), dtype=np.float64)

    def stamps(self, table: Numbers) -> Integers:
        """The time stamp of every message in nanoseconds."""
        part = np.ascontiguousarray(table[:, self.stamp : self.stamp + 8]).view("<u4")
        seconds = part[:, 0].astype(np.int64)
        stamps: Integers = seconds * _SECOND + part[:, 1]
        return stamps


class _Cursor:
    """Parses a message and records the byte ranges that other messages share."""

    def __init__(self, data: bytes, at: int, origin: int, aligned: bool) -> None:
        self.data, self.at = data, at
        self._origin, self._aligned = origin, aligned
        self.passed: list[tuple[int, int]] = [(0, origin)] if origin else []

    def skip_to(self, size: int) -> None:
        if self._aligned:
            self.at += -(self.at - self._origin) % size

    def count(self) -> int:
        self.skip_to(4)
        (count,) = struct.unpack_from("<I", self.data, self.at)
        self._pass(4)
        if count > _LONGEST:
            raise ValueError(f"a list has {count} entries")
        return int(count)

    def text(self) -> str:
        size = self.count()
        data = self.data[self.at : self.at + size]
        if len(data) != size:
            raise ValueError("a text is longer than the message")
        self._pass(size)
        return data.rstrip(b"\0").decode()

    def numbers(self) -> tuple[int, int]:
        """The length of an array of float64 and the offset of its first number."""
        size = self.count()
        if size:
            self.skip_to(8)
        begin = self.at
        self.at += 8 * size
        if self.at > len(self.data):
            raise ValueError("an array is longer than the message")
        return size, begin

    def _pass(self, size: int) -> None:
        self.passed.append((self.at, self.at + size))
        self.at += size


def layout_of(data: bytes, ros1: bool, where: str) -> MessageLayout:
    """Parse the layout of a message; RobolinError if it is not a JointState."""
    try:
        return _layout(data, ros1)
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        message = f"not a valid JointState message: {error}"
        raise RobolinError(
            message,
            where=where,
            hint="the recording is damaged; record the data or copy the file again",
        ) from error


def _layout(data: bytes, ros1: bool) -> MessageLayout:
    if ros1:
        # sequence number, then the time stamp
        stamp, cursor = 4, _Cursor(data, 12, 0, aligned=False)
    elif data[:4] != LITTLE_ENDIAN_CDR:
        raise ValueError(f"the encoding must be little-endian CDR, got {data[:4].hex()}")
    else:
        stamp, cursor = 4, _Cursor(data, 12, 4, aligned=True)
    if len(data) < 12:
        raise ValueError("the message is too short")
    cursor.text()
    joints = tuple(cursor.text() for _ in range(cursor.count()))
    if len(set(joints)) != len(joints):
        raise ValueError("a joint name occurs twice")
    numbers: dict[str, int] = {}
    for quantity in JOINT_STATE_QUANTITIES:
        size, begin = cursor.numbers()
        if size not in (0, len(joints)):
            raise ValueError(f"an array has {size} numbers for {len(joints)} joints")
        if size:
            numbers[quantity] = begin
    return MessageLayout(data, joints, stamp, numbers, tuple(cursor.passed))


def as_table(messages: Sequence[bytes]) -> Numbers:
    """Messages of equal length, one per row of bytes."""
    table: Numbers = np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1)
    return table
