"""Packages that take long to import: a worker imports them when it runs a test that uses them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class Package:
    """A package that is imported when one of its names is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        # pytest reads these names of every object of a module when it collects the tests
        if name == "_mock_name" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self._name), name)


def needs(name: str, reason: str = "") -> Any:
    """The package of this name; skip the file of the caller if the package is absent."""
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(reason or f"needs the package {name}", allow_module_level=True)
    return Package(name)


def optional(name: str) -> Any:
    """The package of this name; None if it is absent."""
    return Package(name) if find_spec(name) else None
