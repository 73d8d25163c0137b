"""Which links may slide so far away that the inertial frame had better go along."""

from __future__ import annotations

from robolin.core.arm import Arm, Joint

# metres beyond which a link has slid far
FAR_SLID = 4.0


def travelling(arm: Arm) -> tuple[int, ...]:
    """The links that may slide far, base to tip, up to a branch or the frame in question.

    What slides on the base may, whatever its limits; behind joints that turn, limits decide.
    """
    joints = {k: arm.link(k).joint for k in _stem(arm)}
    turning = next((k for k, joint in joints.items() if joint.turns), 0)
    found = (k for k, joint in joints.items() if k > turning or slides_far(joint))
    return () if arm.groups or arm.loops else tuple(found)


def slides_far(joint: Joint) -> bool:
    """Whether it slides, and no limits keep it within `FAR_SLID` of home."""
    ends = joint.limits.lower, joint.limits.upper
    return not (joint.turns or all(end is not None and abs(end) <= FAR_SLID for end in ends))


def _stem(arm: Arm) -> list[int]:
    """The links from the base on that carry all others, no further than the frame in question."""
    carried: dict[int, list[int]] = {}
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        carried.setdefault(link.parent, []).append(k)
    stem, end = [arm.base], arm.tip.link if arm.tip else 0
    while stem[-1] != end and len(carried.get(stem[-1], ())) == 1:
        stem += carried[stem[-1]]
    return stem[1:]
