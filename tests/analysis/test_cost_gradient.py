"""The gradient of a cost by the adjoint, against sensitivities and against motions run again."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from tests.analysis.motions import Motion, moved, swing
from tests.dynamics.running import gap

ARM = robolin.load("two-link")
START = swing(ARM, seed=3, duration=0.1)


def rows(motion: Motion) -> tuple[np.ndarray, ...]:
    return motion.time, motion.q, motion.qd, motion.tau


@pytest.mark.slow
@pytest.mark.parametrize("torques", ["continuous", "stepwise"])
def test_adjoint_and_sensitivities_agree(torques: str) -> None:
    """Σ c* δx by sensitivities is the gradient times the change, to 1e-13: both are one sum.

    λ* Φ … Φ δx is multiplied from the left by one, from the right by the other.
    """
    motion = START.motion()
    rng = np.random.default_rng(4)
    c_q, c_qd, dtau = rng.normal(size=(3, len(motion.time), ARM.n))
    dq, dqd = rng.normal(size=(2, ARM.n))
    gradient = robolin.cost_gradient(
        ARM, *rows(motion), dcost_dq=c_q, dcost_dqd=c_qd, torques=torques
    )
    parameters = dict(
        zip(gradient.names, rng.normal(size=len(gradient.names)).tolist(), strict=True)
    )
    change = {"dq": dq, "dqd": dqd, "dtau": dtau, "parameters": parameters}
    forward = robolin.sensitivity(ARM, *rows(motion), **change, torques=torques)

    true = np.sum(c_q * forward.dq) + np.sum(c_qd * forward.dqd)
    terms = (
        gradient.q[0] * dq,
        gradient.qd[0] * dqd,
        gradient.tau * dtau,
        gradient.parameter[0] * [*parameters.values()],
    )
    size = sum(float(np.abs(term).sum()) for term in terms)
    by_adjoint = np.array(sum(float(term.sum()) for term in terms))
    assert gap(by_adjoint, true, made_of=size) < 1e-13


def test_gradient_of_a_square() -> None:
    """½ Σ |q|² changes with the initial state as the gradient predicts, to 1e-7.

    Central differences with steps of 1e-4 leave about 1e-8 of the gradient.
    """
    motion = START.motion()
    gradient = robolin.cost_gradient(ARM, *rows(motion), dcost_dq=motion.q)
    for i, way in enumerate(np.eye(2 * ARM.n)):
        more, less = (
            moved(START, s * way[: ARM.n], s * way[ARM.n :]).motion() for s in (1e-4, -1e-4)
        )
        true = (np.sum(more.q**2) - np.sum(less.q**2)) / 4e-4
        first = np.concatenate([gradient.q[0], gradient.qd[0]])
        assert abs(first[i] - true) < 1e-7 * np.abs(first).max()


def test_later_rows_are_gradients_of_the_rest() -> None:
    """Row k is the gradient of the motion that begins there."""
    motion = START.motion()
    rest = Motion(*(values[40:] for values in rows(motion)))
    full, late = (
        robolin.cost_gradient(ARM, *rows(each), dcost_dq=each.q) for each in (motion, rest)
    )
    for name in ("q", "qd", "parameter"):
        np.testing.assert_allclose(getattr(full, name)[40:], getattr(late, name), rtol=1e-12)


def test_a_gradient_for_every_row() -> None:
    """Gradients with another number of rows are errors with both numbers."""
    motion = START.motion()
    with pytest.raises(
        robolin.RobolinError, match="dcost_dq: has shape 3x2, but the trajectory has 101 rows"
    ):
        robolin.cost_gradient(ARM, *rows(motion), dcost_dq=np.zeros((3, 2)))
