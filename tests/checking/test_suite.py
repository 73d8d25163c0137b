"""Suite files: the cases of a project, read from TOML."""

from __future__ import annotations

from pathlib import Path

import pytest

from robolin.checking.differences import Tolerance
from robolin.checking.suite import find_suite, line_of, read_suite
from robolin.errors import RobolinError

GOOD = """
rtol = 1e-9

[[case]]
name = "holding"
verb = "inverse"
arm = "arm.urdf"
state = { q = [0, -0.5, 1e-3], qd = { elbow = "30deg", wrist = 1 } }
options = { payload = ["tool:1", "tool:2@0,0,1"], no-damping = true }
stored = "stored/holding.npz"

[[case]]
verb = "inverse"
arm = "panda"
trajectory = "motion.csv"
options.no-damping = false
stored = "fall.csv"
atol = 0.5
[case.tolerances]
tau = { rtol = 1e-3 }

[[case]]
verb = "simulate"
arm = "panda"
options = { initial = "states.csv", duration = 2.0 }
stored = "ends.npz"
"""


def read(folder: Path, text: str, name: str = "robolin.toml"):
    path = folder / name
    path.write_text(text)
    return read_suite(path)


def test_cases_are_questions(tmp_path: Path) -> None:
    """State, options and trajectory correspond to flags; paths are relative to the suite."""
    (tmp_path / "arm.urdf").touch()
    first, second, third = read(tmp_path, GOOD)
    assert first.question.options == {
        "q": "0,-0.5,0.001",
        "qd": "elbow=30deg,wrist=1",
        "payload": ["tool:1", "tool:2@0,0,1"],
        "no-damping": True,
    }
    assert first.question.arm == str(tmp_path / "arm.urdf")
    assert first.stored == tmp_path / "stored/holding.npz"
    assert second.question.options == {"trajectory": str(tmp_path / "motion.csv")}
    assert (second.name, second.question.arm) == ("fall", "panda")
    assert third.question.options == {"initial": str(tmp_path / "states.csv"), "duration": "2.0"}


def test_a_list_is_one_value_unless_the_flag_is_repeated(tmp_path: Path) -> None:
    """[0, 0, -1.62] for a flag given once is 0,0,-1.62; else the last number would be all of it."""
    (case,) = read(tmp_path, f"{CASE}options = {{ gravity = [0, 0, -1.62], payload = ['a:1'] }}")
    assert case.question.options == {"gravity": "0,0,-1.62", "payload": ["a:1"]}


def test_tolerances_come_from_the_nearest_place(tmp_path: Path) -> None:
    """An array's own tolerance comes before the case's, and that before the suite's."""
    first, second, _ = read(tmp_path, GOOD)
    assert first.tolerances is not None
    assert first.tolerances.of("tau") == Tolerance(rtol=1e-9)
    assert second.tolerances is not None
    assert second.tolerances.of("tau") == Tolerance(rtol=1e-3)
    assert second.tolerances.of("time") == Tolerance(atol=0.5)


def test_a_pyproject_has_the_same_suite(tmp_path: Path) -> None:
    """[tool.robolin] in a pyproject.toml is read like robolin.toml."""
    text = GOOD.replace("[[case]]", "[[tool.robolin.case]]").replace(
        "[case.", "[tool.robolin.case."
    )
    text = f"[project]\nname = 'x'\n[tool.robolin]\n{text}"
    assert len(read(tmp_path, text, "pyproject.toml")) == 3
    assert find_suite(tmp_path) == tmp_path / "pyproject.toml"


def test_the_nearest_suite_is_found(tmp_path: Path) -> None:
    """A suite of a folder above is found; a pyproject without one is passed by."""
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "robolin.toml").touch()
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert find_suite(below) == tmp_path / "robolin.toml"


CASE = '[[case]]\nverb = "inverse"\narm = "panda"\nstored = "a.npz"\n'
WRONG = [
    ("unknown key", CASE + "stat = {}\n", ":5", "unknown key 'stat'", "state"),
    ("unknown top key", 'cases = 1\nname = ""\n' + CASE, ":1", "unknown key 'cases'", "'case'"),
    (
        "unknown flag",
        CASE + "options = { paylod = 'x' }\n",
        ":5",
        "not support --paylod",
        "'payload'",
    ),
    ("flag on its own line", CASE + "[case.state]\nqdx = [0]\n", ":6", "not support --qdx", "qd"),
    (
        "second case",
        CASE + CASE.replace("a.npz", "b.npz") + "foo = 1\n",
        ":9",
        "'foo'",
        "choose one of",
    ),
    ("no verb", CASE.replace('verb = "inverse"\n', ""), ":1", "verb is required", "verb ="),
    (
        "other verb",
        CASE.replace("inverse", "inspect"),
        ":2",
        "'inspect' is not a command that returns results",
        "",
    ),
    ("number for a text", CASE + "trajectory = 7\n", ":5", "must be text", "quotes"),
    ("state no table", CASE + "state = 7\n", ":5", "state must be a table", "q ="),
    ("negative", CASE + "rtol = -1\n", ":5", "rtol must be a number >= 0, got -1", ""),
    ("tolerance key", CASE + "tolerances = { tau = { rtoll = 1 } }\n", ":5", "'rtoll'", "'rtol'"),
    ("tolerance no table", CASE + "tolerances = { tau = 1 }\n", ":5", "table of tables", "rtol"),
    ("same file twice", CASE + CASE, ":5", "two cases have the same name 'a'", ":1"),
    *(
        (
            f"same file as {other}",
            f'{CASE}name = "x"\n{CASE.replace("a.npz", other)}name = "y"\n',
            ":6",
            "two cases have the same stored",
            ":1",
        )
        for other in ("a.npz", "./a.npz", "stored/../a.npz")
    ),
    (
        "stored in the provenance of another",
        f'{CASE.replace("npz", "csv")}name = "x"\n{CASE.replace("a.npz", "a.csv.meta.json")}',
        ":6",
        "two cases have the same stored",
        ":1",
    ),
    ("case no list", "[case]\nverb = 1\n", ":1", "each case must be a table", "[[case]]"),
    ("not TOML", "[[case]\n", ":1:", "not TOML", ""),
    ("empty", "", "robolin.toml", "the suite has no cases", "[[case]]"),
]


@pytest.mark.parametrize(
    "text, line, message, hint", [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_mistakes_are_reported_with_their_line(
    tmp_path: Path, text: str, line: str, message: str, hint: str
) -> None:
    """Every mistake in a suite is reported with its line and a suggestion."""
    with pytest.raises(RobolinError) as caught:
        read(tmp_path, text)
    part = caught.value.parts[0]
    assert line in part.where
    assert message in part.message
    assert hint in part.hint


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    """Two mistakes are two errors."""
    with pytest.raises(RobolinError) as caught:
        read(tmp_path, CASE + "stat = {}\nrtol = 'x'\n")
    assert len(caught.value.parts) == 2


def test_lines_of_keys_in_braces() -> None:
    """A key inside braces is found behind the key the braces belong to."""
    text = "a = 1\n[[case]]\nb = { a = 2,\n  c = 3 }\n[[case]]\nb = { c = 4 }\n"
    assert line_of(text, ("a",)) == 1
    assert line_of(text, ("case", 0, "b", "c")) == 4
    assert line_of(text, ("case", 1, "b", "c")) == 6
    assert line_of(text, ("nowhere",)) == 0


ODD = {
    "nested": "a = " + "[" * 5000 + "]" * 5000,
    "a number of 5000 digits": "rtol = " + "9" * 5000,
    "a number of 400 digits": "rtol = " + "9" * 400 + GOOD.replace("rtol = 1e-9", ""),
    "a zero byte": GOOD.replace('"holding"', r'"\u0000"'),
    "a zero byte in a path": GOOD.replace("stored/holding.npz", r"a\u0000.npz"),
    "an empty path": GOOD.replace("stored/holding.npz", ""),
    "an empty arm": GOOD.replace("arm.urdf", ""),
}


@pytest.mark.parametrize("what", ODD)
def test_unexpected_toml_is_rejected(tmp_path: Path, what: str) -> None:
    """Unexpected values of TOML are errors that name the file."""
    with pytest.raises(RobolinError, match=r"robolin\.toml"):
        read(tmp_path, ODD[what])


@pytest.mark.parametrize(
    "tool", ["tool = 1", "tool = []", 'tool = "robolin"', "[[tool]]", "tool ="]
)
def test_a_project_file_above_may_hold_anything(tmp_path: Path, tool: str) -> None:
    """A pyproject.toml without a valid `tool` table has no suite."""
    (tmp_path / "pyproject.toml").write_text(tool)
    with pytest.raises(RobolinError, match=r"no robolin\.toml in this folder"):
        find_suite(tmp_path)


def test_a_project_file_nested_too_deep(tmp_path: Path) -> None:
    """A project file that the TOML parser cannot read is ignored."""
    (tmp_path / "pyproject.toml").write_text("a = " + "[" * 5000)
    with pytest.raises(RobolinError, match=r"no robolin\.toml in this folder"):
        find_suite(tmp_path)


def test_two_cases_with_a_link_to_one_file_are_rejected(tmp_path: Path) -> None:
    """A symbolic link is another name of the stored file, and not another file."""
    (tmp_path / "a.npz").write_bytes(b"")
    (tmp_path / "b.npz").symlink_to("a.npz")
    with pytest.raises(RobolinError, match=r"two cases have the same stored .*b\.npz"):
        read(tmp_path, CASE + CASE.replace("a.npz", "b.npz"))


def test_cases_with_files_of_the_same_name_in_two_folders_are_two(tmp_path: Path) -> None:
    """Stored files are compared by their path; names of cases must differ."""
    text = "".join(
        f'{CASE.replace("a.npz", f"{folder}/a.npz")}name = "{folder}"\n' for folder in ("x", "y")
    )
    assert len(read(tmp_path, text)) == 2
