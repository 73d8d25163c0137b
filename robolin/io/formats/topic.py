"""A topic of a bag that is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from robolin.errors import RobolinError

# a message with joints has a few hundred bytes
_LARGEST = 1 << 24


@contextmanager
def bag_errors(file: str) -> Iterator[None]:
    """Whatever the library stumbles over in a damaged bag, as our error."""
    try:
        yield
    except (RobolinError, OSError, MemoryError):
        raise
    except Exception as error:
        told = str(error).splitlines() or [type(error).__name__]
        message = f"not a bag, or a damaged one: {told[0][:120]}"
        raise RobolinError(message, where=file, hint="`ros2 bag info` tells more") from error


@dataclass(frozen=True, eq=False)
class Topic:
    """The messages of one topic, in the order of the bag.

    reader: what reads them, while it is open
    """

    name: str
    kind: str
    connections: Sequence[Any]
    file: str
    ros1: bool
    reader: Any

    @property
    def count(self) -> int:
        """How many messages the bag says there are."""
        return sum(int(each.msgcount) for each in self.connections)

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """When each was recorded, in nanoseconds, and its bytes."""
        with bag_errors(self.file):
            for number, (_, stamp, data) in enumerate(self.reader.messages(self.connections), 1):
                if len(data) > _LARGEST:
                    message = f"{len(data)} bytes are no message about joints"
                    raise RobolinError(message, where=f"{self.file}, message {number}")
                yield stamp, bytes(data)

    def batches(self, size: int) -> Iterator[list[tuple[int, bytes]]]:
        """The same, some at a time."""
        messages = self.messages()
        while some := list(islice(messages, size)):
            yield some
