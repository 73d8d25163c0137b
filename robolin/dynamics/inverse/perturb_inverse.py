"""Algorithm 1: the perturbation of torque for one perturbation of the motion, O(n)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars, Sink
from robolin.dynamics.algebra.inertias import gyroscopic_times, rigid_times
from robolin.dynamics.algebra.vectors import ZERO6, add, angular, dot, force_cross, scale, twice
from robolin.dynamics.links.groups import same_joint_terms, without_same_joint
from robolin.dynamics.links.joint_torques import conserving_changes, friction_slope
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import apply_nonfollower_correction, excess_turns
from robolin.dynamics.links.nominal_terms import nominal_terms


def perturb_inverse(chain: Chain) -> None:
    """δτ from q, q̇, q̈ and their perturbations."""
    perturbed_torques(chain, forward_kinematics(chain), chain.input("dqdd"), chain.result("dtau"))


def perturbed_torques(chain: Chain, links: Links, dqdd: Scalars, dtau: Sink) -> None:
    """δτ = 𝓜 δq̈ + A_D δq̇ + B_D δq without forming a matrix.

    base to tip   z(k) = z(k+1) + H* δq̈ + 2 Ḣ* δq̇ + Ḧ* δq       v(k) = v(k+1) + H* δq̇ + Ḣ* δq
    tip to base   e(k) = e(k-1) + M z + 2 M̂ v + S[H*] f δq        δτ(k) = H e
    """
    one = nominal_terms(chain, links, chain.input("qdd"))
    qd, dq, dqd = (chain.input(name) for name in ("qd", "dq", "dqd"))

    # perturbed accelerations and velocities
    z, v = chain.slots(6), chain.slots(6)
    z[chain.base] = v[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up, H, Hd = chain.inboard(k), links.H[k], one.Hd[k]
        driven = add(scale(H, dqdd[k]), scale(Hd, dqd[k] + dqd[k]))
        z[k] = add(z[up], add(driven, scale(one.Hdd[k], dq[k])))
        v[k] = add(v[up], add(scale(H, dqd[k]), scale(one.Pd[k], dq[k])))

    # perturbed forces
    e, excess = chain.child_sums(6), excess_turns(chain, links, dq)
    own = same_joint_terms(chain, links, one.f, dq)
    needed = conserving_changes(chain, links, qd, dq, dqd)
    for k in chain.tip_to_base():
        H = links.H[k]
        gyro = gyroscopic_times(one.Mhat[k], twice(angular(v[k])))
        turned = force_cross(scale(H, dq[k]), one.f[k])
        change = add(e[k], add(add(rigid_times(links.M[k], z[k]), gyro), turned))
        change = apply_nonfollower_correction(excess, k, change)
        e.add_to_parent(k, change)
        slope = friction_slope(chain, k, qd[k])
        felt = dot(H, change) + chain.armature(k) * dqdd[k] + slope * dqd[k]
        if needed is not None:
            felt = felt + needed[k]
        dtau.put((k,), without_same_joint(own, k, felt))
