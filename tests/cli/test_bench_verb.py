"""`robolin bench` measures the verbs that the table marks as measured."""

from __future__ import annotations

import json

import pytest

import robolin as library
from robolin.cli.commands import bench_verbs
from robolin.cli.commands.bench_verbs import MEASURED_VERBS
from robolin.engine.compiled import kernels
from tests.cli.command import robolin, run_ok


def test_every_measured_verb_is_a_function() -> None:
    """Every measured verb of the table can be called from Python."""
    assert len(MEASURED_VERBS) == len(set(MEASURED_VERBS)) == 8
    assert all(callable(getattr(library, name.replace("-", "_"))) for name in MEASURED_VERBS)


@pytest.mark.slow
def test_every_measured_verb_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """No verb is omitted on an arm that supports all of them."""
    monkeypatch.setattr(bench_verbs, "ENOUGH_SECONDS", 0.0)
    document = json.loads(run_ok("bench", "two-link", "--rows", "4", "--format", "json").out)
    assert list(document["verbs"]) == MEASURED_VERBS
    assert document["kernels"]["optimized"] is False
    assert all(figures["one_core_us_per_state"] > 0 for figures in document["verbs"].values())


@pytest.mark.parametrize("name", ["ROBOLIN_OPTIMIZE", "ROBOLIN_WIDTH"])
def test_invalid_settings_are_reported_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are wrong for every verb, and a table without numbers is not a success."""
    monkeypatch.setenv(name, "3")
    for setting in ("optimizing", "host_width"):
        monkeypatch.setattr(kernels, setting, getattr(kernels, setting).__wrapped__)
    ran = robolin("bench", "two-link", "--rows", "4")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {name}: must be ")
