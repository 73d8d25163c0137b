"""Installed reference programs."""

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
    """Each program that can be imported, with the subject as its model."""
    peers = {}
    for name, (home, package) in _HOMES.items():
        try:
            import_module(package)
        except ImportError:
            progress(f"{name} is not installed and left out")
            continue
        peers[name] = getattr(import_module(home), name)(subject)
    return peers
