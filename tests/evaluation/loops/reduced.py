"""Planar linkages as in textbooks: minimal coordinates, energies, Lagrange's equation.

The geometry is closed by intersecting circles, in 50 digits, and derivatives are differences of
those. Nothing here uses trees, closures, Jacobians or robolin's models: bars, masses and lengths
are written down again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath as mp
import numpy as np

GRAVITY = 9.81
# at 60 digits, differences over these steps are exact to more digits than a double has
DIGITS, STEP, WIDER_STEP = 60, mp.mpf(10) ** -20, mp.mpf(10) ** -14

Vector = Sequence[mp.mpf]


@dataclass(frozen=True)
class Bar:
    """A uniform rod of 1 kg/m from one point to another, at an angle."""

    start: mp.mpc
    stop: mp.mpc

    @property
    def mass(self) -> mp.mpf:
        return abs(self.stop - self.start)

    @property
    def middle(self) -> mp.mpc:
        return (self.start + self.stop) / 2

    @property
    def angle(self) -> mp.mpf:
        return mp.arg(self.stop - self.start)


@dataclass(frozen=True)
class Linkage:
    """Bars for free coordinates θ, and all joint angles of robolin's model for them."""

    bars: Callable[[Vector], list[Bar]]
    joints: Callable[[list[Bar]], list[mp.mpf]]


def meeting(first: mp.mpc, a: mp.mpf, second: mp.mpc, b: mp.mpf) -> mp.mpc:
    """Intersection of two circles, left of the line from the first centre to the second."""
    way = second - first
    s = abs(way)
    along = (a**2 - b**2 + s**2) / (2 * s)
    return first + way / s * mp.mpc(along, mp.sqrt(a**2 - along**2))


def _four_bar(theta: Vector) -> list[Bar]:
    a, b, c, d = mp.mpf("0.5"), mp.mpf("1.3"), mp.mpf(1), mp.mpf("1.2")
    ground, other = mp.mpc(0), mp.mpc(d)
    crank = a * mp.expjpi(mp.mpf(1) / 2) * mp.expj(theta[0])
    pin = meeting(crank, b, other, c)
    return [Bar(ground, crank), Bar(crank, pin), Bar(other, pin)]


def _four_bar_joints(bars: list[Bar]) -> list[mp.mpf]:
    crank, coupler, rocker = (bar.angle for bar in bars)
    rest = mp.atan2(mp.mpf("0.5"), mp.mpf("1.2"))
    return [crank - mp.pi / 2, coupler - rest - (crank - mp.pi / 2), rocker - mp.pi / 2]


def _five_bar(theta: Vector) -> list[Bar]:
    left, right = mp.mpc("-0.1"), mp.mpc("0.1")
    elbows = [
        left + mp.mpc("-0.15", "0.2") * mp.expj(theta[0]),
        right + mp.mpc("0.15", "0.2") * mp.expj(theta[1]),
    ]
    hand = meeting(elbows[0], mp.mpf("0.65"), elbows[1], mp.mpf("0.65"))
    return [Bar(left, elbows[0]), Bar(elbows[0], hand), Bar(right, elbows[1]), Bar(elbows[1], hand)]


def _five_bar_joints(bars: list[Bar]) -> list[mp.mpf]:
    rest = [mp.mpc("-0.15", "0.2"), mp.mpc("0.25", "0.6"), mp.mpc("0.15", "0.2"),
            mp.mpc("-0.25", "0.6")]  # fmt: skip
    turned = [bar.angle - mp.arg(at_rest) for bar, at_rest in zip(bars, rest, strict=True)]
    return [turned[0], turned[1] - turned[0], turned[2], turned[3] - turned[2]]


FOUR_BAR = Linkage(_four_bar, _four_bar_joints)
FIVE_BAR = Linkage(_five_bar, _five_bar_joints)


@dataclass(frozen=True)
class Reduced:
    """A state of the linkage that belongs to θ, θ̇ and torques: all as doubles."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def reduced(
    linkage: Linkage, theta: Sequence[float], rate: Sequence[float], tau: Sequence[float]
) -> Reduced:
    """The motion by Lagrange's equation in θ:  M θ̈ + Σ (∂M_ij/∂θ_k - ½ ∂M_jk/∂θ_i) θ̇θ̇ + V' = Q."""
    with mp.workdps(DIGITS):
        return _as_doubles(*_lagrange(linkage, *(_exact(x) for x in (theta, rate, tau))))


def reduced_change(
    linkage: Linkage,
    theta: Sequence[float],
    rate: Sequence[float],
    tau: Sequence[float],
    along: tuple[Sequence[float], Sequence[float]],
) -> Reduced:
    """The derivative of that motion along a change of θ and θ̇."""
    with mp.workdps(DIGITS):
        where, speed, torque = (_exact(x) for x in (theta, rate, tau))
        step = mp.mpf(10) ** -8
        ends = [
            _lagrange(
                linkage,
                _moved(where, along[0], sign * step),
                _moved(speed, along[1], sign * step),
                torque,
            )
            for sign in (1, -1)
        ]
        change = ([(x - y) / (2 * step) for x, y in zip(*pair, strict=True)]
                  for pair in zip(*ends, strict=True))  # fmt: skip
        return _as_doubles(*change)


def _lagrange(
    linkage: Linkage, theta: Vector, rate: Vector, tau: Vector
) -> tuple[list[mp.mpf], list[mp.mpf], list[mp.mpf]]:
    n = len(theta)
    M, dM = _inertia(linkage, theta), [
        _difference(lambda x: _inertia(linkage, x), theta, k, WIDER_STEP) for k in range(n)
    ]  # fmt: skip
    dV = [_difference(lambda x: mp.matrix([_weight(linkage, x)]), theta, k, STEP)[0]
          for k in range(n)]  # fmt: skip
    J = _joint_gradient(linkage, theta)
    force = mp.matrix(n, 1)
    for i in range(n):
        force[i] = mp.fsum(J[m, i] * tau[m] for m in range(J.rows)) - dV[i]
        force[i] -= mp.fsum(
            (dM[k][i, j] - dM[i][j, k] / 2) * rate[j] * rate[k] for j in range(n) for k in range(n)
        )
    thetadd = mp.lu_solve(M, force)
    dJ = mp.matrix(J.rows, n)
    for k in range(n):
        dJ += rate[k] * _difference(lambda x: _joint_gradient(linkage, x), theta, k, WIDER_STEP)
    qd = J * mp.matrix(rate)
    qdd = J * thetadd + dJ * mp.matrix(rate)
    return linkage.joints(linkage.bars(theta)), list(qd), list(qdd)


def _inertia(linkage: Linkage, theta: Vector) -> mp.matrix:
    """M(θ) of T = ½ Σ m |ċ|² + ½ (m l²/12) φ̇² = ½ θ̇ᵀ M θ̇."""
    n, bars = len(theta), linkage.bars(theta)
    gradients = [_difference(lambda x: _places(linkage.bars(x)), theta, k, STEP) for k in range(n)]
    weights = mp.matrix(
        [w for bar in bars for w in (bar.mass, bar.mass, bar.mass * bar.mass**2 / 12)]
    )
    M = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            M[i, j] = mp.fsum(
                w * x * y for w, x, y in zip(weights, gradients[i], gradients[j], strict=True)
            )
    return M


def _places(bars: list[Bar]) -> mp.matrix:
    return mp.matrix([x for bar in bars for x in (bar.middle.real, bar.middle.imag, bar.angle)])


def _weight(linkage: Linkage, theta: Vector) -> mp.mpf:
    return mp.fsum(bar.mass * mp.mpf(str(GRAVITY)) * bar.middle.imag for bar in linkage.bars(theta))


def _joint_gradient(linkage: Linkage, theta: Vector) -> mp.matrix:
    columns = [
        _difference(lambda x: mp.matrix(linkage.joints(linkage.bars(x))), theta, k, STEP)
        for k in range(len(theta))
    ]
    J = mp.matrix(len(columns[0]), len(theta))
    for k, column in enumerate(columns):
        J[:, k] = column
    return J


def _difference(
    function: Callable[[Vector], mp.matrix], theta: Vector, k: int, step: mp.mpf
) -> mp.matrix:
    up, down = ([x + (sign * step if i == k else 0) for i, x in enumerate(theta)]
                for sign in (1, -1))  # fmt: skip
    return (function(up) - function(down)) / (2 * step)


def _moved(values: Vector, along: Sequence[float], step: mp.mpf) -> list[mp.mpf]:
    return [value + step * mp.mpf(change) for value, change in zip(values, along, strict=True)]


def _exact(values: Sequence[float]) -> list[mp.mpf]:
    return [mp.mpf(float(value)) for value in values]


def _as_doubles(*parts: Sequence[mp.mpf]) -> Reduced:
    return Reduced(*(np.array([float(value) for value in part]) for part in parts))
