"""SciPy and python-control, asked for only where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from robolin.errors import RobolinError

INSTALL = "pip install 'robolin[control]'"


def require_scipy(name: str, purpose: str) -> Any:
    """A module of SciPy such as 'linalg', or what to install."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        message = f"{purpose} needs SciPy, which is not installed"
        raise RobolinError(message, hint=INSTALL) from error


def python_control() -> Any:
    """The package `control`, or what to install."""
    try:
        return import_module("control")
    except ImportError as error:
        message = "to_control needs python-control, which is not installed"
        raise RobolinError(message, hint=INSTALL) from error
