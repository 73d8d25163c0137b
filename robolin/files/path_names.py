"""What a path names: a file, packed or not, a part of what lies there, or an object in a store.

A part is named as in run.mcap:/joint_states and dataset/:3, an object as in s3://bucket/key.
"""

from __future__ import annotations

import os
from pathlib import PurePath

SCHEMES = ("s3", "gs", "az", "hf")
_BEGINNINGS = tuple(f"{scheme}://" for scheme in SCHEMES)
# the endings of files that are unpacked
PACKED = (".gz", ".zst")


def is_stored(path: str) -> bool:
    """Whether a path is that of an object in a store."""
    return path.startswith(_BEGINNINGS)


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


def compression(path: str) -> str:
    """'.gz' or '.zst' if the path ends so, else ''."""
    suffix = PurePath(path).suffix.lower()
    return suffix if suffix in PACKED else ""


def uncompressed_name(path: str) -> str:
    """The path without the ending that says how it was compressed."""
    return path[: -len(ending)] if (ending := compression(path)) else path
