"""The Coriolis matrix C consistent with ∂𝓜/∂q: 𝓜̇ - 2 C is skew-symmetric, O(n · depth).

With single-DoF joints it is ½ A_D without damping.  With multi-DoF joints, Ḣ* is the rate of the
axis fixed in its body, and A_D is a different matrix.  𝓜̇ - 2 C is still skew-symmetric, since Ḣ* is
the rate of the hinge maps in 𝓜.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars, Sink
from robolin.dynamics.algebra.inertias import (
    gyroscopic,
    gyroscopic_times,
    gyroscopic_transpose_times,
    rigid_times,
)
from robolin.dynamics.algebra.vectors import add, angular, dot
from robolin.dynamics.links.group_rotors import add_rotor_coriolis
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics


def coriolis_matrix(chain: Chain) -> None:
    """C from q and q̇."""
    qd, C = chain.input("qd"), chain.result("coriolis_matrix")
    coriolis_entries(chain, forward_kinematics(chain), qd, C)


def coriolis_entries(chain: Chain, links: Links, qd: Scalars, C: Sink) -> None:
    """As A_D in Algorithm 2 without its factor 2, from q and q̇ alone.

    X = R H*       X̂ = R̂* H*       X_C = R Ḣ* + R̂ H*
    C(j,k) = H(j) X_C              C(k,j) = X* Ḣ*(j) + X̂* H*(j)
    """
    moving = velocities(chain, links, qd)
    R, Rhat = chain.child_sums(10), chain.child_sums(12)
    for k in chain.tip_to_base():
        # everything outboard of hinge k as one body, and its gyroscopic matrix
        H = links.H[k]
        composite = add(R[k], links.M[k])
        gyro = add(Rhat[k], gyroscopic(links.M[k], moving.V[k]))
        R.add_to_parent(k, composite)
        Rhat.add_to_parent(k, gyro)

        # forces that unit motions of hinge k need
        X, Xhat = rigid_times(composite, H), gyroscopic_transpose_times(gyro, H)
        XC = add(rigid_times(composite, moving.Hd[k]), gyroscopic_times(gyro, angular(H)))
        C.put((k, k), dot(H, XC))

        # effect of hinge k on hinges inboard, and of them on hinge k
        for j in chain.inboard_of(k):
            C.put((j, k), dot(links.H[j], XC))
            back = dot(X, moving.Hd[j]) + dot(Xhat, angular(links.H[j]))
            C.put((k, j), back)
    add_rotor_coriolis(chain, links, qd, C)
