"""Tables for people."""

import re

import numpy as np
import pytest

from robolin.results.result import Array, Result
from robolin.terminal.numbers import aligned
from robolin.terminal.table import render_table


def result_of(*arrays, contract=None, time=None):
    return Result("verb", arrays, arrays[0].labels[-1], contract or {}, {}, {}, time)


def names(n):
    return tuple(f"joint_{i + 1}" for i in range(n))


def matrix(n, name="mass_matrix"):
    values = np.random.default_rng(n).standard_normal((n, n))
    return Array(name, values, (names(n), names(n)), "N·m·s²/rad")


NUMBERS = [
    ("decimal points align", [1.5, -22.25, 0.125], 4, ["  1.50", "-22.25", "  0.12"]),
    ("exact zeros are bare", [1.5, 0.0, -0.0], 3, ["1.50", "0   ", "0   "]),
    ("all zero", [0.0, -0.0], 2, ["0  ", "0  "]),
    ("rounding noise shows its size", [1.0, -3e-17], 3, ["  1.00", "-3e-17"]),
    ("large numbers", [1234567.0, 1.0], 3, ["1.23e+06", "1.00e+00"]),
    ("small numbers", [1.5e-7, 0.0], 3, ["1.50e-07", "0       "]),
    ("no decimals left", [123456.0, 0.0], 3, ["123456", "     0"]),
    ("nothing", [], 3, []),
]


@pytest.mark.parametrize(
    "values, precision, expected", [row[1:] for row in NUMBERS], ids=[row[0] for row in NUMBERS]
)
def test_numbers_are_aligned(values, precision, expected):
    """Numbers of one table share a format; zeros and noise can be told apart."""
    assert aligned(values, precision) == expected


def test_a_matrix_has_joint_names_on_both_axes():
    """The title has name and unit, the header and the first column the joints."""
    text = render_table(result_of(matrix(2)), 80, False)
    title, header, _, first, second = text.strip().splitlines()
    assert title == "mass_matrix [N·m·s²/rad]"
    assert header.split() == ["joint_1", "joint_2"]
    assert first.split()[0] == "joint_1"
    assert second.split()[0] == "joint_2"


def test_vectors_over_the_same_joints_share_a_table():
    """Several vectors stand beside each other with joints as rows."""
    a = Array("nu", np.array([1.0, 2.0]), (names(2),), "√J")
    b = Array("epsilon", np.array([3.0, -4.0]), (names(2),), "√J/s")
    lines = render_table(result_of(a, b), 80, False).strip().splitlines()
    assert lines[0].split() == ["joint", "nu", "[√J]", "epsilon", "[√J/s]"]
    assert lines[3].split() == ["joint_2", "2.00000", "-4.00000"]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("n", [1, 7, 30])
def test_wide_matrices_are_split_and_never_cut(width, n):
    """Every entry is shown, no line is wider than the terminal, nothing ends in an ellipsis."""
    array = matrix(n)
    text = render_table(result_of(array), width, False)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    shown = [float(number) for number in re.findall(r"-?\d+\.\d+", text)]
    assert sorted(shown) == pytest.approx(sorted(array.values.ravel()), abs=1e-5)
    assert len(shown) == n * n


def test_a_pipe_gets_the_full_width():
    """Without a width, one table holds all columns."""
    text = render_table(result_of(matrix(30)), None, False)
    assert text.count("mass_matrix") == 1
    assert len(text.strip().splitlines()) == 33


def test_a_name_wider_than_the_terminal_is_shown_whole():
    """A cell is never cut, even if the terminal is too narrow for it."""
    long = "a_very_long_joint_name_" * 4
    array = Array("tau", np.array([1.0]), ((long,),), "N·m", "effort")
    assert long in render_table(result_of(array), 40, False)


def test_the_contract_stands_above():
    """Every key of the contract is one line, in words."""
    contract = {
        "gravity": (0.0, 0.0, -9.81),
        "damping": False,
        "locked": {},
        "payload": {"tip": 0.5},
    }
    lines = render_table(result_of(matrix(2), contract=contract), 80, False).splitlines()
    assert lines[:4] == [
        "gravity  0, 0, -9.81",
        "damping  no",
        "locked   none",
        "payload  tip = 0.5",
    ]


def test_a_batch_shows_its_first_rows_and_counts_the_rest():
    """A long trajectory fills neither the screen nor hides that there is more."""
    vector = Array("tau", np.ones((500, 2)), (names(2),), "N·m", "effort")
    square = Array("mass_matrix", np.ones((500, 2, 2)), (names(2), names(2)), "kg")
    text = render_table(result_of(vector, square, time=np.arange(500) * 0.01), 80, False)
    assert "… 490 more rows" in text
    assert "time [s]" in text
    assert "mass_matrix [kg], row 1 of 500" in text
    assert len(text.splitlines()) < 40


def test_a_rank_three_array_is_one_table_per_joint():
    """∂M/∂q shows one matrix for every name along the first axis."""
    array = Array("dmass_matrix_dq", np.ones((2, 2, 2)), (names(2),) * 3, "kg")
    text = render_table(result_of(array), 80, False)
    assert "dmass_matrix_dq [kg], joint_1\n" in text
    assert "dmass_matrix_dq [kg], joint_2\n" in text


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
