"""What a joint loses: viscous damping and smoothed Coulomb friction.

    loss(q̇)  = d q̇ + μ tanh(q̇ / e)
    slope(q̇) = d + (μ / e) (1 - tanh²(q̇ / e))

Coulomb friction counts only when a smoothing velocity e is given: without one it has no slope.
"""

from __future__ import annotations

from robolin.algebra.chain import Chain, LinkNumber, Scalars
from robolin.algebra.scalar import Scalar, tanh


def friction_loss(chain: Chain, k: LinkNumber, qd: Scalar) -> Scalar:
    viscous = chain.damping(k) * qd
    if chain.friction_velocity is None:
        return viscous
    return viscous + chain.friction(k) * tanh(qd / chain.friction_velocity)


def friction_slope(chain: Chain, k: LinkNumber, qd: Scalar) -> Scalar:
    if chain.friction_velocity is None:
        return chain.damping(k)

    # 1 - t² as a product, which keeps its digits where t is almost 1
    t = tanh(qd / chain.friction_velocity)
    return chain.damping(k) + chain.friction(k) / chain.friction_velocity * ((1.0 - t) * (1.0 + t))


def friction_slopes(chain: Chain) -> Scalars:
    """The slope of every joint, for algorithms that need each more than once."""
    qd, slopes = chain.given("qd"), chain.scalars()
    for k in chain.tip_to_base():
        slopes[k] = friction_slope(chain, k, qd[k])
    return slopes
