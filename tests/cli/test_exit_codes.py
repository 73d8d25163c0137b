"""Every failure becomes one of the documented exit codes."""

from __future__ import annotations

import pytest

from robolin.cli import main
from robolin.errors import FileError, RobolinError, UsageError


class Panic(BaseException):
    """An exception that a native library may raise."""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Panic("assertion failed"), 70),
        (GeneratorExit(), 70),
        (ZeroDivisionError(), 70),
        (RecursionError(), 70),
        (KeyboardInterrupt(), 130),
        (SystemExit(143), 143),
        (SystemExit(), 0),
        (SystemExit("a library gives up"), 70),
        (BrokenPipeError(), 0),
        (MemoryError(), 3),
        (OSError(28, "No space left on device"), 4),
        (ImportError("cannot import name 'x'", name="robolin.cli.main"), 70),
        (ModuleNotFoundError("No module named 'robolin.none'", name="robolin.none"), 70),
        (ModuleNotFoundError("No module named 'robolin'", name="robolin"), 70),
        (ModuleNotFoundError("No module named 'robolinx'", name="robolinx"), 4),
        (ModuleNotFoundError("No module named 'numpy'", name="numpy"), 4),
        (ImportError("libgfortran.so.5: cannot open shared object file"), 4),
        (RobolinError("no"), 3),
        (UsageError("no"), 2),
        (FileError("no"), 4),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_stops_a_command(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No exception gets out, and none that is not ours ends with the code of a difference."""
    monkeypatch.setattr(main, "discard_stdout", lambda: None)

    def action() -> int:
        raise error

    assert main.run_to_exit_code(action) == code
    if code == 70:
        assert "a bug in robolin" in capsys.readouterr().err
