"""A stored result that is open: what it says of itself, and its numbers on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from robolin.core.results.result import Footer, Result, ResultStream
from robolin.io.provenance_reader import Blocks, Entry, Meta, entries_of, verified

# as many rows as a verb computes at once
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A stored result whose provenance is as it was written.

    unverified: its arrays, so many rows at a time; all at once where there is one state
    """

    path: str
    meta: Meta
    unverified: Callable[[int], Blocks]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The arrays in the order they are stored."""
        return entries_of(self.meta)

    def blocks(self, rows: int = BLOCK_ROWS) -> Blocks:
        """Its arrays some rows at a time; damage is an error after the last of them."""
        return verified(self.unverified(rows), self.meta, self.path)

    def result_stream(self) -> ResultStream:
        """The result again, as the verb that computed it handed it out."""
        ending = Footer(self.meta["contract"], self.meta["inputs"], self.meta["model"])
        return ResultStream(self._parts(), lambda _: ending, lambda: self.meta["rows"])

    def _parts(self) -> Iterator[Result]:
        for block in self.blocks():
            yield Result(
                verb=self.meta["verb"],
                arrays=tuple(e.array(block[e.name]) for e in self.entries if e.name != "time"),
                joints=tuple(self.meta["joints"]),
                contract={},
                options=self.meta["options"],
                inputs={},
                time=block.get("time"),
            )
