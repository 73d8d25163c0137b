"""The next write removes unfinished files of processes that ended, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robolin.errors import FileError
from robolin.io import atomic
from robolin.io.atomic import atomic_write, require_writable, temporary_folder
from tests.cli.command import environment

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs locks on files")

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


def test_the_folder_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    """A temporary folder is removed with its files, but not the target of a link in it."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / ".robolin-0123456789abcdef.part").touch()
    left = tmp_path / ".robolin-0123456789abcdef.folder"
    left.mkdir()
    (left / "a.c").write_text("half")
    (left / "link").symlink_to(precious)
    _write(tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "precious"]


def test_files_in_use_and_of_other_names_are_kept(tmp_path: Path) -> None:
    """Locked files and folders, links, pipes and other names stay; an unlocked file is removed."""
    other = [".robolin-0123.part", ".robolin-0123456789abcdef.part.txt"]
    for name in other:
        (tmp_path / name).write_text("of another program")
    link, pipe = (tmp_path / f".robolin-{i:016x}.part" for i in (1, 2))
    link.symlink_to("elsewhere")
    os.mkfifo(pipe)
    (tmp_path / f".robolin-{3:016x}.part").write_text("of a terminated process")
    with atomic_write(tmp_path / "a"), temporary_folder(tmp_path) as folder:
        before = set(_parts(tmp_path))
        _write(tmp_path / "b")
        assert before == set(_parts(tmp_path))
        assert folder in before
    assert {path.name for path in _parts(tmp_path)} == {*other, link.name, pipe.name}


def test_a_new_file_that_another_process_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary file that is removed before it is locked is created again."""
    real, removed = atomic._lock, []

    def late(descriptor: int, seconds: float = 0.0, **options: bool) -> bool:
        if not removed:
            removed.extend(_parts(tmp_path))
            removed[0].unlink()
        return real(descriptor, seconds, **options)

    monkeypatch.setattr(atomic, "_lock", late)
    _write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert len(removed) == 1


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
