"""The first screen of every computing command shows its main numbers, on a real terminal."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from robolin.cli.flags import output_flags
from robolin.cli.main import wrapped_message
from robolin.cli.report import ReportTable, TextLines, fitting_sections
from robolin.queries.verbs import VERBS

pty = pytest.importorskip("pty", reason="pseudo-terminals need POSIX")

ROWS, COLUMNS = 24, 80
POSE = ("--q", "home")
CHANGE = ("--payload-change", "panda_hand_tcp:0.1", "--differentiate", "central")
# command line -> numbers of the main array that the first screen shows
COMMANDS: dict[tuple[str, ...], int] = {
    ("inverse", "panda", *POSE): 5,
    ("forward", "panda", *POSE): 7,
    ("mass-matrix", "panda", *POSE): 49,
    ("linearize-inverse", "panda", *POSE): 30,
    ("linearize-forward", "panda", *POSE): 42,
    ("jacobian", "panda", *POSE, "--frame", "panda_hand_tcp"): 20,
    ("ik", "panda", *POSE, "--goal", "panda_hand_tcp=0.5,0.1,0.3,180deg,0,0"): 7,
    ("momentum", "panda", *POSE): 10,
    ("diagonalize", "panda", *POSE): 14,
    ("regressor", "panda", *POSE): 30,
    ("sensitivity", "panda", "--trajectory", "MOTION", *CHANGE): 10,
    ("state-space", "panda", *POSE): 42,
    ("poles", "panda", *POSE): 30,
    ("lqr", "panda", *POSE): 40,
    ("response", "panda", *POSE, "--frequencies", "1:10:3"): 20,
    ("excite", "panda", "--max-acceleration", "5,5,5,5,5,5,5", "--iterations", "5"): 40,
    ("optimize", "panda", *POSE, "--goal", "0.2,-0.5,0,-2,0,1.6,0.8", "--duration", "1"): 40,
    ("retime", "panda", "--trajectory", "MOTION"): 40,
    ("simulate", "panda", *POSE, "--duration", "0.02", "--dt", "0.002"): 49,
    # many joints leave their limits: two warnings follow the numbers
    ("simulate", "panda", *POSE, "--duration", "1", "--dt", "0.01"): 30,
    ("inverse", "panda", "--trajectory", "MOTION", "--limits", "--differentiate", "central"): 40,
    (
        "inverse",
        "panda",
        "--trajectory",
        "MEASURED",
        "--residual",
        "--differentiate",
        "central",
    ): 30,
    ("mass-matrix", "ur5", *POSE): 12,
    ("poles", "ur5", *POSE): 8,
    ("sweep", "inverse", "panda", *POSE, "--payload", "panda_hand_tcp:0,1,2"): 15,
}
# runs all commands in one process, each on a cleared page
PROGRAM = """
import json, sys
from robolin.cli.main import main
for words in json.loads(sys.argv[1]):
    main(words)
    print("\f", end="", flush=True)
# Linux may lose what is still unread when a pseudo-terminal is closed
input()
"""
# nine gear ratios that are not applied, and a link with a very large inertia
GEARED = (
    '<robot name="geared"><link name="l0"/>'
    + "".join(
        f'<link name="l{i}"><inertial><mass value="1"/><inertia ixx="99" iyy="99" izz="99" '
        f'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="joint_with_a_name_{i}" '
        f'type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/><axis xyz="0 1 0"/>'
        f'</joint><transmission name="t{i}"><joint name="joint_with_a_name_{i}"/><actuator '
        f'name="m{i}"><mechanicalReduction>{100 + i}</mechanicalReduction></actuator>'
        f"</transmission>"
        for i in range(1, 10)
    )
    + "</robot>"
)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]\d+)?(?![\w.])|~0")


def screens(commands: list[list[str]]) -> list[list[str]]:
    """The lines that each command prints on a terminal of 80 × 24."""
    import fcntl
    import json
    import struct
    import termios

    process, terminal = pty.fork()
    if process == 0:
        for name in ("COLUMNS", "LINES", "PAGER", "ROBOLIN_PAGER"):
            os.environ.pop(name, None)
        os.environ.update(TERM="xterm", NO_COLOR="1", PAGER="cat")
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM, json.dumps(commands)])
    written = b""
    try:
        while written.count(b"\f") < len(commands):
            written += os.read(terminal, 1 << 16)
        os.write(terminal, b"\n")
    finally:
        os.close(terminal)
        os.waitpid(process, 0)
    # a line with the progress is erased before the result is printed
    shown = re.sub(r"[^\n\r\f]*\r\x1b\[2K", "", written.decode().replace("\r\n", "\n"))
    pages = shown.split("\f")[:-1]
    return [page.splitlines() for page in pages]


def result_lines(screen: list[str]) -> list[str]:
    """Lines of the arrays: without headline, assumptions, settings and messages."""
    last = next((i for i, line in enumerate(screen) if line.startswith("Assumes")), len(screen))
    return [line for line in screen[1:last] if not line.startswith(("note: ", "warning: "))]


@pytest.mark.slow
def test_the_first_screen_shows_the_main_numbers(tmp_path: Path) -> None:
    """A command that computes fits one screen, with its headline and its main numbers."""
    motion = tmp_path / "motion.csv"
    joints = [f"panda_joint{i}" for i in range(1, 8)]
    header = ",".join(["time", *(f"{name}/position" for name in joints)])
    rows = [f"{0.01 * i},{0.1 * i},-0.8,0,-2.4,0,1.6,0.8" for i in range(6)]
    motion.write_text("\n".join([header, *rows]))
    measured = tmp_path / "measured.csv"
    efforts = ",".join(f"{name}/effort" for name in joints)
    lines = [
        f"{row},{','.join(f'{0.3 * i * j + 1.1:g}' for j in range(7))}"
        for i, row in enumerate(rows)
    ]
    measured.write_text("\n".join([f"{header},{efforts}", *lines]))
    files = {"MOTION": str(motion), "MEASURED": str(measured)}
    commands = [[files.get(word, word) for word in each] for each in COMMANDS]

    pages = screens(commands)

    assert len(pages) == len(COMMANDS)
    missing = {}
    for (words, expected), lines in zip(COMMANDS.items(), pages, strict=True):
        # the last line of the screen is the prompt
        screen = lines[: ROWS - 1]
        count = sum(len(NUMBER.findall(line)) for line in result_lines(screen))
        fits = len(lines) < ROWS and max(map(len, lines)) <= COLUMNS
        # a list of names has each name once
        if count < expected or not fits or ",," in "".join(lines):
            missing[words] = (count, expected, lines)
    assert not missing, missing


def test_messages_follow_the_result(tmp_path: Path) -> None:
    """Warnings about a robot take one line after the numbers; facts of its file take none."""
    path = tmp_path / "geared.urdf"
    path.write_text(GEARED)
    (lines,) = screens([["inverse", str(path)]])

    assert lines[0] == "geared: joint torques at q = 0, qd = 0, qdd = 0"
    notes = [i for i, line in enumerate(lines) if line.startswith("note: ")]
    assert notes == [len(lines) - 1]
    assert "by `robolin validate`" in lines[-1]
    assert len(lines) < ROWS


def test_a_long_list_in_a_note_ends_with_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that do not fit the line are counted; a note without a list is complete."""
    monkeypatch.setattr(output_flags, "message_width", lambda: 60)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    items = [f"{i} on 8 joints" for i in range(9)]
    listed = f"arm: values are ignored: {'; '.join(items)}"
    expected = "arm: values are ignored: 0 on 8 joints; 8 more"
    assert output_flags.short_note("note", listed) == expected
    sentence = "arm: the frame of this result is the last link; its tip, which is far, has no name"
    assert output_flags.short_note("note", sentence) == sentence


def test_commands_in_hints_are_not_broken() -> None:
    """A command between backquotes or after 'for example' stays on one line."""
    hint = "hint: for example: robolin simulate two-link --q 1,0 --duration 2 -o fall.csv"
    assert wrapped_message(hint, 40).splitlines() == ["hint: for example:", f"  {hint[19:]}"]
    hint = "hint: write the file, then run `robolin validate arm.urdf` and --lock JOINT=0 here"
    for line in ("`robolin validate arm.urdf`", "--lock JOINT=0"):
        assert any(line in each for each in wrapped_message(hint, 40).splitlines())


@pytest.mark.slow
def test_reports_of_a_long_robot_fit_one_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """inspect, validate and diff begin with their verdict, and list what does not fit."""
    monkeypatch.chdir(tmp_path)
    names = ["geared.urdf", "other.urdf"]
    Path(names[0]).write_text(GEARED)
    Path(names[1]).write_text(
        GEARED.replace('mass value="1"', 'mass value="2"').replace("99", "98")
    )
    inspect, validate, models, diff = screens(
        [["inspect", names[0]], ["validate", names[0]], ["models"], ["diff", *names]]
    )

    assert inspect[0] == "geared: 9 independent joints, a serial chain"
    assert sum("continuous" in line for line in inspect) >= 9
    assert inspect[-1].startswith("Also: ")
    assert validate[0].startswith("geared.urdf: 9 warnings")
    assert any(line.startswith("  … 7 more radius-of-gyration, lines ") for line in validate)
    assert models[-1] == "Also: Data sources (--all)"
    assert diff[0] == "36 differences"
    assert any(line.startswith("… ") and line.endswith(" more rows (--all)") for line in diff)
    assert all(len(lines) < ROWS for lines in (inspect, validate, models, diff))


def test_every_computing_command_has_a_screen() -> None:
    """A new command that returns a result needs a line in the table above."""
    computing = {name for name, verb in VERBS.items() if verb.answers}
    assert computing <= {words[0] for words in COMMANDS}


def test_a_written_file_is_named_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command with -o names its file in one line, without the provenance file."""
    monkeypatch.chdir(tmp_path)
    pages = screens(
        [
            ["inverse", "two-link", "-o", "tau.csv"],
            ["simulate", "two-link", "--duration", "0.1", "--dt", "0.05", "-o", "fall.npz"],
            ["record", "inverse", "two-link", "-o", "kept.npz"],
            ["inspect", "two-link", "-o", "arm.json"],
            ["models", "--copy", "two-link"],
            ["inverse", "two-link", "-q", "-o", "quiet.npz"],
        ]
    )
    expected = ["tau.csv", "fall.npz", "kept.npz", "arm.json", "two-link.yaml"]
    assert pages == [*([f"note: {name}: written"] for name in expected), []]
    assert all(
        (tmp_path / name).is_file() for name in (*expected, "quiet.npz", "tau.csv.meta.json")
    )


def test_long_causes_leave_room_for_the_table() -> None:
    """Lines before a table are cut to half of the screen, not left out."""
    causes = TextLines([f"link {i}: mass 1 → 1.05 kg" for i in range(30)], "ref.npz: differs")
    table = ReportTable(("entry", "now"), [(f"tau/{i}", "1") for i in range(30)])
    shown = fitting_sections([causes, table], 80, 24)
    assert isinstance(shown[0], TextLines)
    assert shown[0].title == "ref.npz: differs"
    assert 4 < len(shown[0].lines) < 12
    assert shown[0].lines[-1] == f"… {31 - len(shown[0].lines)} more lines (--all)"
    assert isinstance(shown[1], ReportTable)
    assert 0 < len(shown[1].rows) < 12


def test_every_result_that_differs_has_lines_on_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No result loses its table without a count, also after a refused one."""
    monkeypatch.chdir(tmp_path)
    names = [f"{name}.npz" for name in "abcdefgh"]
    records = [["record", "inverse", "two-link.yaml", "-o", name] for name in names]
    screens([["models", "--copy", "two-link"], *records])
    arm = tmp_path / "two-link.yaml"
    text = arm.read_text()
    assert "mass: 1" in text
    arm.write_text(text.replace("mass: 1", "mass: 1.5", 1))
    (tmp_path / "bad.npz").write_bytes(b"")
    one, two, three, many = screens(
        [["check", *few] for few in (names[:1], names[:2], ["bad.npz", *names[:2]], names)]
    )
    assert all(len(lines) < ROWS for lines in (one, two, three, many))
    assert sum(line.startswith("shoulder/effort") for line in one) == 1
    for lines, tables in ((two, 2), (three, 1)):
        assert sum(line.startswith("entry ") for line in lines) == tables
        assert (
            sum(line.startswith("… ") and line.endswith("(--all)") for line in lines) >= 2 - tables
        )
    assert many[-1].startswith("Also: ")
    assert sum(line.startswith("… ") and line.endswith("(--all)") for line in many) >= 2
    assert not any(line.startswith("…  ") for line in [*one, *two, *three, *many])
