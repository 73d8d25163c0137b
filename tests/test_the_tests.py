"""Rules for the tests themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import for_each
from tests.cli.command import forked, python

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "robolin"
FILES = [path for path in sorted(TESTS.rglob("*.py")) if path != Path(__file__).resolve()]

CLOCK = re.compile(
    r"\b(perf_counter|monotonic|process_time|thread_time|clock_gettime|timeit|getrusage)\w*\b"
    r"|\btime\.time(_ns)?\b|\bfrom time import (?!sleep$)|\bdatetime\.(now|utcnow)\b",
    re.MULTILINE,
)

MAYBE_WAITS = re.compile(r"timeout|\.(wait|join)\(\s*[\d.]")

# seconds; shorter timeouts fail on a busy machine
SHORTEST_TIMEOUT = 60

# programs that no test runs: the long campaign measures how long files and writes take, the table
# of decompression bombs how long each takes; and the time limit of CI
TIMED = {
    "conftest.py",
    *("fuzz/__main__.py", "fuzz/long_run.py", "fuzz/kills.py", "fuzz/bombs.py"),
    "batch/cluster/kill_rounds.py",
}

PACKAGES = sorted(path.name for path in PACKAGE.iterdir() if any(path.glob("*.py")))
FOLDERS = sorted({path.parent for path in FILES if path.name.startswith("test_")})
# packages that only re-export are tested with the packages they re-export
TESTED_ELSEWHERE = {"api": "docs"}
# tests the layout of the packages, not the module of kernel memory layout
OF_ALL_PACKAGES = {"test_layout.py"}


def _name(path: Path) -> str:
    return path.relative_to(TESTS).as_posix()


def _short_waits(text: str) -> Iterator[int]:
    """Lines with a timeout that a busy machine may exceed."""
    if not MAYBE_WAITS.search(text):
        return  # parsing takes long
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        waits = isinstance(call.func, ast.Attribute) and call.func.attr in ("wait", "join")
        timeouts = [word.value for word in call.keywords if word.arg == "timeout"]
        for value in [*timeouts, *(call.args[:1] if waits else [])]:
            seconds = value.value if isinstance(value, ast.Constant) else None
            if isinstance(seconds, int | float) and seconds < SHORTEST_TIMEOUT:
                yield call.lineno


def _clocks(text: str) -> Iterator[int]:
    """Lines that read a clock."""
    for number, line in enumerate(text.splitlines(), start=1):
        if CLOCK.search(line):
            yield number


def test_no_test_reads_a_clock() -> None:
    """Tests and the programs they start count work instead of reading a clock."""
    texts = {_name(path): path.read_text("utf-8") for path in FILES if _name(path) not in TIMED}
    assert [f"{name}:{line}" for name, text in texts.items() for line in _clocks(text)] == []


def test_timeouts_are_long() -> None:
    """A timeout only keeps a broken test from hanging: no working test comes near it."""
    texts = {_name(path): path.read_text("utf-8") for path in FILES}
    assert [f"{name}:{line}" for name, text in texts.items() for line in _short_waits(text)] == []


@pytest.mark.parametrize(
    "line",
    ["assert perf_counter() < 3", "a = time.monotonic_ns()", "t = time.time()", "import timeit"],
)
def test_clocks_are_recognized(line: str) -> None:
    assert list(_clocks(f"import ast\n{line}\n")) == [2]


def test_short_waits_are_recognized() -> None:
    program = "a.wait(5)\nb.join(timeout=59.0)\nc(timeout=1)\na.wait(60)\n','.join(x)\nd.wait()"
    assert list(_short_waits(program)) == [1, 2, 3]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_tests(package: str) -> None:
    """The tests of robolin/PACKAGE are in tests/PACKAGE."""
    folder = TESTS / TESTED_ELSEWHERE.get(package, package)
    assert list(folder.rglob("test_*.py"))


def test_packages_tested_elsewhere_have_no_folder() -> None:
    """A package listed as tested elsewhere exists and has no folder of its own."""
    assert set(TESTED_ELSEWHERE) <= set(PACKAGES)
    assert not [package for package in TESTED_ELSEWHERE if (TESTS / package).is_dir()]


def _package(test: Path) -> str:
    """The first folder below tests/, or '.' for a test at the top."""
    return _name(test.parent).partition("/")[0]


def _folders_for(module: Path) -> set[str]:
    """Folders that may contain the tests of a module: its package, or what it re-exports."""
    package = module.relative_to(PACKAGE).parts[0]
    if package in TESTED_ELSEWHERE:
        return set(PACKAGES)
    return {package if module.parent != PACKAGE else "."}


def test_tests_named_after_a_module_are_in_its_package() -> None:
    """Modules and their tests can be found from each other."""
    modules = {f"test_{path.stem}": path for path in PACKAGE.rglob("*.py")}
    candidates = [
        path for path in FILES if path.stem in modules and _name(path) not in OF_ALL_PACKAGES
    ]
    misplaced = [p for p in candidates if _package(p) not in _folders_for(modules[p.stem])]
    assert [_name(path) for path in misplaced] == []


def _unmarked(path: Path) -> Iterator[str]:
    """The test functions of a file that are not marked slow."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            slow = "pytest.mark.slow" in map(ast.unparse, node.decorator_list)
            if node.name.startswith("test_") and not slow:
                yield node.name


@pytest.mark.parametrize("folder", FOLDERS, ids=_name)
def test_a_quick_run_visits_every_package(folder: Path) -> None:
    """In every folder, most test files have tests that are not slow."""
    files = list(folder.glob("test_*.py"))
    assert sum(any(_unmarked(path)) for path in files) > len(files) / 2


def test_each_failed_case_is_named() -> None:
    """A test of many cases runs all of them, and names the failed ones."""

    @for_each("number", [1, 2, 3])
    def check(number: int) -> None:
        assert number == 2

    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as caught:
        check()
    notes = [note for error in caught.value.exceptions for note in error.__notes__]
    assert notes == ["case: {'number': 1}", "case: {'number': 3}"]


SHOWN = """
import os, signal, sys
print(sys.argv, os.getcwd(), sys.stdin.read(), sys.stdout.encoding, sys.stdout.isatty(), __name__)
print(signal.getsignal(signal.SIGINT), sorted(os.environ), sys.path[0], file=sys.stderr)
"""
# a fork's traceback has one line more
ENDS = ("", "sys.exit(3)", "sys.tracebacklimit = 0; 1 / 0", "os.kill(os.getpid(), signal.SIGTERM)")


@pytest.mark.slow
@for_each("end", ENDS)
def test_a_fork_is_like_a_new_process(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams, arguments, folder, environment, signals and exit code are the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OF_THIS_TEST", "1")
    program = f"{SHOWN}sys.stdout.flush()\n{end}"
    assert forked(program, "a", "b ü") == python(program, "a", "b ü")
