"""Arguments of `robolin.answer` and similar functions: invalid ones are usage errors."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin

ARM = robolin.load("two-link")


def test_a_changed_arm_is_not_recorded_as_the_original(tmp_path: Path) -> None:
    """An arm made by `replace` has no file, so its results cannot be recomputed."""
    arm = robolin.load("two-link")
    weightless = replace(arm, gravity=(0.0, 0.0, 0.0))
    result = robolin.answer(weightless, "inverse")

    assert arm.loaded_with is not None
    assert weightless.loaded_with is None
    with pytest.raises(robolin.RobolinError):
        robolin.record(result, tmp_path / "r.npz")
    assert not (tmp_path / "r.npz").exists()


def test_a_chosen_frame_is_recorded_and_checked(tmp_path: Path) -> None:
    """Choosing a frame makes another arm, but the question contains the choice."""
    question = robolin.Question("jacobian", frame="tip")
    robolin.record(robolin.answer(robolin.load("two-link"), question), tmp_path / "j.npz")
    assert robolin.check(tmp_path / "j.npz").status == "same"


@pytest.mark.parametrize("form", ["npz", "csv", "parquet"])
def test_failed_rows_are_recorded_from_python(tmp_path: Path, form: str) -> None:
    """Requested NaN rows are stored as the command stores them, and found the same."""
    motion = tmp_path / "motion.csv"
    motion.write_text("shoulder/position,elbow/position\n0.1,0.2\nnan,0.3\n")
    states = robolin.States(trajectory=motion, on_bad_row="nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = robolin.answer(robolin.load("two-link"), "inverse", states)
        robolin.record(result, tmp_path / f"r.{form}")

    assert np.isnan(result["tau"][1]).all()
    assert robolin.check(tmp_path / f"r.{form}").status == "same"
    with pytest.raises(robolin.UsageError, match="cannot represent NaN"):
        robolin.write(result, tmp_path / "r.json")


TWO_LINK = robolin.load("two-link")


@pytest.mark.parametrize("setting", [{"chunk_rows": -1}, {"chunk_rows": 1.5}, {"jobs": 0}])
def test_invalid_settings_are_rejected(setting: dict[str, int]) -> None:
    """A number of rows or threads is an integer above 0."""
    with pytest.raises(robolin.UsageError):
        robolin.answer(robolin.load("two-link"), "inverse", **setting)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: robolin.Question(3),
        lambda: robolin.Question(["inverse"]),
        lambda: robolin.answer(TWO_LINK, robolin.Question("linearize-forward", perturb=5)),
        lambda: robolin.Question("linearize-forward", perturb=object()),
        lambda: robolin.Question("mass-matrix", invers=True),
        lambda: robolin.States(trajectory=5),
        lambda: robolin.States(qdot=[0, 0]),
        lambda: robolin.answer(robolin.load("two-link"), "inverse", robolin.States(seed=3)),
        lambda: robolin.record(3, "x.npz"),
        lambda: robolin.simulate(ARM, [0, 0], duration="x"),
        lambda: robolin.simulate(ARM, [0, 0], duration=None),
        lambda: robolin.simulate(ARM, [0, 0], duration=1, dt=[0.1]),
        lambda: robolin.verify(ARM, samples="x"),
        lambda: robolin.verify(ARM, samples=1.5),
        lambda: robolin.report(ARM, states="home"),
        lambda: robolin.state_space(ARM, [0, 0], actuated=3),
        lambda: robolin.state_space(ARM, [0, 0], outputs=[1]),
        lambda: robolin.ik(ARM, [0.4, 0, 0.5]),
        lambda: robolin.excite(ARM, duration="x"),
        lambda: robolin.receding(ARM, [1, 1], horizon="x"),
        lambda: robolin.optimize(ARM, [1, 1], duration=1, limit_scale="x"),
        lambda: robolin.MomentumObserver(ARM, dt="x"),
        lambda: robolin.hessian_inverse("two-link", [0, 0], weights=[1, 1]),
        lambda: robolin.identifiable("two-link", [0, 0]),
    ],
)
def test_invalid_arguments_are_usage_errors(wrong: object) -> None:
    """Invalid arguments give an error message without a traceback of robolin."""
    assert callable(wrong)
    with pytest.raises(robolin.UsageError):
        wrong()


def test_questions_do_not_change() -> None:
    """A question cannot be changed afterwards, and equal questions have equal hashes."""
    question = robolin.Question("mass-matrix", inverse=True)
    question.options["factor"] = True

    assert question.options == {"inverse": True}
    assert hash(question) == hash(robolin.Question("mass-matrix", inverse=True))


def test_a_flag_with_an_optional_value_is_true_in_python() -> None:
    """`--tip-acceleration` without a frame uses the only tip, and so does True."""
    arm = robolin.load("two-link")
    bare = robolin.answer(arm, robolin.Question("forward", tip_acceleration=True))
    named = robolin.answer(arm, robolin.Question("forward", tip_acceleration="tip"))
    np.testing.assert_array_equal(bare["tip_acceleration"], named["tip_acceleration"])


def test_warnings_point_at_the_caller(tmp_path: Path) -> None:
    """A warning names the line of the user's program, not one of the library."""
    motion = tmp_path / "motion.csv"
    motion.write_text("shoulder/position,elbow/position\n0.1,0.2\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robolin.answer(robolin.load("two-link"), "inverse", robolin.States(trajectory=motion))
    assert any("velocity" in str(warning.message) for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}


def test_shapes_that_differ_are_named_without_defaults() -> None:
    """An error about q and qd does not name qdd, which the caller did not set."""
    arm = robolin.load("two-link")
    with pytest.raises(
        robolin.RobolinError, match="the shapes cannot be broadcast together:"
    ) as caught:
        robolin.inverse(arm, np.zeros((4, 2)), np.zeros((3, 2)))
    assert caught.value.message.endswith(": q (4, 2), qd (3, 2)")
