"""Joints with several freedoms, where an algorithm runs as it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.engine.parameters import Parameters


class DirectGroups:
    """Joints with several freedoms: every link knows the body and the carrier of its joint."""

    def __init__(self, parameters: Parameters, number: Callable[[float], Scalar]) -> None:
        self._rows, self._number = parameters.links, number
        self._any, self.translate = parameters.grouped, bool(parameters.group_translations)

    def __bool__(self) -> bool:
        return self._any

    def outermost(self, k: int) -> int:
        return self._rows[k - 1].outermost

    def carrier(self, k: int) -> int:
        return self._rows[k - 1].carrier

    def partners_outboard_of(self, k: int) -> Iterable[int]:
        return range(k - 1, self.outermost(k) - 1, -1)

    def with_partners(self) -> Iterable[int]:
        return (k for k in range(1, len(self._rows) + 1) if self.outermost(k) != k)

    def apart(self, i: int, k: int) -> bool:
        return self.outermost(i) != self.outermost(k)

    def direction(self, k: int) -> Vector:
        return tuple(self._number(x) for x in self._rows[k - 1].direction)

    def rests(self, k: int) -> bool:
        return self._rows[k - 1].rests
