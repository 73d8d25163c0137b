"""Featherstone and Orin on global analysis [O]: equations 23 to 29, with P = I - E_φ*.

They number links from the base, so their P is lower triangular; S = P⁻¹H* = φ*H* is the same.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

import robolin
from tests.operator_algebra.subjects import EXACT, Subject, any_arm, apart, branched
from tests.operator_algebra.test_linearization import accelerations, weight


def motions(at: Subject):
    """S, whose range is the motion that the joints allow."""
    return at.op.phi.T @ at.op.H.T


def gyroscopic(at: Subject) -> np.ndarray:
    """v x I v of every body."""
    op = at.op
    return -op.V_tilde.T @ op.M @ op.V


@any_arm
def test_O_eq_23(at: Subject) -> None:
    """f = Ia + v x Iv for every body, f being what reaches it less what it hands on."""
    op = at.op
    net = (op.I - op.E_phi) @ op.f
    assert apart(net, op.M @ accelerations(at) + gyroscopic(at)) <= EXACT


@any_arm
def test_O_eq_24(at: Subject) -> None:
    """a = a₀ + Sα with α = θ̈ and a₀ of the velocities."""
    op = at.op
    a0 = op.phi.T @ op.Hd.T @ at.qd + weight(at)
    assert apart(a0 + motions(at) @ at.qdd, accelerations(at)) <= EXACT


@branched
def test_O_eq_25(at: Subject) -> None:
    """fa + fc = Ia + v x Iv, where constraint forces do no work on what the joints allow."""
    op = at.op
    # a joint's own torque acts on its link and, backwards, on the one it sits on
    axes = op.diagonal([at.column(k) / (at.column(k) @ at.column(k)) for k in at.links()], "h")
    active = (op.I - op.E_phi) @ axes @ at.tau
    constraint = (op.I - op.E_phi) @ op.f - active

    assert np.abs(motions(at).T @ constraint).max() <= EXACT * np.abs(at.tau).max()
    assert apart(motions(at).T @ active, at.tau) <= EXACT


@any_arm
def test_O_eq_26(at: Subject) -> None:
    """S*ISα = S*(fa - Ia₀ - v x Iv), S*fa being the torques."""
    op, S = at.op, motions(at)
    a0 = op.phi.T @ op.Hd.T @ at.qd + weight(at)
    right = at.tau - op.rotors @ at.qdd - S.T @ (op.M @ a0 + gyroscopic(at))
    assert apart(S.T @ op.M @ S @ at.qdd, right) <= EXACT
    assert apart(S.T @ op.M @ S + op.rotors, op.mass_matrix) <= EXACT


class Constrained:
    """T, whose range holds the constraint forces, and the forces of the joints."""

    def __init__(self, at: Subject) -> None:
        op = at.op
        self.T = null_space(motions(at).dense().T)
        self.M = op.M.dense()
        axes = op.diagonal([at.column(k) / (at.column(k) @ at.column(k)) for k in at.links()], "h")
        active = (op.I - op.E_phi) @ axes @ at.tau
        self.push = active - gyroscopic(at)
        self.a0 = op.phi.T @ op.Hd.T @ at.qd + weight(at)


@branched
def test_O_eq_27(at: Subject) -> None:
    """[[I, T], [T*, 0]] [a; -β] = [fa - v x Iv; T*a₀]."""
    c = Constrained(at)
    zero = np.zeros((c.T.shape[1],) * 2)
    system = np.block([[c.M, c.T], [c.T.T, zero]])
    computed = np.linalg.solve(system, np.concatenate([c.push, c.T.T @ c.a0]))
    true = accelerations(at)
    # the matrix is that of all bodies separately, whose condition number is larger than 𝓜's
    assert apart(computed[: len(true)], true) <= 1e-15 * np.linalg.cond(system) + EXACT


@branched
def test_O_eq_28(at: Subject) -> None:
    """T*I⁻¹Tβ = T*a₀ - T*I⁻¹(fa - v x Iv), and fc = Tβ is what the joints transmit."""
    op, c = at.op, Constrained(at)
    flexible = c.T.T @ np.linalg.solve(c.M, c.T)
    beta = np.linalg.solve(flexible, c.T.T @ (c.a0 - np.linalg.solve(c.M, c.push)))
    true = op.M @ accelerations(at) - c.push
    tolerance = 1e-15 * np.linalg.cond(c.M) * np.linalg.cond(flexible) ** 0.5 + EXACT
    assert apart(c.T @ beta, true) <= tolerance


@any_arm
def test_O_eq_29(at: Subject) -> None:
    """Pa = Hθ̈ + Ḣθ̇, and P⁻¹ is φ*."""
    op = at.op
    P = op.I - op.E_phi.T
    a = op.phi.T @ (op.H.T @ at.qdd + op.Hd.T @ at.qd)
    assert apart(P @ a, op.H.T @ at.qdd + op.Hd.T @ at.qd) <= EXACT
    assert apart(np.linalg.inv(P.dense()), op.phi.T) <= EXACT


@any_arm
def test_O_mass_matrix(at: Subject) -> None:
    """M = H*P⁻*IP⁻¹H, the Newton–Euler factorization."""
    op = at.op
    P = op.I - op.E_phi.T
    S = P.inv @ op.H.T
    assert apart(S.T @ op.M @ S + op.rotors, robolin.mass_matrix(at.arm, at.q)) <= EXACT
    assert apart(S.T @ op.M @ S + op.rotors, op.mass_matrix) <= EXACT
