"""An interrupted write of a CSV file and its provenance leaves the old pair, the new or neither."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from robolin.core.result import stream_of_one_part
from robolin.errors import FileError, RobolinError
from robolin.io.atomic import atomic_write_all
from robolin.io.formats.csv_writer import write_csv
from robolin.io.stored import read_result
from tests.io.test_stored import result

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")

# functions that change the folder, or sync it
STEPS = ("open", "fsync", "chmod", "replace", "unlink")
OLD, NEW = 1, 2
# a new companion of an old table
REFUSED = -1


def _write(path: Path, seed: int) -> None:
    # a single state and several rows: the pairs differ in columns, rows or numbers
    write_csv(stream_of_one_part(result(None if seed % 3 else 4, seed)), path)


def _seed(path: Path) -> int | None:
    """The seed of the pair, None without a file, REFUSED for files of two pairs."""
    if not path.exists():
        return None
    try:
        return int(read_result(path).meta["options"]["q"].split(",")[0])
    except RobolinError as error:
        return REFUSED if "belongs to another CSV" in error.message else -2


@contextmanager
def _each_step(act: Callable[[int, bool], None]) -> Iterator[None]:
    """Something happens before and after every step, counted from 1."""
    count = 0

    def watched(real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        here = count
        act(here, True)
        try:
            return real(*args, **more)
        finally:
            act(here, False)

    with patch.multiple(os, **{name: partial(watched, getattr(os, name)) for name in STEPS}):
        yield


def _killed(path: Path, seed: int, at: int, before: bool) -> bool:
    """Kill a process at one step of its write; return whether it reached that step."""
    child = os.fork()
    if child == 0:
        try:
            with _each_step(lambda k, b: (k, b) == (at, before) and _die()):
                _write(path, seed)
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_points() -> Iterator[tuple[int, bool]]:
    for at in range(1, 40):
        for before in (True, False):
            yield at, before


@pytest.mark.slow
@pytest.mark.parametrize("there", [pytest.param(None, marks=pytest.mark.slow), OLD])
def test_a_process_killed_at_every_step(tmp_path: Path, there: int | None) -> None:
    """The pair is the old, the new or refused, and the next write leaves nothing else."""
    path, seeds = tmp_path / "r.csv", set()
    for at, before in _kill_points():
        for name in tmp_path.iterdir():
            name.unlink()
        if there is not None:
            _write(path, there)
        if not _killed(path, NEW, at, before):
            break
        seeds.add(_seed(path))
        assert seeds <= {there, NEW, REFUSED}
        _write(path, 3)
        assert _seed(path) == 3
        assert sorted(os.listdir(tmp_path)) == ["r.csv", "r.csv.meta.json"]
    assert seeds == ({there, NEW} if there is None else {there, NEW, REFUSED})
    # two temporary files, two fsyncs, the permissions of an old pair, a lock, two renames, and
    # the removal of two temporary files
    assert at > (9 if there is None else 11), "a step was not seen"


@pytest.mark.slow
def test_one_killed_process_after_the_other(tmp_path: Path) -> None:
    """A process killed while it recovers a killed write loses no data.

    After each possible state left by the first kill, every fifth step of the second write is
    tried.
    """
    path, kills, seen = tmp_path / "r.csv", 0, set()
    for first in _kill_points():
        _write(path, OLD)
        if not _killed(path, NEW, *first):
            break
        left = (_seed(path), *sorted(name.suffix for name in tmp_path.iterdir()))
        if left in seen:
            continue
        seen.add(left)
        for second in islice(_kill_points(), len(seen) % 5, None, 5):
            held = {name: name.read_bytes() for name in tmp_path.iterdir()}
            before = _seed(path)
            killed = _killed(path, 3, *second)
            kills += killed
            assert _seed(path) in ({before, 3, REFUSED} if killed else {3})
            for name in tmp_path.iterdir():
                name.unlink()
            for name, data in held.items():
                name.write_bytes(data)
            if not killed:
                break
    # nothing, one temporary file, two, the companion in place, both in place
    assert len(seen) == 5
    assert kills > 20


def _failed(path: Path, at: int, number: int) -> Exception | None:
    """Return the exception of a write whose given step fails, None without such a step."""

    def fail(here: int, before: bool) -> None:
        if before and here == at:
            raise OSError(number, os.strerror(number))

    try:
        with _each_step(fail):
            _write(path, NEW)
    except (FileError, OSError) as error:
        return error
    return None


@pytest.mark.parametrize("number", [5, 28], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("there", [None, OLD])
def test_every_step_that_fails(tmp_path: Path, there: int | None, number: int) -> None:
    """A FileError leaves the old pair."""
    path, seeds = tmp_path / "r.csv", set()
    for at in range(1, 20):
        for name in tmp_path.iterdir():
            name.unlink()
        if there is not None:
            _write(path, there)
        error = _failed(path, at, number)
        if isinstance(error, FileError):
            seeds.add(_seed(path))
        else:
            # only the removal of temporary files fails with an OSError
            assert _seed(path) in ((NEW,) if error is None else (there, NEW))
    assert seeds == {there}


def test_an_interruption_at_every_step(tmp_path: Path) -> None:
    """Ctrl-C before or after any step leaves the old pair or the new one."""
    path, seeds = tmp_path / "r.csv", set()

    def stop(at: tuple[int, bool], *here: object) -> None:
        if here == at:
            raise KeyboardInterrupt

    for at in islice(_kill_points(), 38):
        _write(path, OLD)
        try:
            with _each_step(partial(stop, at)):
                _write(path, NEW)
        except KeyboardInterrupt:
            seeds.add(_seed(path))
    assert seeds == {OLD, NEW}


def test_a_folder_locked_by_another_program(tmp_path: Path) -> None:
    """`flock FOLDER robolin …` keeps the folder locked: files are written and read anyway."""
    import fcntl

    path, folder = tmp_path / "r.csv", os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with patch("robolin.io.atomic._LOCK_TIMEOUT", 0.0):
            _write(path, NEW)
            assert _seed(path) == NEW
    finally:
        os.close(folder)


def test_of_two_writers_each_puts_both_halves_in_place(tmp_path: Path) -> None:
    """In any order of execution, the final pair is complete and from one writer."""
    path = tmp_path / "r.csv"
    children = []
    for seed in (1, 2, 4, 5):
        children.append(os.fork())
        if children[-1] == 0:
            for _ in range(10):
                _write(path, seed)
            os._exit(0)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert _seed(path) in (1, 2, 4, 5)
    assert sorted(os.listdir(tmp_path)) == ["r.csv", "r.csv.meta.json"]


@pytest.mark.slow
def test_readers_find_a_pair_while_others_write(tmp_path: Path) -> None:
    """Every read returns one pair or the other, never halves of two."""
    path = tmp_path / "r.csv"
    _write(path, 1)
    child = os.fork()
    if child == 0:
        for i in range(50):
            _write(path, 1 + i % 2)
        os._exit(0)
    seeds = []
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        seeds.append(_seed(path))
    assert set(seeds) <= {1, 2}
    assert len(seeds) > 3


def test_halves_of_two_pairs_are_named(tmp_path: Path) -> None:
    """Both files are named, whichever is older and however they differ."""
    names = [tmp_path / f"{seed}.csv" for seed in (1, 2, 3, 6)]
    for seed, path in zip((1, 2, 3, 6), names, strict=True):
        _write(path, seed)
    metas = {path: Path(f"{path}.meta.json").read_bytes() for path in names}
    for path in names:
        for other in names:
            if other != path:
                Path(f"{path}.meta.json").write_bytes(metas[other])
                with pytest.raises(RobolinError, match=r"\.meta\.json' belongs to another CSV"):
                    read_result(path)


def test_both_stay_when_one_is_not_written(tmp_path: Path) -> None:
    """No half of a pair changes unless both are complete."""
    first, second = tmp_path / "a.csv.meta.json", tmp_path / "a.csv"
    second.write_bytes(b"old")

    def write_one() -> None:
        with atomic_write_all([first, second]) as (_, table):
            table.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_one()
    assert second.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_companion_that_cannot_be_written_spares_the_file(tmp_path: Path) -> None:
    """A folder at the path of the companion is detected before the CSV is replaced."""
    path = tmp_path / "r.csv"
    Path(f"{path}.meta.json").mkdir()
    with pytest.raises(FileError, match="got a folder"):
        _write(path, NEW)
    assert os.listdir(tmp_path) == ["r.csv.meta.json"]


def test_a_companion_that_is_a_pipe_or_a_loop(tmp_path: Path) -> None:
    """A pipe is written directly, and a link to itself is an error."""
    path = tmp_path / "r.csv"
    beside = Path(f"{path}.meta.json")
    beside.symlink_to(os.devnull)
    _write(path, NEW)
    assert sorted(os.listdir(tmp_path)) == ["r.csv", "r.csv.meta.json"]
    beside.unlink()
    beside.symlink_to(beside)
    with pytest.raises(FileError, match="symbolic links"):
        _write(path, NEW)
    with pytest.raises(RobolinError, match="reading the provenance failed"):
        read_result(path)
