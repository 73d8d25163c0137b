"""Paths that name a part of what lies there: run.mcap:/joint_states, dataset/:3."""

from __future__ import annotations

import os
from pathlib import PurePath

from robolin.files.stores.store_path import is_stored


def place_and_part(path: str) -> tuple[str, str]:
    """Where the file or folder is, and which part of it is meant; '' for all of it."""
    if is_stored(path):
        return path, ""
    place, colon, part = path.rpartition(":")
    if not colon or not place or os.path.exists(path) or not os.path.exists(place):
        return path, ""
    return place, part


def place_of(path: str) -> str:
    """Where the file or folder is that a path names, or names a part of."""
    return place_and_part(path)[0]


def last_name(path: str) -> str:
    """What messages and results call it: the last name of the place, and the part."""
    place, part = place_and_part(path)
    return f"{PurePath(place).name}:{part}" if part else PurePath(path).name
