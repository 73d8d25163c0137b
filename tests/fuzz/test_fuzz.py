"""No mutated file ends in a traceback, a bug or a wrong result."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import CORPUS, here, run_mutant
from tests.fuzz.subjects import SUBJECTS

FOUND = sorted(path for path in CORPUS.iterdir() if path.suffix != ".md")
# seed, and how many changed files of each kind
CAMPAIGNS = [(1, 6), pytest.param(2, 6, marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SUBJECTS)
@pytest.mark.parametrize(("seed", "count"), CAMPAIGNS)
def test_a_short_campaign(kind: str, seed: int, count: int, tmp_path: Path) -> None:
    """Mutated files of every kind give correct results or an error with a reason."""
    tally = here(kind, tmp_path, seed, count)
    assert not tally.failures, [failure.what for failure in tally.failures.values()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SUBJECTS)
def test_seeds_are_valid(kind: str, tmp_path: Path) -> None:
    """Every seed gives a result, a difference or a finding."""
    ended = [run_mutant(kind, data, tmp_path) for data in SUBJECTS[kind].seeds(tmp_path)]
    assert any(code in (0, 1) for code, _ in ended)
    assert [failure for _, failure in ended if failure] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_corpus_of_past_failures(path: Path, tmp_path: Path) -> None:
    """A file that once caused a failure is handled correctly now."""
    kind = path.name.rpartition("-")[0]
    if kind == "arrow":
        pytest.importorskip("pyarrow", reason="pyarrow reads the same file")
    if kind not in SUBJECTS:
        pytest.skip(f"a package that files of the kind {kind} need is not installed")
    SUBJECTS[kind].seeds(tmp_path)
    assert run_mutant(kind, path.read_bytes(), tmp_path)[1] is None
