"""Robot files as their makers published them: a collection beside the repository, not in it."""

from __future__ import annotations

from pathlib import Path

import pytest

COLLECTION = Path(__file__).resolve().parents[2] / "shared" / "data"
URDF = COLLECTION / "urdf"
FILES = sorted(URDF.glob("*.urdf"))

# for a test that reads some of the files, or the list of them
needs_published_files = pytest.mark.skipif(
    not FILES, reason="the published robot files, ../shared/data beside the repository, are missing"
)


def each_file(argument: str) -> pytest.MarkDecorator:
    """A test for every file, or one skipped test that says that there are none."""
    missing = pytest.param(URDF, id="missing", marks=needs_published_files)
    return pytest.mark.parametrize(argument, FILES or [missing], ids=lambda path: path.stem)
