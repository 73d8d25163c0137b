"""Recordings and parts in an object store, simulated by a local server."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robolin.batch.batch_plan import _matches, recordings
from robolin.errors import FileError, RobolinError
from robolin.io import object_stores
from robolin.io.locations import StorePath, content
from robolin.io.object_stores import store_error
from robolin.io.stored import read_result
from tests.batch.sample_recordings import SIZES, write_recordings
from tests.cli.command import robolin

pytest.importorskip("obstore")
COMMAND, OUT = ["inverse", "two-link"], "s3://logs/out"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a store with a bucket 'logs'."""
    moto: Any = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def logs(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of recordings on the disk; the same ones are in a new bucket 'logs'."""
    urllib.request.urlopen(
        urllib.request.Request(f"{server}/moto-api/reset", method="POST", data=b"")
    ).close()
    urllib.request.urlopen(urllib.request.Request(f"{server}/logs", method="PUT")).close()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server,
    }.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "logs"
    write_recordings(folder)
    _as_parquet(folder / "run_2" / "a.csv")
    for path in folder.rglob("*.*"):
        object_stores.put(f"s3://logs/{path.relative_to(folder).as_posix()}", path)
    return folder


def _as_parquet(path: Path) -> None:
    """Let a recording be a Parquet file of several groups of rows."""
    import polars

    polars.read_csv(path).write_parquet(path.with_suffix(".parquet"), row_group_size=16)
    path.unlink()


def _parts() -> dict[str, bytes]:
    return {
        url: content(StorePath(url)) or b"" for url in object_stores.list_objects(f"{OUT}/part-")
    }


def test_parts_in_a_bucket(logs: Path, tmp_path: Path) -> None:
    """Shards fill a bucket, status lists missing parts, and merge gives the same result."""
    ask = [*COMMAND, "--trajectory", "s3://logs/run_*/*", "--trajectory", "s3://logs/c.npz"]
    into = ["-o", OUT, "--part-rows", "100", "--resume"]
    for number, code in ((2, 1), (1, 0)):
        done = robolin(*ask, *into, "--shard", f"{number}/2")
        assert done.code == 0, done.err
        assert robolin("status", OUT, "--shards", "2").code == code
    assert "0 parts written, 4 skipped" in robolin(*ask, *into).err
    assert robolin("merge", OUT, "-o", tmp_path / "merged.npz").code == 0
    assert robolin(*ask, "-o", tmp_path / "plain.npz").code == 0
    assert (tmp_path / "merged.npz").read_bytes() == (tmp_path / "plain.npz").read_bytes()
    here = [word.replace("s3://logs", str(logs)) for word in ask]
    assert robolin(*here, "-o", tmp_path / "here.npz").code == 0
    merged, local = (read_result(tmp_path / f"{name}.npz") for name in ("merged", "here"))
    for name, values in local.arrays.items():
        np.testing.assert_array_equal(merged.arrays[name], values)
    # an object stored in one request has one hash, not that of pieces
    assert all("-" not in object_stores.require_exists(url).etag for url in _parts())
    assert not list(Path(tempfile.gettempdir()).glob(".robolin-*.part/part-*"))


@pytest.mark.slow
def test_damaged_parts_are_computed_again(logs: Path) -> None:
    """A truncated part and one of another plan are computed again with the same bytes."""
    ask = [*COMMAND, "--trajectory", "s3://logs/run_1/", "-o", OUT, "--part-rows"]
    assert robolin(*ask, "50").code == 0
    right = _parts()
    first, second, third = right
    object_stores.put(first, right[first][:-40])
    object_stores.put(second, right[third])
    seen = robolin("status", OUT)
    assert seen.code == 1
    assert "1 done, 1 damaged, 1 of another plan" in seen.out
    again = robolin(*ask, "50", "--resume")
    assert "2 parts written, 1 skipped" in again.err
    assert _parts() == right
    assert "division of the recordings into parts has changed" in robolin(*ask, "40").err


def test_a_recording_that_is_replaced_is_named(logs: Path) -> None:
    """No part mixes two versions of an object."""
    url = "s3://logs/run_1/b.csv"
    ask = [*COMMAND, "--trajectory", "s3://logs/run_1/*", "-o", f"{OUT}/"]
    assert robolin(*ask).code == 0
    version = object_stores.require_exists(url)
    object_stores.put(url, logs / "run_1" / "a.csv")
    assert "'b.csv' was changed" in robolin(*ask, "--resume").err
    with pytest.raises(FileError, match="changed while"):
        object_stores.bytes_between(url, version, 0, 10)
    with pytest.raises(RobolinError, match="changed while"):
        object_stores.require_same_version(url, version)


def test_errors_of_a_store_are_reported(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing objects, buckets and credentials, and timeouts, have a hint each."""
    for words, message in (
        (["--trajectory", "s3://logs/none.csv"], "no such object"),
        (["--trajectory", "s3://none/*.csv"], "no such bucket"),
        (["--trajectory", "s3://logs/none*"], "no recording found"),
        (["--trajectory", "s3://logs/run.mcap"], "copy bags"),
        (["--trajectory", "s3:///a.csv"], "bucket is missing"),
        (["--trajectory", str(logs / "c.npz"), "-o", "s3://none/out/"], "no such bucket"),
        (["--trajectory", "s3://logs/c.npz", "-o", "s3://logs/one.npz"], "not supported as output"),
        (["--trajectory", "s3://logs/run_1/", "-o", "s3://logs/run_1/"], "in the output folder"),
        (["--trajectory", "s3://logs/c.npz", "-o", "hf://datasets/a/b/"], "read-only"),
    ):
        refused = robolin(*COMMAND, *words)
        assert refused.code in (2, 4), refused.err
        assert message in refused.err
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    refused = robolin("status", "s3://logs/out")
    assert "does not respond" in refused.err


def test_messages_of_stores_are_shortened() -> None:
    """Long messages of libraries become a short error with a hint."""
    for text, words in (
        ("PUT http://169.254.169.254/latest/api/token timed out", "credentials are missing"),
        ("403 Forbidden: <Code>InvalidAccessKeyId</Code>", "credentials are invalid"),
        ("403 Forbidden", "access is denied"),
        ("error sending request", "does not respond"),
        ("something else\n\nDebug source: much", "reports: something else"),
    ):
        error = store_error("gs://logs/a.csv", text)
        assert words in error.message
        assert "much" not in str(error)
    assert "GOOGLE_SERVICE_ACCOUNT" in store_error("gs://logs/a.csv", "403 Forbidden").hint


def test_patterns_mean_what_they_mean_on_a_disk(logs: Path) -> None:
    """A pattern finds the same names in a bucket as in a folder."""
    for pattern in ("**/*.csv", "run_?/*", "*/a.*", "run_[2-9]/*", "c*", "**", "run_1/"):
        stored = {
            each.path.removeprefix("s3://logs/") for each in recordings([f"s3://logs/{pattern}"])
        }
        here = {os.path.relpath(each.path, logs) for each in recordings([f"{logs}/{pattern}"])}
        assert stored == here, pattern
    assert not _matches(["logs", ".hidden.csv"], ["logs", "*.csv"])
    both = recordings(["s3://logs/c.npz", str(logs / "c.npz")])
    assert len({each.name for each in both}) == 2


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra for stores, the error names it."""
    monkeypatch.setitem(sys.modules, "obstore", None)
    refused = robolin(*COMMAND, "--trajectory", "s3://logs/a.csv")
    assert refused.code == 2
    assert "pip install obstore" in refused.err


def test_sizes_are_those_of_the_recordings(logs: Path) -> None:
    """Rows of an object are those of the file that was put."""
    shutil.rmtree(logs)
    for name in ("run_1/b.csv", "run_2/a.parquet", "c.npz"):
        answered = robolin(*COMMAND, "--trajectory", f"s3://logs/{name}")
        rows = SIZES.get(name) or SIZES["run_2/a.csv"]
        assert len(answered.rows) == rows + 1
