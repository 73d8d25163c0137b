"""Queries from Python: the same results, files and records as from the command line."""

from __future__ import annotations

import pickle
from pathlib import Path

import click
import numpy as np
import pytest

import robolin
from robolin import Question, RobolinError, States, UsageError
from robolin.cli.flags.flag import OUTPUT, option_name
from robolin.cli.group import group
from robolin.queries.option_specs import NO_CONDITIONS, STATE_QUANTITIES, OptionSpec
from robolin.queries.question import answering_verb
from robolin.queries.request import request_from_options
from robolin.queries.verbs import VERBS
from tests.cli.command import run_ok

ANSWERING = [name for name, verb in VERBS.items() if verb.answers]
# command, keywords of Question, keywords of States, and the same as flags
ASKED = [
    ("inverse", {}, {"q": "0.3,-0.7"}, ["--q=0.3,-0.7"]),
    ("mass-matrix", {"inverse": True}, {}, ["--inverse"]),
    ("forward", {"method": "a", "links": True}, {"tau": "hold"}, "--method=a --links --tau=hold"),
    ("forward", {"tip_acceleration": ""}, {}, ["--tip-acceleration="]),
    ("linearize-inverse", {"perturb": "dq=1,0"}, {}, ["--perturb=dq=1,0"]),
    ("jacobian", {"point": "0,0,1", "reference": "frame"}, {}, "--point=0,0,1 --reference=frame"),
    (
        "diagonalize",
        {"curvature": True},
        {"samples": 3, "seed": 1},
        "--curvature --samples=3 --seed=1",
    ),
    ("regressor", {"parameters": True}, {}, ["--parameters"]),
    (
        "simulate",
        {"duration": "0.01", "every": 5},
        {"q": "1,0"},
        "--duration=0.01 --every=5 --q=1,0",
    ),
    ("inverse", {}, {"trajectory": "motion.csv"}, ["--trajectory=motion.csv"]),
    (
        "sensitivity",
        {"parameter": ["lower/mass=0.1"], "torques": "stepwise"},
        {"trajectory": "motion.csv"},
        "--parameter=lower/mass=0.1 --torques=stepwise --trajectory=motion.csv",
    ),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a motion in it."""
    monkeypatch.chdir(tmp_path)
    names = [
        f"{j}/{w}" for w in ("position", "velocity", "acceleration") for j in ("shoulder", "elbow")
    ]
    rows = np.random.default_rng(0).uniform(-1, 1, (20, len(names)))
    table = np.column_stack([np.arange(20) * 0.01, rows])
    header = ",".join(["time", *names])
    np.savetxt("motion.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    return tmp_path


@pytest.mark.parametrize(("verb", "asks", "states", "flags"), ASKED)
@pytest.mark.parametrize("extension", ["npz", "json"])
def test_python_and_the_command_line_write_the_same_bytes(verb, asks, states, flags, extension):
    """A result made in Python, written, is the file that the same words on a command line make."""
    words = flags.split() if isinstance(flags, str) else flags
    run_ok(verb, "two-link", *words, "-o", f"command.{extension}")
    result = robolin.answer(robolin.load("two-link"), Question(verb, **asks), States(**states))
    robolin.write(result, f"python.{extension}")

    assert Path(f"python.{extension}").read_bytes() == Path(f"command.{extension}").read_bytes()


@pytest.mark.parametrize(("verb", "asks", "states", "flags"), ASKED)
def test_recorded_options_give_the_same_request(verb, asks, states, flags):
    """The options of a result make the same question and states again."""
    result = robolin.answer(robolin.load("two-link"), Question(verb, **asks), States(**states))
    options = dict(result.options)
    again = request_from_options(verb, options.pop("arm"), options)

    assert again.question == Question(verb, **asks)
    assert again.states.options == States(**states).options
    assert again.options == result.options


@pytest.mark.parametrize("extension", ["npz", "csv", "json", "parquet"])
def test_numbers_are_recorded_to_the_last_bit(extension):
    """States and model options given as numbers come back as the same numbers."""
    arm = robolin.load("two-link", payload=("tip", 1 / 3, (0, 0, 0.1)), lock={"elbow": 2 / 7})
    result = robolin.answer(arm, "inverse", States(q=[np.pi / 7], qd={"shoulder": 1e-3 / 3}))
    robolin.record(result, f"stored.{extension}")

    assert robolin.check(f"stored.{extension}").status == "same"
    run_ok("check", f"stored.{extension}")


def test_check_of_a_recorded_result_finds_its_files(here: Path):
    """`check` follows the path from the stored file to the arm, and reports changes of it."""
    page = Path(robolin.__file__).parents[1] / "models" / "two-link.yaml"
    text = page.read_text()
    (here / "arms").mkdir()
    (here / "arms" / "arm.yaml").write_text(text)
    (here / "stored").mkdir()
    result = robolin.answer(robolin.load("arms/arm.yaml"), "mass-matrix")
    robolin.record(result, "stored/a.npz", rtol=1e-12)
    assert robolin.check("stored/a.npz").status == "same"

    (here / "arms" / "arm.yaml").write_text(text.replace("mass: 1", "mass: 1.5"))
    assert robolin.check("stored/a.npz").status == "differs"


def test_rows_of_arrays_are_the_rows_of_a_file():
    """Arrays with rows give the bits of a trajectory with the same numbers."""
    arm = robolin.load("two-link")
    table = np.loadtxt("motion.csv", delimiter=",", skiprows=1)
    states = States(q=table[:, 1:3], qd=table[:, 3:5], qdd=table[:, 5:7])
    for verb in ("inverse", "linearize-forward", "mass-matrix"):
        names = {"q"} if verb == "mass-matrix" else {"q", "qd", "qdd"}
        arrays = States(**{name: states.values[name] for name in names})
        one = robolin.answer(arm, verb, arrays)
        other = robolin.answer(arm, verb, States(trajectory="motion.csv"))
        for array in other.arrays:
            np.testing.assert_array_equal(one[array.name], array.values)


def test_a_stream_has_the_same_rows_in_parts():
    """Read in parts or complete, the rows are the same."""
    arm, states = robolin.load("two-link"), States(trajectory="motion.csv")
    with robolin.answer_stream(arm, "inverse", states, chunk_rows=7) as stream:
        parts = [part["tau"] for part in stream.parts]

    assert [len(part) for part in parts] == [7, 7, 6]
    np.testing.assert_array_equal(
        np.concatenate(parts), robolin.answer(arm, "inverse", states)["tau"]
    )


def test_failed_rows_are_nan_if_requested():
    """A row that is not finite is an error with its number, or NaN in the result."""
    arm, q = robolin.load("two-link"), np.zeros((5, 2))
    q[3, 1] = np.nan
    with pytest.raises(RobolinError, match="must be finite") as caught:
        robolin.answer(arm, "inverse", States(q=q))
    assert caught.value.where == "row 4"

    with pytest.warns(UserWarning, match="1 row without a result"):
        result = robolin.answer(arm, "inverse", States(q=q, on_bad_row="nan"))
    assert np.isnan(result["tau"]).all(axis=1).tolist() == [False, False, False, True, False]


def test_states_have_the_names_that_verbs_know():
    """Every quantity of a command's states is a keyword, and each keyword is that quantity."""
    values = {name: [float(index), 0.0] for index, name in enumerate(STATE_QUANTITIES)}
    assert States(**values).values == {name: f"{value[0]},0.0" for name, value in values.items()}


def test_a_number_is_accepted_in_place_of_text():
    """One number is one text; other types are rejected."""
    assert Question("lqr", effort=2).options == {"effort": ("2",)}
    with pytest.raises(UsageError, match="--effort: unsupported value"):
        Question("lqr", effort=object())


def test_questions_and_states_can_be_pickled():
    """Questions and states survive pickling, and equal questions are equal."""
    question = Question("linearize-forward", perturb={"dq": [0.1, 0]}, method="operator")
    states = States(q=np.zeros((3, 2)))

    assert pickle.loads(pickle.dumps(question)) == question
    assert hash(question) == hash(Question(question.verb, method="operator", perturb="dq=0.1,0"))
    again = pickle.loads(pickle.dumps(states))
    np.testing.assert_array_equal(again.values["q"], np.zeros((3, 2)))
    assert (again, hash(again)) == (states, hash(states))
    for other in (States(q=np.ones((3, 2))), States(qd=np.zeros((3, 2))), States(samples=3), 3):
        assert states != other


WRONG = [
    (lambda: Question("mass-matrx"), "did you mean 'mass-matrix'"),
    (lambda: Question("mass-matrix", invers=True), "did you mean 'inverse'"),
    (lambda: Question("inspect"), "does not return a result"),
    (lambda: Question("forward", method="fast"), "'fast' is not one of"),
    (lambda: Question("simulate"), "missing option '--duration'"),
    (lambda: Question("simulate", duration=1, every=0), "must be at least 1, got 0"),
    (lambda: Question("mass-matrix", inverse="yes"), "takes no value"),
    (lambda: States(qq=[0]), "did you mean 'q'"),
    (lambda: States(position=[0]), "use 'q'"),
    (lambda: States(q=np.zeros(2) + 1j), "must be an array of real numbers, got type"),
    (lambda: States(q=np.array(["1", "2"])), "must be an array of real numbers, got text"),
    (
        lambda: States(q=np.array(["2026-01-01"] * 2, "M8[s]")),
        "must be an array of real numbers, got type",
    ),
    (lambda: States(q=np.ma.masked_array([1.0, 2.0], [True, False])), "has masked values"),
    (lambda: States(q=[None, 1]), "must be an array of real numbers, got None among"),
    (
        lambda: Question("response", step=1),
        "'rows' and 5 more; robolin.Question.keywords('response') lists all",
    ),
    (lambda: Question("inverse", frictn=1), "'settling_time'"),
    (lambda: Question("inverse", links=True), "inverse has no keyword 'links'"),
    (lambda: answer_with("sensitivity", q=[0, 0]), "remove this option"),
    (lambda: States(q=np.zeros((2, 2, 2))), "at most one batch axis"),
    (lambda: States(q=np.zeros((2, 2)), qd=[0, 0]), "qd has one state"),
    (lambda: States(q=[0, 0], trajectory="a.csv"), "cannot be used with --q"),
    (lambda: answer_with("inverse", tau=[1, 1]), "has no effect"),
    (lambda: answer_with("inverse", q=[1, 1, 1]), "3 values, but 'two-link' has 2 joints"),
    (lambda: answer_with("inverse", q=np.zeros((4, 3))), "must have 2 values per row"),
    (lambda: answer_with("inverse", q=np.zeros((4, 2)), qd=np.zeros((3, 2))), "number of rows"),
    (lambda: answer_with("inverse", samples=3), "has no effect"),
    (lambda: answer_with("sensitivity"), "missing option '--trajectory'"),
]


def answer_with(verb: str, **states):
    return robolin.answer(robolin.load("two-link"), verb, States(**states))


@pytest.mark.parametrize(("ask", "message"), WRONG)
def test_invalid_requests_are_rejected(ask, message):
    """Unknown commands, flags, quantities and shapes are usage errors with a suggestion."""
    with pytest.raises(UsageError) as caught:
        ask()
    assert message in str(caught.value)


def test_results_that_cannot_be_repeated_are_not_recorded():
    """Arrays with rows and arms without a file can be written, but not recorded or checked."""
    arm = robolin.load("two-link")
    rows = robolin.answer(arm, "inverse", States(q=np.zeros((3, 2))))
    by_hand = robolin.answer(
        robolin.Arm(arm.name, arm.links_tip_to_base, arm.frames, arm.joint_names), "inverse"
    )
    for result, message, refusal in (
        (
            rows,
            "states passed as arrays are not stored, so the result cannot be computed again",
            "written.npz: the states were passed as arrays and are not stored",
        ),
        (
            by_hand,
            "the robot was not loaded from a file and cannot be loaded again",
            "written.npz: the stored result does not contain the name of the robot file",
        ),
    ):
        with pytest.raises(RobolinError, match=message):
            robolin.record(result, "stored.npz")
        assert not Path("stored.npz").exists()
        robolin.write(result, "written.npz")
        outcome = robolin.check("written.npz")
        assert outcome.status == "refused"
        assert refusal in str(outcome.error)


def test_partial_results_are_not_recorded(here: Path):
    """Some rows, a difference and a result read from a file are rejected; no file is written."""
    arm = robolin.load("two-link")
    full = robolin.answer(arm, "inverse", States(trajectory="motion.csv"))
    robolin.write(full, "written.npz")
    read = robolin.read_result("written.npz").result
    for result, message in (
        (full.rows(1, 2), "a result read from a file, or a part of a result, cannot be recorded"),
        (full - full, "a difference of results cannot be computed again"),
        (read, "a result read from a file, or a part of a result, cannot be recorded"),
    ):
        with pytest.raises(RobolinError, match=message):
            robolin.record(result, "stored.npz")
    assert not Path("stored.npz").exists()


@pytest.mark.parametrize("name", ANSWERING)
def test_the_table_knows_every_flag(name: str):
    """The options of a command line are those in the table of commands."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    flags = {
        option_name(param): _as_ask(param)
        for param in command.params
        if isinstance(param, click.Option) and getattr(param, "section", OUTPUT) != OUTPUT
    }
    verb = answering_verb(name)
    assert verb is not None
    files = {label for label, ask in verb.options.items() if ask.kind == "file"}
    words = {label for label, ask in verb.options.items() if ask.kind in ("file", "columns")}
    known = {
        label: OptionSpec("text", multiple=ask.multiple, required=ask.required)
        if label in words
        else ask
        for label, ask in verb.options.items()
    }
    # a flag says that a link is meant in words alone
    frames = {label for label, ask in known.items() if ask.frame}
    bare = {"frame": False, **dict.fromkeys(("requires", "modifies", "excludes"), NO_CONDITIONS)}
    # a flag that another option replaces is not required on its own
    bare["unless"] = ""
    known = {
        label: ask._replace(required=ask.required and not ask.unless, **bare)
        for label, ask in known.items()
    }
    if "on-bad-row" in known:
        # a command takes several recordings, and runs the query on each of them
        known["trajectory"] = known["trajectory"]._replace(multiple=True)

    assert flags == known
    assert all(
        getattr(p, "metavar", "") == "FILE" for p in command.params if option_name(p) in files
    )
    metavars = {getattr(p, "metavar", "") for p in command.params if option_name(p) in frames}
    assert metavars <= {"LINK", "[FRAME]"}


def _as_ask(param: click.Option) -> OptionSpec:
    if param.is_flag:
        return OptionSpec("switch")
    if isinstance(param.type, click.Choice):
        return OptionSpec("choice", tuple(param.type.choices))
    if isinstance(param.type, click.IntRange):
        return OptionSpec("count", minimum=int(param.type.min or 0))
    bare = param.flag_value == ""
    return OptionSpec("text", multiple=param.multiple, required=param.required, optional_value=bare)


def test_results_are_mappings_of_arrays() -> None:
    """Iteration gives names, also the times, so `dict` and `numpy.savez` take a result."""
    arm = robolin.load("two-link")
    result = robolin.answer(arm, "linearize-inverse", robolin.States(q=[0.3, -0.7]))
    arrays = dict(result)
    assert list(arrays) == list(result) == ["mass_matrix", "dtau_dqd", "dtau_dq"]
    assert np.array_equal(arrays["dtau_dq"], result["dtau_dq"])
    run = robolin.answer(arm, robolin.Question("simulate", duration=0.01), robolin.States(q=[1, 0]))
    assert "time" in run.keys()  # noqa: SIM118 (keys are what dict uses)
