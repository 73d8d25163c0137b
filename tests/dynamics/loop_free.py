"""Algorithm 2 a second time, without a loop over links: dense linear algebra in NumPy.

In one inertial frame every recursion is a sum over ancestors or over a subtree, so one matrix of
ones and zeros, `Anc`, does the work of all sweeps.  Columns are links, batch axes come first, and
not a line is shared with the package: even the links are placed by `tests.dynamics.world`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.core.arm import Arm
from tests.dynamics.world import bodies, placed, spreading


@dataclass(frozen=True)
class LoopFree:
    """τ, 𝓜, A_D and B_D in the arm's own joint order."""

    tau: np.ndarray
    mass_matrix: np.ndarray
    dtau_dqd: np.ndarray
    dtau_dq: np.ndarray


@dataclass(frozen=True)
class Bodies:
    """Hinge columns H* (..., 6, N) and 6x6 inertias M (..., N, 6, 6), about the first joint."""

    H: np.ndarray
    M: np.ndarray


def tilde(a: np.ndarray) -> np.ndarray:
    """a~ with a~ b = a x b."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    o = np.zeros_like(x)
    return np.stack([o, -z, y, z, o, -x, -y, x, o], -1).reshape((*a.shape[:-1], 3, 3))


def crm(X: np.ndarray) -> np.ndarray:
    """The matrix of X x, for a motion X (..., 6): [[a~, 0], [b~, a~]]."""
    a, b = tilde(X[..., :3]), tilde(X[..., 3:])
    return np.concatenate([np.concatenate([a, 0.0 * a], -1), np.concatenate([b, a], -1)], -2)


def S(X: np.ndarray) -> np.ndarray:
    """The force cross product [[a~, b~], [0, a~]]."""
    return -np.swapaxes(crm(X), -1, -2)


def Q(X: np.ndarray) -> np.ndarray:
    """[[a~, b~], [b~, 0]]."""
    a, b = tilde(X[..., :3]), tilde(X[..., 3:])
    return np.concatenate([np.concatenate([a, b], -1), np.concatenate([b, 0.0 * a], -1)], -2)


def mhat(M: np.ndarray, V: np.ndarray) -> np.ndarray:
    """M̂ by its definition, ½ (Ṁ - Q[M V]) with Ṁ = S[V] M + M S*[V]."""
    turned = S(V) @ M
    return 0.5 * (turned + np.swapaxes(turned, -1, -2) - Q((M @ V[..., None])[..., 0]))


def bodies_in_world(arm: Arm, q: np.ndarray) -> Bodies:
    at, (masses, centres, rotary) = placed(arm, q), bodies(arm)
    p = at.p - np.array(arm.links_tip_to_base[-1].joint.pose.translation)
    axes = np.array([link.joint.axis for link in arm.links_tip_to_base])
    h = (at.R @ axes[..., None])[..., 0]
    turns = np.array([link.joint.turns for link in arm.links_tip_to_base])[:, None]
    H = np.where(turns, np.concatenate([h, np.cross(p, h)], -1), np.concatenate([0.0 * h, h], -1))

    c = p + (at.R @ centres[..., None])[..., 0]
    weight = masses[:, None, None]
    mc = weight * tilde(c)
    J = at.R @ rotary @ np.swapaxes(at.R, -1, -2) - mc @ tilde(c)
    mass = np.broadcast_to(weight * np.eye(3), J.shape)
    M = np.concatenate([np.concatenate([J, mc], -1), np.concatenate([-mc, mass], -1)], -2)
    return Bodies(np.swapaxes(H, -1, -2), M)


def ancestors(arm: Arm) -> np.ndarray:
    """Anc[a, i] = 1 where link a + 1 is link i + 1 or lies between it and the base."""
    count = len(arm.links)
    Anc = np.zeros((count, count))
    for i in range(1, count + 1):
        a = i
        while a != arm.base:
            Anc[a - 1, i - 1] = 1.0
            a = arm.link(a).parent
    return Anc


def loop_free(arm: Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> LoopFree:
    """τ and the linearized inverse dynamics model, without damping, friction or loads."""
    world, Anc, spread = bodies_in_world(arm, q), ancestors(arm), spreading(arm)
    H, M = world.H, world.M
    qd, qdd = (qd @ spread.T)[..., None, :], (qdd @ spread.T)[..., None, :]

    # motion: sums over ancestors
    V = (H * qd) @ Anc
    Hd = _mx(V, H)
    a0 = np.concatenate([np.zeros(3), -np.array(arm.gravity)])[:, None]
    a = (H * qdd + Hd * qd) @ Anc + a0
    Hdd = _mx(a, H) + _mx(V, Hd)

    # forces and composite bodies: sums over subtrees
    hat = mhat(M, np.swapaxes(V, -1, -2))
    f = (_each(M, a) + _each(hat, V)) @ Anc.T
    R = np.einsum("ai,...ijk->...ajk", Anc, M)
    Rhat = np.einsum("ai,...ijk->...ajk", Anc, hat)

    X, Xhat = _each(R, H), 2.0 * _each(np.swapaxes(Rhat, -1, -2), H)
    XA = 2.0 * (_each(R, Hd) + _each(Rhat, H))
    XB = 2.0 * _each(Rhat, Hd) + _each(R, Hdd) + _fx(H, f)

    T = np.swapaxes
    strict = (Anc - np.eye(len(Anc))).T
    upper = T(H, -1, -2)
    mass = Anc * (upper @ X)
    rotors = np.array([link.joint.armature for link in arm.links_tip_to_base])
    mass = mass + strict * T(mass, -1, -2) + np.diag(rotors)
    A = Anc * (upper @ XA) + strict * T(2.0 * T(Hd, -1, -2) @ X + upper @ Xhat, -1, -2)
    B = Anc * (upper @ XB) + strict * T(T(Hdd, -1, -2) @ X + T(Hd, -1, -2) @ Xhat, -1, -2)
    tau = (H * f).sum(-2) + rotors * qdd[..., 0, :]

    return LoopFree(
        tau @ spread, spread.T @ mass @ spread, spread.T @ A @ spread, spread.T @ B @ spread
    )


def _each(matrices: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Every link's matrix (..., N, 6, 6) times its column of (..., 6, N)."""
    return np.einsum("...nij,...jn->...in", matrices, columns)


def _mx(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _each(crm(np.swapaxes(X, -1, -2)), Y)


def _fx(X: np.ndarray, f: np.ndarray) -> np.ndarray:
    return _each(S(np.swapaxes(X, -1, -2)), f)
