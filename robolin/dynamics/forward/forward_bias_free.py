"""Forward dynamics in four sweeps: subtract all bias torques, then solve 𝓜 q̈ = τ', O(n).

A computes the accelerations of the joints, B also those of the links.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, Slots
from robolin.dynamics.algebra.vectors import ZERO6, add, scale
from robolin.dynamics.frames.tip_frame import at_point
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.apply_inverse_mass import response
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies


def forward_bias_free(chain: Chain) -> None:
    """A: q̈ from q, q̇ and τ."""
    bias_free(chain, forward_kinematics(chain))


def forward_bias_free_links(chain: Chain) -> None:
    """B: q̈, and the spatial acceleration of every link at its own origin.

    base to tip   ζ(k) = ζ(k+1) + c(k)          a(k) = λ(k) + ζ(k)        with c = Ḣ* q̇

    The base is fixed, so these accelerations are relative to it; gravity is in λ.
    """
    links, qd = forward_kinematics(chain), chain.input("qd")
    lam = bias_free(chain, links)

    # link accelerations for q̈ = 0
    Hd, zeta = velocities(chain, links, qd).Hd, chain.slots(6)
    zeta[chain.base] = ZERO6
    for k in chain.base_to_tip():
        zeta[k] = add(zeta[chain.inboard(k)], scale(Hd[k], qd[k]))
        a = at_point(add(lam[k], zeta[k]), links.p[k])
        for i in range(6):
            chain.out("link_acceleration", (k, i), a[i])


def bias_free(chain: Chain, links: Links) -> Slots:
    """Write q̈ and return λ, the link accelerations caused by q̈.

    τ' = τ - τ(q, q̇, q̈ = 0)                                two sweeps of Newton–Euler
    tip to base   z(k) = τ̄ z(k-1) + G τ'(k-1)                ε = τ' - H z
    base to tip   q̈(k) = ε/D - G* λ(k+1)                      λ(k) = λ(k+1) + H* q̈
    """
    # subtract the bias torques
    tau, free = chain.input("tau"), chain.scalars()
    bias = _bias_torques(chain, links)
    for k in chain.tip_to_base():
        free[k] = tau[k] - bias[k]

    # the remaining torque accelerates the arm as if it were at rest
    qdd, lam = response(chain, links, articulated_bodies(chain, links), free)
    for k in chain.tip_to_base():
        chain.out("qdd", (k,), qdd[k])
    return lam


def _bias_torques(chain: Chain, links: Links) -> Column:
    """Torques for q̈ = 0: Coriolis forces, gravity, loads and friction."""
    bias = chain.column()
    torques(chain, links, chain.input("qd"), chain.zeros(), bias)
    return bias
