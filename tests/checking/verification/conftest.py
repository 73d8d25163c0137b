"""Fixtures that skip the slowest parts of `verify`."""

from __future__ import annotations

import pytest

from robolin.checking.verification import verify as module
from robolin.checking.verification.algorithms import engines


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of rare arms are not compiled: other tests compare them with plain Python."""
    families = tuple(family for family in module._FAMILIES if family is not engines)
    monkeypatch.setattr(module, "_FAMILIES", families)


@pytest.fixture
def only_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run only the comparison with a reference implementation; other tests cover the rest."""
    monkeypatch.setattr(module, "_FAMILIES", ())
