"""Settings of all tests: the kernel cache is a folder of the session, never that of the user.

Kernels are compiled without optimization, which takes a tenth of the time.  Results do not
change: tests/engine/test_same_bits.py compares kernels of both kinds.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import QUICK_CASES, quick_indices

# algorithms on traced or counted numbers make a million objects, none of them garbage: a
# collection after every 700 objects takes a tenth of the run time
gc.set_threshold(100_000, 20, 20)

# without bytecode files, each worker and each command would compile all sources and rewrite all
# assertions, half a minute in total; git ignores these files
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# workers use all cores: threads of BLAS and PyTorch would only wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# tests write thousands of files and an atomic write waits 5 ms for the disk: use a folder in
# memory if there is one with enough free space, as on Linux
MEMORY, BYTES_OF_TESTS = Path("/dev/shm"), 4e9
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > BYTES_OF_TESTS:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# where the ids of skipped tests, and of files skipped whole, are kept until the next run
SKIPPED = "robolin/skipped"
skipped: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark most cases of a test with many cases as slow; keep the first, the last, some between.

    Mark what the last run skipped.
    """
    cache = getattr(config, "cache", None)
    before = set(cache.get(SKIPPED, [])) if cache else set()
    for item in items:
        if before & {item.nodeid, item.nodeid.partition("::")[0]}:
            item.add_marker(pytest.mark.skipped)
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            name = getattr(item, "originalname", item.name)
            cases.setdefault((item.path, name), []).append(item)
    for same in cases.values():
        quick = quick_indices(len(same))
        for index, item in enumerate(same):
            if len(same) > QUICK_CASES and index not in quick:
                item.add_marker(pytest.mark.slow)


def pytest_configure(config: pytest.Config) -> None:
    """Without the GIL, calls with one state are slower, with one warning; tests ignore it."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        config.addinivalue_line("filterwarnings", "ignore:Python calls with one state")


def pytest_runtest_setup() -> None:
    """Skip what would start after the time that ROBOLIN_TESTS_UNTIL gives, in seconds of Unix."""
    until = os.environ.get("ROBOLIN_TESTS_UNTIL")
    if until and time.time() > float(until):
        pytest.skip("no time is left for this test; `.ci/run all` runs every test")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the id of a skipped test."""
    if report.skipped:
        skipped.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Keep the name of a file that is skipped whole."""
    if report.skipped:
        skipped.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Store what was skipped, once for all workers."""
    if getattr(session.config, "cache", None) and not hasattr(session.config, "workerinput"):
        session.config.cache.set(SKIPPED, sorted(skipped))


def pytest_collection_finish() -> None:
    """Check that no module compiles when imported; exclude tests from garbage collections."""
    kernels = sys.modules.get("robolin.engine.compiled.kernels")
    if kernels and kernels.optimizing.cache_info().currsize:
        # its kernels would be optimized and kept in the folder of the user, as all later ones
        raise pytest.UsageError("a test module compiles a kernel when it is imported")
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def kernel_folder(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Path]:
    """ROBOLIN_CACHE for this session, inherited by every command a test starts.

    The processes of a parallel session share the folder, so that each kernel is compiled once.
    """
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent
    folder = folder / "kernels"
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "ROBOLIN_CACHE", str(folder))
        patch.setitem(os.environ, "ROBOLIN_OPTIMIZE", "0")
        yield folder


@pytest.fixture
def optimized_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """LLVM optimizes the compiled loops around kernels, as for users; kernels stay as they are."""
    from robolin.control import retiming_problem, retiming_sweeps
    from robolin.control.optimization import compiled_pass
    from robolin.control.simulation import rollout_code
    from robolin.engine.compiled import native

    loaded = (
        compiled_pass.functions,
        rollout_code.rollout_module,
        retiming_problem._compiled_bends,
        retiming_sweeps._compiled_lines,
        retiming_sweeps._compiled_sweeps,
    )
    monkeypatch.setattr(native, "optimizing", lambda: True)
    monkeypatch.setattr(native, "_modules", {})
    for cached in loaded:
        cached.cache_clear()
    yield
    for cached in loaded:
        cached.cache_clear()


@pytest.fixture
def quick_collections() -> None:
    """Garbage collections of the test skip older objects, such as those of PyTorch: 0.3 s each."""
    gc.freeze()


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` compiles no kernels of rare arms: other tests compare them with plain Python."""
    from robolin.checking.verification import verify
    from robolin.checking.verification.algorithms import engines

    families = tuple(family for family in verify._FAMILIES if family is not engines)
    monkeypatch.setattr(verify, "_FAMILIES", families)


@pytest.fixture
def only_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` only compares with a reference implementation; other tests cover the rest."""
    from robolin.checking.verification import verify

    monkeypatch.setattr(verify, "_FAMILIES", ())


@pytest.fixture(scope="session", autouse=True)
def forked_readers() -> Iterator[None]:
    """Read xacro and MJCF in forks: a new process imports MuJoCo for half a second."""
    if not sys.platform.startswith("linux"):
        yield
        return
    from tests.forked_readers import forked_readers

    with forked_readers():
        yield


@pytest.fixture
def reader_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read xacro and MJCF in new processes, as the command does."""
    from robolin.description import worker_process
    from robolin.description.mjcf import mjcf_reader
    from robolin.description.xacro import xacro_text

    for module in (mjcf_reader, xacro_text):
        original = worker_process.run_in_separate_process
        monkeypatch.setattr(module, "run_in_separate_process", original)
