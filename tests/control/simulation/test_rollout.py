"""Compiled rollouts: the same bits as the step-by-step integrator, on every arm and law."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.control.simulation import rollout as rollout_module
from robolin.control.simulation.rollout import Rollout
from robolin.core.arm import Arm
from robolin.core.progress import listening
from robolin.engine.compiled import straight_kernel as straight_module
from robolin.evaluation.state_call import straight_kernels
from tests.cases import for_each

ARMS = (
    *("acrobot", "cart-pole", "iiwa14", "j2s6s200", "panda", "panda-fingers", "puma560"),
    *("two-link", "ur10", "ur5", "xarm7"),
)
LINKAGES = ("four-bar", "five-bar")
RNG = np.random.default_rng(31)


@pytest.fixture
def rolled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Ranges of steps that ran in compiled code."""
    ranges: list[tuple[int, int]] = []
    run = Rollout._run

    def count(self: Rollout, first: int, stop: int) -> int:
        reached = run(self, first, stop)
        ranges.append((first, reached))
        return reached

    monkeypatch.setattr(Rollout, "_run", count)
    return ranges


def table(n: int) -> robolin.TorqueTable:
    return robolin.TorqueTable([0.004, 0.011, 0.05], RNG.normal(size=(3, n)))


def moving(n: int, *names: str) -> dict[str, Any]:
    rows = {name: RNG.normal(size=(4, n)) for name in names}
    return {"time": [0.003, 0.011, 0.012, 0.05], **rows}


def gains(n: int, *rows: int) -> np.ndarray:
    return RNG.normal(size=(*rows, n, 2 * n))


def weights(n: int) -> dict[str, Any]:
    return {"P": np.eye(2 * n), "Q": RNG.normal(size=(2 * n, 2 * n)), "R": np.eye(n)}


LAWS: dict[str, Any] = {
    "free": lambda n: {},
    "constant": lambda n: {"tau": RNG.normal(size=n)},
    "table": lambda n: {"tau": table(n)},
    "hold": lambda n: {"hold": True},
    "hold and table": lambda n: {"hold": True, "tau": table(n)},
    "push": lambda n: {"disturbance": robolin.Push(np.ones(n), 0.005, 0.01)},
    "disturbance table": lambda n: {"hold": True, "disturbance": table(n)},
    "constant disturbance": lambda n: {"disturbance": RNG.normal(size=n)},
    "pd": lambda n: {"control": robolin.PDControl(np.zeros(n), kp=5.0, kd=np.ones(n))},
    "pd without gravity": lambda n: {"control": robolin.PDControl(np.zeros(n), hold=False)},
    "moving pd": lambda n: {"control": robolin.PDControl(**moving(n, "q", "qd"))},
    "computed torque": lambda n: {"control": robolin.ComputedTorque(**moving(n, "q", "qd", "qdd"))},
    "feedback": lambda n: {"control": robolin.FeedbackControl(gains(n), np.zeros(n))},
    "moving feedback": lambda n: {
        "control": robolin.FeedbackControl(gains(n, 4), **moving(n, "q", "qd", "tau"), **weights(n))
    },
    "cost": lambda n: {
        "control": robolin.FeedbackControl(gains(n), np.zeros(n), **weights(n)),
        "disturbance": robolin.Push(np.ones(n), 0.005, 0.01),
    },
    "integral action": lambda n: {
        "control": robolin.FeedbackControl(
            RNG.normal(size=(n, 3 * n)), np.zeros(n), integrals=RNG.normal(size=(n, 3 * n))
        )
    },
    "braking": lambda n: {"control": robolin.RateControl(2.0)},
    "braking by joint": lambda n: {"control": robolin.RateControl(np.arange(1.0, n + 1.0))},
    "every third": lambda n: {"every": 3},
    "ends": lambda n: {"every": None},
    "short last step": lambda n: {"dt": 0.0031},
    "no limits": lambda n: {"limits": False, "tau": np.full(n, 1e3), "dt": 1e-5, "duration": 7e-4},
    "euler": lambda n: {"integrator": "euler"},
    "euler with feedback": lambda n: {
        "integrator": "euler",
        "control": robolin.FeedbackControl(gains(n), np.zeros(n), **weights(n)),
    },
}
# laws whose rollout is optimized, as for users: between them every kind of torque and both schemes
OPTIMIZED = {"disturbance table", "moving pd", "euler with feedback", "braking by joint"}


def both(arm: Arm, q: np.ndarray, options: dict[str, Any]) -> tuple[Any, Any]:
    """The motion, or the error, by the step-by-step and by the compiled integrator."""
    results: list[Any] = []
    for engine in ("python", "compiled"):
        try:
            # the last change of a law here is the end of the push at 15 ms
            every = {"duration": 0.016, **options}
            results.append(robolin.simulate(arm, q, engine=engine, **every))  # type: ignore[arg-type]
        except robolin.RobolinError as error:
            results.append(str(error))
    return results[0], results[1]


def require_same_bits(one: Any, other: Any) -> None:
    assert type(one) is type(other), (one, other)
    if isinstance(one, str):
        assert one == other
        return
    for each in fields(one):
        a, b = getattr(one, each.name), getattr(other, each.name)
        if each.name == "cost" and a is not None:
            require_same_bits(a, b)
        elif each.name != "control":
            assert (a is None) == (b is None), each.name
            assert a is None or np.array_equal(a, b), each.name


@pytest.mark.parametrize(
    "law", ["free", *(pytest.param(law, marks=pytest.mark.slow) for law in LAWS if law != "free")]
)
def test_laws_have_the_same_bits(
    law: str, rolled: list[tuple[int, int]], request: pytest.FixtureRequest
) -> None:
    """One arm and several, with every torque and control law that the code supports."""
    if law in OPTIMIZED:
        request.getfixturevalue("optimized_modules")
    arm = robolin.load("two-link")
    options = LAWS[law](arm.n)
    for q in (np.array([0.3, -0.7]), RNG.uniform(-0.5, 0.5, (3, 2))):
        require_same_bits(*both(arm, q, options))
        assert rolled
        rolled.clear()


@pytest.mark.parametrize("law", ["constant", pytest.param("hold", marks=pytest.mark.slow)])
def test_straight_kernels_have_the_same_bits(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long runs use kernels that are compiled for the arm; their motion is the same."""
    monkeypatch.setattr(straight_module, "STRAIGHT_FROM", 1)
    monkeypatch.setattr(straight_module, "LARGE_BATCH", 1)
    monkeypatch.setattr(straight_module, "COMPILED_FROM", 1)
    arm = robolin.load("two-link", gravity=(0.0, -9.0, 1.0))
    for q in (np.array([0.3, -0.7]), RNG.uniform(-0.5, 0.5, (19, 2))):
        require_same_bits(*both(arm, q, LAWS[law](2)))
    assert len(straight_kernels(arm).loaded) >= 4


@pytest.mark.usefixtures("optimized_modules")
def test_the_most_elaborate_law_has_the_same_bits(rolled: list[tuple[int, int]]) -> None:
    """Gains, reference and integrals along a trajectory, with cost, limits and a push."""
    arm = robolin.load("two-link")
    law = robolin.FeedbackControl(
        RNG.normal(size=(4, 1, 5)),
        **moving(2, "q", "qd", "tau"),
        actuated=["elbow"],
        integrals=RNG.normal(size=(1, 5)),
        P=np.eye(5),
        Q=RNG.normal(size=(5, 5)),
        R=np.eye(1),
    )
    push = robolin.Push(np.ones(2), 0.005, 0.01)
    options = {"control": law, "disturbance": push, "every": 4}
    require_same_bits(*both(arm, RNG.uniform(-0.5, 0.5, (3, 2)), options))
    assert rolled


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the energy error is")
@for_each("name", ARMS)
def test_bundled_arms_have_the_same_bits(name: str, rolled: list[tuple[int, int]]) -> None:
    """Every law runs on an arm, in addition to two-link, and every arm has some of the laws."""
    arm = robolin.load(name)
    q = RNG.uniform(-0.5, 0.5, (2, arm.n))
    for law in [*LAWS][ARMS.index(name) :: len(ARMS)]:
        require_same_bits(*both(arm, q, LAWS[law](arm.n)))
    assert rolled


@for_each("name", LINKAGES)
def test_linkages_run_step_by_step(name: str, rolled: list[tuple[int, int]]) -> None:
    """Closed loops are projected after every step, which compiled code does not do."""
    arm = robolin.load(name)
    q = robolin.close(arm, np.full(arm.n, 0.3)).q
    require_same_bits(*both(arm, q, {"duration": 3e-3}))
    assert not rolled


@pytest.mark.parametrize("jobs", [1, 3])
def test_batches_have_the_same_bits_for_any_number_of_threads(jobs: int) -> None:
    """Tiles that are full or not, on one thread or several, with torques of their own."""
    arm = robolin.load("two-link")
    q, tau = RNG.uniform(-0.5, 0.5, (53, 2)), RNG.normal(size=(53, 2))
    many = robolin.simulate(arm, q, duration=0.01, tau=tau, jobs=jobs)
    for row in (0, 15, 16, 52):
        one = robolin.simulate(arm, q[row], duration=0.01, tau=tau[row], engine="python")
        assert np.array_equal(many.q[row], one.q)
        assert np.array_equal(many.work[row], one.work)
        assert np.array_equal(many.qdd[row], one.qdd)


def test_batch_axes_are_kept() -> None:
    arm = robolin.load("two-link")
    q = RNG.uniform(-0.5, 0.5, (2, 3, 2))
    require_same_bits(*both(arm, q, {"hold": True, "every": 4}))


def test_divergence_is_reported_as_by_single_steps(rolled: list[tuple[int, int]]) -> None:
    """Time, state and joint of the error are the same, for one arm and for one of several."""
    arm = robolin.load("two-link")
    for q in (np.array([0.3, -0.7]), np.array([[0.0, 0.0]] * 17 + [[0.3, -0.7]])):
        law = robolin.FeedbackControl(-1e4 * np.eye(2, 4), np.zeros(2), tau=np.zeros(2))
        slow, quick = both(arm, q, {"duration": 1.0, "control": law, "limits": False})
        assert "diverged at t = " in slow
        assert quick == slow
        assert any(stop > first for first, stop in rolled)


def test_functions_of_the_state_run_step_by_step(rolled: list[tuple[int, int]]) -> None:
    arm = robolin.load("two-link")
    require_same_bits(*both(arm, np.zeros(2), {"tau": lambda t, q, qd: -q - qd}))
    assert not rolled


def test_progress_is_reported_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code returns often: progress appears, and Ctrl-C takes effect."""
    monkeypatch.setattr(rollout_module, "CHUNK_SECONDS", 0.0)

    class Listener:
        fractions: list[float]

        def __init__(self) -> None:
            self.fractions = []

        def begin(self, task: str) -> None: ...

        def update(self, fraction: float) -> None:
            self.fractions.append(fraction)
            if fraction > 0.5:
                raise KeyboardInterrupt

        def end(self) -> None: ...

    listener = Listener()
    with listening(listener), pytest.raises(KeyboardInterrupt):
        robolin.simulate(robolin.load("two-link"), [0.3, -0.7], duration=0.2)
    assert len(listener.fractions) > 10
    assert listener.fractions[-1] == pytest.approx(0.5, abs=0.05)


def test_euler_has_order_one() -> None:
    """Half the step gives half the error."""
    arm, start = robolin.load("two-link"), {"q": [0.5, 0.2], "duration": 0.2, "every": None}
    exact = robolin.simulate(arm, **start).q[-1]  # type: ignore[arg-type]
    errors = [
        np.abs(robolin.simulate(arm, **start, dt=dt, integrator="euler").q[-1] - exact).max()  # type: ignore[arg-type]
        for dt in (1e-3, 5e-4)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.02)


def test_euler_advances_positions_by_the_new_velocities() -> None:
    arm = robolin.load("two-link")
    q, qd = np.array([0.3, -0.7]), np.array([0.5, -1.2])
    motion = robolin.simulate(arm, q, qd, duration=0.01, dt=0.01, integrator="euler")
    assert np.array_equal(motion.qd[1], qd + 0.01 * robolin.forward(arm, q, qd))
    assert np.array_equal(motion.q[1], q + 0.01 * motion.qd[1])
