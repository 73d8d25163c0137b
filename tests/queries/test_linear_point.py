"""Every linear result contains its operating point, in every interface and format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin import Question, States
from robolin.io.format_table import FORMATS
from robolin.queries.values import POINT
from robolin.queries.verbs import VERBS
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok

ARM = robolin.load("two-link")
ROWS = 12
# required options of each command
NEEDED = {"response": {"duration": 0.1}, "sensitivity": {"matrices": True}}
LINEAR = [verb for verb in VERBS.values() if verb.linear]
ASKS = {verb.name: NEEDED.get(verb.name, {}) for verb in LINEAR}
NEEDS_SCIPY = {"lqr"}
CASES = [
    (verb.name, quantity)
    for verb in LINEAR
    for quantity in ("tau", "qdd")
    if "trajectory" in verb.states_from and (quantity in verb.states or not verb.states)
]
QUIETLY = {"notify": lambda kind, text: None}


def _motion(folder: Path, *quantities: str) -> tuple[Path, dict[str, np.ndarray]]:
    """A file with these quantities, and its contents."""
    rng = np.random.default_rng(4)
    values = {name: rng.uniform(-1.0, 1.0, (ROWS, 2)) for name in quantities}
    path = folder / "motion.npz"
    np.savez(path, time=0.01 * np.arange(ROWS), joints=np.array(ARM.joint_names), **values)
    return path, values


@pytest.mark.parametrize(("verb", "quantity"), CASES)
def test_every_row_has_its_point(verb: str, quantity: str, tmp_path: Path) -> None:
    """Positions and velocities are those of the row, and torques and accelerations go together."""
    if verb in NEEDS_SCIPY:
        pytest.importorskip("scipy")
    path, values = _motion(tmp_path, "q", "qd", quantity)
    result = robolin.answer(ARM, Question(verb, **ASKS[verb]), States(trajectory=path))

    assert np.array_equal(result["q"], values["q"])
    assert np.array_equal(result["qd"], values["qd"])
    if quantity == "qdd":
        expected = robolin.inverse(ARM, values["q"], values["qd"], values["qdd"])
        assert np.array_equal(result["tau"], expected)
    else:
        assert np.array_equal(result["tau"], values["tau"])
    # by another algorithm, whose sums are rounded in another order
    expected = robolin.forward(ARM, result["q"], result["qd"], result["tau"])
    np.testing.assert_allclose(result["qdd"], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("verb", ["linearize-inverse", "linearize-forward"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_stores_it(verb: str, form: str, tmp_path: Path) -> None:
    """In every format the point is an array of its own, and in tables columns by joint."""
    if form == "mat":
        pytest.importorskip("scipy")
    path, values = _motion(tmp_path, "q", "qd")
    out = tmp_path / f"linear.{form}"
    run_ok(verb, "two-link", "--trajectory", path, "-q", "-o", out)
    stored = robolin.read_result(out)

    assert np.array_equal(stored.arrays["q"], values["q"])
    assert np.array_equal(stored.arrays["qd"], values["qd"])
    expected = robolin.inverse(ARM, values["q"], values["qd"])
    assert np.array_equal(stored.arrays["tau"], expected)
    assert stored.arrays["qdd"].shape == (ROWS, 2)
    words = {name: stored.meta["arrays"][name]["column"] for name in POINT}
    assert words == {"q": "position", "qd": "velocity", "qdd": "acceleration", "tau": "effort"}
    run_ok("check", out, "--root", tmp_path)


def test_a_linear_result_is_a_motion_again(tmp_path: Path) -> None:
    """The columns of a stored linear result give the same linear result."""
    path, _ = _motion(tmp_path, "q", "qd", "tau")
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    run_ok("linearize-forward", "two-link", "--trajectory", path, "-q", "-o", first)
    run_ok("linearize-forward", "two-link", "--trajectory", first, "-q", "-o", second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("verb", ["linearize-inverse", "linearize-forward"])
def test_a_single_change_has_it_too(verb: str, tmp_path: Path) -> None:
    """With --perturb the result is the change, about the same point."""
    path, values = _motion(tmp_path, "q", "qd")
    question = Question(verb, perturb={"dq": [0.1, 0.0]})
    result = robolin.answer(ARM, question, States(trajectory=path), **QUIETLY)
    assert all(result[name].shape == (ROWS, 2) for name in POINT)
    assert np.array_equal(result["q"], values["q"])


def test_absent_columns_are_zero_in_every_row() -> None:
    """Velocities that are not given are stored, one row for each."""
    result = robolin.answer(ARM, "linearize-forward", States(q=np.zeros((3, 2))))
    assert np.array_equal(result["qd"], np.zeros((3, 2)))


def test_failed_rows_have_no_point(tmp_path: Path) -> None:
    """A row that is written as NaN is NaN throughout, and the others are unchanged."""
    path = tmp_path / "motion.csv"
    path.write_text("shoulder/position,elbow/position\n0.1,0.2\nnan,0.4\n0.5,0.6\n")
    out = tmp_path / "out.npz"
    arguments = ("linearize-forward", "two-link", "--trajectory", path, "--on-bad-row", "nan")
    run_ok(*arguments, "-q", "-o", out)
    stored = robolin.read_result(out).arrays
    assert all(np.isnan(stored[name][1]).all() for name in stored)
    assert stored["q"][[0, 2]].tolist() == [[0.1, 0.2], [0.5, 0.6]]
    assert np.isfinite(stored["tau"][[0, 2]]).all()


@pytest.mark.parametrize("form", FORMATS)
def test_results_stored_without_it_are_found_the_same(form: str, tmp_path: Path) -> None:
    """A file of an earlier version, without a point in its rows, is checked by its arrays."""
    if form == "mat":
        pytest.importorskip("scipy")
    path, _ = _motion(tmp_path, "q", "qd", "tau")
    states = States(trajectory=path)
    result = robolin.answer(robolin.load("two-link"), "linearize-forward", states)
    former = tuple(array for array in result.arrays if array.name not in ("q", "qd", "tau"))
    assert len(former) == 4
    out = tmp_path / f"former.{form}"
    robolin.write(replace(result, arrays=former), out)

    ran = run_ok("check", out, "--root", tmp_path)
    assert "missing in the stored result" not in ran.out + ran.err


def test_other_missing_arrays_are_reported(tmp_path: Path) -> None:
    """Only the point may be missing: a missing matrix is a difference."""
    path, _ = _motion(tmp_path, "q", "qd", "tau")
    result = robolin.answer(robolin.load("two-link"), "linearize-forward", States(trajectory=path))
    less = tuple(array for array in result.arrays if array.name != "dqdd_dq")
    out = tmp_path / "less.npz"
    robolin.write(replace(result, arrays=less), out)
    ran = command_line("check", out, "--root", tmp_path)
    assert ran.code == 1
    assert "array dqdd_dq: missing in the stored result" in ran.out


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_python_results_have_it_as_fields(batch: tuple[int, ...]) -> None:
    """A linear model of the library has its point, of the shape of its batch."""
    rng = np.random.default_rng(2)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, *batch, 2))
    forward = robolin.linearize_forward(ARM, q, qd)
    inverse = robolin.linearize_inverse(ARM, q, qd, qdd)

    for model in (forward, inverse):
        assert np.array_equal(model.q, q)
        assert np.array_equal(model.qd, qd)
    assert np.array_equal(forward.tau, robolin.inverse(ARM, q, qd))
    assert np.array_equal(inverse.qdd, qdd)
    assert np.array_equal(inverse.tau, robolin.inverse(ARM, q, qd, qdd))
    assert inverse.tau is inverse.tau


def test_points_are_copies_in_the_order_of_the_joints() -> None:
    """Later changes of arguments do not change the point, and labels are matched."""
    q = np.array([0.3, -0.7])
    model = robolin.linearize_forward(ARM, q, {"elbow": 0.5}, tau=0.0)
    q[:] = 9.0
    assert model.q.tolist() == [0.3, -0.7]
    assert model.qd.tolist() == [0.0, 0.5]
    assert model.tau.tolist() == [0.0, 0.0]


def test_points_of_many_states_are_copies() -> None:
    """Neither changes by the caller nor later calls change the point of a model."""
    arm = robolin.load("panda")
    states = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 1000, arm.n))
    inputs = states.copy()
    held = robolin.linearize_inverse(arm, *inputs, engine="compiled")
    inputs[:] = 9.0
    for _ in range(4):
        robolin.linearize_inverse(arm, *inputs, engine="compiled")

    for values, expected in zip((held.q, held.qd, held.qdd), states, strict=True):
        assert values.tobytes() == expected.tobytes()
        assert not np.shares_memory(values, inputs)


def test_constant_values_are_stored_in_every_row() -> None:
    """One velocity for many states is stored for each of them, with every engine."""
    q = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 3, 2))
    for engine in ("python", "compiled"):
        model = robolin.linearize_inverse(ARM, q, [0.5, -0.2], 0.1, engine=engine)
        assert model.qd.shape == model.qdd.shape == q.shape
        assert np.array_equal(model.qd, np.broadcast_to([0.5, -0.2], q.shape))
        assert (model.qdd == 0.1).all()


def test_linear_models_of_loops_have_it() -> None:
    """State and torques of a linkage are stored with its matrices."""
    arm = robolin.load("four-bar")
    state = robolin.close(arm, [0.5, 0, 0], hold="drive")
    tau = np.array([0.1, 0.0, 0.0])
    for model in (
        robolin.linearize_loops(arm, state.q, tau=tau),
        robolin.linearize_forward(arm, state.q, tau=tau),
    ):
        assert np.array_equal(model.q, state.q)
        assert np.array_equal(model.qd, np.zeros(3))
        assert np.array_equal(model.tau, tau)
