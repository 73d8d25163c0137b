"""Prismatic joints with long travel, with which the inertial frame moves."""

from __future__ import annotations

from robolin.core.arm import Arm, Joint

# travel in metres beyond which a prismatic joint counts as long
FAR_SLID = 4.0


def travelling(arm: Arm) -> tuple[int, ...]:
    """Links with long prismatic travel, base to tip, up to the first branch or `arm.tip`.

    Prismatic joints before the first revolute joint always count; later ones by their limits.
    """
    joints = {k: arm.link(k).joint for k in _stem(arm)}
    first_revolute = next((k for k, joint in joints.items() if joint.turns), 0)
    travelling_links = (k for k, joint in joints.items() if k > first_revolute or slides_far(joint))
    return () if arm.groups or arm.loops else tuple(travelling_links)


def slides_far(joint: Joint) -> bool:
    """True for a prismatic joint whose limits exceed ±`FAR_SLID` or are missing."""
    ends = joint.limits.lower, joint.limits.upper
    return not (joint.turns or all(end is not None and abs(end) <= FAR_SLID for end in ends))


def _stem(arm: Arm) -> list[int]:
    """Links from the base to the first branch, at most up to the link of `arm.tip`."""
    carried: dict[int, list[int]] = {}
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        carried.setdefault(link.parent, []).append(k)
    stem, end = [arm.base], arm.tip.link if arm.tip else 0
    while stem[-1] != end and len(carried.get(stem[-1], ())) == 1:
        stem += carried[stem[-1]]
    return stem[1:]
