"""Every derivative the interface gives, against complex steps of what it is the derivative of.

A complex step has no truncation error, so both sides are right to rounding: 1e-13 of the largest
entry, state by state.  Derivatives of q̈ pass through the mass matrix twice and are allowed
1e-15 cond(𝓜) more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_names
from tests.dynamics.running import (
    complex_step,
    complex_step_along,
    gap_by_state,
    inertia_bound,
    run_on,
)
from tests.robots import (
    WRENCH_MODELS,
    arm_name,
    random_arm,
    random_states,
    with_follower,
    with_wrench,
)

ROUNDING = 1e-13
STATES = 2

METHODS = ("operator", "conventional")


def _cases() -> list[Arm]:
    """Chains and trees with everything on, each wrench model, mimic joints, the bundled arms."""
    arms = []
    for seed, joints, tree in ((31, 3, False), (32, 6, False), (33, 5, True), (34, 9, True)):
        arm = random_arm(seed, joints, tree, armature=True, damping=True, friction_velocity=0.4)
        arms.append(replace(arm, name=f"{arm.name}-friction"))
        arms.append(with_follower(arm))
    for seed, model in enumerate(WRENCH_MODELS):
        for tree in (False, True):
            arm = with_wrench(random_arm(40 + seed, 6, tree), model, seed)
            # one more load, half way along the arm
            middle = with_wrench(arm, model, seed + 9, frame="link2").wrenches
            arm = replace(arm, wrenches=arm.wrenches + middle)
            arms.append(replace(arm, name=f"{arm.name}-{model}"))
        arms.append(replace(with_follower(arm), name=f"{arm.name}-{model}-mimic"))
    return arms + [robolin.load(name, open_loops=True) for name in bundled_names()]


CASES = _cases()
every = pytest.mark.parametrize("arm", CASES, ids=arm_name)


def methods(arm: Arm) -> tuple[str, ...]:
    return ("conventional",) if arm.has_mimic else METHODS


def tolerance(arm: Arm, q: np.ndarray) -> float:
    return ROUNDING + 1e-15 * float(np.linalg.cond(robolin.mass_matrix(arm, q)).max())


@every
def test_gradients_of_torque(arm: Arm) -> None:
    """∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ are complex steps of Newton–Euler."""
    s = random_states(arm, STATES)
    inputs = {"q": s.q, "qd": s.qd, "qdd": s.qdd}
    model = robolin.linearize_inverse(arm, **inputs)

    for name, along in (("dtau_dq", "q"), ("dtau_dqd", "qd"), ("mass_matrix", "qdd")):
        true = complex_step(arm, "inverse", inputs, along)["tau"]
        assert gap_by_state(getattr(model, name), true).max() <= ROUNDING, name


@every
def test_gradient_of_the_mass_matrix(arm: Arm) -> None:
    """∂𝓜/∂q is the complex step of the composite bodies."""
    s = random_states(arm, STATES)
    true = complex_step(arm, "mass-matrix", {"q": s.q}, "q")["mass_matrix"]

    dM = robolin.mass_matrix_derivative(arm, s.q)
    assert gap_by_state(dM, true, inertia_bound(arm)).max() <= ROUNDING


@every
def test_change_of_torque(arm: Arm) -> None:
    """δτ of Algorithm 1 is the complex step of Newton–Euler along the change."""
    s = random_states(arm, STATES)
    inputs = {"q": s.q, "qd": s.qd, "qdd": s.qdd}
    true = complex_step_along(arm, "inverse", inputs, {"q": s.dq, "qd": s.dqd, "qdd": s.dqdd})

    dtau = robolin.perturb_inverse(arm, **inputs, dq=s.dq, dqd=s.dqd, dqdd=s.dqdd)
    assert gap_by_state(dtau, true["tau"]).max() <= ROUNDING


@every
def test_gradients_of_acceleration(arm: Arm) -> None:
    """∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ are complex steps of forward dynamics, by every method."""
    s = random_states(arm, STATES)
    inputs = {"q": s.q, "qd": s.qd, "tau": robolin.inverse(arm, s.q, s.qd, s.qdd)}

    for method in methods(arm):
        verb = "forward" if method == "operator" else "forward-conventional"
        model = robolin.linearize_forward(arm, **inputs, method=method)
        for name, along in (("dqdd_dq", "q"), ("dqdd_dqd", "qd"), ("dqdd_dtau", "tau")):
            true = complex_step(arm, verb, inputs, along)["qdd"]
            gaps = gap_by_state(getattr(model, name), true)
            assert gaps.max() <= tolerance(arm, s.q), (method, name)


@every
def test_change_of_acceleration(arm: Arm) -> None:
    """δq̈ of Algorithms 3, 5 and 5b is the complex step of forward dynamics along the change."""
    s = random_states(arm, STATES)
    state = {"q": s.q, "qd": s.qd, "tau": robolin.inverse(arm, s.q, s.qd, s.qdd)}
    change = {"q": s.dq, "qd": s.dqd, "tau": s.dtau}
    verb = "forward-conventional" if arm.has_mimic else "forward"
    true = complex_step_along(arm, verb, state, change)["qdd"]

    names = {f"d{name}": values for name, values in change.items()}
    for method in methods(arm):
        dqdd = robolin.perturb_forward(arm, **state, **names, method=method)
        assert gap_by_state(dqdd, true).max() <= tolerance(arm, s.q), method
    if not arm.has_mimic:
        inputs = {**state, "qdd": s.qdd, **names}
        dqdd = run_on(arm, "perturb-forward-articulated", inputs)["dqdd"]
        assert gap_by_state(dqdd, true).max() <= tolerance(arm, s.q), "Algorithm 5"
