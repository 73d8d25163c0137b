"""The next write removes unfinished files of processes that ended, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robolin.errors import FileError
from robolin.io import atomic
from robolin.io.atomic import atomic_write, require_writable
from tests.cli.command import environment

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self"), reason="needs /proc")

KILLED = (
    "import os, sys; from robolin.io.atomic import atomic_write\n"
    "with atomic_write(sys.argv[1]) as stream:\n"
    "    stream.write(b'half'); stream.flush()\n"
    "    print('now', flush=True)\n"
    "    os.kill(os.getpid(), 9)"
)


def _write(path: Path) -> None:
    with atomic_write(path) as stream:
        stream.write(b"whole")


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(".robolin-*"))


def test_the_next_write_removes_files_of_a_killed_process(tmp_path: Path) -> None:
    """SIGKILL leaves a temporary file, which the next write in that folder removes."""
    subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "a")], env=environment(), timeout=60
    )
    [left] = _parts(tmp_path)
    assert left.read_bytes() == b"half"
    _write(tmp_path / "b")
    assert _parts(tmp_path) == []
    assert (tmp_path / "b").read_bytes() == b"whole"
    assert not (tmp_path / "a").exists()


def _gone() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_an_abandoned_folder_is_removed(tmp_path: Path) -> None:
    """Its contents are removed too, but not the targets of links in it."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    left = tmp_path / f".robolin-{atomic._system()}-{_gone()}-00000000.part"
    left.mkdir()
    (left / "a.c").write_text("half")
    (left / "link").symlink_to(precious)
    _write(tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "precious"]


def test_parts_of_others_stay(tmp_path: Path) -> None:
    """Files of running processes, other systems or older versions stay, and so do links."""
    system, dead = atomic._system(), _gone()
    kept = [
        f".robolin-{system}-{os.getpid()}-00000000.part",
        f".robolin-{system}-1-00000000.part",
        f".robolin-00000000-{dead}-00000000.part",
        f".robolin-{dead}-00000000.part",
        f".robolin-{system}-{dead}-00000000.part.txt",
        f".robolin-{system}-99999999999-00000000.part",
    ]
    for name in kept:
        (tmp_path / name).write_text("somebody's")
    folder = tmp_path / f".robolin-{system}-{os.getpid()}-00000001.part"
    folder.mkdir()
    link = tmp_path / f".robolin-{system}-{dead}-00000002.part"
    link.symlink_to("elsewhere")
    ours = tmp_path / f".robolin-{system}-{dead}-00000003.part"
    ours.write_text("nobody's")
    _write(tmp_path / "a")
    assert not ours.exists()
    assert {path.name for path in _parts(tmp_path)} == {*kept, folder.name, link.name}


def test_a_number_that_was_given_away_again(tmp_path: Path) -> None:
    """A part is swept though its process's number lives, if that was started at another time."""
    name = atomic.new_name()
    system, process, begun, _ = name.removeprefix(".robolin-").split("-")
    mine = tmp_path / name
    before = tmp_path / f".robolin-{system}-{process}-{int(begun, 16) - 1:x}-00000000.part"
    of_init = tmp_path / f".robolin-{system}-1-fffffff-00000000.part"
    for path in (mine, before, of_init):
        path.write_text("a part")
    _write(tmp_path / "a")
    assert _parts(tmp_path) == [mine]


def test_simultaneous_writers_keep_each_others_files(tmp_path: Path) -> None:
    """A second write that begins during the first one does not remove its temporary file."""
    with atomic_write(tmp_path / "a") as first:
        first.write(b"first")
        _write(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == b"first"


def test_a_link_to_itself_is_no_target(tmp_path: Path) -> None:
    """A loop of links is an error with a name, before any work and while writing."""
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    with pytest.raises(FileError, match="symbolic links"):
        require_writable(loop)
    with pytest.raises(FileError, match="symbolic links"):
        _write(loop)
