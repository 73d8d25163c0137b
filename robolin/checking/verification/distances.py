"""How far the links of an arm are from where they are reckoned, and what that does to rounding."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.travelling import FAR_SLID
from robolin.dynamics.algebra.scalar import float_sum
from robolin.engine.parameters import parameters_of


def slides_of(arm: Arm, q: Floats) -> dict[int, Floats]:
    """How far each link that slides has slid, per state."""
    sliding = (k for k, link in enumerate(arm.links_tip_to_base, start=1) if not link.joint.turns)
    return {k: np.abs(q[:, arm.coordinates[k - 1]]) for k in sliding}


def reaches(arm: Arm, q: Floats, slides: Mapping[int, Floats]) -> dict[int, Floats]:
    """How far each link's joint can be from the first one, per state."""
    reach: dict[int, Floats] = {arm.base: np.zeros(len(q))}
    for k in range(len(arm.links), 0, -1):
        link = arm.link(k)
        own = float(np.linalg.norm(link.joint.pose.translation))
        reach[k] = reach[link.parent] + own + slides.get(k, 0.0)
    return reach


def levered(arm: Arm, reach: Mapping[int, Floats], power: int) -> Floats:
    """Σ mass · reach^power per state, a follower's share as often as it moves for its leader."""
    total, slides = np.zeros_like(reach[arm.base]), not all(x.joint.turns for x in arm.links)
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        body = link.inertia
        lever = reach[k] + float(np.linalg.norm(body.com))
        # whoever slides needs no lever
        lever = np.maximum(lever, 1.0) if slides else lever
        own = float_sum(abs(x) for x in body.rotary) if power == 2 else 0.0
        total = total + abs(body.mass) * lever**power + own
    ratios = [abs(link.joint.mimic.ratio) for link in arm.links if link.joint.mimic]
    total_weight: Floats = total * max([1.0, *ratios]) ** power
    return total_weight


def distance_factor(arm: Arm, q: Floats) -> Floats:
    """How many times more rounding counts where links have slid far and the frame has not, ≥ 1.

    Rounding of an inertia goes with the square of its distance from the inertial frame.
    """
    slides, rows = slides_of(arm, q), parameters_of(arm).links
    near = {k: np.where(slide <= FAR_SLID, slide, 0.0) for k, slide in slides.items()}
    along = {k for k in slides if rows[k - 1].travels or rows[k - 1].rests}
    felt = {k: near[k] if k in along else slide for k, slide in slides.items()}
    here, at_home = (levered(arm, reaches(arm, q, each), 2) for each in (felt, near))
    factor: Floats = np.where(at_home > 0.0, here / np.where(at_home > 0.0, at_home, 1.0), 1.0)
    return factor
