"""robolin record: store a reference result for `check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from robolin.description.robot_source import bundled_path
from robolin.io.stored import read_result
from tests.cli.command import robolin, run_ok


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arms").mkdir()
    (tmp_path / "stored").mkdir()
    run_ok("inverse", "two-link", "-o", "plain.npz")
    return tmp_path


def test_a_reference_is_a_result_with_a_role(folder: Path) -> None:
    """The numbers are those of the verb; role, tolerances and the way to the arm come with them."""
    source = bundled_path("two-link")
    assert source is not None
    Path("arms/arm.yaml").write_bytes(source.read_bytes())
    ran = run_ok(
        "record", "inverse", "arms/arm.yaml", "--q", "1,2", "-o", "stored/a.npz", "--rtol", "1e-9"
    )
    assert (ran.out, ran.err) == ("", "")
    stored = read_result("stored/a.npz")
    run_ok("inverse", "arms/arm.yaml", "--q", "1,2", "-o", "plain.npz")
    assert stored.arrays["tau"].tobytes() == read_result("plain.npz").arrays["tau"].tobytes()
    assert stored.meta["role"] == "reference"
    assert stored.meta["tolerances"] == {"*": {"rtol": 1e-9, "atol": 0.0}}
    assert stored.meta["files"] == {"arm": "../arms/arm.yaml"}
    assert stored.meta["options"] == {"arm": "arm.yaml", "q": "1,2"}
    assert stored.meta["model"]["links"]


def test_a_plain_result_has_no_path(folder: Path) -> None:
    """Without record the file is the same wherever it is written."""
    run_ok("inverse", "two-link", "-o", "stored/plain.npz")
    assert Path("plain.npz").read_bytes() == Path("stored/plain.npz").read_bytes()
    meta = read_result("plain.npz").meta
    assert meta["role"] == "result"
    assert "files" not in meta


def test_recording_twice_gives_the_same_bytes() -> None:
    """A reference depends only on the question and the paths of its files."""
    for _ in range(2):
        run_ok("record", "forward", "two-link", "-o", "a.parquet")
        held = Path("a.parquet").read_bytes()
        run_ok("record", "forward", "two-link", "-o", "a.parquet")
        assert Path("a.parquet").read_bytes() == held


@pytest.mark.parametrize(
    "words, message",
    [
        ((), "robolin record: requires a COMMAND"),
        (
            ("inspect", "two-link"),
            "robolin record: the command 'inspect' has no result to store",
        ),
        (
            ("inverze", "two-link"),
            "robolin record: unknown command 'inverze'\nhint: did you mean 'inverse'?",
        ),
        (("inverse", "two-link"), "robolin record: requires an output file"),
        (
            ("inverse", "two-link", "--wrong", "-o", "a.npz"),
            "robolin inverse: no such option '--wrong'",
        ),
        (("inverse", "two-link", "-o", "a.npz", "--rtol", "-1"), "must be finite and >= 0"),
        (("inverse", "two-link", "--suite", "s.toml"), "--suite: cannot be used with COMMAND"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], message: str) -> None:
    """Requests that cannot be recorded are wrong usage, and nothing is written."""
    ran = robolin("record", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not Path("a.npz").exists()


def test_flags_after_a_verb_belong_to_the_verb() -> None:
    """--rtol after `simulate` sets its tolerance; before it, that of the comparison."""
    question = ("simulate", "two-link", "--duration", "0.01", "--rtol", "1e-8", "--rows", "3")
    ran = run_ok("record", *question, "-o", "a.npz")
    meta = read_result("a.npz").meta
    assert (meta["options"]["rtol"], meta["tolerances"]) == ("1e-8", {})
    assert "the last digits depend on" in ran.err
    assert "for example --rtol 1e-9 --atol 1e-9" in ran.err

    ran = run_ok("record", "--rtol", "1e-3", *question, "-o", "a.npz")
    meta = read_result("a.npz").meta
    assert meta["options"]["rtol"] == "1e-8"
    assert meta["tolerances"] == {"*": {"rtol": 1e-3, "atol": 0.0}}
    assert ran.err == ""
    run_ok("check", "a.npz")


def test_the_extension_decides() -> None:
    """A file that no reader could read back is rejected before anything is computed."""
    ran = robolin("record", "inverse", "two-link", "-o", "a.txt")
    assert ran.code == 2
    assert "use one of .csv, .json, .npz, .parquet" in ran.err
