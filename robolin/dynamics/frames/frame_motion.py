"""Motion and Jacobian of frames: pose, velocity, spatial and classical acceleration, O(n).

Spatial acceleration, the papers' a, is the rate of the spatial velocity at a fixed point.
Classical acceleration is that of the point which moves with the link.  Both are in world axes, and
neither contains gravity: the acceleration of a link at rest is zero.

All vectors of the recursions are referred to the inertial frame's own origin.  Referred to another
point r, a motion X = [a; b] is [a; b + a x r].  For a velocity this is the velocity of the body
point currently at r; for a spatial acceleration it is the rate at that fixed point.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, FramePlace, LinkNumber, Slots
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import ZERO6, add, cross, rotate, rotate_rotation, scale
from robolin.dynamics.links.link_motion import Motion, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics, frame_origin


class TipFrame(NamedTuple):
    """The frame's link, its rotation R (9), and its point r (3) from the inertial frame."""

    link: LinkNumber
    R: Vector
    r: Vector


def tip_frame(chain: Chain, links: Links) -> TipFrame:
    """Current pose of the frame for which kinematic quantities are computed."""
    return placed_frame(chain.tip, links)


def placed_frame(frame: FramePlace, links: Links) -> TipFrame:
    """R = R(k) axes and r = p(k) + R(k) point, on link k."""
    # the frame is fixed to its link
    R, p = links.R[frame.link], links.p[frame.link]
    return TipFrame(frame.link, rotate_rotation(R, frame.axes), add(p, rotate(R, frame.point)))


def at_point(X: Vector, r: Vector) -> Vector:
    """The motion X, referred to the point r."""
    return X[:3] + add(X[3:], cross(X[:3], r))


def classical(V: Vector, a: Vector) -> Vector:
    """[ẇ; r̈] of the point that V = [w; v] and a = [ẇ; …] are referred to: adds w x v."""
    return a[:3] + add(a[3:], cross(V[:3], V[3:]))


def out_spatial(chain: Chain, name: str, X: Vector) -> None:
    """Write a spatial vector."""
    for i in range(6):
        chain.out(name, (i,), X[i])


def out_pose(chain: Chain, links: Links, tip: TipFrame) -> None:
    """Write the pose of the frame in the root frame of the description."""
    # recursions start at the inertial frame, descriptions at their root frame
    position = add(tip.r, frame_origin(chain, links))
    for i in range(3):
        chain.out("position", (i,), position[i])
    out_rotation(chain, tip)


def out_rotation(chain: Chain, tip: TipFrame) -> None:
    """Write the frame's axes as the columns of a matrix."""
    for i in range(3):
        for j in range(3):
            chain.out("rotation", (i, j), tip.R[3 * i + j])


def frame_motion(chain: Chain) -> None:
    """Pose, twist and both accelerations of the frame from q, q̇ and q̈."""
    # pose of the frame, and motion of its link
    links = forward_kinematics(chain)
    tip = tip_frame(chain, links)
    V, a = motion_at_tip(motion_without_gravity(chain, links), tip)
    out_pose(chain, links, tip)
    out_spatial(chain, "twist", V)
    out_spatial(chain, "spatial_acceleration", a)
    out_spatial(chain, "classical_acceleration", classical(V, a))


def tip_acceleration(chain: Chain) -> None:
    """Both accelerations of the frame alone."""
    links = forward_kinematics(chain)
    V, a = motion_at_tip(motion_without_gravity(chain, links), tip_frame(chain, links))
    out_spatial(chain, "tip_acceleration", a)
    out_spatial(chain, "tip_classical_acceleration", classical(V, a))


def link_accelerations(chain: Chain) -> None:
    """Both accelerations of every link at its own origin: [ẇ; a + ẇ x p] and [ẇ; p̈]."""
    links = forward_kinematics(chain)
    moving = motion_without_gravity(chain, links)

    # from the inertial frame's origin to each link's own
    for k in chain.base_to_tip():
        p = links.p[k]
        a = at_point(moving.alpha[k], p)
        seen = classical(at_point(moving.V[k], p), a)
        for i in range(6):
            chain.out("link_acceleration", (k, i), a[i])
            chain.out("link_classical_acceleration", (k, i), seen[i])


def motion_at_tip(moving: Motion, tip: TipFrame) -> tuple[Vector, Vector]:
    """Velocity and spatial acceleration of the frame, referred to its point."""
    return at_point(moving.V[tip.link], tip.r), at_point(moving.alpha[tip.link], tip.r)


def motion_without_gravity(chain: Chain, links: Links) -> Motion:
    """V, Ḣ* and a of every link with a fixed base: a(k) = a(k+1) + H* q̈ + Ḣ* q̇."""
    qd, qdd = chain.input("qd"), chain.input("qdd")
    moving, a = velocities(chain, links, qd), chain.slots(6)
    a[chain.base] = ZERO6
    for k in chain.base_to_tip():
        driven = add(scale(links.H[k], qdd[k]), scale(moving.Hd[k], qd[k]))
        a[k] = add(a[chain.inboard(k)], driven)
    return Motion(moving.V, moving.Hd, a)


def jacobian(chain: Chain) -> None:
    """J, J̇q̇, pose and twist of the frame from q and q̇: hinges referred to its point r.

    J(k)  = [h; H_lin + h x r]        for the hinges between the frame and the base
    [w; v] = J q̇
    J̇ q̇   = [ẇ; a_lin + ẇ x r + w x v],   [ẇ; a_lin] = Σ Ḣ* q̇
    """
    links, qd = forward_kinematics(chain, weighed=False), chain.input("qd")
    moving, tip = velocities(chain, links, qd), tip_frame(chain, links)

    # a column for every hinge that moves the frame, and the sum of their drift Ḣ* q̇
    bias = chain.accumulator(ZERO6)
    for k in chain.path_of(tip.link):
        column = at_point(links.H[k], tip.r)
        for i in range(6):
            chain.out("jacobian", (i, k), column[i])
        bias.value = add(bias.value, scale(moving.Hd[k], qd[k]))

    # the motion of the frame's own point
    V = at_point(moving.V[tip.link], tip.r)
    out_spatial(chain, "jacobian_rate_qd", classical(V, at_point(bias.value, tip.r)))
    out_spatial(chain, "twist", V)
    out_pose(chain, links, tip)


def transposed_jacobian(chain: Chain, links: Links, tip: TipFrame) -> Slots:
    """J*: the columns of each coordinate's own hinge and of its mimic joints, summed."""
    rows = [chain.column() for _ in range(6)]
    for j in chain.coordinates():
        for row in rows:
            row[j] = 0.0
    for k in chain.path_of(tip.link):
        column = at_point(links.H[k], tip.r)
        for row, entry in zip(rows, column, strict=True):
            row.add((k,), entry)
    J = chain.slots(6)
    for j in chain.coordinates():
        J[j] = tuple(row[j] for row in rows)
    return J
