"""The cost of a regulated motion: along all steps, for any stored rows and integrator."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.queries.feedback_file import ReturnCheck
from tests.cli.command import run_ok

ARM = robolin.load("two-link")
POSE, OFFSET = np.array([0.3, -0.7]), np.array([0.4, -0.3])


@cache
def regulator(**options: object) -> robolin.Regulator:
    """A regulator whose weights have a cross term."""
    model = robolin.state_space(ARM, POSE, dt=options.get("dt"))
    size = 4 + len(options.get("integral", ()))
    N = 0.1 * np.random.default_rng(3).uniform(-1.0, 1.0, (size, 2))
    integral = options.get("integral", ())
    return robolin.lqr(model, {"q": 100.0}, 0.5, N=N, integral=integral)


def independent_cost(
    law: robolin.FeedbackControl, most: float = np.inf, push: float = 0.0
) -> float:
    """The cost as a state of SciPy's integrator, with accelerations from `robolin.forward`."""
    # import here: it takes a quarter of a second, in every worker
    from scipy.integrate import solve_ivp

    K, Q, R, N = (np.asarray(each) for each in (law.K, law.Q, law.R, law.N))
    more = K.shape[1] - 4

    def rates(_t: float, y: np.ndarray) -> np.ndarray:
        x = np.concatenate([y[:2] - law.q, y[2 : 4 + more]])
        tau = np.clip(law.tau - K @ x, -most, most)
        u = tau - law.tau
        cost = x @ Q @ x + u @ R @ u + 2.0 * x @ N @ u
        grown = [] if not more else law.integrals @ x
        qdd = robolin.forward(ARM, y[:2], y[2:4], tau + push)
        return np.concatenate([y[2:4], qdd, grown, [cost]])

    start = np.concatenate([POSE + OFFSET, np.zeros(3 + more)])
    return solve_ivp(rates, (0.0, 1.0), start, method="DOP853", rtol=1e-12, atol=1e-12).y[-1, -1]


def simulated(law: robolin.FeedbackControl, **settings: object) -> robolin.Simulation:
    options = {"duration": 1.0, "control": law, **settings}
    return robolin.simulate(options.pop("arm", ARM), POSE + OFFSET, **options)


STEPS = {
    "every step": {"dt": 1e-3, "every": 1},
    "every 500": {"dt": 1e-3, "every": 500},
    "ends only": {"dt": 1e-3, "every": None},
    "in nu": {"dt": 1e-3, "every": 100, "state": "nu"},
    "dop853": {"integrator": "dop853", "rows": 2},
    "rk45": {"integrator": "rk45", "rows": 3},
    "radau": {"integrator": "radau", "rows": 2},
}


@cache
def cost_of_plain_motion(integral: tuple[str, ...] = ()) -> float:
    return independent_cost(regulator(integral=integral).feedback())


@pytest.mark.slow
@pytest.mark.parametrize("integral", [(), ("elbow/position",)], ids=["plain", "integral"])
@pytest.mark.parametrize("steps", STEPS)
def test_the_cost_is_that_of_another_integration(steps: str, integral: tuple[str, ...]) -> None:
    """For any stored rows, the cost agrees with an integration of tolerance 1e-12."""
    chosen = regulator(integral=integral)
    motion = simulated(chosen.feedback(), **STEPS[steps])
    expected = cost_of_plain_motion(integral)
    # rk4 by 1 ms: (6 1/s · 1 ms)⁴ and smaller; the others keep 1e-9 per step
    assert motion.cost.spent == pytest.approx(expected, rel=1e-7)
    assert chosen.motion_cost(motion) is motion.cost


def test_saturated_torques_and_pulses_in_the_cost() -> None:
    """Saturated torques cost their saturated values; a disturbance costs nothing itself."""
    motors = replace(ARM, links_tip_to_base=tuple(map(_weak, ARM.links_tip_to_base)))
    law = replace(regulator().feedback(), arm=None)
    motion = simulated(law, arm=motors, dt=1e-3, disturbance=[1.0, 1.0])
    assert 0 < motion.saturated.any(axis=-1).sum() < len(motion.time)
    expected = independent_cost(law, most=MOST, push=1.0)
    # the corner where a torque leaves its limit is within a step
    assert motion.cost.spent == pytest.approx(expected, rel=1e-5)


MOST = 16.0


def _weak(link: robolin.Link) -> robolin.Link:
    limits = replace(link.joint.limits, effort=MOST)
    return replace(link, joint=replace(link.joint, limits=limits))


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_the_cost_of_small_motions_is_that_of_the_riccati_equation(integrator: str) -> None:
    """spent + left is xᵀ P x at the beginning, but for what is not linear, of the order of x."""
    chosen = regulator()
    gaps = []
    for size in (1e-3, 1e-4):
        start = POSE + size * OFFSET
        settings = {"duration": 1.0, "control": chosen.feedback(), "integrator": integrator}
        rows = {"every": None} if integrator == "rk4" else {"rows": 2, "atol": 1e-13}
        cost = robolin.simulate(ARM, start, **settings, **rows).cost
        gaps.append((cost.spent + cost.left) / cost.predicted - 1.0)
    assert abs(gaps[1]) < 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(10.0, rel=0.05)


def test_costs_change_no_motion() -> None:
    """With or without weights, every bit of a motion is the same, however its steps are chosen."""
    law = regulator().feedback()
    plain = replace(law, Q=None, R=None, N=None)
    for steps in ("every 500", "in nu", "dop853", "radau"):
        settings = {**STEPS[steps], "duration": 0.1}
        with_cost, without = (simulated(each, **settings) for each in (law, plain))
        assert with_cost.cost is not None
        assert without.cost is None
        for name in ("q", "qd", "qdd", "tau", "work", "energy_error", "lyapunov"):
            assert np.array_equal(getattr(with_cost, name), getattr(without, name)), name


@pytest.mark.parametrize("steps", ["every 500", "dop853"])
def test_costs_of_a_batch_are_those_of_each_state(steps: str) -> None:
    """Every state of a batch has the cost it has alone."""
    starts = POSE + OFFSET * np.array([[[1.0], [0.5]]])
    settings = {**STEPS[steps], "duration": 0.2, "control": regulator().feedback()}
    together = robolin.simulate(ARM, starts, **settings).cost
    alone = robolin.simulate(ARM, starts[0, 1], **settings).cost
    for name in ("spent", "left", "predicted"):
        assert getattr(together, name).shape == (1, 2)
        assert getattr(together, name)[0, 1] == getattr(alone, name)


@pytest.mark.parametrize("every", [1, 7, None])
def test_sampled_costs_are_sums_over_all_samples(every: int | None) -> None:
    """For held torques, the cost is the sum over samples, whether they are rows or not."""
    chosen = regulator(dt=0.02)
    motion = simulated(chosen.feedback(), dt=0.004, every=every, duration=0.4)
    fine = simulated(chosen.feedback(), dt=0.004, every=5, duration=0.4)
    x = np.concatenate([fine.q - POSE, fine.qd], axis=-1)
    u = fine.tau - chosen.feedback().tau
    weights = (chosen.Q, chosen.R, chosen.N)
    Q, R, N = weights
    terms = [a @ Q @ a + b @ R @ b + 2.0 * a @ N @ b for a, b in zip(x, u, strict=True)]
    assert motion.cost.spent == pytest.approx(sum(terms[:-1]), rel=1e-12)
    assert motion.cost.left == pytest.approx(x[-1] @ chosen.P @ x[-1], rel=1e-12)


def _scheduled(times: np.ndarray) -> robolin.FeedbackControl:
    law = regulator().feedback()
    stretched = {
        name: np.repeat(np.asarray(getattr(law, name))[None], len(times), axis=0)
        for name in ("K", "q", "qd", "tau", "P")
    }
    return replace(law, time=times, **stretched)


@cache
def cost_after(duration: float) -> robolin.FeedbackCost:
    law = regulator().feedback()
    return simulated(law, duration=duration, dt=1e-3, every=None).cost


@pytest.mark.slow
@pytest.mark.parametrize("steps", ["every step", "every 500", "ends only", "dop853"])
def test_only_times_of_the_gains_count(steps: str) -> None:
    """For gains with times, the cost covers their first to their last row."""
    law = _scheduled(np.array([0.1, 0.25, 0.6]))
    motion = simulated(law, **STEPS[steps])
    full, first, last = map(cost_after, (1.0, 0.1, 0.6))
    assert motion.cost.spent == pytest.approx(last.spent - first.spent, rel=1e-7)
    assert motion.cost.predicted == pytest.approx(first.left, rel=1e-7)
    assert motion.cost.left == pytest.approx(last.left, rel=1e-7)
    assert full.spent > last.spent


def test_motions_under_other_controllers_need_close_rows() -> None:
    """Simpson's rule over rows is for other controllers, and rejected where rows are too few."""
    law = robolin.PDControl(POSE, kp=60.0, kd=12.0)
    settings = {"duration": 1.0, "dt": 1e-3, "control": law}
    fine, coarse = (
        robolin.simulate(ARM, POSE + OFFSET, every=every, **settings) for every in (1, 250)
    )
    assert fine.cost is None
    assert regulator().motion_cost(fine).spent > regulator().motion_cost(fine).left
    with pytest.raises(
        robolin.UsageError, match="rows of the trajectory are too far apart to integrate the cost"
    ):
        regulator().motion_cost(coarse)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"R": None, "N": None}, "the cost requires R"),
        ({"Q": None}, "the cost requires Q"),
        ({"Q": np.eye(3)}, r"Q: must have shape \(\d+, \d+\) for this robot, got \(3, 3\)"),
        (
            {"N": np.zeros((3, 4, 2))},
            "each weight must be a single matrix that applies to all times",
        ),
        ({"cost_dt": -1.0}, "cost_dt: must be > 0, got -1.0"),
    ],
)
def test_wrong_weights_are_rejected(weights: dict[str, object], message: str) -> None:
    """Weights of other sizes, or only some of them, are errors that name them."""
    with pytest.raises(robolin.RobolinError, match=message):
        simulated(replace(regulator().feedback(), **weights), dt=1e-2)


@pytest.fixture(scope="module")
def gains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cost") / "gains.npz"
    run_ok("lqr", "two-link", "--q", "0.3,-0.7", "--weight", "q=100", "-o", path)
    return path


def _note(gains: Path, *flags: str) -> list[str]:
    args = ("--feedback", gains, "--offset", "0.4,-0.3", "--duration", "1")
    ran = run_ok("simulate", "two-link", *args, *flags)
    (line,) = (line for line in ran.err.splitlines() if line.startswith("note: cost"))
    return line.removeprefix("note: cost ").split()


@pytest.mark.slow
def test_the_note_does_not_depend_on_rows(gains: Path) -> None:
    """`--every` changes no digit of the cost."""
    notes = [_note(gains, "--every", every) for every in ("1", "10", "100", "500")]
    assert all(note == notes[0] for note in notes)


@cache
def total_cost() -> float:
    law = robolin.lqr(robolin.state_space(ARM, POSE), {"q": 100.0}).feedback()
    return independent_cost(law) + float(simulated(law, rtol=1e-12, rows=2).cost.left)


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        ("--dt", "0.02"),
        ("--dt", "0.01"),
        ("--dt", "0.003"),
        ("--dt", "0.001"),
        ("--rtol", "1e-5"),
        ("--rtol", "1e-7", "--integrator", "rk45"),
        ("--rtol", "1e-6", "--integrator", "radau"),
    ],
    ids=" ".join,
)
def test_every_digit_of_the_note_is_right(gains: Path, flags: tuple[str, ...]) -> None:
    """The cost is printed with the digits that an accurate integration confirms, and some."""
    true = total_cost()
    printed = Decimal(_note(gains, *flags)[0].rstrip(","))
    digits = len(printed.as_tuple().digits)
    unit = 10.0 ** int(printed.as_tuple().exponent)
    assert digits >= 2
    assert abs(float(printed) - true) <= unit


def test_weights_without_a_cost_to_go_are_rejected() -> None:
    """A cost needs P for what is left at the end; without it no cost would be counted."""
    law = replace(regulator().feedback(), P=None)
    with pytest.raises(robolin.RobolinError, match="the cost requires P"):
        robolin.simulate(ARM, POSE + OFFSET, duration=0.01, dt=0.01, control=law)


RETURNS = {
    "shoulder=1deg": r", returns to within \S+e-05 rad of the operating point",
    # the diverging motion is chaotic
    "shoulder=60deg": r", does not return to the operating point: ends \d+ rad away \(\w+\)",
    "0,0": "",
}


@pytest.mark.parametrize("offset", RETURNS)
def test_tells_whether_feedback_returns_to_its_operating_point(tmp_path: Path, offset: str) -> None:
    """The upright acrobot is regulated from 1 degree, not from 60; without offset: no verdict."""
    gains, motion = str(tmp_path / "gains.npz"), str(tmp_path / "motion.npz")
    run_ok("lqr", "acrobot", "--q", "180deg,0", "--weight", "q=100", "-q", "-o", gains)
    args = ("--feedback", gains, "--offset", offset, "--duration", "5", "--dt", "0.01")
    screen = run_ok("simulate", "acrobot", *args, "--format", "table", "--only", "q")
    headline = " ".join(screen.out.partition("\n\n")[0].split())
    assert re.fullmatch(f"acrobot: simulated motion, 0 to 5 s{RETURNS[offset]}", headline)
    kind = "warning: " if "not" in RETURNS[offset] else "note: "
    expected = RETURNS[offset].replace(", ", kind, 1)
    written = run_ok("simulate", "acrobot", *args, "-o", motion).err
    lines = [line for line in written.splitlines() if "return" in line]
    assert len(lines) == bool(expected)
    assert all(re.fullmatch(expected, line) for line in lines)


@pytest.mark.parametrize(
    ("costs", "verdict"),
    [
        ([1.0, 0.5, 0.2, 0.1, 0.05], "still approaches"),
        ([1.0, 0.5, 0.2, 0.1, 0.005], "returns"),
        ([1.0, 0.5, 0.2, 0.2, 0.2], "does not return"),
        ([1.0, 0.5, 0.2, 0.2, 1.5], "does not return"),
    ],
)
def test_judges_the_return_by_the_cost_to_go(costs: list[float], verdict: str) -> None:
    """1 % of the initial cost-to-go is a return; no decrease in the last fifth is a failure."""
    law = regulator().feedback()
    motion = replace(simulated(law, every=250), lyapunov=np.array(costs))
    single = ReturnCheck(ARM, law, 0.0, 1.0)
    single.update(motion)
    text, failed = single.verdict()
    assert text.startswith(verdict)
    assert failed == (verdict == "does not return")
    several = ReturnCheck(ARM, law, 0.0, 1.0)
    both = {"q": np.stack([motion.q] * 2), "lyapunov": np.stack([motion.lyapunov] * 2)}
    several.update(replace(motion, **both))
    text, again = several.verdict()
    assert again == failed
    assert text.split(" ")[0] == ("0" if verdict == "still approaches" else "2")
