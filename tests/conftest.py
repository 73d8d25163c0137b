"""What holds for every test: kernels are kept in a folder of the session, never in the user's.

They are compiled without optimizing, which takes a tenth of the time and changes no bit: that is
what tests/engine/test_same_bits.py shows, on kernels of both kinds.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# algorithms that run on recorded or counted numbers make a million objects, none of them garbage:
# to look for circles among them after every 700 takes a tenth of the whole run
gc.set_threshold(100_000, 20, 20)

# tests write thousands of files, and whoever writes one safely waits 5 ms until a disk has it:
# files of tests are kept in memory where that is a folder with room for them, as on Linux
MEMORY, BYTES_OF_TESTS = Path("/dev/shm"), 4e9
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > BYTES_OF_TESTS:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# so many cases of one test are enough while working
QUICK_CASES = 4


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with many cases a quick run takes the first, the last and some between."""
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            name = getattr(item, "originalname", item.name)
            cases.setdefault((item.path, name), []).append(item)
    for same in cases.values():
        last = len(same) - 1
        quick = {round(i * last / (QUICK_CASES - 1)) for i in range(QUICK_CASES)}
        for place, item in enumerate(same):
            if last >= QUICK_CASES and place not in quick:
                item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """What was collected stays, and is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def kernel_folder(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Path]:
    """ROBOLIN_CACHE for this session, inherited by every command a test starts.

    The processes of a parallel session share the folder, so that each kernel is compiled once.
    """
    place = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        place = place.parent
    place = place / "kernels"
    place.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "ROBOLIN_CACHE", str(place))
        patch.setitem(os.environ, "ROBOLIN_OPTIMIZE", "0")
        # the key that kernels are signed with
        patch.setitem(os.environ, "XDG_CONFIG_HOME", str(place / "settings"))
        if sys.dont_write_bytecode:
            # where sources may not have bytecode beside them, each command would compile them all
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", str(place.parent / "bytecode"))
        yield place
