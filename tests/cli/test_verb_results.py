"""The verbs return the results of the library, and state their assumptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

Q = [0.3, -0.7, 0.2, -1.9, 0.4, 1.1, 0.6]
QD = [0.5, -0.2, 0.9, 0.3, -0.8, 0.1, -0.4]
QDD = [1.0, 0.4, -0.6, 0.2, 0.9, -1.5, 0.3]
TAU = [3.0, -20.0, 1.0, 12.0, 0.5, 1.0, -0.2]


def typed(values: list[float]) -> str:
    return ",".join(map(repr, values))


STATE = ["--q", typed(Q), "--qd", typed(QD)]


def document(*args: str | Path, stdin: bytes = b"") -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(run_ok(*args, "--format", "json", stdin=stdin).out)
    return printed


def test_inverse_is_the_librarys() -> None:
    """CSV carries every bit of what Python returns, one column per joint."""
    arm = library.load("panda")
    ran = run_ok("inverse", "panda", *STATE, "--qdd", typed(QDD))

    assert ran.rows[0] == [f"{name}/effort" for name in arm.joint_names]
    np.testing.assert_array_equal(ran.numbers, [library.inverse(arm, Q, QD, QDD)])


@pytest.mark.parametrize("method", ["auto", "operator", "conventional"])
def test_forward_is_the_librarys(method: Any) -> None:
    """Each method returns the bits that Python returns for it."""
    ran = run_ok("forward", "panda", *STATE, "--tau", typed(TAU), "--method", method)

    expected = library.forward(library.load("panda"), Q, QD, TAU, method=method)
    np.testing.assert_array_equal(ran.numbers, [expected])


def test_linearizations_are_the_librarys() -> None:
    """Every array by its public name."""
    arm = library.load("panda")
    inverse = document("linearize-inverse", "panda", *STATE, "--qdd", typed(QDD))["results"]
    forward = document("linearize-forward", "panda", *STATE, "--tau", typed(TAU))["results"]

    for computed, expected in (
        (inverse, library.linearize_inverse(arm, Q, QD, QDD)),
        (forward, library.linearize_forward(arm, Q, QD, TAU)),
    ):
        assert computed == {name: getattr(expected, name).tolist() for name in computed}
        point = {"q", "qd", "qdd", "tau", "arm"}
        # derivatives that were not requested, such as those by prescribed motion, are not there
        there = {name for name, value in vars(expected).items() if value is not None}
        assert there - set(computed) <= point, "everything else is listed"


def test_perturbations_are_the_linearization_times_the_change() -> None:
    """--perturb returns one vector, the product of the matrices with the perturbation."""
    arm = library.load("panda")
    model = library.linearize_forward(arm, Q, QD, TAU)
    dq, dtau = np.linspace(-1, 1, 7), np.eye(7)[2]
    change = ["--perturb", f"dq={typed(dq.tolist())}", "--perturb", "dtau=panda_joint3=1"]
    results = document("linearize-forward", "panda", *STATE, "--tau", typed(TAU), *change)[
        "results"
    ]

    assert list(results) == ["dqdd"]
    expected = model.dqdd_dq @ dq + model.dqdd_dtau @ dtau
    np.testing.assert_allclose(results["dqdd"], expected, rtol=0, atol=1e-11)


def test_mass_matrix_flags_add_their_arrays() -> None:
    """The mass matrix is always there, followed by the requested arrays."""
    arm = library.load("panda")
    flags = ["--inverse", "--factor", "--derivative", "--coriolis"]
    results = document("mass-matrix", "panda", *STATE, *flags)["results"]

    assert list(document("mass-matrix", "panda")["results"]) == ["mass_matrix"]
    assert list(results) == [
        "mass_matrix",
        "mass_matrix_inverse",
        "factor",
        "D",
        "factor_inverse",
        "dmass_matrix_dq",
        "coriolis_matrix",
    ]
    assert results["coriolis_matrix"] == library.coriolis_matrix(arm, Q, QD).tolist()
    assert np.shape(results["dmass_matrix_dq"]) == (7, 7, 7)


@pytest.mark.parametrize(
    "flags, names", [([], ("nu", "epsilon")), (["--unnormalized"], ("xi", "kappa"))]
)
def test_diagonalize_goes_there_and_back(flags: list[str], names: tuple[str, str]) -> None:
    """--inverse-transform returns the velocities and torques that diagonalize started from."""
    there = document("diagonalize", "panda", *STATE, "--tau", typed(TAU), *flags)["results"]
    starts = [word for name in names for word in (f"--{name}", typed(there[name]))]
    back = document(
        "diagonalize", "panda", "--q", typed(Q), "--inverse-transform", *flags, *starts
    )["results"]

    assert list(there)[:3] == [*names, "coriolis"]
    np.testing.assert_allclose(back["qd"], QD, rtol=0, atol=1e-13)
    np.testing.assert_allclose(back["tau"], TAU, rtol=0, atol=1e-12)


def test_units_belong_to_the_quantity() -> None:
    """Coriolis forces are efforts without the roots, and rates of roots of energy with them."""
    assert document("diagonalize", "panda")["units"]["coriolis"] == "√J/s"
    assert document("diagonalize", "panda", "--unnormalized")["units"]["coriolis"] == "N·m"


@pytest.mark.parametrize("form", [["--q", "-1,0.5"], ["--q=-1,0.5"], ["--q", " -1 , 0.5 "]])
def test_values_may_start_with_a_minus(form: list[str]) -> None:
    """A leading minus is a number's, not a flag's."""
    expected = library.inverse(library.load("two-link"), [-1.0, 0.5])

    np.testing.assert_array_equal(run_ok("inverse", "two-link", *form).numbers, [expected])


def test_named_values_and_degrees() -> None:
    """Names may have any order, omitted joints are 0, and 90deg is π/2."""
    named = run_ok("inverse", "two-link", "--q", "elbow=90deg", "--qd", "shoulder=180deg")
    plain = run_ok("inverse", "two-link", "--q", f"0,{np.pi / 2!r}", "--qd", f"{np.pi!r},0")

    assert named.out == plain.out
    assert run_ok("inverse", "two-link", "--q", "0deg,90deg", "--qd", "180deg,0").out == plain.out


def test_holding_torques_leave_an_arm_at_rest() -> None:
    """`--tau hold` cancels gravity: what is left of the acceleration is rounding."""
    falling = run_ok("forward", "panda", "--q", typed(Q)).numbers
    held = run_ok("forward", "panda", "--q", typed(Q), "--tau", "hold").numbers

    assert np.max(np.abs(falling)) > 1.0
    assert np.max(np.abs(held)) < 1e-11


def test_linearize_forward_uses_given_torques_or_accelerations() -> None:
    """Torques, the accelerations that take them, or by default those that hold the arm."""
    arm = library.load("panda")
    tau = library.inverse(arm, Q, QD, QDD).tolist()
    by_torque = document("linearize-forward", "panda", *STATE, "--tau", typed(tau))
    by_acceleration = document("linearize-forward", "panda", *STATE, "--qdd", typed(QDD))
    by_default = document("linearize-forward", "panda", "--q", typed(Q))
    held = document("linearize-forward", "panda", "--q", typed(Q), "--tau", "hold")

    assert by_torque["results"] == by_acceleration["results"]
    assert by_default["results"] == held["results"]
    assert [d["meta"]["contract"]["torque"] for d in (by_torque, by_acceleration, by_default)] == [
        "given",
        "torques for the given accelerations (inverse dynamics)",
        "holding the arm (inverse dynamics with qdd = 0)",
    ]


def test_the_contract_has_state_torque_and_algorithm() -> None:
    """The contract lists given inputs, inputs taken as zero, and the algorithm."""
    contract = document("forward", "two-link", "--q", "0,1")["meta"]["contract"]
    table = run_ok("forward", "two-link", "--q", "0,1", "--format", "table", "--assumptions").out

    assert contract["state"] == "q given, qd zero"
    assert contract["torque"] == "zero (not given)"
    assert contract["algorithm"] == "articulated bodies, O(n)"
    assert all(str(contract[key]) in table for key in ("gravity", "state", "torque", "algorithm"))


def test_assumptions_in_a_csv_pipe_are_explained() -> None:
    """CSV has no place for them; the numbers stay as they are."""
    plain, run = (run_ok("inverse", "two-link", *more) for more in ((), ("--assumptions",)))
    assert run.out == plain.out
    assert run.err == "note: CSV contains no model assumptions: use --format table or json\n"


def test_the_headline_names_the_torques_once() -> None:
    """--tau hold and the holding torques are the same."""
    ran = run_ok("forward", "two-link", "--q", "0,1", "--tau", "hold", "--format", "table")
    headline = ran.out.splitlines()[0]
    assert headline.endswith("at q = 0,1, qd = 0, tau = holding torques")


def test_the_algorithm_follows_the_arm_and_the_method() -> None:
    """Mimic joints make auto conventional; operator rejects them."""
    contract = document("linearize-forward", "panda-fingers")["meta"]["contract"]
    refused = robolin("forward", "panda-fingers", "--method", "operator")

    assert contract["algorithm"] == "Algorithm 4, O(n³)"
    assert (refused.code, refused.out) == (3, "")
    assert "'panda_finger_joint2' mimics" in refused.err


def test_provenance_reproduces_the_result() -> None:
    """The options hold every flag as typed except those of the output, files by base name."""
    flags = ["--q", "0,1", "--lock", "elbow=1", "--no-damping", "--gravity", "0"]
    meta = document("inverse", "two-link", "--payload", "tip:1", "--payload", "tip:2@0,0,1", "-q")[
        "meta"
    ]
    other = document("inverse", "two-link", *flags[2:])["meta"]

    assert meta["options"] == {"arm": "two-link", "payload": ["tip:1", "tip:2@0,0,1"]}
    assert other["options"] == {
        "arm": "two-link",
        "gravity": "0",
        "lock": ["elbow=1"],
        "no-damping": True,
    }
    assert meta["inputs"] == {"two-link": library.load("two-link").digest}


def test_model_flags_are_the_librarys_keywords() -> None:
    """The same options give the same arm, by flags and by keywords."""
    flags = ["--gravity", "1,2,3", "--tip", "panda_link6", "--lock", "panda_joint2=90deg"]
    flags += ["--payload", "panda_link5:2@0,0.1,0", "--wrench", "panda_link4=1,2,3,4,5,6"]
    flags += ["--wrench-frame", "dead", "--no-damping", "--armature", "panda_joint1=0.3"]
    flags += ["--base", "panda_link0", "--friction-velocity", "0.1"]
    arm = library.load(
        "panda",
        gravity=(1, 2, 3),
        base="panda_link0",
        tip="panda_link6",
        lock={"panda_joint2": np.pi / 2},
        payload=("panda_link5", 2, (0, 0.1, 0)),
        wrench={"panda_link4": (1, 2, 3, 4, 5, 6)},
        wrench_frame="dead",
        damping=False,
        friction_velocity=0.1,
        armature={"panda_joint1": 0.3},
    )
    q, qd = Q[: arm.n], QD[: arm.n]
    ran = run_ok("inverse", "panda", *flags, "--q", typed(q), "--qd", typed(qd), "-q")

    np.testing.assert_array_equal(ran.numbers, [library.inverse(arm, q, qd)])


def test_joint_order_applies_to_input_and_output() -> None:
    """--joints reverses both."""
    usual = run_ok("inverse", "two-link", "--q", "0.1,0.2")
    turned = run_ok("inverse", "two-link", "--q", "0.2,0.1", "--joints", "elbow,shoulder")

    assert turned.rows[0] == usual.rows[0][::-1]
    assert turned.rows[1] == usual.rows[1][::-1]


def test_an_arm_from_standard_input() -> None:
    """`-` reads the arm, and the provenance calls it stdin."""
    text = (Path(__file__).parents[2] / "models" / "two-link.yaml").read_bytes()
    printed = document("inverse", "-", stdin=text)

    assert printed["results"] == document("inverse", "two-link")["results"]
    assert list(printed["meta"]["inputs"]) == ["stdin"]


def test_quiet_and_verbose() -> None:
    """-q leaves stderr empty; -v of a forward verb adds the condition of the mass matrix."""
    condition = np.linalg.cond(library.mass_matrix(library.load("two-link"), 0.0))

    assert run_ok("inverse", "ur5").err
    assert run_ok("inverse", "ur5", "-q").err == ""
    assert run_ok("forward", "two-link", "-v").err == f"note: cond(M) = {condition:.3g}\n"
    assert run_ok("inverse", "two-link", "-v").err == ""


def test_strict_rejects_files_with_warnings() -> None:
    """A file with warnings of `validate` is rejected under --strict."""
    ran = robolin("inverse", "ur5", "--strict")

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.count("error: ") == 2


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.npz", "out.parquet"])
def test_files_are_written_and_stdout_stays_empty(name: str, tmp_path: Path) -> None:
    """-o picks the writer by extension, and the same command writes the same bytes."""
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        assert run_ok("linearize-forward", "two-link", "-o", folder / name).out == ""

    assert (first / name).read_bytes() == (second / name).read_bytes() != b""


def test_a_joint_without_inertia_is_named() -> None:
    """A forward verb on a massless arm fails naming the joint; the inverse verb works."""
    massless = b"""robolin: 1
name: ghost
joints: [{name: turn, type: continuous, parent: base, child: a, axis: [0, 0, 1]}]
links: [{name: a}]
"""
    forward = robolin("forward", "-", stdin=massless)

    assert (forward.code, forward.out) == (3, "")
    assert "joint 'turn' moves no inertia" in forward.err
    assert run_ok("inverse", "-", stdin=massless).numbers == [[0.0]]


@pytest.mark.parametrize(
    "arm, code, says",
    [
        ("nowhere.urdf", 4, "nowhere.urdf: file not found"),
        ("pnda", 4, "did you mean 'panda'?"),
        ("", 2, "the name of the robot is empty"),
        ("arm.xacro", 4, "file not found"),
    ],
)
def test_an_arm_that_cannot_be_read(arm: str, code: int, says: str) -> None:
    """A missing file is exit code 4, with the likeliest name."""
    ran = robolin("inverse", arm)

    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
