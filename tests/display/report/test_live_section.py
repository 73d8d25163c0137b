"""The live section: its numbers are those of the library, to the bit, in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.display.report.page_markup import page_file_text
from robolin.queries.states import States
from tests.robots import random_arm

Q = [0.3, -0.5, 0.2, -1.7, 0.4, 1.6, -0.2]
PAYLOAD, GRAVITY, WEIGHT = 1.25, 0.5, 1.5


def page_of(arm: Any, **options: Any) -> str:
    return robolin.report(arm, verify_states=0, notify=lambda *_: None, **options)


def test_the_policy_allows_webassembly_only_where_it_is_used() -> None:
    """Pages of robots with loops have no module, and their policy allows none."""
    live, bar = page_of(robolin.load("two-link")), page_of(robolin.load("four-bar"))
    assert live.count("'wasm-unsafe-eval'") == 1
    assert "'unsafe-eval'" not in live
    assert 'id="live"' in live
    assert "wasm-unsafe-eval" not in bar
    assert "data-live" not in bar.partition("<script")[0]


def test_the_page_is_small() -> None:
    """At most 700 kB without meshes, with a motion of a robot with seven joints."""
    rows = np.linspace(0.0, 1.0, 600)[:, None] * np.array(Q)
    page = page_of(robolin.load("panda"), states=States(q=rows, qd=rows, qdd=rows))
    assert len(page.encode()) < 700_000


LEFT_OUT = {
    "closed loops": lambda: robolin.load("four-bar"),
    "floating joints, such as 'base'": lambda: robolin.load("ur5", floating_base=True),
    "this robot has 13 joints, but at most 12": lambda: random_arm(3, 13),
}


@pytest.mark.parametrize("reason", LEFT_OUT)
def test_the_page_says_why_a_robot_has_no_live_section(reason: str) -> None:
    """The section has a sentence instead of sliders."""
    page = page_of(LEFT_OUT[reason]())
    section = page.partition('id="live"')[2].partition("</section>")[0]
    assert "This section cannot be computed for this robot: " in section
    assert reason in section
    assert "<input" not in section


def linear_models() -> Iterator[dict[str, Any]]:
    """Linear models of robots at rest, with weights."""
    rng = np.random.default_rng(0)
    for name in ("panda", "ur5", "two-link", "cart-pole", "acrobot"):
        arm = robolin.load(name)
        n, q = arm.n, rng.uniform(-1.0, 1.0, arm.n)
        model = robolin.linearize_forward(arm, q, 0.0, robolin.inverse(arm, q))
        A = np.block([[np.zeros((n, n)), np.eye(n)], [model.dqdd_dq, model.dqdd_dqd]])
        B = np.vstack([np.zeros((n, n)), model.dqdd_dtau])
        Q = [10.0 ** rng.uniform(-1.0, 3.0)] * n + [1.0] * n
        yield {"A": A.tolist(), "B": B.tolist(), "Q": Q, "R": [1.0] * n}
    for n in (1, 2, 5, 14, 30):
        yield {"A": rng.normal(size=(n, n)).tolist()}


def test_eigenvalues_and_riccati_agree_with_scipy(tmp_path: Path) -> None:
    """Own routines of the page, in node: eigenvalues, Riccati equation and exponential."""
    linalg = pytest.importorskip("scipy.linalg", reason="SciPy is not installed")
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    cases = [*linear_models()]
    program = (
        page_file_text("linear_algebra.js")
        + """
const cases = JSON.parse(require("fs").readFileSync("cases.json", "utf-8"));
console.log(JSON.stringify(cases.map(({ A, B, Q, R }) => ({
  poles: eigenvalues(A), grown: exponential(A), gains: B ? riccati(A, B, Q, R) : null }))));
"""
    )
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "run.cjs").write_text(program)
    ran = subprocess.run(
        ["node", "run.cjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    for case, computed in zip(cases, json.loads(ran.stdout), strict=True):
        A = np.array(case["A"])
        poles, expected = np.array(computed["poles"]) @ [1.0, 1.0j], linalg.eigvals(A)
        gaps = np.abs(poles[:, None] - expected[None, :])
        assert max(gaps.min(axis=0).max(), gaps.min(axis=1).max()) < 1e-12 * np.abs(expected).max()
        grown = linalg.expm(A)
        assert np.abs(np.array(computed["grown"]) - grown).max() < 1e-11 * np.abs(grown).max()
        if computed["gains"]:
            B, weights = np.array(case["B"]), (np.diag(case["Q"]), np.diag(case["R"]))
            P = linalg.solve_continuous_are(A, B, *weights)
            assert np.abs(np.array(computed["gains"]["P"]) - P).max() < 1e-7 * np.abs(P).max()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="browser-test is absent")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with playwright.sync_playwright() as started:
        try:
            opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def opened(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page about a moving Panda, from disk and without a network."""
    file = tmp_path_factory.mktemp("live") / "page.html"
    rows = np.linspace(0.0, 1.0, 50)[:, None] * np.array(Q)
    robolin.report(
        robolin.load("panda"),
        states=States(q=rows, qd=0.1 * rows, qdd=rows),
        path=file,
        verify_states=0,
        notify=lambda *_: None,
    )
    context = browser.new_context(offline=True)
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(file.as_uri())
    wait_until(page, "document.documentElement.dataset.live === 'true'")
    yield page
    assert messages == []
    context.close()


def wait_until(page: Any, condition: str) -> None:
    """Wait for a condition; `wait_for_function` evaluates texts, which the page forbids."""
    for _ in range(400):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"not reached: {condition}")


WRITTEN = "robolinReport.live.pending === null && robolinReport.live.unread === null"
SET = f"""(() => {{ const live = robolinReport.live;
  live.q = {Q}; live.state = null; live.payload.value = "{PAYLOAD}";
  live.gravity.value = "{GRAVITY}"; live.weight.value = "{WEIGHT}"; live.slowest = 0;
  live.update(); return live; }})()"""


@pytest.mark.slow
def test_numbers_in_the_page_are_those_of_the_library(opened: Any) -> None:
    """Torques, mass matrix, Jacobian and linear model have the same bits, poles 12 digits."""
    plain = robolin.load("panda")
    frame = plain.links[-1].name
    arm = robolin.load("panda", gravity=(0.0, 0.0, -9.81 * GRAVITY), payload=(frame, PAYLOAD))
    shown = opened.evaluate(
        f"(({{ found, linear, poles, gains }}) => ({{ hold: [...found.hold], mass: [...found.mass],"
        "jacobian: [...found.frame.jacobian], position: [...found.frame.position], A: linear.A,"
        f"poles, K: gains.K }}))({SET})"
    )
    hold = robolin.inverse(arm, Q)
    # several bodies are merged into the last link: its sum may differ in the last bit
    same = {"rtol": 1e-13, "atol": 1e-13}
    assert np.allclose(shown["hold"], hold, **same)
    assert np.allclose(np.reshape(shown["mass"], (7, 7)), robolin.mass_matrix(arm, Q), **same)
    jacobian = robolin.jacobian(arm, Q, frame=frame)
    assert np.array_equal(np.reshape(shown["jacobian"], (6, 7)), jacobian.jacobian)
    linear = robolin.linearize_forward(arm, Q, 0.0, hold)
    assert np.allclose(np.array(shown["A"])[7:, :7], linear.dqdd_dq, rtol=1e-10, atol=1e-10)
    model = robolin.state_space(arm, Q, tau=hold)
    expected = np.linalg.eigvals(np.array(shown["A"]))
    poles = np.array(shown["poles"]) @ [1.0, 1.0j]
    gaps = np.abs(poles[:, None] - expected[None, :])
    assert max(gaps.min(axis=0).max(), gaps.min(axis=1).max()) < 1e-12 * np.abs(expected).max()
    design = robolin.lqr(model, Q={"q": 10.0**WEIGHT, "qd": 1.0}, R=1.0)
    assert np.allclose(shown["K"], design.K, rtol=1e-6, atol=1e-6 * np.abs(design.K).max())


@pytest.mark.slow
def test_the_module_has_the_bits_of_the_library(opened: Any) -> None:
    """Without a payload, every number of 200 states is equal to the bit."""
    arm, states = robolin.load("panda"), np.random.default_rng(1).uniform(-1.5, 1.5, (200, 3, 7))
    program = f"""(states => {{ const {{ arm, live }} = robolinReport.live;
      arm.set_gravity(live.info.model.gravity); arm.set_payload(live.frame, 0);
      return states.map(([q, v, a]) => {{ const l = arm.linearize_forward(q, v, a);
        return [[...arm.inverse(q, v, a).tau], [...arm.mass_matrix(q).mass_matrix],
          [...arm.jacobian(q, v).jacobian], [...l.dqdd_dq], [...l.dqdd_dqd], [...l.dqdd_dtau]]
      }}) }})({states.tolist()})"""
    q, qd, qdd = np.moveaxis(states, 1, 0)
    linear = robolin.linearize_forward(arm, q, qd, qdd)
    expected = [
        robolin.inverse(arm, q, qd, qdd),
        robolin.mass_matrix(arm, q),
        robolin.jacobian(arm, q, qd, frame=arm.links[-1].name).jacobian,
        *(linear.dqdd_dq, linear.dqdd_dqd, linear.dqdd_dtau),
    ]
    computed = opened.evaluate(program)
    for i, values in enumerate(expected):
        assert np.array_equal(np.array([row[i] for row in computed]), values.reshape(200, -1))


@pytest.mark.slow
def test_a_slider_moves_torques_by_keyboard(opened: Any) -> None:
    """The first slider has a label and a value text; arrow keys change the robot and the words."""
    opened.evaluate(SET)
    slider = opened.locator("#live input[data-joint='1']")
    before = opened.inner_text("#live [data-live=torques]")
    slider.focus()
    for _ in range(5):
        opened.keyboard.press("ArrowRight")
    opened.wait_for_function(
        "before => document.querySelector('#live [data-live=torques]').innerText !== before",
        arg=before,
    )
    named = opened.locator("#live").get_by_role("slider", name="panda_joint2")
    assert named.get_attribute("data-joint") == "1"
    assert re.fullmatch(r"-?\d+\.\d{3} rad", slider.get_attribute("aria-valuetext"))
    assert "At rest" in opened.inner_text("#live [data-live=words]")


@pytest.mark.slow
def test_a_time_of_the_motion_sets_the_state(opened: Any) -> None:
    """Choosing a time shows its positions, and the torques of the motion."""
    opened.evaluate("robolinReport.choose(30, true)")
    wait_until(opened, WRITTEN)
    assert "at the selected time" in opened.inner_text("#live [data-live=words]")
    q = opened.evaluate("robolinReport.live.q")
    row = opened.evaluate("robolinReport.data.frames.rows[30]") - 1
    expected = np.linspace(0.0, 1.0, 50)[row] * np.array(Q)
    assert np.array_equal(q, expected)
    opened.evaluate(
        "(l => { l.payload.value = '0'; l.gravity.value = '1'; l.update(); })(robolinReport.live)"
    )
    tau = opened.evaluate("[...robolinReport.live.found.tau]")
    true = robolin.inverse(robolin.load("panda"), expected, 0.1 * expected, expected)
    # the page has the torques, and computes the accelerations from them
    assert np.allclose(tau, true, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_narrow_screens_need_no_sideways_scrolling(opened: Any) -> None:
    opened.set_viewport_size({"width": 390, "height": 844})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    opened.set_viewport_size({"width": 1280, "height": 720})


@pytest.mark.slow
def test_texts_reach_the_last_position_of_a_movement(opened: Any) -> None:
    """Texts change less often than the frames, and end with the numbers of the last frame."""
    opened.evaluate(
        """async () => { const slider = document.querySelector("#live input[data-joint='1']");
        for (let i = 0; i <= 20; i++) {
          slider.value = String(0.01 * i);
          slider.dispatchEvent(new Event("input", { bubbles: true }));
          await new Promise(requestAnimationFrame);
        } }"""
    )
    cell = "document.querySelector('table[data-key=live-mass]').tBodies[0].rows[0].cells[1]"
    wait_until(
        opened,
        f"{cell}.textContent === String(Number(robolinReport.live.found.mass[0].toPrecision(4)))",
    )
    assert opened.evaluate("robolinReport.live.q[1]") == 0.2
    assert "0.2," in opened.evaluate("document.querySelector('[data-live=words]').textContent")
    shown = opened.evaluate("robolinReport.live.sliders[1].getAttribute('aria-valuetext')")
    assert shown == "0.200 rad"


@pytest.mark.slow
def test_the_first_positions_have_all_digits(browser: Any, tmp_path: Path) -> None:
    """A page without a motion starts at the positions of the library, not at rounded ones."""
    arm, file = robolin.load("panda"), tmp_path / "page.html"
    robolin.report(arm, path=file, verify_states=0, notify=lambda *_: None)
    page = browser.new_page()
    page.goto(file.as_uri())
    wait_until(page, "document.documentElement.dataset.live === 'true'")
    home = [float(x) for x in arm.poses["home"]]
    wait_until(page, f"robolinReport.live.q[1] === {home[1]!r}")
    page.evaluate("robolinReport.live.update()")
    assert page.evaluate("robolinReport.live.q") == home
    hold = page.evaluate("[...robolinReport.live.found.hold]")
    assert np.array_equal(hold, robolin.inverse(arm, home))
    page.close()
