"""How well the inertias of single bodies can be divided by, which few algorithms do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.core.arm import Arm, Inertia
from robolin.core.arrays import Floats

# a body that resists this many times less in one way than in another is flat, or a rod or a point
FLAT = 1e8


def flat_body(arm: Arm) -> str:
    """The first link, base to tip, whose inertia has no inverse to speak of; '' if none."""
    for link in arm.links:
        least, most = _extremes(link.inertia)
        if least * FLAT <= most:
            return link.name
    return ""


def condition_of_bodies(arm: Arm, reach: Mapping[int, Floats]) -> Floats:
    """More than the condition number of any body's inertia about the base, per state.

    Seen from r away, an inertia is X M X* with |X| and |X⁻¹| at most 1 + r.
    """
    worst = np.ones_like(reach[arm.base])
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        least, most = _extremes(link.inertia)
        away = reach[k] + float(np.linalg.norm(link.inertia.com))
        worst = np.maximum(worst, most / least * (1.0 + away) ** 4)
    return worst


def _extremes(body: Inertia) -> tuple[float, float]:
    """The smallest and the largest that a body resists with, turned or pushed, about its centre."""
    xx, xy, xz, yy, yz, zz = body.rotary
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    every = [*moments, body.mass]
    return min(every), max(every)
