"""The recipe for a file format in docs/dev/extending.md: one module and one entry in the table."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from robolin.core.result import ResultStream
from robolin.core.summary import table_columns
from robolin.io.atomic import atomic_write
from robolin.io.format_table import FORMATS, Format, extensions, trajectory_formats
from robolin.io.provenance import Digests, corrupt_file_error, open_bytes, require_intact
from robolin.io.stored import StoredFile, read_result
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    TableSource,
    digest_of,
    row_location,
)
from robolin.io.trajectories.read import read_trajectory
from tests.cli.command import robolin, run_ok

# --- robolin/io/formats/fmt.py


def write_fmt(result: ResultStream, path: str | Path) -> None:
    """All columns, all arrays and the provenance, pickled."""
    digests = Digests()
    parts = list(digests.passing(result.parts))
    names = [name for columns in table_columns(parts[0]) for name in columns.names]
    rows = [np.concatenate([c.values for c in table_columns(part)], axis=1) for part in parts]
    stored = [dict(part.stored()) for part in parts]
    if digests.rows is None:
        arrays = stored[0]
    else:
        arrays = {name: np.concatenate([part[name] for part in stored]) for name in stored[0]}
    content = (names, np.concatenate(rows), arrays, digests.meta(result))
    with atomic_write(path) as stream:
        pickle.dump(content, stream)


@contextmanager
def open_fmt(path: Path) -> Iterator[StoredFile]:
    """The arrays and their provenance."""
    with open_bytes(path) as stream:
        try:
            _, _, arrays, meta = pickle.load(stream)
        except pickle.UnpicklingError as error:
            raise corrupt_file_error(str(path), "not pickled") from error
    yield StoredFile(str(path), require_intact(meta, str(path)), lambda _: iter([arrays]))


def fmt_table(source: TableSource) -> TableFile:
    """The columns."""
    names, values, _, _ = pickle.load(source.stream)

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        chosen = values[:, list(request.indices)]
        yield TableBlock(chosen, row_location(source.file, 0), len(values))

    size = len(values)
    digest = lambda: digest_of(source.stream)  # noqa: E731
    return TableFile(names, blocks, size, lambda: size, digest, lambda _: False)


# --- robolin/io/format_table.py


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = ModuleType("throw_away_format")
    for function in (write_fmt, open_fmt, fmt_table):
        setattr(module, function.__name__, function)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = Format(
        writer="throw_away_format:write_fmt",
        result_opener="throw_away_format:open_fmt",
        table_opener="throw_away_format:fmt_table",
    )
    monkeypatch.setitem(FORMATS, "fmt", entry)
    monkeypatch.chdir(tmp_path)


def test_a_verb_writes_it_and_it_is_read_back() -> None:
    """-o x.fmt writes the numbers of every other format, and read_result returns them."""
    run_ok("inverse", "two-link", "--q", "0.3,0.2", "-o", "x.fmt")
    run_ok("inverse", "two-link", "--q", "0.3,0.2", "-o", "x.npz")
    new, old = read_result("x.fmt"), read_result("x.npz")
    assert new.meta == old.meta
    assert new.arrays["tau"].tobytes() == old.arrays["tau"].tobytes()


def test_it_is_read_as_a_trajectory() -> None:
    """A .fmt trajectory of simulate gives the same results as the CSV."""
    for form in ("fmt", "csv"):
        motion = ("--q", "1,0", "--duration", "0.02", "-o", f"motion.{form}")
        run_ok("simulate", "two-link", *motion)
        arguments = ("--trajectory", f"motion.{form}", "-o", f"tau-{form}.npz")
        run_ok("inverse", "two-link", *arguments)
    tau = [read_result(f"tau-{form}.npz").arrays["tau"].tobytes() for form in ("fmt", "csv")]
    assert tau[0] == tau[1]
    assert read_trajectory("motion.fmt", ("shoulder", "elbow"), ("q",)).rows > 2


def test_it_is_recorded_and_checked() -> None:
    """check recomputes the result, finds it the same, and detects damage."""
    run_ok("record", "inverse", "two-link", "--q", "0.3,0.2", "-o", "x.fmt")
    run_ok("check", "x.fmt")
    names, values, arrays, meta = pickle.loads(Path("x.fmt").read_bytes())
    arrays["tau"] = np.nextafter(arrays["tau"], 1)
    Path("x.fmt").write_bytes(pickle.dumps((names, values, arrays, meta)))
    assert robolin("check", "x.fmt").code == 3


def test_messages_know_it() -> None:
    """The error for an unknown extension lists the new one too."""
    refused = robolin("inverse", "two-link", "-o", "x.xlsx")
    assert refused.code == 2
    assert extensions(FORMATS, ", ") in refused.err
    assert ".fmt" in extensions(trajectory_formats())
