"""Counting what an algorithm costs: exact multiplications, additions, divisions and roots.

Every number is a node that remembers the operation it came from.  What counts are the operations
that some result depends on: the last hand-over to the base, which nobody reads, costs nothing,
as it would in any careful implementation.  A literal 0 or 1 is structure, not arithmetic, and a
change of sign is free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robolin.algebra.axes import Shape
from robolin.algebra.parts import current_part
from robolin.algebra.scalar import Scalar
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import Parameters


class Count:
    """A number that knows only how it was made."""

    __slots__ = ("kind", "made_from", "part")

    def __init__(self, kind: str = "", made_from: tuple[Count, ...] = ()) -> None:
        self.kind, self.made_from, self.part = kind, made_from, current_part()

    def __add__(self, other: Count | float) -> Count:
        if isinstance(other, Count):
            return Count("addition", (self, other))
        return self if other == 0.0 else Count("addition", (self,))

    __radd__ = __sub__ = __add__

    def __rsub__(self, other: float) -> Count:
        return self + other

    def __mul__(self, other: Count | float) -> Count | float:
        if isinstance(other, Count):
            return Count("multiplication", (self, other))
        if other in (0.0, 1.0, -1.0):
            return 0.0 if other == 0.0 else self
        return Count("multiplication", (self,))

    __rmul__ = __mul__

    def __truediv__(self, other: Count | float) -> Count:
        if isinstance(other, Count):
            return Count("division", (self, other))
        return self if other == 1.0 else Count("division", (self,))

    def __rtruediv__(self, other: float) -> Count | float:
        return 0.0 if other == 0.0 else Count("division", (self,))

    def __neg__(self) -> Count:
        return self

    def if_less(self, a: Scalar, b: Scalar, yes: Scalar, no: Scalar) -> Count:
        """Choosing costs nothing, and depends on all there is to choose from."""
        return Count("", tuple(x for x in (a, b, yes, no) if isinstance(x, Count)))

    def sqrt(self) -> Count:
        return Count("root", (self,))

    def tanh(self) -> Count:
        return Count("function", (self,))

    def sin_cos(self) -> tuple[Count, Count]:
        return Count("function", (self,)), Count("function", (self,))


# the type checker sees to it
_IS_A_SCALAR: type[Scalar] = Count


@dataclass(frozen=True)
class Cost:
    """Operations of one algorithm on one arm; placing the links in space counted apart."""

    algorithm: Counter[str]
    kinematics: Counter[str]

    @property
    def total(self) -> Counter[str]:
        return self.algorithm + self.kinematics


class CountingChain(DirectChain):
    """A chain whose constants and inputs only count; losses and rotors that are absent are free."""

    def __init__(
        self,
        parameters: Parameters,
        names: Sequence[str],
        shapes: Mapping[str, Shape] | None = None,
    ) -> None:
        inputs = {name: [Count() for _ in parameters.order] for name in names}
        super().__init__(parameters, inputs, number=lambda value: Count(), shapes=shapes)

    def positive(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        return value

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        return value

    def armature(self, k: int) -> Scalar:
        return _absent_or_count(self._rows[k - 1].armature)

    def damping(self, k: int) -> Scalar:
        return _absent_or_count(self._rows[k - 1].damping)

    def friction(self, k: int) -> Scalar:
        return _absent_or_count(self._rows[k - 1].friction)


def _absent_or_count(value: float) -> Scalar:
    return Count() if value else 0.0


def count(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    names: Sequence[str],
    shapes: Mapping[str, Shape] | None = None,
) -> Cost:
    """Run the algorithm on counters and add up what its results need."""
    chain = CountingChain(parameters, names, shapes)
    algorithm(chain)
    return cost_of(value for entries in chain.results.values() for value in entries.values())


def cost_of(results: Iterable[Any]) -> Cost:
    """What results are made of: walk back from them and count every operation once."""
    found = {"algorithm": Counter[str](), "kinematics": Counter[str]()}
    seen: set[int] = set()
    waiting = [value for value in results if isinstance(value, Count)]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            if node.kind:
                found[node.part][node.kind] += 1
            waiting.extend(node.made_from)
    return Cost(found["algorithm"], found["kinematics"])
