"""The one decision an algorithm may take about its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from robolin.dynamics.algebra.scalar import Scalar


def if_less(a: Any, b: Any, yes: Any, no: Any) -> Scalar:
    """`yes` where a < b, `no` elsewhere; both are computed in any case.

    A complex step decides as its real part does.
    """
    if type(a) is type(b) is float:
        chosen_float: Scalar = yes if a < b else no
        return chosen_float
    for number in (a, b):
        if hasattr(number, "if_less"):
            chosen: Scalar = number.if_less(a, b, yes, no)
            return chosen
        if hasattr(number, "shape"):
            import numpy

            picked: Scalar = numpy.where(numpy.real(a) < numpy.real(b), yes, no)
            return picked
    either: Scalar = yes if a.real < b.real else no
    return either


Axis = Literal["joint", "link", "closure"] | int
Shape = tuple[Axis, ...]

NUMBER: Shape = ()
VECTOR: Shape = ("joint",)
MATRIX: Shape = ("joint", "joint")

# ten numbers of a link, and the damping, armature and friction of its joint
REGRESSOR_COLUMNS = 13
# stiffness and stiffness · rest of the spring of its joint
SPRING_COLUMNS = 2
# a joint turned and slid on the link inboard of it, and its link on it likewise
GEOMETRY_COLUMNS = 12
