"""What a terminal of any width shows: whole numbers, and no line that is too long."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import pytest

from robolin.arm import Arm
from robolin.cli.main import main
from tests.robots import random_arm

WIDTHS = (60, 80, 120, 200)
JOINTS = (2, 7, pytest.param(13, marks=pytest.mark.slow))
VERBS = (
    ("inspect",),
    ("inverse",),
    ("inverse", "--limits"),
    ("inverse", "--q", "joint0=1e-7,joint1=1234.5"),
    ("forward",),
    ("mass-matrix",),
    ("mass-matrix", "--derivative"),
    ("linearize-inverse",),
    ("linearize-forward",),
    ("jacobian", "--frame", "tool", "--operational-space"),
    ("diagonalize",),
    ("regressor",),
    ("simulate", "--duration", "0.002", "--every", "1"),
    ("count", "inverse"),
    ("validate",),
)
NUMBER = re.compile(r"-?\d+\.\d+(e[+-]\d+)?")


class Terminal(TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def seen(width: int, *args: str) -> str:
    """What a terminal of this width shows of a command."""
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
    """Every number with a point that stands between blanks."""
    words = (word.strip(",;():") for word in text.split())
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


@pytest.fixture(scope="module", params=JOINTS)
def robot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arms") / f"arm{request.param}.urdf"
    path.write_text(urdf_of(random_arm(request.param, request.param, prismatic=False)))
    return path


@pytest.mark.parametrize("verb", VERBS, ids="-".join)
def test_no_number_is_cut_and_no_line_too_long(robot: Path, verb: tuple[str, ...]) -> None:
    """Whatever the width, a verb shows the same numbers, and nothing goes beyond it."""
    args = (*verb, str(robot))
    whole = decimals(seen(100_000, *args))
    assert whole or verb[0] in ("count", "validate")
    # one width is enough for what fills thousands of lines
    for width in WIDTHS if whole.total() < 2_000 else WIDTHS[1:2]:
        shown = seen(width, *args)
        assert max(map(len, shown.splitlines())) <= width
        # times stand beside every block of columns
        assert set(decimals(shown)) == set(whole)
        assert decimals(shown) >= whole
