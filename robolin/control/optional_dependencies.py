"""Lazy imports of SciPy and python-control, with an install hint."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from robolin.errors import RobolinError

INSTALL = "pip install scipy"


def require_scipy(name: str, purpose: str) -> Any:
    """Import a SciPy module such as 'linalg', or raise with the install command."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        message = f"{purpose} needs SciPy, which is not installed"
        raise RobolinError(message, hint=INSTALL) from error


def python_control() -> Any:
    """Import the package `control`, or raise with the install command."""
    try:
        return import_module("control")
    except ImportError as error:
        message = "to_control needs python-control, which is not installed"
        raise RobolinError(message, hint=INSTALL) from error
