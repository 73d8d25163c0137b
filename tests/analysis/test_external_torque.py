"""External torques: simulated pushes of known size, closed forms, causality and generated C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.analysis.external_torque import ContactSums, ObserverRows, contact_thresholds
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import evaluate
from tests.cli.command import robolin as run
from tests.cli.command import run_ok
from tests.codegen.compilers import QUICKEST

PUSH, BEGIN, PERIOD = np.array([2.0, -1.0]), 0.4, 0.001


@pytest.fixture(scope="module")
def pushed() -> robolin.Simulation:
    """A swinging two-link arm with a push of known size from 0.4 s on; rows every 1 ms."""
    arm = robolin.load("two-link")
    push = robolin.Push(PUSH, start=BEGIN)
    start = ([0.4, -0.7], [1.5, -2.0])
    return robolin.simulate(arm, *start, duration=1.0, dt=PERIOD, disturbance=push)


def estimate(motion: robolin.Simulation, settling: float) -> np.ndarray:
    arm = robolin.load("two-link")
    return robolin.external_torque(
        arm, motion.time, motion.q, motion.qd, motion.tau, settling_time=settling
    )


@pytest.mark.parametrize("settling", [0.15, 0.05, 0.015])
def test_a_push_is_known_to_one_percent_after_the_settling_time(
    pushed: robolin.Simulation, settling: float
) -> None:
    """Within 1 % from then on; nothing is seen before the push."""
    torque = estimate(pushed, settling)
    late = pushed.time >= BEGIN + settling + PERIOD

    assert np.abs(torque[pushed.time < BEGIN]).max() < 1e-4
    assert (np.abs(torque[late] - PUSH) <= 0.01 * np.abs(PUSH)).all()


@pytest.mark.parametrize("K", [20.0, 50.0])
def test_the_error_of_a_push_is_5_percent_after_3_over_K(
    pushed: robolin.Simulation, K: float
) -> None:
    """exp(-3) for the gain K, in Python; 1 % takes 4.6 / K."""
    settling = np.log(100.0) / K
    assert robolin.MomentumObserver(robolin.load("two-link"), PERIOD, settling).gain == (
        pytest.approx(K)
    )
    row = round((BEGIN + 3.0 / K) / PERIOD)
    error = 1.0 - estimate(pushed, settling)[row] / PUSH

    # the simulated push begins a sixth of a step early
    assert error == pytest.approx(np.exp(-3.0), rel=K * PERIOD / 6.0 + 1e-3)


def test_the_estimate_is_a_first_order_filter(pushed: robolin.Simulation) -> None:
    """r = push (1 - exp(-K t)).

    The last stage of the Runge-Kutta step before the push is at its beginning and has a weight of
    1/6: the simulated push begins a sixth of a step early.
    """
    torque, gain = estimate(pushed, 0.1), np.log(100.0) / 0.1
    since = np.maximum(pushed.time - BEGIN, 0.0)[:, None]
    expected = PUSH * (1.0 - np.exp(-gain * since))

    assert (np.abs(torque - expected) <= gain * PERIOD / 6.0 * np.abs(PUSH) + 1e-4).all()


def test_later_rows_change_nothing(pushed: robolin.Simulation) -> None:
    """The estimate is causal, bit by bit."""
    arm, rows = robolin.load("two-link"), 300
    part = [each[:rows] for each in (pushed.time, pushed.q, pushed.qd, pushed.tau)]

    assert np.array_equal(robolin.external_torque(arm, *part), estimate(pushed, 0.1)[:rows])


def test_uneven_and_repeated_times(pushed: robolin.Simulation) -> None:
    """Rows at random times give the same estimate; a repeated row repeats it."""
    kept = np.sort(np.random.default_rng(5).choice(len(pushed.time), 600, replace=False))
    kept = np.insert(kept, 300, kept[300])
    arm = robolin.load("two-link")
    rows = [each[kept] for each in (pushed.time, pushed.q, pushed.qd, pushed.tau)]
    torque = robolin.external_torque(arm, *rows)

    np.testing.assert_array_equal(torque[300], torque[301])
    assert (np.abs(torque - estimate(pushed, 0.1)[kept]) <= 0.02 * np.abs(PUSH)).all()
    observer = ObserverRows(arm, 0.1)
    momentum = evaluate(arm, "generalized-momentum", {"q": rows[1], "qd": rows[2], "tau": rows[3]})
    observer.add(momentum["generalized_momentum"], momentum["momentum_rate"], rows[0])
    assert observer.repeated == 1


def test_a_gap_has_no_estimate(pushed: robolin.Simulation) -> None:
    """Rows with NaN are NaN, and the rows after them continue."""
    arm = robolin.load("two-link")
    momentum = evaluate(
        arm, "generalized-momentum", {"q": pushed.q, "qd": pushed.qd, "tau": pushed.tau}
    )
    p, beta = momentum["generalized_momentum"].copy(), momentum["momentum_rate"]
    p[600:610] = np.nan
    torque = ObserverRows(arm, 0.1).add(p, beta, pushed.time)

    assert np.isnan(torque[600:610]).all()
    assert np.abs(torque[-1] - PUSH).max() <= 1e-3


def test_friction_that_is_not_in_the_model_is_below_its_threshold() -> None:
    """Coulomb friction of a joint is its default threshold; a given one replaces it."""
    arm = robolin.load("cart-pole")
    names = arm.joint_names
    friction = [joint.friction or None for joint in arm.joints]

    assert contact_thresholds(arm, {}) == friction
    assert contact_thresholds(arm, {names[0]: 3.0}) == [3.0, friction[1]]


def test_contacts_are_counted() -> None:
    """Rows above a threshold, the first of them, and the largest torque of each joint."""
    arm = robolin.load("two-link")
    values = np.array([[0.0, 0.1], [3.0, 0.2], [-4.0, np.nan], [-5.0, 0.3]])
    sums = ContactSums(arm, [2.0, None])
    for part in (values[:1], values[1:]):
        sums.add(part, np.arange(4.0)[: len(part)])
    summary = sums.result()

    assert (summary.rows, summary.contact, summary.first) == (3, 2, (1, 0.0))
    joint = summary.joints[0]
    assert (joint.largest, joint.row, joint.contact) == (-5.0, 3, 2)
    assert summary.verdict.startswith("contact in 2 of 3 rows")


def test_the_command_writes_what_the_function_returns(
    pushed: robolin.Simulation, tmp_path: Path
) -> None:
    """The same bits from a file, in chunks of any size."""
    recording, target = _recorded(pushed, tmp_path), tmp_path / "external.npz"
    command = ("inverse", "two-link", "--trajectory", recording, "--external", "-o", target)
    shown = run_ok(*command, "--threshold", "1,0.5", "--chunk-rows", "70")

    with np.load(target) as stored:
        np.testing.assert_array_equal(stored["tau_external"], estimate(pushed, 0.1))
        first = np.flatnonzero(stored["contact"])[0]
        assert first == np.flatnonzero((np.abs(stored["tau_external"]) > [1.0, 0.5]).any(1))[0]
    assert f"first at {pushed.time[first]:.7g} s: shoulder and elbow" in shown.err
    assert shown.rows[0][:3] == ["joint", "rms", "largest"]


def _recorded(motion: robolin.Simulation, folder: Path, skip: tuple[str, ...] = ()) -> Path:
    columns = {"time": motion.time[:, None], "position": motion.q}
    columns |= {"velocity": motion.qd, "effort": motion.tau}
    columns = {name: values for name, values in columns.items() if name not in skip}
    names = [
        "time" if word == "time" else f"{joint}/{word}"
        for word in columns
        for joint in (("",) if word == "time" else ("shoulder", "elbow"))
    ]
    path = folder / "motion.csv"
    table = np.hstack(list(columns.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path


@pytest.mark.parametrize(
    ("skip", "flags", "message"),
    [
        (("effort",), (), "effort"),
        (("velocity",), (), "velocity"),
        (("time",), (), "the momentum observer requires a time column"),
        ((), ("--settling-time", "0"), "--settling-time"),
        ((), ("--threshold", "1"), "1 value, but 'two-link' has 2 joints"),
        ((), ("--threshold", "elbow=-1"), "must be above 0"),
        ((), ("--residual",), "cannot be used with --residual"),
        ((), ("--limits",), "cannot be used with --limits"),
        ((), ("--part-rows", "100", "-o", "parts/"), "--external"),
    ],
)
def test_wrong_input(
    pushed: robolin.Simulation,
    tmp_path: Path,
    skip: tuple[str, ...],
    flags: tuple[str, ...],
    message: str,
) -> None:
    """Missing columns and wrong settings are rejected, and nothing is written."""
    recording = _recorded(pushed, tmp_path, skip)
    ran = run("inverse", "two-link", "--trajectory", recording, "--external", *flags)

    assert ran.code in (2, 3)
    assert message in ran.err


def test_wrong_arguments(pushed: robolin.Simulation) -> None:
    """Times that decrease, or of another length, and settings that are no times."""
    arm, (q, qd, tau) = robolin.load("two-link"), (pushed.q, pushed.qd, pushed.tau)
    with pytest.raises(RobolinError, match="must not decrease"):
        robolin.external_torque(arm, -pushed.time, q, qd, tau)
    with pytest.raises(RobolinError, match="time"):
        robolin.external_torque(arm, pushed.time[:5], q, qd, tau)
    with pytest.raises(UsageError, match="settling_time"):
        robolin.external_torque(arm, pushed.time, q, qd, tau, settling_time=-1.0)
    with pytest.raises(UsageError, match="dt"):
        robolin.MomentumObserver(arm, dt=0.0)


_LOOP = """\
#include <stdio.h>
#include "arm.h"
int main(void)
{
    double row[6], state[2], next[2], found[2] = {0.0, 0.0};
    int first = 1, i;
    while (fread(row, sizeof row, 1, stdin) == 1) {
        if (first) {
            if (arm_momentum_observer_start(row, row + 2, row + 4, state)) return 1;
            first = 0;
        } else {
            if (arm_momentum_observer(row, row + 2, row + 4, state, found, next)) return 1;
            for (i = 0; i < 2; ++i) state[i] = next[i];
        }
        fwrite(found, sizeof found, 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.slow
def test_generated_c_has_the_same_bits(pushed: robolin.Simulation, tmp_path: Path) -> None:
    """The C function with one state per joint, `MomentumObserver` and --dt agree in every bit."""
    arm, made = robolin.load("two-link"), tmp_path / "made"
    verbs = ["momentum-observer", "momentum-observer-start"]
    robolin.generate(arm, verbs, made, dt=PERIOD, settling_time=0.05, prefix="arm")
    QUICKEST.checked(made, "arm", ["-O1"])
    (made / "loop.c").write_text(_LOOP)
    flags = ["-std=c99", "-ffp-contract=off", "-O1"]
    subprocess.run(["cc", *flags, "loop.c", "arm.c", "-o", "loop"], cwd=made, check=True)
    rows = np.hstack([pushed.q, pushed.qd, pushed.tau])
    output = subprocess.run([made / "loop"], input=rows.tobytes(), capture_output=True, check=True)
    in_c = np.frombuffer(output.stdout).reshape(-1, 2)

    observer = robolin.MomentumObserver(arm, PERIOD, 0.05)
    steps = [observer.update(*row) for row in zip(pushed.q, pushed.qd, pushed.tau, strict=True)]
    np.testing.assert_array_equal(in_c, steps)
    momentum = evaluate(
        arm, "generalized-momentum", {"q": pushed.q, "qd": pushed.qd, "tau": pushed.tau}
    )
    rows_of = ObserverRows(arm, 0.05, PERIOD)
    terms = momentum["generalized_momentum"], momentum["momentum_rate"]
    np.testing.assert_array_equal(in_c, rows_of.add(*terms, np.zeros(len(rows))))
