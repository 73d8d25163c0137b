"""Repeated flags are combined or rejected; no value is dropped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from robolin.cli.flags.flag import Flag
from robolin.cli.group import group
from robolin.queries.verbs import VERBS
from tests.cli.command import robolin, run_ok


def _single_flags(verb: str) -> Iterator[Flag]:
    """Every flag of a verb that takes one value."""
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    for param in command.params:
        if isinstance(param, click.Option) and not param.is_flag and not param.multiple:
            assert isinstance(param, Flag), f"{verb} {param.opts[0]} would drop a value"
            if not param.by_name:
                yield param


@pytest.mark.parametrize("verb", VERBS)
def test_a_flag_with_one_value_rejects_a_second(verb: str) -> None:
    """For every flag and verb, two values are wrong usage that names the flag."""
    for option in _single_flags(verb):
        twice = (option.opts[-1], "1") * 2
        ran = robolin(verb, "two-link", *twice)
        assert (ran.code, ran.out) == (2, ""), (twice, ran)
        message = f"error: {option.opts[0]}: set 2 times\nhint: use this option only once"
        assert ran.err.startswith(message), (twice, ran.err)


@pytest.mark.parametrize("name", ["q", "qd", "qdd"])
def test_values_of_named_joints_are_combined(name: str) -> None:
    """Repeated flags are equivalent to one flag with all values."""
    command = ("inverse", "two-link", *(() if name == "q" else ("--q", "1,1")), f"--{name}")
    apart = run_ok(*command, "elbow=1", f"--{name}", "shoulder=2")
    together = run_ok(*command, "elbow=1,shoulder=2")
    alone = run_ok(*command, "shoulder=2")
    assert apart == together
    assert apart != alone


def test_names_of_joints_are_combined() -> None:
    """Prescribed joints may be named in repeated flags."""
    command = ("forward", "two-link", "--base-joint", "planar", "--prescribe", "base")
    assert run_ok(*command, "--prescribe", "elbow") == run_ok(*command[:-1], "base,elbow")
    assert run_ok(*command, "--prescribe", "elbow") != run_ok(*command)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("elbow=1", "elbow=2", "'elbow' is given twice"),
        ("elbow=1,shoulder=2", "elbow=1", "'elbow' is given twice"),
        ("1,2", "3,4", "set 2 times"),
        ("1,2", "elbow=3", "set 2 times"),
        ("elbow=1", "0,0", "set 2 times"),
    ],
)
def test_values_that_contradict_each_other(first: str, second: str, message: str) -> None:
    """A joint twice, and positional values together with others, are rejected."""
    ran = robolin("inverse", "two-link", "--q", first, "--q", second)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("forward", "--tau", "hold", "--tau", "elbow=1"),
        ("simulate", "--duration", "0.01", "--tau", "hold+elbow=1", "--tau", "shoulder=1"),
        ("simulate", "--duration", "0.01", "--tau", "elbow=1", "--tau", "hold"),
    ],
)
def test_torques_that_hold_go_alone(words: tuple[str, ...]) -> None:
    """'hold' cannot be combined with values of joints."""
    ran = robolin(words[0], "two-link", *words[1:])
    assert ran.code == 2
    assert "--tau: set 2 times" in ran.err


def test_combined_flags_are_stored_as_one(tmp_path: Path) -> None:
    """The stored question has one flag with all values, and `check` uses it."""
    path = tmp_path / "held.json"
    run_ok("record", "inverse", "two-link", "--q", "elbow=1", "--q", "shoulder=2", "-o", path)
    assert json.loads(path.read_text())["meta"]["options"]["q"] == "elbow=1,shoulder=2"
    run_ok("check", path)


def test_a_switch_twice_is_a_switch() -> None:
    """Saying it again does no harm."""
    once = run_ok("mass-matrix", "two-link", "--inverse")
    assert run_ok("mass-matrix", "two-link", "--inverse", "--inverse") == once


def test_repeatable_flags_add_up() -> None:
    """Each value of a repeatable flag has its effect."""
    both = run_ok("inverse", "two-link", "--payload", "tip:1", "--payload", "tip:1")
    assert both == run_ok("inverse", "two-link", "--payload", "tip:2")
    force = ("--wrench", "lower=0,0,1,1,0,1")
    assert run_ok("inverse", "two-link", *force, *force) == run_ok(
        "inverse", "two-link", "--wrench", "lower=0,0,2,2,0,2"
    )
