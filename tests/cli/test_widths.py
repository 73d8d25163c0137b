"""Output for terminals of any width: complete numbers, and no line that is too long."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from rich.cells import cell_len

import robolin
from robolin.cli.main import main
from robolin.cli.report import ReportSection, render_report
from robolin.core.arm import Arm
from robolin.core.result import Array, Result
from robolin.display.terminal.table import render_table
from robolin.queries.verbs import VERBS
from tests.robots import random_arm

WIDTHS = (60, 80, 120, 200)
# numbers of joints, and prefixes of their names
WIDE = ((29, "left_shoulder_"), (43, ""))
# commands with arrays: tables for many joints are those of two joints, widened
WITH_ARRAYS = (
    ("inverse",),
    ("inverse", "--q", "joint0=1e-7,joint1=1234.5"),
    ("forward", "--links"),
    ("mass-matrix", "--inverse", "--factor", "--coriolis"),
    ("mass-matrix", "--derivative"),
    ("linearize-inverse",),
    ("linearize-forward",),
    ("jacobian", "--frame", "tool", "--operational-space"),
    ("momentum",),
    ("optimize", "--goal", "0.1,0.1", "--duration", "0.5", "--dt", "0.1", "--ignore-limits"),
    ("ik", "--goal", "TOOL", "--ignore-limits"),
    ("diagonalize",),
    ("regressor",),
    ("excite", "--max-velocity", "2,3", "--max-acceleration", "5,9", "--iterations", "1"),
    ("retime", "--trajectory", "PATH", "--max-velocity", "2,3", "--max-acceleration", "5"),
    ("sensitivity", "--trajectory", "MOTION", "--matrices"),
    ("state-space",),
    ("poles",),
    ("lqr",),
    ("response", "--frequencies", "0.1,1,10"),
    ("response", "--duration", "0.1", "--rows", "3"),
    ("simulate", "--duration", "0.002", "--every", "1"),
    ("sweep", "inverse", "--payload", "link1:0.5,1.25,2.125"),
    ("sweep", "mass-matrix", "--payload", "link1:0.5,1.25,2.125"),
)
# commands with reports
REPORTED = (
    ("inspect",),
    ("inverse", "--limits"),
    ("validate",),
    ("count", "inverse"),
    ("diff", "OTHER"),
)
SLOWER = (("verify", "--samples", "1", "-v"), ("models",))
# commands that write files or text without columns
NO_TABLES = {
    *("new", "generate", "completion", "record", "check", "bench"),
    *("identify", "plot", "report", "batch", "status", "merge", "plan", "help"),
}
NUMBER = re.compile(r"-?\d+\.\d+(e[+-]\d+)?")


class Terminal(TextIOWrapper):
    """A stream that reports to be a terminal."""

    def isatty(self) -> bool:
        return True


Drawing = Callable[[int], str]


def drawing(*args: str) -> Drawing:
    """Run a command once; return a function that renders its output for a width."""
    drawn: list[Drawing] = []

    def table(
        result: Result,
        _width: int | None,
        color: bool,
        precision: int,
        rows: int | None,
        **_: object,
    ) -> str:
        drawn.append(lambda width: render_table(result, width, color, precision, rows))
        return ""

    def report(parts: Sequence[ReportSection], _width: int, color: bool) -> str:
        drawn.append(lambda width: render_report(parts, width, color))
        return ""

    with (
        patch("robolin.display.terminal.table.render_table", table),
        patch("robolin.cli.report.render_report", report),
    ):
        terminal_output(80, *args)
    assert drawn
    return lambda width: "".join(each(width) for each in drawn)


def terminal_output(width: int, *args: str) -> str:
    """Output of a command on a terminal of this width."""
    out, err = Terminal(BytesIO(), encoding="utf-8"), Terminal(BytesIO(), encoding="utf-8")
    with (
        patch.multiple(sys, stdout=out, stderr=err),
        patch.dict(os.environ, {"COLUMNS": str(width), "NO_COLOR": "1"}),
    ):
        code = main(list(args))
    out.flush()
    err.flush()
    assert code in (0, 1), err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    return out.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]


def decimals(text: str) -> Counter[str]:
    """Every number with a decimal point between blanks; 1.2e-7 and 1.2e-07 are equal."""
    words = (re.sub(r"(e[-+])0(?=\d)", r"\1", word.strip(",;():")) for word in text.split())
    return Counter(word for word in words if NUMBER.fullmatch(word))


def urdf_of(arm: Arm) -> str:
    """A serial arm as a file, with limits on every joint."""
    parts = ['<robot name="arm"><link name="root"/>']
    for i, link in enumerate(arm.links):
        xyz = " ".join(map(repr, link.joint.pose.translation))
        axis = " ".join(map(repr, link.joint.axis))
        parent = f"link{i - 1}" if i else "root"
        parts.append(
            f'<link name="link{i}"><inertial><mass value="{link.inertia.mass!r}"/>'
            f'<origin xyz="0.1 {0.0123 * i:.4f} 0"/><inertia ixx="0.2" iyy="0.3" izz="0.25" '
            f'ixy="0" ixz="0.01" iyz="0"/></inertial></link>'
            f'<joint name="joint{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{i}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
            f'<limit lower="-2.8973" upper="2.8973" velocity="2.175" effort="87.125"/></joint>'
        )
    parts.append(
        f'<link name="tool"/><joint name="mount" type="fixed"><parent link="link{i}"/>'
        '<child link="tool"/></joint></robot>'
    )
    return "".join(parts)


def arm_file(folder: Path, n: int) -> Path:
    """The file of an arm with n joints."""
    path = folder / f"arm{n}.urdf"
    if not path.exists():
        path.write_text(urdf_of(random_arm(n, n, prismatic=False)))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A motion of two joints, and an arm that differs from the others; they go by short names."""
    path = tmp_path_factory.mktemp("arms")
    columns = [f"joint{i}/{word}" for i in range(2) for word in ("position", "velocity", "effort")]
    rows = "".join(f"{0.01 * i},{','.join(['0.1'] * 6)}\n" for i in range(3))
    (path / "motion.csv").write_text(f"time,{','.join(columns)}\n{rows}")
    moving = "".join(f"{0.1 * i},{0.2 * i}\n" for i in range(4))
    (path / "path.csv").write_text(f"joint0/position,joint1/position\n{moving}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        yield path


def filled(verb: tuple[str, ...], robot: Path, folder: Path) -> tuple[str, ...]:
    """The command line of a verb."""
    other = folder / f"other-{robot.name}"
    if "OTHER" in verb and not other.exists():
        other.write_text(robot.read_text().replace("87.125", "91.0625"))
    names = {"MOTION": "motion.csv", "PATH": "path.csv", "OTHER": other.name}
    if "TOOL" in verb:
        # a goal that the arm reaches
        reached = robolin.jacobian(robolin.load(robot), [0.5, -0.75], frame="tool").position
        names["TOOL"] = f"tool={','.join(map(repr, reached.tolist()))}"
    return (*(names.get(word, word) for word in verb), robot.name)


def require_complete(draw: Drawing, quiet: bool = False) -> None:
    """Require the same numbers for every width, and no line beyond it."""
    complete = decimals(draw(100_000))
    assert complete or quiet
    # two widths are enough for thousands of lines
    for width in WIDTHS if complete.total() < 1_500 else WIDTHS[:2]:
        shown = draw(width)
        # letters with combining marks take one column
        assert max(map(cell_len, shown.splitlines())) <= width
        # every block of columns repeats the times
        assert set(decimals(shown)) == set(complete)
        assert decimals(shown) >= complete


def widened(result: Result, n: int, names: str) -> Result:
    """A result whose axes have length n and long names, as for an arm with n joints."""
    rng = np.random.default_rng(n)

    def longer(array: Array) -> Array:
        labels = tuple(
            tuple(f"{names}{along[i % len(along)]}_{i}" for i in range(n))
            for along in array.labels[:2]
        )
        batch = () if array.batch is None else (array.batch,)
        shape = (*batch, *map(len, labels))
        return replace(
            array, values=rng.standard_normal(shape), labels=labels, axes=array.axes[: len(labels)]
        )

    # one array of each kind: the others are drawn in the same way
    kinds = {(array.rank, array.values.dtype): array for array in result.arrays}
    return replace(result, arrays=tuple(map(longer, kinds.values())))


@pytest.mark.parametrize("verb", WITH_ARRAYS, ids="-".join)
def test_no_number_is_cut_and_no_line_too_long(folder: Path, verb: tuple[str, ...]) -> None:
    """For every width, a verb shows the same numbers of an arm, and no line exceeds it."""
    require_complete(drawing(*filled(verb, arm_file(folder, 2), folder)))


@pytest.mark.parametrize("verb", WITH_ARRAYS, ids="-".join)
def test_wide_arms_fit_too(folder: Path, verb: tuple[str, ...]) -> None:
    """The tables of a verb fit however many joints there are and however long their names."""
    kept: list[Result] = []

    def keep(result: Result, *_: object, **_more: object) -> str:
        kept.append(result)
        return ""

    with patch("robolin.display.terminal.table.render_table", keep):
        terminal_output(80, *filled(verb, arm_file(folder, 2), folder))
    # verbs that give arrays of the same kinds take turns
    wide = widened(kept[0], *WIDE[WITH_ARRAYS.index(verb) % 2])
    require_complete(partial(render_table, wide, color=False))


@pytest.mark.parametrize("n", [2, 7, 43])
@pytest.mark.parametrize("verb", REPORTED, ids="-".join)
def test_reports_fit(folder: Path, verb: tuple[str, ...], n: int) -> None:
    """Reports of arms of any size show whole numbers on a terminal of any width."""
    quiet = verb[0] in ("count", "validate")
    require_complete(drawing(*filled(verb, arm_file(folder, n), folder)), quiet)


@pytest.mark.slow
@pytest.mark.parametrize("verb", SLOWER, ids="-".join)
def test_long_reports_fit(folder: Path, verb: tuple[str, ...]) -> None:
    """Reports of long lines are wrapped between words."""
    arms = (arm_file(folder, 2).name,) if verb[0] == "verify" else ()
    require_complete(drawing(*verb, *arms), quiet=verb[0] == "models")


def test_the_width_is_that_of_the_terminal(folder: Path) -> None:
    """Tables and reports use the width of the terminal."""
    for verb in (("mass-matrix", "--all"), ("inspect", "--all")):
        args = filled(verb, arm_file(folder, 7), folder)
        for width in WIDTHS:
            assert terminal_output(width, *args) == drawing(*args)(width)


def test_every_verb_is_covered() -> None:
    """Every verb is in one of the lists above."""
    assert {verb[0] for verb in (*WITH_ARRAYS, *REPORTED, *SLOWER)} | NO_TABLES == {*VERBS}
