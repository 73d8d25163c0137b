"""The inverse of the mass matrix, one half of it by recursions from the base outward, O(n²).

A unit torque at hinge k accelerates link j by X(j), and hinge j by 𝓜⁻¹(k,j).  Λ(k), the diagonal of
Ω = ψ* H* D⁻¹ H ψ, is the response of link k to a force; it gives X(k) without a sweep inward.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.inertias import ZERO_ARTICULATED, articulated_times
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, scale, sub
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies


class HingeResponse(NamedTuple):
    """Response to a unit torque: acceleration L (1) of the hinge, U (6) of its link, and Λ (21)."""

    L: Scalar
    U: Vector
    Lam: Vector


def hinge_response(Lam: Vector, H: Vector, G: Vector, Dinv: Scalar) -> HingeResponse:
    """Response of hinge and link k, from Λ of the link inboard.

    Z = Λ(k+1) G        L = 1/D + G* Z = 𝓜⁻¹(k,k)         U = L H - Z*
    Λ(k) = Λ(k+1) + H* U - Z H
    """
    Z = articulated_times(Lam, G)
    L = Dinv + dot(G, Z)
    U = sub(scale(H, L), Z)
    return HingeResponse(L, U, add(Lam, _symmetric(H, U, Z)))


def _symmetric(H: Vector, U: Vector, Z: Vector) -> Vector:
    """The upper triangle of H* U - Z H, which is symmetric because U = L H - Z*."""
    return tuple(
        H[i] * (U[i] - Z[i]) if i == j else H[i] * U[j] - Z[i] * H[j]
        for i in range(6)
        for j in range(i, 6)
    )


def inverse_mass_matrix(chain: Chain) -> None:
    """𝓜⁻¹ of a serial chain.

    outboard of k, X = U at first
        𝓜⁻¹(k,j) = -X G(j)                                X = X + 𝓜⁻¹(k,j) H(j)
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    Lam = chain.slots(21)
    Lam[chain.base] = ZERO_ARTICULATED

    for k in chain.base_to_tip():
        here = hinge_response(Lam[chain.inboard(k)], links.H[k], art.G[k], art.Dinv[k])
        Lam[k] = here.Lam
        chain.out("mass_matrix_inverse", (k, k), here.L)

        # links outboard of k push back through their own hinges
        X = chain.accumulator(here.U)
        for j in chain.outboard_of(k):
            entry = -dot(X.value, art.G[j])
            X.value = add(X.value, scale(links.H[j], entry))
            chain.out("mass_matrix_inverse", (k, j), entry)
            chain.out("mass_matrix_inverse", (j, k), entry)


def inverse_mass_matrix_tree(chain: Chain) -> None:
    """𝓜⁻¹ of a tree: branches next to k move with the links inboard of k that carry them.

    X(j) = X(inboard of j) + 𝓜⁻¹(k,j) H(j), base to tip
        links before k       𝓜⁻¹(k,j) = 𝓜⁻¹(j,k), known already
        k itself             X(k) = U
        links after k        𝓜⁻¹(k,j) = -X(inboard of j) G(j)
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    Lam, X, Minv = chain.slots(21), chain.slots(6), chain.table()
    Lam[chain.base] = ZERO_ARTICULATED
    X[chain.base] = ZERO6

    for k in chain.base_to_tip():
        here = hinge_response(Lam[chain.inboard(k)], links.H[k], art.G[k], art.Dinv[k])
        Lam[k], X[k] = here.Lam, here.U
        chain.out("mass_matrix_inverse", (k, k), here.L)

        # links that carry k, and other links that are already complete
        for j in chain.coordinates(after=k, step=-1):
            X[j] = add(X[chain.inboard(j)], scale(links.H[j], Minv[j, k]))

        # links outboard of k, and links of the remaining branches
        for j in chain.coordinates(before=k, step=-1):
            inboard = X[chain.inboard(j)]
            entry = -dot(inboard, art.G[j])
            X[j] = add(inboard, scale(links.H[j], entry))
            Minv[k, j] = entry
            chain.out("mass_matrix_inverse", (k, j), entry)
            chain.out("mass_matrix_inverse", (j, k), entry)
