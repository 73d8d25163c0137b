"""assert_matches and the plugin for pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.robot_source import bundled_path
from robolin.errors import UsageError
from robolin.testing import assert_matches
from tests.cli.command import environment, run_ok

Q = [0.3, -0.7]


@pytest.fixture
def arm() -> robolin.Arm:
    return robolin.load("two-link")


def store(result: object, path: Path, **options: object) -> Path:
    """Store a result by a first call with `update`."""
    with pytest.raises(AssertionError, match="stored; run again"):
        assert_matches(result, path, update=True, **options)
    return path


@pytest.mark.parametrize("form", ["npz", "csv", "json", "parquet"])
def test_a_result_matches_itself(tmp_path: Path, arm: robolin.Arm, form: str) -> None:
    """A stored result matches, for every kind of result and in every format."""
    poses = np.random.default_rng(1).uniform(-1, 1, (5, 2))
    results = {
        "state": robolin.linearize_forward(arm, Q),
        "batch": robolin.linearize_forward(arm, poses),
        "named": {
            "tau": robolin.inverse(arm, poses),
            "mass_matrix": robolin.mass_matrix(arm, poses),
        },
        "own": {"what": np.arange(6.0).reshape(2, 3)},
        "motion": robolin.simulate(arm, Q, duration=0.005),
        "motions": robolin.simulate(arm, poses, duration=0.005, control=robolin.RateControl()),
        "timed": {"time": [0.0, 0.1], "own": [1, 2], "flags": [[True, False], [False, False]]},
    }
    for name, result in results.items():
        path = store(result, tmp_path / f"{name}.{form}", arm=arm)
        assert_matches(result, path)
        assert_matches(result, path, arm=arm)


def test_a_difference_is_reported_as_by_check(tmp_path: Path, arm: robolin.Arm) -> None:
    """The failure has the line of `robolin check`: row, joint, values, unit, share, tolerance."""
    tau = robolin.inverse(arm, np.tile(Q, (3, 1)))
    path = store({"tau": tau}, tmp_path / "tau.npz", arm=arm)
    tau[1, 1] *= 1.001
    with pytest.raises(AssertionError) as caught:
        assert_matches({"tau": tau}, path, rtol=1e-4)
    assert "  row 2, elbow/effort: 4.5178 → 4.5223 N·m, 0.1 %, allowed 0.01 %" in str(caught.value)
    assert_matches({"tau": tau}, path, rtol=1e-2)
    assert_matches({"tau": tau}, path, atol=1e-2)


def test_the_failure_names_changes_of_the_model(tmp_path: Path, arm: robolin.Arm) -> None:
    """With the arm given, the failure lists changes of the model."""
    path = store({"tau": robolin.inverse(arm, Q)}, tmp_path / "tau.npz", arm=arm)
    source = bundled_path("two-link")
    assert source is not None
    other = tmp_path / "two-link.yaml"
    other.write_text(source.read_text().replace("mass: 1\n", "mass: 1.1\n", 1))
    heavier = robolin.load(other)
    with pytest.raises(AssertionError, match=r"link \w+: mass 1 → 1\.1 kg \(\+10 %\)"):
        assert_matches({"tau": robolin.inverse(heavier, Q)}, path, arm=heavier)


def test_a_tolerance_is_stored_with_the_result(tmp_path: Path, arm: robolin.Arm) -> None:
    """A tolerance given when storing applies to later calls without a tolerance."""
    tau = robolin.inverse(arm, Q)
    path = store({"tau": tau}, tmp_path / "tau.npz", rtol=1e-3)
    assert_matches({"tau": tau * 1.0001}, path)
    with pytest.raises(AssertionError):
        assert_matches({"tau": tau * 1.0001}, path, rtol=0.0)
    # the tolerance is kept when the result is replaced
    with pytest.raises(AssertionError, match="updated; run again"):
        assert_matches({"tau": tau * 2.0}, path, update=True)
    assert_matches({"tau": tau * 2.0001}, path)


def test_updating_never_passes(tmp_path: Path, arm: robolin.Arm) -> None:
    """The call that replaces the stored result fails, the next call passes."""
    tau = robolin.inverse(arm, Q)
    path = store({"tau": tau}, tmp_path / "deep" / "tau.npz", arm=arm)
    with pytest.raises(AssertionError, match="updated; run again"):
        assert_matches({"tau": 2 * tau}, path, arm=arm, update=True)
    assert_matches({"tau": 2 * tau}, path, update=True)


def test_files_of_record_are_compared_and_not_overwritten(tmp_path: Path, arm: robolin.Arm) -> None:
    """A file written by `robolin record` is compared, and never overwritten."""
    path = tmp_path / "tau.npz"
    run_ok("record", "inverse", "two-link", "--q", "0.3,-0.7", "-o", path)
    assert_matches(robolin.inverse(arm, Q), path)
    assert_matches(robolin.inverse(arm, Q), path, arm=arm)
    with pytest.raises(UsageError, match="the stored result is a result of `robolin inverse`"):
        assert_matches(robolin.inverse(arm, [0, 0]), path, update=True)


def test_a_missing_reference_is_a_failure(tmp_path: Path) -> None:
    """The failure names the command that stores the reference."""
    with pytest.raises(AssertionError, match="--robolin-update"):
        assert_matches({"tau": np.zeros(2)}, tmp_path / "none.npz")
    with pytest.raises(UsageError, match="every stored array must have a name"):
        assert_matches(np.zeros(2), tmp_path / "none.npz", update=True)
    with pytest.raises(UsageError, match="unknown file extension"):
        assert_matches({"tau": np.zeros(2)}, tmp_path / "none.txt", update=True)


def test_complex_numbers_are_stored_and_compared(tmp_path: Path) -> None:
    """Poles match themselves, and not those with another imaginary part."""
    poles, path = {"poles": np.array([-1 + 2j, -1 - 2j])}, tmp_path / "poles.json"
    with pytest.raises(AssertionError, match="stored; run again"):
        assert_matches(poles, path, update=True)
    assert_matches(poles, path)
    with pytest.raises(AssertionError, match=r"poles/2: -1-2j → -1-3j"):
        assert_matches({"poles": np.array([-1 + 2j, -1 - 3j])}, path)


WRONG = {
    "text": ({"x": "hello"}, "'x' must contain numbers"),
    "nothing": ({}, "no array to store"),
    "time alone": ({"time": [0.0, 1.0]}, "no array to store"),
    "name": ({"größe": [1.0]}, "'größe' is not a valid array name"),
    "rows": (
        {"time": [0.0, 1.0], "x": [1.0, 2.0, 3.0]},
        r"'x' must have batch shape .*, got \(3,\)",
    ),
    "batches": (
        {"tau": np.zeros((3, 2)), "time": [0.0, 1.0]},
        r"all arrays must have the same batch shape, got \(3,\) and \(2,\)",
    ),
}


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_unsupported_results_are_rejected(tmp_path: Path, arm: robolin.Arm, case: str) -> None:
    """Nothing is dropped, cut or stored under a wrong name; the error names the mistake."""
    result, message = WRONG[case]
    path = tmp_path / "x.npz"
    with pytest.raises(UsageError, match=message):
        assert_matches(result, path, arm=arm, update=True)
    assert not path.exists()


def test_infinity_does_not_match_a_number(tmp_path: Path) -> None:
    """A result that became infinite, or finite, is reported with any tolerance."""
    path = store({"x": [np.inf, 1.0]}, tmp_path / "x.npz")
    assert_matches({"x": [np.inf, 1.0]}, path, rtol=1e-3)
    with pytest.raises(AssertionError, match=r"  x/1: inf → 5 , not finite, allowed 0\.1 %"):
        assert_matches({"x": [5.0, 1.0]}, path, rtol=1e-3)


@pytest.mark.parametrize("form, value", [("json", np.inf), ("json", np.nan), ("csv", -np.inf)])
def test_formats_reject_numbers_they_cannot_store(tmp_path: Path, form: str, value: float) -> None:
    """JSON and CSV reject NaN and infinity; NPZ and Parquet store them."""
    path = tmp_path / f"x.{form}"
    with pytest.raises(UsageError, match=f"a number that {form.upper()} cannot represent"):
        assert_matches({"x": [value]}, path, update=True)
    assert not path.exists()
    for other in ("npz", "parquet"):
        assert_matches({"x": [value]}, store({"x": [value]}, tmp_path / f"y.{other}"))


def test_links_of_a_floating_arm_have_names(tmp_path: Path) -> None:
    """Arrays over links are named by the real links, not by the virtual links of the base."""
    arm = robolin.load("panda", floating_base=True)
    arrays = {"link_acceleration": np.zeros((len(arm.link_names), 6))}
    path = store(arrays, tmp_path / "links.npz", arm=arm)
    name = f"link_acceleration/{arm.link_names[0]}/rx"
    arrays["link_acceleration"][0, 0] = 1.0
    with pytest.raises(AssertionError, match=f"{name}: 0 → 1"):
        assert_matches(arrays, path, arm=arm)


def test_another_shape_is_a_difference(tmp_path: Path, arm: robolin.Arm) -> None:
    """Missing rows and missing arrays are reported."""
    path = store(robolin.linearize_forward(arm, np.zeros((3, 2))), tmp_path / "a.npz", arm=arm)
    with pytest.raises(AssertionError, match="rows: 3 → 2"):
        assert_matches(robolin.linearize_forward(arm, np.zeros((2, 2))), path)
    with pytest.raises(AssertionError, match="array qdd: missing in the new result"):
        assert_matches({"dqdd_dq": robolin.linearize_forward(arm, np.zeros((3, 2))).dqdd_dq}, path)


def run_pytest(folder: Path, *flags: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode()


@pytest.mark.slow
def test_the_plugin_gives_pytest_a_flag(tmp_path: Path) -> None:
    """A project with the plugin can update its results; without the plugin the flag is unknown."""
    (tmp_path / "test_arm.py").write_text(
        "import robolin\n"
        "from robolin.testing import assert_matches\n\n\n"
        "def test_holding():\n"
        "    tau = robolin.inverse(robolin.load('two-link'), [0.3, -0.7])\n"
        "    assert_matches({'tau': tau}, 'tau.json')\n"
    )
    code, _ = run_pytest(tmp_path, "--robolin-update")
    assert code == 4
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["robolin.testing"]\n')
    code, out = run_pytest(tmp_path)
    assert code == 1
    assert "run pytest with --robolin-update" in out
    assert run_pytest(tmp_path, "--robolin-update")[0] == 1
    assert run_pytest(tmp_path)[0] == 0


@pytest.mark.parametrize("form", ["npz", "csv", "json", "parquet"])
def test_a_result_is_stored_with_its_question(tmp_path: Path, form: str) -> None:
    """A result of `robolin.answer` is compared, updated, and recomputed by `check`."""
    source, file = bundled_path("two-link"), tmp_path / "arm.yaml"
    assert source is not None

    def answer_with(mass: str) -> robolin.Result:
        file.write_text(source.read_text().replace("mass: 1\n", f"mass: {mass}\n", 1))
        return robolin.answer(robolin.load(file), "inverse", robolin.States(q=Q))

    result = answer_with("1")
    path = store(result, tmp_path / "new" / f"answer.{form}")
    assert_matches(result, path)
    run_ok("check", path)

    other = answer_with("1.1")
    with pytest.raises(AssertionError, match="differs"):
        assert_matches(other, path)
    with pytest.raises(AssertionError, match="updated; run again"):
        assert_matches(other, path, update=True)
    assert_matches(other, path)
    run_ok("check", path)


@pytest.mark.parametrize("changed", ["payload", "q"])
def test_a_result_does_not_replace_that_of_another_question(tmp_path: Path, changed: str) -> None:
    """A recorded file keeps its question, also for another result of the same verb."""
    path = tmp_path / "tau.npz"
    run_ok("record", "inverse", "two-link", "--q", "0.3,-0.7", "-o", path)
    before = path.read_bytes()
    arm = robolin.load("two-link", payload=("tip", 0.5) if changed == "payload" else None)
    q = [0.0, 0.0] if changed == "q" else Q
    with pytest.raises(UsageError, match=f"other options: option {changed}") as caught:
        assert_matches(robolin.answer(arm, "inverse", robolin.States(q=q)), path, update=True)
    assert f"robolin check {path} --update" in caught.value.hint
    assert path.read_bytes() == before


def test_a_failure_names_no_option_of_another_command(tmp_path: Path) -> None:
    """Entries beyond those shown are counted, without a flag that pytest does not have."""
    path = store({"x": np.zeros(30)}, tmp_path / "x.npz")
    with pytest.raises(AssertionError) as caught:
        assert_matches({"x": np.ones(30)}, path)
    assert str(caught.value).endswith("… 10 more entries differ")


def test_rounding_is_counted_separately_from_real_differences(tmp_path: Path) -> None:
    """A heavier upper arm of the UR5 changes three accelerations; the others only by rounding."""
    path = store(robolin.answer(robolin.load("ur5"), "forward"), tmp_path / "qdd.npz")
    text = bundled_path("ur5").read_text()
    (tmp_path / "ur5.urdf").write_text(text.replace('"8.393"', '"8.4"'))
    heavier = robolin.load(tmp_path / "ur5.urdf")
    with pytest.raises(AssertionError) as caught:
        assert_matches({"qdd": robolin.forward(heavier, np.zeros(6))}, path, arm=heavier)
    text = str(caught.value)
    assert text.endswith("… 3 entries differ by round-off only")
    for joint in ("shoulder_pan", "wrist_2", "wrist_3"):
        assert f"{joint}_joint/acceleration" not in text
    for joint in ("shoulder_lift", "elbow", "wrist_1"):
        assert f"{joint}_joint/acceleration" in text
