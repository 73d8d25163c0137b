"""Files appear complete or not at all."""

import builtins
import os
import stat
import threading

import pytest

from robolin.errors import FileError
from robolin.io.atomic import atomic_write, atomic_write_all


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "result.csv"
    path.write_bytes(b"old")
    return path


def test_the_new_content_appears_only_at_the_end(target):
    """Until the block ends, readers see the old file."""
    with atomic_write(target) as stream:
        stream.write(b"new")
        stream.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert os.listdir(target.parent) == [target.name]


@pytest.mark.parametrize("interruption", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("there_before", [True, False])
def test_an_interrupted_writer_leaves_nothing(tmp_path, interruption, there_before):
    """An exception while writing leaves the folder unchanged."""
    target = tmp_path / "result.csv"
    if there_before:
        target.write_bytes(b"old")

    def write_half():
        with atomic_write(target) as stream:
            stream.write(b"half")
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == (
        [("result.csv", b"old")] if there_before else []
    )


def test_permissions_of_a_replaced_file_are_kept(target):
    """Replacing a private file does not make it public."""
    target.chmod(0o600)
    with atomic_write(target) as stream:
        stream.write(b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_an_unfinished_file_is_private_until_it_replaces_another(target, mode):
    """While a file is replaced, only its owner may read the new content."""
    target.chmod(mode)
    before = os.umask(0)
    try:
        with atomic_write(target) as stream:
            stream.write(b"new")
            (part,) = target.parent.glob(".robolin-*.part")
            assert stat.S_IMODE(part.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_replaced_pair_keeps_both_permissions(tmp_path):
    """A CSV file and its provenance each keep their own permissions, and are private meanwhile."""
    table, beside = tmp_path / "result.csv", tmp_path / "result.csv.meta.json"
    for path, mode in ((table, 0o640), (beside, 0o600)):
        path.write_bytes(b"old")
        path.chmod(mode)
    before = os.umask(0)
    try:
        with atomic_write_all([beside, table]) as streams:
            parts = [*tmp_path.glob(".robolin-*.part")]
            assert [stat.S_IMODE(part.stat().st_mode) for part in parts] == [0o600, 0o600]
            for stream in streams:
                stream.write(b"new")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (table, beside)]
    assert (modes, table.read_bytes(), beside.read_bytes()) == ([0o640, 0o600], b"new", b"new")


def test_a_new_file_follows_the_umask(tmp_path):
    """A new file has the permissions that any other program would give it."""
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "new") as stream:
            stream.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_symbolic_link_stays_a_link(target, tmp_path):
    """The file a link points to is replaced, not the link."""
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    with atomic_write(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_directly(tmp_path):
    """A named pipe stays a pipe and its reader gets everything."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    with atomic_write(pipe) as stream:
        stream.write(b"data")
    reader.join(60)
    assert received == [b"data"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_longest_possible_name_works(tmp_path):
    """A name of 255 bytes leaves no space for a temporary suffix."""
    with atomic_write(tmp_path / ("x" * 251 + ".csv")) as stream:
        stream.write(b"x")
    assert len(os.listdir(tmp_path)[0]) == 255


BAD_TARGETS = [
    ("a folder", lambda d: d, "must be a file, got a folder", "append a file name"),
    ("no such folder", lambda d: d / "no" / "x.csv", "does not exist", "create the folder"),
    ("a file as folder", lambda d: d / "file" / "x.csv", "does not exist", "create the folder"),
    ("name too long", lambda d: d / ("x" * 300), "could not write", "shorter file name"),
]


@pytest.mark.parametrize("make, message, hint", [row[1:] for row in BAD_TARGETS])
def test_bad_targets_are_file_errors(tmp_path, make, message, hint):
    """A target that cannot be written is an error with reason and hint, and exit code 4."""
    (tmp_path / "file").touch()
    target = make(tmp_path)
    with pytest.raises(FileError, match=message) as caught, atomic_write(target):
        pass
    assert caught.value.exit_code == 4
    assert hint in caught.value.hint
    assert caught.value.where == str(target)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_file_error(tmp_path):
    """A folder without write permission is named, not a traceback."""
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="could not write"), atomic_write(tmp_path / "x.csv"):
        pass
    tmp_path.chmod(0o700)


def test_a_refused_file_is_a_file_error(tmp_path, monkeypatch):
    """An error of the system names the target, not the temporary file."""

    def refused(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied", "/somewhere/.part")

    monkeypatch.setattr(builtins, "open", refused)
    target = tmp_path / "x.csv"
    with pytest.raises(FileError, match="Permission denied") as caught, atomic_write(target):
        pass
    assert caught.value.where == str(target)
    assert "choose another folder" in caught.value.hint


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_a_file_error():
    """A device that takes no more data is an error with a hint."""
    with pytest.raises(FileError, match="No space") as caught, atomic_write("/dev/full") as stream:
        stream.write(b"x" * 100_000)
    assert "full" in caught.value.hint


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such advice")
@pytest.mark.parametrize("limit, released_early", [(1 << 30, False), (1 << 12, True)])
def test_large_files_do_not_stay_in_memory(limit, released_early, tmp_path, monkeypatch):
    """The page cache of a large file is released while it is written, not that of a small one."""
    given_back = threading.Event()
    monkeypatch.setattr("robolin.io.atomic._TOO_LARGE_TO_KEEP", limit)
    monkeypatch.setattr("robolin.io.atomic._SECONDS_BETWEEN", 0.001)
    monkeypatch.setattr(os, "posix_fadvise", lambda *_: given_back.set())
    with atomic_write(tmp_path / "large") as stream:
        stream.write(b"x" * 100_000)
        stream.flush()
        assert given_back.wait(10.0 if released_early else 0.05) is released_early
    assert (tmp_path / "large").read_bytes() == b"x" * 100_000
