"""Columns are matched to joints by name, in every style, without guessing."""

import pytest

from robolin.errors import RobolinError
from robolin.io.trajectories.columns import canonical_columns, match
from robolin.io.trajectories.read_options import ReadOptions

ARM = ("shoulder", "elbow")

STYLES = [
    ("native", ["shoulder/position", "elbow/position"]),
    ("prefixed", ["q_shoulder", "q_elbow"]),
    ("dotted", ["shoulder.q", "elbow.q"]),
    ("numbered from one", ["q1", "q2"]),
    ("numbered from zero", ["q[0]", "q[1]"]),
    ("one style per joint", ["shoulder.q", "elbow/position"]),
]


@pytest.mark.parametrize("columns", [row[1] for row in STYLES], ids=[row[0] for row in STYLES])
@pytest.mark.parametrize("turned", [False, True])
def test_every_style_is_read_in_any_order(columns, turned):
    """The order of columns in the file does not matter."""
    shown = columns[::-1] if turned else columns
    assert match(shown, ARM, ["q"]).columns == {"q": (1, 0) if turned else (0, 1)}


@pytest.mark.parametrize(
    "quantity, columns",
    [
        ("qd", ["a/velocity", "qd_a", "a.qd", "qd1", "qd[0]"]),
        ("qdd", ["a/acceleration", "qdd_a", "a.qdd", "qdd1", "qdd[0]"]),
        ("tau", ["a/effort", "tau_a", "a.tau", "tau1", "tau[0]"]),
    ],
)
def test_every_quantity_has_every_style(quantity, columns):
    """Velocities, accelerations and efforts are spelled as positions are."""
    for column in columns:
        assert match([column], ["a"], [quantity]).columns == {quantity: (0,)}


def test_names_with_separators_are_matched_completely():
    """Joint names may contain '/', '_' and '.', and be parts of each other."""
    joints = ["arm", "arm/elbow", "d_arm", "arm.q", "q_arm"]
    columns = ["q_q_arm", "arm.q.q", "q_d_arm", "arm/elbow/position", "arm.q"]
    assert match(columns, joints, ["q"]).columns == {"q": (4, 3, 2, 1, 0)}


def test_numbered_columns_print_the_joint_order_back():
    """Numbered columns do not name joints, so a note states the assumed order."""
    (note,) = match(["q1", "q2"], ARM, ["q"]).notes
    assert note.endswith("joint order: shoulder, elbow")
    assert match(["q_shoulder", "q_elbow"], ARM, ["q"]).notes == ()


def test_time_is_optional():
    """A time column may be anywhere, or absent."""
    assert match(["q1", "time", "q2"], ARM, ["q"]).time == 1
    assert match(["q1", "q2"], ARM, ["q"]).time is None


def test_extra_columns_are_noted_once():
    """Unused columns are listed in one note, including quantities the command does not take."""
    columns = ["q1", "q2", "comment", "elbow/effort", "tau9"]
    assert match(columns, ARM, ["q"]).notes[-1] == (
        "unused columns: 'comment', 'elbow/effort', 'tau9'"
    )
    many = match([*ARM, "q1", "q2", *(f"x{i}" for i in range(10))], ARM, ["q"]).notes[-1]
    assert many.endswith("'x3' and 6 more")


def test_an_optional_quantity_may_be_absent_or_partial():
    """A quantity documented as 0 may be absent, or is 0 for absent joints with a note."""
    assert "qd" not in match(["q1", "q2"], ARM, ["q"], ["qd"]).columns
    partial = match(["q_shoulder", "q_elbow", "qd_elbow"], ARM, ["q"], ["qd"])
    assert partial.columns["qd"] == (None, 2)
    assert partial.notes == ("missing columns are set to 0: 'shoulder/velocity'",)


BAD = [
    (
        "a column twice",
        ["q1", "q2", "q2"],
        r"motion\.csv: the column 'q2' occurs more than once",
        "remove one column",
    ),
    (
        "two styles for one thing",
        ["q1", "q2", "elbow/position"],
        r"motion\.csv: the columns 'q2', 'elbow/position' have the same meaning",
        "remove one column",
    ),
    (
        "time twice",
        ["time", "q1", "q2", "time"],
        r"motion\.csv: the column 'time' occurs more than once",
        "remove one column",
    ),
    (
        "a typo",
        ["shoulder/position", "elbwo/position"],
        r"motion\.csv: the column 'elbow/position' is missing",
        "if 'elbwo/position' is 'elbow/position', add --columns 'elbow/position=elbwo/position'",
    ),
    (
        "nothing to read",
        ["a", "b"],
        "the columns 'shoulder/position', 'elbow/position' are missing",
        "<joint>/position, q_<joint>, <joint>.q, or number the columns q1 … or q[0] …",
    ),
    (
        "all behind a prefix that nobody took off",
        ["left/shoulder/position", "left/elbow/position"],
        "the columns 'shoulder/position', 'elbow/position' are missing",
        "if 'left/shoulder/position' is 'shoulder/position'",
    ),
    (
        "counted from q0",
        ["q0", "q1"],
        r"motion\.csv: column 'q0' has no matching joint: the robot has 2 joints",
        "number columns from q1 to q2, or from q[0] to q[1]",
    ),
    (
        "another arm",
        ["q1", "q2", "q3"],
        r"motion\.csv: column 'q3' has no matching joint: the robot has 2 joints",
        "from q1 to q2",
    ),
    (
        "numbered by another program",
        ["target_q_0", "target_q_1", "actual_qd_0", "actual_qd_1", "actual_q_0", "actual_q_1"],
        "the columns 'shoulder/position', 'elbow/position' are missing",
        "add --columns 'position=actual_q_{index}'; other columns: 'target_q_{index}', 'actual_qd",
    ),
    (
        "numbered from one, and for more joints",
        ["log.angle1", "log.angle2", "log.pos[0]", "log.pos[1]", "log.pos[2]"],
        "the columns 'shoulder/position', 'elbow/position' are missing",
        "add --columns 'position=log.angle{number}'",
    ),
    (
        "names that contain a letter of another quantity",
        ["Torque_1", "Torque_2", "D_Theta_1", "D_Theta_2", "Theta_1", "Theta_2"],
        "the columns 'shoulder/position', 'elbow/position' are missing",
        "add --columns 'position=Theta_{number}'; other columns: 'Torque_{number}', 'D_Theta",
    ),
    (
        "numbered, but not recognized",
        ["alpha1", "alpha2", "beta1", "beta2", "gamma1"],
        "the columns 'shoulder/position', 'elbow/position' are missing",
        "add --columns 'position=PATTERN', where PATTERN is one of 'alpha{number}', 'beta{number}'",
    ),
    (
        "brackets from one",
        ["q[1]", "q[2]"],
        "'q\\[2\\]' has no matching joint",
        "from q1 to q2",
    ),
]


@pytest.mark.parametrize(
    "columns, message, hint", [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_bad_headers_are_named(columns, message, hint):
    """A header that cannot be interpreted is an error with column and hint."""
    with pytest.raises(RobolinError, match=message) as caught:
        match(columns, ARM, ["q"], where="motion.csv")
    assert hint in caught.value.hint
    assert caught.value.where == "motion.csv"


@pytest.mark.parametrize(
    ("last", "hint"),
    [
        ("elbwo", "if 'left/elbwo/position' is 'left/elbow/position', rename the column"),
        (
            "tool",
            "add --columns 'position=left/{joint}/position' --columns 'elbow/position=COLUMN'",
        ),
    ],
)
def test_only_what_is_missing_behind_a_prefix_is_named(last: str, hint: str) -> None:
    """Columns that are present under a prefix are not reported as missing."""
    joints = ("base", "shoulder", "elbow")
    columns = [f"left/{joint}/position" for joint in ("base", "shoulder", last)]
    with pytest.raises(RobolinError) as caught:
        match(columns, joints, ["q"], where="motion.csv")
    message = "the columns with the prefix 'left/' do not include 'left/elbow/position'"
    assert caught.value.message == message
    assert hint in caught.value.hint
    assert "--columns 'position=left/{joint}/position'" in caught.value.hint


def test_a_column_with_two_meanings_is_refused():
    """A name that matches two joints is an error."""
    with pytest.raises(
        RobolinError,
        match="'q_a/position' is ambiguous: the position of 'a/position' or the position of 'q_a'",
    ):
        match(["q_a/position"], ["a/position", "q_a"], ["q"])


def test_all_problems_of_a_header_are_reported_at_once():
    """A header with two mistakes has two messages."""
    with pytest.raises(RobolinError) as caught:
        match(["q1", "q1", "time", "time"], ["a", "b"], ["q"])
    assert len(caught.value.parts) == 2


def test_a_repeated_column_can_be_avoided_by_index() -> None:
    """The hint has the columns of the file; with it, the repeated column is not used."""
    names = ["time", "shoulder/position", "elbow/position", "shoulder/position"]
    joints = ["shoulder", "elbow"]
    with pytest.raises(RobolinError) as caught:
        match(names, joints, ["q"])
    assert caught.value.hint.endswith("by index: --columns position=1:3")
    named = canonical_columns(names, joints, ReadOptions(columns=("position=1:3",)), "m.csv").names
    assert match(named, joints, ["q"]).columns["q"] == (1, 2)


def test_the_same_error_in_all_columns_has_one_pattern() -> None:
    joints = ["shoulder", "elbow"]
    for end in ("postion", "position [deg]"):
        with pytest.raises(RobolinError) as caught:
            match([f"{joint}/{end}" for joint in joints], joints, ["q"])
        assert f"add --columns 'position={{joint}}/{end}'" in caught.value.hint
    with pytest.raises(RobolinError) as caught:
        match(["shoulder/torque", "elbow/torque"], joints, ["tau"])
    assert "add --columns 'effort={joint}/torque'" in caught.value.hint


def test_upper_case_names_are_read() -> None:
    names = ["SHOULDER/POSITION", "ELBOW/POSITION"]
    named = canonical_columns(names, ["shoulder", "elbow"], ReadOptions(), "m.csv")
    assert named.names == ("shoulder/position", "elbow/position")
    assert "is read as 'shoulder/position'" in named.notes[0]
