"""Kernels on disk: complete or absent, verified before they are run, never a hindrance."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.dynamics.algorithm import VECTOR, Algorithm
from robolin.engine.compiled import kernels
from robolin.engine.compiled.kernels import KernelSpec
from robolin.engine.compiled.plan import arm_tables, kernel_spec
from robolin.engine.parameters import parameters_of as parameters
from tests.cli.command import START, environment, forked
from tests.engine.on_lanes import on_lanes
from tests.robots import random_arm

ARM = random_arm(41, 2, prismatic=False)
KEY = "0" * 64


def _doubled(chain: Any) -> None:
    for k in chain.tip_to_base():
        chain.out("y", (k,), chain.input("q")[k] + chain.input("q")[k])


DOUBLED = Algorithm(_doubled, ("q",), {"y": VECTOR}, "twice the joint")


@dataclass
class Watch:
    """A cache folder of its own, with lists of compiled and of loaded kernels."""

    folder: Path
    compiled: list[str] = field(default_factory=list)
    linked: list[bytes] = field(default_factory=list)

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.kernel"))

    def leftovers(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.suffix != ".kernel"]


# compilation is deterministic, as another test shows, and slow: cache its results
compiled_before: dict[tuple[object, ...], bytes] = {}


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    seen = Watch(tmp_path / "cache" / "kernels")
    link_it, compile_it = kernels._linked, kernels._compiled

    def compiling(recipe: KernelSpec) -> bytes:
        seen.compiled.append(recipe.name)
        key = (recipe.name, recipe.variant, recipe.width)
        if key not in compiled_before:
            compiled_before[key] = compile_it(recipe)
        return compiled_before[key]

    def linking(stored: bytes, width: int) -> kernels.Kernel:
        seen.linked.append(stored)
        return link_it(stored, width)

    monkeypatch.setenv("ROBOLIN_CACHE", str(seen.folder.parent))
    monkeypatch.setattr(kernels, "_compiled", compiling)
    monkeypatch.setattr(kernels, "_linked", linking)
    monkeypatch.setattr(kernels, "_kernels", {})
    kernels.warn_once.cache_clear()
    return seen


def doubles_as_in_a_new_process(name: str = "test-doubled") -> None:
    """Forget every kernel in memory, run one, and check its result."""
    kernels._kernels.clear()
    q = np.arange(10.0).reshape(5, 2)
    lanes, _ = on_lanes(ARM, name, DOUBLED, {"q": q})
    np.testing.assert_array_equal(lanes["y"], 2.0 * q)


def test_compiling_again_gives_the_same_code() -> None:
    recipe = kernel_spec("test-doubled", DOUBLED, arm_tables(parameters(ARM)), None)
    assert kernels._compiled(recipe) == kernels._compiled(recipe)


def test_a_kernel_is_compiled_once(watch: Watch) -> None:
    """The second process finds the kernel of the first one, in the configured folder."""
    doubles_as_in_a_new_process()
    doubles_as_in_a_new_process()

    assert watch.compiled == ["test-doubled"]
    assert len(watch.linked) == 2
    assert watch.linked[0] == watch.linked[1]
    assert len(watch.files()) == 1
    assert not watch.leftovers()


def test_kernels_belong_to_the_user_alone(watch: Watch) -> None:
    """No other user may write the folder or the files in it."""
    doubles_as_in_a_new_process()
    for path in (watch.folder, *watch.files()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


# files that cannot be trusted


def _flip(position: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[position] ^= 1
        path.write_bytes(bytes(data))

    return damage


def _cut(length: int) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes()[:length])


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "a bit of the digest flipped": _flip(5),
    "a bit of the header flipped": _flip(33),
    "a bit of the code flipped": _flip(500),
    "the last bit flipped": _flip(-1),
    "empty": _cut(0),
    "shorter than a digest": _cut(31),
    "only a digest": _cut(32),
    "cut short": _cut(600),
    "one byte short": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "one byte long": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "without a digest": lambda path: path.write_bytes(path.read_bytes()[32:]),
    "a file with a second name": lambda path: os.link(path, path.with_suffix(".second")),
    "a link to a sound file": lambda path: path.symlink_to(path.rename(path.with_suffix(".moved"))),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_cannot_be_trusted_is_compiled_again(watch: Watch, damage: str) -> None:
    """An invalid file is never loaded; it is replaced by a valid one."""
    doubles_as_in_a_new_process()
    [path] = watch.files()
    sound = path.read_bytes()
    DAMAGES[damage](path)
    doubles_as_in_a_new_process()

    assert watch.compiled == ["test-doubled"] * 2
    assert set(watch.linked) == {sound[32:]}
    assert path.read_bytes() == sound
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    doubles_as_in_a_new_process()
    assert len(watch.compiled) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_a_file_of_another_user_is_not_run(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that another user owns is compiled again, even with a valid hash."""
    doubles_as_in_a_new_process()
    somebody = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: somebody)
    with pytest.warns(RuntimeWarning, match="cannot be cached in"):
        doubles_as_in_a_new_process()
    assert len(watch.compiled) == 2


# folders that cannot be trusted: no kernel is read from or stored in them


def _planted_in_a_shared_folder(watch: Watch) -> None:
    watch.folder.chmod(0o777)


def _planted_in_a_readable_folder(watch: Watch) -> None:
    watch.folder.chmod(0o755)


def _planted_through_a_link(watch: Watch) -> None:
    watch.folder.symlink_to(watch.folder.rename(watch.folder.with_name("moved")))


def _planted_in_a_sticky_folder(watch: Watch) -> None:
    watch.folder.chmod(0o1777)


def _planted_by_another_user(watch: Watch) -> None:
    os.chown(watch.folder, 54321, -1)


PLANTED = [
    _planted_in_a_shared_folder,
    _planted_in_a_readable_folder,
    _planted_through_a_link,
    _planted_in_a_sticky_folder,
    _planted_by_another_user,
]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
@pytest.mark.parametrize("plant", PLANTED)
def test_an_untrusted_folder_is_not_used(watch: Watch, plant: Callable[[Watch], None]) -> None:
    """A valid kernel is not run from a folder that is not private to the user."""
    doubles_as_in_a_new_process()
    try:
        plant(watch)
    except PermissionError:
        pytest.skip("only the system's user may give files away")
    before = sorted(watch.folder.iterdir())
    with pytest.warns(RuntimeWarning, match=r"other users|another user|a symbolic link"):
        doubles_as_in_a_new_process()
    assert len(watch.compiled) == 2
    assert sorted(watch.folder.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777])
def test_the_folder_of_caches_may_be_shared(watch: Watch, mode: int) -> None:
    """Only the folder with the kernels has to be private; its parent may be a shared link."""
    real = watch.folder.parents[1] / "real"
    real.mkdir()
    real.chmod(mode)
    watch.folder.parent.symlink_to(real)
    doubles_as_in_a_new_process()
    doubles_as_in_a_new_process()
    assert watch.compiled == ["test-doubled"]


def test_a_loop_of_links_is_one_warning(watch: Watch) -> None:
    """A folder that is a link to itself stores nothing and does not hang."""
    watch.folder.parent.mkdir()
    watch.folder.symlink_to(watch.folder)
    with pytest.warns(RuntimeWarning, match="cannot be cached in"):
        doubles_as_in_a_new_process()


def test_kernels_that_came_with_the_sources_are_not_run(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cache folder that was unpacked from elsewhere, with private modes, is not trusted."""
    doubles_as_in_a_new_process()
    unpacked = shutil.copytree(watch.folder.parent, tmp_path / "checkout")
    assert stat.S_IMODE((unpacked / "kernels").stat().st_mode) == 0o700
    monkeypatch.setenv("ROBOLIN_CACHE", str(unpacked))
    doubles_as_in_a_new_process()
    assert len(watch.compiled) == 2


@pytest.mark.parametrize("variable", ["ROBOLIN_CACHE", "XDG_CACHE_HOME"])
def test_a_relative_folder_is_ignored_with_one_warning(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    """The kernel that runs does not depend on the current folder."""
    (tmp_path / "home").mkdir()
    (tmp_path / "checkout").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("ROBOLIN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "checkout")
    monkeypatch.setenv(variable, "caches")
    with pytest.warns(RuntimeWarning, match=f"{variable} is ignored") as caught:
        doubles_as_in_a_new_process()
    assert len(caught) == 1
    assert not list((tmp_path / "checkout").iterdir())
    doubles_as_in_a_new_process()
    assert watch.compiled == ["test-doubled"]
    assert len(list((tmp_path / "home" / ".cache" / "robolin" / "kernels").glob("*.kernel"))) == 1


@pytest.mark.parametrize("home", ["", "relative", "/nowhere/at/all"])
def test_without_a_home_no_kernel_is_stored(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
) -> None:
    """A user without a home gets results, one warning, and no files anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", home)
    for name in ("ROBOLIN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.warns(RuntimeWarning, match="no home folder"):
        doubles_as_in_a_new_process()
    assert not list(tmp_path.iterdir())


def test_without_home_and_account_no_kernel_is_stored(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user id without an account, as in a container, has no home folder."""

    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("ROBOLIN_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.warns(RuntimeWarning, match="no home folder"):
        doubles_as_in_a_new_process()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no modes here")
def test_no_kernel_is_stored_where_others_may_write(watch: Watch) -> None:
    """A folder that others may write is not used, with a warning."""
    watch.folder.mkdir(parents=True)
    watch.folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="other users can access the folder; run chmod 700 /"):
        doubles_as_in_a_new_process()
    assert list(watch.folder.iterdir()) == []


def test_a_folder_at_the_path_of_a_file_does_no_harm(watch: Watch) -> None:
    """Results are computed even if the file's name is taken by a folder."""
    doubles_as_in_a_new_process()
    [path] = watch.files()
    path.unlink()
    path.mkdir()
    with pytest.warns(RuntimeWarning, match="cannot be cached in"):
        doubles_as_in_a_new_process()
    assert len(watch.compiled) == 2
    assert not watch.leftovers()


# a folder that cannot be used


def test_an_unusable_folder_is_one_warning(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no file can be written, every result is still computed, with one warning."""
    watch.folder.parent.write_text("a file, not a folder")
    monkeypatch.setenv("ROBOLIN_CACHE", str(watch.folder))
    with pytest.warns(RuntimeWarning, match="ROBOLIN_CACHE") as caught:
        doubles_as_in_a_new_process()
    assert len(caught) == 1
    assert str(watch.folder) in str(caught[0].message)
    # any warning would be an error by now
    doubles_as_in_a_new_process("test-doubled-again")


@pytest.mark.slow
def test_a_command_says_so_in_one_line(tmp_path: Path) -> None:
    """On the command line the warning is one line on stderr, and the results are on stdout."""
    motion = tmp_path / "motion.csv"
    motion.write_text("shoulder/position,elbow/position\n" + "0.1,0.2\n" * 100)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    words = ("mass-matrix", "two-link", "--trajectory", str(motion))
    done = forked(START, *words, ROBOLIN_CACHE=str(blocked))
    assert done.code == 0
    assert len(done.out.splitlines()) == 101
    [line] = done.err.splitlines()
    assert line.startswith("warning: ")
    assert str(blocked) in line


def test_a_write_that_fails_leaves_nothing(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the last step of writing fails, neither a kernel nor a partial file remains."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        doubles_as_in_a_new_process()
    assert not [path for path in watch.folder.parent.rglob("*") if path.is_file()]


# concurrent processes


def test_a_reader_never_sees_half_a_kernel(watch: Watch) -> None:
    """While a kernel is rewritten repeatedly, it is always there and always complete."""
    contents = [bytes([i]) * 300_000 for i in range(2)]
    kernels.write_kernel(KEY, contents[0])
    stop = threading.Event()

    def writing() -> None:
        while not stop.is_set():
            for content in contents:
                kernels.write_kernel(KEY, content)

    writer = threading.Thread(target=writing)
    writer.start()
    try:
        assert all(kernels.read_kernel(KEY) in contents for _ in range(200))
    finally:
        stop.set()
        writer.join()
    assert not watch.leftovers()


TWO_AT_ONCE = """
import numpy, robolin, sys
sys.stdin.readline()
tau = robolin.inverse(robolin.load("two-link"), numpy.ones((100, 2)), engine="compiled")
print(tau.tobytes().hex())
"""


@pytest.mark.slow
def test_two_processes_may_compile_the_same_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the same results, and one sound file is left."""
    both = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_AT_ONCE],
            env=environment(ROBOLIN_CACHE=str(tmp_path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert [err for _, err in outputs] == ["", ""]
    assert outputs[0][0] == outputs[1][0]
    [path] = (tmp_path / "kernels").iterdir()
    monkeypatch.setenv("ROBOLIN_CACHE", str(tmp_path))
    assert kernels.read_kernel(path.stem) == path.read_bytes()[32:]


# size


def test_temporary_files_of_killed_processes_are_removed_first(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old temporary file counts as a kernel that is not used: a full cache removes it."""
    monkeypatch.setattr(kernels, "LARGEST_FOLDER", 350)
    kernels.write_kernel("a" * 64, b"x")
    left, current = (watch.folder / f".{name}.part" for name in ("left", "current"))
    for path in (left, current):
        path.write_bytes(b"x" * 150)
    os.utime(left, (1e9, 1e9))
    kernels.write_kernel("b" * 64, b"x")

    assert sorted(path.name[:2] for path in watch.folder.iterdir()) == [".c", "aa", "bb"]


def test_the_folder_stays_small(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the cache is full, the least recently used kernels are removed."""
    monkeypatch.setattr(kernels, "LARGEST_FOLDER", 350)
    for age, name in enumerate("abc"):
        kernels.write_kernel(name * 64, b"x" * 68)
        os.utime(watch.folder / f"{name * 64}.kernel", (1e9 + age, 1e9 + age))
    assert kernels.read_kernel("a" * 64) is not None
    kernels.write_kernel("d" * 64, b"x" * 68)

    assert [path.name[0] for path in watch.files()] == ["a", "c", "d"]
    assert sum(path.stat().st_size for path in watch.files()) <= 350


# folders and keys


def test_order_of_cache_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """ROBOLIN_CACHE comes first, then the user's cache folder, then its default path."""
    monkeypatch.setenv("ROBOLIN_CACHE", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert kernels.cache_folder() == tmp_path / "chosen" / "kernels"
    monkeypatch.delenv("ROBOLIN_CACHE")
    assert kernels.cache_folder() == tmp_path / "caches" / "robolin" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert kernels.cache_folder() == tmp_path / "home" / ".cache" / "robolin" / "kernels"


def test_everything_the_code_depends_on_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another width, algorithm, kind of arm, source, processor or LLVM is another kernel."""
    tables = arm_tables(parameters(ARM))
    recipe = kernel_spec("test-doubled", DOUBLED, tables, 4)
    keys = [
        kernels._key(recipe),
        kernels._key(replace(recipe, width=2)),
        kernels._key(replace(recipe, optimized=True)),
        kernels._key(replace(recipe, name="inverse")),
        kernels._key(replace(recipe, variant=replace(recipe.variant, serial=False))),
        kernels._key(replace(recipe, variant=replace(recipe.variant, load_models=("dead",)))),
    ]
    for name, value in (
        ("get_host_cpu_name", lambda: "another"),
        ("llvm_version_info", (1, 2, 3)),
        ("get_default_triple", lambda: "another"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(kernels._llvm(), name, value)
            keys.append(kernels._key(recipe))
    monkeypatch.setattr(kernels, "_sources_digest", lambda: "other sources")
    keys.append(kernels._key(recipe))

    assert len(set(keys)) == len(keys)


def test_kernels_are_optimized_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """ROBOLIN_OPTIMIZE is 0 or 1, and 1 by default."""
    optimizing = kernels.optimizing.__wrapped__
    monkeypatch.setenv("ROBOLIN_OPTIMIZE", "0")
    assert not optimizing()
    monkeypatch.delenv("ROBOLIN_OPTIMIZE")
    assert optimizing()
    monkeypatch.setenv("ROBOLIN_OPTIMIZE", "3")
    with pytest.raises(robolin.RobolinError, match="ROBOLIN_OPTIMIZE: must be 0 or 1, got '3'"):
        optimizing()


def test_the_key_is_the_same_in_every_process() -> None:
    """The same kernel has the same file name in every process."""
    recipe = kernel_spec("test-doubled", DOUBLED, arm_tables(parameters(ARM)), 4)
    assert kernels._key(recipe) == kernels._key(replace(recipe, algorithm=None))
