"""Linear models, poles, regulators and responses on the command line and by `answer`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin import Question, States
from robolin.queries.verbs import VERBS
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok
from tests.control.octave import octave

UPRIGHT = ("--q", "180deg,0", "--passive", "shoulder")
_TWO, WORDS = ("shoulder", "elbow"), ("position", "velocity", "acceleration")
FORMATS = ("npz", "csv", "json", "parquet", "mat")


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A motion of the two-link arm, 0.01 s from row to row."""
    t = np.arange(30) * 0.01
    q, qd = np.stack([np.sin(t), np.cos(t)], 1), np.stack([np.cos(t), -np.sin(t)], 1)
    words = [f"{joint}/{word}" for word in WORDS for joint in _TWO]
    path = tmp_path_factory.mktemp("motion") / "motion.csv"
    table = np.column_stack([t, q, qd, -q])
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *words]), comments="")
    return path


def test_the_command_line_gives_the_model_that_python_gives(tmp_path: Path) -> None:
    """Matrices, operating point and names of `state-space` are those of state_space."""
    path = tmp_path / "model.npz"
    run_ok("state-space", "acrobot", *UPRIGHT, "--outputs", "q,qdd", "--dt", "0.01", "-o", path)
    arm = robolin.load("acrobot")
    model = robolin.state_space(
        arm, [np.pi, 0.0], passive="shoulder", outputs=("q", "qdd"), dt=0.01
    )
    stored = robolin.read_result(path)

    for name in ("A", "B", "C", "D", "drift", "y", "q", "qd", "qdd", "tau"):
        assert np.array_equal(stored.arrays[name], getattr(model, name)), name
    axes = stored.meta["arrays"]["C"]["axes"]
    assert [axis["kind"] for axis in axes] == ["output", "state"]
    assert axes[0]["labels"] == list(model.outputs)


def test_rows_are_models_of_their_own(motion: Path) -> None:
    """Along a motion every row has the model that its state alone has."""
    arm = robolin.load("two-link")
    rows = robolin.answer(arm, "state-space", States(trajectory=motion))
    for row in (0, 29):
        state = {name: rows[name][row] for name in ("q", "qd", "qdd")}
        alone = robolin.answer(arm, "state-space", States(**state))
        for name in ("A", "B", "drift", "tau"):
            assert np.array_equal(rows[name][row], alone[name]), (name, row)


@pytest.mark.parametrize(
    "verb, options",
    [
        ("state-space", ("--only", "A,B")),
        ("poles", ()),
        ("lqr", ("--weight", "q=100,elbow/q=500", "--effort", "0.1", "--effort", "elbow=1")),
        ("lqr", ("--time-varying", "--dt", "0.01")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_every_format_keeps_what_is_checked(
    verb: str, options: tuple[str, ...], motion: Path, tmp_path: Path
) -> None:
    """Results along a motion, complex ones included, are stored, read back and found the same."""
    kept, few = {}, tmp_path / "few.csv"
    few.write_text("".join(motion.read_text().splitlines(keepends=True)[:8]))
    for form in FORMATS:
        path = tmp_path / f"stored.{form}"
        run_ok("record", verb, "two-link", "--trajectory", few, *options, "-o", path)
        assert robolin.check(path).status == "same"
        kept[form] = robolin.read_result(path).arrays
    for form in FORMATS:
        assert kept[form].keys() == kept["npz"].keys()
        assert all(np.array_equal(kept[form][key], kept["npz"][key]) for key in kept[form]), form


def test_verbs_that_use_lapack() -> None:
    """`check` reports where matrix libraries are used, but not for a plain continuous model."""
    uses_lapack = {
        verb: VERBS[verb].uses_lapack for verb in ("state-space", "poles", "lqr", "response")
    }
    assert not uses_lapack["state-space"]({"q": "0"})
    assert uses_lapack["state-space"]({"dt": "0.1"})
    assert all(uses_lapack[verb]({}) for verb in ("poles", "lqr", "response"))


def test_the_contract_summarizes_poles() -> None:
    """The contract counts stable poles and names the mode nearest to uncontrollability."""
    arm = robolin.load("acrobot")
    question = Question("poles", passive="shoulder")
    result = robolin.answer(arm, question, States(q=[np.pi, 0.0]))

    assert result.contract["stability"] == "4 poles: 2 stable, 2 unstable"
    assert result.contract["operating point"] == "an equilibrium"
    assert "all of 4 states controllable" in result.contract["controllability"]
    assert "(shoulder and elbow)" in result.contract["controllability"]
    assert result["stability"].tolist() == [-1, 1, -1, 1]
    assert result["poles"].dtype == complex
    driven = Question("poles", actuated="all")
    moving = robolin.answer(arm, driven, States(q=[np.pi, 0.0], qd=[1.0, 0.0]))
    assert "not an equilibrium" in moving.contract["operating point"]


def test_poles_on_the_edge_are_stored(tmp_path: Path) -> None:
    """A pole at 0, whose time constant is infinite, is written to every format."""
    for form in FORMATS:
        path = tmp_path / f"poles.{form}"
        run_ok("poles", "cart-pole", "--passive", "pivot", "-o", path)
        arrays = robolin.read_result(path).arrays
        edge = arrays["stability"] == 0
        assert edge.any()
        assert (arrays["decay"][edge] == 0.0).all()
        assert (arrays["damping"][edge] == -1.0).all()


@pytest.mark.slow
def test_published_gains_come_from_one_command(tmp_path: Path) -> None:
    """`lqr` finds the equilibrium and the Acrobot's published gains, which stabilize the arm."""
    gains = tmp_path / "gains.npz"
    run_ok("lqr", "acrobot", "--q", "3,0", "--trim", "--keep", "elbow", "--passive", "shoulder",
             "--weight", "q=10", "-o", gains)  # fmt: skip
    K = robolin.read_result(gains).arrays["K"]
    assert np.round(K, 4).tolist() == [[-278.4422, -112.2913, -119.7246, -56.8282]]

    arm = robolin.load("acrobot")
    question = Question("simulate", feedback=gains, offset=[0.001, 0.002], duration=8, dt=0.002)
    result = robolin.answer(arm, question)
    assert np.abs(result["q"][-1] - [np.pi, 0.0]).max() < 1e-6
    words = result.contract["cost"].split()
    spent, predicted = float(words[0].rstrip(",")), float(words[-1])
    # both numbers are published, with initial offsets of 1 and 2 mrad
    assert spent == pytest.approx(0.06000513, abs=5e-9)
    assert predicted == pytest.approx(0.05999910, abs=5e-9)
    assert result["cost_to_go"][0] == pytest.approx(predicted, rel=1e-7)


def test_trim_notes_the_positions_that_it_changes() -> None:
    """The note has old and new values; an equilibrium stays, and has no note."""
    err = run_ok("poles", "acrobot", "--q", "3,0", "--trim", "--keep", "elbow").err
    assert "note: --trim changes q: shoulder 3 to 3.14159 rad\n" in err
    assert "--trim" not in run_ok("poles", "acrobot", "--q", "180deg,0", "--trim").err


def test_gains_along_a_motion_are_those_of_python(motion: Path) -> None:
    """Schedules and time-varying gains are those of lqr and tvlqr, for any size of parts."""
    arm = robolin.load("two-link")
    states = States(trajectory=motion)
    rows = robolin.answer(arm, Question("lqr", weight={"q": 100}), states)
    model = robolin.state_space(arm, rows["q"], rows["qd"], rows["qdd"])
    assert np.array_equal(rows["K"], robolin.lqr(model, {"q": 100.0}).K)

    question = Question("lqr", weight={"q": 100}, time_varying=True, dt=0.01)
    full = robolin.answer(arm, question, states)
    parts = robolin.answer(arm, question, states, chunk_rows=7)
    tracked = robolin.tvlqr(model, {"q": 100.0}, dt=0.01)
    for gains in (full, parts):
        assert np.array_equal(gains["K"], tracked.K)
        assert np.array_equal(gains["P"], tracked.P)


def test_gains_along_a_motion_follow_it(motion: Path, tmp_path: Path) -> None:
    """The nonlinear arm under stored time-varying gains converges to the trajectory."""
    gains = tmp_path / "gains.npz"
    run_ok("lqr", "two-link", "--trajectory", motion, "--time-varying", "--dt", "0.01",
             "--weight", "q=1e4,qd=1", "--effort", "1e-4", "-o", gains)  # fmt: skip
    arm = robolin.load("two-link")
    question = Question("simulate", feedback=gains, offset=[0.02, -0.02], duration=0.29)
    result = robolin.answer(arm, question)
    expected = robolin.read_result(gains).arrays["q"]

    assert np.abs(result["q"][0] - expected[0]).max() == pytest.approx(0.02)
    assert np.abs(result["q"][-1] - expected[-1]).max() < 1e-3

    model = robolin.state_space(
        arm, *(robolin.read_result(gains).arrays[x] for x in ("q", "qd", "qdd"))
    )
    regulator = robolin.tvlqr(model, {"q": 1e4, "qd": 1.0}, 1e-4, dt=0.01)
    start = expected[0] + [0.02, -0.02]
    motion = robolin.simulate(arm, start, model.qd[0], duration=0.29, control=regulator.feedback())
    cost = regulator.motion_cost(motion)
    words = result.contract["cost"].split()
    # kinks of the gains leave four correct digits of the cost
    printed = words[0].rstrip(",")
    assert len(printed.replace(".", "")) >= 4
    assert printed == f"{float(cost.spent + cost.left):.{len(printed.replace('.', ''))}g}"
    assert float(words[-1]) == pytest.approx(cost.predicted, rel=1e-7)


@pytest.mark.parametrize("asks", [{"dt": 0.01}, {"integral": "elbow", "weight": "integral=9"}])
def test_schedules_report_their_cost(asks: dict[str, object], motion: Path, tmp_path: Path) -> None:
    """The cost under gains of each row uses the given weights."""
    arm = robolin.load("two-link")
    costs = []
    for weights in ({}, {"effort": 0.5}):
        gains = tmp_path / "gains.npz"
        words = [f"--{name}={value}" for name, value in {**asks, **weights}.items()]
        run_ok("lqr", "two-link", "--trajectory", motion, *words, "-o", gains)
        run = {"offset": [0.02, -0.02], "duration": 0.1, "dt": 0.01}
        question = Question("simulate", feedback=gains, **run)
        costs.append(float(robolin.answer(arm, question).contract["cost"].split(",")[0]))
    # halving the weight of torques lowers the cost, but not to half
    assert 0.5 * costs[0] < costs[1] < costs[0]


@pytest.mark.parametrize(
    "arm, held, freely",
    [
        ("acrobot", ("--q=3,0", "--trim", "--keep=elbow", "--passive=shoulder"),
         ("--q=3,0", "--tau=0,0")),
        ("four-bar", ("--q=drive=0.5", "--close=drive", "--passive=knee,pivot"),
         ("--q=drive=0.5", "--close=drive", "--tau=0,0,0")),
    ],
)  # fmt: skip
def test_an_equilibrium_is_one_to_rounding(
    arm: str, held: tuple[str, ...], freely: tuple[str, ...]
) -> None:
    """An equilibrium found by --trim or --close is reported as one; under 0 N·m it is not."""
    assert '"an equilibrium"' in run_ok("poles", arm, *held, "--format", "json").out
    assert "not an equilibrium" in run_ok("poles", arm, *freely, "--format", "json").out


def test_computed_torque_decouples_joints() -> None:
    """With kp = 4 and kd = 4 every joint has gone 1 - 3 exp(-2) of its way after a second."""
    arm = robolin.load("two-link")
    asks = {"control": "computed-torque", "goal": [0.3, -0.7], "kp": 4, "kd": 4, "duration": 1}
    result = robolin.answer(arm, Question("simulate", **asks))
    assert result["q"][-1] / [0.3, -0.7] == pytest.approx(1.0 - 3.0 * np.exp(-2.0), rel=1e-9)


def test_responses_are_those_of_python() -> None:
    """Frequency and step responses have the outputs and torques as names."""
    arm = robolin.load("two-link")
    model = robolin.state_space(arm, [0.3, -0.7], outputs="q")
    asks = {"outputs": "q", "frequencies": "0.1:10:3"}
    result = robolin.answer(arm, Question("response", **asks), States(q=[0.3, -0.7]))
    assert np.array_equal(result["frequency_response"], model.frequency_response([0.1, 1.0, 10.0]))
    step = Question("response", outputs="q", duration=1, rows=11)
    stepped = robolin.answer(arm, step, States(q=[0.3, -0.7]))
    assert np.array_equal(stepped["step_response"], model.step_response(1.0, rows=11).y)
    assert stepped.arrays[0].labels == (model.outputs, model.inputs)
    assert stepped.time is not None
    assert stepped.time.tolist() == model.step_response(1.0, rows=11).time.tolist()
    assert result["omega"].tolist() == pytest.approx([0.1, 1.0, 10.0], rel=1e-15)


@pytest.mark.parametrize("asks", [("--frequencies", "0.1,1,10"), ("--duration", "0.5")])
def test_responses_are_stored(asks: tuple[str, str], tmp_path: Path) -> None:
    """Complex amplitudes and steps are written to every format and found the same."""
    for form in FORMATS:
        path = tmp_path / f"response.{form}"
        run_ok("record", "response", "two-link", *asks, "-o", path)
        assert robolin.check(path).status == "same"


def test_octave_reads_mat_files_of_the_command_line(tmp_path: Path) -> None:
    """`ss` makes the model of a MAT-file, with names and the sample time."""
    path = tmp_path / "model.mat"
    run_ok("state-space", "acrobot", *UPRIGHT, "--dt", "0.01", "-o", path)
    by_octave = octave(
        f"m = load('{path}'); sys = ss(m.A, m.B, m.C, m.D, m.Ts); r.name = m.StateName{{2}};"
        "r.dt = sys.tsam; r.largest = max(abs(eig(sys.a)))",
        tmp_path,
    )
    model = robolin.state_space(robolin.load("acrobot"), [np.pi, 0.0], passive="shoulder", dt=0.01)
    assert (by_octave["name"], by_octave["dt"]) == ("elbow/position", 0.01)
    largest = np.abs(np.linalg.eigvals(model.A)).max()
    assert by_octave["largest"] == pytest.approx(largest, rel=1e-12)


def test_rows_without_a_result_are_located(tmp_path: Path) -> None:
    """The first row that a passive joint cannot hold is named; with nan, these rows are NaN."""
    path = tmp_path / "motion.csv"
    path.write_text(f"shoulder/position,elbow/position\n{np.pi},0\n{np.pi + 0.1},0\n{np.pi},0\n")
    ask = ("state-space", "acrobot", "--passive", "shoulder", "--trajectory", path)
    ran = command_line(*ask, "-o", tmp_path / "a.npz")
    assert "motion.csv:3, row 2: joint 'shoulder' is passive" in ran.err
    assert not (tmp_path / "a.npz").exists()

    run_ok(*ask, "--on-bad-row", "nan", "-o", tmp_path / "a.npz")
    A = robolin.read_result(tmp_path / "a.npz").arrays["A"]
    assert np.isnan(A[1]).all()
    assert np.array_equal(A[0], A[2])
    assert np.isfinite(A[0]).all()


@pytest.mark.parametrize("name", ["poles.npz", "poles.json", "poles.csv"])
def test_notes_appear_for_every_file_format(tmp_path: Path, name: str) -> None:
    """The number of stable poles is a note for every file format, unless quiet."""
    ran = run_ok("poles", "two-link", "-o", tmp_path / name)
    assert ran.err == "note: 4 of 4 poles are marginal\n"
    assert run_ok("poles", "two-link", "-o", tmp_path / name, "-q").err == ""
