"""Forces that a joint transmits: the effort of its drive and five constraint forces."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber
from robolin.dynamics.algebra.scalar import Vector, where
from robolin.dynamics.algebra.vectors import ZERO3, cross
from robolin.dynamics.links.link_poses import Links


def transmitted(chain: Chain, links: Links, k: LinkNumber) -> tuple[Vector, ...]:
    """`drive` with H drive = 1, and five T with H T = 0, at the origin of link k.

    revolute    drive [z; 0]        T  [x; 0], [y; 0], [p x x; x], [p x y; y], [p x z; z]
    prismatic   drive [p x z; z]    T  [x; 0], [y; 0], [p x x; x], [p x y; y], [z; 0]

    x, y and z are the axes of the link, z that of its joint.
    """
    # a moment about the joint's axis, and a force along it
    R, p = links.R[k], links.p[k]
    x, y, z = R[0::3], R[1::3], R[2::3]
    turn, push = z + ZERO3, cross(p, z) + z

    # one is the drive, the other a constraint force, depending on the joint type
    drive = where(chain.is_revolute(k), turn, push)
    along = where(chain.is_revolute(k), push, turn)
    return drive, x + ZERO3, y + ZERO3, cross(p, x) + x, cross(p, y) + y, along
