"""Invalid arguments of models and controllers are reported with a hint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin import Question, States
from robolin.queries.feedback_file import model_differences
from tests.cli.command import ROOT, run_ok
from tests.cli.command import robolin as command_line

USAGE, REJECTED, UNREADABLE = 2, 3, 4

# command line, exit code, part of the error, part of the hint
WRONG = [
    (
        "state-space two-link --actuated elbwo",
        USAGE,
        "--actuated: joint 'elbwo' not found",
        "did you mean 'elbow'?",
    ),
    (
        "state-space two-link --passive sholder",
        USAGE,
        "--passive: joint 'sholder' not found",
        "did you mean 'shoulder'?",
    ),
    (
        "poles two-link --trim --passive elbow --keep elbwo",
        USAGE,
        "--keep: joint 'elbwo' not found",
        "'elbow'",
    ),
    (
        "state-space two-link --outputs tool9",
        USAGE,
        "--outputs: joint or frame 'tool9' not found",
        "choose one of 'shoulder', 'tau', 'tip', 'elbow', 'lower', 'q', 'qd', 'qdd' and 2 more",
    ),
    (
        "state-space two-link --outputs elbow",
        USAGE,
        "--outputs: 'elbow' requires a quantity",
        "choose one of position, velocity, acceleration, effort",
    ),
    (
        "lqr two-link --integral nose",
        USAGE,
        "--integral: output 'nose' not found",
        "one of 'elbow/position', 'shoulder/position', 'shoulder/velocity', 'elbow/velocity'",
    ),
    (
        "lqr two-link --weight nose=1",
        USAGE,
        "--weight: state 'nose' not found",
        "use q, qd, JOINT/q or JOINT/qd",
    ),
    ("lqr two-link --effort nose=1", USAGE, "--effort: actuated joint 'nose' not found", "'elbow'"),
    (
        "simulate two-link --duration 1 --disturb nose=1",
        USAGE,
        "--disturb=nose=1: 'two-link' has no movable joint 'nose'",
        "'elbow'",
    ),
    (
        "state-space two-link --passive elbow --q 0.3,0.2",
        REJECTED,
        "4.305 N·m",
        "use trim (--trim) to find an equilibrium nearby, or --actuated all",
    ),
    (
        "state-space two-link --passive shoulder,elbow",
        USAGE,
        "actuated: no joint is actuated",
        "name an actuated joint: --actuated JOINT, or --actuated all",
    ),
    (
        "poles two-link --passive shoulder --trim --keep shoulder,elbow",
        REJECTED,
        "no equilibrium found near the initial pose: the best pose requires",
        "use another initial pose, fix fewer joints, or actuate more joints",
    ),
    (
        "lqr cart-pole --actuated pivot",
        REJECTED,
        "the model is not stabilizable: the mode with pole 0 (joints 'slide', 'pivot') is "
        "uncontrollable",
        "actuate more joints, or linearize at another operating point",
    ),
    (
        "lqr two-link --gravity 0,0,0 --weight q=0,qd=0",
        REJECTED,
        "these weights: the mode with pole 0 (joint 'elbow') is marginally stable and has no "
        "weight",
        "set a weight > 0 for the positions of these joints",
    ),
    (
        "lqr two-link --weight q=-1",
        USAGE,
        "the weight of 'q' must be ≥ 0, got -1",
        "use weights ≥ 0",
    ),
    (
        "lqr two-link --weight elbow/qd=-2",
        USAGE,
        "the weight of 'elbow' must be ≥ 0, got -2",
        "use weights ≥ 0",
    ),
    (
        "lqr two-link --weight q=1,q=2",
        USAGE,
        "--weight=q=1,q=2: 'q' is given twice",
        "keep only one of the values",
    ),
    ("lqr two-link --weight q=much", USAGE, "--weight=q=much: 'much' is not a number", "0.5"),
    (
        "lqr two-link --effort 0",
        USAGE,
        "--effort: must be positive definite; its smallest eigenvalue is 0",
        "set a weight > 0 for every torque",
    ),
    ("lqr two-link --effort -1", USAGE, "the weight of 'shoulder' must be ≥", "use weights ≥ 0"),
    ("lqr two-link --effort 1,2", USAGE, "--effort=1,2: '1,2' is not a number", "0.5"),
    (
        "lqr two-link --bryson",
        REJECTED,
        "Bryson's rule requires the position limit of joint 'shoulder', which is not set",
        "add the limit to the robot file, or set the weights",
    ),
    ("state-space two-link --dt 0", USAGE, "must be > 0 s", "--dt 0.01"),
    ("poles two-link --dt -0.01", USAGE, "must be > 0 s", "--dt 0.01"),
    ("lqr two-link --dt nan", USAGE, "--dt=nan: 'nan' is not a number", "0.5"),
    (
        "state-space two-link --discretize foh",
        USAGE,
        "--discretize: has no effect without --dt",
        "--dt 0.01",
    ),
    (
        "poles two-link --actuated elbow --passive elbow",
        USAGE,
        "--actuated: cannot be used with --passive",
        "set either the actuated or the passive joints",
    ),
    (
        "state-space two-link --only E",
        USAGE,
        "--only=E: unknown matrix 'E'",
        "choose one of 'A', 'B', 'C', 'D', 'drift', 'y'",
    ),
    (
        "lqr two-link --time-varying",
        USAGE,
        "--time-varying: requires --trajectory",
        "add --trajectory FILE",
    ),
    (
        "lqr two-link --time-varying --trajectory a.csv",
        USAGE,
        "--time-varying: requires --dt",
        "add the time step of the rows in s, for example --dt 0.01",
    ),
    (
        "response two-link",
        USAGE,
        "robolin response: requires --frequencies or --duration",
        "add --frequencies 0.1:100:200, or --duration 2",
    ),
    (
        "response two-link --frequencies 1:0.1:5",
        USAGE,
        "--frequencies=1:0.1:5: frequencies must be > 0 and increasing",
        "write FIRST:LAST:COUNT (logarithmic) or a comma-separated list, in rad/s",
    ),
    ("response two-link --duration 0", USAGE, "must be > 0 s", "--duration"),
    (
        "simulate two-link --duration 1 --control pd --follow none.csv",
        UNREADABLE,
        "no such file",
        "path",
    ),
    ("simulate two-link --duration 1 --feedback none.npz", UNREADABLE, "no such file", "path"),
    (
        "simulate two-link --duration 1 --disturb 1,2@3:1",
        USAGE,
        "--disturb=1,2@3:1: the times must satisfy 0 ≤ FROM < TO",
        "@0.5:0.7",
    ),
    (
        "simulate two-link --duration 1 --disturb 1,2@3",
        USAGE,
        "--disturb=1,2@3: the time must have the form FROM:TO",
        "@0.5:0.7",
    ),
]


@pytest.mark.parametrize("command, code, message, hint_part", WRONG, ids=[row[0] for row in WRONG])
def test_invalid_arguments_are_reported(
    command: str, code: int, message: str, hint_part: str
) -> None:
    """Invalid arguments give their exit code, the error and a hint; never a traceback."""
    ran = command_line(*command.split())
    error, _, hint = ran.err.rpartition("hint: ")
    assert ran.code == code, ran
    assert message in error
    assert hint_part in hint


TWO = robolin.load("two-link")
MODEL = robolin.state_space(TWO, [0.3, -0.7])
ROW = robolin.tvlqr(robolin.state_space(TWO, np.zeros((3, 2))), dt=0.01)
FALL = robolin.simulate(TWO, 0.0, duration=0.02, dt=0.01)
WRONG_CALLS = [
    (lambda: robolin.state_space(TWO, 0.0, actuated="elbwo"), "actuated: joint 'elbwo' not found"),
    (lambda: robolin.state_space(TWO, [0.3, 0.2], passive="elbow"), "4.305 N·m"),
    (lambda: robolin.state_space(TWO, 0.0, dt=0.0), "dt: must be > 0, got 0.0"),
    (lambda: robolin.state_space(TWO, 0.0, dt=-0.01), "dt: must be > 0, got -0.01"),
    (lambda: MODEL.discretize(float("nan")), "dt: must be > 0, got nan"),
    (lambda: MODEL.discretize(0.01, "zho"), "method: unknown discretization 'zho'"),
    (lambda: robolin.lqr(MODEL, np.eye(3)), "got (3, 3)"),
    (lambda: robolin.lqr(MODEL, [1.0, 1.0]), "got (2,)"),
    (
        lambda: robolin.lqr(MODEL, -np.eye(4)),
        "Q: must be positive semidefinite; its smallest eigenvalue is -1",
    ),
    (lambda: robolin.lqr(MODEL, np.triu(np.ones((4, 4)))), "Q: must be symmetric"),
    (lambda: robolin.lqr(MODEL, R=np.eye(3)), "got (3, 3)"),
    (
        lambda: robolin.lqr(MODEL, R=0.0),
        "R: must be positive definite; its smallest eigenvalue is 0",
    ),
    (
        lambda: robolin.lqr(MODEL, N=np.zeros((2, 4))),
        "N: must be finite and of shape (4, 2), got (2, 4)",
    ),
    (
        lambda: robolin.lqr(MODEL, N=10.0 * np.ones((4, 2))),
        "[[Q, N], [Nᵀ, R]]: must be positive semidefinite; its smallest eigenvalue is -27.3",
    ),
    (
        lambda: robolin.tvlqr(MODEL, dt=0.01),
        "a trajectory requires a batch of models with one axis, got ()",
    ),
    (
        lambda: robolin.kalman(MODEL, measurement=-1.0),
        "measurement: must be positive definite; its smallest eigenvalue is -1",
    ),
    (lambda: MODEL.poles().joints(4), "mode (4,) not found"),
    (lambda: MODEL.controllability().joints(), "mode () not found"),
    (lambda: ROW.model.poles().joints(2), "mode (2,) not found"),
    (lambda: MODEL.step_response("1"), "duration: must be > 0, got '1'"),
    (lambda: MODEL.frequency_response(1.0), "pass one or more frequencies in rad/s"),
    (lambda: robolin.lqr(MODEL).cost([1.0, 2.0]), "got shape (2,)"),
    (lambda: robolin.lqr(MODEL).motion_cost(3), "3 is not a simulated trajectory"),
    (
        lambda: robolin.lqr(MODEL, integral="elbow/position").motion_cost(FALL),
        "the trajectory has 2 joints and 0 integral states, but the regulator has 2 and 1",
    ),
    (lambda: ROW.motion_cost(FALL, float("nan")), "start: must be a time in s, got nan"),
    (lambda: ROW.feedback("now"), "start: must be a time in s, got 'now'"),
]


@pytest.mark.parametrize("call, message", WRONG_CALLS, ids=[row[1] for row in WRONG_CALLS])
def test_invalid_calls_are_rejected(call: object, message: str) -> None:
    """In Python too: joints, motors, sample times, weights of wrong sign or shape."""
    assert callable(call)
    with pytest.raises(robolin.RobolinError) as caught:
        call()
    assert message in str(caught.value)


def test_gains_of_another_arm_are_rejected(tmp_path: Path) -> None:
    """Other joints, parameters and loads are rejected and named; the flag allows them."""
    gains, model = tmp_path / "gains.npz", tmp_path / "model.npz"
    run_ok("lqr", "two-link", "-o", gains)
    run_ok("state-space", "two-link", "-o", model)
    for arm, path, message in (
        (
            ("cart-pole",),
            gains,
            "the gains are for another robot, 'two-link' with the joints shoulder, elbow",
        ),
        (("acrobot",), gains, "another robot, 'two-link': "),
        (("acrobot",), gains, "links upper com: ("),
        (
            ("two-link", "--payload", "lower:0.1"),
            gains,
            "the gains are for another robot: payload: none there, 0.1 kg on link 'lower' here",
        ),
        (
            ("two-link", "--gravity", "0,0,0"),
            gains,
            "for another robot: gravity: 0, -9.81, 0 m/s² in the root link's axes there, none here",
        ),
        (
            ("two-link",),
            model,
            "model.npz: must be a result of lqr or optimize, got a result of state-space",
        ),
    ):
        ran = command_line("simulate", *arm, "--feedback", path, "--duration", "0.002")
        assert ran.code == REJECTED
        assert message in ran.err
    insisted = ("--feedback", gains, "--duration", "0.002", "--allow-model-mismatch")
    ran = run_ok("simulate", "two-link", "--payload", "lower:0.1", *insisted)
    assert "payload: none there" in ran.err
    assert command_line("simulate", "cart-pole", *insisted).code == REJECTED


def test_default_gravity_equals_explicit_gravity(tmp_path: Path) -> None:
    """Gains for a file without gravity fit one with -9.81, and none without gravity."""
    text = (ROOT / "models" / "two-link.yaml").read_text("utf-8")
    assert text.count("gravity: [0, -9.81, 0]") == 1
    arms = []
    for line in ("", "gravity: [0, 0, -9.81]", "gravity: [0, 0, 0]"):
        path = tmp_path / "arm.yaml"
        path.write_text(text.replace("gravity: [0, -9.81, 0]", line), "utf-8")
        arms.append(robolin.load(path))
    silent, standard, weightless = arms
    result = robolin.answer(silent, Question("mass-matrix"))
    assert model_differences(standard, result) == []
    assert "arm gravity: (0, 0, -9.81) there, (0, 0, 0) here" in model_differences(
        weightless, result
    )


def test_gains_without_effect_are_rejected(tmp_path: Path) -> None:
    """Rows without gains, and times beyond the simulation, are reported."""
    way, gains = tmp_path / "way.csv", tmp_path / "gains.npz"
    header = "time,shoulder/position,elbow/position\n"
    run = ("simulate", "two-link", "--duration", "1")
    for rows, message in (
        ("5,0.1,0.2\n6,0.1,0.2\n", "the file covers 5 s to 6 s"),
        ("0,0.1,0.2\n1,nan,0.2\n2,nan,0.2\n", "gains are missing in row 2, and 1 other rows"),
    ):
        way.write_text(header + rows, "utf-8")
        run_ok("lqr", "two-link", "--trajectory", way, "--on-bad-row", "nan", "-o", gains)
        ran = command_line(*run, "--feedback", gains)
        assert ran.code == REJECTED
        assert f"gains.npz: {message}" in ran.err
        assert "hint: " in ran.err
    way.write_text(f"{header}0,0.1,0.2\n0.5,0.1,0.2\n", "utf-8")
    ran = run_ok(*run, "--control", "pd", "--follow", way, "-o", tmp_path / "motion.csv")
    assert "the file covers 0 s to 0.5 s; at other times, the nearest row is used" in ran.err


def test_gains_with_other_states_are_rejected(tmp_path: Path) -> None:
    """Gains of a model by foh or tustin are no feedback of positions and velocities."""
    gains = tmp_path / "gains.npz"
    for method in ("foh", "tustin"):
        run_ok("lqr", "two-link", "--dt", "0.01", "--discretize", method, "-o", gains)
        ran = command_line("simulate", "two-link", "--feedback", gains, "--duration", "1")
        assert ran.code == REJECTED
        assert f"--discretize {method}" in ran.err


@pytest.mark.parametrize("verb", ["state-space", "poles", "lqr"])
def test_rows_without_a_result_are_nan(verb: str, tmp_path: Path) -> None:
    """With nan, rows that passive joints cannot hold are NaN, also where a whole part of them is.

    The others are what they are without them, and whole numbers are real ones in all parts.
    """
    good = np.array([np.pi, 0.0])
    q = np.array([good + 0.1] * 4 + [good, good + 0.1, good, good + 0.2] + [good + 0.1] * 3)
    bad = np.any(q != good, axis=1)
    arm, question = robolin.load("acrobot"), Question(verb, passive="shoulder")
    with pytest.warns(UserWarning, match="9 rows without a result"):
        result = robolin.answer(arm, question, States(q=q, on_bad_row="nan"), chunk_rows=2)
    alone = robolin.answer(arm, question, States(q=q[~bad]))
    for array, other in zip(result.arrays, alone.arrays, strict=True):
        assert array.values.dtype.kind in "fc"
        assert np.isnan(array.values[bad].real).all()
        assert array.values.dtype.kind == "f" or np.isnan(array.values[bad].imag).all()
        assert np.array_equal(array.values[~bad], other.values)
    path = tmp_path / "rows.npz"
    with robolin.answer_stream(
        arm, question, States(q=q, on_bad_row="nan"), chunk_rows=2, notify=lambda *_: None
    ) as stream:
        from robolin.io.formats.npz_writer import write_npz

        write_npz(stream, path)
    stored = robolin.read_result(path)
    assert all(np.isnan(values[bad]).all() for values in stored.arrays.values())


def test_a_trajectory_without_any_result_is_an_error() -> None:
    """If no row has a result, there is nothing to write."""
    states = States(q=np.full((5, 2), 1.0), on_bad_row="nan")
    question = Question("state-space", passive="shoulder")
    with pytest.raises(robolin.RobolinError, match="arrays: no row has a result"):
        robolin.answer(robolin.load("acrobot"), question, states)


def test_many_rows_without_a_result_are_found_in_few_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows that a passive joint cannot hold are separated in one pass, not one by one."""
    from robolin.queries.linear_model_answer import LinearModelSpec

    looks = []
    ask = LinearModelSpec.model

    def counted(self: LinearModelSpec, *args: object) -> object:
        looks.append(args)
        return ask(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(LinearModelSpec, "model", counted)
    q = np.tile([np.pi, 0.0], (100, 1))
    q[::3] += 0.1
    states = States(q=q, on_bad_row="nan")
    with pytest.warns(UserWarning, match="34 rows"):
        robolin.answer(robolin.load("acrobot"), Question("state-space", passive="shoulder"), states)
    assert len(looks) <= 2
