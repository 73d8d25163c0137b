"""Algorithm 2: the linearized inverse dynamics model 𝓜, A_D, B_D, O(n · depth).

Algorithm 1 applies it to one perturbation of the motion without the matrices, O(n).
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Sink
from robolin.dynamics.algebra.inertias import (
    gyroscopic_times,
    gyroscopic_transpose_times,
    rigid_times,
)
from robolin.dynamics.algebra.vectors import ZERO6, add, angular, dot, force_cross, scale, twice
from robolin.dynamics.links.group_rotors import add_rotor_slopes
from robolin.dynamics.links.groups import same_joint_terms, subtract_same_joint, without_same_joint
from robolin.dynamics.links.joint_torques import conserving_changes, friction_slope, with_stiffness
from robolin.dynamics.links.link_motion import NominalTerms, doubled, nominal_terms
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import (
    apply_nonfollower_correction,
    excess_turns,
    nonfollower_correction,
)


def linearize_inverse(chain: Chain) -> None:
    """𝓜 = ∂τ/∂q̈, A_D = ∂τ/∂q̇ and B_D = ∂τ/∂q at q, q̇, q̈."""
    links = forward_kinematics(chain)
    model = InverseModel(*map(chain.result, ("mass_matrix", "dtau_dqd", "dtau_dq")))
    inverse_model(chain, links, nominal_terms(chain, links, chain.input("qdd")), model)


class InverseModel(NamedTuple):
    """Outputs for 𝓜, A_D and B_D; None for 𝓜 if it is already known."""

    mass: Sink | None
    AD: Sink
    BD: Sink


def inverse_model(chain: Chain, links: Links, one: NominalTerms, model: InverseModel) -> None:
    """Composite bodies with their gyroscopic matrices, projected on every hinge inboard.

    R(k)  = R(k-1) + M(k)                      R̂(k) = R̂(k-1) + M̂(k)
    X     = R H*                               X̂    = 2 R̂* H*
    X_A   = 2 [R Ḣ* + R̂ H*]                    X_B  = R Ḧ* + 2 R̂ Ḣ* + S[H*] f

    𝓜(j,k) = H(j) X      A_D(j,k) = H(j) X_A                       B_D(j,k) = H(j) X_B
                         A_D(k,j) = X* 2 Ḣ*(j) + X̂* H*(j)          B_D(k,j) = X* Ḧ*(j) + X̂* Ḣ*(j)
    """
    qd, (mass, AD, BD) = chain.input("qd"), model
    Hd2, Pd2 = doubled(chain, one)

    R, Rhat = chain.child_sums(10), chain.child_sums(12)
    X, Xhat, XA, XB = (chain.slots(size) for size in (6, 3, 6, 6))
    for k in chain.tip_to_base():
        H, Hdd = links.H[k], one.Hdd[k]
        composite, gyro = add(R[k], links.M[k]), add(Rhat[k], one.Mhat[k])
        R.add_to_parent(k, composite)
        Rhat.add_to_parent(k, gyro)

        # forces that unit perturbations of hinge k need
        X[k] = rigid_times(composite, H)
        Xhat[k] = twice(gyroscopic_transpose_times(gyro, H))
        XA[k] = add(rigid_times(composite, Hd2[k]), gyroscopic_times(gyro, twice(angular(H))))
        unturned = add(rigid_times(composite, Hdd), gyroscopic_times(gyro, angular(Pd2[k])))

        if mass is not None:
            mass.put((k, k), dot(H, X[k]) + chain.armature(k))
        AD.put((k, k), dot(H, XA[k]) + friction_slope(chain, k, qd[k]))
        BD.put((k, k), with_stiffness(chain, k, dot(H, unturned), 1.0))

        # the transmitted force rotates with hinge k, which affects only hinges inboard
        XB[k] = add(unturned, force_cross(H, one.f[k]))

    # columns: effect of hinge k on hinges inboard
    for k, j in chain.inboard_pairs():
        Hj = links.H[j]
        if mass is not None:
            entry = dot(Hj, X[k])
            mass.put((j, k), entry)
            mass.put((k, j), entry)
        AD.put((j, k), dot(Hj, XA[k]))
        BD.put((j, k), dot(Hj, XB[k]))

    # rows: effect of hinges inboard on hinge k
    for k, j in chain.inboard_pairs():
        AD.put((k, j), dot(X[k], Hd2[j]) + dot(Xhat[k], angular(links.H[j])))
        BD.put((k, j), dot(X[k], one.Hdd[j]) + dot(Xhat[k], angular(one.Pd[j])))

    _loads_that_do_not_turn(chain, links, BD)
    subtract_same_joint(chain, links, one.f, BD)
    add_rotor_slopes(chain, links, AD)


def _loads_that_do_not_turn(chain: Chain, links: Links, BD: Sink) -> None:
    """Loads fixed in the world do not rotate: B_D(a,c) -= H(a) nonfollower_correction(H*(c))."""
    for load in chain.loads:
        if load.model != "follower":
            for c in chain.path_of(load.link):
                excess = nonfollower_correction(load, links, links.H[c])
                for a in chain.path_of(load.link):
                    BD.add((a, c), -dot(links.H[a], excess))


def perturb_inverse(chain: Chain) -> None:
    """δτ from q, q̇, q̈ and their perturbations."""
    perturbed_torques(chain, forward_kinematics(chain), chain.input("dqdd"), chain.result("dtau"))


def perturbed_torques(
    chain: Chain, links: Links, dqdd: Scalars, dtau: Sink, one: NominalTerms | None = None
) -> None:
    """δτ = 𝓜 δq̈ + A_D δq̇ + B_D δq without forming a matrix.

    base to tip   z(k) = z(k+1) + H* δq̈ + 2 Ḣ* δq̇ + Ḧ* δq       v(k) = v(k+1) + H* δq̇ + Ḣ* δq
    tip to base   e(k) = e(k-1) + M z + 2 M̂ v + S[H*] f δq        δτ(k) = H e
    """
    one = one or nominal_terms(chain, links, chain.input("qdd"))
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
