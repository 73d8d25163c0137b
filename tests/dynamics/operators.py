"""The spatial operators of a serial chain written out as full matrices, in the papers' order.

Block k is link k, 1 at the tip. H* (6n x n) holds the hinge columns; φ, ψ and all inertias are 6n x
6n. They are slow and independent of the recursions.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from robolin.core.arm import Arm
from tests.dynamics.loop_free import S, bodies_in_world, crm, mhat


class Operators:
    """All operators of a chain at one state; no damping, no loads."""

    def __init__(self, arm: Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> None:
        world, n = bodies_in_world(arm, q), len(arm.links)
        order = list(arm.coordinates)
        self.n = n
        self.columns = world.H.T
        self.inertias = world.M
        self.rotors = np.array([link.joint.armature for link in arm.links_tip_to_base])
        self.gravity = np.array(arm.gravity)
        self.qd, self.qdd = qd[order], qdd[order]

    # motion

    @cached_property
    def V(self) -> np.ndarray:
        return _outward(self.columns * self.qd[:, None])

    @cached_property
    def Hd(self) -> np.ndarray:
        return (crm(self.V) @ self.columns[..., None])[..., 0]

    @cached_property
    def a(self) -> np.ndarray:
        own = self.columns * self.qdd[:, None] + self.Hd * self.qd[:, None]
        return _outward(own) + np.concatenate([np.zeros(3), -self.gravity])

    @cached_property
    def Hdd(self) -> np.ndarray:
        first = crm(self.a) @ self.columns[..., None]
        return (first + crm(self.V) @ self.Hd[..., None])[..., 0]

    @cached_property
    def hats(self) -> np.ndarray:
        return mhat(self.inertias, self.V)

    @cached_property
    def f(self) -> np.ndarray:
        own = self.inertias @ self.a[..., None] + self.hats @ self.V[..., None]
        return np.cumsum(own[..., 0], axis=0)

    # articulated bodies, link by link

    @cached_property
    def articulated(self) -> tuple[np.ndarray, ...]:
        """P, D, G, τ̄, P̂ and Ĝ of every link."""
        handed, handed_hat = np.zeros((6, 6)), np.zeros((6, 6))
        rows = []
        for k in range(self.n):
            h = self.columns[k]
            P, P_hat = handed + self.inertias[k], handed_hat + self.hats[k]
            D = h @ P @ h + self.rotors[k]
            G = P @ h / D
            tau_bar = np.eye(6) - np.outer(G, h)
            handed, handed_hat = tau_bar @ P, tau_bar @ P_hat
            rows.append((P, D, G, tau_bar, P_hat, P_hat.T @ h / D))
        return tuple(np.array(column) for column in zip(*rows, strict=True))

    @cached_property
    def lam(self) -> np.ndarray:
        """Λ(k) = τ̄* Λ(k+1) τ̄ + H* D⁻¹ H."""
        _, D, _, tau_bar, _, _ = self.articulated
        lam, rows = np.zeros((6, 6)), []
        for k in reversed(range(self.n)):
            h = self.columns[k]
            lam = tau_bar[k].T @ lam @ tau_bar[k] + np.outer(h, h) / D[k]
            rows.append(lam)
        return np.array(rows[::-1])

    @cached_property
    def J(self) -> np.ndarray:
        """Ĵ(k) = τ̄* Ĵ(k+1) + H* Ĝ*."""
        _, _, _, tau_bar, _, G_hat = self.articulated
        J, rows = np.zeros((6, 6)), []
        for k in reversed(range(self.n)):
            J = tau_bar[k].T @ J + np.outer(self.columns[k], G_hat[k])
            rows.append(J)
        return np.array(rows[::-1])

    # operators

    @cached_property
    def Hs(self) -> np.ndarray:
        return tall(self.columns)

    @cached_property
    def E(self) -> np.ndarray:
        """Blocks of identities just below the diagonal."""
        return np.kron(np.eye(self.n, k=-1), np.eye(6))

    @cached_property
    def phi(self) -> np.ndarray:
        return np.linalg.inv(np.eye(6 * self.n) - self.E)

    @cached_property
    def psi(self) -> np.ndarray:
        return np.linalg.inv(np.eye(6 * self.n) - self.E @ wide(self.articulated[3]))


def _outward(own: np.ndarray) -> np.ndarray:
    """Sums from the base to each link."""
    return np.cumsum(own[::-1], axis=0)[::-1]


def wide(blocks: np.ndarray) -> np.ndarray:
    """Blocks (n, 6, 6) on a diagonal."""
    n = len(blocks)
    full = np.zeros((6 * n, 6 * n))
    for k, block in enumerate(blocks):
        full[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = block
    return full


def tall(columns: np.ndarray) -> np.ndarray:
    """Columns (n, 6), each in its own block: (6n, n)."""
    n = len(columns)
    full = np.zeros((6 * n, n))
    for k, column in enumerate(columns):
        full[6 * k : 6 * k + 6, k] = column
    return full


def turned_forces(op: Operators) -> np.ndarray:
    """diag(S[H*(k)] f(k)), (6n, n)."""
    return tall((S(op.columns) @ op.f[..., None])[..., 0])
