"""Branch-free selection, the only comparison an algorithm may use, and regressor columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from robolin.dynamics.algebra.scalar import Scalar


def if_less(a: Any, b: Any, yes: Any, no: Any) -> Scalar:
    """Return `yes` where a < b, `no` elsewhere; both are always computed.

    Complex numbers are compared by their real parts, as the complex-step derivative requires.
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

# ten inertial parameters of a link, and the damping, armature and friction of its joint
REGRESSOR_COLUMNS = 13
# stiffness and stiffness · rest of the spring of its joint
SPRING_COLUMNS = 2
# rotations and translations of a joint on the link inboard of it, and of the link on its joint
GEOMETRY_COLUMNS = 12
