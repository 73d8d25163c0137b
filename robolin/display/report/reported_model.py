"""The linear model along a motion: poles at many instants, matrices at some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.control.actuation import ALL_JOINTS
from robolin.control.linear_model import state_space
from robolin.control.state_space import StateSpace
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers
from robolin.display.report.reported_motion import ReportedMotion
from robolin.errors import RobolinError

MOST_POLES = 240
# so many numbers of A and B together
MOST_PAGE_NUMBERS, FEWEST_MODELS = 20_000, 12


@dataclass(frozen=True, eq=False)
class ReportedModel:
    """Linear models at some rows of a motion.

    rows:   (instants,) the rows of the motion that the models are about
    poles:  (instants, N) complex, in 1/s
    stable: (instants,) how many of them are stable, and how many are not, below
    chosen: the instants whose matrices are kept
    """

    rows: Numbers
    poles: Numbers
    stability: Numbers
    chosen: Numbers
    model: StateSpace


def reported_model(
    arm: Arm, motion: ReportedMotion, telling: Sequence[int]
) -> ReportedModel | RobolinError:
    """Models at rows spread over the motion, the telling ones among them; or why there are none."""
    fine = np.flatnonzero(np.isfinite(motion.values["tau"]).all(axis=1))
    wanted = np.flatnonzero(np.isin(fine, telling))
    rows = fine[spread_rows(len(fine), MOST_POLES, wanted)]
    q, qd, qdd, tau = (motion.values[name][rows] for name in ("q", "qd", "qdd", "tau"))
    try:
        # of a tree accelerations give the torques, which closed loops share among them
        model = _model(arm, q, qd, *((None, tau) if arm.loops else (qdd, "hold")))
        poles = model.poles()
    except RobolinError as error:
        return error
    numbers = model.A[0].size + model.B[0].size
    most = max(FEWEST_MODELS, MOST_PAGE_NUMBERS // numbers)
    chosen = spread_rows(len(rows), most, np.flatnonzero(np.isin(rows, telling)))
    return ReportedModel(rows, poles.values, poles.stability, chosen, model[chosen])


def _model(arm: Arm, q: Floats, qd: Floats, qdd: Floats | None, tau: Floats | str) -> StateSpace:
    """The models with the described motors; with all, where a passive joint would need one."""
    try:
        return state_space(arm, q, qd, qdd, tau)
    except RobolinError:
        if not arm.passive_joints:
            raise
        return state_space(arm, q, qd, qdd, tau, actuated=ALL_JOINTS)


def spread_rows(rows: int, most: int, wanted: Numbers) -> Numbers:
    """At most so many rows, evenly spread, with as many of the wanted ones as there is room for."""
    if rows <= most:
        return np.arange(rows)
    wanted = np.unique(wanted)[: most // 2]
    even = np.linspace(0, rows - 1, most - len(wanted)).round().astype(np.int64)
    return np.unique(np.concatenate([even, wanted]))


def states_of(model: ReportedModel) -> Floats:
    """A and B side by side at the chosen instants: (instants, N, N + m)."""
    return np.concatenate([model.model.A, model.model.B], axis=-1)
