"""An arm at random states, with every quantity that the tests need computed once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property

import numpy as np

import robolin
from robolin.core.arm import Arm
from tests.dynamics.running import complex_step_along, run_on
from tests.robots import every_arm, random_states

STATES = 2


class Worked:
    """One arm, two states, and their results; tests of one arm share them."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        self.states = random_states(arm, STATES)

    @cached_property
    def q(self) -> np.ndarray:
        return self.states.q

    @cached_property
    def qd(self) -> np.ndarray:
        return self.states.qd

    @cached_property
    def qdd(self) -> np.ndarray:
        return self.states.qdd

    @cached_property
    def tau(self) -> np.ndarray:
        return robolin.inverse(self.arm, self.q, self.qd, self.qdd)

    @cached_property
    def model(self) -> robolin.LinearizedInverse:
        return robolin.linearize_inverse(self.arm, self.q, self.qd, self.qdd)

    @cached_property
    def M(self) -> np.ndarray:
        return robolin.mass_matrix(self.arm, self.q)

    @cached_property
    def inertia(self) -> float:
        """The largest entry of the mass matrix: the scale of a Coriolis term at unit speed."""
        return float(np.abs(self.M).max())

    @cached_property
    def condition(self) -> float:
        """The worst condition number of the mass matrix among the states."""
        return float(np.linalg.cond(self.M).max())

    @cached_property
    def dM(self) -> np.ndarray:
        return robolin.mass_matrix_derivative(self.arm, self.q)

    @cached_property
    def Mdot(self) -> np.ndarray:
        return np.einsum("bijk,bk->bij", self.dM, self.qd)

    @cached_property
    def weightless(self) -> Arm:
        return replace(self.arm, gravity=(0.0, 0.0, 0.0))

    @cached_property
    def coriolis(self) -> np.ndarray:
        """Coriolis and centrifugal torques alone: no acceleration, no gravity."""
        return robolin.inverse(self.weightless, self.q, self.qd)

    @cached_property
    def forward_conventional(self) -> robolin.LinearizedForward:
        return robolin.linearize_forward(self.arm, self.q, self.qd, self.tau, method="conventional")

    @cached_property
    def forward_tree(self) -> dict[str, np.ndarray]:
        return run_on(self.arm, "linearize-forward-tree", self.pushed)

    @cached_property
    def forward_columns(self) -> dict[str, np.ndarray]:
        return run_on(self.arm, "linearize-forward-columns", self.pushed)

    @cached_property
    def pushed(self) -> dict[str, np.ndarray]:
        return {"q": self.q, "qd": self.qd, "tau": self.tau}

    @cached_property
    def perturbed(self) -> dict[str, np.ndarray]:
        s = self.states
        return {**self.pushed, "qdd": s.qdd, "dq": s.dq, "dqd": s.dqd, "dtau": s.dtau}

    @cached_property
    def diagonal(self) -> robolin.Diagonalized:
        return robolin.diagonalize(self.arm, self.q, self.qd, self.tau)

    @cached_property
    def diagonal_rates(self) -> dict[str, np.ndarray]:
        """How the diagonalized results change in time along the motion q̇, q̈."""
        return self._rates("diagonalize")

    @cached_property
    def unnormalized_rates(self) -> dict[str, np.ndarray]:
        return self._rates("diagonalize-unnormalized")

    def _rates(self, verb: str) -> dict[str, np.ndarray]:
        motion = {"q": self.qd, "qd": self.qdd}
        return complex_step_along(self.arm, verb, self.pushed, motion)

    @cached_property
    def unnormalized(self) -> robolin.DiagonalizedUnnormalized:
        return robolin.diagonalize_unnormalized(self.arm, self.q, self.qd, self.tau)


@cache
def _worked() -> dict[str, Worked]:
    return {arm.name: Worked(arm) for arm in every_arm()}


def worked(arm: Arm) -> Worked:
    """The one Worked of an arm of the sample or of the bundle."""
    return _worked()[arm.name]
