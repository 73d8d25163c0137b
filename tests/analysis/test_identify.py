"""Identification: known parameters return, faults of recordings do no harm, errors are clear."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import robolin
from robolin.analysis.identify import (
    conditioning,
    data_checks,
    design_rows,
    signal_faults,
    stages,
    trial_fits,
)
from robolin.analysis.identify import recording as recordings_module
from robolin.analysis.identify.consistent_fit import is_possible
from robolin.analysis.identify.data_checks import unexplained_joints
from robolin.analysis.identify.deviations import BlockSums, Uncertainty, _shares
from robolin.analysis.identify.recording import (
    Recording,
    SmoothRows,
    StoredRecording,
)
from robolin.analysis.identify.signal_faults import without_spikes
from robolin.analysis.identify.stages import Score, find_weights
from robolin.core.arm import Inertia
from robolin.core.arm_parameters import OF_LINK, linear_values, parameters
from robolin.core.progress import listening
from robolin.errors import RobolinError, UsageError
from tests.analysis.identify_recordings import V0, excitation, recorded, true_arm

# `robolin.analysis.identify.identify` is the function for Python
identify_module = import_module("robolin.analysis.identify.identify")
ARM = robolin.load("ur5")
TRUE = true_arm(ARM)
SECOND_TURNED = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
SHORT = Recording(np.zeros(1), np.zeros((1, 6)), np.zeros((1, 6)))


def bodies_possible(fit: robolin.Identification) -> bool:
    first = [i for i, name in enumerate(fit.names) if name.endswith("/mass")]
    return all(is_possible(fit.values[i : i + 10]) for i in first)


@pytest.mark.slow
def test_exact_rows_give_the_true_base_parameters() -> None:
    """Without noise, the identified values predict other motions as the true arm: to 1e-6."""
    recording = recorded(TRUE, coulomb=3.0, offset=0.4, exact=True)

    fit = robolin.identify(ARM, recording, friction_velocity=V0)

    assert fit.improves
    assert bodies_possible(fit)
    known = {each.label: each.value for each in parameters(TRUE)}
    kinds = {"friction": 3.0, "offset": 0.4}
    x = np.array([known.get(n, kinds.get(n.rpartition("/")[2])) for n in fit.names])
    K = base_parameters(fit.names)
    np.testing.assert_allclose(K @ fit.values, K @ x, rtol=1e-6, atol=1e-9)
    other = recorded(TRUE, seed=5, exact=True)
    Y = robolin.regressor(ARM, other.q, other.qd, other.qdd)
    fitted = [fit.value(name)[0] for name in Y.names]
    tau = Y.matrix @ fitted
    np.testing.assert_allclose(tau, other.tau, rtol=0.0, atol=1e-6 * np.abs(other.tau).max())
    assert fit.value("elbow_joint/friction")[0] == pytest.approx(3.0, rel=1e-6)
    assert fit.value("elbow_joint/offset")[0] == pytest.approx(0.4, rel=1e-5)


@pytest.mark.slow
def test_every_joint_gets_its_own_friction_velocity() -> None:
    """The true v₀ of each joint is found, and the identified arm applies it."""
    velocities = np.array([0.1, 0.1, 0.1, 0.02, 0.02, 0.02])
    recording = recorded(TRUE, exact=True)
    assert recording.qd is not None
    tau = recording.tau + 3.0 * np.tanh(recording.qd / velocities)

    fit = robolin.identify(ARM, replace(recording, tau=tau))

    np.testing.assert_array_equal(fit.friction_velocity, velocities)
    assert [joint.friction_velocity for joint in fit.arm.joints] == velocities.tolist()
    assert recording.qdd is not None
    torques = robolin.inverse(fit.arm, recording.q, recording.qd, recording.qdd)
    np.testing.assert_allclose(torques, tau, atol=1e-6 * np.abs(tau).max())
    assert "elbow_joint=0.1" in fit.model_flags[0]
    assert "wrist_3_joint=0.02" in fit.model_flags[0]
    by_joint = dict(zip(ARM.joint_names, velocities.tolist(), strict=True))
    again = robolin.identify(ARM, replace(recording, tau=tau), friction_velocity=by_joint)
    np.testing.assert_array_equal(again.friction_velocity, velocities)
    with pytest.raises(UsageError, match="joint 'elbow_joint' must be > 0"):
        robolin.identify(ARM, recording, friction_velocity={**by_joint, "elbow_joint": 0.0})
    with pytest.raises(UsageError, match="friction_velocity: must have shape"):
        robolin.identify(ARM, recording, friction_velocity=np.ones((2, ARM.n)))


@pytest.mark.slow
def test_faults_of_real_recordings_do_little_harm() -> None:
    """Noise, a lag of 12 ms, spikes and numbers of 1e293 leave a small error; the lag is found."""
    clean = recorded(TRUE, coulomb=3.0, noise=0.01, lag=0.012)
    rng = np.random.default_rng(1)
    tau, qd = clean.tau.copy(), np.array(clean.qd)
    spikes = rng.random(tau.shape) < 0.01
    tau[spikes] *= 10.0
    qd[rng.random(qd.shape) < 0.005] = 4.0
    tau[50, 2] = 1e293

    other = recorded(TRUE, coulomb=3.0, noise=0.01, lag=0.012, seed=2)

    plain = robolin.identify(ARM, clean, width=0.1, holdout=other)
    fit = robolin.identify(ARM, replace(clean, tau=tau, qd=qd), width=0.1, holdout=other)

    assert fit.settings["lag"].startswith("12.") or fit.settings["lag"].startswith("11.")
    assert fit.improves
    assert bodies_possible(fit)
    assert fit.stages[-1].score.mean <= 1.05 * plain.stages[-1].score.mean
    assert plain.stages[-1].score.mean < 0.02


def spiked_signal(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A smooth torque with noise, the same with glitches of several rows, and their mask."""
    time = np.arange(0.0, 10.0, 0.01)
    rng = np.random.default_rng(rows)
    clean = (20.0 * np.sin(2.0 * time) + 0.1 * rng.normal(size=time.size))[:, None]
    wrong = ((np.arange(time.size) + 50) % 100 < rows)[:, None]
    return clean, np.where(wrong, clean + 200.0, clean), wrong


@pytest.mark.parametrize("rows", range(1, 8))
def test_glitches_of_several_rows_are_replaced(rows: int) -> None:
    """Each glitch is found with all its rows, and no other row is changed."""
    clean, spiked, wrong = spiked_signal(rows)
    repaired, glitches = without_spikes(spiked)
    np.testing.assert_array_equal(glitches, wrong[:, 0])
    np.testing.assert_array_equal(repaired[~wrong], clean[~wrong])
    assert np.max(np.abs(repaired - clean)) < 2.0


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_steps_of_friction_are_kept(noise: float) -> None:
    """Friction that changes its sign within one row, on a slope against it, is not a glitch."""
    time = np.arange(0.0, 10.0, 0.01)
    rng = np.random.default_rng(2)
    smooth = 20.0 * np.sin(2.0 * time) - 8.0 * np.sign(np.cos(2.0 * time + 1.0))
    values = (smooth + noise * rng.normal(size=time.size))[:, None]
    repaired, glitches = without_spikes(values)
    assert not glitches.any()
    np.testing.assert_array_equal(repaired, values)


def test_noise_of_a_steep_signal_is_no_spike() -> None:
    """In a steep signal the running median is the row itself, and does not show the noise."""
    time = np.arange(0.0, 25.0, 0.01)
    noise = 0.15 * np.random.default_rng(7).normal(size=time.size)
    values = (20.0 * np.sin(6.0 * time + 3.0 * np.sin(0.3 * time)) + noise)[:, None]
    repaired, glitches = without_spikes(values)
    assert not glitches.any()
    np.testing.assert_array_equal(repaired, values)


@pytest.mark.slow
def test_damaged_rows_at_the_beginning_are_ignored() -> None:
    """Rows of a garbled stream: huge numbers, zeros, and columns in other places."""
    sound = recorded(TRUE, 12.0, coulomb=3.0, noise=0.02)
    rng = np.random.default_rng(5)
    tables = {name: getattr(sound, name).copy() for name in ("q", "qd", "tau")}
    for row in range(20):
        for values in tables.values():
            values[row] = (
                np.roll(values[row], 2) if row % 4 == 0 else rng.choice([0.0, 253.0, 1e150], 6)
            )
    damaged = replace(sound, **tables)

    fit = robolin.identify(ARM, damaged, what="links")

    least = robolin.identify(ARM, sound, what="links").stages[-1].score.mean
    assert fit.stages[-1].score.mean <= 1.1 * least
    ignored = [note for note in fit.notes if note.endswith("damaged rows ignored")]
    assert len(ignored) == 1
    assert 20 <= int(ignored[0].split()[2]) <= 34


def test_frequent_spikes_are_replaced_without_loss_of_rows() -> None:
    recording = recorded(TRUE, 5.0, noise=0.02)
    rng = np.random.default_rng(0)
    recording.tau[rng.random(recording.tau.shape) < 0.02] *= 10.0
    store = recordings_module.RowStore(1 + 4 * ARM.n)

    clean = conditioning.clean(recording, "stamps", store)

    assert clean.cleaned > 20
    assert clean.left_out == 0


def with_bursts(clean: Recording, kind: str, rows: int = 12) -> tuple[Recording, np.ndarray]:
    """The recording with bursts of equal values of this length, and their mask."""
    tables = {name: getattr(clean, name).copy() for name in ("q", "qd", "tau")}
    wrong = (np.arange(len(clean.time)) + 150) % 400 < rows
    wrong[-rows:] = False
    rng = np.random.default_rng(rows)
    for first in np.flatnonzero(np.diff(wrong.astype(int)) == 1) + 1:
        part = slice(first, first + rows)
        if kind == "rows":
            for values in tables.values():
                values[part] = rng.uniform(-6.0, 6.0, values.shape[1])
        elif kind == "zeros":
            for values in tables.values():
                values[part] = 0.0
        elif kind == "velocity":
            tables["qd"][part, 2] = 5.0
        else:
            tables["tau"][part, 1] = 300.0
    return replace(clean, **tables), wrong


@pytest.mark.parametrize("kind", ["rows", "zeros", "velocity", "torque"])
@pytest.mark.parametrize("rows", [8, 12, 60])
def test_bursts_of_equal_values_are_found(kind: str, rows: int) -> None:
    """All rows of every burst, and no others."""
    damaged, wrong = with_bursts(recorded(TRUE, coulomb=3.0, noise=0.01), kind, rows)
    assert wrong.sum() >= 4 * rows
    np.testing.assert_array_equal(signal_faults.constant_bursts(damaged), wrong)


def test_rows_of_zeros_before_the_first_message_are_a_burst() -> None:
    recording = recorded(TRUE, 8.0)
    recording.q[:40] = 0.0
    burst = signal_faults.constant_bursts(recording)
    np.testing.assert_array_equal(np.flatnonzero(burst), np.arange(40))


def with_rests(seconds: float = 20.0) -> Recording:
    """Motions of 1 s with rests of 0.3 s, in which positions and torques stay exactly the same."""
    row = np.arange(round(100 * seconds))
    time, phase = 0.01 * row, np.minimum(row % 130, 100) / 100.0
    way = np.where(row // 130 % 2 == 0, 1.0, -1.0)
    part = 10.0 * phase**3 - 15.0 * phase**4 + 6.0 * phase**5
    rate = 30.0 * (phase * (1.0 - phase)) ** 2
    size = np.linspace(0.3, 1.2, ARM.n)
    q = size * np.where(way > 0.0, part, 1.0 - part)[:, None]
    qd = size * (way * rate)[:, None]
    tau = robolin.inverse(TRUE, q, qd, np.gradient(qd, time, axis=0)) + 2.0 * np.sign(qd)
    return Recording(time, q, tau, qd)


def every_tenth(values: np.ndarray) -> np.ndarray:
    return np.repeat(values[::10], 10, axis=0)[: len(values)]


@pytest.mark.parametrize("step", [0.0, 1e-4, 2e-3])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("rests", [False, True])
def test_rests_and_coarse_sensors_are_no_bursts(step: float, held: bool, rests: bool) -> None:
    """Rests, quantized signals, and signals that a sensor updates in every tenth row only."""
    sound = with_rests() if rests else recorded(TRUE, coulomb=3.0, noise=0.01)
    tables = {name: getattr(sound, name) for name in ("q", "qd", "tau")}
    if held:
        tables = {name: every_tenth(values) for name, values in tables.items()}
    if step:
        size = {"q": step, "qd": 10.0 * step, "tau": 500.0 * step}
        tables = {n: size[n] * np.rint(values / size[n]) for n, values in tables.items()}
    assert not signal_faults.constant_bursts(replace(sound, **tables)).any()


def held_for(clean: Recording, name: str, joint: int) -> Recording:
    """The recording with one signal of a joint that keeps its value for 2 s."""
    values = np.array(getattr(clean, name))
    values[500:700, joint] = values[500, joint]
    return replace(clean, **{name: values})


@pytest.mark.parametrize("name, word", [("q", "position"), ("qd", "velocity"), ("tau", "effort")])
def test_signals_that_keep_one_value_are_counted(name: str, word: str) -> None:
    """Only while the joint moves: a robot at rest, and sound rows, are no fault."""
    clean = recorded(TRUE, noise=0.01)
    clean = replace(clean, qdd=None)
    held = signal_faults.held_values(held_for(clean, name, 2))[word]
    assert held[500:700, 2].all()
    assert held.sum() == 200
    for sound in (clean, with_rests()):
        assert not any(mask.any() for mask in signal_faults.held_values(sound).values())


def test_saturated_efforts_are_noted() -> None:
    """So are rows that are missing."""
    clean = replace(recorded(TRUE, noise=0.01), qdd=None)
    limit = 0.3 * np.abs(clean.tau[:, 1]).max()
    tau = clean.tau.copy()
    tau[:, 1] = np.clip(tau[:, 1], -limit, limit)
    rows = np.r_[:900, 1200:2000]
    parts = {key: getattr(clean, key)[rows] for key in ("time", "q", "qd")}

    fit = robolin.identify(ARM, replace(clean, **parts, tau=tau[rows]))

    notes = "\n".join(fit.notes)
    assert "seed 0: about 300 rows missing" in notes
    assert "the effort of shoulder_lift_joint keeps one value for 0.1 s or more" in notes


def test_a_lag_at_the_end_of_the_range_is_noted() -> None:
    """The true lag may be larger."""
    assert not [*signal_faults.lag_notes(0.012, trial_fits.LAGS)]
    (note,) = signal_faults.lag_notes(float(trial_fits.LAGS[-1]), trial_fits.LAGS)
    assert note.startswith("the best lag, 40 ms, is an end of the range of all lags that are tried")


def test_times_that_decrease_are_rejected() -> None:
    """Two recordings in one table are not one recording."""
    clean = replace(recorded(TRUE, 10.0), qd=None, qdd=None)
    time = np.where(np.arange(1000) < 500, clean.time, clean.time - 4.0)
    with pytest.raises(RobolinError, match=r"the time decreases from 4\.99 s to 1 s"):
        robolin.identify(ARM, replace(clean, time=time))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "torque"])
def test_bursts_leave_the_fit_as_it_is(kind: str) -> None:
    """The rows of the bursts are left out with a note, and the error stays."""
    clean = recorded(TRUE, coulomb=3.0, noise=0.01)
    other = recorded(TRUE, 8.0, coulomb=3.0, noise=0.01, seed=2)
    damaged, wrong = with_bursts(clean, kind)
    flags = {"what": "links", "width": 0.1, "lag": 0.0, "holdout": other}
    plain, fit = (robolin.identify(ARM, each, **flags) for each in (clean, damaged))
    assert fit.stages[-1].score.mean <= 1.05 * plain.stages[-1].score.mean
    rows = f"seed 0: {wrong.sum()} rows ignored: values jump to a constant and back"
    assert rows in fit.notes
    assert not any("ignored" in note for note in plain.notes)


def lag_of(trials: list[trial_fits.Trial]) -> float:
    width = trial_fits.fitting_widths(trials)[-1]
    return trial_fits.find_lag(trial_fits.trial_fit(ARM, trials, width, trial_fits.LAGS))


@pytest.mark.parametrize(("noise", "width"), [(0.0, 0.1), (5e-3, 0.2)])
@pytest.mark.parametrize("lag", [0.0, 0.02])
def test_noise_of_the_velocities_widens_the_filter(noise: float, width: float, lag: float) -> None:
    recording = recorded(TRUE, 7.0, coulomb=3.0, noise=0.05, lag=lag)
    assert recording.qd is not None
    recording.qd[...] += noise * np.random.default_rng(0).normal(size=recording.qd.shape)
    store = recordings_module.RowStore(1 + 4 * ARM.n)
    trials = trial_fits.trials([conditioning.clean(recording, "stamps", store)], None)

    estimate = lag_of(trials)

    assert estimate == pytest.approx(lag, abs=0.002)
    assert trial_fits.find_width(ARM, trials, estimate) == width


@pytest.mark.parametrize("seconds", [0.15, 0.25, 0.35])
def test_short_recording_has_rows_for_every_width(seconds: float) -> None:
    """A window at each end, with every lag, leaves most rows of the trials."""
    time = np.arange(0.0, seconds, 1e-3)
    rates = 30.0 + np.arange(ARM.n)
    angle = np.outer(time, rates) + np.arange(ARM.n)
    q, qd, qdd = 0.2 * np.sin(angle), 0.2 * rates * np.cos(angle), -0.2 * rates**2 * np.sin(angle)
    recording = Recording(time, q, robolin.inverse(TRUE, q, qd, qdd))
    store = recordings_module.RowStore(1 + 4 * ARM.n)
    trials = trial_fits.trials([conditioning.clean(recording, "stamps", store)], None)

    widths = trial_fits.fitting_widths(trials)

    inner = seconds - widths[-1] - 2.0 * np.abs(trial_fits.LAGS).max()
    assert inner > 0.25 * seconds
    assert lag_of(trials) == 0.0
    assert trial_fits.find_width(ARM, trials, 0.0) in widths


def rows_with_speeds(qd: np.ndarray) -> design_rows.DesignRows:
    rows = design_rows.DesignRows(ARM, design_rows.parameter_list(ARM))
    time, zero = np.arange(float(len(qd))), np.zeros_like(qd)
    rows.append(SmoothRows(time, zero, qd, zero, zero, np.ones(len(qd))))
    return rows


@pytest.mark.parametrize("repeated", [1, 300])
def test_joints_that_move_faster_in_held_out_rows_are_named(repeated: int) -> None:
    slow = np.tile([[0.5], [-0.4]], (50 * repeated, 6))
    # one fast row among many counts
    slow[len(slow) - 3, 4] = 0.9
    fast = slow.copy()
    fast[:20, 2] = 0.8
    fast = np.tile(fast[:100], (repeated, 1))
    fast[:, 4] *= 1.6

    notes = [*data_checks.faster_joints(rows_with_speeds(slow), rows_with_speeds(fast))]

    assert len(notes) == 1
    assert "in 20 % of the held-out rows, joint 'elbow_joint' is faster" in notes[0]
    assert "(0.50 rad/s)" in notes[0]


@pytest.mark.slow
def test_glitches_of_five_rows_leave_the_fit_as_it_is() -> None:
    """200 N·m on five rows each second do not change the error on held-out rows."""
    clean = recorded(TRUE, coulomb=3.0, noise=0.01)
    wrong = (np.arange(len(clean.time)) + 50) % 100 < 5
    spiked = replace(clean, tau=clean.tau + 200.0 * wrong[:, None])
    flags = {"what": "friction", "width": 0.1, "lag": 0.0}
    other = recorded(TRUE, 6.0, coulomb=3.0, noise=0.01, seed=2)
    plain, with_glitches = (
        robolin.identify(ARM, each, holdout=other, **flags) for each in (clean, spiked)
    )
    assert with_glitches.stages[-1].score.mean <= 1.05 * plain.stages[-1].score.mean


@pytest.mark.parametrize("seed", range(3))
def test_a_joint_that_moves_in_one_block_only(seed: int) -> None:
    """Its deviations are those of the noise, not of a fit without the block; a note names it."""
    arm = robolin.load("two-link")
    time = np.arange(0.0, 20.0, 0.01)
    # the elbow moves from 8.2 s to 8.8 s
    phase, rate = np.clip((time - 8.2) / 0.6, 0.0, 1.0), np.pi / 0.6
    sine, cosine = np.sin(np.pi * phase), np.cos(np.pi * phase)
    slope = 2.0 * rate * sine**3 * cosine
    bend = 2.0 * rate**2 * (3.0 * sine**2 * cosine**2 - sine**4)
    turn = 0.8 * np.sin(2.0 * time)
    q = np.stack([turn, 0.5 * sine**4], axis=1)
    qd = np.stack([1.6 * np.cos(2.0 * time), slope], axis=1)
    qdd = np.stack([-4.0 * turn, bend], axis=1)
    noise = 0.05 * np.random.default_rng(seed).normal(size=q.shape)
    tau = robolin.inverse(arm, q, qd, qdd) + [0.5, 0.3] * qd + 0.2 * np.tanh(qd / V0) + noise

    fit = robolin.identify(arm, Recording(time, q, tau, qd, qdd), what="friction")

    for name, true in {"damping": 0.3, "friction": 0.2, "armature": 0.0}.items():
        value, deviation = fit.value(f"elbow/{name}")
        assert deviation < 0.05
        assert abs(value - true) < 4.0 * deviation
    (note,) = (each for each in fit.notes if "only one short part of the recordings" in each)
    assert "elbow/damping" in note
    assert "shoulder" not in note


def payload_sentences(last: float, last_error: float) -> list[str]:
    """Findings if the payload stage adds 0.5 kg, and the last stage another mass."""
    listed = design_rows.parameter_list(ARM)
    name = ARM.links_tip_to_base[0].name
    i, size = listed.names.index(f"{name}/mass"), len(listed.names)
    stages_before = []
    for stage, change, deviation in (("payload", 0.5, 0.01), ("all", last, 0.05)):
        x, covariance = listed.values.copy(), np.zeros((size, size))
        x[i] += change
        covariance[i, i] = deviation**2
        known = Uncertainty(covariance, 0.0 * covariance, np.zeros(size), np.zeros(size, bool))
        stages_before.append(data_checks.FittedStage(stage, 1, x, known))
    scores = [Score(np.full(6, error), np.full(6, error)) for error in (0.02, last_error)]
    return [*data_checks.payload_change(ARM, listed, name, stages_before, scores)]


def test_a_load_is_reported_if_the_last_stage_confirms_it() -> None:
    """A last stage with another mass and a smaller error contradicts a load."""
    (confirmed,) = payload_sentences(0.45, 0.015)
    # the stages differ by 0.05 kg, more than the deviation of either
    assert confirmed.startswith("link 'wrist_3_link' is 0.50 ± 0.05 kg heavier than in the file: a")
    assert payload_sentences(0.0, 0.017) == []


def test_a_recording_that_is_repeated_is_rejected() -> None:
    """Also if a period replaces irregular time stamps: late stamps differ by a few periods."""
    once = recorded(true_arm(ARM), 6.0, seed=0, coulomb=3.0, exact=False)
    time = once.time + 0.002 * np.random.default_rng(0).random(len(once.time))
    twice = {name: np.tile(getattr(once, name), (2, 1)) for name in ("q", "qd", "tau")}
    with pytest.raises(RobolinError, match=r"the time decreases from 5\.99"):
        robolin.identify(ARM, replace(once, time=np.tile(time, 2), **twice))


def test_efforts_of_one_joint_in_another_unit_are_reported() -> None:
    """Efforts of a joint in N·mm exceed its effort limit 10 times or more."""
    measured = np.tile([10.0] * ARM.n, (50, 1))
    assert [*data_checks.efforts_beyond_limits(ARM, measured)] == []
    measured[:, 0] *= 1000.0
    (warning,) = data_checks.efforts_beyond_limits(ARM, measured)
    assert warning.startswith(f"the efforts of joint '{ARM.joint_names[0]}' are ")
    assert "times the effort limit in the file: check their unit" in warning


def test_joints_in_another_unit_are_named() -> None:
    """Joints that carry weight and have usual torques are not named, and keep their scale."""
    predicted = np.tile([40.0, 60.0, 30.0, 1.0, 1.0, 1.0], (50, 1))
    measured = predicted * [1.1, 1000.0, 950.0, 1.0, 1.0, 1.0]
    with pytest.raises(RobolinError) as caught:
        data_checks.require_torque_units(ARM, measured, predicted)
    names = ARM.joint_names
    assert str(caught.value).startswith(f"measured torques of {names[1]} and {names[2]} are 950 ")
    assert f"--effort-scale {names[0]}=1,{names[1]}=0.001,{names[2]}=0.001," in str(caught.value)


def test_held_out_rows_without_motion_are_reported() -> None:
    """Errors of joints at rest show stiction, not the model."""
    score = Score(np.full(6, np.nan), np.full(6, 0.5))
    (warning,) = data_checks.fit_warnings(ARM, 1000, [], score)
    assert warning.startswith("no joint moves in the held-out rows")


def test_shares_are_parts_of_the_variance_of_the_prior() -> None:
    """1 without a prior, 0 without data, and between them also for correlated parameters."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(4, 4))
    prior, data = root @ root.T, np.diag([0.0, 1.0, 100.0, 0.0])
    share = _shares(np.linalg.inv(prior + data), prior)
    before, after = (np.diag(np.linalg.inv(each)) for each in (prior, prior + data))
    np.testing.assert_allclose(share, 1.0 - after / before, atol=1e-12)
    assert ((share >= 0.0) & (share <= 1.0)).all()
    np.testing.assert_allclose(_shares(np.eye(2), np.zeros((2, 2))), 1.0)
    np.testing.assert_allclose(_shares(np.eye(2), np.eye(2)), 0.0, atol=1e-12)


def test_links_that_cannot_be_separated_share_a_load() -> None:
    (sentence,) = payload_sentences(0.23, 0.0195)
    assert sentence == (
        "link 'wrist_3_link', or a link before it, is about 0.5 kg heavier than in the file: the "
        "recording does not determine which of these links"
    )


def test_a_poor_fit_is_a_warning() -> None:
    score = Score(np.array([0.1, 0.5, 0.1, 0.1, 0.1, 0.1]), np.zeros(6))
    few, contradicted, poor = data_checks.fit_warnings(ARM, 16, ["forearm_link"], score)
    assert few.startswith("only 16 smoothed rows test the fit")
    assert "contradicts the values of forearm_link" in contradicted
    assert poor.startswith("the fit leaves an error of 50 % for joint 'shoulder_lift_joint'")
    assert not [*data_checks.fit_warnings(ARM, 600, [], Score(np.zeros(6), np.zeros(6)))]


def test_a_part_that_was_not_mounted_is_found() -> None:
    """The payload stage states that the last link is lighter than the file."""
    loaded = robolin.load("ur5", payload=("tool0", 0.7))
    recording = recorded(ARM, coulomb=1.0, noise=0.01, exact=True)

    fit = robolin.identify(loaded, recording, what="payload")

    (sentence,) = fit.findings
    assert sentence.startswith("link 'wrist_3_link' is 0.700 ± 0.00")
    assert "lighter than in the file: a part fixed to it (" in sentence
    assert "tool0" in sentence


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.5, -0.5])
def test_a_hand_with_fingers_carries_the_load(load: float) -> None:
    """The payload stage fits the link of the hand, not a finger."""
    file, loaded = robolin.load("panda-fingers"), ("panda_hand", abs(load))
    other = robolin.load("panda-fingers", payload=loaded)
    robot, assumed = (other, file) if load > 0.0 else (file, other)

    time = np.arange(0.0, 20.0, 0.01)
    # the fingers open by a few centimetres
    motion = [each * ([1.0] * 7 + [0.02]) for each in excitation(8, time, 0)]
    tau = robolin.inverse(robot, *motion)
    tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(7).normal(size=tau.shape)
    recording = robolin.Recording(time, motion[0], tau, *motion[1:])

    fit = robolin.identify(assumed, recording, what="payload")

    (sentence,) = fit.findings
    word = "heavier" if load > 0.0 else "lighter"
    pattern = rf"link 'panda_link7' is (\S+) ± (\S+) kg {word} than in the file"
    numbers = re.match(pattern, sentence)
    assert numbers, sentence
    size, deviation = map(float, numbers.groups())
    assert 0.0 < deviation < 0.02
    assert abs(size - 0.5) < 3.0 * deviation


@pytest.mark.slow
def test_a_load_is_identified_from_recordings_with_and_without_it() -> None:
    """Mass and centre of a load of 1.5 kg, although the links differ from the file."""
    at = (0.02, -0.03, 0.05)
    link = TRUE.links[-1]
    Y = robolin.regressor(TRUE, np.zeros(6))
    values = dict(zip(Y.names, Y.parameters, strict=True))
    load = Inertia(1.5, at, (2e-3, 0.0, 0.0, 2e-3, 0.0, 2e-3))
    added = {f"{link.name}/{n}": v for n, v in zip(OF_LINK, linear_values(load), strict=True)}
    heavy = TRUE.with_parameters({name: values[name] + extra for name, extra in added.items()})

    fit = robolin.identify(
        ARM,
        recorded(heavy, coulomb=2.0, noise=0.005, exact=True),
        unloaded=recorded(TRUE, coulomb=2.0, noise=0.005, seed=4, exact=True),
        payload_link=link.name,
    )

    mass, deviation = fit.value("payload/mass")
    assert abs(mass - 1.5) < 4.0 * deviation < 0.2
    assert fit.findings[-1].startswith("payload 1.")


def test_deviations_cover_the_true_values() -> None:
    """Predictions deviate from the true ones by what the covariance states, within 3 sigma."""
    recording = recorded(TRUE, coulomb=3.0, noise=0.03, exact=True)
    fit = robolin.identify(ARM, recording, friction_velocity=V0, prior=1.0)
    other = recorded(TRUE, 4.0, seed=9, coulomb=3.0, exact=True)
    Y = robolin.regressor(ARM, other.q, other.qd, other.qdd, offsets=True)
    at = [fit.names.index(name) for name in Y.names]
    coulomb = [fit.names.index(f"{name}/friction") for name in ARM.joint_names]
    tanh = np.tanh(other.qd / V0)[:, :, None] * np.eye(6)
    columns = np.concatenate([Y.matrix, tanh], axis=-1)
    chosen = np.array([*at, *coulomb])
    covariance = fit.covariance[np.ix_(chosen, chosen)]
    sigma = np.sqrt(np.einsum("mja,ab,mjb->mj", columns, covariance, columns))

    deviation = (columns @ fit.values[chosen] - other.tau) / sigma

    assert 0.3 < np.sqrt(np.mean(deviation**2)) < 2.0


def base_parameters(names: tuple[str, ...]) -> np.ndarray:
    """Sums (r, p) of parameters that torques depend on: independent columns and their partners."""
    motion = recorded(ARM, 8.0, seed=11, exact=True)
    Y = robolin.regressor(ARM, motion.q, motion.qd, motion.qdd)
    columns = np.zeros((6 * len(motion.time), len(names)))
    columns[:, [names.index(n) for n in Y.names]] = Y.matrix.reshape(-1, len(Y.names))
    for j, joint in enumerate(ARM.joint_names):
        columns[j::6, names.index(f"{joint}/friction")] = np.tanh(motion.qd[:, j] / V0)
        columns[j::6, names.index(f"{joint}/offset")] = 1.0
    length = np.linalg.norm(columns, axis=0)
    rest, chosen = columns / np.where(length > 0.0, length, 1.0), []
    while np.linalg.norm(rest, axis=0).max() > 1e-8:
        chosen.append(int(np.linalg.norm(rest, axis=0).argmax()))
        unit = rest[:, chosen[-1]] / np.linalg.norm(rest[:, chosen[-1]])
        for _ in range(2):
            rest = rest - np.outer(unit, unit @ rest)
    return np.linalg.lstsq(columns[:, chosen], columns, rcond=None)[0]


def with_lasting_errors(clean: Recording, size: float, seed: int) -> Recording:
    """The recording with errors of the torques that last for 0.3 s."""
    error = np.random.default_rng([seed, 8]).normal(size=clean.tau.shape)
    for i in range(1, len(error)):
        error[i] = 0.967 * error[i - 1] + 0.255 * error[i]
    return replace(clean, tau=clean.tau + size * np.sqrt(np.mean(clean.tau**2, axis=0)) * error)


@pytest.mark.slow
def test_two_deviations_contain_nine_of_ten_true_values() -> None:
    """Base parameters of four arms, whose torques have errors that last for 0.3 s."""
    inside = []
    for seed in range(4):
        true = true_arm(ARM, seed)
        clean = recorded(true, 30.0, seed=seed, coulomb=3.0, offset=0.4, exact=True)
        noisy = with_lasting_errors(clean, 0.02, seed)
        fit = robolin.identify(ARM, noisy, what="links", friction_velocity=V0, holdout=0.1)
        known = {each.label: each.value for each in parameters(true)}
        kinds = {"friction": 3.0, "offset": 0.4}
        x = np.array([known.get(n, kinds.get(n.rpartition("/")[2])) for n in fit.names])
        K = base_parameters(fit.names)
        sigma = np.sqrt(np.einsum("ra,ab,rb->r", K, fit.covariance, K))
        inside.append(np.abs(K @ (fit.values - x)) < 2.0 * sigma)
    assert 0.85 <= np.mean(inside) <= 0.98, np.mean(inside)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_short_recordings_predict_other_motions_better_than_least_squares(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 s of motion: at most 0.6 times the error of least squares, against the true torques."""
    plain = []
    monkeypatch.setattr(
        identify_module,
        "find_weights",
        lambda *data: plain.append(find_weights(*data)) or plain[0],
    )
    true = true_arm(ARM, seed)
    short = with_lasting_errors(recorded(true, 4.0, seed=seed, coulomb=3.0, exact=True), 0.04, seed)
    other = recorded(true, 10.0, seed=seed + 50, coulomb=3.0, exact=True)
    fit = robolin.identify(ARM, short, holdout=other, what="links", friction_velocity=V0)

    still = replace(other, tau=robolin.inverse(true, other.q, other.qd, other.qdd))
    Y = robolin.regressor(ARM, other.q, other.qd, other.qdd)
    chosen = [fit.names.index(name) for name in Y.names]
    errors = [np.std(Y.matrix @ x[chosen] - still.tau, axis=0) for x in (fit.values, plain[0].x)]
    assert np.mean(errors[0] / errors[1]) <= 0.6


def test_repeated_rows_count_once() -> None:
    """Ten times the same rows in every block give the same values and the same deviations."""
    recording = with_lasting_errors(recorded(TRUE, 12.0, exact=True), 0.02, 0)
    listed = design_rows.parameter_list(ARM)
    design = design_rows.DesignRows(ARM, listed)
    qd, qdd = recording.qd, recording.qdd
    assert qd is not None
    assert qdd is not None
    ones = np.ones(len(recording.time))
    design.append(SmoothRows(recording.time, recording.q, qd, qdd, recording.tau, ones))
    v0, sums = np.full(6, V0), BlockSums(len(listed.names))
    factor = design.compressed(v0, lambda columns, tau: np.full_like(tau, 20.0), sums)
    spread, trust = stages.joint_spreads(design), np.full(6, 100.0)
    start = stages.interior_start(listed, listed.values, spread)
    both_ways = np.ones(6, dtype=bool)
    results = [
        stages.fit_stage(
            listed,
            stages.FitRows(np.sqrt(times) * factor, sums.divided(1.0 / times), both_ways),
            start,
            range(len(listed.names)),
            spread,
            trust,
            {},
        )
        for times in (1.0, 10.0)
    ]

    (x, known, weights, _), (repeated, also_known, more, _) = results
    assert weights != more
    assert (np.abs(repeated - x) <= 0.02 * known.deviations).all()
    np.testing.assert_allclose(also_known.deviations, known.deviations, rtol=0.02, atol=1e-9)


def test_columns_of_rounding_count_as_zero() -> None:
    """Divided by its own norm, rounding would be a random direction that the fit uses."""
    table = np.random.default_rng(0).normal(size=(40, 4)) * [1.0, 1e-17, 0.0, 1e-3]
    sizes = design_rows.column_sizes(table)
    np.testing.assert_array_equal(np.isinf(sizes), [False, True, True, False])
    np.testing.assert_allclose(sizes[[0, 3]], np.linalg.norm(table[:, [0, 3]], axis=0))


def test_the_factor_has_the_squares_of_all_weighted_rows() -> None:
    """Each joint is compressed by itself, without the columns that are zero for this joint."""
    recording = recorded(TRUE, 30.0, exact=True)
    assert recording.qd is not None
    assert recording.qdd is not None
    design, v0 = design_rows.DesignRows(ARM, design_rows.parameter_list(ARM)), np.full(6, V0)
    ones = np.ones(len(recording.time))
    design.append(
        SmoothRows(recording.time, recording.q, recording.qd, recording.qdd, recording.tau, ones)
    )

    factor = design.compressed(v0, lambda columns, tau: 2.0 + np.sin(tau))

    assert design.count > 2 * design_rows._ROWS_AT_ONCE
    expected = np.zeros_like(factor)
    for rows, columns in design.blocks(v0):
        table = np.concatenate([columns, rows.tau[..., None]], axis=-1)
        table = (table * (2.0 + np.sin(rows.tau))[..., None]).reshape(-1, len(factor))
        expected += table.T @ table
    size = np.sqrt(np.diag(expected))
    allowed = 1e-13 * np.outer(size, size) + 1e-300
    np.testing.assert_array_less(np.abs(factor.T @ factor - expected), allowed)


def test_a_joint_that_moves_in_one_direction_only() -> None:
    """Its friction is not taken for an offset, and a note names it."""
    recording = recorded(TRUE, 8.0, exact=True)
    assert recording.qd is not None
    assert recording.qdd is not None
    q, qd, qdd = recording.q.copy(), recording.qd.copy(), recording.qdd.copy()
    q[:, 0] += 1.5 * recording.time
    qd[:, 0] += 1.5
    tau = robolin.inverse(TRUE, q, qd, qdd) + 3.0 * np.tanh(qd / V0)
    noise = 0.02 * np.random.default_rng(4).normal(size=tau.shape)
    moving = replace(recording, q=q, qd=qd, qdd=qdd, tau=tau + noise)
    assert (qd[:, 0] > 0.0).all()

    fit = robolin.identify(ARM, moving)

    assert fit.value("shoulder_pan_joint/friction")[0] == pytest.approx(3.0, abs=0.3)
    assert abs(fit.value("shoulder_pan_joint/offset")[0]) < 0.3
    assert any("moves in one direction only" in note for note in fit.notes)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"tau": lambda r: 0.0 * r.tau}, "all measured torques are 0"),
        ({"tau": lambda r: 1000.0 * r.tau}, "times the model torques"),
        ({"tau": lambda r: r.tau / 11.0}, "times the model torques"),
        ({"q": lambda r: np.rad2deg(r.q), "qd": lambda r: np.rad2deg(r.qd)}, "far outside"),
        ({"tau": lambda r: r.tau[:, :5]}, r"tau must have shape \(2000, 6\)"),
        ({"tau": lambda r: -r.tau}, "have opposite signs"),
        ({"tau": lambda r: r.tau * SECOND_TURNED}, "of shoulder_lift_joint have opposite signs"),
        ({"time": lambda r: 1000.0 * r.time}, r"time step is 10 s; .*\nhint: .*--time-unit ms"),
        ({"qd": lambda r: np.rad2deg(r.qd)}, "57.3 times the time derivatives of the positions"),
        ({"qd": lambda r: r.qd / 1000.0}, "0.001 times the time derivatives of the positions"),
        ({"qd": lambda r: r.qd * SECOND_TURNED}, "of shoulder_lift_joint contradict the"),
        (
            {"qd": lambda r: r.qd[:, [0, 1, 2, 4, 3, 5]]},
            "of wrist_1_joint and wrist_2_joint contra",
        ),
    ],
)
def test_wrong_units_are_rejected(change: dict[str, object], message: str) -> None:
    """Zero torques, N·mm, currents, degrees and missing columns are named in the error."""
    recording = recorded(TRUE)
    wrong = {name: make(recording) for name, make in change.items()}  # type: ignore[operator]
    with pytest.raises(RobolinError, match=message):
        robolin.identify(ARM, replace(recording, **wrong))


def test_velocities_around_pauses_of_the_recording_are_no_contradiction() -> None:
    """Rows are missing for 0.5 s to 3 s while the robot moves; wrong velocities are still found."""
    clean = recorded(TRUE)
    time = clean.time
    for first, last, every in ((5.0, 8.0, 20.0), (0.0, 1.2, 2.5), (1.0, 1.5, 3.0)):
        kept = (time % every < first) | (time % every > last)
        tables = {name: getattr(clean, name)[kept] for name in ("time", "q", "qd", "tau")}
        paused = replace(clean, **tables)
        data_checks.require_motion_units(ARM, paused)
        turned = replace(paused, qd=paused.qd * SECOND_TURNED)
        with pytest.raises(RobolinError, match="of shoulder_lift_joint contradict the positions"):
            data_checks.require_motion_units(ARM, turned)


@pytest.mark.slow
def test_a_joint_that_never_moves_keeps_the_file() -> None:
    """Remarks name the joint and the missing excitation; the fit remains possible."""
    recording = recorded(TRUE, exact=True)
    q, qd, qdd = (np.array(each) for each in (recording.q, recording.qd, recording.qdd))
    q[:, 3], qd[:, 3], qdd[:, 3] = 0.3, 0.0, 0.0
    tau = robolin.inverse(TRUE, q, qd, qdd)

    fit = robolin.identify(ARM, replace(recording, q=q, qd=qd, qdd=qdd, tau=tau))

    assert fit.notes[0] == "joint 'wrist_1_joint' never moves: its friction is not determined"
    assert "identifiable parameter combinations" in fit.notes[1]
    assert bodies_possible(fit)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"what": "everything"}, "what: must be one of"),
        ({"holdout": 1.5}, "between 0 and 0.9, got 1.5"),
        ({"holdout": "end"}, "holdout: must be 'spread' or between 0 and 0.9, got end"),
        ({"fix": {"forearm_link/weight": 1.0}}, "parameter not found"),
        ({"free": ["forearm"]}, "moving link 'forearm' not found"),
        ({"prior": -0.1}, "prior: must be > 0"),
        ({"unloaded": [SHORT]}, "require the payload link"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, object], message: str) -> None:
    """Every option is checked before anything is computed."""
    with pytest.raises(UsageError, match=message):
        robolin.identify(ARM, SHORT, **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_fixed_parameters_keep_their_value() -> None:
    """A fixed mass is exact, and its body is possible."""
    fit = robolin.identify(
        ARM, recorded(TRUE, exact=True), fix={"forearm_link/mass": 2.1}, friction_velocity=V0
    )
    assert fit.value("forearm_link/mass")[0] == 2.1
    assert bodies_possible(fit)


def test_functions_that_read_recordings_give_the_same_bits() -> None:
    """A function is called once, and its rows give the result of the recording to the last bit."""
    calls: list[int] = []

    def read() -> Recording:
        calls.append(1)
        return recorded(TRUE, 8.0, coulomb=3.0, noise=0.01)

    from_rows = robolin.identify(ARM, recorded(TRUE, 8.0, coulomb=3.0, noise=0.01), what="friction")
    from_function = robolin.identify(ARM, read, what="friction")

    assert calls == [1]
    np.testing.assert_array_equal(from_function.values, from_rows.values)
    np.testing.assert_array_equal(from_function.covariance, from_rows.covariance)


@pytest.mark.slow
def test_recordings_of_the_caller_stay_as_they_are() -> None:
    recording = recorded(TRUE, 8.0, coulomb=3.0, noise=0.01)
    tau = recording.tau.copy()
    recording.tau[50, 2] = tau[50, 2] = 1e9

    robolin.identify(ARM, recording)

    np.testing.assert_array_equal(recording.tau, tau)


@pytest.mark.slow
def test_rows_processed_together_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows per step of cleaning, clock and smoothing bound the memory, not the result."""
    # a spike is judged by the noise of its own part, so that there is none
    recording = recorded(TRUE, 30.0, coulomb=3.0)
    flags = {"what": "friction", "width": 0.1, "lag": 0.0}
    at_once = robolin.identify(ARM, recording, **flags)
    monkeypatch.setattr(signal_faults, "_NUMBERS_TOGETHER", 1)
    monkeypatch.setattr(recordings_module, "IN_MEMORY", 1 << 12)
    same = robolin.identify(ARM, recording, **flags)
    np.testing.assert_array_equal(same.values, at_once.values)

    for module in (recordings_module, conditioning, data_checks):
        monkeypatch.setattr(module, "PART_ROWS", 512)
    parts = robolin.identify(ARM, recording, **flags)

    assert parts.settings == at_once.settings
    np.testing.assert_array_equal(parts.time, at_once.time)
    np.testing.assert_allclose(parts.measured, at_once.measured, rtol=1e-11, atol=1e-11)
    allowed = 1e-6 * at_once.deviations + 1e-12
    np.testing.assert_array_less(np.abs(parts.values - at_once.values), allowed)


@pytest.mark.parametrize(("seconds", "blocks"), [(2.0, 1), (8.0, 2), (20.0, 4), (90.0, 4)])
def test_held_out_blocks_are_spread(seconds: float, blocks: int) -> None:
    """Fit and test alternate over the recording, a filter width apart, and 30 % is tested."""
    rows = design_rows.DesignRows(ARM, design_rows.parameter_list(ARM))
    recording = recorded(TRUE, seconds, exact=True)
    assert recording.qd is not None
    assert recording.qdd is not None
    values = (recording.time, recording.q, recording.qd, recording.qdd, recording.tau)
    rows.append(SmoothRows(*values, np.ones(len(recording.time))))

    parts = [*conditioning.held_out_parts(rows, "spread", 0.1)]

    assert [held_out for _, held_out in parts] == [False, True] * blocks
    for (before, _), (after, _) in pairwise(parts):
        gap = recording.time[after.start] - recording.time[before.stop - 1]
        assert 0.1 - 1e-9 <= gap <= 0.11 + 1e-9
    assert parts[0][0].start == 0
    assert parts[-1][0].stop == rows.count
    tested = sum(part.stop - part.start for part, held_out in parts if held_out)
    assert 0.3 * rows.count - 11 * blocks <= tested <= 0.3 * rows.count + 1


def with_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process short recordings as long ones are: in parts, from a file, with samples of rows."""
    for module, name, value in (
        (recordings_module, "PART_ROWS", 512),
        (conditioning, "PART_ROWS", 512),
        (data_checks, "PART_ROWS", 512),
        (recordings_module, "IN_MEMORY", 1 << 12),
        (trial_fits, "_MOST_IN_TRIALS", 4096),
        (trial_fits, "_TRIAL_ROWS", 200),
        (design_rows, "MOST_NUMBERS", 1 << 17),
        (design_rows, "_MOST_KERNELS", 0),
        (stages, "MOST_SHOWN", 200),
    ):
        monkeypatch.setattr(module, name, value)


def stored(seconds: float) -> StoredRecording:
    """A recording with noise and spikes in a file, made in parts of 10 s."""
    store = recordings_module.RowStore(1 + 3 * ARM.n)
    for start in np.arange(0.0, seconds, 10.0):
        part = recorded(TRUE, 10.0, coulomb=3.0, noise=0.01, start=start)
        part.tau[::97] *= 9.0
        store.append(part.time, part.q, part.tau, part.qd)
    return StoredRecording("long", store, ("q", "tau", "qd"), ARM.n, 0, store.rows)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the rows take the same memory, and give the same parameters, more precisely."""
    with_small_parts(monkeypatch)
    peaks, fits = [], []
    for seconds in (30.0, 120.0):
        tracemalloc.start()
        fits.append(robolin.identify(ARM, lambda s=seconds: stored(s), what="links"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0]
    short, long = fits
    assert short.settings["recordings"] == "1, 3000 rows"
    assert long.settings["recordings"] == "1, 12000 rows"
    assert len(long.measured) == len(long.predicted) == len(long.time) <= 200
    near = np.abs(short.values - long.values) < 4.0 * short.deviations + 1e-9
    assert near.mean() > 0.95
    errors = [each.stages[-1].score.mean for each in fits]
    assert errors[1] < 1.1 * errors[0]


def test_progress_is_a_fraction_that_grows() -> None:
    class Listener:
        fractions: ClassVar[list[float]] = []

        def begin(self, task: str) -> None: ...
        def end(self) -> None: ...
        def update(self, fraction: float) -> None:
            self.fractions.append(fraction)

    with listening(Listener()):
        robolin.identify(ARM, recorded(TRUE, 8.0, coulomb=3.0, noise=0.01), what="friction")

    assert Listener.fractions == sorted(Listener.fractions)
    assert Listener.fractions[0] == 0.0
    assert Listener.fractions[-1] == pytest.approx(0.9)
    assert len(set(Listener.fractions)) > 5


def test_joints_with_efforts_of_others_are_named() -> None:
    """Efforts in the wrong order are noted, since no parameters explain them."""
    score = Score(np.array([0.05, 1.09, np.nan]), np.array([0.05, 1.1, 1.0]))
    arm = robolin.load("xarm7", tip="link3")
    (note,) = unexplained_joints(arm, score)
    assert note.startswith("no parameter values explain the efforts of 'joint2': check")
    assert not [*unexplained_joints(arm, score._replace(moving=np.array([0.1, 0.2, np.nan])))]


def test_joints_with_poor_errors_are_named() -> None:
    """Parameters explain a part of their efforts only."""
    arm = robolin.load("xarm7", tip="link3")
    errors = np.array([0.1, 0.5, 0.08])
    (note,) = unexplained_joints(arm, Score(errors, errors))
    assert note.startswith("the fit leaves an error of 50 % for joint 'joint2': check")


@pytest.mark.slow
def test_links_that_contradict_the_file_are_named() -> None:
    """A wrong zero position needs links unlike those of the file; wrong masses of 25 % do not."""
    sound = replace(recorded(TRUE, coulomb=3.0, noise=0.01), qdd=None)
    q = sound.q.copy()
    q[:, 2] += 0.3

    fits = [robolin.identify(ARM, each) for each in (sound, replace(sound, q=q))]

    remarks = [[note for note in fit.notes if "contradicts the values of" in note] for fit in fits]
    assert remarks[0] == []
    assert "forearm_link" in remarks[1][0]


@pytest.mark.parametrize(
    ("errors", "better"),
    [
        ((0.39, 0.21, 0.05), True),
        ((0.39, 0.0500, 0.0509), True),
        ((0.39, 0.02, 0.10), False),
        ((0.05, 0.06, 0.07), False),
        # exact recordings: both errors are round-off
        ((0.39, 2e-15, 1e-9), True),
    ],
)
def test_a_stage_is_better_by_more_than_round_off(errors: tuple[float, ...], better: bool) -> None:
    """The last stage counts as the best one within 2 %, or if its error is round-off."""
    stages = [SimpleNamespace(score=SimpleNamespace(headline=each)) for each in errors]
    best = min(stages, key=lambda stage: stage.score.headline)
    result = SimpleNamespace(stages=stages, best_stage=best)
    assert robolin.Identification.improves.fget(result) is better  # type: ignore[attr-defined]
