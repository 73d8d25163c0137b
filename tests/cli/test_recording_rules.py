"""Rules for recordings apply wherever one is read, and are stored with the result."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

TIME = np.arange(12) * 0.01
Q = np.c_[np.sin(3 * TIME), np.cos(2 * TIME)].round(9)
QD = np.c_[3 * np.cos(3 * TIME), -2 * np.sin(2 * TIME)].round(9)
TAU = np.c_[TIME, 1 - TIME].round(9)
WORDS = ("position", "velocity", "effort")


def stdout_of(*words: str) -> str:
    return run_ok(*words).out


def table(names: list[str], time: list[object], *columns: np.ndarray) -> str:
    rows = zip(time, np.concatenate(columns, axis=1).tolist(), strict=True)
    lines = [",".join([str(t), *map(repr, row)]) for t, row in rows]
    return "\n".join([",".join(names), *lines]) + "\n"


def named(pattern: str, *words: str) -> list[str]:
    return [pattern.format(j=j, w=w) for w in words for j in ("shoulder", "elbow")]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    native = ["time", *named("{j}/{w}", *WORDS)]
    Path("n.csv").write_text(table(native, TIME.tolist(), Q, QD, TAU))
    stamps = [10**9 + round(1000 * t) for t in TIME]
    names = ["clock", *named("{j} {w}", *WORDS)]
    degrees = np.degrees(Q), np.degrees(QD), TAU
    Path("told.csv").write_text(table(names, stamps, *degrees))


RULES = ["--time", "clock", "--time-unit", "ms", "--degrees"]
RULES += [x for w in WORDS for x in ("--columns", f"{w}={{joint}} {w}")]
VERBS = {
    "sensitivity": ["sensitivity", "two-link", "--perturb", "dq=elbow=0.01", "--trajectory"],
    "torques": ["simulate", "two-link", "--duration", "0.05", "--trajectory"],
    "initial": ["simulate", "two-link", "--duration", "0.01", "--initial"],
    "follow": ["simulate", "two-link", "--duration", "0.05", "--control", "pd", "--follow"],
    "time-varying": ["lqr", "two-link", "--time-varying", "--dt", "0.01", "--trajectory"],
    "regressor": ["regressor", "two-link", "--rank", "--trajectory"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_rules_apply_wherever_a_recording_is_read(verb):
    """Every verb gives the result of the native file for a recording with rules."""
    stdout_of(*VERBS[verb], "n.csv", "-o", "n.npz")
    stdout_of(*VERBS[verb], "told.csv", *RULES, "-o", "told.npz")
    expected, with_rules = (library.read_result(f"{name}.npz") for name in ("n", "told"))
    assert with_rules.meta["options"]["time-unit"] == "ms"
    for name, array in expected.arrays.items():
        if name != "time" or verb in ("torques", "follow"):
            # the conversion to degrees and back rounds, and a controlled motion amplifies this
            assert np.allclose(with_rules.arrays[name], array, rtol=1e-9, atol=1e-11), name


def test_diff_reads_with_the_same_rules():
    """`diff --torques` finds the same changes, and lists ignored columns."""
    arm = Path("arm.yaml")
    arm.write_text(stdout_of("models", "--show", "two-link"))
    Path("heavy.yaml").write_text(re.sub(r"mass: [0-9.]+", "mass: 7.5", arm.read_text()))
    lines = ["diff", "arm.yaml", "heavy.yaml", "--format", "json", "--torques"]
    expected, with_rules = robolin(*lines, "n.csv"), robolin(*lines, "told.csv", *RULES)
    assert (expected.code, with_rules.code) == (1, 1), with_rules.err
    want, have = (json.loads(ran.out)["torques"] for ran in (expected, with_rules))
    for one, other in zip(want, have, strict=True):
        numbers = [key for key, value in one.items() if isinstance(value, float)]
        assert np.allclose([one[k] for k in numbers], [other[k] for k in numbers], rtol=1e-9)
    assert robolin("diff", "two-link", "two-link", "--degrees").code == 2


def test_the_contract_names_derived_values():
    """Derived velocities and accelerations are named in the contract, with the method."""
    Path("q.csv").write_text(table(["time", *named("{j}/{w}", "position")], TIME.tolist(), Q))
    line = ["inverse", "two-link", "--trajectory", "q.csv", "--differentiate", "central"]
    meta = json.loads(stdout_of(*line, "--format", "json"))["meta"]
    assert meta["contract"]["state"] == "12 rows of q.csv: q given, qd and qdd derived"
    assert "central differences of second order" in meta["contract"]["differentiated"]
    ran = robolin(*line)
    assert "set to 0" not in ran.err
    assert robolin(*line, "-o", "x.npz").code == 0
    assert robolin("check", "x.npz").code == 0


@pytest.mark.parametrize("form", ["csv", "npz", "parquet", "json"])
def test_passthrough_columns_are_unchanged(form):
    """A passed-through column is unchanged in the result; integers stay integers."""
    names = ["time", *named("{j}/{w}", "position"), "mode", "width"]
    mode, width = np.arange(12) + 2**60, np.linspace(0, 1, 12).round(6)
    rows = zip(TIME.tolist(), *Q.T.tolist(), mode.tolist(), width.tolist(), strict=True)
    text = "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)])
    Path("c.csv").write_text(text + "\n")
    line = ["mass-matrix", "two-link", "--trajectory", "c.csv", "--carry", "mode"]
    ran = robolin(*line, "--carry", "width", "-o", f"x.{form}")
    assert ran.code == 0, ran.err
    assert "unused columns" not in ran.err
    stored = library.read_result(f"x.{form}").arrays
    assert stored["mode"].tolist() == mode.tolist()
    assert stored["width"].tolist() == width.tolist()
    assert robolin("check", f"x.{form}").code == 0


def test_names_that_are_taken_do_not_go_along():
    """A column that is called as a column of the result is rejected, not doubled."""
    ran = robolin("inverse", "two-link", "--trajectory", "n.csv", "--carry", "elbow/effort")
    assert (ran.code, "has the same name" in ran.err) == (2, True)


def test_an_empty_passthrough_cell_keeps_the_result_of_its_row():
    """With --on-bad-row nan, an empty passed-through cell keeps the result of its row."""
    names = ["time", *named("{j}/{w}", "position"), "width"]
    text = table(names, TIME.tolist(), Q, TAU[:, :1]).replace(",0.03\n", ",\n")
    Path("c.csv").write_text(text)
    line = ["inverse", "two-link", "--trajectory", "c.csv", "--carry", "width", "--format", "csv"]
    assert robolin(*line).code == 3
    ran = robolin(*line, "--on-bad-row", "nan")
    assert (ran.code, ran.out.splitlines()[4].count("NaN")) == (0, 1)


@pytest.mark.parametrize(("cells", "rest"), [(2, ",0."), (3, ""), (5, ","), (4, ",-")])
def test_a_last_line_that_is_cut_off_is_one_bad_row(cells, rest):
    """If a recording stops in the middle of a line, only that row has no result."""
    *before, last = Path("n.csv").read_text().splitlines()
    Path("cut.csv").write_text("\n".join([*before, ",".join(last.split(",")[:cells]) + rest]))
    line = ["inverse", "two-link", "--trajectory", "cut.csv", "--format", "csv"]
    ran = robolin(*line)
    assert (ran.code, "the last line is incomplete" in ran.err) == (3, True), ran.err
    ran = robolin(*line, "--on-bad-row", "nan")
    expected = stdout_of("inverse", "two-link", "--trajectory", "n.csv", "--format", "csv")
    assert ran.out.splitlines()[:-1] == expected.splitlines()[:-1]
    assert ran.out.splitlines()[-1] == "0.11,NaN,NaN"


STATE = """\
q: {shoulder: 30deg, elbow: -pi/4}
qd: [0.5, 1]
acceleration: {elbow: 2}
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pose.yaml", STATE),
        ("pose.toml", 'q = {shoulder = "30deg", elbow = "-pi/4"}\nqd = [0.5, 1]\nqdd = "0,2"\n'),
    ],
)
def test_a_state_in_a_file_is_the_state_typed(name, text):
    """--state FILE has the bytes of the same state by flags, and is recorded as that."""
    Path(name).write_text(text)
    line = ["inverse", "two-link", "--format", "csv"]
    typed = ["--q", "shoulder=30deg,elbow=-pi/4", "--qd", "0.5,1", "--qdd", "elbow=2"]
    assert stdout_of(*line, "--state", name) == stdout_of(*line, *typed)
    assert robolin("inverse", "two-link", "--state", name, "-o", "x.npz").code == 0
    Path(name).unlink()
    assert robolin("check", "x.npz").code == 0


REFUSED = [
    ("q: {elbow: 1}", ("--q", "0,0"), 2, "cannot be used with --q"),
    ("speed: 1", (), 3, "unknown state quantity 'speed'"),
    ("q: {wrist: 1}", (), 2, "wrist"),
    ("q: [1, [2]]", (), 3, "nested"),
    ("- 1", (), 3, "must be a mapping"),
    ("q: 1\nposition: 2", (), 3, "given twice"),
    ("q: {a: '1,2'}", (), 3, "must have one number per joint"),
    ("", (), 3, "the file is empty"),
]


@pytest.mark.parametrize(("text", "flags", "code", "message"), REFUSED, ids=range(len(REFUSED)))
def test_invalid_states_are_rejected(text, flags, code, message):
    """A state file with unknown or repeated keys is rejected with the reason."""
    Path("pose.yaml").write_text(text)
    ran = robolin("inverse", "two-link", "--state", "pose.yaml", *flags)
    assert (ran.code, message in ran.err) == (code, True), ran.err
