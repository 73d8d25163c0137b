"""Recipes of docs/dev/extending.md for a command, a flag and a quantity, each with an example.

Each example has the parts that the recipe lists and no others; the comments name their files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import robolin
from robolin import Question, States
from robolin.cli.commands import matrix_verbs
from robolin.cli.flags.flag import METHOD, flags
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.core.arm import Arm
from robolin.core.quantity_table import QUANTITIES, Quantity, unit_of
from robolin.core.result import Array, Result, ResultStream
from robolin.queries import values, verbs
from robolin.queries.algorithm_answer import AlgorithmQuery, answer_by_algorithms
from robolin.queries.option_specs import SWITCH, TRAJECTORY, OptionSpec
from robolin.queries.request import QueryContext, Request
from robolin.queries.values import DerivedArray, Values
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok

FORMATS = ("npz", "csv", "json", "parquet")

# --- a command: `reach`, the distance of the centre of mass from the base


# robolin/queries/reach_answer.py
def answer_reach(context: QueryContext) -> Result | ResultStream:
    """Compute the distance of the centre of mass from the base, or half of it."""
    factor = 0.5 if context.question.flag("halved") else 1.0

    def named(arm: Arm, computed: Values) -> Iterator[Array]:
        unit = unit_of("reach", [joint.kind for joint in arm.joints])
        yield Array("reach", factor * np.linalg.norm(computed["com"], axis=-1), (), unit)

    return answer_by_algorithms(context, AlgorithmQuery(("momentum",), named=named))


# robolin/queries/verbs.py
REACH = verbs.Verb(
    "reach",
    "Motion",
    "Distance of the centre of mass from the base.",
    states=("q", "qd"),
    states_from=TRAJECTORY,
    own_options={"halved": SWITCH},
    answers="robolin.queries.reach_answer:answer_reach",
)

# robolin/core/quantity_table.py
REACH_QUANTITY = Quantity(("length",), "abs c")


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the command as if its files were in the package."""
    monkeypatch.setitem(verbs.VERBS, "reach", REACH)
    monkeypatch.setitem(QUANTITIES, "reach", REACH_QUANTITY)  # type: ignore[arg-type]
    answering = ModuleType("robolin.queries.reach_answer")
    answering.answer_reach = answer_reach  # type: ignore[attr-defined]
    cli = ModuleType(REACH.command.partition(":")[0])

    # robolin/cli/commands/reach_verb.py
    @query_command("reach", flags(METHOD, REACH.own_options, {"--halved": "Half."}))
    def command(inquiry: Request, out: Output) -> None:
        """Distance of the centre of mass from the base.

        \b
        Example:
          robolin reach panda
        """
        run_and_write(inquiry, out)

    cli.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, answering.__name__, answering)
    monkeypatch.setitem(sys.modules, cli.__name__, cli)


def reach_of(q: np.ndarray) -> np.ndarray:
    """Closed form for two uniform rods of 1 kg and 1 m: c = 3/4 along one, 1/4 along both."""
    return np.sqrt(0.75**2 + 0.25**2 + 2 * 0.75 * 0.25 * np.cos(q[..., 1]))


@pytest.mark.usefixtures("reach")
def test_a_new_command_runs_from_python_and_from_the_command_line(tmp_path: Path) -> None:
    """With these parts the command is computed, documented, written, recorded and checked."""
    arm, q = robolin.load("two-link"), np.array([0.5, -2.0])
    states = States(q=q)
    result = robolin.answer(arm, "reach", states)
    # a root of three sums of rounded numbers of size one
    np.testing.assert_allclose(result["reach"], reach_of(q), rtol=1e-14)
    assert result.arrays[0].unit == "m"
    halved = robolin.answer(arm, Question("reach", halved=True), states)
    assert halved["reach"] == result["reach"] / 2
    assert run_ok("reach", "two-link", "--q", "0.5,-2").numbers == [[result["reach"]]]
    assert "reach" in run_ok("--help").out
    assert "--halved" in run_ok("reach", "--help").out

    for extension in FORMATS:
        path = tmp_path / f"stored.{extension}"
        run_ok("record", "reach", "two-link", "--halved", "--q", "0.5,-2", "-o", path)
        run_ok("check", path)
        robolin.record(halved, path)
        assert robolin.check(path).status == "same"


@pytest.mark.usefixtures("reach")
def test_a_new_command_takes_a_trajectory(tmp_path: Path) -> None:
    """Every row of a recording has a result, in Python and in a file that is checked."""
    q = np.random.default_rng(6).uniform(-3.0, 3.0, (20, 2))
    path, out = tmp_path / "motion.npz", tmp_path / "reach.csv"
    np.savez(path, joints=np.array(["shoulder", "elbow"]), q=q, qd=0.0 * q)
    result = robolin.answer(robolin.load("two-link"), "reach", States(trajectory=path))
    # the shorter c is, the more of it cancels: at least 1/2 of sums of size one is left
    np.testing.assert_allclose(result["reach"], reach_of(q), rtol=1e-14)

    run_ok("reach", "two-link", "--trajectory", path, "-q", "-o", out)
    assert robolin.read_result(out).arrays["reach"].tobytes() == result["reach"].tobytes()
    run_ok("check", out, "--root", tmp_path)


@pytest.mark.usefixtures("reach")
def test_suites_support_a_new_command(tmp_path: Path) -> None:
    """A suite runs it with its flags, and rejects others."""
    suite = tmp_path / "robolin.toml"
    case = '[[case]]\nverb = "reach"\narm = "two-link"\nstored = "a.npz"\n'
    suite.write_text(case + "options = { halved = true }\n")
    run_ok("record", "--suite", suite)
    run_ok("check", "--suite", suite)

    suite.write_text(case + "options = { halve = true }\n")
    ran = command_line("check", "--suite", suite)
    assert ran.code == 3
    assert "did you mean 'halved'?" in ran.err


# --- a flag and a quantity: `mass-matrix --eigenvalues`

# robolin/queries/values.py
EIGENVALUES = DerivedArray("eigenvalues", ("mass_matrix",), np.linalg.eigvalsh)

# robolin/core/quantity_table.py
EIGENVALUES_QUANTITY = Quantity(("effort", "acceleration"), "λ(𝓜)", ("mode",))

# robolin/cli/commands/matrix_verbs.py
FLAGS = '    VERBS["mass-matrix"].own_options,\n    {\n'
EIGENVALUES_FLAG = '        "--eigenvalues": "Also return eigenvalues",\n'


@pytest.fixture
def eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the flag and its quantity as if their lines were in the package."""
    table = values.DERIVED_ARRAYS
    derived = {**table.get("mass-matrix", {}), "eigenvalues": EIGENVALUES}
    monkeypatch.setitem(table, "mass-matrix", derived)
    monkeypatch.setitem(QUANTITIES, "eigenvalues", EIGENVALUES_QUANTITY)  # type: ignore[arg-type]
    # robolin/queries/verbs.py
    entry = verbs.VERBS["mass-matrix"]
    option = OptionSpec("switch", excludes={"factor": "run the command twice"})
    entry = entry._replace(own_options={**entry.own_options, "eigenvalues": option})
    monkeypatch.setitem(verbs.VERBS, "mass-matrix", entry)

    source = Path(matrix_verbs.__file__).read_text("utf-8")
    assert source.count(FLAGS) == 1
    module = ModuleType(matrix_verbs.__name__)
    changed = source.replace(FLAGS, FLAGS + EIGENVALUES_FLAG)
    exec(compile(changed, matrix_verbs.__file__, "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)


def eigenvalues_of(q: np.ndarray) -> np.ndarray:
    """Eigenvalues by the trace and determinant of the 2 × 2 mass matrix."""
    M = robolin.mass_matrix(robolin.load("two-link"), q)
    half = 0.5 * (M[..., 0, 0] + M[..., 1, 1])
    root = np.sqrt(half**2 - np.linalg.det(M))
    return np.stack([half - root, half + root], axis=-1)


@pytest.mark.usefixtures("eigenvalues")
def test_a_new_flag_adds_its_array(tmp_path: Path) -> None:
    """One state has the array in every format, with its unit, and is checked."""
    q = np.array([0.5, -2.0])
    for extension in FORMATS:
        path = tmp_path / f"stored.{extension}"
        run_ok("mass-matrix", "two-link", "--eigenvalues", "--q", "0.5,-2", "-o", path)
        stored = robolin.read_result(path)
        # the smaller eigenvalue is a difference of numbers of size one
        expected = eigenvalues_of(q)
        np.testing.assert_allclose(stored.arrays["eigenvalues"], expected, rtol=1e-13)
        assert stored.meta["arrays"]["eigenvalues"]["unit"] == "N·m·s²/rad"
        run_ok("check", path)
    assert "eigenvalues" not in run_ok("mass-matrix", "two-link", "--format", "json").out
    assert "--eigenvalues" in run_ok("mass-matrix", "--help-all").out
    table = run_ok("mass-matrix", "two-link", "--eigenvalues", "--format", "table").out
    assert "eigenvalues [N·m·s²/rad]" in table


def test_derived_arrays_have_labels_and_complex_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Axes have the labels of other arrays, and complex numbers keep both parts in every row."""
    phasor = DerivedArray("com_phasor", ("com_velocity",), lambda v: v * (1.0 + 2.0j))
    entry = verbs.VERBS["momentum"]
    monkeypatch.setitem(values.DERIVED_ARRAYS, "momentum", {"phasor": phasor})
    monkeypatch.setitem(QUANTITIES, "com_phasor", Quantity(("speed",), "c", (3,)))  # type: ignore[arg-type]
    monkeypatch.setitem(
        verbs.VERBS, "momentum", entry._replace(own_options={"phasor": OptionSpec("switch")})
    )
    states = robolin.States(q=[[0.1, 0.2], [np.nan, 0.0]], qd=np.ones((2, 2)), on_bad_row="nan")
    question = robolin.Question("momentum", phasor=True)
    with pytest.warns(robolin.RobolinWarning, match="1 row without a result"):
        result = robolin.answer(robolin.load("two-link"), question, states)
    by_name = {array.name: array for array in result.arrays}
    computed, velocity = by_name["com_phasor"], by_name["com_velocity"]
    assert computed.labels == velocity.labels
    np.testing.assert_array_equal(computed.values[0], velocity.values[0] * (1.0 + 2.0j))
    assert np.isnan(computed.values[1].imag).all()


@pytest.mark.usefixtures("eigenvalues")
def test_a_new_flag_applies_to_rows(tmp_path: Path) -> None:
    """Rows of a trajectory have the array; a row without a result is NaN."""
    q = np.random.default_rng(7).uniform(-3.0, 3.0, (20, 2))
    q[3] = np.nan
    path, out = tmp_path / "motion.npz", tmp_path / "matrices.csv"
    np.savez(path, joints=np.array(["shoulder", "elbow"]), q=q, qd=0.0 * q)
    rows = ("--trajectory", path, "--on-bad-row", "nan", "-q")
    run_ok("mass-matrix", "two-link", "--eigenvalues", *rows, "-o", out)
    stored = robolin.read_result(out).arrays["eigenvalues"]
    assert np.isnan(stored[3]).all()
    good = np.arange(20) != 3
    np.testing.assert_allclose(stored[good], eigenvalues_of(q[good]), rtol=1e-13)
    run_ok("check", out, "--root", tmp_path)


@pytest.mark.usefixtures("eigenvalues")
def test_conflicts_of_a_new_flag_are_reported() -> None:
    """An option that the declaration excludes is wrong usage, with the hint of the declaration."""
    ran = command_line("mass-matrix", "two-link", "--eigenvalues", "--factor")
    assert ran.code == 2
    assert "--eigenvalues: cannot be used with --factor\nhint: run the command twice" in ran.err


@pytest.mark.usefixtures("eigenvalues")
def test_a_new_flag_is_a_keyword_in_python() -> None:
    """`Question` accepts the flag, and rejects it for other commands."""
    arm = robolin.load("two-link")
    result = robolin.answer(arm, Question("mass-matrix", eigenvalues=True), States(q=[0.5, -2.0]))
    assert result["eigenvalues"].shape == (2,)
    with pytest.raises(robolin.UsageError, match="eigenvalues"):
        robolin.answer(arm, Question("inverse", eigenvalues=True), States(q=[0.5, -2.0]))
