"""Closed loops on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok


def results_of(*args: str) -> dict[str, list[float]]:
    """The arrays of a result."""
    return json.loads(run_ok(*args, "--format", "json").out)["results"]


def closed() -> tuple[library.Arm, library.Closed]:
    arm = library.load("four-bar")
    return arm, library.close(arm, [0.5, 0, 0], hold="drive")


def test_forward_gives_the_forces_of_closures() -> None:
    """Accelerations, forces by name, the rank and the rows that count, as from Python."""
    arm, state = closed()
    results = results_of(
        "forward", "four-bar", "--q", "drive=0.5", "--close", "drive", "--tau", "1,0,0"
    )
    true = library.loop_forces(arm, state.q, 0.0, [1.0, 0.0, 0.0])

    assert results["q"] == state.q.tolist()
    assert results["qdd"] == true.qdd.tolist()
    assert results["lam"] == true.lam.tolist()
    assert (results["rank"], results["kept"]) == (2.0, [1.0, 1.0, 0.0])


def test_columns_carry_the_names_of_closures() -> None:
    """CSV names the joint, or the closure and its component."""
    ran = run_ok("forward", "four-bar")
    assert ran.rows[0][3:7] == ["lam/pin/fx", "lam/pin/fy", "lam/pin/fz", "rank"]


@pytest.mark.parametrize("method", ["kkt", "schur", "null-space"])
def test_methods_give_the_same(method: str) -> None:
    """--loop-method selects the solver, and the contract names it."""
    state = ("--q", "0.1,0,0", "--close", "least", "--tau", "1,2,3")
    args = ("linearize-forward", "four-bar", *state)
    by_method, true = results_of(*args, "--loop-method", method), results_of(*args)

    for name in ("qdd", "lam", "dqdd_dq", "dlam_dq", "dlam_dqd", "dlam_dtau"):
        np.testing.assert_allclose(by_method[name], true[name], rtol=1e-12, atol=1e-12)


def test_linearize_forward_holds_the_arm() -> None:
    """Without --tau an arm with loops at rest stays at rest, its closures bearing nothing."""
    results = results_of("linearize-forward", "five-bar")
    np.testing.assert_allclose(results["qdd"], 0.0, atol=1e-12)
    np.testing.assert_allclose(results["lam"], 0.0, atol=1e-12)


def test_perturbations_of_closed_loops() -> None:
    """--perturb is the model times the change."""
    model = results_of("linearize-forward", "four-bar")
    results = results_of("linearize-forward", "four-bar", "--perturb", "dtau=1,0,0")
    np.testing.assert_allclose(results["dqdd"], np.array(model["dqdd_dtau"])[:, 0], atol=1e-14)


def test_changes_are_closed_too() -> None:
    """--close projects a perturbation onto the loops; the result is the model along it."""
    start = ("--q", "drive=0.5", "--qd", "drive=1", "--close", "drive", "--tau", "1,0,0")
    model = results_of("linearize-forward", "four-bar", *start)
    results = results_of("linearize-forward", "four-bar", *start, "--perturb", "dq=drive=1")
    arm, state = library.load("four-bar"), (model["q"], model["qd"])
    change = library.close_change(arm, *state, [1, 0, 0], hold="drive")

    assert (results["dq"], results["dqd"]) == (change.dq.tolist(), change.dqd.tolist())
    expected = model["dqdd_dq"] @ change.dq + model["dqdd_dqd"] @ change.dqd
    np.testing.assert_allclose(results["dqdd"], expected, rtol=1e-12)


def test_tree_results_are_marked() -> None:
    """count and jacobian use the tree of an arm with loops, and state it."""
    assert "3 joints, without loop closures" in run_ok("count", "forward", "four-bar").out
    args = ("jacobian", "four-bar", "--frame", "rocker", "--format", "json")
    contract = json.loads(run_ok(*args).out)["meta"]["contract"]
    assert "as in the tree" in contract["loops"]


REFUSED = [
    (
        ("linearize-forward", "four-bar", "--perturb", "dq=1,0,0"),
        3,
        "the closure of loop 'pin' changes by 1.2 m (2 of 3 equations are violated)",
        "--close",
    ),
    (
        ("linearize-forward", "four-bar", "--perturb", "dqd=1,0,0"),
        3,
        "violation of 1.2 m/s",
        "--close",
    ),
    (
        ("forward", "four-bar", "--method", "operator"),
        2,
        "--method: 'operator' supports kinematic trees only, and the robot has closed loops",
        "--loop-method",
    ),
    (
        ("bench", "four-bar"),
        3,
        "four-bar: bench supports kinematic trees only; this robot has closed loops: 'pin'",
        "--open-loops",
    ),
    (
        ("diagonalize", "four-bar", "--curvature"),
        3,
        "four-bar: curvature supports kinematic trees only; this robot has closed loops: 'pin'",
        "--open-loops",
    ),
    (
        ("forward", "four-bar", "--q", "0.1,0,0"),
        3,
        "of loop 'pin' has a constraint violation of 0.115 m (2 of 3 equations are violated)",
        "--close",
    ),
    (("forward", "four-bar", "--qd", "1,0,0"), 3, "violation of 1.2 m/s", "--close"),
    (
        ("forward", "four-bar", "--close", "drve"),
        2,
        "--close: unknown joint 'drve'",
        "did you mean 'drive'?",
    ),
    (
        ("forward", "two-link", "--close", "least"),
        2,
        "--close: the robot has no closed loops",
        "--open-loops",
    ),
    (
        ("forward", "two-link", "--loop-method", "kkt"),
        2,
        "--loop-method: the robot has no closed loops",
        "--open-loops",
    ),
    (
        ("forward", "four-bar", "--q", "0.1,0,0", "--close", "drive,knee"),
        3,
        "loop 'pin' cannot be closed from this position: the constraint violation is 0.115 m",
        "hold other joints",
    ),
    (
        ("inverse", "four-bar"),
        3,
        "four-bar: inverse supports kinematic trees only; this robot has closed loops: 'pin'",
        "--open-loops",
    ),
    (
        ("mass-matrix", "four-bar"),
        3,
        "four-bar: mass-matrix supports kinematic trees only; this robot has closed loops: 'pin'",
        "--open-loops",
    ),
    (
        ("linearize-inverse", "four-bar"),
        3,
        "linearize-inverse supports kinematic trees only; this robot has closed loops: 'pin'",
        "--open-loops",
    ),
    (
        ("diagonalize", "five-bar"),
        3,
        "five-bar: diagonalize supports kinematic trees only; this robot has closed loops: 'hand'",
        "--open-loops",
    ),
    (
        ("simulate", "four-bar", "--q", "0.1,0,0", "--duration", "1"),
        3,
        "of loop 'pin' has a constraint violation of 0.115 m (2 of 3 equations are violated)",
        "--close",
    ),
    (
        ("simulate", "two-link", "--duration", "1", "--baumgarte", "1,1"),
        2,
        "--baumgarte: the robot has no closed loops",
        "--open",
    ),
]


@pytest.mark.parametrize("args, code, says, hint", REFUSED, ids=lambda x: str(x)[:40])
def test_invalid_requests_are_rejected(
    args: tuple[str, ...], code: int, says: str, hint: str
) -> None:
    """States off their closures and questions about trees end with what is wrong and what to do."""
    ran = robolin(*args)
    assert (ran.code, ran.out) == (code, "")
    message, advice = ran.err.splitlines()
    assert message.startswith("error: ")
    assert says in message
    assert hint in advice


@pytest.mark.parametrize("verb", ["inverse", "mass-matrix", "linearize-inverse", "diagonalize"])
def test_open_loops_make_every_verb_work(verb: str) -> None:
    """--open-loops leaves the tree, and the contract states it."""
    ran = run_ok(verb, "four-bar", "--open-loops", "--format", "json")
    contract = json.loads(ran.out)["meta"]["contract"]
    assert contract["loops"] == "open as requested: pin"


def test_inspect_lists_closures() -> None:
    """Text and JSON list the loop-closure constraints."""
    text = run_ok("inspect", "four-bar").out
    document = json.loads(run_ok("inspect", "four-bar", "--format", "json").out)

    assert "Loop-closure constraints" in text
    assert document["loops"] == [
        {
            "name": "pin",
            "kind": "point",
            "first": "coupler_end",
            "second": "rocker_end",
            "equations": 3,
        }
    ]
    assert "Closures" not in run_ok("inspect", "two-link").out


def test_trajectories_are_closed_row_by_row(tmp_path: Path) -> None:
    """Closed rows have results; a row that cannot be closed is an error, or NaN."""
    file = tmp_path / "rows.csv"
    file.write_text("drive/position,knee/position,pivot/position\n0,0,0\n0.5,0,0\n0.1,-3,9\n")
    args = ("forward", "four-bar", "--trajectory", str(file))
    arm, state = closed()

    ran = robolin(*args)
    assert ran.code == 3
    assert "rows.csv:3" in ran.err
    ran = run_ok(*args, "--close", "drive", "--on-bad-row", "nan")
    rows = np.array(ran.numbers)
    np.testing.assert_allclose(rows[1, :3], library.forward(arm, state.q), rtol=1e-9)
    tolerated = np.array(run_ok(*args, "--on-bad-row", "nan").numbers)
    assert np.isfinite(tolerated[0]).all()
    assert np.isnan(tolerated[1:]).all()


def test_rows_without_sense_do_not_spoil_changes(tmp_path: Path) -> None:
    """A change is closed in every row that has a state, and NaN in the others."""
    file = tmp_path / "rows.csv"
    file.write_text("drive/position,knee/position,pivot/position\n0,0,0\nnan,0,0\n")
    change = ("--perturb", "dq=drive=1", "--close", "drive", "--on-bad-row", "nan")
    args = ("linearize-forward", "four-bar", "--trajectory", str(file), *change)
    first, second = run_ok(*args).numbers

    alone = first_row("linearize-forward", "four-bar", *change[:4])
    # rows have the accelerations and torques of their point besides
    assert first[: len(alone)] == alone
    assert len(first) == len(alone) + 6
    assert np.isnan(second).all()


def first_row(*args: str) -> list[float]:
    return run_ok(*args).numbers[0]


def test_a_simulation_is_a_trajectory_of_closed_states(tmp_path: Path) -> None:
    """forward reads the output of simulate, and finds closed states with the same motion."""
    file = tmp_path / "motion.csv"
    start = ("--q", "drive=0.5", "--close", "drive")
    run_ok("simulate", "four-bar", *start, "--duration", "0.01", "-o", str(file))
    moved = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
    forward = run_ok("forward", "four-bar", "--trajectory", str(file))

    np.testing.assert_allclose(
        [row[1] for row in forward.numbers], moved["drive/acceleration"], rtol=1e-12
    )
    ran = run_ok(
        "simulate",
        "four-bar",
        *start,
        "--duration",
        "0.01",
        "--baumgarte",
        "20,20",
        "--format=json",
    )
    contract = json.loads(ran.out)["meta"]["contract"]
    assert contract["closures"].startswith("Baumgarte stabilisation")
