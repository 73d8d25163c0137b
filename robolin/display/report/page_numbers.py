"""Numbers for a page: float32 in base64, 16/3 bytes for each and seven digits of it."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field

import numpy as np

from robolin.core.arrays import Numbers


@dataclass
class PageNumbers:
    """The arrays of a page; whatever shows one names it by its place here."""

    texts: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, values: Numbers) -> int:
        """Keep an array, row by row, and tell its place."""
        plain = np.ascontiguousarray(values, dtype="<f4")
        self.texts.append(b64encode(plain.tobytes()).decode("ascii"))
        self.count += plain.size
        return len(self.texts) - 1
