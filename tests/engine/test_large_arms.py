"""Arms with enough joints that a kernel is faster for a single state."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.evaluation import evaluate as evaluation
from robolin.evaluation.evaluate import MUCH_WORK, algorithm_for, arm_cache, evaluate, work_of
from tests.robots import random_arm, random_states, with_follower

VERBS = ("inverse", "mass-matrix", "linearize-inverse", "linearize-forward", "forward")


def test_work_grows_with_results_and_eliminations() -> None:
    """Matrices of a long chain are much work, vectors are not, eliminations of it are."""
    arm = random_arm(3, 200)
    assert work_of(arm, "inverse") == 200
    assert work_of(arm, "linearize-inverse") == 3 * 200**2 > MUCH_WORK
    assert work_of(arm, "forward") < MUCH_WORK < work_of(arm, "forward-conventional")
    assert all(work_of(random_arm(3, 12), verb) < MUCH_WORK for verb in VERBS)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("mimic", [False, True])
def test_one_state_of_a_large_arm_is_compiled_with_the_same_bits(
    verb: str, mimic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expensive queries use a kernel, with Python's bits."""
    arm = random_arm(5, 14, tree=True)
    arm = with_follower(arm) if mimic else arm
    s = random_states(arm, 1)
    inputs = {"q": s.q[0], "qd": s.qd[0], "qdd": s.qdd[0], "tau": s.dtau[0]}
    name = algorithm_for(arm, verb)
    python = evaluate(arm, verb, inputs, engine="python")
    evaluate(arm, verb, inputs)
    assert arm_cache(arm).loaded_plan(name) is None

    monkeypatch.setattr(evaluation, "MUCH_WORK", work_of(arm, name))
    compiled = evaluate(arm, verb, inputs)
    assert arm_cache(arm).loaded_plan(name)
    assert all(compiled[key].tobytes() == python[key].tobytes() for key in python)


@pytest.mark.slow
def test_a_long_chain_needs_no_hint() -> None:
    """One state of 200 joints uses a kernel without an option."""
    arm = random_arm(7, 200)
    evaluate(arm, "linearize-inverse", dict.fromkeys(("q", "qd", "qdd"), np.full(200, 0.1)))
    assert arm_cache(arm).loaded_plan("linearize-inverse")
