"""Arms as the papers refer them: every link to its own point, in the world's axes.

robolin refers all links to one inertial frame.  Here links are placed by `tests.dynamics.world`,
which shares no line with the package, and referred to the origins of their own frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from robolin.core.arm import Arm
from robolin.engine.parameters import parameters_of
from tests.dynamics.loop_free import tilde
from tests.dynamics.world import STEP, bodies, placed
from tests.operator_algebra.subjects import Subject
from tests.robots import random_arm


def shift(l: np.ndarray) -> np.ndarray:
    """φ = [[1, l~], [0, 1]] for the vector l from the first point to the second."""
    o = np.zeros((3, 3))
    return np.block([[np.eye(3), tilde(l)], [o, np.eye(3)]])


def doubled(A: np.ndarray) -> np.ndarray:
    """A on the moment and on the force."""
    return np.kron(np.eye(2), A)


@dataclass(frozen=True)
class OwnPoints:
    """Link k at place k - 1: point p, rotation R, axis h, hinge column H* and inertia M about p."""

    p: np.ndarray
    R: np.ndarray
    h: np.ndarray
    H: np.ndarray
    M: np.ndarray

    def phi(self, k: int, j: int) -> np.ndarray:
        """From the point of link j to that of link k."""
        return shift(self.p[j - 1] - self.p[k - 1])


def origin(arm: Arm) -> np.ndarray:
    """Where the inertial frame sits in the root's."""
    return np.array(parameters_of(arm).origin)


def own_points(arm: Arm, q: np.ndarray) -> OwnPoints:
    """At q of any numbers, measured from where robolin has its inertial frame."""
    at, (masses, centres, rotary) = placed(arm, q), bodies(arm)
    p = at.p - origin(arm)
    h = np.array(
        [R @ np.array(link.joint.axis) for R, link in zip(at.R, arm.links_tip_to_base, strict=True)]
    )
    turns = np.array([link.joint.turns for link in arm.links_tip_to_base])[:, None]
    H = np.concatenate([np.where(turns, h, 0.0), np.where(turns, 0.0, h)], axis=-1)
    M = [_inertia(R, m, R @ c, I) for R, m, c, I in zip(at.R, masses, centres, rotary, strict=True)]
    return OwnPoints(p, at.R, h, H, np.array(M))


def _inertia(R: np.ndarray, m: float, c: np.ndarray, rotary: np.ndarray) -> np.ndarray:
    """[[J, m c~], [-m c~, m]] about the point that c starts from."""
    mc = m * tilde(c)
    J = R @ rotary @ R.T - mc @ tilde(c)
    return np.block([[J, mc], [-mc, m * np.eye(3)]])


def along(at: Subject, i: int) -> OwnPoints:
    """The links a complex step of joint i further."""
    q = at.q.astype(complex)
    q[at.op.paper_order[i - 1]] += 1j * STEP
    return own_points(at.arm, q)


def moving(at: Subject) -> OwnPoints:
    """The links a complex step of time further along q̇."""
    return own_points(at.arm, at.q + 1j * STEP * at.qd)


@cache
def turning_chains() -> tuple[Subject, ...]:
    """Serial arms with revolute joints only, as the papers assume."""
    return tuple(Subject(random_arm(20 + n, n, prismatic=False)) for n in (2, 4, 7))


turning = pytest.mark.parametrize("at", turning_chains(), ids=str)
