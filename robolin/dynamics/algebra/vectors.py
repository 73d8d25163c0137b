"""Three-vectors, spatial six-vectors and rotations, over any scalar.

A spatial vector is [angular; linear]: a velocity is V = [w; u], a force f = [N; F].
All of them are referred to the one inertial frame, so no vector is ever shifted.
"""

from __future__ import annotations

from functools import reduce
from operator import add as plus
from operator import mul as times
from operator import sub as minus

from robolin.dynamics.algebra.scalar import Scalar, Vector

ZERO3: Vector = (0.0,) * 3
ZERO6: Vector = (0.0,) * 6
IDENTITY: Vector = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def add(a: Vector, b: Vector) -> Vector:
    assert len(a) == len(b)
    return tuple(map(plus, a, b))


def sub(a: Vector, b: Vector) -> Vector:
    assert len(a) == len(b)
    return tuple(map(minus, a, b))


def scale(a: Vector, s: Scalar) -> Vector:
    return tuple([x * s for x in a])


def twice(a: Vector) -> Vector:
    return tuple(map(plus, a, a))


def dot(a: Vector, b: Vector) -> Scalar:
    """a · b, summed from left to right for every scalar type."""
    size = len(a)
    assert size == len(b)
    # unrolled for the most used sizes: takes half the time
    if size == 3:
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    if size == 6:
        (a0, a1, a2, a3, a4, a5), (b0, b1, b2, b3, b4, b5) = a, b
        return a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3 + a4 * b4 + a5 * b5
    total: Scalar = reduce(plus, map(times, a, b))
    return total


def added_up(values: Vector) -> Scalar:
    """The sum from left to right; 0 without values."""
    so_far: Scalar = 0.0
    for value in values:
        so_far = so_far + value
    return so_far


def cross(a: Vector, b: Vector) -> Vector:
    """a x b, for three-vectors."""
    (a0, a1, a2), (b0, b1, b2) = a, b
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


def angular(X: Vector) -> Vector:
    return X[:3]


def motion_cross(X: Vector, Y: Vector) -> Vector:
    """X x Y = [a x c; b x c + a x d] for motions X = [a; b], Y = [c; d]."""
    a, b, c, d = X[:3], X[3:], Y[:3], Y[3:]
    return cross(a, c) + add(cross(b, c), cross(a, d))


def force_cross(X: Vector, f: Vector) -> Vector:
    """S[X] f = [a x N + b x F; a x F] for a motion X = [a; b] and a force f = [N; F]."""
    a, b, N, F = X[:3], X[3:], f[:3], f[3:]
    return add(cross(a, N), cross(b, F)) + cross(a, F)


def rotate(R: Vector, x: Vector) -> Vector:
    """R x, for a rotation matrix of nine numbers in row order."""
    return dot(R[0:3], x), dot(R[3:6], x), dot(R[6:9], x)


def rotate_back(R: Vector, x: Vector) -> Vector:
    """R* x."""
    return dot(R[0::3], x), dot(R[1::3], x), dot(R[2::3], x)


def rotate_rotation(R: Vector, E: Vector) -> Vector:
    """R E, the product of two rotation matrices."""
    columns = (E[0::3], E[1::3], E[2::3])
    return tuple([dot(row, column) for row in (R[0:3], R[3:6], R[6:9]) for column in columns])
