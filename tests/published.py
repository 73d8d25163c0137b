"""Robot files of manufacturers: a collection outside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

COLLECTION = Path(__file__).resolve().parents[2] / "shared" / "data"
URDF = COLLECTION / "urdf"
FILES = sorted(URDF.glob("*.urdf"))

# marks tests that read the files or their list
needs_published_files = pytest.mark.skipif(
    not FILES, reason="the published robot files, ../shared/data beside the repository, are missing"
)


def each_file(argument: str) -> pytest.MarkDecorator:
    """Parametrize a test by the files; without files, skip it and give the reason."""
    missing = pytest.param(URDF, id="missing", marks=needs_published_files)
    return pytest.mark.parametrize(argument, FILES or [missing], ids=lambda path: path.stem)
