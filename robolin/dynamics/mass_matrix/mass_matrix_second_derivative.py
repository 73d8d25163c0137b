"""∂²𝓜/∂q², entry by entry, from composite bodies, O(n⁴)."""

from __future__ import annotations

from robolin.algebra.chain import Chain, LinkNumber, Slots
from robolin.algebra.inertias import rigid_times
from robolin.algebra.scalar import Scalar, Vector
from robolin.algebra.vectors import add, dot, motion_cross
from robolin.dynamics.links.link_poses import Links, place_links

Pairs = tuple[tuple[LinkNumber, LinkNumber], ...]


def mass_matrix_second_derivative(chain: Chain) -> None:
    """How 𝓜(j,k) = H(j) R(k) H*(k) changes with hinges i and o, for i inboard of o or o itself.

    To an outboard body, hinge j, for short j = H*(j), changes when hinges between them move:
        j,i = -H*(i) x j       j,io = H*(o) x [H*(i) x j]      i outboard of j, else both are 0

    For j inboard of k or k itself, k counting as between the two:
        i and o outboard of k                 j,io·R(o)k + j,i·R(o)k,o + j,o·R(o)k,i + j·R(o)k,io
        o outboard of k, i between j and k    j,io·R(o)k + j,i·R(o)k,o
        i and o between j and k               j,io·R(k)k
        any other i and o                     0
    """
    links = place_links(chain)
    R, handed = chain.slots(10), chain.sums(10)
    for k in chain.tip_to_base():
        R[k] = add(handed[k], links.M[k])
        handed.hand_inboard(k, R[k])

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
    k_i, k_o = _less(motion_cross(H[i], H[k])), _less(motion_cross(H[o], H[k]))
    k_io = motion_cross(H[o], motion_cross(H[i], H[k]))
    Rk, Rk_i, Rk_o, Rk_io = (rigid_times(body, X) for X in (H[k], k_i, k_o, k_io))

    value = dot(k_io, Rk) + dot(k_i, Rk_o)
    _out(chain, _same(k), hinges, value + value)
    for j in chain.inboard_of(k):
        j_i, j_o = _less(motion_cross(H[i], H[j])), _less(motion_cross(H[o], H[j]))
        j_io = motion_cross(H[o], motion_cross(H[i], H[j]))
        outer, mixed = dot(j_io, Rk) + dot(H[j], Rk_io), dot(j_i, Rk_o) + dot(j_o, Rk_i)
        _out(chain, _either_way(j, k), hinges, outer + mixed)


def _one_moves_a_part(chain: Chain, links: Links, R: Slots, k: LinkNumber, o: LinkNumber) -> None:
    """Hinge i moves all of the body against hinge j, hinge o a part of it."""
    H = links.H
    Rk, Rk_o = (rigid_times(R[o], X) for X in (H[k], _less(motion_cross(H[o], H[k]))))

    def change(j: LinkNumber, i: LinkNumber) -> None:
        j_i = _less(motion_cross(H[i], H[j]))
        value = dot(j_i, Rk_o) - dot(motion_cross(H[o], j_i), Rk)
        _out(chain, _either_way(j, k), _either_way(i, o), value)

    for j in chain.inboard_of(k):
        change(j, k)
        for i in chain.between(k, j):
            change(j, i)


def _none_moves_a_part(chain: Chain, links: Links, R: Slots, k: LinkNumber) -> None:
    """Both hinges move all of the body against hinge j."""
    H, Rk = links.H, rigid_times(R[k], links.H[k])

    def change(j: LinkNumber, o: LinkNumber) -> None:
        twice = motion_cross(H[o], motion_cross(H[o], H[j]))
        _out(chain, _either_way(j, k), _same(o), dot(twice, Rk))
        for i in chain.between(o, j):
            j_io = motion_cross(H[o], motion_cross(H[i], H[j]))
            _out(chain, _either_way(j, k), _either_way(i, o), dot(j_io, Rk))

    for j in chain.inboard_of(k):
        change(j, k)
        for o in chain.between(k, j):
            change(j, o)


def _less(X: Vector) -> Vector:
    return tuple(-x for x in X)


def _same(k: LinkNumber) -> Pairs:
    return ((k, k),)


def _either_way(j: LinkNumber, k: LinkNumber) -> Pairs:
    return ((j, k), (k, j))


def _out(chain: Chain, ends: Pairs, hinges: Pairs, value: Scalar) -> None:
    for j, k in ends:
        for i, o in hinges:
            chain.out("d2mass_matrix_dq2", (j, k, i, o), value)
