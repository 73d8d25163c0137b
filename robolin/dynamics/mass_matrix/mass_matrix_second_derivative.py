"""∂²𝓜/∂q², entry by entry, from composite bodies, O(n⁴)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Slots
from robolin.dynamics.algebra.inertias import rigid_times
from robolin.dynamics.algebra.scalar import Scalar, Vector, where
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, motion_cross, scale
from robolin.dynamics.links.link_poses import Links, forward_kinematics

Pairs = tuple[tuple[LinkNumber, LinkNumber], ...]


def mass_matrix_second_derivative(chain: Chain) -> None:
    """∂²𝓜(j,k)/∂q(i)∂q(o), 𝓜(j,k) = H(j) R(k) H*(k), for i inboard of o or o itself.

    Relative to an outboard body, j = H*(j) changes when hinges between them move:
        j,i = -H*(i) x j       j,io = H*(o) x [H*(i) x j]      i outboard of j, else both are 0

    For j inboard of k or k itself, k counting as between the two:
        i and o outboard of k                 j,io·R(o)k + j,i·R(o)k,o + j,o·R(o)k,i + j·R(o)k,io
        o outboard of k, i between j and k    j,io·R(o)k + j,i·R(o)k,o
        i and o between j and k               j,io·R(k)k
        any other i and o                     0

    For multi-DoF joints this is ∂²𝓜(q ⊕ δ)/∂δ², with δ a twist of the body, in which all axes of
    its joint are fixed: j,i and j,io are 0 for i and j of one joint, and j,io of i and o of one
    joint is the mean of both orders, which differ.
    """
    links = forward_kinematics(chain)
    R, handed = chain.slots(10), chain.child_sums(10)
    for k in chain.tip_to_base():
        R[k] = add(handed[k], links.M[k])
        handed.add_to_parent(k, R[k])

    for k in chain.tip_to_base():
        for o in chain.outboard_of(k):
            # both hinges move a part of the composite body
            _both_move_a_part(chain, links, R, k, o, o, _same(o))
            for i in chain.between(o, k):
                _both_move_a_part(chain, links, R, k, o, i, _either_way(i, o))
            _one_moves_a_part(chain, links, R, k, o)
        _none_moves_a_part(chain, links, R, k)


def _both_move_a_part(
    chain: Chain,
    links: Links,
    R: Slots,
    k: LinkNumber,
    o: LinkNumber,
    i: LinkNumber,
    hinges: Pairs,
) -> None:
    H, body = links.H, R[o]
    k_i, k_o, k_io = (*(_once(chain, H, k, each) for each in (i, o)), _twice(chain, H, k, i, o))
    Rk, Rk_i, Rk_o, Rk_io = (rigid_times(body, X) for X in (H[k], k_i, k_o, k_io))

    value = dot(k_io, Rk) + dot(k_i, Rk_o)
    _out(chain, _same(k), hinges, value + value)
    for j in chain.inboard_of(k):
        j_i, j_o = _once(chain, H, j, i), _once(chain, H, j, o)
        j_io = _twice(chain, H, j, i, o)
        outer, mixed = dot(j_io, Rk) + dot(H[j], Rk_io), dot(j_i, Rk_o) + dot(j_o, Rk_i)
        _out(chain, _either_way(j, k), hinges, outer + mixed)


def _one_moves_a_part(chain: Chain, links: Links, R: Slots, k: LinkNumber, o: LinkNumber) -> None:
    """Hinge i moves all of the body against hinge j, hinge o a part of it."""
    H = links.H
    Rk, Rk_o = (rigid_times(R[o], X) for X in (H[k], _once(chain, H, k, o)))

    def change(j: LinkNumber, i: LinkNumber) -> None:
        value = dot(_once(chain, H, j, i), Rk_o) + dot(_twice(chain, H, j, i, o), Rk)
        _out(chain, _either_way(j, k), _either_way(i, o), value)

    for j in chain.inboard_of(k):
        change(j, k)
        for i in chain.between(k, j):
            change(j, i)


def _none_moves_a_part(chain: Chain, links: Links, R: Slots, k: LinkNumber) -> None:
    """Both hinges move all of the body against hinge j."""
    H, Rk = links.H, rigid_times(R[k], links.H[k])

    def change(j: LinkNumber, o: LinkNumber) -> None:
        _out(chain, _either_way(j, k), _same(o), dot(_twice(chain, H, j, o, o), Rk))
        for i in chain.between(o, j):
            j_io = _twice(chain, H, j, i, o)
            _out(chain, _either_way(j, k), _either_way(i, o), dot(j_io, Rk))

    for j in chain.inboard_of(k):
        change(j, k)
        for o in chain.between(k, j):
            change(j, o)


def _once(chain: Chain, H: Slots, j: LinkNumber, i: LinkNumber) -> Vector:
    """j,i, 0 where both are axes of one joint."""
    change = tuple(-x for x in motion_cross(H[i], H[j]))
    return where(chain.groups.in_different_joints(i, j), change, ZERO6) if chain.groups else change


def _twice(chain: Chain, H: Slots, j: LinkNumber, i: LinkNumber, o: LinkNumber) -> Vector:
    """j,io for i inboard of o or o itself, 0 where i and j are axes of one joint."""
    change = motion_cross(H[o], motion_cross(H[i], H[j]))
    if not chain.groups:
        return change
    both = scale(add(change, motion_cross(H[i], motion_cross(H[o], H[j]))), 0.5)
    change = where(chain.groups.in_different_joints(i, o), change, both)
    return where(chain.groups.in_different_joints(i, j), change, ZERO6)


def _same(k: LinkNumber) -> Pairs:
    return ((k, k),)


def _either_way(j: LinkNumber, k: LinkNumber) -> Pairs:
    return ((j, k), (k, j))


def _out(chain: Chain, ends: Pairs, hinges: Pairs, value: Scalar) -> None:
    for j, k in ends:
        for i, o in hinges:
            chain.out("d2mass_matrix_dq2", (j, k, i, o), value)
