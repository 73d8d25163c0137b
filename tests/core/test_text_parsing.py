"""Parsing of the values of options."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, radians
from typing import Any

import pytest

import robolin
from robolin.core.text_parsing import (
    FlagText,
    number,
    numbers,
    parse_frequencies,
    parse_gravity,
    parse_keyed,
    parse_named_numbers,
    parse_names,
    parse_number,
    parse_pairs,
    parse_payload,
    parse_per_joint,
    parse_pose,
    parse_rows,
    parse_seconds,
    parse_shard,
    parse_swept,
    parse_time_window,
    parse_wrench,
    split_hold,
    text_of,
)
from robolin.errors import UsageError

TYPED = FlagText("--q", "…")

RIGHT = [
    ("0.5", 0.5, False),
    (" -1.2e-3 ", -1.2e-3, False),
    ("30deg", radians(30), True),
    ("30 deg", radians(30), True),
    ("-45°", radians(-45), True),
    ("pi", pi, True),
    ("-pi/2", -pi / 2, True),
    ("3*pi/4", 3 * pi / 4, True),
    ("2pi", 2 * pi, True),
    ("0.5π", pi / 2, True),
    ("+pi / 6", pi / 6, True),
]


@pytest.mark.parametrize(("text", "value", "angle"), RIGHT, ids=[text for text, *_ in RIGHT])
def test_a_number_is_what_it_says(text, value, angle):
    """Degrees and parts of π are angles in rad, to the last bit of the arithmetic they spell."""
    assert parse_number(TYPED, text) == (value, angle)


WRONG = ["", "one", "1_000", "nan", "١٢", "deg", "°", "pi/0", "pi/", "pi*2", "pipi", "1/2", "1e999"]
WRONG += ["1e308pi", "--pi", "pi deg", "30deg°", "30°deg", "²"]


@pytest.mark.parametrize("text", WRONG)
def test_invalid_numbers_are_rejected(text):
    """A text that does not have one of these forms is an error."""
    with pytest.raises(UsageError):
        parse_number(TYPED, text)


def test_angles_are_rejected_for_plain_numbers():
    """Where the value is not an angle, π and degrees are rejected."""
    for text in ("pi/2", "30deg"):
        with pytest.raises(UsageError, match="is an angle"):
            number(TYPED, text)


FORMS: list[tuple[Callable[[FlagText], Any], str, Any]] = [
    (parse_seconds, "0.5", 0.5),
    (parse_gravity, "0,0,-9.81", (0.0, 0.0, -9.81)),
    (parse_gravity, "9.81", 9.81),
    (parse_payload, "tool:0:1.5@0,0,0.1", ("tool:0", 1.5, (0.0, 0.0, 0.1))),
    (parse_payload, "tool0:2", ("tool0", 2.0, (0.0, 0.0, 0.0))),
    (parse_wrench, "a=b=1,2,3,4,5,6", ("a=b", (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))),
    (parse_pose, "tip =1,2,3,0,90deg,0", ("tip", [1.0, 2.0, 3.0], (0.0, radians(90), 0.0))),
    (parse_time_window, "elbow=5@0.5:0.7", ("elbow=5", 0.5, 0.7)),
    (parse_time_window, "1,2", None),
    (parse_frequencies, "1,2.5", ([1.0, 2.5], None)),
    (parse_frequencies, "0.1:100:20", ([0.1, 100.0], 20)),
    (parse_rows, " 10 : 20 ", (10, 20)),
    (parse_rows, "5:", (5, None)),
    (parse_shard, "3/16", (3, 16)),
]


@pytest.mark.parametrize(("parse", "text", "value"), FORMS, ids=[text for _, text, _ in FORMS])
def test_each_form_has_its_values(parse: Callable[[FlagText], Any], text: str, value: Any) -> None:
    """A valid text of a form gives its names and numbers."""
    assert parse(FlagText("--a", text)) == value


INVALID: list[tuple[Callable[[FlagText], Any], str, str]] = [
    (parse_seconds, "0", "must be > 0 s"),
    (parse_gravity, "-9.81", "a single number is a magnitude and must be ≥ 0, got -9.81"),
    (parse_gravity, "1,2", "must have 1 or 3 numbers, got 2"),
    (parse_payload, "tool0", "must have the form LINK:MASS[@X,Y,Z]"),
    (parse_payload, "tool0:1@0,0", "must have 3 numbers, got 2"),
    (parse_wrench, "tool0=1,2", "must have 6 numbers, got 2"),
    (parse_pose, "0,0,0,0,0,0", "must have the form FRAME=X,Y,Z,ROLL,PITCH,YAW"),
    (parse_pose, "tip=1deg,0,0,0,0,0", "X, Y and Z are in m, so they cannot be in degrees"),
    (parse_time_window, "1,2@3", "the time must have the form FROM:TO"),
    (parse_time_window, "1,2@3:1", "the times must satisfy 0 ≤ FROM < TO"),
    (parse_rows, "5", "must have the form FIRST:STOP"),
    (parse_rows, "5:5", "STOP must be greater than FIRST"),
    (parse_shard, "0/3", "NUMBER must be from 1 to 3, got 0"),
    (parse_shard, "1/0", "COUNT must be ≥ 1"),
    (parse_shard, "three", "must have the form NUMBER/COUNT"),
    (parse_frequencies, "1:2:3.5", "FIRST and LAST must be > 0, and COUNT must be an integer ≥ 2"),
    (lambda typed: numbers(typed, "two", 2), "1,2,3", "must have 2 numbers, got 3"),
]


@pytest.mark.parametrize(("parse", "text", "message"), INVALID, ids=[row[1] for row in INVALID])
def test_errors_name_flag_and_text(
    parse: Callable[[FlagText], Any], text: str, message: str
) -> None:
    """An error starts with the flag and its text, then says what is invalid."""
    with pytest.raises(UsageError) as caught:
        parse(FlagText("--a", text))
    assert caught.value.where == f"--a={text}"
    assert message in caught.value.message


def test_repeated_flags_are_merged_and_names_are_unique() -> None:
    """Entries of a repeated flag become one mapping; a second entry of a name is an error."""
    entries = parse_named_numbers("--lock", ["a=1,b=30deg", "c=2"])
    assert {name: value for name, (value, _) in entries.items()} == {
        "a": 1.0, "b": radians(30), "c": 2.0,
    }  # fmt: skip
    assert parse_pairs("--xacro-arg", ["a:=1", "b:=x=y"], ":=") == {"a": "1", "b": "x=y"}
    assert parse_keyed("--perturb", ["dq = 1,2"], ("dq",), "")["dq"] == ("--perturb=dq", "1,2")
    repeated: list[Callable[[], Any]] = [
        lambda: parse_named_numbers("--lock", ["a=1", "a=2"]),
        lambda: parse_pairs("--package", ["a=1", "a=2"]),
        lambda: parse_keyed("--perturb", ["dq=1", "dq=2"], ("dq",), ""),
    ]
    for parse in repeated:
        with pytest.raises(UsageError, match="is given twice"):
            parse()
    with pytest.raises(UsageError, match="not an angle"):
        parse_named_numbers("--armature", ["a=1deg"], is_angle=lambda _: False)


def test_swept_options_are_one_text_per_value() -> None:
    """A list of values becomes the option with each of them; one value is not a sweep."""
    assert parse_swept("payload", "tip:0,1@0,0,1") == (
        "tip", ("tip:0@0,0,1", "tip:1@0,0,1"), (0.0, 1.0),
    )  # fmt: skip
    assert parse_swept("lock", "elbow=1") is None
    assert split_hold("hold + 1,2") == (True, "1,2")
    assert split_hold("1,2") == (False, "1,2")
    assert parse_names(" a, b:c") == ("a", "b:c")


def test_texts_parse_back_to_the_same_numbers() -> None:
    """Formatted values have all digits, by position and by name."""
    arm = robolin.load("two-link")
    values = [0.1 + 0.2, -1e-300]
    named = dict(zip(arm.joint_names, values, strict=True))
    for angles in (values, named):
        assert parse_per_joint(FlagText("--q", text_of(angles)), arm, True) == values
