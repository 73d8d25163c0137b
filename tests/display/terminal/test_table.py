"""Tables for people."""

import re
from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.natural_scales import UNDECIDED_RATE
from robolin.core.result import Array, Result, stream_of_one_part
from robolin.core.summary import only_arrays
from robolin.display.terminal.numbers import aligned, vector_texts
from robolin.display.terminal.screen import short_names
from robolin.display.terminal.show import spread_rows
from robolin.display.terminal.table import render_table
from tests.cases import for_each


def result_of(*arrays, contract=None, time=None):
    return Result("verb", arrays, arrays[0].labels[-1], contract or {}, {}, {}, time)


def names(n):
    return tuple(f"joint_{i + 1}" for i in range(n))


def matrix(n, name="mass_matrix"):
    values = np.random.default_rng(n).standard_normal((n, n))
    return Array(name, values, (names(n), names(n)), "N·m·s²/rad")


NUMBERS = [
    ("equal widths", [1.5, -22.25, 0.125], 4, [" 1.500", "-22.25", "0.1250"]),
    ("digits of every entry", [2.5, 0.00123456], 3, ["   2.50", "0.00123"]),
    ("small entries", [2.5, -1.23456e-5], 3, ["     2.50", "-1.23e-05"]),
    ("digits after rounding", [99.996, 0.99996], 4, ["100.0", "1.000"]),
    ("exact zeros are bare", [1.5, 0.0, -0.0], 3, ["1.50", "   0", "   0"]),
    ("all zero", [0.0, -0.0], 2, ["0", "0"]),
    ("rounding differs from zero", [1.0, -3e-17, 0.0], 3, ["1.00", "  ~0", "   0"]),
    ("small but computed", [1.0, 2e-15], 3, ["    1.00", "2.00e-15"]),
    ("rounding of large numbers", [1e9, 1e-9], 3, ["1.00e+09", "      ~0"]),
    ("large numbers", [1234567.0, 1.0], 3, ["1.23e+06", "1.00e+00"]),
    ("small numbers", [1.5e-7, 0.0], 3, ["1.50e-07", "       0"]),
    ("no decimals left", [123456.0, 0.0], 3, ["123456", "     0"]),
    ("nothing", [], 3, []),
]


@pytest.mark.parametrize(
    "values, precision, expected", [row[1:] for row in NUMBERS], ids=[row[0] for row in NUMBERS]
)
def test_numbers_are_aligned(values, precision, expected):
    """Numbers of one table share a format; zeros and round-off look different."""
    assert aligned(values, precision) == expected


def test_a_matrix_has_joint_names_on_both_axes():
    """The title has name and unit, the header and the first column the joints."""
    text = render_table(result_of(matrix(2)), 80, False)
    _, _, title, header, first, second, _, legend = text.strip().splitlines()
    assert title == "mass_matrix [N·m·s²/rad]"
    assert header.split() == ["j1", "j2"]
    assert first.split()[0] == "j1"
    assert second.split()[0] == "j2"
    assert legend == "j1..j2 = joint_1..joint_2"


def test_vectors_over_the_same_joints_share_a_table():
    """Vectors over the same joints are columns of one table."""
    a = Array("nu", np.array([1.0, 2.0]), (names(2),), "√J")
    b = Array("epsilon", np.array([3.0, -4.0]), (names(2),), "√J/s")
    lines = render_table(result_of(a, b), 80, False).splitlines()[2:]
    assert lines[0].split() == ["joint", "nu", "[√J]", "epsilon", "[√J/s]"]
    assert lines[2].split() == ["j2", "2.000", "-4.000"]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("n", [1, 7, 30])
def test_wide_matrices_are_split_and_never_cut(width, n):
    """Every entry is shown, no line is wider than the terminal, nothing ends in an ellipsis."""
    array = matrix(n)
    text = render_table(result_of(array), width, False, 6)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    shown = [float(number) for number in re.findall(r"-?\d+\.\d+", text)]
    assert sorted(shown) == pytest.approx(sorted(array.values.ravel()), abs=1e-5)
    assert len(shown) == n * n


def test_a_pipe_gets_the_full_width():
    """Without a width, one table holds all columns."""
    text = render_table(result_of(matrix(30)), None, False)
    assert text.count("mass_matrix") == 1
    tables = blocks(text)
    assert [len(lines) for lines in tables] == [1, 32, 1]


def test_a_name_wider_than_the_terminal_is_not_cut():
    """A cell is never cut, even if the terminal is too narrow for it."""
    long = "a_very_long_joint_name_" * 4
    array = Array("tau", np.array([1.0]), ((long,),), "N·m", "effort")
    assert long in render_table(result_of(array), 40, False)


def test_all_assumptions_are_shown_below_the_tables_on_request():
    """Every key of the contract is one line, in words."""
    contract = {
        "gravity": (0.0, 0.0, -9.81),
        "damping": False,
        "locked": {},
        "payload": {"tip": 0.5},
    }
    result = result_of(matrix(2), contract=contract)
    lines = render_table(result, 80, False, contract=True).splitlines()
    assert lines[-4:] == [
        "gravity  0, 0, -9.81",
        "damping  no",
        "locked   none",
        "payload  tip = 0.5",
    ]


def test_assumptions_are_one_sentence_about_what_differs_from_the_plain_model():
    """Entries such as 'none' are left out; the direction of gravity is in words."""
    contract = {
        "gravity": "0, 0, -9.81 m/s² in the root link's axes",
        "locked": "none",
        "fixed": "5 fixed joints merged",
        "damping": "applied: 0.003 on all 7 joints",
        "payload": "0.5 kg on link 'tip'",
        "algorithm": "composite bodies",
    }
    text = render_table(result_of(matrix(2), contract=contract), 200, False)
    assert text.splitlines()[-1] == (
        "Assumes gravity 9.81 m/s² along -z, damping 0.003 on all 7 joints and "
        "payload 0.5 kg on link 'tip'; 5 fixed joints merged."
    )


def test_long_assumptions_are_summarized():
    """Values of many joints become a range, and lists of joints a count."""
    values = ", ".join(f"{0.5 * i} on left_arm_{i} and right_arm_{i}" for i in range(1, 9))
    contract = {
        "gravity": "0, 0, -9.81 m/s²",
        "damping": f"applied: {values}",
        "friction": f"Coulomb friction in the robot file, not applied: {values}",
        "mimic": "; ".join(f"finger_{i} = 0.5 · hand" for i in range(9)),
        "loops": "closed: pin (point: 'a' on 'b'); bar (point: 'c' on 'd')",
        "base": "floating: joint 'base' between the world and the root link",
        "tip": "link 'tool'; joints off the chain are rigid",
    }
    text = render_table(result_of(matrix(2), contract=contract), 300, False)
    assert text.splitlines()[-1] == (
        "Assumes gravity 9.81 m/s² along -z, damping 0.5 to 4, friction off "
        "(--friction-velocity), 9 mimic joints, closed loops pin and bar, "
        "a floating base and tip 'tool'."
    )


IGNORED = [
    (["collision (17)", "visual (17)"], "; ignored elements: collision and visual."),
    (
        ["collision (9)", "contact (4)", "gazebo (1)", "transmission (2): actuator (2)"],
        "; ignored elements: contact, gazebo, transmission and 1 more kind.",
    ),
    (
        ["limit attribute command_effort (12)"],
        "; ignored elements: limit attribute command_effort.",
    ),
    (["origin (1)", "visual (3)"], "; ignored elements: misplaced origin and visual."),
    (["a" * 45, "b" * 90], f"; ignored elements: {'a' * 45} and 1 more kind."),
    (["a" * 190, "b" * 190], "; ignored: 2 kinds of elements."),
]


@for_each("ignored,end", IGNORED)
def test_ignored_elements_are_named_in_two_lines(ignored, end):
    """Up to three names in two lines of 80 columns, those of shapes and colours last."""
    contract = {"gravity": "0, 0, -9.81 m/s²", "ignored": ignored}
    lines = render_table(result_of(matrix(2), contract=contract), 80, False).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Assumes"))
    assert " ".join(map(str.strip, lines[first:])).endswith(end)
    assert len(lines) - first <= 2


FRICTION = "applied, smoothed as μ tanh(q̇/0.01): "


@for_each(
    "values,shown",
    [
        ("2.9607940086777695 on a, b 0.2", f"friction {FRICTION}2.96079 on a, b 0.2."),
        (
            ", ".join(f"shoulder_{i}_joint {i}.9607940086777695" for i in range(1, 7)),
            "friction 1.96079 to 6.96079, smoothed as μ tanh(q̇/0.01).",
        ),
    ],
)
def test_numbers_of_the_model_have_six_digits(values, shown):
    """All digits of a file are in the assumptions, not in the sentence about the model."""
    contract = {"gravity": "0, 0, -9.81 m/s²", "friction": f"{FRICTION}{values}"}
    text = render_table(result_of(matrix(2), contract=contract), 300, False)
    assert text.splitlines()[-1].endswith(shown)


def test_no_note_takes_the_place_of_one_row():
    """A table with one row too many shows it instead of '… 1 more row'."""
    array = Array("tau", np.arange(1.0, 13.0), (names(12),), "N·m")
    notes = {
        height: [
            line
            for line in render_table(result_of(array), 80, False, height=height).splitlines()
            if "more row" in line
        ]
        for height in range(14, 30)
    }
    assert any(notes.values())
    assert not any("1 more row" in line for lines in notes.values() for line in lines)
    for height in notes:
        assert render_table(result_of(array), 80, False, height=height).count("\n") < height


def test_a_vector_obeys_the_rule_of_its_note():
    """3.5e-11 next to 16.38 is below 1e-11 times the largest entry."""
    assert [each.strip() for each in vector_texts(np.array([0.0, 16.38, 3.5e-11, 3.5e-9]), 4)] == [
        "0",
        "16.38",
        "~0",
        "3.500e-09",
    ]


def test_all_ignored_elements_are_in_the_assumptions():
    """A long list of ignored elements does not push the result off the screen."""
    contract = {"gravity": "0, 0, -9.81 m/s²", "ignored": ["collision (17)", "visual (17)"]}
    complete = render_table(result_of(matrix(2), contract=contract), 100, False, contract=True)
    assert "collision (17)" in complete


def test_long_joint_names_leave_room_for_the_numbers_of_poles():
    """Stability and time constants of a robot with long names fit 80 columns in one table."""
    arm = robolin.load("panda")
    result = robolin.answer(arm, "poles", robolin.States(q="home"))
    long = tuple(f"{letter}_rotation_of_the_wrist_{letter}" for letter in "abcdefg")
    arrays = tuple(
        replace(a, labels=(a.labels[0], long)) if a.name == "mode_shape" else a
        for a in result.arrays
    )
    text = render_table(replace(result, arrays=arrays, joints=long), 80, False, height=24)
    header = next(line for line in text.splitlines() if "pole [1/s]" in line)
    assert header.split()[-1] == "joints"
    assert max(map(len, text.splitlines())) <= 80


SHORT = [
    (("panda_joint1", "panda_joint2"), ["j1", "j2"]),
    (("shoulder_pan_joint", "elbow_joint"), ["shoulder_pan", "elbow"]),
    (("left_arm_a", "left_arm_bc"), ["a", "bc"]),
    (("shoulder", "elbow"), ["shoulder", "elbow"]),
    # without the common words a name would be empty
    (("arm_joint", "arm_lower_joint"), ["arm", "arm_lower"]),
    (("a1", "a2"), ["a1", "a2"]),
    (("joint", "joint_1"), ["joint", "joint_1"]),
]


@pytest.mark.parametrize("joints, expected", SHORT)
def test_joint_names_are_shortened_by_their_common_words(joints, expected):
    """The legend has the full names; names that would coincide stay as they are."""
    short = short_names(joints)
    assert [short.of(name) for name in joints] == expected
    assert bool(short.legend) == (list(joints) != expected)
    assert short.of(f"{joints[0]}/position") == f"{expected[0]}/position"


def test_arrays_that_do_not_fit_the_screen_are_one_line():
    """The first array is complete; others name the flag that shows them."""
    arrays = [matrix(7, name) for name in ("dqdd_dq", "dqdd_dtau")]
    result = replace(result_of(*arrays), verb="linearize-forward")
    screen = render_table(result, 80, False, height=24)
    assert len(screen.splitlines()) < 24
    assert len(re.findall(r"-?\d\.\d+", screen)) == 49 + 2
    assert "(--only dqdd_dtau)" in screen
    complete = render_table(result, 80, False)
    assert len(re.findall(r"-?\d\.\d+", complete)) == 98


def test_a_batch_shows_its_first_rows_and_counts_the_rest():
    """A long trajectory fills neither the screen nor hides that there is more."""
    vector = Array("tau", np.ones((500, 2)), (names(2),), "N·m", "effort")
    square = Array("mass_matrix", np.ones((500, 2, 2)), (names(2), names(2)), "kg")
    text = render_table(result_of(vector, square, time=np.arange(500) * 0.01), 80, False)
    assert "the first 10 of 500 rows; min and max are over all rows; -o FILE keeps them all" in text
    assert "time [s]" in text
    assert "mass_matrix [kg], row 1 of 500" in text
    assert len(text.splitlines()) < 40


def test_min_and_max_are_of_all_rows():
    """The extremes below the first rows include those that are not shown."""
    values = np.stack([np.arange(50.0), -np.arange(50.0)], axis=1)
    vector = Array("tau", values, (names(2),), "N·m", "effort")
    lines = render_table(result_of(vector), 80, False).splitlines()
    assert [line.split() for line in lines if line.startswith("m")] == [
        ["min", "0", "-49.00"],
        ["max", "49.00", "0"],
    ]


def test_many_joints_are_lines_of_a_trajectory():
    """The motion of a humanoid has a line per joint and a column per time."""
    values = np.arange(6.0)[:, None] + np.arange(20.0)
    vector = Array("q", values, (names(20),), "rad", "position")
    lines = render_table(result_of(vector, time=np.arange(6) * 0.5), 80, False).splitlines()
    assert lines[3].split() == ["time", "[s]", "0", "0.5", "1", "1.5", "2", "2.5"]
    assert lines[4].split()[1:] == ["0", "1.000", "2.000", "3.000", "4.000", "5.000"]
    assert lines[23].split()[0] == "j20"


def test_a_derivative_is_one_matrix_per_joint_it_is_taken_by():
    """∂𝓜(i,j)/∂q(k) is shown as the matrix of i and j for every k, with a title."""
    values = np.arange(1.0, 9.0).reshape(2, 2, 2)
    array = Array("dmass_matrix_dq", values, (names(2),) * 3, "kg")
    for k, lines in enumerate(blocks(render_table(result_of(array), 80, False))[1:-1]):
        assert lines[0] == f"dmass_matrix_dq [kg], ∂𝓜/∂q_k, k = j{k + 1}"
        assert shown_matrix(lines) == values[:, :, k].tolist()


def test_second_derivatives_are_one_matrix_per_pair():
    """∂²𝓜(i,j)/∂q(k)∂q(l) shows the matrix of i and j for every k and l."""
    values = np.arange(1.0, 17.0).reshape(2, 2, 2, 2)
    array = Array("d2mass_matrix_dq2", values, (names(2),) * 4, "kg")
    tables = blocks(render_table(result_of(array), 80, False))[1:-1]
    assert len(tables) == 4
    for (k, m), lines in zip(np.ndindex(2, 2), tables, strict=True):
        which = f"k = j{k + 1}, l = j{m + 1}"
        assert lines[0] == f"d2mass_matrix_dq2 [kg], ∂²𝓜/∂q_k∂q_l, {which}"
        assert shown_matrix(lines) == values[:, :, k, m].tolist()


def test_the_printed_slices_are_the_derivatives():
    """Each printed slice of ∂𝓜/∂q is what mass-matrix changes by, seen by differences."""
    arm = robolin.load("two-link")
    q = np.array([0.3, -0.7])
    array = Array(
        "dmass_matrix_dq", robolin.mass_matrix_derivative(arm, q), (arm.joint_names,) * 3, "kg"
    )
    tables = blocks(render_table(result_of(array), 80, False, 8))[1:]
    for lines, step in zip(tables, 1e-6 * np.eye(2), strict=True):
        change = robolin.mass_matrix(arm, q + step) - robolin.mass_matrix(arm, q - step)
        assert np.allclose(shown_matrix(lines), change / 2e-6, rtol=0, atol=1e-6)


def blocks(text):
    """The tables of a text, each as its lines."""
    return [block.splitlines() for block in text.strip().split("\n\n")]


def shown_matrix(lines):
    return [[float(word) for word in line.split()[1:]] for line in lines[2:]]


@pytest.mark.parametrize("seed", range(20))
def test_every_entry_has_its_digits(seed):
    """Every entry has six digits, independent of its neighbours."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(40) * 10.0 ** rng.uniform(-9, 4, 40)
    texts = aligned(values.tolist(), 6)
    assert len(set(map(len, texts))) == 1
    np.testing.assert_allclose([float(text) for text in texts], values, rtol=5.1e-6, atol=0)


def test_negligible_entries_of_a_matrix_are_judged_by_row_and_column():
    """Noise next to large entries is ~0; the entries of a small joint are kept."""
    values = np.array([[1.0, 3e-12, 1e-10], [3e-12, 2.0, 5e-7], [1e-10, 5e-7, 1e-9]])
    array = Array("mass_matrix", values, (names(3), names(3)), "kg·m²")
    lines = render_table(result_of(array), 80, False).splitlines()
    rows = [line.split()[1:] for line in lines if line.startswith("j")]

    assert rows[0] == ["1.000", "~0", "1.000e-10"]
    assert rows[1] == ["~0", "2.000", "5.000e-07"]
    assert rows[2] == ["1.000e-10", "5.000e-07", "1.000e-09"]


def test_negligible_complex_entries():
    """Parts are judged by the magnitude of their row and column; two negligible ones are ~0."""
    values = np.array([[2.0 + 1e-13j, 1e-14 - 1e-13j], [3.0j, 1.0 + 1.0j]])
    array = Array("response", values, (names(2), names(2)), "rad")
    lines = render_table(result_of(array), 80, False).splitlines()
    rows = [line.split()[1:] for line in lines if line.startswith("j")]

    assert rows[0] == ["2.000", "+", "~0j", "~0"]
    assert rows[1] == ["0", "+", "3.000j", "1.000", "+", "1.000j"]


def test_a_legend_belongs_to_a_table_that_is_shown():
    """Numbered columns of a table that does not fit the screen have no legend."""
    joints = tuple(f"right_arm_joint_{letter}" for letter in "abcdefghijklm")
    vector = Array("tau", np.ones(13), (joints,), "N·m", "effort")
    matrix = Array(
        "other", np.full((13, 30), 1.5), (joints, tuple("x" * 9 + str(i) for i in range(30))), "m"
    )
    result = replace(result_of(vector, matrix), joints=joints)
    assert "columns: " not in render_table(result, 80, False, height=20)


def test_an_array_below_the_scale_of_the_robot_is_round_off():
    """Accelerations in equilibrium are ~0, although no larger entry is next to them."""
    arm = robolin.load("panda")
    result = robolin.answer(arm, "linearize-forward", robolin.States(q="0.3,0.4,0.5,-1,0.2,1,0.7"))
    assert 0.0 < abs(result["qdd"]).max() < 1e-12

    text = render_table(only_arrays(result, ("qdd",)), 80, False)
    rows = [line.split() for line in text.splitlines() if re.match(r"j\d ", line)]
    assert [row[1] for row in rows] == ["~0"] * 7


def test_round_off_next_to_small_torques():
    """A torque below the round-off of the robot is ~0 next to torques that are small, too."""
    arm = robolin.load("panda")
    result = robolin.answer(arm, "inverse", robolin.States(q="home"))
    small = np.array([2e-14, 1e-3, 2e-6, 3e-14, 1e-9, 1e-3, -1e-15])
    array = replace(result.arrays[0], values=small)
    lines = render_table(replace(result, arrays=(array,)), 80, False).splitlines()
    entries = [line.split()[1] for line in lines if re.match(r"j\d ", line)]
    assert [i for i, entry in enumerate(entries) if entry == "~0"] == [0, 3, 6]


def test_seven_long_names_fit_eighty_columns():
    """A matrix of seven joints stays in one piece; the joints are numbered if necessary."""
    words = ("pan", "lift", "roll", "flex", "twist", "bend", "turn")
    joints = tuple(f"{word}_of_the_right_arm_{word}" for word in words)
    values = 1e-5 * np.random.default_rng(0).standard_normal((7, 7)) + np.eye(7)
    array = Array("mass_matrix", values, (joints, joints), "kg·m²")
    text = render_table(replace(result_of(array), joints=joints), 80, False, height=24)
    assert len(re.findall(r"-?\d\.\d{3}(?:e-\d+)?\b", text)) == 49
    assert max(map(len, text.splitlines())) <= 80
    assert all(name in text for name in joints)


def test_rounding_is_explained_where_it_is_shown():
    """A table with ~0 explains it; one without does not."""
    noisy = Array("tau", np.array([1.0, 3e-18]), (names(2),), "N·m", "effort")
    plain = Array("tau", np.array([1.0, 3e-8]), (names(2),), "N·m", "effort")
    assert "~0: round-off" in render_table(result_of(noisy), 80, False)
    assert "rounding" not in render_table(result_of(plain), 80, False)


def test_late_times_keep_their_digits():
    """Times of a long recording keep the digits in which its rows differ."""
    array = Array("tau", np.ones((3, 2)), (names(2),), "N·m", "effort")
    time = 1_700_000_000.0 + 0.01 * np.arange(3)
    text = render_table(result_of(array, time=time), 80, False)
    assert "1700000000.01" in text


def test_names_cannot_steer_the_terminal():
    """Markup and control characters in a name are shown, not obeyed."""
    array = Array("tau", np.array([1.0, 2.0]), (("[bold]x", "\x1b[31my\n"),), "N·m", "effort")
    text = render_table(result_of(array), 80, False)
    assert "[bold]x" in text
    assert "\\x1b[31my\\n" in text
    assert "\x1b" not in text


def test_color_changes_nothing_but_color():
    """Without its colour codes a coloured table is the plain one."""
    result = result_of(matrix(3), contract={"damping": True})
    plain, colored = (render_table(result, 80, color) for color in (False, True))
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert colored != plain
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def pole_rows(growing: int) -> Result:
    """Poles of three rows of a two-joint robot, the first `growing` rows with an unstable one."""
    poles = np.tile([-1.0 + 0j, -2.0 + 3j, -2.0 - 3j, -4.0], (3, 1))
    poles[:growing, 3] = 5.0
    decay = -poles.real
    modes = ("1", "2", "3", "4")
    arrays = [
        Array("poles", poles, (modes,), "1/s"),
        Array("frequency", np.abs(poles), (modes,), "rad/s"),
        Array("damping", decay / np.abs(poles), (modes,), "1"),
        Array("decay", decay, (modes,), "1/s"),
        Array("stability", np.sign(decay).astype(np.int64), (modes,), "1"),
        Array("mode_shape", np.ones((3, 4, 2), complex), (modes, names(2)), "1"),
    ]
    result = result_of(*arrays, time=np.arange(3) * 0.5)
    return replace(result, verb="poles", contract={"arm": "two"}, options={"trajectory": "m.csv"})


def test_the_verdict_about_a_trajectory_counts_rows():
    """Poles of many rows begin with their stability; each row has its least stable pole."""
    text = render_table(pole_rows(2), 80, False, height=24)
    assert text.startswith("two: unstable in 2 of 3 rows of m.csv, fastest mode grows at 5 1/s\n")
    rows = [line.split()[1:6] for line in text.splitlines()[3:6]]
    assert rows == [
        ["1", "of", "4", "unstable", "5.000"],
        ["1", "of", "4", "unstable", "5.000"],
        ["0", "of", "4", "stable", "-1.000"],
    ]
    stable = render_table(pole_rows(0), 80, False, height=24)
    assert stable.startswith("two: stable in all rows of m.csv, slowest mode decays at 1 1/s\n")


def test_responses_are_tables_over_time_and_frequency():
    """A response shows each position by its own effort: over time, or as gain and phase."""
    labels = (("j1/position", "j2/position", "j1/velocity"), ("j1/effort", "j2/effort"))
    values = np.arange(1.0, 19.0).reshape(3, 3, 2)
    step = Array("step_response", values, labels, "rad or rad/s per N·m")
    lines = render_table(result_of(step, time=np.arange(3.0)), 80, False, height=24).splitlines()
    assert lines[2] == (
        "step_response from each effort to the position of the same joint [rad per N·m]"
    )
    assert [line.split() for line in lines[4:7]] == [
        ["0", "1.000", "4.000"],
        ["1", "7.000", "10.00"],
        ["2", "13.00", "16.00"],
    ]
    bode = Array("frequency_response", -1j * values, labels, "rad or rad/s per N·m")
    omega = Array("omega", np.array([1.0, 10.0, 100.0]), (), "rad/s")
    text = render_table(result_of(bode, omega), 80, False)
    gains = [line.split() for line in text.splitlines() if line.startswith("10 ")]
    assert gains[0] == ["10", "16.90", "20.00"]
    assert gains[1] == ["10", "-90.00", "-90.00"]


def test_a_wide_matrix_of_a_trajectory_is_transposed():
    """A regressor over time has no rows of zeros, and no legend that lists all columns."""
    values = np.zeros((2, 2, 30))
    values[:, 1, 4] = 3.0
    wide = tuple(f"link{i}/mass" for i in range(30))
    text = render_table(result_of(Array("regressor", values, (names(2), wide), "m")), 80, False)
    assert "row 1 of 2, transposed" in text
    assert "29 of 30 rows are zero and omitted" in text
    assert "columns: " not in text


def test_a_small_screen_shows_fewer_rows_and_both_extremes():
    """Rows of a long result are omitted evenly; minimum and maximum stay, and the note counts."""
    vector = Array("tau", np.arange(1000.0).reshape(500, 2), (names(2),), "N·m", "effort")
    result = result_of(vector, time=np.arange(500) * 0.01)
    top, rows = spread_rows(stream_of_one_part(result))
    lines = render_table(top, 80, False, rows=rows, height=17).splitlines()
    assert len(lines) < 17
    first = [line.partition(" ")[0] for line in lines]
    assert [name for name in first if name in ("0", "4.99", "min", "max")] == [
        *("0", "4.99", "min", "max")
    ]
    shown = first.index("min") - first.index("0")
    assert f"{shown} of 500 rows; min and max are over all rows" in "\n".join(lines)


def test_poles_that_rounded_angles_decide_are_not_counted_as_unstable():
    """The UR5 at home has one unstable pole; files keep the sign of poles near 0."""
    arm = robolin.load("ur5")
    notes: list[str] = []
    home = robolin.States(q="home")
    result = robolin.answer(arm, "poles", home, notify=lambda kind, text: notes.append(text))
    slow = result["frequency"] < UNDECIDED_RATE
    assert (result["stability"][slow] < 0).any()

    text = render_table(result, 80, False, height=24)
    assert text.startswith(
        "ur5: 1 of 12 poles unstable, fastest mode grows at 5.201 1/s; 10 marginal"
    )
    assert "~0 1/s: below 0.0001 1/s; round-off determines the sign" in text
    assert "~0: round-off" not in text
    # the note of a pipe has the same numbers and the rule
    note = next(text for text in notes if "poles" in text)
    assert note.startswith("1 of 12 poles is unstable; 10 marginal; ")
    moved = int((slow & (result["stability"] != 0)).sum())
    assert note.endswith(
        f"; {moved} marginal poles are slower than 0.0001 1/s, so round-off determines the sign"
    )


def test_discrete_poles_have_no_unit_and_keep_their_real_part():
    """A pole z of the cart-pole has the frequency |ln z|/dt, and z = 1 is not a zero."""
    sampled = robolin.Question("poles", dt=0.01)
    result = robolin.answer(robolin.load("cart-pole"), sampled)
    z = result["poles"][1].real
    text = render_table(result, 80, False, height=24)
    header, first, second = text.splitlines()[3:6]
    assert header.split()[:3] == ["pole", "freq", "[rad/s]"]
    assert first.split()[:4] == ["1", "1.000", "0", "marginal"]
    assert second.split()[:3] == ["2", f"{z:.4f}", f"{-np.log(z) / 0.01:.4f}"]
    assert "1/s: below" not in text

    hanging = robolin.States(q=[-np.pi / 2, 0.0])
    result = robolin.answer(robolin.load("two-link"), sampled, hanging)
    assert "1  0.9996 ± 0.02680j         2.680" in render_table(result, 80, False, height=24)


def test_matrices_do_not_show_rounded_angles():
    """Entries that π/2 with eleven digits leaves in the UR5 are ~0."""
    result = robolin.answer(robolin.load("ur5"), "linearize-forward", robolin.States(q="home"))
    sizes = np.abs(result["dqdd_dq"])
    assert ((sizes > 1e-10) & (sizes < 1e-9)).any()

    text = render_table(result, 80, False, height=24)
    assert "e-1" not in text.partition("~0: round-off")[0]


def test_the_pose_of_a_frame_does_not_show_rounded_angles():
    """Entries of a position below 1e-11 of its length are ~0 in its line."""
    values = np.array([1.4e-13, -2.4e-12, 1.261])
    array = Array("position", values, (("x", "y", "z"),), "m")
    arm = robolin.load("panda")
    result = robolin.answer(arm, robolin.Question("jacobian", frame="panda_hand"))
    arrays = tuple(array if each.name == "position" else each for each in result.arrays)
    text = render_table(replace(result, arrays=arrays), 80, False, height=24)
    assert "position [m]: ~0, ~0, 1.261" in text


def test_small_numbers_have_exponents_if_a_matrix_fits_then():
    """Seven columns of 0.0001234 fit 76 columns as 1.234e-4."""
    q = np.full((3, 7), -0.0001234)
    q[0] = 0.1
    arm = robolin.load("panda")
    result = only_arrays(robolin.answer(arm, "poles", robolin.States(q=q)), ("q",))
    text = render_table(result, 76, False, height=24)
    assert "columns 1 to" not in text
    assert text.count("-1.234e-4") >= 14
    assert "-0.0001234" in render_table(result, 120, False, height=24)


def test_matrices_along_a_trajectory_have_blocks_of_positions_and_velocities():
    """The gains of the first row fit one table, and C is an identity in all rows."""
    arm = robolin.load("panda")
    states = robolin.States(q=np.tile(arm.poses["home"], (30, 1)))
    text = render_table(robolin.answer(arm, "lqr", states), 80, False, height=24)
    assert "K, position columns [N·m per rad], row 1 of 30" in text
    assert text.count("\n") < 24
    text = render_table(robolin.answer(arm, "state-space", states), 80, False, height=24)
    assert "C identity" in text


def test_the_first_line_of_ik_is_its_verdict():
    """The goal is reached, with the remaining distance and angle of the stored result."""
    ask = robolin.Question("ik", goal="tip=1.2,0.5,0")
    result = robolin.answer(robolin.load("two-link"), ask)
    first = render_table(result, 80, False).splitlines()[0]
    assert first == "two-link: goal reached, error below 1e-12 m"
    near = tuple(
        replace(each, values=np.array(2.5e-10)) if each.name == "position_error" else each
        for each in result.arrays
    )
    first = render_table(replace(result, arrays=near), 80, False).splitlines()[0]
    assert first == "two-link: goal reached, error 2.5e-10 m"
