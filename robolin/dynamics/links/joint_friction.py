"""Joint friction: viscous damping and smoothed Coulomb friction.

    loss(q̇)  = d q̇ + μ t                          t = tanh(q̇ / e)
    slope(q̇) = d + (μ / e) (1 - t²)

Coulomb friction requires a smoothing velocity e; without one it is discontinuous and is omitted.

One-sided friction, μ₊ for q̇ > 0 and μ₋ for q̇ < 0, has μ = (μ₊ + μ₋) / 2 and δ = (μ₊ - μ₋) / 2:

    loss(q̇)  = d q̇ + (μ + δ t) t
    slope(q̇) = d + ((μ + 2 δ t) / e) (1 - t²)

It is smooth, 0 at rest, and always dissipates energy, since |δ| ≤ μ.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars
from robolin.dynamics.algebra.scalar import Scalar, tanh


def friction_loss(chain: Chain, k: LinkNumber, qd: Scalar) -> Scalar:
    viscous = chain.damping(k) * qd
    if chain.friction_velocity is None:
        return viscous
    t = tanh(qd / chain.friction_velocity)
    if chain.one_sided_friction:
        return viscous + (chain.friction(k) + chain.friction_bias(k) * t) * t
    return viscous + chain.friction(k) * t


def friction_slope(chain: Chain, k: LinkNumber, qd: Scalar) -> Scalar:
    if chain.friction_velocity is None:
        return chain.damping(k)

    # 1 - t² as a product, which stays accurate where t is almost 1
    t = tanh(qd / chain.friction_velocity)
    mu = chain.friction(k)
    if chain.one_sided_friction:
        mu = mu + chain.friction_bias(k) * (t + t)
    return chain.damping(k) + mu / chain.friction_velocity * ((1.0 - t) * (1.0 + t))


def friction_slopes(chain: Chain) -> Scalars:
    """The friction slope of every joint, for algorithms that use each more than once."""
    qd, slopes = chain.input("qd"), chain.scalars()
    for k in chain.tip_to_base():
        slopes[k] = friction_slope(chain, k, qd[k])
    return slopes
