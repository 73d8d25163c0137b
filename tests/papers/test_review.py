"""Featherstone and Orin's review [O]: its three algorithms as listed, on trees and with loads.

Links are numbered from the tip here, so their λ(i) is `at.parent(k)`, and 'outward' counts down.
"""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from tests.dynamics.loop_free import S, crm, tilde
from tests.dynamics.world import bodies, placed
from tests.operator_algebra.subjects import (
    EXACT,
    Subject,
    any_arm,
    apart,
    branched,
    diagonal_blocks,
    divided,
)
from tests.operator_algebra.test_linearization import composite, weight
from tests.papers.own_points import doubled
from tests.robots import TOOL, random_arm, with_wrench

WRONG = 1e-3

loaded = pytest.mark.parametrize(
    "at",
    [
        Subject(with_wrench(random_arm(seed, 6, tree), "follower"))
        for seed, tree in ((50, 0), (51, 1))
    ],
    ids=str,
)


class InLinkAxes:
    """Every link in its own frame: inertia, hinge column, and the way to the frame inboard."""

    def __init__(self, at: Subject) -> None:
        arm, n = at.arm, at.op.n
        poses, (masses, centres, rotary) = placed(arm, at.q), bodies(arm)
        R = {n + 1: np.eye(3)} | {k: poses.R[k - 1] for k in at.links()}
        p = {n + 1: np.zeros(3)} | {k: poses.p[k - 1] for k in at.links()}
        self.inertia, self.h, self.motion = {}, {}, {}
        for k in at.links():
            link, i = arm.link(k), at.parent(k)
            mc = masses[k - 1] * tilde(centres[k - 1])
            J = rotary[k - 1] - mc @ tilde(centres[k - 1])
            self.inertia[k] = np.block([[J, mc], [-mc, masses[k - 1] * np.eye(3)]])
            halves = (link.joint.axis, (0.0, 0.0, 0.0))
            self.h[k] = np.concatenate(halves if link.joint.turns else halves[::-1])
            # motions from the frame inboard to this one; forces go back by the transpose
            turn, l = R[i].T @ R[k], R[i].T @ (p[k] - p[i])
            shifted = np.block([[np.eye(3), np.zeros((3, 3))], [-tilde(l), np.eye(3)]])
            self.motion[k] = doubled(turn.T) @ shifted


def tool_load(arm: Arm) -> np.ndarray:
    """The follower wrench at the tool in the axes of link 1, which carries it."""
    frame, (load,) = arm.frames[TOOL], arm.wrenches
    E, t = np.reshape(frame.pose.rotation, (3, 3)), np.array(frame.pose.translation)
    F, N = E @ np.array(load.force), E @ np.array(load.moment)
    return np.concatenate([N + np.cross(t, F), F])


def newton_euler_in_link_axes(at: Subject, load: np.ndarray) -> np.ndarray:
    """Equations 3, 4, 7 and 8 with coordinate transforms, gravity as base acceleration."""
    own, n = InLinkAxes(at), at.op.n
    qd, qdd = at.qd[at.op.paper_order], at.qdd[at.op.paper_order]
    v = {n + 1: np.zeros(6)}
    a = {n + 1: np.concatenate([np.zeros(3), -np.array(at.arm.gravity)])}
    f, tau = {}, np.zeros(n)
    for k in reversed(at.links()):
        X, h, I = own.motion[k], own.h[k], own.inertia[k]
        v[k] = X @ v[at.parent(k)] + h * qd[k - 1]
        a[k] = X @ a[at.parent(k)] + crm(v[k]) @ h * qd[k - 1] + h * qdd[k - 1]
        f[k] = I @ a[k] + S(v[k]) @ I @ v[k] - (load if k == 1 else 0.0)
    for k in at.links():
        tau[at.op.paper_order[k - 1]] = own.h[k] @ f[k]
        if at.parent(k) <= n:
            f[at.parent(k)] = f[at.parent(k)] + own.motion[k].T @ f[k]
    return tau


@loaded
def test_O_newton_euler_in_link_coordinates(at: Subject) -> None:
    """The listing of section 3.1 gives `inverse`, loads included."""
    tau = newton_euler_in_link_axes(at, tool_load(at.arm))
    assert apart(tau, at.tau) <= EXACT


@loaded
def test_misprint_O_eq_7_in_link_coordinates(at: Subject) -> None:
    """Without fˣ, as equation 7 is displayed in link coordinates, loads have no effect."""
    assert apart(newton_euler_in_link_axes(at, np.zeros(6)), at.tau) > WRONG


@any_arm
def test_O_eq_9_and_10(at: Subject) -> None:
    """M_ji = h_j* I_C(i) h_i on the way to the base, with I_C the sum over the subtree, else 0."""
    op, I_C = at.op, composite(at, diagonal_blocks(at.op.M))
    M = np.zeros((op.n, op.n))
    for j in at.links():
        for i in at.links():
            if at.outboard(i, j):
                M[j - 1, i - 1] = at.column(j) @ I_C[i - 1] @ at.column(i)
            elif at.outboard(j, i):
                M[j - 1, i - 1] = at.column(j) @ I_C[j - 1] @ at.column(i)
    order = op.paper_order
    true = robolin.mass_matrix(at.arm, at.q)[np.ix_(order, order)]
    assert apart(M + op.rotors.dense()[np.ix_(order, order)], true) <= EXACT


def composite_listing(at: Subject) -> np.ndarray:
    """The listing of section 3.2 in link axes, which fills M_ij for j in the subtree of i."""
    own, n = InLinkAxes(at), at.op.n
    I_C, f, M = dict(own.inertia), {}, np.zeros((n, n))
    for i in at.links():
        subtree = [j for j in at.links() if at.outboard(j, i)]
        f[i] = I_C[i] @ own.h[i]
        for j in subtree:
            M[i - 1, j - 1] = own.h[i] @ f[j]
        if at.parent(i) <= n:
            X = own.motion[i]
            I_C[at.parent(i)] = I_C[at.parent(i)] + X.T @ I_C[i] @ X
            for j in subtree:
                f[j] = X.T @ f[j]
    return M


@branched
def test_O_composite_rigid_bodies_in_link_coordinates(at: Subject) -> None:
    """Filled and copied to the other triangle, the listing is `mass-matrix`."""
    order = at.op.paper_order
    half = composite_listing(at)
    true = robolin.mass_matrix(at.arm, at.q)[np.ix_(order, order)]
    assert apart(half + half.T - np.diag(np.diag(half)), true) <= EXACT


@branched
def test_misprint_O_composite_listing(at: Subject) -> None:
    """The listing alone leaves one triangle empty."""
    order = at.op.paper_order
    true = robolin.mass_matrix(at.arm, at.q)[np.ix_(order, order)]
    assert apart(composite_listing(at), true) > WRONG


@any_arm
def test_O_eq_11(at: Subject) -> None:
    """f = I_A a on a handle at rest: I_A is what is left once the hinges outboard give way."""
    op = at.op
    inertia, P = composite(at, diagonal_blocks(op.M)), diagonal_blocks(op.P)
    order = op.paper_order
    mass = robolin.mass_matrix(at.arm, at.q)[np.ix_(order, order)]
    for k in at.links():
        outer = [j - 1 for j in at.links() if at.outboard(j, k) and j != k]
        left = inertia[k - 1]
        if outer:
            coupling = np.array([inertia[j] @ at.column(j + 1) for j in outer])
            left = left - coupling.T @ np.linalg.solve(mass[np.ix_(outer, outer)], coupling)
        assert apart(left, P[k - 1], made_of=float(np.abs(inertia[k - 1]).max())) <= divided(at)


@any_arm
def test_O_eq_12_to_14(at: Subject) -> None:
    """The articulated-body algorithm as written, with τ_j inside the sum, gives `forward`."""
    op, n = at.op, at.op.n
    V, hd = op.V.reshape(-1, 6), [np.array(op.Hd.values[k]) for k in at.links()]
    tau, qd = at.tau[op.paper_order], at.qd[op.paper_order]
    rotors = np.diag(op.rotors.dense())[op.paper_order]
    I_A = {k: M.copy() for k, M in enumerate(diagonal_blocks(op.M), start=1)}
    p_A = {k: S(V[k - 1]) @ I_A[k] @ V[k - 1] for k in at.links()}
    later = {}
    for j in at.links():
        h = at.column(j)
        u = I_A[j] @ h
        d = h @ u + rotors[j - 1]
        p = p_A[j] + I_A[j] @ hd[j - 1] * qd[j - 1]
        later[j] = h, u, d, p
        if at.parent(j) <= n:
            I_A[at.parent(j)] += I_A[j] - np.outer(u, u) / d
            p_A[at.parent(j)] += p + u / d * (tau[j - 1] - h @ p)
    a, accelerations = {n + 1: weight(at)[:6]}, np.zeros(n)
    for i in reversed(at.links()):
        h, u, d, p = later[i]
        inboard = a[at.parent(i)]
        qdd = (tau[i - 1] - u @ inboard - h @ p) / d
        a[i] = inboard + hd[i - 1] * qd[i - 1] + h * qdd
        accelerations[op.paper_order[i - 1]] = qdd
    assert apart(accelerations, robolin.forward(at.arm, at.q, at.qd, at.tau)) <= 10.0 * divided(at)
    assert apart(
        accelerations, at.qdd, made_of=float(np.abs(op.Dinv.dense()).max())
    ) <= 10.0 * divided(at)
