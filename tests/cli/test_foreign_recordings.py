"""Recordings of other programs give the result of the native file, or an error with a hint."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars
import pytest

from robolin.errors import RobolinError
from robolin.io.formats import csv_reader
from robolin.io.trajectories.columns import canonical_columns
from robolin.io.trajectories.read_options import ReadOptions
from tests.cli.command import CommandRun, robolin

JOINTS = ("shoulder", "elbow")
VALUES = np.random.default_rng(0).uniform(-1, 1, (5, 4)).round(6)
TIME = np.arange(5) * 0.25


def text(names: list[str], values: np.ndarray, separator: str = ",", point: str = ".") -> str:
    rows = [[repr(float(x)).replace(".", point) for x in row] for row in values]
    return "\n".join(separator.join(row) for row in [names, *rows]) + "\n"


def named(pattern: str, *words: str) -> list[str]:
    """Columns for both joints, quantity by quantity."""
    return [
        pattern.format(joint=joint, word=word, index=i, number=i + 1)
        for word in words
        for i, joint in enumerate(JOINTS)
    ]


NATIVE = text(["time", *named("{joint}/{word}", "position", "velocity")], np.c_[TIME, VALUES])


def run(*args: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", *args)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("native.csv").write_text(NATIVE)
    Path("names.yaml").write_text(YAML)
    Path("names.toml").write_text(TOML)


def shape(pattern: str, time: str = "time", *words: str, **more: str) -> str:
    columns = named(pattern, *(words or ("position", "velocity")))
    return text([time, *columns], np.c_[TIME, VALUES], **more)


DEGREES = text(
    ["time", *named("{joint}/{word}", "position", "velocity")], np.c_[TIME, np.degrees(VALUES)]
)


def column_flags(
    pattern: str, words: tuple[str, str] = ("position", "velocity")
) -> tuple[str, ...]:
    """--columns flags for positions and velocities."""
    flags = zip(("position", "velocity"), words, strict=True)
    return tuple(x for key, w in flags for x in ("--columns", f"{key}={pattern.format(word=w)}"))


def quoted_head(table: str) -> str:
    head, _, rest = table.partition("\n")
    return ",".join(f'"{name}"' for name in head.split(",")) + f"\n{rest}"


def quoted_cells(table: str) -> str:
    return "".join(
        ",".join(f'"{cell}"' for cell in line.split(",")) + "\n" for line in table.splitlines()
    )


def indexed(table: str) -> str:
    head, *rows = table.splitlines()
    return "\n".join([f",{head}", *(f"{i},{row}" for i, row in enumerate(rows))]) + "\n"


def beside_names(table: str, pattern: str) -> str:
    """The same table with columns that name the joints of its lists, the elbow first."""
    head, *rows = table.splitlines()
    names = ",".join(pattern.format(index=i) for i in range(2))
    return "\n".join([f"{head},{names}", *(f"{row},elbow,shoulder" for row in rows)]) + "\n"


def elbow_first(pattern: str, time: str = "time") -> str:
    columns = named(pattern, "position", "velocity")
    return text([time, *columns], np.c_[TIME, VALUES[:, [1, 0, 3, 2]]])


NAMED = beside_names(elbow_first("/js/{word}[{index}]"), "/js/name[{index}]")
ROSTOPIC = beside_names(elbow_first("field.{word}{index}", "%time"), "field.name{index}")
RTDE = shape("actual_{word}_{index}", "timestamp", "q", "qd", separator=" ")
RTDE_FLAGS = column_flags("actual_{word}_{{index}}", ("q", "qd"))
MATLAB = column_flags("{word}_{{number}}", ("q", "qd"))
STAMPED = shape("{joint}/{word}", "time,header.stamp").replace("\n", "\n7,").removesuffix("7,")
REVERSED = text(
    ["time", *named("{joint}/{word}", "position", "velocity")[::-1]],
    np.c_[TIME, VALUES[:, ::-1]],
)
POWERS = "\n".join(
    [NATIVE.splitlines()[0], *(",".join(f"{x:.17e}" for x in row) for row in np.c_[TIME, VALUES])]
)
AXES = {
    f"{joint}/{word}": f"axis {number} {word}"
    for word in ("position", "velocity")
    for number, joint in enumerate(JOINTS, 1)
}
JOINT_BY_JOINT = tuple(x for key, name in AXES.items() for x in ("--columns", f"{key}={name}"))
IN_YAML, IN_TOML = ("--columns", "names.yaml"), ("--columns", "names.toml")
YAML = """\
time: clock
position: axis {number} position
velocity: {shoulder: axis 1 velocity, elbow: axis 2 velocity}
"""
TOML = """\
time = "clock"
velocity = "axis {number} velocity"
[position]
shoulder = "axis 1 position"
elbow = "axis 2 position"
"""
READ = [
    ("native, with underscores", "r.csv", shape("{word}_{joint}", "time", "q", "qd"), ()),
    ("native, with points", "r.csv", shape("{joint}.{word}", "time", "q", "qd"), ()),
    ("numbered from 1", "r.csv", shape("{word}{number}", "time", "q", "qd"), ()),
    ("numbered from 0", "r.csv", shape("{word}[{index}]", "time", "q", "qd"), ()),
    ("PlotJuggler", "r.csv", shape("/joint_states/{joint}/{word}", "__time"), ()),
    ("a robot's prefix", "r.csv", shape("left/{joint}/{word}"), ()),
    ("lists", "r.csv", shape("{word}[{index}]"), ()),
    ("lists behind a topic", "r.csv", shape("/joint_states/{word}[{index}]", "stamp"), ()),
    ("lists with points", "r.csv", shape("/joint_states/{word}.{index}"), ()),
    ("lists beside names", "r.csv", NAMED, ()),
    ("lists beside names in quotes", "r.csv", NAMED.replace("elbow", '"elbow"'), ()),
    (
        "lists of more than the arm",
        "r.csv",
        NAMED.replace("name[1]\n", "name[1],/js/name[2]\n").replace("er\n", "er,finger\n"),
        (),
    ),
    ("rostopic echo -p beside names", "r.csv", ROSTOPIC, ()),
    ("time called t", "r.csv", shape("{joint}/{word}", "t"), ()),
    ("time called stamp", "r.csv", shape("{joint}/{word}", "stamp"), ()),
    ("time called timestamp", "r.csv", shape("{joint}/{word}", "timestamp"), ()),
    ("time told", "r.csv", shape("{joint}/{word}", "clock"), ("--time", "clock")),
    (
        "columns told",
        "r.csv",
        shape("{joint} {word} (rad)"),
        (
            "--columns",
            "position={joint} position (rad)",
            "--columns",
            "velocity={joint} velocity (rad)",
        ),
    ),
    (
        "columns told by number",
        "r.csv",
        shape("j{number}_{word}"),
        ("--columns", "position=j{number}_position", "--columns", "velocity=j{number}_velocity"),
    ),
    ("semicolons", "r.csv", shape("{joint}/{word}", separator=";"), ()),
    ("decimal commas", "r.csv", shape("{joint}/{word}", separator=";", point=","), ()),
    ("tabs", "r.csv", shape("{joint}/{word}", separator="\t"), ()),
    ("tabs in a .tsv", "r.tsv", shape("{joint}/{word}", separator="\t"), ()),
    ("a .txt", "r.txt", NATIVE, ()),
    ("lines of Windows", "r.csv", NATIVE.replace("\n", "\r\n"), ()),
    ("a byte order mark", "r.csv", "\ufeff" + NATIVE, ()),
    ("spaces in the header", "r.csv", NATIVE.replace(",", ", ", 4), ()),
    ("a column nobody asked for", "r.csv", NATIVE.replace("time", "time,mode", 1), None),
    ("numpy.savetxt with commas", "r.csv", f"# {NATIVE}", ()),
    ("numpy.savetxt with spaces", "r.txt", "# " + shape("{joint}/{word}", separator=" "), ()),
    ("spaces", "r.txt", shape("{joint}/{word}", separator=" "), ()),
    (
        "spaces, then tabs",
        "r.txt",
        shape("{joint}/{word}", separator=" ").replace(" ", "\t").replace("\t", " ", 14),
        (),
    ),
    (
        "rostopic echo -p",
        "r.csv",
        shape("field.{word}{index}", "%time"),
        column_flags("field.{word}{{index}}"),
    ),
    ("RTDE of Universal Robots", "r.csv", RTDE, RTDE_FLAGS),
    ("writetable of MATLAB", "r.csv", shape("{word}_{number}", "time", "q", "qd"), MATLAB),
    ("Foxglove", "r.csv", shape("/joint_states.{word}[{index}]", "timestamp"), ()),
    ("time and a stamp", "r.csv", STAMPED, ("--time", "header.stamp")),
    ("time called Time", "r.csv", shape("{joint}/{word}", "Time"), ()),
    ("time told as a rule", "r.csv", shape("{joint}/{word}", "clock"), ("--columns", "time=clock")),
    ("the other order of joints", "r.csv", REVERSED, ()),
    ("joint by joint", "r.csv", shape("axis {number} {word}"), JOINT_BY_JOINT),
    ("told in a YAML file", "r.csv", shape("axis {number} {word}", "clock"), IN_YAML),
    ("told in a TOML file", "r.csv", shape("axis {number} {word}", "clock"), IN_TOML),
    ("quotes in the header", "r.csv", quoted_head(NATIVE), ()),
    ("quotes everywhere", "r.csv", quoted_cells(NATIVE), ()),
    ("a comma at every end", "r.csv", NATIVE.replace("\n", ",\n"), ()),
    ("blank lines", "r.csv", NATIVE.replace("\n", "\n\n"), ()),
    ("no end of the last line", "r.csv", NATIVE.rstrip("\n"), ()),
    ("lines of old Macs", "r.csv", NATIVE.replace("\n", "\r"), ()),
    ("numbers with powers", "r.csv", POWERS, ()),
    ("spaces around numbers", "r.csv", NATIVE.replace(",", " , "), ()),
    ("an index as pandas writes it", "r.csv", indexed(NATIVE), ()),
]


@pytest.mark.parametrize(("name", "file", "content", "flags"), READ, ids=[row[0] for row in READ])
def test_a_recording_gives_the_bytes_of_the_native_file(name, file, content, flags):
    """The same motion under other names and separators has the same torques, to the last byte."""
    if flags is None:
        head, *rows = content.splitlines()
        content = "\n".join([head, *(row.replace(",", ",7,", 1) for row in rows)]) + "\n"
    Path(file).write_text(content, encoding="utf-8")
    expected, ran = run("--trajectory", "native.csv"), run("--trajectory", file, *(flags or ()))
    assert ran.code == 0, ran.err
    assert ran.out == expected.out


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data)


def zstandarded(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard", reason=".zst needs the package zstandard")
    return bytes(zstandard.compress(data))


PACKED = {".gz": gzipped, ".zst": zstandarded}


@pytest.mark.parametrize("ending", PACKED)
def test_a_compressed_recording_is_the_recording(ending):
    """It gives the result of its content, in one frame or several; a damaged one is rejected."""
    packed, native = PACKED[ending], run("--trajectory", "native.csv")
    data = NATIVE.encode()
    complete, pieces = packed(data), packed(data[:70]) + packed(data[70:])
    for name, content in {"whole.csv": complete, "PIECES.TSV": pieces}.items():
        Path(f"{name}{ending}").write_bytes(content)
        ran = run("--trajectory", f"{name}{ending}")
        assert (ran.code, ran.out) == (0, native.out), ran.err
    # a truncated file must not pass for a shorter recording with an incomplete last row
    for content in (complete[:-9], complete + b"more", packed(data[:70])[:-1], pieces[:-9]):
        Path(f"bad.csv{ending}").write_bytes(content)
        ran = run("--trajectory", f"bad.csv{ending}", "--on-bad-row", "nan")
        assert (ran.code, ran.out) == (4, ""), ran.err
        assert "decompression failed" in ran.err


def test_name_columns_are_checked_in_every_row(monkeypatch):
    """Parquet is read too; a stream is rejected, because later rows are unknown."""
    expected = run("--trajectory", "native.csv").out
    Path("r.csv").write_text(NAMED)
    polars.read_csv("r.csv").write_parquet("r.parquet")
    ran = run("--trajectory", "r.parquet")
    assert (ran.code, ran.out) == (0, expected)
    assert "named by '/js/name[0]' …: elbow, shoulder" in ran.err
    changed = polars.read_csv("r.csv").with_row_index("/js/name[2]")
    changed.with_columns(polars.col("/js/name[2]").cast(str)).write_parquet("r.parquet")
    assert "may differ between rows" in run("--trajectory", "r.parquet").err
    with gzip.open("r.csv.gz", "wt") as stream:
        stream.write(NAMED)
    assert run("--trajectory", "r.csv.gz").out == expected
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 200)
    assert "may differ between rows" in run("--trajectory", "r.csv.gz").err


def test_degrees_are_converted():
    """With --degrees, angles and rates of a file equal those in rad, to rounding."""
    Path("r.csv").write_text(DEGREES)
    ran = run("--trajectory", "r.csv", "--degrees")
    assert ran.code == 0, ran.err
    assert np.allclose(ran.numbers, run("--trajectory", "native.csv").numbers, rtol=1e-13)


def test_recognized_columns_are_reported():
    """A note names the removed prefix and the order of joints."""
    Path("r.csv").write_text(shape("/joint_states/{joint}/{word}", "__time"))
    notes = run("--trajectory", "r.csv").err
    assert "with the prefix '/joint_states/'" in notes
    assert "time is taken from the column '__time'" in notes
    Path("r.csv").write_text(text(["shoulder", "elbow"], VALUES[:, :2]))
    assert "read as positions" in run("--trajectory", "r.csv").err


def test_rules_are_stored_with_the_result():
    """`check` reads a recording the way it was read when its result was stored."""
    Path("r.csv").write_text(shape("j{number}_{word}", "clock"))
    rules = ("--columns", "position=j{number}_position", "--time", "clock", "--degrees")
    assert robolin("inverse", "two-link", "--trajectory", "r.csv", *rules, "-o", "x.npz").code == 0
    assert robolin("check", "x.npz").code == 0


WHOLE = NATIVE.replace("0.25,", "1,").replace("0.5,", "2,").replace("0.75,", "3,")
WHOLE = WHOLE.replace("0.0,", "0,").replace("1.0,", "4,")
TWICE = text(
    [*named("/a/{joint}/{word}", "position"), *named("/b/{joint}/{word}", "position")], VALUES
)
DECIMAL_COMMAS = shape("{joint}/{word}", separator=";", point=",")
DECIMAL_POINTS = shape("{joint}/{word}", separator=";")
REFUSED = [
    (TWICE, (), 3, "--columns position=/a/{joint}/position"),
    (shape("{joint}/{word}", "t").replace("t,", "t,stamp,", 1), (), 3, "select a column: --time t"),
    (NATIVE, ("--time", "tme"), 3, "did you mean 'time'?"),
    (NATIVE, ("--columns", "position=x"), 2, "{joint}"),
    (
        NATIVE,
        ("--columns", "place={joint}"),
        2,
        "--columns=place={joint}: must have the form QUANTITY",
    ),
    (NATIVE, ("--columns", "position=/js/{joint}/position"), 3, "did you mean"),
    (shape("{joint}/{word}", separator="\t", point=","), (), 3, "commas"),
    (DECIMAL_COMMAS.replace("0,25", "1.234,25"), (), 3, "r.csv:3: the point in '1.234,25' may be"),
    (DECIMAL_COMMAS.replace("0,25", "1.234"), (), 3, "r.csv:3: the point in '1.234' may be"),
    (
        f"{DECIMAL_COMMAS.rstrip()}\n2,0;1.234;0,5;0;1.234",
        (),
        3,
        "r.csv:7: the point in '1.234' may be",
    ),
    (DECIMAL_COMMAS.rpartition(";")[0] + ";-1.234", (), 3, "r.csv:6: the point in '-1.234' may be"),
    (DECIMAL_COMMAS.replace("0,25", "1,234.5"), (), 3, "r.csv:3: the comma in '1,234.5' may be"),
    (DECIMAL_POINTS.replace("0.25", "1,234"), (), 3, "r.csv:3: the comma in '1,234' may be"),
    (f"{DECIMAL_POINTS.rstrip()}\n2;1,234;0;0;0", (), 3, "r.csv:7: the comma in '1,234' may be"),
    ("time;j1/position\n0;1.234\n1;2,5e-3\n", (), 3, "r.csv:2: the point in '1.234' may be"),
    (
        shape("{joint}/{word}"),
        ("--columns", "position={joint}/position", "--columns", "position={joint}/velocity"),
        *(2, "'position' is given twice"),
    ),
    (
        shape("{joint}/{word}"),
        ("--columns", "position={joint}/position", "--columns", "velocity={joint}/position"),
        *(2, "by another rule"),
    ),
    (shape("{joint}/{word}", separator=";").replace("0.25", '"0.25"'), (), 3, "quotes"),
    (shape("axis {number} {word}"), (), 3, "--columns 'position=PATTERN'"),
    (shape("{joint}_pos", "time", "position"), (), 3, "--columns 'position={joint}_pos'"),
    (NATIVE.replace("shoulder/p", "Shoulder/p"), (), 3, "if 'Shoulder/position' is"),
    (NATIVE.partition("\n")[2], (), 3, "header line with column names is missing"),
    (NATIVE.replace("\n", "\ns,rad,rad,rad/s,rad/s\n", 1), (), 3, "'rad' in column"),
    (NATIVE.rstrip("\n")[:-9], (), 3, "--on-bad-row nan"),
    (f"sep=,\n{NATIVE}", (), 3, "missing"),
    (
        NAMED.replace("elbow,shoulder", "shoulder,elbow", 1),
        (),
        3,
        "'position=/js/position[{index}]'",
    ),
    (NAMED.replace("elbow", "elbov"), (), 3, "contain no joint 'elbow'"),
    (NAMED.replace("shoulder", "elbow"), (), 3, "contain no joint 'shoulder'"),
    (NATIVE, ("--carry", "mode"), 3, "unknown column 'mode'"),
    (NATIVE, ("--columns", "wrist/position=x"), 2, "unknown joint 'wrist'"),
    (NATIVE, ("--columns", "elbow/position=x"), 3, "unknown column 'x'"),
    (NATIVE, ("--columns", "none.yaml"), 4, "could not read"),
    (NATIVE, ("--degrees", "--radians"), 2, "cannot be used"),
    (NATIVE.replace("time", "clock"), ("--differentiate", "central"), 3, "--time COLUMN"),
    (WHOLE, ("--differentiate", "central"), 3, "--time-unit"),
]


@pytest.mark.parametrize(("content", "flags", "code", "message"), REFUSED, ids=range(len(REFUSED)))
def test_ambiguous_recordings_are_rejected(content, flags, code, message):
    """For ambiguous columns, or a rule without a match, the error names the flag that helps."""
    Path("r.csv").write_text(content)
    ran = run("--trajectory", "r.csv", *flags)
    assert (ran.code, message in ran.err) == (code, True), ran.err


def test_rules_without_a_file_are_rejected():
    """Column rules have no effect on a single state."""
    for flags in (["--degrees"], ["--time", "t"], ["--columns", "position={joint}"]):
        ran = run("--q", "0,0", *flags)
        assert (ran.code, "without --trajectory" in ran.err) == (2, True)


def test_native_names_are_never_reinterpreted():
    """Once a column is called as here, nothing is looked for behind prefixes."""
    columns = ["shoulder/position", "elbow/position", "x/shoulder/position", "x/elbow/position"]
    canonical = canonical_columns(columns, JOINTS, ReadOptions(), "r.csv")
    assert canonical.names == tuple(columns)
    assert canonical.notes == ()
    with pytest.raises(RobolinError):
        canonical_columns(
            [f"{p}/{c}" for p in "ab" for c in columns[:2]], JOINTS, ReadOptions(), ""
        )


def positions_only(pattern: str) -> str:
    return text(["time", *named(pattern, "position")], np.c_[TIME, VALUES[:, :2]])


UNITS = "[deg]", "(deg)", "[°]", "[Degrees]", "_deg"


@pytest.mark.parametrize("unit", UNITS)
def test_degrees_in_column_names_are_not_read_as_radians(unit: str) -> None:
    before = "" if unit.startswith("_") else " "
    pattern = f"{{joint}}{before}{unit}"
    Path("log.csv").write_text(positions_only(pattern))
    refused = run("--trajectory", "log.csv")
    assert refused.code != 0
    assert f"--columns 'position={pattern}'; add --degrees" in refused.err
    flags = "--trajectory", "log.csv", "--columns", f"position={pattern}"
    silent = run(*flags)
    assert silent.code == 2
    assert (
        f"'shoulder{before}{unit}' indicates degrees, but the column is read in rad" in silent.err
    )
    assert "hint: add --degrees" in silent.err
    Path("plain.csv").write_text(positions_only("{joint}/position"))
    for flag in ("--degrees", "--radians"):
        plain = ["--degrees"] if flag == "--degrees" else []
        assert run(*flags, flag).out == run("--trajectory", "plain.csv", *plain).out


def test_radians_in_column_names_are_read_and_contradict_degrees() -> None:
    Path("log.csv").write_text(positions_only("{joint} [rad]"))
    flags = "--trajectory", "log.csv", "--columns", "position={joint} [rad]"
    assert run(*flags).code == 0
    wrong = run(*flags, "--degrees")
    assert wrong.code == 2
    assert "indicates rad, but the column is read in degrees" in wrong.err


@pytest.mark.parametrize("rate", [" [deg/s]", " (deg/s)", "_deg_s", "_deg_per_s", " [°/s]"])
def test_rates_in_degrees_are_not_read_as_radians(rate: str) -> None:
    columns = [*named("{joint}/position", ""), *named(f"{{joint}}{rate}", "")]
    Path("log.csv").write_text(text(["time", *columns], np.c_[TIME, VALUES]))
    rules = "--columns", "position={joint}/position", "--columns", f"velocity={{joint}}{rate}"
    wrong = run("--trajectory", "log.csv", *rules)
    assert wrong.code == 2
    assert f"'shoulder{rate}' indicates degrees, but the column is read in rad" in wrong.err
    Path("plain.csv").write_text(NATIVE)
    native = run("--trajectory", "plain.csv", "--degrees").out
    assert run("--trajectory", "log.csv", *rules, "--degrees").out == native


@pytest.mark.parametrize("unit", ["mm", "mrad", "rpm"])
def test_other_units_in_column_names_are_refused(unit: str) -> None:
    Path("log.csv").write_text(positions_only(f"{{joint}} [{unit}]"))
    wrong = run("--trajectory", "log.csv", "--columns", f"position={{joint}} [{unit}]")
    assert wrong.code == 2
    assert f"indicates {unit}, but the column is read in SI units" in wrong.err


@pytest.mark.parametrize(
    ("name", "scale"), [("time [s]", 1.0), ("Time (s)", 1.0), ("t [ms]", 1e3), ("time_us", 1e6)]
)
def test_the_unit_in_the_name_of_the_time_is_used(name: str, scale: float) -> None:
    columns = named("{joint}/{word}", "position")
    Path("log.csv").write_text(text([name, *columns], np.c_[TIME * scale, VALUES[:, :2]]))
    Path("plain.csv").write_text(text(["time", *columns], np.c_[TIME, VALUES[:, :2]]))
    flags = "--differentiate", "central", "--trajectory"
    seen, plain = run(*flags, "log.csv"), run(*flags, "plain.csv")
    assert f"time is taken from the column '{name}'" in seen.err
    rows = [np.loadtxt(each.out.splitlines(), delimiter=",", skiprows=1) for each in (seen, plain)]
    np.testing.assert_allclose(rows[0][:, 1:], rows[1][:, 1:], rtol=1e-9)


def test_two_times_with_units_are_ambiguous() -> None:
    columns = ["time [s]", "time [ms]", *named("{joint}/{word}", "position")]
    Path("log.csv").write_text(text(columns, np.c_[TIME, TIME, VALUES[:, :2]]))
    wrong = run("--trajectory", "log.csv")
    assert "the time column is ambiguous" in wrong.err
    assert "hint: select a column: --time 'time [s]'" in wrong.err


def test_a_column_of_no_joint_is_named() -> None:
    names = [f"lbr_iiwa_joint_{i}" for i in (1, 2, 3, 4, 5, 6, 8)]
    Path("log.csv").write_text(text(["time", *names], np.c_[TIME, np.ones((5, 7))]))
    wrong = robolin("inverse", "iiwa14", "--trajectory", "log.csv")
    assert (
        "column 'lbr_iiwa_joint_8' is not a joint of the robot, and joint 'lbr_iiwa_joint_7' is "
        "missing" in wrong.err
    )


def test_suffixes_of_joint_names_are_one_pattern() -> None:
    Path("log.csv").write_text(shape("{joint}_{word}", "time", "pos", "vel"))
    wrong = run("--trajectory", "log.csv")
    assert "hint: add --columns 'position={joint}_pos'" in wrong.err
