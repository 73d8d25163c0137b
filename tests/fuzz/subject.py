"""What is changed, what is then asked of it, and how the answer is found a second way."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Subject:
    """A kind of file.

    ext:     of the file
    seeds:   sound files, made in a folder
    change:  makes another file of one
    words:   the command line for a file
    checked: raises AssertionError if an answer is not what it is another way
    around:  what is otherwise while the command runs
    """

    ext: str
    seeds: Callable[[Path], list[bytes]]
    change: Callable[[bytes, random.Random], bytes]
    words: Callable[[str], Sequence[str]]
    checked: Callable[[str, str], None] = lambda path, out: None
    around: Callable[[], AbstractContextManager[object]] = nullcontext
