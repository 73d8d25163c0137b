"""Statements of the papers about single links: definitions, Newton–Euler about own points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import robolin
from robolin.core.arm import Wrench
from robolin.dynamics.algebra.vectors import force_cross, motion_cross
from tests.dynamics.loop_free import S, tilde
from tests.dynamics.world import STEP, frame_in_world
from tests.operator_algebra.subjects import (
    EXACT,
    Subject,
    any_arm,
    apart,
    blocks,
    diagonal_blocks,
)
from tests.operator_algebra.test_linearization import accelerations
from tests.papers.own_points import along, doubled, moving, origin, own_points, shift, turning
from tests.robots import TOOL


def test_L_eq_1_5() -> None:
    """S[X] f is the cross product with forces, and -S*[X] Y the one of motions."""
    for X, Y in np.random.default_rng(0).normal(size=(20, 2, 6)):
        assert apart(np.array(force_cross(tuple(X), tuple(Y))), S(X) @ Y) <= EXACT
        assert apart(np.array(motion_cross(tuple(X), tuple(Y))), -S(X).T @ Y) <= EXACT


@any_arm
def test_L_eq_2_1_to_2_3(at: Subject) -> None:
    """M(k) = φ(I,O_k) M_l(k) φ*(I,O_k): the parallel axis theorem."""
    own = own_points(at.arm, at.q)
    moved = [shift(p) @ M @ shift(p).T for p, M in zip(own.p, own.M, strict=True)]
    assert apart(np.array(moved), diagonal_blocks(at.op.M)) <= EXACT


@any_arm
def test_L_eq_2_4(at: Subject) -> None:
    """V = [w; u] with the spin w and the velocity u of the point that is at the origin now."""
    there, here = moving(at), own_points(at.arm, at.q)
    spin = (there.R.imag / STEP) @ np.swapaxes(here.R, -1, -2)
    w = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
    u = there.p.imag / STEP - np.cross(w, here.p)
    assert apart(at.op.V, np.concatenate([w, u], axis=-1).ravel()) <= EXACT


@any_arm
def test_L_eq_2_5(at: Subject) -> None:
    """f(k) - f(k-1) = M(k) α(k) + Ṁ(k) V(k), Ṁ by complex step."""
    op = at.op
    right = op.M @ accelerations(at) + at.rate(lambda o: o.M) @ op.V
    assert apart((op.I - op.E_phi) @ op.f, right) <= EXACT


@any_arm
def test_L_eq_2_10(at: Subject) -> None:
    """H*(k) about the inertial frame is φ*(O_k,I) H*(k) about the link's own point."""
    own = own_points(at.arm, at.q)
    moved = [shift(-p).T @ H for p, H in zip(own.p, own.H, strict=True)]
    assert apart(np.array(moved), np.array([at.column(k) for k in at.links()])) <= EXACT


def newton_euler(at: Subject, tip: np.ndarray):
    """Equations 6 to 12 link by link, base to tip and back; gravity is a base acceleration."""
    own, n = own_points(at.arm, at.q), at.op.n
    qd, qdd = at.qd[at.op.paper_order], at.qdd[at.op.paper_order]
    _, tool = frame_in_world(at.arm, TOOL, at.q)
    reach = [*(own.p[k - 2] - own.p[k - 1] for k in range(2, n + 1)), np.zeros(3)]
    first = tool - origin(at.arm) - own.p[0]
    V, alpha = np.zeros(6), np.concatenate([np.zeros(3), -np.array(at.arm.gravity)])
    out = {}
    for k in range(n, 0, -1):
        l, w, h = reach[k - 1], V[:3], own.h[k - 1]
        a = np.concatenate([np.cross(w, h) * qd[k - 1], np.cross(w, np.cross(w, l))])
        V = shift(l).T @ V + own.H[k - 1] * qd[k - 1]
        alpha = shift(l).T @ alpha + own.H[k - 1] * qdd[k - 1] + a
        out[k] = V, alpha
    swing = np.concatenate([np.zeros(3), np.cross(V[:3], np.cross(V[:3], first))])
    ends = shift(first).T @ V, shift(first).T @ alpha + swing
    f, T, inner = tip, np.zeros(n), first
    for k in range(1, n + 1):
        V, alpha = out[k]
        M, w = own.M[k - 1], V[:3]
        mp = np.array([M[2, 4], M[0, 5], M[1, 3]])
        b = np.concatenate([np.cross(w, M[:3, :3] @ w), np.cross(w, np.cross(w, mp))])
        f = shift(inner) @ f + M @ alpha + b
        T[k - 1], inner = own.H[k - 1] @ f, reach[k - 1]
    torques = np.zeros(n)
    torques[at.op.paper_order] = T
    return torques, ends


@turning
def test_F_eq_6_to_12(at: Subject) -> None:
    """Newton–Euler about the links' own points, with a force at the tip, gives `inverse`."""
    tip = np.random.default_rng(at.op.n).normal(size=6) * 5.0
    torques, (V0, alpha0) = newton_euler(at, tip)
    pulled = Wrench(TOOL, "dead", tuple((-tip[3:]).tolist()), tuple((-tip[:3]).tolist()))
    arm = replace(at.arm, wrenches=(pulled,))
    motion = robolin.frame_motion(at.arm, at.q, at.qd, at.qdd, frame=TOOL)
    weight = np.concatenate([np.zeros(3), -np.array(at.arm.gravity)])

    assert apart(torques, robolin.inverse(arm, at.q, at.qd, at.qdd)) <= EXACT
    assert apart(V0, motion.twist) <= EXACT
    assert apart(alpha0 - weight, motion.classical_acceleration) <= EXACT


@any_arm
def test_D_eq_4_7(at: Subject) -> None:
    """E_φ seen from the links' points holds φ(k+1,k) where a link sits on the next, else zeros."""
    op, own = at.op, own_points(at.arm, at.q)
    to = op.diagonal([shift(p) for p in own.p])
    back = op.diagonal([shift(-p) for p in own.p])
    local = blocks(back @ op.E_phi @ to)
    for k in at.links():
        for j in at.links():
            true = own.phi(k, j) * (at.parent(j) == k)
            assert apart(local[k - 1, j - 1], true, made_of=1.0) <= EXACT


@any_arm
def test_D_eq_6_1_and_6_2(at: Subject) -> None:
    """A vector fixed in link k changes by Ω~ x as seen from the ground, Ω = [w; 0]."""
    here, there = own_points(at.arm, at.q), moving(at)
    V = at.op.V.reshape(-1, 6)
    for k, fixed in enumerate(np.random.default_rng(1).normal(size=(at.op.n, 6))):
        rate = doubled(there.R[k].imag / STEP) @ fixed
        true = doubled(tilde(V[k, :3])) @ doubled(here.R[k]) @ fixed
        assert apart(rate, true, made_of=1.0) <= EXACT


@turning
def test_D_eq_A_4_to_A_10_about_own_points(at: Subject) -> None:
    """H*, φ(k+1,k), E_φ, φ and M turn with joint i as 𝓗^i, 𝓗_s^i and 𝓗_δ^i say."""
    n, own = at.op.n, own_points(at.arm, at.q)
    here = _assembled(own, n)
    for i in at.links():
        there = _assembled(along(at, i), n)
        turn = doubled(tilde(own.h[i - 1]))
        moved = ([k <= i, k < i, k == i] for k in at.links())
        outer, inner, only = (np.kron(np.diag(links), turn) for links in np.array([*moved]).T)
        H, E, phi, M = here
        right = (
            inner @ H,
            outer @ E - E @ inner,
            phi @ only @ phi - phi @ outer + inner @ phi,
            outer @ M - M @ outer,
        )
        for stepped, true in zip(there, right, strict=True):
            assert apart(stepped.imag / STEP, true, made_of=1.0) <= EXACT
        step = there[1].imag / STEP
        assert apart(phi @ step @ phi, there[2].imag / STEP, made_of=1.0) <= EXACT


def _assembled(own, n: int) -> tuple[np.ndarray, ...]:
    """H*, E_φ, φ and M as matrices."""
    kind = own.p.dtype
    H, E, M = (np.zeros((6 * n, m), kind) for m in (n, 6 * n, 6 * n))
    phi = np.zeros((6 * n, 6 * n), kind)
    for k in range(1, n + 1):
        at = slice(6 * k - 6, 6 * k)
        H[at, k - 1], M[at, at] = own.H[k - 1], own.M[k - 1]
        for j in range(1, k + 1):
            phi[at, 6 * j - 6 : 6 * j] = own.phi(k, j)
        if k > 1:
            E[at, 6 * k - 12 : 6 * k - 6] = own.phi(k, k - 1)
    return H, E, phi, M
