"""Statements of the papers between their numbered equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.algebra.inertias import articulated_from, rigid_times
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct_storage import generic_chain
from robolin.engine.run import count_operations
from robolin.evaluation.loop_dynamics import Baumgarte, Mechanism
from tests.dynamics.loop_free import S, crm
from tests.evaluation.loops.closed_arms import Closed, sample
from tests.operator_algebra.subjects import (
    EXACT,
    STEP,
    Subject,
    any_arm,
    apart,
    diagonal_blocks,
    divided,
    papers,
)
from tests.operator_algebra.test_linearization import composite
from tests.papers.test_review import InLinkAxes, loaded, tool_load


def momentum_rate(at: Subject, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """d(MV)/dt = Mα + M̂V of all links without weight, in rates of any numbers."""
    o = at.at(at.q, qd)
    return o.M @ (o.phi.T @ (o.H.T @ qdd + o.Hd.T @ qd)) + o.Mhat @ o.V


@any_arm
def test_L_section_3_1(at: Subject) -> None:
    """For g = MV: ∇θ̈ ġ = ∇θ̇ g, and ∇θ̇ ġ = d(∇θ̇ g)/dt + ∇θ g."""
    steps = 1j * STEP * np.eye(at.op.n)

    def by_rates(of) -> np.ndarray:
        return np.array([of(step).imag / STEP for step in steps]).T

    in_qdd = by_rates(lambda step: momentum_rate(at, at.qd, at.qdd + step))
    in_qd = by_rates(lambda step: momentum_rate(at, at.qd + step, at.qdd))
    momentum_in_qd = by_rates(lambda step: (o := at.at(at.q, at.qd + step)).M @ o.V)
    moved = at.rate(lambda o: o.M @ o.phi.T @ o.H.T)

    assert apart(momentum_rate(at, at.qd, at.qdd), at.rate(lambda o: o.M @ o.V)) <= EXACT
    assert apart(in_qdd, momentum_in_qd) <= EXACT
    assert apart(in_qd, moved + at.gradients(lambda o: o.M @ o.V)) <= EXACT


@any_arm
def test_F_section_5_A(at: Subject) -> None:
    """α(0) = Jθ̈ + J̇θ̇, the rate of J being that of its columns."""
    frame = list(at.arm.frames)[-1]
    tipped = replace(at.arm, tip=at.arm.frames[frame])
    kinematics = robolin.jacobian(tipped, at.q, at.qd)
    rate = at.rate(lambda o: o.pick_off(frame).T @ o.phi.T @ o.H.T)
    tip = robolin.frame_motion(tipped, at.q, at.qd, at.qdd).classical_acceleration

    assert apart(rate @ at.qd, kinematics.jacobian_rate_qd, made_of=1.0) <= EXACT
    assert apart(kinematics.jacobian @ at.qdd + kinematics.jacobian_rate_qd, tip) <= EXACT


@any_arm
def test_F_section_5_C(at: Subject) -> None:
    """r(k) is a mass, a centre of mass and six inertias: these ten alone give 𝓜(k,k)."""
    op, order = at.op, at.op.paper_order
    mass = np.diag(robolin.mass_matrix(at.arm, at.q) - op.rotors.dense())[order]
    for k, r in zip(at.links(), composite(at, diagonal_blocks(op.M)), strict=True):
        first = (r[2, 4], r[0, 5], r[1, 3])
        ten = (r[3, 3], *first, *r[np.triu_indices(3)])
        upper = np.zeros((6, 6))
        upper[np.triu_indices(6)] = articulated_from(ten)
        H = tuple(at.column(k))

        assert apart(r, upper + np.triu(upper, 1).T) <= EXACT
        assert apart(np.dot(H, rigid_times(ten, H)), mass[k - 1]) <= EXACT


@any_arm
def test_F_section_6_A(at: Subject) -> None:
    """P = P* > 0: no motion of an articulated body is free of inertia."""
    for P in diagonal_blocks(at.op.P):
        assert apart(P, P.T) == 0.0
        assert np.linalg.eigvalsh(P)[0] > 0.0


def articulated_bodies_in_link_axes(at: Subject, load: np.ndarray) -> np.ndarray:
    """Equations 3, 12, 13, 14 and 4 with coordinate transforms, gravity as base acceleration."""
    own, n, order = InLinkAxes(at), at.op.n, at.op.paper_order
    tau, qd = at.tau[order], at.qd[order]
    v, c = {n + 1: np.zeros(6)}, {}
    I_A, p_A = dict(own.inertia), {}
    for k in reversed(at.links()):
        v[k] = own.motion[k] @ v[at.parent(k)] + own.h[k] * qd[k - 1]
        c[k] = crm(v[k]) @ own.h[k] * qd[k - 1]
        p_A[k] = S(v[k]) @ I_A[k] @ v[k] - (load if k == 1 else 0.0)
    for k in at.links():
        u = I_A[k] @ own.h[k]
        p = p_A[k] + I_A[k] @ c[k]
        left = p + u * (tau[k - 1] - own.h[k] @ p) / (own.h[k] @ u)
        if at.parent(k) <= n:
            X, free = own.motion[k], I_A[k] - np.outer(u, u) / (own.h[k] @ u)
            I_A[at.parent(k)] = I_A[at.parent(k)] + X.T @ free @ X
            p_A[at.parent(k)] = p_A[at.parent(k)] + X.T @ left
    a = {n + 1: np.concatenate([np.zeros(3), -np.array(at.arm.gravity)])}
    qdd = np.zeros(n)
    for k in reversed(at.links()):
        u, inboard = I_A[k] @ own.h[k], own.motion[k] @ a[at.parent(k)] + c[k]
        acceleration = (tau[k - 1] - own.h[k] @ (I_A[k] @ inboard + p_A[k])) / (own.h[k] @ u)
        a[k], qdd[order[k - 1]] = inboard + own.h[k] * acceleration, acceleration
    return qdd


@loaded
def test_O_articulated_bodies_in_link_coordinates(at: Subject) -> None:
    """Equations 12 to 14 in link coordinates, as section 3.3 suggests, give `forward`."""
    qdd = articulated_bodies_in_link_axes(at, tool_load(at.arm))
    assert apart(qdd, robolin.forward(at.arm, at.q, at.qd, at.tau)) <= 10.0 * divided(at)
    assert apart(qdd, at.qdd) <= 10.0 * divided(at)


@pytest.mark.parametrize("closed", sample()[:2], ids=lambda closed: closed.arm.name)
def test_O_footnote_3(closed: Closed) -> None:
    """Stabilized, closures that stand open obey φ̈ + 2αφ̇ + β²φ = 0 in place of φ̈ = 0."""
    alpha, beta = 3.0, 5.0
    away = closed.q + 1e-3, closed.qd + 1e-2
    system = Mechanism(closed.arm, *away, closed.tau)
    qdd, _, _ = system.motion(Baumgarte(alpha, beta))
    rows, kept = system.closures, system.solution().kept
    opening = np.einsum("bij,bj->bi", rows.jacobian, qdd) - rows.bias
    back = -2.0 * alpha * rows.opening - beta**2 * rows.open_by

    assert np.abs(rows.open_by).max() > 1e-5
    assert apart(opening[kept], back[kept], made_of=_terms(qdd)) <= EXACT


def _terms(qdd: np.ndarray) -> float:
    return float(np.abs(qdd).max())


def reduced(arm: Arm, k: int) -> Arm:
    """𝒜_k: links 1 to k of a serial arm, on a base that stands where link k + 1 was."""
    links = arm.links_tip_to_base[:k]
    names = {link.joint.name for link in links}
    return replace(
        arm,
        links_tip_to_base=links,
        joint_names=tuple(name for name in arm.joint_names if name in names),
        frames={name: frame for name, frame in arm.frames.items() if frame.link <= k},
        tip=None,
    )


@papers
def test_D_reduced_manipulator(at: Subject) -> None:
    """D(1) … D(k), and their factor, are those of 𝒜_k alone, for any links inboard of it."""
    full, names = robolin.mass_matrix_factor(at.arm, at.q), at.arm.joint_names
    for k in at.links():
        part = reduced(at.arm, k)
        own = [names.index(name) for name in part.joint_names]
        factor = robolin.mass_matrix_factor(part, at.q[own])
        assert apart(factor.D, full.D[own]) <= divided(at)
        assert apart(factor.factor, full.factor[np.ix_(own, own)]) <= divided(at)


@any_arm
def test_D_section_7_work(at: Subject) -> None:
    """θ̇*C(θ, θ̇) = ½θ̇*𝓜̇θ̇ is not zero, while ν*C(θ, ν) is."""
    C = robolin.inverse(at.weightless.arm, at.q, at.qd)
    rate = np.einsum("ijk,k", robolin.mass_matrix_derivative(at.arm, at.q), at.qd)
    diagonalized = robolin.diagonalize(at.arm, at.q, at.qd)
    size = float(np.linalg.norm(diagonalized.nu) * np.linalg.norm(diagonalized.coriolis))

    assert apart(at.qd @ C, 0.5 * at.qd @ rate @ at.qd) <= EXACT
    assert abs(at.qd @ C) > 1e-3 * np.linalg.norm(at.qd) * np.linalg.norm(C)
    assert abs(diagonalized.nu @ diagonalized.coriolis) <= divided(at) * size


@any_arm
def test_D_section_1_quadratic(at: Subject) -> None:
    """C(θ, ν) is quadratic in ν: its parallelograms close, and there is none at rest."""
    more = at.dqd

    def coriolis(qd: np.ndarray) -> np.ndarray:
        return robolin.diagonalize(at.arm, at.q, qd).coriolis

    corners = coriolis(at.qd + more) + coriolis(at.qd - more)
    sides = 2.0 * (coriolis(at.qd) + coriolis(more))
    assert apart(corners, sides, made_of=_terms(at.qd) * at.condition**0.5) <= divided(at)
    assert (coriolis(np.zeros_like(at.qd)) == 0.0).all()


@papers
def test_D_section_5_outboard_links(at: Subject) -> None:
    """ε(1) … ε(k) and λ̇(1) … λ̇(k) do not depend on torques and rates inboard of 𝒜_k."""
    order, arm = at.op.paper_order, at.arm
    for k in at.links()[:-1:2]:
        tau, qd = at.tau.copy(), at.qd.copy()
        tau[list(order[k:])] += 7.0
        qd[list(order[k:])] -= 3.0
        epsilon = (robolin.diagonalize(arm, at.q, at.qd, x).epsilon[order] for x in (at.tau, tau))
        rates = (diagonal_blocks(robolin.operators(arm, at.q, x).lambda_dot) for x in (at.qd, qd))
        for before, after in (epsilon, rates):
            assert apart(before[:k], after[:k]) == 0.0
            assert np.abs(before[k:] - after[k:]).max() > 1e-6


@any_arm
def test_D_section_7_unnormalized_work(at: Subject) -> None:
    """C(θ, ξ) is not orthogonal to ξ: it does half of ξ*Ḋξ, Ḋ by complex step."""
    unnormalized = robolin.diagonalize_unnormalized(at.arm, at.q, at.qd)
    half = 0.5 * unnormalized.xi @ at.rate(lambda o: o.D) @ unnormalized.xi
    size = float(np.linalg.norm(unnormalized.xi) * np.linalg.norm(unnormalized.coriolis))
    assert apart(unnormalized.xi @ unnormalized.coriolis, half, made_of=size) <= divided(at)
    assert abs(half) > 1e-4 * size


def test_D_costs_are_lines_in_n() -> None:
    """Tables 1 and 2 backwards, and Algorithm 8.1, cost the same for every link more."""
    for name in ("undiagonalize-unnormalized", "forward-diagonalized-unnormalized"):
        algorithm = ALGORITHMS[name]
        costs = [
            sum(
                count_operations(
                    generic_chain(n), algorithm.run, algorithm.needs
                ).algorithm.values()
            )
            for n in (3, 4, 5)
        ]
        assert apart(costs[2] - costs[1], costs[1] - costs[0]) == 0.0
        assert costs[1] > costs[0]
