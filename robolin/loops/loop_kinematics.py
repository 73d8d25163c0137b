"""Where the links of an arm are and how they move, over a batch of states at once.

Spatial vectors [angular; linear] have the world's axes and refer to one point that stands still,
as everywhere else; gravity plays no part here.  Links 1 … N of the papers stand at places 0 … N-1
of an axis, the base at place N.  Shapes start with the batch (B).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robolin.algebra.scalar import sin_cos
from robolin.arm import Arm, kept_with

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Skeleton:
    """What an arm's kinematics are made of, as arrays.

    S (N, n), s (N): the joint of every link is at S q + s, followers included
    carried (N+1, N): whether the joint of link j moves link b
    K, KK (N, 3, 3): K v = axis x v, and its square; E, t: the joint's pose on the link inboard
    """

    S: Array
    s: Array
    carried: Array
    K: Array
    KK: Array
    E: Array
    t: Array
    axis: Array
    turns: Array
    inboard: tuple[int, ...]
    origin: Array


def skeleton(arm: Arm) -> Skeleton:
    """Worked out once and kept with the arm."""
    return kept_with(arm, "skeleton", _skeleton)


def _skeleton(arm: Arm) -> Skeleton:
    joints = [link.joint for link in arm.links]
    S, s = np.zeros((len(joints), arm.n)), np.zeros(len(joints))
    for k, (joint, place_in_q) in enumerate(zip(joints, arm.coordinates, strict=True)):
        S[k, place_in_q] = joint.mimic.ratio if joint.mimic else 1.0
        s[k] = joint.mimic.offset if joint.mimic else 0.0
    carried = np.zeros((len(joints) + 1, len(joints)))
    for b in reversed(range(len(joints))):
        carried[b] = carried[arm.links[b].parent - 1]
        carried[b, b] = 1.0
    # rounding grows with the distance from the arm, so all is told from the middle of its feet
    roots = [link.joint.pose.translation for link in arm.links if link.parent == arm.base]
    axis = np.array([joint.axis for joint in joints])
    K = np.stack([np.cross(np.eye(3), each) for each in axis])
    return Skeleton(
        S=S,
        s=s,
        carried=carried,
        K=K,
        KK=K @ K,
        E=np.array([joint.pose.rotation for joint in joints]).reshape(-1, 3, 3),
        t=np.array([joint.pose.translation for joint in joints]),
        axis=axis,
        turns=np.array([joint.turns for joint in joints]),
        inboard=tuple(link.parent - 1 for link in arm.links),
        origin=np.mean(roots, axis=0),
    )


@dataclass(frozen=True)
class Placed:
    """Rotation R (B, N+1, 3, 3), origin p (B, N+1, 3), and hinge maps H (B, N, 6)."""

    R: Array
    p: Array
    H: Array


@dataclass(frozen=True)
class Moved:
    """Velocities V and accelerations a (B, N+1, 6), and rates of the hinge maps (B, N, 6)."""

    V: Array
    a: Array
    Hd: Array
    Hdd: Array


def place(bones: Skeleton, joints: Array) -> Placed:
    """Every link at joint values (B, N), from the base outward.

    R(k) = R(k+1) E(k) Rot(axis, q)    p(k) = p(k+1) + R(k+1) t(k)          turning
    R(k) = R(k+1) E(k)                 p(k) = p(k+1) + R(k+1) t(k) + h q    sliding
    H(k) = [h; p x h]  turning,   [0; h]  sliding,   with h = R(k) axis
    """
    batch, count = joints.shape
    R = np.empty((batch, count + 1, 3, 3), joints.dtype)
    p = np.empty((batch, count + 1, 3), joints.dtype)
    R[:, -1], p[:, -1] = np.eye(3), -bones.origin
    sine, cosine = (part[..., None, None] for part in sin_cos(joints))
    # Rodrigues: 1 + sin K + (1 - cos) K²
    turn = np.eye(3) + sine * bones.K + (1.0 - cosine) * bones.KK
    for k in reversed(range(count)):
        up = bones.inboard[k]
        still = R[:, up] @ bones.E[k]
        p[:, k] = p[:, up] + R[:, up] @ bones.t[k]
        if bones.turns[k]:
            R[:, k] = still @ turn[:, k]
        else:
            R[:, k] = still
            p[:, k] += still @ bones.axis[k] * joints[:, k, None]
    h = (R[:, :-1] @ bones.axis[..., None])[..., 0]
    spin = np.where(bones.turns[:, None], h, 0.0)
    slide = np.where(bones.turns[:, None], cross(p[:, :-1], h), h)
    return Placed(R, p, np.concatenate([spin, slide], axis=-1))


def move(bones: Skeleton, H: Array, rates: Array, accelerations: Array) -> Moved:
    """Velocities and accelerations for joint rates (B, N), sums over the joints that carry a link.

    V(b) = Σ H q̇                    Hd(k)  = V(k) x H(k)
    a(b) = Σ H q̈ + Hd q̇             Hdd(k) = a(k) x H(k) + V(k) x Hd(k)
    """
    V = bones.carried @ (H * rates[..., None])
    Hd = motion_cross(V[:, :-1], H)
    a = bones.carried @ (H * accelerations[..., None] + Hd * rates[..., None])
    return Moved(V, a, Hd, motion_cross(a[:, :-1], H) + motion_cross(V[:, :-1], Hd))


def cross(a: Array, b: Array) -> Array:
    """a x b of (..., 3); for few vectors quicker than NumPy's own."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    found = np.empty((*x.shape, 3), x.dtype)
    found[..., 0], found[..., 1], found[..., 2] = x, y, z
    return found


def motion_cross(X: Array, Y: Array) -> Array:
    """[a; b] x [c; d] = [a x c; b x c + a x d]."""
    a, b, c, d = X[..., :3], X[..., 3:], Y[..., :3], Y[..., 3:]
    return np.concatenate([cross(a, c), cross(b, c) + cross(a, d)], axis=-1)
