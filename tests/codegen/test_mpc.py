"""The generated receding-horizon controller: the bits of Python, and its conditions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import robolin
from tests.cli.command import robolin as command
from tests.cli.command import run_ok
from tests.codegen.compilers import GCC

VERBS = ["inverse", "linearize-inverse"]


def samples(folder: Path, prefix: str) -> str:
    """Compile the controller and run its test; return its summary."""
    GCC.compile(
        folder, f"{prefix}.c", f"{prefix}_mpc.c", f"{prefix}_mpc_test.c",
        into="mpc_test", flags=("-O1",),
    )  # fmt: skip
    done = subprocess.run(["./mpc_test"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:2000]
    return done.stdout.strip()


def test_the_controller_has_the_bits_of_python(tmp_path: Path) -> None:
    """Disturbed samples near limits give the torques of `receding`, also with the observer."""
    arm = robolin.load("two-link")
    control = robolin.receding(
        arm, [0.6, -0.4], horizon=0.1, max_effort=4.0, max_speed=0.5, iterations=3
    )
    robolin.generate(arm, VERBS, tmp_path / "made", extras=["mpc"], mpc=control)
    assert samples(tmp_path / "made", "two_link") == "two_link_mpc: 12 samples, 0 differences"


def test_the_command_generates_a_controller(tmp_path: Path) -> None:
    """--with mpc takes the goal, the period and the horizon."""
    folder = tmp_path / "made"
    options = ("--with", "mpc", "--goal", "0.3,0.2", "--dt", "0.02", "--horizon", "0.1")
    run_ok("generate", "two-link", *VERBS, *options, "-o", folder)
    assert "receding-horizon control, 5 knots of 0.02 s" in (folder / "two_link_mpc.h").read_text()
    assert samples(folder, "two_link") == "two_link_mpc: 12 samples, 0 differences"


@pytest.mark.parametrize(
    "args, message",
    [
        (("inverse", "--with", "mpc"), "add inverse and linearize-inverse"),
        ((*VERBS, "--with", "mpc", "--real", "float"), "mpc requires double precision"),
        ((*VERBS, "--goal", "0,0"), "has no effect without --with mpc"),
    ],
)
def test_what_it_needs_is_named(tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    """Missing functions, single precision and options without effect are rejected."""
    ran = command("generate", "two-link", *args, "-o", tmp_path / "made")
    assert ran.code == robolin.UsageError.exit_code
    assert message in ran.err
    assert not list(tmp_path.iterdir())


def test_the_torques_are_those_of_a_new_controller() -> None:
    """`replay` starts from scratch, so the controller itself keeps its plan."""
    control = robolin.receding(robolin.load("two-link"), [0.2, 0.1], horizon=0.1)
    states = np.zeros((2, 2, 2))
    first = control.replay(states)
    assert np.array_equal(first[0], control.step(*states[0]))
    assert np.array_equal(first, control.replay(states))
