"""Residuals of measured torques, against NumPy on all rows together."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import robolin
from robolin.analysis.residuals import ResidualSums, model_terms
from robolin.errors import RobolinError

ARM = robolin.load("panda")
ROWS = 500
RNG = np.random.default_rng(2)
MOTION = RNG.uniform(-1, 1, (3, ROWS, ARM.n))


@cache
def model_torques() -> np.ndarray:
    """Torques of the model, not computed when the module is imported: that compiles a kernel."""
    return robolin.inverse(ARM, *MOTION)


@cache
def recorded_torques() -> np.ndarray:
    """Offsets are large compared with the variation, so that sums of squares would cancel."""
    noise = np.random.default_rng(3).normal(size=(ROWS, ARM.n))
    return 1e4 + model_torques() + noise + np.arange(ARM.n)


def test_residuals_are_the_statistics_of_all_rows():
    """RMS, bias, largest, correlation and explained share are those of NumPy."""
    time = np.arange(ROWS) * 0.01
    residuals = robolin.residuals(ARM, *MOTION, recorded_torques(), time=time)
    residual = recorded_torques() - model_torques()
    assert residuals.rows == ROWS
    for i, joint in enumerate(residuals.joints):
        assert joint.joint == ARM.joint_names[i]
        assert joint.unit == "N·m"
        row = int(np.abs(residual[:, i]).argmax())
        assert (joint.row, joint.time, joint.largest) == (row, time[row], residual[row, i])
        share = 1.0 - residual[:, i].var() / recorded_torques()[:, i].var()
        # sums of 500 numbers relative to the first row
        expected = {
            "measured": np.sqrt((recorded_torques()[:, i] ** 2).mean()),
            "rms": np.sqrt((residual[:, i] ** 2).mean()),
            "bias": residual[:, i].mean(),
            "correlation": np.corrcoef(recorded_torques()[:, i], model_torques()[:, i])[0, 1],
            "explained": share,
        }
        for name, value in expected.items():
            assert getattr(joint, name) == pytest.approx(value, rel=1e-11), name


def test_blocks_of_any_size_have_the_same_bits():
    """The statistics do not depend on the number of rows per block."""
    results = set()
    for size in (1, 7, 499, ROWS):
        sums = ResidualSums(ARM)
        for first in range(0, ROWS, size):
            part = slice(first, first + size)
            sums.add(recorded_torques()[part], model_torques()[part], np.arange(ROWS)[part])
        results.add(repr(sums.result()))
    assert len(results) == 1


def test_rows_with_nan_are_left_out():
    """A row with NaN counts in no statistic, but in the numbers of the rows."""
    measured = recorded_torques().copy()
    measured[::2, 0] = np.nan
    sums, half = ResidualSums(ARM), ResidualSums(ARM)
    sums.add(measured, model_torques())
    half.add(measured[1::2], model_torques()[1::2])
    assert sums.result().rows == ROWS // 2
    for one, other in zip(sums.result().joints, half.result().joints, strict=True):
        assert one.row == 2 * other.row + 1
        assert one.rms == other.rms


def test_constant_torques_explain_nothing():
    """Shares and correlations of constant torques are undefined, not NaN."""
    still = robolin.residuals(ARM, np.zeros((3, 7)), 0.0, 0.0, np.ones((3, 7)))
    assert {(each.correlation, each.explained) for each in still.joints} == {(None, None)}
    assert still.verdict == "measured efforts are constant in 3 rows"


def test_the_verdict_has_no_negative_shares():
    """A model that is worse than a constant explains none of the variance."""
    wrong = recorded_torques() - 2.0 * model_torques()
    none = robolin.residuals(ARM, *MOTION, wrong).verdict
    assert none.startswith("the model explains none of the variance")
    wrong[:, 1] = model_torques()[:, 1]
    assert "explains none (panda_joint" in robolin.residuals(ARM, *MOTION, wrong).verdict
    assert "to 100.0 % (panda_joint2)" in robolin.residuals(ARM, *MOTION, wrong).verdict


def test_wrong_shapes_are_rejected():
    """Times need one value per row, and rows without numbers have no residual."""
    with pytest.raises(RobolinError, match="time"):
        robolin.residuals(ARM, *MOTION, recorded_torques(), time=[0.0, 1.0])
    with pytest.raises(RobolinError, match="no row"):
        ResidualSums(ARM).result()


def test_terms_of_the_model_are_named():
    """The text states damping, friction, armature and payload of the model."""
    assert "damping applied: 0.003 on all 7 joints" in model_terms(ARM)
    assert "friction none in the robot file" in model_terms(ARM)
    assert "damping applied" not in model_terms(robolin.load("panda", damping=False))


def test_torques_that_overflow_are_rejected():
    """An overflow is reported with its joint; tiny variances have finite shares."""
    large = recorded_torques().copy()
    large[3, 1] = 1e200
    with pytest.raises(RobolinError, match=r"'panda_joint2': .* the largest residual is 1e\+200"):
        robolin.residuals(ARM, *MOTION, large)
    large[3, 1] = 1e140
    assert abs(robolin.residuals(ARM, *MOTION, large).joints[1].correlation) < 1.0
    sums, rows = ResidualSums(ARM), np.arange(8.0)[:, None] * np.ones(ARM.n)
    sums.add(1e-155 * rows, rows)
    assert {each.explained for each in sums.result().joints} == {None}
    assert sums.result().joints[0].correlation == pytest.approx(1.0, rel=1e-6)
