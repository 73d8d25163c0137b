"""Pages about arms with closed loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.arm_parts import Pose
from robolin.display.report.arm_section import closure_positions, link_poses
from robolin.display.report.report_page import report_page
from robolin.queries.states import States
from tests.cli.command import robolin as command
from tests.cli.command import run_ok
from tests.display.report.pages import data_in, numbers, report_arm

ROWS = 40


@pytest.fixture(scope="module")
def arm() -> Arm:
    return robolin.load("four-bar")


@pytest.fixture(scope="module")
def driven(arm: Arm) -> dict[str, np.ndarray]:
    """A motion of the linkage on its closures, with torques and what they bring about."""
    start = np.array([0.3, 0.0, 0.0]) + np.linspace(0.0, 0.4, ROWS)[:, None] * [1, 0, 0]
    state = robolin.close(arm, start, [1.0, 0.0, 0.0], hold="drive")
    tau = np.stack([np.sin(np.arange(ROWS)), np.zeros(ROWS), np.full(ROWS, 0.2)], axis=1)
    return {"q": state.q, "qd": state.qd, "tau": tau}


def test_given_torques_and_constraint_forces(arm: Arm, driven: dict[str, np.ndarray]) -> None:
    """Torques are those of the recording, and forces those of `loop_forces`, to float32."""
    page = report_page([report_arm(arm, States(**driven))])
    data = data_in(page)
    forces = robolin.loop_forces(arm, **driven).lam
    # fz keeps the linkage in its plane, and bears nothing
    curves = [driven["tau"][:, i] for i in range(3)] + [forces[:, 0], forces[:, 1]]
    for figure, true in zip(data["figures"][1:], curves, strict=True):
        shown = numbers(data, figure["series"][0]["y"])
        assert np.array_equal(shown, true.astype(np.float32))
    assert "The torques come from the recording" in page
    assert "Constraint forces that are zero within round-off: pin/fz." in page
    assert "2 of 3 equations are independent, which leaves 1 of 3 degrees of freedom" in page


def test_torques_of_accelerations_leave_closures_idle(
    arm: Arm, driven: dict[str, np.ndarray]
) -> None:
    """Where accelerations are given, torques are those of the open tree, and closures rest."""
    qdd = robolin.forward(arm, **driven)
    motion = {"q": driven["q"], "qd": driven["qd"], "qdd": qdd}
    page = report_page([report_arm(arm, States(**motion))])
    data = data_in(page)
    tree = robolin.inverse(robolin.load("four-bar", open_loops=True), **motion)
    for i, figure in enumerate(data["figures"][1:]):
        shown = numbers(data, figure["series"][0]["y"])
        assert np.array_equal(shown, tree[:, i].astype(np.float32))
    assert "Constraint forces that are zero within round-off: pin/fx, pin/fy, pin/fz." in page


def test_poles_are_those_of_the_closed_arm(arm: Arm, driven: dict[str, np.ndarray]) -> None:
    """The linear model is that of the motions which closures leave free, under these torques."""
    data = data_in(report_page([report_arm(arm, States(**driven))]))
    model = robolin.state_space(arm, driven["q"], driven["qd"], tau=driven["tau"])
    poles = model.poles().values.astype(np.complex64).ravel()
    assert np.array_equal(numbers(data, data["models"][0]["real"]), poles.real)
    assert np.array_equal(numbers(data, data["models"][0]["imaginary"]), poles.imag)
    assert data["models"][0]["states"] == 2


@pytest.mark.parametrize("name", ["four-bar", "five-bar"])
def test_the_arm_is_drawn_closed(name: str) -> None:
    """Bones lead to the closures, whose two ends are one place."""
    arm = robolin.load(name)
    shown = report_arm(arm, States())
    [(first, second)] = closure_positions(arm, link_poses(arm, shown.first_pose))
    # 1e-12: sums of a few lengths of about 1 m
    assert np.allclose(first, second, rtol=0.0, atol=1e-12)
    page = report_page([shown])
    assert page.count('class="closure"') == 2
    [closure] = data_in(page)["arms"][0]["shape"]["closures"]
    links = data_in(page)["arms"][0]["shape"]["links"]
    assert all(end["at"] in links[end["link"]]["segments"] for end in closure["ends"])


def test_a_state_is_closed_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--close` projects the state onto the loops; without it an open state is rejected."""
    monkeypatch.chdir(tmp_path)
    words = ("report", "four-bar", "--verify-states", "0", "--q", "drive=30deg", "-o", "a.html")
    refused = command(*words)
    assert refused.code == robolin.RobolinError.exit_code
    assert "--close least" in refused.err
    assert not Path("a.html").exists()
    run_ok(*words, "--close", "drive")
    data = data_in(Path("a.html").read_text("utf-8"))
    shown = numbers(data, data["arms"][0]["values"][0])
    closed = robolin.close(robolin.load("four-bar"), [np.pi / 6, 0, 0], hold="drive").q
    assert np.array_equal(shown, closed)
    assert "no closed loops" in command("report", "two-link", "--close", "least").err


def test_an_arm_with_open_loops_is_drawn_with_the_reason(arm: Arm) -> None:
    """Without a given state, a page about an arm that is open at zero states the gap and a hint."""
    [loop] = arm.loops
    apart = replace(loop, second=replace(loop.second, pose=Pose(translation=(0.0, 1.5, 0.0))))
    page = report_page([report_arm(replace(arm, loops=(apart,)), States())])
    assert "has a constraint violation of 0.5 m" in page
    assert "--close least" in page
    assert 'class="gap"' in page
