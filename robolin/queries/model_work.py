"""What is made of a linear model, wherever its states come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from robolin.core.arrays import Floats
from robolin.core.results.result import Array
from robolin.queries.linear_model_spec import ModelQuestion

ModelArrays = tuple[Array, ...]
Values = Mapping[str, Floats]


@dataclass(frozen=True)
class ModelWork:
    """What is made of a state (n,) or of states (rows, n), and what the contract tells of it."""

    wanted: ModelQuestion
    arrays: Callable[[Values], ModelArrays]
    lines: dict[str, Any] = field(default_factory=dict)
