"""Benchmarks: results compared with other programs, stored runs, and the page written from them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import robolin
from benchmarks.page import PAGE, RESULTS, newest_results, refreshed
from benchmarks.subjects import VERBS
from benchmarks.verbs import robolin_answer
from tests.robots import random_states


@pytest.mark.parametrize("verb", VERBS)
def test_compared_results_have_one_row_per_state(verb: str) -> None:
    """Every compared result of a verb is an array with the requested number of rows."""
    arm = robolin.load("two-link")
    states = asdict(random_states(arm, 4, 7))
    states["tau"] = states["qdd"]
    answer = robolin_answer(arm, verb, states, jobs=1, engine="python")(3)

    assert answer
    for values in answer.values():
        assert isinstance(values, np.ndarray)
        assert len(values) == 3


def test_the_performance_page_is_current() -> None:
    """The tables of explain/performance.md are those that `python -m benchmarks --page` writes."""
    page = PAGE.read_text("utf-8")
    assert refreshed(page, newest_results()) == page


def test_stored_runs_name_no_machine() -> None:
    """Stored runs have a dated name, a machine, and neither absolute paths nor host names."""
    for path in RESULTS.iterdir():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d{4}-[a-z0-9-]+\.json", path.name)
        text = path.read_text("utf-8")
        assert not re.search(r'"(/|[A-Z]:\\\\|~)|node|host', text), path.name
        run = json.loads(text)
        assert len(run) > 1
        assert "processor" in run["machine"]


def test_a_part_is_from_its_newest_run(tmp_path: Path) -> None:
    """A later run replaces the parts that it measured, and no others."""
    runs = {
        "2026-01-01-0800-b": {"machine": {"cores": 2}, "verbs": 1, "peak": 1},
        "2026-01-02-0700-a": {"machine": {"cores": 4}, "peak": 2},
    }
    for name, run in runs.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(run), "utf-8")
    results = newest_results(tmp_path)
    assert (results["verbs"], results["peak"]) == (1, 2)
    assert results["machines"] == [
        {"machine": {"cores": 4}, "parts": ["peak"]},
        {"machine": {"cores": 2}, "parts": ["verbs"]},
    ]


def test_crocoddyl_is_left_out_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an interpreter that has Crocoddyl, the comparison runs without it and prints why."""
    from benchmarks.optimal_motions import Crocoddyl

    arm = robolin.load("two-link")
    monkeypatch.delenv("CROCODDYL_PYTHON", raising=False)
    assert Crocoddyl.started(arm, {}) is None
    assert "Crocoddyl is left out: CROCODDYL_PYTHON names no interpreter" in capsys.readouterr().err
    monkeypatch.setenv("CROCODDYL_PYTHON", "/bin/false")
    assert Crocoddyl.started(arm, {}) is None
    assert "Crocoddyl is left out: it does not start" in capsys.readouterr().err
