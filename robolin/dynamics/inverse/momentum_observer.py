"""Momentum observer: external torques from q, q̇ and τ, without accelerations, O(n).

The generalized momentum p = 𝓜 q̇ changes by 𝓜̇ q̇ = C q̇ + C* q̇, so that external torques τ_e are

    ṗ = β + τ_e        β = τ + C* q̇ - gravity - springs - friction - loads

The estimate r follows ṙ = K (τ_e - r).  Between two rows, τ_e is constant and β is linear:

    r = a r⁻ + (1 - a) ((p - p⁻) / h - ½ (β + β⁻))        a = exp(-K h)

with the period h.  The terms of the earlier row are one state per joint:

    r = s⁻ + (1 - a) (p / h - ½ β)        s = a r - (1 - a) (p / h + ½ β)
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column
from robolin.dynamics.algebra.inertias import rigid_times
from robolin.dynamics.algebra.vectors import add, dot
from robolin.dynamics.links.joint_torques import conserving_torques, resisting_torque
from robolin.dynamics.links.link_motion import base_acceleration, velocities
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external

# a and 1/h
_CONSTANTS = ("observer_decay", "observer_rate")


def generalized_momentum(chain: Chain) -> None:
    """p and β from q, q̇ and τ."""
    p, beta = _momentum(chain)
    momentum, rate = chain.result("generalized_momentum"), chain.result("momentum_rate")
    for j in chain.coordinates():
        momentum[j], rate[j] = p[j], beta[j]


def momentum_observer(chain: Chain) -> None:
    """r and s from q, q̇, τ, the state s⁻ of the row before, a and 1/h."""
    p, beta = _momentum(chain)
    state, decay, rate = (chain.input(name) for name in ("observer", *_CONSTANTS))
    estimate, after = chain.result("tau_external"), chain.result("observer_next")
    for j in chain.coordinates():
        k = chain.leader(j)
        gain = 1.0 - decay[k]
        carried, half = gain * rate[k] * p[j], 0.5 * gain * beta[j]
        r = state[k] + (carried - half)
        estimate[j] = r
        after[j] = decay[k] * r - (carried + half)


def momentum_observer_start(chain: Chain) -> None:
    """The state s for which r = 0 in this row."""
    p, beta = _momentum(chain)
    after, (decay, rate) = chain.result("observer"), map(chain.input, _CONSTANTS)
    for j in chain.coordinates():
        k = chain.leader(j)
        gain = 1.0 - decay[k]
        after[j] = -(gain * rate[k] * p[j] + 0.5 * gain * beta[j])


def _momentum(chain: Chain) -> tuple[Column, Column]:
    """p and β of the independent coordinates.

    P(k) = P(k-1) + M(k) V(k)                     momentum of everything outboard of hinge k
    W(k) = W(k-1) + M(k) [0; -g] + f0(k)          its weight and external wrenches
    p(k) = H(k) P(k) + armature q̇(k)
    β(k) = τ(k) + Ḣ(k) P(k) - H(k) W(k) - friction - spring
    """
    links, qd, tau = forward_kinematics(chain), chain.input("qd"), chain.input("tau")
    moving, f0 = velocities(chain, links, qd), external_forces(chain, links)
    needed = conserving_torques(chain, links, qd)
    P, W, upward = chain.child_sums(6), chain.child_sums(6), base_acceleration(chain)
    p, beta = chain.column(), chain.column()
    for k in chain.tip_to_base():
        # momentum and weight of link k and everything outboard of it
        M = links.M[k]
        moved = add(P[k], rigid_times(M, moving.V[k]))
        weight = add(W[k], plus_external(f0, k, rigid_times(M, upward)))
        P.add_to_parent(k, moved)
        W.add_to_parent(k, weight)

        # along the hinge, which turns with the link
        p.put((k,), dot(links.H[k], moved) + chain.armature(k) * qd[k])
        resisted = dot(links.H[k], weight) + resisting_torque(chain, needed, k, qd[k])
        beta.put((k,), tau[k] + dot(moving.Hd[k], moved) - resisted)
    return p, beta
