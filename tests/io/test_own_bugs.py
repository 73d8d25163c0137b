"""An error in our own code is reported as a bug, not as a damaged file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from robolin.io import provenance
from robolin.io.format_table import FORMATS
from robolin.io.formats import npz_reader, parquet_reader
from tests.cli.command import robolin as command

BUGS = (AttributeError, TypeError, KeyError, IndexError)


def _broken(*_: Any, **__: Any) -> Any:
    raise _broken.error("planted")  # type: ignore[attr-defined]


@pytest.mark.parametrize("error", BUGS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_bug_while_a_result_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, error: type[Exception]
) -> None:
    """Every format lets the error of its own code pass: exit code 70."""
    path = tmp_path / f"r.{form}"
    assert command("forward", "two-link", "-o", path).code == 0
    assert command("check", path).code == 0
    monkeypatch.setattr(_broken, "error", error, raising=False)
    monkeypatch.setattr(provenance, "stored_values", _broken)
    ran = command("check", path)
    assert ran.code == 70
    assert f"this is a bug in robolin: {error.__name__}" in ran.err


@pytest.mark.parametrize("error", BUGS)
@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_a_bug_while_a_trajectory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, error: type[Exception]
) -> None:
    """The readers of binary formats let the error of their own code pass."""
    path, q = tmp_path / f"m.{form}", np.zeros((4, 2))
    if form == "npz":
        np.savez(path, q=q)
    else:
        polars.DataFrame(q, schema=["shoulder/position", "elbow/position"]).write_parquet(path)
    line = ("mass-matrix", "two-link", "--format", "csv", "--trajectory", path)
    assert command(*line).code == 0
    monkeypatch.setattr(_broken, "error", error, raising=False)
    reader = {"npz": npz_reader, "parquet": parquet_reader}[form]
    monkeypatch.setattr(reader, "row_location", _broken)
    ran = command(*line)
    assert ran.code == 70
    assert f"this is a bug in robolin: {error.__name__}" in ran.err
