"""The perturbation of acceleration for one perturbation of the motion: Algorithms 5b, 5 and 3.

5b   forward dynamics with other inputs: the perturbed motion replaces the velocity terms; O(n).
     It needs no articulated gyroscopic matrices and so fewer operations than Algorithm 5.
5    as in the paper, with articulated gyroscopic matrices, O(n)
3    Algorithm 1 and a solve with 𝓜
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.inertias import articulated_times, gyroscopic_times
from robolin.dynamics.algebra.vectors import ZERO6, add, angular, dot, force_cross, scale, twice
from robolin.dynamics.forward.conventional import factored_mass_matrix
from robolin.dynamics.forward.linearization_terms import articulated_gyroscopics
from robolin.dynamics.inverse.linearize_inverse import perturbed_torques
from robolin.dynamics.links.groups import same_joint_terms, without_same_joint
from robolin.dynamics.links.joint_torques import conserving_changes, friction_slope
from robolin.dynamics.links.link_motion import nominal_terms
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.links.loads import apply_nonfollower_correction, excess_turns
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies
from robolin.dynamics.mass_matrix.elimination import solve_difference, to_coordinates


def perturb_forward(chain: Chain) -> None:
    """δq̈ = 𝓜⁻¹ (δτ - A_D δq̇ - B_D δq) in three sweeps.

    base to tip   v(k) = v(k+1) + H* δq̇ + Ḣ* δq           c(k) = 2 Ḣ* δq̇ + Ḧ* δq
    tip to base   z(k) = z⁺(k-1) + 2 M̂ v + P c + S[H*] f δq
                  ε(k) = δτ - H z                          z⁺(k) = z + G ε
    base to tip   δq̈(k) = ε/D - G* λ(k+1)                  λ(k) = λ(k+1) + H* δq̈ + c
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    one = nominal_terms(chain, links, chain.input("qdd"))
    qd, dq, dqd, dtau = (chain.input(name) for name in ("qd", "dq", "dqd", "dtau"))

    # perturbed velocities, and the accelerations that come with them
    v, c = chain.slots(6), chain.slots(6)
    v[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up, H, Hd = chain.inboard(k), links.H[k], one.Hd[k]
        v[k] = add(v[up], add(scale(H, dqd[k]), scale(one.Pd[k], dq[k])))
        c[k] = add(scale(Hd, dqd[k] + dqd[k]), scale(one.Hdd[k], dq[k]))
    excess, own = excess_turns(chain, links, dq), same_joint_terms(chain, links, one.f, dq)
    needed = conserving_changes(chain, links, qd, dq, dqd)

    # innovations
    epsilon, z_plus = chain.scalars(), chain.child_sums(6)
    for k in chain.tip_to_base():
        H = links.H[k]
        gyro = gyroscopic_times(one.Mhat[k], twice(angular(v[k])))
        turned = force_cross(scale(H, dq[k]), one.f[k])
        z = add(z_plus[k], add(add(gyro, articulated_times(art.P[k], c[k])), turned))
        z = apply_nonfollower_correction(excess, k, z)
        lost = friction_slope(chain, k, qd[k]) * dqd[k]
        if needed is not None:
            lost = lost + needed[k]
        epsilon[k] = dtau[k] - lost - without_same_joint(own, k, dot(H, z))
        z_plus.add_to_parent(k, add(z, scale(art.G[k], epsilon[k])))

    # perturbed accelerations
    lam = chain.slots(6)
    lam[chain.base] = ZERO6
    for k in chain.base_to_tip():
        inboard = lam[chain.inboard(k)]
        dqdd = art.Dinv[k] * epsilon[k] - dot(art.G[k], inboard)
        lam[k] = add(inboard, add(scale(links.H[k], dqdd), c[k]))
        chain.out("dqdd", (k,), dqdd)


def perturb_forward_articulated(chain: Chain) -> None:
    """δq̈ in two sweeps once P̂ is known.

    tip to base   z(k) = z⁺(k-1) + Y_A δq̇ + Y_B δq       ε(k) = δτ - H z        z⁺(k) = z + G ε
    base to tip   ν(k) = ε/D - 2 Ĝ* v(k+1)                δq̈(k) = ν - G* λ(k+1)
                  λ(k) = λ(k+1) + H* δq̈ + 2 Ḣ* δq̇ + Ḧ* δq
                  v(k) = v(k+1) + H* δq̇ + Ḣ* δq
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    one = nominal_terms(chain, links, chain.input("qdd"))
    gyros = articulated_gyroscopics(chain, links, one, art)
    qd, dq, dqd, dtau = (chain.input(name) for name in ("qd", "dq", "dqd", "dtau"))

    excess, own = excess_turns(chain, links, dq), same_joint_terms(chain, links, one.f, dq)
    needed = conserving_changes(chain, links, qd, dq, dqd)

    # innovations
    epsilon, z_plus = chain.scalars(), chain.child_sums(6)
    for k in chain.tip_to_base():
        z = add(z_plus[k], add(scale(gyros.YA[k], dqd[k]), scale(gyros.YB[k], dq[k])))
        z = apply_nonfollower_correction(excess, k, z)
        slope = friction_slope(chain, k, qd[k])
        felt = without_same_joint(own, k, dot(links.H[k], z))
        left = dtau[k] - slope * dqd[k]
        if needed is not None:
            left = left - needed[k]
        epsilon[k] = left - felt
        z_plus.add_to_parent(k, add(z, scale(art.G[k], epsilon[k])))

    # perturbed accelerations
    lam, v = chain.slots(6), chain.slots(6)
    lam[chain.base] = v[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up, H, Hd = chain.inboard(k), links.H[k], one.Hd[k]
        gyro = dot(gyros.Ghat[k], angular(v[up]))
        dqdd = art.Dinv[k] * epsilon[k] - (gyro + gyro) - dot(art.G[k], lam[up])
        drift = add(scale(Hd, dqd[k] + dqd[k]), scale(one.Hdd[k], dq[k]))
        lam[k] = add(lam[up], add(scale(H, dqdd), drift))
        v[k] = add(v[up], add(scale(H, dqd[k]), scale(one.Pd[k], dq[k])))
        chain.out("dqdd", (k,), dqdd)


def perturb_forward_conventional(chain: Chain) -> None:
    """δq̈ = 𝓜⁻¹ (δτ - (A_D δq̇ + B_D δq))."""
    # the applied δτ, and the δτ for δq̈ = 0
    links = forward_kinematics(chain)
    applied, needed = to_coordinates(chain, chain.input("dtau")), chain.column()
    perturbed_torques(chain, links, chain.zeros(), needed)

    # the difference accelerates
    factors = factored_mass_matrix(chain, links)
    dqdd, out = solve_difference(chain, factors, applied, needed), chain.result("dqdd")
    for j in chain.coordinates():
        out[j] = dqdd[j]
