"""The contract of a joined result: common lines once, others by recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import robolin
from robolin.batch.joined import AnswerPiece, joined_pieces
from robolin.core.result import ResultStream, stream_of_one_part
from robolin.io.stored import read_result
from tests.cli.command import run_ok

NAMES = ("first/a.csv", "second/a.csv", "third/b.csv")


@contextmanager
def opened(contract: dict[str, Any], inputs: dict[str, str]) -> Iterator[ResultStream]:
    """Two rows with this contract and these inputs."""
    result = robolin.answer(
        robolin.load("two-link"), "inverse", robolin.States(q=[[0.1, 0.2], [0.3, 0.4]])
    )
    yield stream_of_one_part(replace(result, contract=contract, inputs=inputs))


def joined_contract(contracts: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """The contract of pieces, each with the recording it belongs to."""
    pieces = [
        AnswerPiece(source, partial(opened, contract, {"a.csv": f"{source}"}))
        for source, contract in contracts
    ]
    stream = joined_pieces(pieces, NAMES, {})
    rows = sum(part.batch or 0 for part in stream.parts)
    return dict(stream.ending(rows).contract)


def test_a_line_is_common_only_if_equal_in_all_recordings() -> None:
    """Equal in all: once.  Different in one, or missing in one: by recording."""
    common, other = {"gravity": "down", "notes": ["odd"]}, {"torque": "given"}
    lines = [
        (0, {**common, **other, "state": "q given"}),
        (1, {**common, "state": "q given"}),
        (2, {**common, **other, "state": "q given, qd zero"}),
    ]
    contract = joined_contract(lines)
    assert (contract["gravity"], contract["notes"]) == ("down", ["odd"])
    assert contract["state"] == dict(zip(NAMES, (each["state"] for _, each in lines), strict=True))
    assert contract["torque"] == {NAMES[0]: "given", NAMES[2]: "given"}
    assert contract["sources"] == dict.fromkeys(NAMES, 2)
    assert "unanswered rows" not in contract


def test_rows_of_several_pieces_are_added_up() -> None:
    """Rows and unanswered rows are counted over all pieces, and prefixes with counts removed."""
    contract = joined_contract(
        [
            (0, {"state": "2 rows of a.csv: q given", "unanswered rows": "1, all NaN"}),
            (0, {"state": "2 rows of a.csv: q given"}),
            (1, {"state": "2 rows of a.csv: q given", "unanswered rows": "2, all NaN"}),
            (2, {"state": "2 rows of b.csv: q given"}),
        ]
    )
    assert contract["state"] == "q given"
    assert contract["unanswered rows"] == "3, all NaN"
    assert contract["sources"] == {NAMES[0]: 4, NAMES[1]: 2, NAMES[2]: 2}


@pytest.mark.parametrize("parts", [False, True], ids=["at once", "merged"])
def test_a_recording_without_velocities_is_named_in_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: bool
) -> None:
    """A table of recordings with and without velocities states which of them lacks velocities."""
    monkeypatch.chdir(tmp_path)
    head, rows = "time,shoulder/position,elbow/position", ["0,0.1,0.2", "1,0.3,0.4"]
    Path("still.csv").write_text("\n".join([head, *rows, ""]))
    moving = [f"{row},1,2" for row in rows]
    Path("moving.csv").write_text(
        "\n".join([f"{head},shoulder/velocity,elbow/velocity", *moving, ""])
    )
    ask = ("inverse", "two-link", "--trajectory", "moving.csv", "--trajectory", "still.csv", "-q")
    if parts:
        run_ok(*ask, "-o", "out", "--part-rows", "1", "--format", "npz")
        run_ok("merge", "out", "-o", "all.npz")
    else:
        run_ok(*ask, "-o", "all.npz")
    contract = read_result(Path("all.npz")).meta["contract"]
    assert contract["state"] == {
        "moving.csv": "q and qd given, qdd zero",
        "still.csv": "q given, qd and qdd zero",
    }
    assert contract["sources"] == {"moving.csv": 2, "still.csv": 2}
