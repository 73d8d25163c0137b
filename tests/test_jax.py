"""JAX functions have the bits of the NumPy functions and exact derivatives."""

from __future__ import annotations

import ctypes
import gc
import re
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.errors import RobolinError, UsageError
from tests.cli.command import python
from tests.packages import Package, needs
from tests.robots import grouped_arm
from tools.markdown import DOCS

jax = needs("jax", reason="the extra `jax` is not installed")
rj = Package("robolin.jax")

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

    def weighted(x):
        return weights @ function(x[:n], x[n : 2 * n], x[2 * n :])

    expected = getattr(robolin, f"hessian_{verb}")(arm, *motion, weights=weights)
    for mode in (
        jax.hessian,
        lambda f: jax.jacrev(jax.jacrev(f)),
        lambda f: jax.jacfwd(jax.grad(f)),
    ):
        computed = np.asarray(jax.jit(mode(weighted))(motion.ravel()))
        assert np.abs(computed - expected).max() <= 1e-12 * np.abs(expected).max()
    with pytest.raises(RobolinError, match="have derivatives of the first and second order"):
        jax.jacfwd(jax.hessian(weighted))(motion.ravel())


@pytest.mark.parametrize("verb", ["mass-matrix", "linearize-inverse", "linearize-forward"])
def test_matrices_have_one_derivative(verb: str) -> None:
    """Matrices have the bits of the NumPy functions; their derivative is that of central steps."""
    arm = robolin.load("ur5")
    motion = _motion(arm, 5)[: 1 if verb == "mass-matrix" else 3]
    function, reference = rj.function(arm, verb), getattr(robolin, verb.replace("-", "_"))
    result, expected = jax.jit(function)(*motion), reference(arm, *motion)
    if verb == "mass-matrix":
        assert np.array_equal(result, expected)
    else:
        for name, array in result._asdict().items():
            assert np.array_equal(array, getattr(expected, name)), name
    along, step = _motion(arm, 5)[::-1][: len(motion)], 1e-5
    _, change = jax.jvp(function, tuple(motion), tuple(along))
    sides = [reference(arm, *(motion + sign * step * along)) for sign in (1.0, -1.0)]
    if verb == "mass-matrix":
        pairs = [(change, sides)]
    else:
        pairs = [
            (getattr(change, name), [getattr(side, name) for side in sides])
            for name in result._fields
        ]
    for computed, (above, below) in pairs:
        difference = (above - below) / (2.0 * step)
        # central differences of 1e-5 have an error of about 1e-9
        assert np.abs(computed - difference).max() <= 1e-7 * np.abs(difference).max()


@pytest.mark.parametrize("verb", ["forward", "mass-matrix"])
def test_arms_are_freed(verb: str) -> None:
    """Functions and compiled programs keep no arm; equal robots share what programs read."""
    q, sizes = np.zeros((3, 2)), []
    for _ in range(3):
        arm = replace(robolin.load("two-link"))
        deleted, function = weakref.ref(arm), rj.function(arm, verb)
        rest = (0.0,) * (2 if verb == "forward" else 0)
        program = jax.jit(jax.grad(lambda q, f=function, rest=rest: f(q, *rest).sum()))
        gradient = program(q)
        del arm, function
        gc.collect()
        # the program works without the arm
        assert np.array_equal(program(q), gradient)
        del program
        gc.collect()
        assert deleted() is None
        sizes.append(len(rj._KEPT))
    assert sizes == [sizes[0]] * 3


def test_programs_of_different_robots_differ() -> None:
    """Robots of one type share kernels, but not their parameters."""
    arms = [replace(robolin.load("two-link"), gravity=(0.0, g, 0.0)) for g in (-9.81, -1.62)]
    q = np.array([0.3, -0.7])
    for arm in arms:
        torque = jax.jit(rj.function(arm, "inverse"))(q, 0.0, 0.0)
        assert np.array_equal(torque, robolin.inverse(arm, q))


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


def test_threads_share_a_batch() -> None:
    """Rows of all chunks have the bits of one row, also if several batches run at the same time."""
    arm = robolin.load("two-link")
    function = jax.jit(rj.function(arm, "forward"))
    for rows in (0, 511, 512, 513, 1000, 5000):
        motion = _motion(arm, rows)
        motion[0, 3:4, 0] = np.nan
        expected = np.array(
            [
                np.full(2, np.nan) if np.isnan(q).any() else robolin.forward(arm, q, qd, tau)
                for q, qd, tau in motion.swapaxes(0, 1)[:20]
            ]
        ).reshape(-1, 2)
        with ThreadPoolExecutor(8) as pool:
            batches = [pool.submit(function, *motion) for _ in range(16)]
        results = [np.asarray(each.result()) for each in batches]
        for result in results:
            assert np.array_equal(result, results[0], equal_nan=True)
            assert np.array_equal(result[:20], expected, equal_nan=True)
        good = slice(4, None)
        assert np.array_equal(results[0][good], robolin.forward(arm, *motion[:, good]))


# a function of no memory takes the place of malloc; the stack is not used if its limit is 0
NO_MEMORY = """
import ctypes, sys
import jax, llvmlite.binding as llvm, numpy as np, robolin
from robolin.engine.compiled import xla_handler
import robolin.jax as rj

jax.config.update("jax_enable_x64", True)
none = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(lambda size: None)
llvm.add_symbol("test_no_memory", ctypes.cast(none, ctypes.c_void_p).value)
xla_handler._ALLOCATE = "test_no_memory"
if sys.argv[1] == "kernel":
    xla_handler._STACK_BYTES = 0
arm = robolin.load("two-link")
motion = np.random.default_rng(5).uniform(-1.0, 1.0, (3, int(sys.argv[2]), 2))
try:
    result = jax.jit(rj.function(arm, "forward"))(*motion).block_until_ready()
except Exception as error:
    print("error:", error)
else:
    print("same:", np.array_equal(result, robolin.forward(arm, *motion)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["70", "5000"])
def test_without_memory(rows: str) -> None:
    """A kernel without memory is an error of XLA; without shared memory, one thread computes."""
    assert "not enough memory for a kernel" in python(NO_MEMORY, "kernel", rows).out
    assert python(NO_MEMORY, "task", rows).out == "same: True\n"


def test_broadcasting_and_wrong_shapes() -> None:
    """Numbers stand for all joints, leading axes broadcast, other lengths are rejected."""
    arm = robolin.load("two-link")
    forward = rj.function(arm, "forward")
    q = np.ones((4, 3, 2))
    assert np.array_equal(forward(q, 0.0, np.zeros(2)), robolin.forward(arm, q, 0.0, 0.0))
    with pytest.raises(RobolinError, match="must have 2 values along its last axis"):
        forward(np.ones(3), 0.0, 0.0)
    with pytest.raises(RobolinError, match=r"shapes do not match: q \(3, 2\), qd \(4, 2\)"):
        forward(np.ones((3, 2)), np.ones((4, 2)), 0.0)
    with pytest.raises(UsageError, match="must be called with q, qd and tau, got 1 argument"):
        forward(np.ones(2))


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
    with pytest.raises(UsageError, match="must be one of 'inverse', 'forward', 'mass-"):
        rj.function(robolin.load("two-link"), "diagonalize")
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(UsageError, match="64-bit"):
        rj.function(robolin.load("two-link"), "forward")


def test_traced_arrays_get_a_hint() -> None:
    """A NumPy function inside of jit names the JAX function."""
    arm = robolin.load("two-link")
    with pytest.raises(UsageError, match="traced JAX array") as error:
        jax.jit(lambda q: robolin.inverse(arm, q))(np.zeros(2))
    assert "robolin.jax.function" in str(error.value.hint)


@pytest.mark.slow
def test_the_section_about_jax_runs() -> None:
    """The block of docs/howto/learning.md differentiates through a rollout."""
    page = (DOCS / "howto/learning.md").read_text("utf-8").partition("## Use JAX")[2]
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    names: dict = {}
    exec(compile(code, "docs/howto/learning.md", "exec"), names)
    assert names["gradient"].shape == (20, 7)
    assert np.abs(names["gradient"]).sum() > 0.0
