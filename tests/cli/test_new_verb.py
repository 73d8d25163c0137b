"""A new arm can be inspected and used before it is edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import robolin, run_ok


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_new_arm_is_valid():
    """`new` writes an arm without findings."""
    run_ok("new", "my-arm")
    assert robolin("validate", "my-arm.yaml").code == 0
    assert "shoulder/effort" in run_ok("inverse", "my-arm.yaml", "--format", "csv").out


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [("", 2, "not a valid"), ("a/b", 2, "not a valid"), ("1x", 2, "not a"), ("mine", 4, "already")],
)
def test_a_new_arm_replaces_nothing(name, code, message):
    """An invalid name is wrong usage, and an existing file is not changed."""
    Path("mine.yaml").write_text("precious")
    ran = robolin("new", name)
    assert (ran.code, message in ran.err) == (code, True)
    assert Path("mine.yaml").read_text() == "precious"


def test_models_are_shown_and_copied():
    """A bundled file is printed as it is, and copied once."""
    text = run_ok("models", "--show", "two-link").out
    assert text.startswith("# title: planar two-link")
    run_ok("models", "--copy", "two-link")
    assert Path("two-link.yaml").read_text() == text
    assert robolin("models", "--copy", "two-link").code == 4
    ran = robolin("models", "--show", "two-lnk")
    assert (ran.code, "did you mean 'two-link'?" in ran.err) == (2, True)
    assert robolin("models", "--show", "panda", "--schema").code == 2


def test_the_schema_is_json():
    """--schema prints a JSON schema."""
    assert json.loads(run_ok("models", "--schema").out)["title"] == "robolin arm"
