"""Kernels keep to the caller's memory, take any batch, and say which rows went wrong."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Frame, Inertia, Joint, Link, Pose
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import FEW_STATES, evaluate, evaluate_rows
from tests.cli.command import forked
from tests.engine.guarded import Guarded
from tests.engine.on_lanes import WIDTHS, on_lanes, plan_for
from tests.robots import arm_name, random_arm, random_states

ROW_COUNTS = range(1, 18)
CHAIN = random_arm(61, 3, prismatic=False)
TREE = random_arm(62, 5, tree=True)
both = pytest.mark.parametrize("arm", [CHAIN, TREE], ids=arm_name)
ENGINES: tuple[Any, ...] = ("python", "compiled", "auto")


def motions(arm: Arm, count: int) -> dict[str, np.ndarray]:
    states = random_states(arm, count)
    return {"q": states.q, "qd": states.qd, "qdd": states.qdd}


def copy_of(arm: Arm) -> Arm:
    """The same arm, without the kernels that have been loaded for it."""
    return replace(arm)


# memory


@pytest.mark.slow
def test_kernels_stay_within_their_memory() -> None:
    """With 1 to 17 rows, only the caller's arrays and the scratch memory are touched."""
    ran = forked(f"from tests.engine.guarded import main; main({list(WIDTHS)})")
    assert (ran.code, ran.out, ran.err) == (0, "intact\n", "")


@pytest.mark.slow
def test_kernels_run_at_any_stack_alignment() -> None:
    """Registers are spilled as if the stack were aligned: the entry code has to align it."""
    ran = forked(f"from tests.engine.deep import main; main({list(WIDTHS)})")
    same = "".join(f"{width}: True\n" for width in WIDTHS)
    assert (ran.code, ran.out, ran.err) == (0, same, "")


@pytest.mark.slow
def test_the_guard_would_notice() -> None:
    """Reading one number beyond guarded memory ends the process; writing before it shows."""
    beyond = forked(
        "import ctypes; from tests.engine.guarded import Guarded; g = Guarded(3);"
        "print(ctypes.c_double.from_address(g.address + 24).value)"
    )
    assert beyond.code < 0
    guard = Guarded(3)
    assert guard.intact
    ctypes.c_double.from_address(guard.address - 8).value = 0.0
    assert not guard.intact


@pytest.mark.parametrize("width", WIDTHS)
@both
def test_a_row_does_not_depend_on_the_number_of_rows(arm: Arm, width: int) -> None:
    """Row by row, the results of 1 to 17 rows are those of the first rows of 17."""
    algorithm = ALGORITHMS["linearize-inverse"]
    states = motions(arm, ROW_COUNTS[-1])
    most, _ = on_lanes(arm, "linearize-inverse", algorithm, states, width=width)
    for count in ROW_COUNTS:
        few = {name: values[:count] for name, values in states.items()}
        lanes, status = on_lanes(arm, "linearize-inverse", algorithm, few, width=width)
        assert status.shape == (count,)
        for name, values in lanes.items():
            assert values.tobytes() == most[name][:count].tobytes(), (name, count)


@both
def test_one_state_runs_as_a_batch_of_one_does(arm: Arm) -> None:
    """The fast path for a single state gives the bits of a batch."""
    algorithm = ALGORITHMS["linearize-inverse"]
    state = motions(arm, 1)
    plan = plan_for(arm, "linearize-inverse", algorithm)
    one, status = plan.call_single(np.concatenate([state[name] for name in algorithm.needs]))
    many, _ = plan.call_batch([state[name] for name in algorithm.needs], (1,))
    assert not status.any()
    for name, values in many.items():
        assert one[name].shape == values.shape[1:]
        assert one[name].tobytes() == values.tobytes()


def test_kernels_can_be_called_again() -> None:
    """The scratch memory of one call does not affect the next."""
    plan = plan_for(TREE, "linearize-inverse", ALGORITHMS["linearize-inverse"])
    states, other = list(motions(TREE, 9).values()), list(motions(TREE, 11).values())
    first, _ = plan.call_batch(states, (9,))
    plan.call_batch([3.0 * values for values in other], (11,))
    again, _ = plan.call_batch(states, (9,))
    for name, values in first.items():
        assert values.tobytes() == again[name].tobytes(), name


# shapes and kinds of arrays


@pytest.mark.parametrize("batch", [(0,), (3, 0), (0, 2)])
@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows_are_no_results(engine: Any, batch: tuple[int, ...]) -> None:
    """An empty batch has empty results of the right shape."""
    q = np.zeros((*batch, CHAIN.n))
    assert robolin.inverse(CHAIN, q, engine=engine).shape == (*batch, 3)
    assert robolin.mass_matrix(CHAIN, q, engine=engine).shape == (*batch, 3, 3)


@pytest.mark.parametrize("engine", ENGINES)
@both
def test_leading_axes_broadcast(arm: Arm, engine: Any) -> None:
    """(3, 1, n) and (4, n) and (n,) are twelve states, each equal to a single call."""
    rng = np.random.default_rng(5)
    q, qd, qdd = (rng.normal(size=(*shape, arm.n)) for shape in ((3, 1), (4,), ()))
    tau = robolin.inverse(arm, q, qd, qdd, engine=engine)

    assert tau.shape == (3, 4, arm.n)
    for i in range(3):
        for j in range(4):
            alone = robolin.inverse(arm, q[i, 0], qd[j], qdd, engine="python")
            assert tau[i, j].tobytes() == alone.tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_one_number_stands_for_all_joints(engine: Any) -> None:
    """A single number is the value of every joint in every state."""
    q = random_states(TREE, 70).q
    tau = robolin.inverse(TREE, q, 0.5, -1, engine=engine)
    full = robolin.inverse(TREE, q, np.full(TREE.n, 0.5), np.full(TREE.n, -1.0), engine="python")
    assert tau.tobytes() == full.tobytes()


MEMORY = {
    "columns first": np.asfortranarray,
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "half of wider rows": lambda a: np.hstack([a, a])[:, : a.shape[1]],
    "read-only": lambda a: np.broadcast_to(a, a.shape),
    "other byte order": lambda a: a.astype(">f8"),
    "lists": lambda a: a.tolist(),
}


@pytest.mark.parametrize("kind", MEMORY)
def test_any_memory_layout_is_accepted(kind: str) -> None:
    """For every memory layout, results are the same and inputs unchanged."""
    states = motions(TREE, 70)
    expected = robolin.inverse(TREE, **states, engine="python")
    odd = {name: MEMORY[kind](values) for name, values in states.items()}
    assert robolin.inverse(TREE, **odd, engine="compiled").tobytes() == expected.tobytes()
    for name, values in odd.items():
        np.testing.assert_array_equal(values, states[name])


@pytest.mark.parametrize("kind", ["float32", "float16", "int64", "int8", "bool"])
def test_other_number_types_are_converted(kind: str) -> None:
    """Single precision and integers give the results of their values as doubles."""
    rough = {name: (2.0 * values).astype(kind) for name, values in motions(TREE, 70).items()}
    exact = {name: values.astype(float) for name, values in rough.items()}
    tau = robolin.inverse(TREE, **rough, engine="compiled")
    assert tau.dtype == np.float64
    assert tau.tobytes() == robolin.inverse(TREE, **exact, engine="python").tobytes()


@pytest.mark.parametrize("shape", [(1,), (2,), (4,), (5, 1)])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_wrong_number_of_joints_is_an_error(engine: Any, shape: tuple[int, ...]) -> None:
    """Values for too many or too few joints are errors, also once a kernel is loaded."""
    robolin.inverse(CHAIN, np.zeros(3), engine="compiled")
    with pytest.raises(RobolinError, match=r"q: must have 3 values along its last axis"):
        robolin.inverse(CHAIN, np.zeros(shape), engine=engine)


# engines


@pytest.mark.parametrize("count", [None, 1, FEW_STATES - 1, FEW_STATES, FEW_STATES + 1])
@both
def test_every_engine_gives_the_same(arm: Arm, count: int | None) -> None:
    """python, compiled and auto agree to the bit, with cold and with loaded kernels."""
    fresh = copy_of(arm)
    inputs = motions(arm, count or 1)
    if count is None:
        inputs = {name: values[0] for name, values in inputs.items()}
    results = [robolin.linearize_inverse(fresh, **inputs, engine="auto")]
    results += [robolin.linearize_inverse(fresh, **inputs, engine=engine) for engine in ENGINES]
    for other in results[1:]:
        for name, values in vars(results[0]).items():
            if name == "arm":
                continue
            assert getattr(other, name).shape == values.shape
            assert getattr(other, name).tobytes() == values.tobytes(), name


@pytest.mark.parametrize("engine", ["Compiled", "numba", "", None])
def test_an_unknown_engine_is_an_error(engine: Any) -> None:
    """An unknown name is rejected, and the hint lists the available engines."""
    with pytest.raises(UsageError, match="unknown engine") as caught:
        robolin.inverse(CHAIN, np.zeros(3), engine=engine)
    assert caught.value.hint == "engines are auto, python and compiled"


# rows without a result


def swinging_mass() -> Arm:
    """A massless link that carries a point mass on a second link.

    The mass can be pushed only along the second link, so the inertia about the first joint is m (l₁
    sin q₂)²: zero when the arm is stretched out.
    """
    shoulder = Joint("shoulder", "revolute", Pose(), (0.0, 0.0, 1.0))
    elbow = Joint("elbow", "revolute", Pose(translation=(1.0, 0.0, 0.0)), (0.0, 0.0, 1.0))
    links = (
        Link("lower", elbow, 2, Inertia(2.0, (1.0, 0.0, 0.0))),
        Link("upper", shoulder, 3, Inertia()),
    )
    frames = {link.name: Frame(link.name, k) for k, link in enumerate(links, start=1)}
    return Arm("swinging-mass", links, frames, ("shoulder", "elbow"))


def swinging_states(count: int, stretched: list[int]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(6)
    q = rng.uniform(0.5, 2.5, (count, 2))
    q[stretched] = 0.0
    return {"q": q, "qd": rng.normal(size=(count, 2)), "tau": rng.normal(size=(count, 2))}


FORWARD = ("forward", "mass-matrix-inverse", "linearize-forward", "diagonalize")


@pytest.mark.parametrize("verb", FORWARD)
def test_rows_without_inertia_do_not_affect_the_others(verb: str) -> None:
    """Two of a hundred states are stretched out: only these two have an error status."""
    arm, stretched = swinging_mass(), [3, 70]
    values = swinging_states(100, stretched)
    results, status = evaluate_rows(arm, verb, values, engine="compiled")

    assert status is not None
    assert np.flatnonzero(status).tolist() == stretched
    # link 2 is the one inboard of which the shoulder sits
    assert status[stretched].tolist() == [2.0, 2.0]
    fine = np.delete(np.arange(100), stretched)
    alone = evaluate(arm, verb, {each: array[fine] for each, array in values.items()})
    for name, array in results.items():
        assert array[fine].tobytes() == alone[name].tobytes(), name
        assert np.isfinite(array[fine]).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("verb", FORWARD)
def test_a_row_without_inertia_is_an_error_that_names_it(verb: str, engine: Any) -> None:
    """The first state without a result is named, with the joint that moves no mass."""
    values = swinging_states(100, [3, 70])
    with pytest.raises(
        RobolinError,
        match=r"^state 3: joint 'shoulder' moves no inertia \(D = 0\)",
    ) as caught:
        evaluate(swinging_mass(), verb, values, engine=engine)
    assert (
        "links, or add --armature shoulder=VALUE, or lock the joint (--lock shoulder=0)"
        in caught.value.hint
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_one_state_without_inertia_has_no_number(engine: Any) -> None:
    """A single state is not a row, so the error names the joint only."""
    values = {name: array[0] for name, array in swinging_states(1, [0]).items()}
    with pytest.raises(RobolinError, match=r"^joint 'shoulder' moves no inertia"):
        robolin.forward(swinging_mass(), **values, engine=engine)


@pytest.mark.parametrize("method", ["operator", "conventional"])
def test_an_inertia_of_round_off_is_zero(method: Any) -> None:
    """Stretched out in any direction the arm has no inertia about its shoulder.

    In exact arithmetic D = 0; in floating point it is some 1e-16 of the subtracted terms.
    """
    states = swinging_states(100, [])
    states["q"][:, 1] = 0.0
    _, status = evaluate_rows(swinging_mass(), "forward", states, engine="compiled", method=method)
    assert status is not None
    assert status.all()


def test_inverse_results_need_no_inertia() -> None:
    """A stretched arm has a mass matrix and torques like any other."""
    values = swinging_states(100, [3, 70])
    for verb in ("inverse", "mass-matrix", "linearize-inverse"):
        inputs = {**values, "qdd": values["tau"]}
        results, status = evaluate_rows(swinging_mass(), verb, inputs, engine="compiled")
        assert status is not None
        assert not status.any()
        assert all(np.isfinite(array).all() for array in results.values())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["q", "qd", "qdd"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_is_not_finite_is_named(engine: Any, name: str, bad: float) -> None:
    """One of seventy rows has a NaN: the error names input, row, joint and value."""
    states = motions(TREE, 70)
    states[name][66, 2] = bad
    with pytest.raises(RobolinError, match=rf"\b{name}: must be finite, got {bad} at") as caught:
        robolin.inverse(TREE, **states, engine=engine)
    assert "66" in caught.value.message
    assert f"joint '{TREE.joint_names[2]}'" in caught.value.message


def test_rows_that_are_not_finite_do_not_affect_the_others() -> None:
    """The row has an error status; other rows in the same lanes keep their bits."""
    states = motions(TREE, 70)
    expected = robolin.inverse(TREE, **states, engine="python")
    states["qd"][66, 2] = np.nan
    states["q"][5, 0] = np.inf
    results, status = evaluate_rows(TREE, "inverse", states, engine="compiled")

    assert status is not None
    assert np.flatnonzero(status).tolist() == [5, 66]
    fine = np.delete(np.arange(70), [5, 66])
    assert results["tau"][fine].tobytes() == expected[fine].tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_state_that_is_not_finite_is_named_with_a_loaded_kernel(bad: float) -> None:
    """The fast path for one state checks its numbers too."""
    robolin.inverse(TREE, np.zeros(TREE.n), engine="compiled")
    q = np.zeros(TREE.n)
    q[1] = bad
    with pytest.raises(
        RobolinError, match=f"^q: must be finite, got {bad} at joint '{TREE.joint_names[1]}'"
    ):
        robolin.inverse(TREE, q)


# memory beyond the caches


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("joints", [4, 7, 8])
@pytest.mark.parametrize("rows", [3, 8, 61])
def test_results_of_nontemporal_stores_are_the_same(
    monkeypatch: pytest.MonkeyPatch, joints: int, width: int, rows: int
) -> None:
    """Large results bypass the caches if all of their vectors are aligned."""
    arm = random_arm(63, joints, prismatic=False)
    states = list(motions(arm, rows).values())
    plan = plan_for(arm, "linearize-inverse", ALGORITHMS["linearize-inverse"], width)
    expected = {name: a.copy() for name, a in plan.call_batch(states, (rows,), jobs=1)[0].items()}
    plan.call_batch([values + 0.5 for values in states], (rows,), jobs=1)
    monkeypatch.setattr("robolin.engine.compiled.plan.NONTEMPORAL_MIN", 0)
    for jobs, chunk in ((1, None), (2, 8)):
        computed, status = plan.call_batch(states, (rows,), jobs, chunk)
        assert not status.any()
        for name, values in expected.items():
            assert computed[name].tobytes() == values.tobytes(), name


# threads


def test_threads_may_share_a_kernel() -> None:
    """Concurrent calls from several threads on one plan do not affect each other."""
    from concurrent.futures import ThreadPoolExecutor

    states = list(motions(TREE, 500).values())
    plan = plan_for(TREE, "linearize-inverse", ALGORITHMS["linearize-inverse"])
    expected, _ = plan.call_batch(states, (500,), jobs=1)

    with ThreadPoolExecutor(4) as pool:
        for computed, _ in pool.map(
            lambda chunk: plan.call_batch(states, (500,), 4, chunk), [3, 50] * 10
        ):
            for name, values in expected.items():
                assert computed[name].tobytes() == values.tobytes(), name
