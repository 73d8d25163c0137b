"""The peers that are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.subjects import Subject
from benchmarks.timing import progress

_HOMES = {
    "Pinocchio": ("benchmarks.pinocchio_peer", "pinocchio"),
    "MuJoCo": ("benchmarks.mujoco_peer", "mujoco"),
}


def installed(subject: Subject) -> dict[str, Any]:
    """Each peer that can be imported, with the subject as its model."""
    found = {}
    for name, (home, package) in _HOMES.items():
        try:
            import_module(package)
        except ImportError:
            progress(f"{name} is not installed and left out")
            continue
        found[name] = getattr(import_module(home), name)(subject)
    return found
