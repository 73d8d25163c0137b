"""Closed loops over any scalar: against LAPACK, complex steps, 50 digits and counters."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pytest

import robolin
from robolin.core.arm import Frame, Loop, Pose
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import parameters_of
from robolin.engine.run import count_operations
from robolin.evaluation.evaluate import evaluate_rows
from robolin.evaluation.loop_dynamics import Mechanism, loop_solution
from tests.dynamics.running import complex_step, run_on
from tests.evaluation.loops.closed_arms import Closed, closed, looped, relative, sample
from tests.robots import random_arm

# measured at 2e-14; the equations have condition numbers up to 1e4
AGREE = 1e-12

CLOSED = [name for name, algorithm in ALGORITHMS.items() if algorithm.kind == "closed"]
every_arm = pytest.mark.parametrize("closed", sample(), ids=lambda closed: closed.arm.name)


@every_arm
def test_results_equal_those_of_lapack(closed: Closed) -> None:
    """Accelerations, forces and active rows are those of QR and LU."""
    state = {"q": closed.q, "qd": closed.qd, "tau": closed.tau}
    computed, unanswered = evaluate_rows(closed.arm, "forward-closed", state)
    true = Mechanism(closed.arm, **state).solution()

    assert not unanswered.any()
    assert relative(computed["qdd"], true.qdd) < AGREE
    assert relative(computed["lam"], true.lam) < AGREE
    np.testing.assert_array_equal(computed["kept"] > 0.5, true.kept)


@every_arm
@pytest.mark.parametrize("along", ["q", "qd", "tau"])
def test_linearization_by_complex_step(closed: Closed, along: str) -> None:
    """Derivatives of accelerations and forces are complex steps of the algorithm."""
    state = {"q": closed.q[0], "qd": closed.qd[0], "tau": closed.tau[0]}
    true = complex_step(closed.arm, "forward-closed", state, along)
    model = robolin.linearize_loops(closed.arm, **state)

    assert relative(getattr(model, f"dqdd_d{along}"), true["qdd"]) < AGREE
    assert relative(getattr(model, f"dlam_d{along}"), true["lam"]) < AGREE


def test_accuracy() -> None:
    """Twelve digits of accelerations and forces are correct, by 50-digit arithmetic."""
    at = closed(1, 9, ("rigid", 1, 0))
    state = {"q": at.q[0], "qd": at.qd[0], "tau": at.tau[0]}
    with mpmath.workdps(50):
        exact = {
            name: np.array([mpmath.mpf(x) for x in values.tolist()])
            for name, values in state.items()
        }
        true = run_on(at.arm, "forward-closed", exact, mpmath.mpf)
    floats = run_on(at.arm, "forward-closed", state)
    for name in ("qdd", "lam"):
        assert relative(floats[name], true[name].astype(float)) < AGREE


@pytest.mark.parametrize("name", CLOSED)
def test_costs_are_counted(name: str) -> None:
    """Counters run the same lines: every closed algorithm multiplies, and more for more joints."""
    algorithm = ALGORITHMS[name]
    few, many = (
        count_operations(
            parameters_of(at.arm), algorithm.run, algorithm.needs, algorithm.gives
        ).total
        for at in (sample()[0], closed(0, 9, ("point", 1, 0)))
    )
    assert 0 < few["multiplication"] < many["multiplication"]


def nearly_flat(angle: float) -> tuple[robolin.Arm, np.ndarray]:
    """A four-bar that folds flat, so that at angle 0 its equations lose rank, close to there."""
    arm = robolin.load("four-bar")
    short = Frame("a", 2, Pose(translation=(0.0, 0.5, 0.0)))
    flat = Loop("pin", "point", short, replace(arm.loops[0].second, link=4))
    arm = replace(arm, loops=(flat,))
    return arm, robolin.close(arm, [angle, 0.0, 0.0], hold="drive").q


def test_nearly_singular_states_use_lapack() -> None:
    """The algorithm gives no result for nearly dependent equations, and the fallback does."""
    arm, q = nearly_flat(3e-8)
    state = {"q": q[None], "qd": np.zeros((1, 3)), "tau": np.ones((1, 3))}
    _, unanswered = evaluate_rows(arm, "forward-closed", state)
    assert unanswered.all()
    computed, true = loop_solution(arm, **state), Mechanism(arm, **state).solution()
    for name, values in vars(true).items():
        np.testing.assert_array_equal(getattr(computed, name), values, err_msg=name)


def test_arms_without_loops_have_no_closures() -> None:
    """Queries about closures are rejected for arms without loops."""
    with pytest.raises(robolin.RobolinError, match="no closed loops"):
        evaluate_rows(robolin.load("two-link"), "closures", {"q": 0.0, "qd": 0.0})


INDEPENDENT = [each for each in sample() if not each.arm.has_mimic]


@pytest.mark.parametrize("closed", INDEPENDENT, ids=lambda closed: closed.arm.name)
def test_recursions_find_the_same_motion(closed: Closed) -> None:
    """Method 2 without a mass matrix gives accelerations and forces of QR and LU."""
    state = {"q": closed.q, "qd": closed.qd, "tau": closed.tau}
    results = run_on(closed.arm, "forward-closed-recursive", state)
    true = Mechanism(closed.arm, **state).solution()

    assert relative(results["qdd"], true.qdd) < AGREE
    assert relative(results["lam"], true.lam) < AGREE


@pytest.mark.slow
def test_recursions_cost_a_line_in_n() -> None:
    """Each joint more costs the same for a given closure; elimination costs more for each."""

    def total(name: str, joints: int) -> int:
        arm = random_arm(0, joints, prismatic=False)
        arm = looped(arm, np.full(joints, 0.3), (("point", 1, 0),), 0)
        algorithm = ALGORITHMS[name]
        counted = count_operations(
            parameters_of(arm), algorithm.run, algorithm.needs, algorithm.gives
        )
        return sum(counted.total.values())

    line = np.diff([total("forward-closed-recursive", n) for n in (5, 6, 7)], 2)
    curve = np.diff([total("forward-closed", n) for n in (5, 6, 7)], 2)
    assert line == 0
    assert curve > 0
    assert total("forward-closed-recursive", 14) < total("forward-closed", 14)


def test_recursions_reject_mimic_joints() -> None:
    """Articulated bodies need independent joints."""
    at = sample()[5]
    with pytest.raises(robolin.RobolinError, match="independent joints"):
        evaluate_rows(at.arm, "forward-closed-recursive", {"q": at.q, "qd": 0.0, "tau": 0.0})
