"""Where a result goes and in which form."""

import io
import json

import numpy as np
import pytest

from robolin.cli.flags.output_flags import Output
from robolin.core.result import Array, Result
from robolin.display.terminal.show import write_result
from robolin.errors import RobolinError, UsageError
from robolin.io.stored import read_result
from tests.io.sample_results import sample


class Stream(io.TextIOWrapper):
    """Standard output that is, or is not, a terminal."""

    def __init__(self, terminal=False, encoding="utf-8"):
        super().__init__(io.BytesIO(), encoding=encoding)
        self._terminal = terminal

    def isatty(self):
        return self._terminal

    @property
    def text(self):
        return self.buffer.getvalue().decode(self.encoding, errors="replace")


def written(result, stream=None, *, path=None, fmt=None, color="auto"):
    stream = stream or Stream()
    if path is not None:
        Output(str(path), fmt, 6, color).write(result)
    else:
        write_result(result, path=None, fmt=fmt, precision=6, color=color, stream=stream)
    return stream.text


def test_a_pipe_gets_csv_and_a_terminal_gets_a_table(monkeypatch):
    """Without any option the form follows the stream."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert written(sample()).startswith("shoulder/acceleration,")
    table = written(sample(), Stream(terminal=True))
    assert "qdd [rad/s²]" in table
    assert "\x1b[" in table


def test_an_explicit_format_wins_over_the_stream():
    """--format decides, on a terminal and into a pipe."""
    assert json.loads(written(sample(), Stream(terminal=True), fmt="json"))["joints"]
    assert written(sample(), Stream(terminal=True), fmt="csv").count("\n") == 2
    piped = written(sample(), fmt="table")
    assert "dqdd_dq [1/s²]\n" in piped
    assert "\x1b" not in piped
    assert "…" not in piped


COLORS = [
    ("auto", True, {}, True),
    ("auto", True, {"NO_COLOR": "1"}, False),
    ("auto", True, {"TERM": "dumb"}, False),
    ("auto", False, {}, False),
    ("always", False, {"NO_COLOR": "1"}, True),
    ("never", True, {}, False),
]


@pytest.mark.parametrize("color, terminal, environment, expected", COLORS)
def test_color(monkeypatch, color, terminal, environment, expected):
    """Colour is used on terminals that support it, unless an option or variable overrides it."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    text = written(sample(), Stream(terminal=terminal), fmt="table", color=color)
    assert ("\x1b[" in text) is expected


def test_pipes_are_utf_8_whatever_the_locale():
    """A pipe in a C locale still gets every name and unit."""
    stream = Stream(encoding="ascii")
    written(sample(), stream, fmt="json")
    assert "rad/s²" in stream.buffer.getvalue().decode()


def test_a_poor_terminal_gets_what_it_can_show():
    """A terminal without these characters gets replacements, not an error."""
    assert "qdd [rad/s?]" in written(sample(), Stream(terminal=True, encoding="ascii"))


@pytest.mark.parametrize("name", ["r.csv", "r.json", "r.npz", "r.parquet", "R.NPZ"])
def test_the_extension_picks_the_writer(tmp_path, name):
    """Every extension writes its file and nothing to stdout."""
    assert written(sample(3), path=tmp_path / name) == ""
    assert (tmp_path / name).stat().st_size > 0
    if name.lower().endswith("npz"):
        assert read_result(tmp_path / name).meta["verb"] == "linearize-forward"


def test_format_helps_a_name_without_known_extension(tmp_path):
    """--format sets the format of a name without a known extension."""
    written(sample(), path=tmp_path / "r.txt", fmt="table")
    assert "qdd [rad/s²]" in (tmp_path / "r.txt").read_text()


BAD = [
    ("r.xlsx", None, "unknown file extension '.xlsx'", ".csv, .json, .npz, .parquet"),
    ("result", None, "the file name has no extension", ".csv, .json, .npz, .parquet"),
    (
        "r.csv",
        "json",
        "--format json contradicts the file extension .csv",
        "omit --format; the extension sets the format",
    ),
]


@pytest.mark.parametrize("name, fmt, message, hint", BAD)
def test_unclear_targets_are_usage_errors(tmp_path, name, fmt, message, hint):
    """A target whose format is unknown is rejected before anything is written."""
    with pytest.raises(UsageError, match=message) as caught:
        written(sample(), path=tmp_path / name, fmt=fmt)
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_overflowed_numbers_are_never_written(tmp_path, bad):
    """An overflow is named by array, row and joints, and no file appears."""
    values = np.ones((4, 2, 2))
    values[2, 1, 0] = bad
    array = Array("dqdd_dq", values, (("a", "b"), ("a", "b")), "1/s²")
    with pytest.raises(
        RobolinError, match="the result is not finite because numbers overflow"
    ) as caught:
        written(Result("v", (array,), ("a", "b"), {}, {}, {}), path=tmp_path / "r.npz")
    assert caught.value.where == "dqdd_dq, row 3, b, a"
    assert list(tmp_path.iterdir()) == []


def test_a_stream_without_bytes_underneath_is_fine():
    """A caller's own text stream gets the text."""
    stream = io.StringIO()
    write_result(sample(), path=None, fmt="csv", precision=6, color="auto", stream=stream)
    assert stream.getvalue().startswith("shoulder/acceleration")
