"""Single precision: same bits with and without a compiler, known errors, half the bytes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.dynamics.algebra.trigonometry import FLOAT, sin_cos_in
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.plan import Plan, arm_tables, kernel_spec
from robolin.evaluation.evaluate import algorithm_for
from robolin.evaluation.float32 import SinglePrecisionNumbers, float32_cache
from tests.cases import for_each

FUNCTIONS = ("inverse", "forward", "linearize_inverse", "linearize_forward")
VERBS = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")


def _arrays(result: Any) -> list[np.ndarray]:
    if isinstance(result, np.ndarray):
        return [result]
    names = ("mass_matrix", "dtau_dq", "dtau_dqd", "dqdd_dq", "dqdd_dqd", "dqdd_dtau")
    return [getattr(result, name) for name in names if hasattr(result, name)]


def _states(arm: robolin.Arm, rows: int = 70) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1.0, 1.0, (3, rows, arm.n))


@pytest.mark.slow
@for_each("name", ["panda", "panda-fingers", "cart-pole"])
@for_each("function", FUNCTIONS)
def test_compiled_results_have_the_bits_of_plain_ones(name: str, function: str) -> None:
    """Kernels of single precision and NumPy arrays give the same float32 numbers."""
    arm = robolin.load(name)
    call = getattr(robolin, function)
    compiled, plain, double = (
        _arrays(call(arm, *_states(arm), **options))
        for options in (
            {"dtype": "float32", "engine": "compiled"},
            {"dtype": "float32", "engine": "python"},
            {},
        )
    )
    for a, b, true in zip(compiled, plain, double, strict=True):
        assert a.dtype == b.dtype == np.float32
        assert true.dtype == np.float64
        np.testing.assert_array_equal(a, b)
        # rounding of 24 bits, grown by a few hundred operations and the condition of M
        assert np.abs(a - true).max() <= 1e-4 * np.abs(true).max()
        assert (a != true).any()


@for_each("width", [4, 8, 16])
def test_bits_do_not_depend_on_the_number_of_lanes(width: int) -> None:
    """Vectors of 4, 8 and 16 floats give the same results and status."""
    arm = robolin.load("ur5")
    name = algorithm_for(arm, "linearize-forward")
    cache, algorithm = float32_cache(arm), ALGORITHMS[name]
    tables = arm_tables(cache.parameters)
    spec = kernel_spec(name, algorithm, tables, width, precision=FLOAT)
    inputs = [values.astype(np.float32) for values in _states(arm, 37)]
    arrays, status = Plan(tables, spec).call_batch(inputs, (37,))
    expected = robolin.linearize_forward(arm, *_states(arm, 37), dtype="float32", engine="python")
    np.testing.assert_array_equal(arrays["dqdd_dq"], expected.dqdd_dq)
    assert not status.any()


TYPED = [
    name
    for name in robolin.__all__
    if inspect.isfunction(function := getattr(robolin, name))
    and "dtype" in inspect.signature(function).parameters
]


@for_each("name", TYPED)
def test_every_function_with_the_argument_uses_it(name: str) -> None:
    """All arrays of a result have the requested type."""
    function, values = getattr(robolin, name), np.array([0.1, 0.2])
    parameters = inspect.signature(function).parameters.items()
    needed = [key for key, each in parameters if each.default is inspect.Parameter.empty]
    state = {key: robolin.load("two-link") if key == "arm" else values for key in needed}
    for dtype in ("float32", "float64"):
        result = function(**state, dtype=dtype)
        fields = getattr(result, "__dataclass_fields__", None) or getattr(result, "_fields", ())
        several = result if type(result) is tuple else [getattr(result, each) for each in fields]
        parts = [result] if isinstance(result, np.ndarray) else several
        types = {part.dtype for part in parts if isinstance(part, np.ndarray)}
        assert types == {np.dtype(dtype)}


def test_one_state_and_shapes_of_batches() -> None:
    """One state has the bits of a batch; batch axes come first."""
    arm = robolin.load("two-link")
    q, qd, qdd = _states(arm, 6)
    rows = robolin.inverse(arm, q, qd, qdd, dtype="float32")
    one = robolin.inverse(arm, q[2], qd[2], qdd[2], dtype="float32")
    np.testing.assert_array_equal(rows[2], one)
    grid = robolin.inverse(arm, q.reshape(2, 3, 2), qd.reshape(2, 3, 2), qdd[0], dtype="float32")
    assert grid.shape == (2, 3, 2)
    assert grid.dtype == np.float32


def test_angles_of_several_turns() -> None:
    """Sines of float32 angles are right to 2 ulp up to the largest angle."""
    x = np.random.default_rng(0).uniform(-8000.0, 8000.0, 20_000).astype(np.float32)
    sine, cosine = sin_cos_in(FLOAT)(SinglePrecisionNumbers.of(x))
    # errors up to 2 ulp of 1
    np.testing.assert_allclose(sine, np.sin(x.astype(float)), rtol=0, atol=2.4e-7)
    np.testing.assert_allclose(cosine, np.cos(x.astype(float)), rtol=0, atol=2.4e-7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"q": 9000.0}, "within ±8192 rad in single precision, got 9000 rad"),
        ({"q": [0.1, np.nan]}, "q: must be finite"),
        ({"q": 0.0, "qd": 1e30}, "cannot be computed in single precision"),
    ],
)
def test_states_without_a_result(values: dict[str, Any], message: str) -> None:
    """A state that single precision cannot represent is an error with a hint, in a batch too."""
    arm = robolin.load("two-link")
    for rows in ((), (80, 1)):
        state = {name: np.broadcast_to(value, (*rows[:1], 2)) for name, value in values.items()}
        with pytest.raises(robolin.RobolinError, match=message):
            robolin.inverse(arm, **state, dtype="float32")


def test_long_travel_is_not_an_angle() -> None:
    """Only positions of joints that turn are limited, with every kernel and without one."""
    arm = robolin.load("cart-pole")
    q = np.tile([9000.0, 0.1], (80, 1))
    true = robolin.forward(arm, q)
    for engine in ("python", "compiled"):
        computed = robolin.forward(arm, q, engine=engine, dtype="float32")  # type: ignore[arg-type]
        # a few units in the last place of the largest entry
        assert np.abs(computed - true).max() <= 3e-6 * np.abs(true).max()
    with pytest.raises(robolin.RobolinError, match="within ±8192 rad in single precision"):
        robolin.forward(arm, [0.1, 9000.0], dtype="float32")


LAYOUTS = {
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "columns in reverse": lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    "by columns": np.asfortranarray,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "double": lambda x: x.astype(float),
    "mixed": lambda x: x.astype(float) if x[0, 0] > 0.0 else x,
}


@pytest.mark.parametrize("rows", [5, 9000])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_inputs_gives_the_same_bits(layout: str, rows: int) -> None:
    """Also for arrays that are converted in pooled memory; inputs do not change."""
    arm = robolin.load("two-link")
    states = [each.astype(np.float32) for each in _states(arm, rows)]
    expected = robolin.inverse(arm, *states, dtype="float32")
    inputs = [LAYOUTS[layout](each) for each in states]
    before = [each.copy() for each in inputs]
    assert np.array_equal(robolin.inverse(arm, *inputs, dtype="float32"), expected)
    assert all(map(np.array_equal, inputs, before))
    one = robolin.inverse(arm, inputs[0], inputs[1][0], inputs[2], dtype="float32")
    assert np.array_equal(
        one,
        robolin.inverse(
            arm, states[0], np.tile(states[1][0], (rows, 1)), states[2], dtype="float32"
        ),
    )


def test_closed_loops_and_unknown_types_are_rejected() -> None:
    """float32 needs a tree; other types do not exist."""
    loop = robolin.load("four-bar")
    with pytest.raises(robolin.UsageError, match="closed loops"):
        robolin.forward(loop, robolin.close(loop, 0.1).q, dtype="float32")
    with pytest.raises(robolin.UsageError, match="unknown dtype 'float16'"):
        robolin.inverse(robolin.load("two-link"), 0.0, dtype="float16")  # type: ignore[arg-type]


@pytest.mark.parametrize("extension", ["csv", "json", "npz", "parquet"])
def test_files_keep_the_type(extension: str, tmp_path: Path) -> None:
    """A float32 result is stored with its bits in every format, and checked with them."""
    if extension == "parquet":
        pytest.importorskip("polars")
    arm = robolin.load("two-link")
    q, qd, tau = _states(arm, 80)
    question = robolin.Question("linearize-forward", dtype="float32")
    result = robolin.answer(arm, question, robolin.States(q=q, qd=qd, tau=tau))
    path = tmp_path / f"model.{extension}"
    robolin.write(result, path)
    arrays = robolin.read_result(path).arrays
    for array in result.arrays:
        assert array.values.dtype == np.float32
        np.testing.assert_array_equal(arrays[array.name], array.values)
        assert arrays[array.name].dtype == np.float32
