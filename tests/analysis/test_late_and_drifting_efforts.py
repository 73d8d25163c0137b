"""Joints whose efforts are late, or drift, are named; sound recordings give no warning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.analysis.identify import conditioning, trial_fits
from robolin.analysis.identify.recording import Recording, RowStore
from tests.analysis.identify_recordings import recorded, true_arm
from tests.robots import with_springs

ARM = robolin.load("ur5")
TRUE = true_arm(ARM)


def warnings(*recordings: Recording, lag: float | None = None) -> list[str]:
    store = RowStore(1 + 4 * ARM.n)
    cleaned = [conditioning.clean(each, "auto", store) for each in recordings]
    return trial_fits.choose_filter(ARM, cleaned, None, lag).warnings


def sound(seconds: float = 20.0, seed: int = 0) -> Recording:
    return recorded(TRUE, seconds, seed=seed, coulomb=3.0, offset=0.4, noise=0.02, lag=0.012)


def delayed(recording: Recording, joint: int, seconds: float) -> Recording:
    """The recording with the efforts of one joint at later times."""
    tau, time = recording.tau.copy(), recording.time
    tau[:, joint] = np.interp(time - seconds, time, tau[:, joint])
    return replace(recording, tau=tau)


def drifting(recording: Recording, joint: int, size: float) -> Recording:
    """The recording with an offset of one joint that grows to `size` N·m."""
    tau = recording.tau.copy()
    tau[:, joint] += np.linspace(0.0, size, len(tau))
    return replace(recording, tau=tau)


@pytest.mark.parametrize("joint", range(ARM.n))
@pytest.mark.parametrize(
    ("seconds", "lag", "end"),
    [(0.06, 40, " or more"), (0.02, 32, ""), (-0.05, -20, " or less")],
)
def test_a_joint_with_another_lag_is_named(joint: int, seconds: float, lag: int, end: str) -> None:
    """Its lag, within a step of 4 ms of the lags that are tried; no other joint is named."""
    (warning,) = warnings(delayed(sound(), joint, seconds))
    start = f"the efforts of joint '{ARM.joint_names[joint]}' have a lag of "
    assert warning.startswith(start)
    value, text = warning.removeprefix(start).split(" ms", 1)
    assert abs(int(value) - lag) <= 4
    assert text.startswith(f"{end}, but all joints together have a lag of ")


def test_a_given_lag_does_not_hide_another_lag_of_a_joint() -> None:
    """The lags that are compared are those around the given one."""
    (warning,) = warnings(delayed(sound(), 2, 0.02), lag=0.012)
    assert "joint 'elbow_joint' have a lag of 32 ms, but all joints together" in warning
    assert warnings(sound(), lag=0.012) == []


@pytest.mark.parametrize("joint", range(ARM.n))
@pytest.mark.parametrize("size", [-0.4, 0.2])
def test_a_drift_is_named_with_its_size(joint: int, size: float) -> None:
    """Within three standard deviations; no other joint is named."""
    rms = float(np.sqrt(np.mean(sound().tau[:, joint] ** 2)))
    (warning,) = warnings(drifting(sound(), joint, size * rms))
    name = ARM.joint_names[joint]
    start = f"seed 0: the effort of joint '{name}' drifts by "
    assert warning.startswith(start)
    value, deviation = map(float, warning.removeprefix(start).split(" N·m")[0].split(" ± "))
    # two digits of the size are stated
    assert abs(value - size * rms) < 3.0 * deviation + 0.05 * abs(size * rms)


def test_only_the_recording_that_drifts_is_named() -> None:
    (warning,) = warnings(sound(), drifting(sound(seed=1), 1, 10.0))
    assert warning.startswith("seed 1: the effort of joint 'shoulder_lift_joint' drifts by ")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("seconds", [2.0, 8.0, 30.0])
def test_sound_recordings_have_no_warning(seconds: float, seed: int) -> None:
    """Offsets, a lag of all joints and noise are no faults, and short motions look like trends."""
    assert warnings(sound(seconds, seed)) == []


def test_recordings_with_accelerations_show_a_drift_only() -> None:
    """Their rows have no lag."""
    exact = recorded(TRUE, coulomb=3.0, exact=True)
    assert warnings(exact) == []
    assert warnings(delayed(exact, 2, 0.06)) == []
    (warning,) = warnings(drifting(exact, 2, 5.0))
    assert "joint 'elbow_joint' drifts by 4.98" in warning


@pytest.mark.slow
def test_both_faults_are_warnings_of_the_result() -> None:
    faulty = drifting(delayed(sound(), 2, 0.06), 4, 1.0)
    late, drift = robolin.identify(ARM, faulty, what="friction").warnings[:2]
    assert "joint 'elbow_joint' have a lag of 40 ms or more" in late
    assert "joint 'wrist_2_joint' drifts by" in drift


@pytest.mark.parametrize("rows", [5, 20, 100])
def test_a_gap_does_not_change_the_lag(rows: int) -> None:
    """Windows next to a gap are not filled for every lag; they do not count."""
    sound_recording = sound(30.0)
    kept = np.r_[:1200, 1200 + rows : len(sound_recording.time)]
    columns = {name: getattr(sound_recording, name)[kept] for name in ("time", "q", "qd", "tau")}
    store = RowStore(1 + 4 * ARM.n)
    lags = [
        trial_fits.choose_filter(ARM, [conditioning.clean(each, "auto", store)], None, None).lag
        for each in (sound_recording, replace(sound_recording, **columns))
    ]
    # a tenth of the step between the lags that are tried
    assert abs(lags[1] - lags[0]) <= 4e-4
    assert abs(lags[0] - 0.012) <= 0.004


def test_springs_do_not_hide_a_lag_or_a_drift() -> None:
    """Known torques are removed before the trial fits."""
    arm = with_springs(ARM)
    plain = drifting(delayed(sound(), 2, 0.05), 1, 5.0)
    known = robolin.inverse(arm, plain.q) - robolin.inverse(ARM, plain.q)
    store = RowStore(1 + 4 * ARM.n)
    cleaned = [conditioning.clean(replace(plain, tau=plain.tau + known), "auto", store)]
    names = {
        each.partition("joint '")[2].partition("'")[0]
        for each in trial_fits.choose_filter(arm, cleaned, None, None).warnings
    }
    assert names == {ARM.joint_names[1], ARM.joint_names[2]}


def test_a_drift_late_in_a_long_exact_recording_is_found() -> None:
    """Rows of the trials are spread over the recording, also without a filter."""
    short = recorded(TRUE, 20.0, seed=0, coulomb=3.0, exact=True)
    count = 140_000
    repeated = {
        name: np.resize(getattr(short, name), (count, ARM.n)) for name in ("q", "qd", "qdd", "tau")
    }
    long = Recording(
        0.001 * np.arange(count), repeated["q"], repeated["tau"], repeated["qd"], repeated["qdd"]
    )
    late = np.maximum(np.linspace(-1.0, 1.0, count), 0.0)
    long.tau[:, 1] += 8.0 * late
    (warning,) = warnings(long)
    assert "joint 'shoulder_lift_joint' drifts by " in warning


def test_many_recordings_show_a_drift() -> None:
    """Each of 20 recordings keeps enough rows for the test."""
    (warning,) = warnings(
        *(sound(12.0, seed) for seed in range(19)), drifting(sound(12.0, 30), 2, 12.0)
    )
    assert "joint 'elbow_joint' drifts by " in warning
