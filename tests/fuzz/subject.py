"""A kind of file to mutate, the command to run on it, and an independent check of the result."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Subject:
    """A kind of file.

    ext:     file name extension
    seeds:   valid files, written into a folder
    change:  mutates a file
    words:   the command line for a file
    checked: raises AssertionError if a result differs from an independent computation
    around:  context manager active while the command runs
    """

    ext: str
    seeds: Callable[[Path], list[bytes]]
    change: Callable[[bytes, random.Random], bytes]
    words: Callable[[str], Sequence[str]]
    checked: Callable[[str, str], None] = lambda path, out: None
    around: Callable[[], AbstractContextManager[object]] = nullcontext
