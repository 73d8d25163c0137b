"""Arms at a state with their operators, and how far two operators are apart.

`papers` are the arms of the papers, serial and without rotors, with prismatic joints added;
`branched` are trees as well; `any_arm` has rotors besides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np

import robolin
from robolin.core.arm import Arm
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import at_rest, parameters_of
from robolin.operator_algebra.expression import Expression
from robolin.operator_algebra.robot import Operators
from tests.cases import in_groups
from tests.dynamics.operators import Operators as Witness
from tests.robots import random_arm, random_states

STEP = 1e-30


class Subject:
    """An arm at one state, its operators, and derivatives of them by complex steps."""

    def __init__(self, arm: Arm, seed: int = 0) -> None:
        self.arm = arm
        states = random_states(arm, 1, seed)
        self.q, self.qd, self.qdd = states.q[0], states.qd[0], states.qdd[0]
        self.dq, self.dqd, self.dtau = states.dq[0], states.dqd[0], states.dtau[0]
        read = parameters_of(arm)
        # operators are shown in one frame, in every state
        self.parameters = at_rest(read) if read.travelling else read

    def __str__(self) -> str:
        return self.arm.name

    @cached_property
    def op(self) -> Operators:
        return robolin.operators(self.arm, self.q, self.qd, self.qdd)

    @cached_property
    def witness(self) -> Witness:
        """Serial arms only: all operators as matrices, by other lines."""
        return Witness(self.arm, self.q, self.qd, self.qdd)

    @cached_property
    def condition(self) -> float:
        return float(np.linalg.cond(robolin.mass_matrix(self.arm, self.q)))

    @cached_property
    def tau(self) -> np.ndarray:
        return robolin.inverse(self.arm, self.q, self.qd, self.qdd)

    @cached_property
    def weightless(self) -> Subject:
        return Subject(replace(self.arm, gravity=(0.0, 0.0, 0.0)))

    # derivatives

    def at(self, q: np.ndarray, qd: np.ndarray | None = None) -> Operators:
        """The operators at a state of any numbers."""
        inputs = {"q": list(q), "qd": list(self.qd if qd is None else qd)}
        return Operators(self.parameters, DirectChain(self.parameters, inputs), self.arm)

    def rate(self, of: Callable[[Operators], Any]) -> np.ndarray:
        """d/dt along q̇ and q̈, exact to rounding."""
        return matrix(of(self._moving)).imag / STEP

    @cached_property
    def _moving(self) -> Operators:
        q, qd = self.q + 1j * STEP * self.qd, self.qd + 1j * STEP * self.qdd
        return self.at(q.tolist(), qd.tolist())

    def gradient(self, of: Callable[[Operators], Any], k: int) -> np.ndarray:
        """∂/∂θ(k), the joint of link k."""
        return matrix(of(self._stepped(k))).imag / STEP

    @cache  # noqa: B019, subjects live as long as the tests
    def _stepped(self, k: int) -> Operators:
        q = self.q.astype(complex)
        q[self.op.paper_order[k - 1]] += 1j * STEP
        return self.at(q.tolist())

    def gradients(self, of: Callable[[Operators], Any]) -> np.ndarray:
        """The columns ∂/∂θ of a vector, in public order."""
        columns = {
            self.op.paper_order[k - 1]: self.gradient(of, k) for k in range(1, self.op.n + 1)
        }
        return np.stack([columns[i] for i in range(self.op.n)], axis=-1)

    # links

    def links(self) -> range:
        return range(1, self.op.n + 1)

    def parent(self, k: int) -> int:
        return self.op.layout.parents[k]

    def outboard(self, k: int, i: int) -> bool:
        """Return whether joint i moves link k: i is k, or lies between k and the base."""
        while k <= self.op.n:
            if k == i:
                return True
            k = self.parent(k)
        return False

    def column(self, k: int) -> np.ndarray:
        """H*(k)."""
        return np.array(self.op.H.values[k])


def matrix(operator: Any) -> np.ndarray:
    return operator.dense() if isinstance(operator, Expression) else np.asarray(operator)


def apart(left: Any, right: Any, made_of: float = 0.0) -> float:
    """The largest difference relative to the largest entry, or to `made_of` if both may cancel."""
    a, b = matrix(left), matrix(right)
    assert a.shape == b.shape
    size = max(float(np.abs(a).max()), float(np.abs(b).max()), made_of)
    return float(np.abs(a - b).max()) / (size or 1.0)


# rounding of the few hundred operations behind an entry; the largest measured is 4e-14
EXACT = 1e-12


def divided(subject: Subject) -> float:
    """The same, and what rounding in 𝓜 does to its inverse."""
    return EXACT + 1e-15 * subject.condition


def blocks(operator: Any) -> np.ndarray:
    """The 6 x 6 blocks (n, n, 6, 6) of an operator between links."""
    full = matrix(operator)
    n = len(full) // 6
    return full.reshape(n, 6, n, 6).swapaxes(1, 2)


def diagonal_blocks(operator: Any) -> np.ndarray:
    """The blocks (n, 6, 6) on the diagonal."""
    full = blocks(operator)
    return np.array([full[k, k] for k in range(len(full))])


@cache
def chains() -> tuple[Subject, ...]:
    arms = (
        random_arm(3, 2, prismatic=False),
        random_arm(4, 5),
        random_arm(5, 4, prismatic=False),
        robolin.load("panda", damping=False, base="panda_link0", tip="panda_link8"),
        robolin.load("ur5", damping=False),
    )
    return tuple(Subject(arm) for arm in arms)


@cache
def trees() -> tuple[Subject, ...]:
    return tuple(Subject(random_arm(seed, joints, tree=True)) for seed, joints in ((6, 5), (7, 6)))


@cache
def geared() -> tuple[Subject, ...]:
    return (
        Subject(random_arm(8, 4, armature=True)),
        Subject(random_arm(9, 5, tree=True, armature=True)),
    )


papers = in_groups("at", chains())
branched = in_groups("at", chains() + trees())
any_arm = in_groups("at", chains() + trees() + geared())
