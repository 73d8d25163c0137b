"""Compact storage of rigid-body, articulated-body and gyroscopic inertias.

rigid M        10 numbers   m, m p (3), J (6): mass, first moment, rotary inertia about the frame
articulated P  21 numbers   the upper triangle of a symmetric 6x6 matrix, row by row
gyroscopic M̂   12 numbers   E (9), s (3): the matrix [[E, 0], [s~, 0]]
half           18 numbers   a 6x3 matrix, the left half of a 6x6 one whose right half is zero
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import (
    add,
    cross,
    dot,
    force_cross,
    rotate,
    rotate_back,
    scale,
    sub,
)

ZERO_ARTICULATED: Vector = (0.0,) * 21

# index of entry (i, j) of a symmetric 6x6 matrix in its stored upper triangle
ENTRY_INDEX = [[0] * 6 for _ in range(6)]
for _index, (_i, _j) in enumerate((i, j) for i in range(6) for j in range(i, 6)):
    ENTRY_INDEX[_i][_j] = ENTRY_INDEX[_j][_i] = _index

# each row of the matrix, read from the triangle
_ROWS = [itemgetter(*row) for row in ENTRY_INDEX]


def symmetric_times(J: Vector, a: Vector) -> Vector:
    """J a, for a symmetric 3x3 matrix xx xy xz yy yz zz."""
    return (
        J[0] * a[0] + J[1] * a[1] + J[2] * a[2],
        J[1] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[2] * a[0] + J[4] * a[1] + J[5] * a[2],
    )


def rigid_times(M: Vector, X: Vector) -> Vector:
    """M X = [J a + mp x b; m b - mp x a] for X = [a; b]."""
    m, mp, J, a, b = M[0], M[1:4], M[4:], X[:3], X[3:]
    return add(symmetric_times(J, a), cross(mp, b)) + sub(scale(b, m), cross(mp, a))


def rigid_inertia(R: Vector, p: Vector, mass: Scalar, com: Vector, rotary: Vector) -> Vector:
    """M of a body at pose (R, p), referred to the inertial frame.

    c = p + R com;   J = R rotary R* + m (|c|² 1 - c c*)
    """
    c = add(p, rotate(R, com))
    mp = scale(c, mass)
    x, y, z = mp[0] * c[0], mp[1] * c[1], mp[2] * c[2]
    T0, T1, T2 = (symmetric_times(rotary, R[i : i + 3]) for i in (0, 3, 6))
    return (
        mass,
        *mp,
        dot(T0, R[0:3]) + (y + z),
        dot(T0, R[3:6]) - mp[0] * c[1],
        dot(T0, R[6:9]) - mp[0] * c[2],
        dot(T1, R[3:6]) + (x + z),
        dot(T1, R[6:9]) - mp[1] * c[2],
        dot(T2, R[6:9]) + (x + y),
    )


def newton_euler(
    R: Vector, p: Vector, body: tuple[Scalar, Vector, Vector], V: Vector, alpha: Vector
) -> Vector:
    """M a + S[V] M V of a body at pose (R, p), without forming M.

    c = p + R com;   F = m (a + α x c + w x (u + w x c))
    N = R (I α' + w' x I w') + c x F,   with α' = R* α and w' = R* w in the body's own axes
    """
    mass, com, rotary = body
    w, u, turn, shift = V[:3], V[3:], alpha[:3], alpha[3:]
    c = add(p, rotate(R, com))
    F = scale(add(add(shift, cross(turn, c)), cross(w, add(u, cross(w, c)))), mass)
    own, own_turn = rotate_back(R, w), rotate_back(R, turn)
    N = add(symmetric_times(rotary, own_turn), cross(own, symmetric_times(rotary, own)))
    return add(rotate(R, N), cross(c, F)) + F


def gyroscopic(M: Vector, V: Vector) -> Vector:
    """M̂ = ½ (Ṁ - Q[M V]), with which M̂ V is the gyroscopic force.

    E = w~ (J - ½ tr(J) 1) - mp~ u~ = w~ (J - ½ tr(J) 1) - u mp* + (mp·u) 1;   s = -(m u + w x mp)
    """
    m, mp, J, w, u = M[0], M[1:4], M[4:], V[:3], V[3:]
    half = (J[0] + J[3] + J[5]) * 0.5
    columns = (
        cross(w, (J[0] - half, J[1], J[2])),
        cross(w, (J[1], J[3] - half, J[4])),
        cross(w, (J[2], J[4], J[5] - half)),
    )
    outer = [u[i] * mp[j] for i in range(3) for j in range(3)]
    x, y, z = outer[0], outer[4], outer[8]
    diagonal = {0: y + z, 4: x + z, 8: x + y}
    E = tuple(
        columns[i % 3][i // 3] + diagonal[i] if i in diagonal else columns[i % 3][i // 3] - outer[i]
        for i in range(9)
    )
    return E + sub(cross(mp, w), scale(u, m))


def gyroscopic_times(Mhat: Vector, a: Vector) -> Vector:
    """M̂ X = [E a; s x a], which depends only on the angular part a of X."""
    E, s = Mhat[:9], Mhat[9:]
    return (dot(E[0:3], a), dot(E[3:6], a), dot(E[6:9], a), *cross(s, a))


def gyroscopic_transpose_times(Mhat: Vector, X: Vector) -> Vector:
    """The angular part of M̂* X, E* a - s x b; its linear part is zero."""
    E, s, a, b = Mhat[:9], Mhat[9:], X[:3], X[3:]
    return sub((dot(E[0::3], a), dot(E[1::3], a), dot(E[2::3], a)), cross(s, b))


def half_of(Mhat: Vector) -> Vector:
    """M̂ written out as a 6x3 matrix."""
    s = Mhat[9:]
    return (*Mhat[:9], 0.0, -s[2], s[1], s[2], 0.0, -s[0], -s[1], s[0], 0.0)


def half_times(half: Vector, a: Vector) -> Vector:
    """The 6x3 matrix times a three-vector."""
    return tuple([dot(half[i : i + 3], a) for i in range(0, 18, 3)])


def times_half(X: Vector, half: Vector) -> Vector:
    """The row X* times a 6x3 matrix."""
    return tuple([dot(X, half[j::3]) for j in range(3)])


def outer_half(X: Vector, row: Vector) -> Vector:
    """The 6x3 matrix X row."""
    return tuple([x * r for x in X for r in row])


def articulated_from(M: Vector) -> Vector:
    """A rigid inertia [[J, mp~], [-mp~, m 1]] as a symmetric 6x6 matrix."""
    m, (x, y, z), J = M[0], M[1:4], M[4:]
    return (
        *(J[0], J[1], J[2], 0.0, -z, y),
        *(J[3], J[4], z, 0.0, -x),
        *(J[5], -y, x, 0.0),
        *(m, 0.0, 0.0),
        *(m, 0.0),
        m,
    )


def articulated_times(P: Vector, X: Vector) -> Vector:
    """P X."""
    return tuple([dot(row(P), X) for row in _ROWS])


def rank_one(X: Vector, Y: Vector) -> Vector:
    """The upper triangle of X Y*, for a product that is known to be symmetric."""
    return tuple([X[i] * Y[j] for i in range(6) for j in range(i, 6)])


def articulated_turned(twist: Vector, P: Vector) -> Vector:
    """The upper triangle of S[twist] P + (S[twist] P)*."""
    columns = [force_cross(twist, tuple(P[entry] for entry in row)) for row in ENTRY_INDEX]
    return tuple(columns[j][i] + columns[i][j] for i in range(6) for j in range(i, 6))


def articulated_through_hinge(rate: Vector, H: Vector, G: Vector) -> Vector:
    """τ̄ λ̇ τ̄* with τ̄ = I - G H: written as λ̇ - G y* - y G*, y = λ̇ H* - ½ (H λ̇ H*) G."""
    along = articulated_times(rate, H)
    y = sub(along, scale(G, dot(H, along) * 0.5))
    return tuple(
        rate[ENTRY_INDEX[i][j]] - (G[i] * y[j] + y[i] * G[j]) for i in range(6) for j in range(i, 6)
    )


def symmetric_inverse(A: Vector, checked: Callable[[Scalar, Scalar], Scalar]) -> Vector:
    """The inverse of a positive definite symmetric 6x6 matrix (21) by the sweep operator.

    a(i,j) = a(i,j) - a(i,k) a(k,j) / a(k,k)     a(i,k) = a(i,k) / a(k,k)     a(k,k) = -1 / a(k,k)

    checked: returns a pivot, given with its value before elimination, or reports it
    """
    a = list(A)
    for k in range(6):
        own = ENTRY_INDEX[k][k]

        pivot = 1.0 / checked(a[own], A[own])
        column = [a[ENTRY_INDEX[i][k]] for i in range(6)]
        others = [i for i in range(6) if i != k]

        # update every other row and column
        for i in others:
            factor = column[i] * pivot
            for j in others:
                if j >= i:
                    a[ENTRY_INDEX[i][j]] = a[ENTRY_INDEX[i][j]] - factor * column[j]
            a[ENTRY_INDEX[i][k]] = factor
        a[own] = -pivot
    return tuple(-x for x in a)
