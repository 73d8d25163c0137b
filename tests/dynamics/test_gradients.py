"""Gradients of weighted torques and accelerations, and their changes along a direction.

The references are the transposed matrices of the linearizations, complex steps of the gradients,
50-digit numbers, and reverse mode over the recorded operations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import mpmath
import numpy as np
import pytest

import robolin
from robolin.checking.verification.check_context import complex_step_along
from robolin.core.arm import Arm
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import evaluate_arm
from tests.dynamics.running import gap, run_on
from tests.robots import (
    WRENCH_MODELS,
    arm_name,
    grouped_arm,
    random_arm,
    random_states,
    with_follower,
    with_springs,
    with_wrench,
)

STATES = 3
SINGLE_DOF = (
    random_arm(1, 1),
    random_arm(2, 6),
    random_arm(3, 9, tree=True, armature=True),
    random_arm(4, 5, damping=True, friction_velocity=0.05),
    with_springs(random_arm(5, 5, tree=True)),
    with_follower(random_arm(6, 6, tree=True), followers=2),
    *(with_wrench(random_arm(7, 4), model) for model in WRENCH_MODELS),
)
GROUPED = (
    grouped_arm(0, ["floating"]),
    grouped_arm(1, ["planar", "revolute"]),
    grouped_arm(3, ["floating", "revolute", "planar", "revolute", "prismatic"], True),
    grouped_arm(4, ["planar", "floating", "revolute", "floating"], True, armature=True),
    grouped_arm(6, ["spherical", "revolute", "spherical"], True, armature=True),
    *(with_wrench(grouped_arm(8, ["floating", "revolute"]), model) for model in WRENCH_MODELS),
)
ARMS = (*SINGLE_DOF, *GROUPED)


def _weighted(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...i->...j", matrix, weights)


def _weights(arm: Arm, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, arm.n]).normal(size=(STATES, arm.n))


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_gradient_of_torques_is_the_transposed_model(arm: Arm) -> None:
    """Relative to the largest entry: 1e-13, about ten times what was seen."""
    s, weights = random_states(arm, STATES), _weights(arm)
    model = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd)
    gradient = robolin.gradient_inverse(arm, s.q, s.qd, s.qdd, weights=weights)
    assert gap(gradient.gradient_q, _weighted(model.dtau_dq, weights)) <= 1e-13
    # velocity terms of a single joint cancel
    size, true = float(np.abs(model.mass_matrix).max()), _weighted(model.dtau_dqd, weights)
    assert gap(gradient.gradient_qd, true, size) <= 1e-13
    assert gap(gradient.gradient_qdd, _weighted(model.mass_matrix, weights)) <= 1e-13


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_gradient_of_accelerations_is_the_transposed_model(arm: Arm) -> None:
    """Relative to the largest entry: 1e-12 plus what the condition of the mass matrix loses."""
    s, weights = random_states(arm, STATES), _weights(arm)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    model = robolin.linearize_forward(arm, s.q, s.qd, tau)
    allowed = 1e-12 + 1e-14 * np.linalg.cond(robolin.mass_matrix(arm, s.q)).max()
    for method in ("operator", "conventional"):
        if method == "operator" and arm.has_mimic:
            continue
        gradient = robolin.gradient_forward(arm, s.q, s.qd, tau, weights=weights, method=method)
        assert gap(gradient.gradient_tau, _weighted(model.dqdd_dtau, weights)) <= allowed
        assert gap(gradient.gradient_q, _weighted(model.dqdd_dq, weights)) <= allowed
        assert gap(gradient.gradient_qd, _weighted(model.dqdd_dqd, weights), 1.0) <= allowed


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_hessian_vector_products_are_complex_steps_of_the_gradient(arm: Arm) -> None:
    """Along δq, δq̇, δq̈; for multi-DoF joints δq is a twist."""
    s, weights = random_states(arm, STATES), _weights(arm)
    motion = {"q": s.q, "qd": s.qd, "qdd": s.qdd}
    along = {name: _weights(arm, seed) for seed, name in enumerate(motion, start=1)}
    inputs = {**motion, "tau_weights": weights}
    true = complex_step_along(arm, "gradient-inverse", inputs, along)
    changes = {f"d{name}": direction for name, direction in along.items()}
    product = robolin.hessian_vector_inverse(arm, *motion.values(), weights=weights, **changes)
    for name, change in true.items():
        assert gap(getattr(product, name), change, 1.0) <= 1e-12, name

    # forward dynamics: the accelerations change as perturb_forward computes
    tau = robolin.inverse(arm, *motion.values())
    dtau = _weights(arm, 9)
    by_state = {"dq": changes["dq"], "dqd": changes["dqd"], "dtau": dtau}
    along["qdd"] = robolin.perturb_forward(arm, s.q, s.qd, tau, **by_state)
    gradient = "gradient-forward-conventional"
    true = complex_step_along(arm, gradient, {**motion, "qdd_weights": weights}, along)
    product = robolin.hessian_vector_forward(arm, s.q, s.qd, tau, weights=weights, **by_state)
    allowed = 1e-11 + 1e-13 * np.linalg.cond(robolin.mass_matrix(arm, s.q)).max()
    for name, change in true.items():
        assert gap(getattr(product, name), change, 1.0) <= allowed, name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_one_evaluation_has_the_bits_of_two(arm: Arm, dtype: Literal["float64", "float32"]) -> None:
    """Accelerations within the gradient are those of `forward`, also with many weights."""
    s, weights = random_states(arm, STATES), _weights(arm)
    state = {"q": s.q, "qd": s.qd, "tau": robolin.inverse(arm, s.q, s.qd, s.qdd)}
    qdd = robolin.forward(arm, **state, dtype=dtype)
    motion = {"q": s.q, "qd": s.qd, "qdd": qdd, "qdd_weights": weights}
    along = {name: _weights(arm, i) for i, name in enumerate(("dq", "dqd", "dtau"))}
    gradient = robolin.gradient_forward(arm, **state, weights=weights, dtype=dtype)
    change = robolin.hessian_vector_forward(arm, **state, **along, weights=weights, dtype=dtype)
    twice = evaluate_arm(arm, "gradient-forward", motion, dtype=dtype)
    changes = evaluate_arm(arm, "hessian-forward", {**motion, **along}, dtype=dtype)
    for name, true in twice.items():
        assert getattr(gradient, name).tobytes() == true.tobytes()
        assert getattr(change, name).tobytes() == changes[f"d{name}"].tobytes()
    one = {name: values[0] for name, values in state.items()}
    rows = robolin.gradient_forward(arm, **one, weights=weights, dtype=dtype)
    for name, true in twice.items():
        assert getattr(rows, name)[0].tobytes() == true[0].tobytes()


def test_gradients_report_invalid_states() -> None:
    """Row, input and joint of a state without a result, and the name of the function."""
    arm = robolin.load("two-link")
    q, weights = np.zeros((4, 2)), np.ones((4, 2))
    q[2, 1] = np.nan
    for function in (robolin.gradient_forward, robolin.hessian_vector_forward):
        with pytest.raises(RobolinError, match="state 2: q: must be finite, got nan at joint"):
            function(arm, q, tau=0.0, weights=weights)
        with pytest.raises(RobolinError, match="state 2: qdd_weights: must be finite"):
            function(arm, np.zeros((4, 2)), tau=0.0, weights=np.where(np.isnan(q), q, 1.0))
    for method in ("best", "a"):
        loops = robolin.load("four-bar")
        with pytest.raises(RobolinError, match="closed loops" if method == "a" else "unknown meth"):
            robolin.gradient_forward(loops, 0.0, tau=0.0, weights=1.0, method=method)


@pytest.mark.parametrize("arm", SINGLE_DOF, ids=arm_name)
def test_hessians_are_symmetric(arm: Arm) -> None:
    """Second derivatives do not depend on the order, except along twists."""
    s, weights = random_states(arm, 1), _weights(arm)[:1]
    for hessian in (
        robolin.hessian_inverse(arm, s.q, s.qd, s.qdd, weights=weights),
        robolin.hessian_forward(arm, s.q, s.qd, s.qdd, weights=weights),
    ):
        scale = np.abs(hessian).max() or 1.0
        assert np.abs(hessian - hessian.swapaxes(-1, -2)).max() <= 1e-11 * scale


def test_fifty_digits_confirm_the_gradients() -> None:
    """Errors of the float results: below 1e-14 of the largest entry on a Panda."""
    arm = robolin.load("panda")
    s = random_states(arm, 1)
    q, qd, qdd = s.q[0], s.qd[0], s.qdd[0]
    inputs = {"q": q, "qd": qd, "qdd": qdd, "tau_weights": _weights(arm)[0]}
    inputs |= {"dq": qd, "dqd": qdd, "dqdd": q}
    with mpmath.workdps(50):
        digits = {name: np.vectorize(mpmath.mpf, otypes=[object])(x) for name, x in inputs.items()}
        true = run_on(arm, "hessian-inverse", digits, mpmath.mpf)
    for name, computed in run_on(arm, "hessian-inverse", inputs).items():
        assert gap(computed, true[name].astype(float)) <= 1e-14


def test_closed_loops_are_rejected() -> None:
    """Adjoints of loop constraints are not supported, and the message names the loop."""
    arm = robolin.load("four-bar")
    with pytest.raises(RobolinError, match="supports kinematic trees only"):
        robolin.gradient_forward(arm, np.zeros(arm.n), weights=1.0)


def test_weights_of_a_single_joint_are_a_row_of_the_jacobian() -> None:
    """A unit weight selects the derivatives of one joint, also for a batch of states."""
    arm = replace(robolin.load("panda"), name="arm")
    s = random_states(arm, 4)
    model = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd)
    gradient = robolin.gradient_inverse(
        arm, s.q[:, None], s.qd[:, None], s.qdd[:, None], weights=np.eye(arm.n)
    )
    assert gradient.gradient_q.shape == (4, arm.n, arm.n)
    assert gap(gradient.gradient_q, model.dtau_dq) <= 1e-13
