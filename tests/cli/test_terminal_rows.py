"""Text plots, summaries and margins on a terminal use every row of a result."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import robolin
from robolin.cli.main import main
from robolin.queries.verbs import VERBS
from tests.cli.command import run_ok

pytestmark = pytest.mark.skipif(
    not hasattr(os, "openpty"), reason="this system has no pseudo-terminals"
)

WIDTH = "100"
# written after the output of a command
END = b"\f"
# a peak between two of the ten rows that a table shows
PEAK_ROW, ROWS = 35, 50
REDUCED = {
    "simulate": ("two-link", "--q", "1,-0.5", "--duration", "0.5"),
    "response": ("two-link", "--duration", "1", "--rows", "150"),
    "sensitivity": ("two-link", "--trajectory", "MOTION", "--parameter", "lower/mass=0.1"),
    "jacobian": ("two-link", "--trajectory", "MOTION", "--frame", "tip"),
    "ik": ("two-link", "--goal", "tip=1,0.5,0"),
    "optimize": ("two-link", "--goal", "0.3,0.3", "--duration", "0.5"),
    "excite": (
        *("two-link", "--max-velocity", "2,2", "--max-acceleration", "5,5"),
        *("--duration", "2", "--iterations", "5"),
    ),
    "retime": (
        *("two-link", "--trajectory", "MOTION"),
        *("--max-velocity", "2,2", "--max-acceleration", "5,5"),
    ),
    "sweep": (
        "inverse",
        "two-link",
        "--payload",
        "lower:0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,2",
    ),
}
BY_TRAJECTORY = (
    *("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward"),
    *("diagonalize", "momentum", "regressor", "state-space", "poles", "lqr"),
)


def on_terminal(*args: str) -> str:
    """The output of a command on a pseudo-terminal."""
    ours, theirs = os.openpty()
    written = bytearray()

    def read() -> None:
        # Linux may lose what is still unread when a pseudo-terminal is closed: 1 run in 3 000
        while not written.endswith(END):
            written.extend(os.read(ours, 65536))

    reader = threading.Thread(target=read)
    reader.start()
    settings = {"COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb", "PAGER": ""}
    with (
        os.fdopen(theirs, "w", encoding="utf-8") as terminal,
        patch.object(sys, "stdout", terminal),
        patch.dict(os.environ, settings),
    ):
        assert terminal.isatty()
        try:
            code = main(list(args))
        finally:
            terminal.write(END.decode())
            terminal.flush()
            reader.join()
    os.close(ours)
    assert code in (0, 1)
    return written.removesuffix(END).decode().replace("\r\n", "\n")


def in_pipe(*args: str) -> str:
    with patch.dict(os.environ, {"COLUMNS": WIDTH}):
        return run_ok(*args).out


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trajectory whose only large values are in one row."""
    path = tmp_path_factory.mktemp("motion") / "peak.csv"
    values = np.full((ROWS, 6), 0.1)
    values[PEAK_ROW] = 3.0
    names = [f"{joint}/{word}" for word in _WORDS for joint in ("shoulder", "elbow")]
    rows = np.column_stack([0.01 * np.arange(ROWS), values])
    np.savetxt(path, rows, delimiter=",", header=",".join(["time", *names]), comments="")
    return str(path)


_WORDS = ("position", "velocity", "effort")


def test_every_verb_with_rows_is_here() -> None:
    """A new verb with several rows belongs to one of the two lists."""
    verbs = {name for name, verb in VERBS.items() if verb.answers}
    assert verbs <= {*REDUCED, *BY_TRAJECTORY}


@pytest.mark.parametrize("form", [("--plot",), ("--summary", "--format", "json")], ids="".join)
@pytest.mark.parametrize("verb", [*REDUCED, *BY_TRAJECTORY])
def test_terminals_reduce_all_rows(verb: str, form: tuple[str, ...], motion: str) -> None:
    """A quick look and a summary have the same numbers on a terminal as in a pipe."""
    args = REDUCED.get(verb, ("two-link", "--trajectory", motion))
    args = (verb, *(motion if arg == "MOTION" else arg for arg in args), *form)
    shown = on_terminal(*args)
    assert shown
    assert shown == in_pipe(*args)


def test_margins_of_a_plot_are_those_of_all_rows() -> None:
    """The extremes and margins in a quick look of `simulate` are those of every stored row."""
    args = ("simulate", "panda", "--qd", "1,0,0,0,0,0,0", "--q", "0,0,0,-1.5,0,1.5,0")
    args += ("--control", "rate", "--gain", "3", "--duration", "0.4")
    rows = np.array(run_ok(*args).numbers)
    header = run_ok(*args).rows[0]
    column = rows[:, header.index("panda_joint4/effort")]
    shown = on_terminal(*args, "--plot")
    assert f"{column.min():.4g}" in shown
    assert f"{column.max():.4g}" in shown


def test_margins_of_limits_are_those_of_all_rows(motion: str) -> None:
    """`inverse --limits` on a terminal finds the one row that is nearest to a limit."""
    ur5 = Path(motion).with_name("ur5.csv")
    positions = np.zeros((ROWS, 6))
    positions[PEAK_ROW, 2] = 3.0
    arm_rows = np.column_stack([0.01 * np.arange(ROWS), positions])
    names = [f"{joint}/position" for joint in robolin.load("ur5").joint_names]
    np.savetxt(ur5, arm_rows, delimiter=",", header=",".join(["time", *names]), comments="")
    shown = on_terminal("inverse", "ur5", "--trajectory", str(ur5), "--limits")
    assert f" in row {PEAK_ROW + 1}, " in shown
