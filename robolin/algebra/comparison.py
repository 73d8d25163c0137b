"""The one decision an algorithm may take about its numbers."""

from __future__ import annotations

from typing import Any

Scalar = Any


def if_less(a: Scalar, b: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """`yes` where a < b, `no` elsewhere; both are computed in any case.

    A complex step decides as its real part does.
    """
    for number in (a, b):
        if hasattr(number, "if_less"):
            return number.if_less(a, b, yes, no)
        if hasattr(number, "shape"):
            import numpy

            return numpy.where(numpy.real(a) < numpy.real(b), yes, no)
    return yes if a.real < b.real else no
