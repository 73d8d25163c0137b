"""Programs in single precision: the choice of the inertial frame, and the stated error."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.codegen import functions as floats
from robolin.codegen.c_statements import literal
from robolin.codegen.functions import (
    MEASURED_STATES,
    QUESTIONS,
    ChosenQuestion,
    chosen_question,
    max_float_error,
    random_states,
    valid_states,
)
from robolin.core.arm import Arm
from robolin.dynamics.algebra.trigonometry import DOUBLE, FLOAT
from robolin.engine.run import run_on
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import evaluate
from tests.codegen.compilers import GCC
from tests.robots import arm_name, random_arm, with_follower, with_wrench


def questions_to(arm: Arm) -> list[ChosenQuestion]:
    """Every question that has a result on the arm."""
    questions = []
    for verb in QUESTIONS:
        try:
            questions.append(chosen_question(arm, verb, frame=arm.links[-1].name))
        except RobolinError:
            continue
    return questions


@pytest.mark.parametrize(
    "arm",
    [
        with_wrench(with_follower(random_arm(51, 4, tree=True, damping=True)), "world"),
        robolin.load("cart-pole"),
        robolin.load("four-bar"),
    ],
    ids=arm_name,
)
def test_the_link_that_carries_the_inertial_frame_changes_no_result(arm: Arm) -> None:
    """Every verb, wherever the frame sits: some 1e-15 are seen, 1e-11 is far below any mistake."""
    questions = questions_to(arm)
    assert len(questions) > 8
    for question in questions:
        algorithm = question.algorithm
        inputs = random_states(arm, algorithm.needs, 3, DOUBLE)
        still, seated = (
            run_on(replace(question.parameters, seat=seat), algorithm.run, algorithm.gives, inputs)
            for seat in (0, 1)
        )
        for name, expected in still.arrays.items():
            known = np.isfinite(expected)
            gap = np.abs(seated.arrays[name] - expected)[known].max(initial=0.0)
            # a millionth where all entries are zero but for rounding
            size = max(1e-6, np.abs(expected[known]).max(initial=0.0))
            assert gap <= 1e-11 * size, (question.verb, name)


def test_a_light_wrist_keeps_its_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is a few units of a float's last place; from the base's frame it was a thousand."""
    question = chosen_question(robolin.load("j2s6s200"), "forward")
    states = valid_states(question, "auto", 300, FLOAT)
    # 2.2e-6 and 2.4e-4 are seen
    assert max_float_error(question, *states) < 1e-5
    monkeypatch.setattr(floats, "with_frame_at_lightest_end", lambda parameters: parameters)
    assert max_float_error(question, *states) > 1e-4


def test_absolute_errors_remain_where_a_result_vanishes() -> None:
    """The torque derivatives of two rods vanish as they straighten; the absolute errors do not.

    The largest entry of ∂τ/∂q̇ is m l l/2 sin q₂ times 2 q̇₂ = 1.25 sin q₂ here.  Relative to
    1.25 the error is 0.8 units in the last place of a float, and 4 are allowed; relative to the
    vanishing entry it is unbounded.
    """
    arm = robolin.load("two-link")
    question = chosen_question(arm, "linearize-inverse")
    bends = np.array([np.pi / 2, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5], dtype=np.float32).astype(float)
    moving = np.tile([0.75, -1.25], (len(bends), 1))
    inputs = {"q": np.column_stack([np.full(len(bends), 0.25), bends]), "qd": moving, "qdd": moving}
    expected = evaluate(arm, "linearize-inverse", inputs, engine="python")["dtau_dqd"]
    dtau_dqd = floats.emulate_float32(question, inputs)["dtau_dqd"]
    sizes, errors = (np.abs(x).max(axis=(1, 2)) for x in (expected, dtau_dqd - expected))
    # some tens of operations on numbers of this size
    np.testing.assert_allclose(sizes, 1.25 * np.sin(bends), rtol=0.0, atol=1e-14)
    assert errors.max() < 4.0 * FLOAT.ulp * 1.25
    assert errors[-1] > 1e-4 * sizes[-1]


@pytest.mark.slow
def test_emulated_floats_equal_the_c_program(tmp_path: Path) -> None:
    """With loops, the emulated numbers and those of the program are bit-identical."""
    arm, folder = robolin.load("cart-pole", friction_velocity=0.1), tmp_path / "made"
    robolin.generate(arm, ["diagonalize"], folder, real="float", layout="loops", prefix="arm")
    GCC.compile(folder, "arm.c", into="lib.so", flags=("-shared", "-fPIC", "-O0"))
    call = ctypes.CDLL(str(folder / "lib.so")).arm_diagonalize
    question = chosen_question(arm, "diagonalize")
    doubles, _ = valid_states(question, "auto", 50, FLOAT)
    expected = floats.emulate_float32(question, doubles)
    for row in range(50):
        inputs = [values[row].astype(np.float32) for values in doubles.values()]
        computed = [np.empty(values.shape[1:], np.float32) for values in expected.values()]
        assert call(*(ctypes.c_void_p(each.ctypes.data) for each in (*inputs, *computed))) == 0
        for values, each in zip(expected.values(), computed, strict=True):
            assert values[row].astype(np.float32).tobytes() == each.tobytes(), row


def test_the_header_states_the_error(tmp_path: Path) -> None:
    """The header states the measured error, the number of states, and the inertial frame."""
    arm = robolin.load("two-link")
    robolin.generate(arm, ["forward"], tmp_path / "made", real="float")
    header = (tmp_path / "made" / "two_link.h").read_text()
    question = chosen_question(arm, "forward")
    loss = max_float_error(question, *valid_states(question, "auto", MEASURED_STATES, FLOAT))
    (stated,) = re.findall(r"#define TWO_LINK_FORWARD_ERROR (\S+)\n", header)
    assert stated == repr(float(f"{loss:.1e}"))
    assert f"{MEASURED_STATES} random states" in re.sub(r"\s[\s*]*", " ", header)
    assert "computed relative to the position of link 'lower'" in header


def test_singular_states_are_detected_in_floats() -> None:
    """For an exactly singular wrist, few singular states are missed and few others rejected."""
    arm = robolin.load("ur5")
    question = chosen_question(arm, "operational-space", frame=arm.links[-1].name)
    inputs = random_states(arm, question.algorithm.needs, 200, FLOAT)
    q = inputs["q"].copy()
    q[:, 4] = 0.0
    rejected = [
        np.isnan(floats.emulate_float32(question, {**inputs, "q": each})["operational_inertia"])
        .any(axis=(1, 2))
        .mean()
        for each in (q, inputs["q"])
    ]
    # measured: 0.93 and 0.003; with the threshold of double precision it would be 0.57
    assert rejected[0] > 0.8
    assert rejected[1] < 0.02


def test_constants_are_numbers_that_floats_have() -> None:
    """Rounded once, to as few digits as needed; too large constants are rejected."""
    assert literal(0.1, FLOAT) == "0.1f"
    assert literal(1e-50, FLOAT) == "0.0f"
    assert literal(1.0 / 3.0, FLOAT) == "0.33333334f"
    assert literal(1.0 / 3.0, DOUBLE) == "0.3333333333333333"
    with pytest.raises(RobolinError, match="is too large for single precision"):
        literal(1e39, FLOAT)


def test_redundant_loop_equations_are_rejected_in_floats(tmp_path: Path) -> None:
    """Which equations of a planar loop repeat others is a question of more digits than seven."""
    arm = robolin.load("four-bar")
    with pytest.raises(RobolinError, match="too few states have a result in single precision"):
        robolin.generate(arm, ["forward-closed"], tmp_path / "made", real="float")
    assert not (tmp_path / "made").exists()
