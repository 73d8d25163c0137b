"""The frame of a kinematic query, and spatial vectors referred to its point.

All vectors of the recursions are referred to the inertial frame's own origin.  Referred to another
point r, a motion X = [a; b] is [a; b + a x r].  For a velocity this is the velocity of the body
point currently at r; for a spatial acceleration it is the rate at that fixed point.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, FramePlace, LinkNumber
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import add, cross, rotate, rotate_rotation
from robolin.dynamics.links.link_poses import Links, frame_origin


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
