"""JAX functions have the bits of the NumPy functions and exact derivatives."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.errors import RobolinError, UsageError
from tests.robots import grouped_arm

jax = pytest.importorskip("jax", reason="the extra `jax` is not installed")
rj = pytest.importorskip("robolin.jax")

VERBS = ("inverse", "forward")


@pytest.fixture(autouse=True)
def _sixty_four_bits():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", True)


def _motion(arm: robolin.Arm, rows: int = 70) -> np.ndarray:
    return np.random.default_rng(5).uniform(-1.0, 1.0, (3, rows, arm.n))


def _jacobians(arm: robolin.Arm, verb: str, motion: np.ndarray) -> tuple:
    if verb == "inverse":
        model = robolin.linearize_inverse(arm, *motion)
        return model.dtau_dq, model.dtau_dqd, model.mass_matrix
    forward = robolin.linearize_forward(arm, *motion)
    return forward.dqdd_dq, forward.dqdd_dqd, forward.dqdd_dtau


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["two-link", "panda-fingers"])
def test_values_and_jacobians_have_the_bits_of_the_library(name: str, verb: str) -> None:
    """jit, vmap, jacfwd and jacrev return exactly the arrays of the NumPy functions."""
    arm = robolin.load(name)
    function, motion = rj.function(arm, verb), _motion(arm)
    value = getattr(robolin, verb)(arm, *motion)
    assert np.array_equal(function(*motion), value)
    assert np.array_equal(jax.jit(jax.vmap(function))(*motion), value)
    one = [each[0] for each in motion]
    assert np.array_equal(jax.jit(function)(*one), getattr(robolin, verb)(arm, *one))
    true = _jacobians(arm, verb, motion)
    for mode in (jax.jacfwd, jax.jacrev):
        jacobians = jax.jit(jax.vmap(mode(function, argnums=(0, 1, 2))))(*motion)
        for computed, expected in zip(jacobians, true, strict=True):
            assert np.array_equal(computed, expected)


@pytest.mark.parametrize("verb", VERBS)
def test_second_derivatives(verb: str) -> None:
    """jax.hessian of weighted results is `hessian_inverse` or `hessian_forward`, to 1e-12."""
    arm = robolin.load("ur5")
    function, motion = rj.function(arm, verb), _motion(arm, 1)[:, 0]
    weights, n = np.linspace(0.5, -1.0, arm.n), arm.n
    hessian = jax.hessian(lambda x: weights @ function(x[:n], x[n : 2 * n], x[2 * n :]))
    expected = getattr(robolin, f"hessian_{verb}")(arm, *motion, weights=weights)
    computed = np.asarray(hessian(motion.ravel()))
    assert np.abs(computed - expected).max() <= 1e-12 * np.abs(expected).max()


def test_gradient_through_a_rollout() -> None:
    """The gradient through `lax.scan` is that of central differences of the same loop."""
    arm = robolin.load("two-link")
    forward = rj.function(arm, "forward")

    def miss(torques):
        def step(state, tau):
            q, qd = state
            qd = qd + 0.01 * forward(q, qd, tau)
            return (q + 0.01 * qd, qd), None

        start = (np.array([0.3, -0.7]), np.zeros(2))
        (q, qd), _ = jax.lax.scan(step, start, torques)
        return (q**2).sum() + (qd**2).sum()

    torques = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2))
    gradient = np.asarray(jax.jit(jax.grad(miss))(torques))
    for index in ((0, 0), (7, 1), (19, 0)):
        step = np.zeros_like(torques)
        step[index] = 1e-5
        difference = (miss(torques + step) - miss(torques - step)) / 2e-5
        # central differences of 1e-5 have an error of about 1e-9
        assert abs(gradient[index] - difference) <= 1e-7 * abs(gradient).max()


def test_states_without_a_result_are_nan() -> None:
    """A row that robolin would reject is NaN; the others have their results."""
    arm = robolin.load("two-link")
    q, qd, tau = _motion(arm, 70)
    q[3, 0], q[5] = np.nan, 1e9
    result = np.asarray(rj.function(arm, "forward")(q, qd, tau))
    assert np.isnan(result[[3, 5]]).all()
    fine = np.delete(np.arange(70), [3, 5])
    assert np.array_equal(result[fine], robolin.forward(arm, q[fine], qd[fine], tau[fine]))


def test_memory_of_many_rows() -> None:
    """A batch whose status needs more memory than a call takes from the stack is computed."""
    arm = robolin.load("panda")
    motion = np.tile(_motion(arm, 500), (1, 100, 1))
    function = jax.jit(rj.function(arm, "forward"))
    assert np.array_equal(function(*motion), robolin.forward(arm, *motion))


def test_broadcasting_and_wrong_shapes() -> None:
    """Numbers stand for all joints, leading axes broadcast, other lengths are rejected."""
    arm = robolin.load("two-link")
    forward = rj.function(arm, "forward")
    q = np.ones((4, 3, 2))
    assert np.array_equal(forward(q, 0.0, np.zeros(2)), robolin.forward(arm, q, 0.0, 0.0))
    with pytest.raises(RobolinError, match="must have 2 values along its last axis"):
        forward(np.ones(3), 0.0, 0.0)


def test_numbers_that_are_not_real_are_rejected() -> None:
    """Complex numbers would lose their imaginary part, as in the NumPy functions."""
    forward = rj.function(robolin.load("two-link"), "forward")
    with pytest.raises(RobolinError, match="qd: must be an array of real numbers, got type comp"):
        forward(np.zeros(2), 1j * np.ones(2), 0.0)
    with pytest.raises(RobolinError, match="q: must be an array of numbers"):
        forward(np.array(["x", "y"]), 0.0, 0.0)


def test_compiled_functions_live_longer_than_their_arm() -> None:
    """An executable has the address of the kernel: freed memory would end the process."""
    state = np.array([0.3, -0.7])

    def compiled() -> tuple[Any, Any, np.ndarray]:
        arm = robolin.load("two-link")
        forward = rj.function(arm, "forward")
        return (
            jax.jit(forward).lower(state, state, state).compile(),
            jax.vjp(forward, state, state, state)[1],
            robolin.forward(arm, state, state, state),
        )

    executable, back, expected = compiled()
    jax.clear_caches()
    gc.collect()
    overwriting = [(ctypes.c_int64 * 11)(*[1] * 11) for _ in range(5000)]
    assert np.array_equal(executable(state, state, state), expected), len(overwriting)
    assert np.isfinite(back(np.ones(2))[0]).all()


def test_arms_and_settings_without_a_function() -> None:
    """Multi-DoF joints, closed loops, other verbs and 32-bit JAX are rejected with a hint."""
    with pytest.raises(RobolinError, match="several degrees of freedom"):
        rj.function(grouped_arm(1, ["spherical", "revolute"]), "forward")
    with pytest.raises(RobolinError, match="tree"):
        rj.function(robolin.load("four-bar"), "forward")
    with pytest.raises(UsageError, match="must be 'inverse' and 'forward'"):
        rj.function(robolin.load("two-link"), "mass-matrix")
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(UsageError, match="64-bit"):
        rj.function(robolin.load("two-link"), "forward")


def test_traced_arrays_get_a_hint() -> None:
    """A NumPy function inside of jit names the JAX function."""
    arm = robolin.load("two-link")
    with pytest.raises(UsageError, match="traced array of JAX") as error:
        jax.jit(lambda q: robolin.inverse(arm, q))(np.zeros(2))
    assert "robolin.jax.function" in str(error.value.hint)
