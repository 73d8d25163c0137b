"""Agreement of two programs: relative differences and their tolerances.

Pinocchio has the tolerance of the tests, 1e-12 of the largest entry, times cond(𝓜) after a
division by the mass matrix.  MuJoCo stores principal axes with an accuracy of 1e-12 and gets 1e-10,
its finite differences 1e-4.  Other ways to run robolin must agree exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

DIVIDED = ("qdd", "dqdd", "dqdd_dtau", "dqdd_dqd", "dqdd_dq")


class Disagreement(Exception):
    """Two programs disagree, so that timing them is meaningless."""


def gap(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Largest difference of each state, relative to its largest entry."""
    axes = tuple(range(1, ours.ndim))
    return np.abs(ours - theirs).max(axis=axes) / np.abs(theirs).max(axis=axes)


def tolerance(peer: str, verb: str, name: str, condition: np.ndarray) -> np.ndarray:
    """Allowed relative difference of each state."""
    divided = name in DIVIDED
    if peer == "MuJoCo":
        if verb.startswith("linearize"):
            return np.full_like(condition, 1e-4)
        return 1e-10 * (condition if divided else np.ones_like(condition))
    if peer != "Pinocchio":
        return np.zeros_like(condition)
    times = 10.0 if name in ("qdd", "dqdd", "dtau") else 1.0
    return times * (1e-12 + (1e-15 * condition if divided else 0.0))


def checked(
    peer: str,
    verb: str,
    ours: Mapping[str, np.ndarray],
    theirs: Mapping[str, np.ndarray],
    condition: np.ndarray,
) -> float:
    """Largest relative difference of the results both have; an error above the tolerance."""
    worst = 0.0
    for name, values in theirs.items():
        rows = len(values)
        gaps = gap(ours[name][:rows], values)
        allowed = tolerance(peer, verb, name, condition[:rows])
        if not (gaps <= allowed).all():
            row = int(np.argmax(gaps - allowed))
            raise Disagreement(
                f"{verb}: {name} of {peer} is {gaps[row]:.1e} off in state {row}, "
                f"{allowed[row]:.1e} would be fine"
            )
        worst = max(worst, float(gaps.max()))
    return worst
