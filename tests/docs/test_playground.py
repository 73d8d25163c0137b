"""The playground has a live page for every bundled robot without closed loops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import robolin
from tools.markdown import DOCS
from tools.playground import motion_states, playground_names, write_playground


def test_every_robot_is_on_the_page() -> None:
    listed = re.findall(r'href="playground/([\w-]+)\.html"', (DOCS / "playground.md").read_text())
    assert sorted({*listed} - {"operators"}) == sorted(playground_names())


def test_the_motions_are_within_the_position_limits() -> None:
    for name in playground_names():
        arm = robolin.load(name)
        q = motion_states(arm).values["q"]
        exceeded = [each.quantity for each in robolin.limits(arm, q).exceeded]
        assert "position" not in exceeded, name


@pytest.mark.slow
def test_the_pages_are_live_and_small(tmp_path: Path) -> None:
    for name in write_playground(tmp_path):
        page = (tmp_path / "playground" / f"{name}.html").read_text("utf-8")
        assert 'id="live"' in page, name
        assert len(page.encode()) < 700_000, name
