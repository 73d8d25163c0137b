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


def samples(folder: Path, prefix: str, *flags: str) -> str:
    """Compile the controller and run its test; return its summary."""
    GCC.compile(
        folder, f"{prefix}.c", f"{prefix}_mpc.c", f"{prefix}_mpc_test.c",
        into="mpc_test", flags=("-O1", *flags),
    )  # fmt: skip
    done = subprocess.run(["./mpc_test"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:2000]
    return done.stdout.strip()


def test_the_controller_has_the_bits_of_python(tmp_path: Path) -> None:
    """Disturbed samples near limits give the torques of `receding`, also with the observer."""
    arm = robolin.load("two-link")
    control = robolin.receding(
        arm, [0.6, -0.4], horizon=0.1, max_effort=4.0, max_velocity=0.5, iterations=3
    )
    robolin.generate(arm, VERBS, tmp_path / "made", extras=["mpc"], mpc=control)
    assert samples(tmp_path / "made", "two_link") == "two_link_mpc: 12 samples, 0 differences"


def test_vector_extensions_change_no_bit(tmp_path: Path) -> None:
    """Knots in pairs with and without AVX, an odd number of knots, and other compilers."""
    arm = robolin.load("two-link")
    control = robolin.receding(arm, [0.6, -0.4], horizon=0.07, dt=0.01, max_effort=4.0)
    robolin.generate(arm, VERBS, tmp_path / "made", extras=["mpc"], mpc=control)
    text = (tmp_path / "made" / "two_link_mpc.c").read_text()
    assert "pair_linearize_inverse(q, v, a, M, Jv, Jq, m->turns[knot]);" in text
    for flags in ((), ("-O2",), ("-DNO_AVX",), ("-DNO_VECTORS",)):
        summary = samples(tmp_path / "made", "two_link", *flags)
        assert summary == "two_link_mpc: 12 samples, 0 differences"


OUTLIERS = """
#include <stdio.h>
#include "two_link_mpc.h"
static two_link_mpc m;
int main(void)
{
    const double q[2] = {0.1, 0.2}, qd[2] = {0.0, 0.0}, zero = 0.0 * q[0];
    const double bad[][4] = {
        {zero / zero, 0.2, 0.0, 0.0}, {0.1, 1.0 / zero, 0.0, 0.0}, {0.1, 0.2, 1e200, 0.0},
        {0.1, 0.2, 1e12, 0.0},
    };
    double tau[2] = {7.0, 7.0};
    int i, k, status;
    two_link_mpc_start(&m, two_link_mpc_goal);
    for (i = 0; i < 4; ++i) {
        for (k = 0; k < 4; ++k) {
            const double before = tau[0];
            status = two_link_mpc_step(&m, bad[k], bad[k] + 2, tau);
            printf("%d %d\\n", status, tau[0] == before);
        }
        status = two_link_mpc_step(&m, q, qd, tau);
        printf("%d %.17g %.17g\\n", status, tau[0], tau[1]);
    }
    return 0;
}
"""


def test_samples_that_are_not_finite_are_rejected(tmp_path: Path) -> None:
    """NaN, infinity and overflow are errors in C and in Python, and change nothing."""
    arm = robolin.load("two-link")
    control = robolin.receding(arm, [0.6, -0.4], horizon=0.1, observer=0.5)
    folder = tmp_path / "made"
    robolin.generate(arm, VERBS, folder, extras=["mpc"], mpc=control)
    (folder / "outliers.c").write_text(OUTLIERS)
    GCC.compile(folder, "two_link.c", "two_link_mpc.c", "outliers.c", into="outliers")
    done = subprocess.run(
        ["./outliers"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    expected = control.replay(np.array([[[0.1, 0.2], [0.0, 0.0]]] * 4))
    for i, row in enumerate(expected):
        assert done[5 * i : 5 * i + 4] == ["-1 1"] * 4
        assert np.array_equal(np.array(done[5 * i + 4].split(), dtype=float), [0.0, *row])
        for q0, qd0 in ((np.nan, 0.0), (0.1, np.inf), (0.1, 1e200), (0.1, 1e12)):
            with pytest.raises(robolin.RobolinError):
                control.step(np.array([q0, 0.2]), np.array([qd0, 0.0]))
        assert np.array_equal(control.step(np.array([0.1, 0.2]), np.zeros(2)), row)


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
        (("inverse", "--with", "mpc"), "add linearize-inverse"),
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


def test_numpy_numbers_are_written_as_c(tmp_path: Path) -> None:
    """NumPy scalars give the files that Python numbers give."""
    arm = robolin.load("two-link")
    for folder, number in (("python", float), ("numpy", np.float64)):
        control = robolin.receding(
            arm, [0.3, 0.2], horizon=number(0.1), dt=number(0.01), observer=number(0.5),
            limit_scale=number(0.5), final=number(3.0),
        )  # fmt: skip
        robolin.generate(arm, VERBS, tmp_path / folder, extras=["mpc"], mpc=control)
    for name in ("two_link_mpc.h", "two_link_mpc.c", "two_link_mpc_test.c"):
        assert (tmp_path / "python" / name).read_text() == (tmp_path / "numpy" / name).read_text()


def test_a_controller_of_another_robot_is_rejected(tmp_path: Path) -> None:
    """The controller and the functions have the same gravity, links and parameters."""
    arm = robolin.load("two-link")
    others = {
        "gravity": robolin.load("two-link", gravity=[0.0, -1.62, 0.0]),
        "parameters": arm.with_parameters({"lower/mass": 2.0}),
        "links": robolin.load("panda"),
    }
    for word, other in others.items():
        control = robolin.receding(other, np.full(other.n, 0.1), horizon=0.1)
        with pytest.raises(robolin.UsageError, match=f"belongs to a different arm: .*{word}"):
            robolin.generate(arm, VERBS, tmp_path / "made", extras=["mpc"], mpc=control)
    assert not list(tmp_path.iterdir())
    # the same description, loaded twice
    same = robolin.receding(robolin.load("two-link"), [0.1, 0.1], horizon=0.1)
    robolin.generate(arm, VERBS, tmp_path / "made", extras=["mpc"], mpc=same)


def test_the_torques_are_those_of_a_new_controller() -> None:
    """`replay` starts from scratch, so the controller itself keeps its plan."""
    control = robolin.receding(robolin.load("two-link"), [0.2, 0.1], horizon=0.1)
    states = np.zeros((2, 2, 2))
    first = control.replay(states)
    assert np.array_equal(first[0], control.step(*states[0]))
    assert np.array_equal(first, control.replay(states))
