"""Pages in a real browser: they move, print, work by keyboard, and request nothing.

Chromium is the system's, or the one that `playwright install chromium` brings.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.display.report.report_page import report_page
from robolin.display.report.result_page import ReportedResult, result_page
from robolin.queries.states import States
from tests.display.report import meshes
from tests.display.report.pages import hostile_names, motion, page_of_two_link, report_arm, stored
from tests.packages import needs

playwright = needs("playwright.sync_api", reason="the extra browser-test is absent")

pytestmark = pytest.mark.slow

# timeout in ms on a busy machine
TIMEOUT = 120_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a network."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with playwright.sync_playwright() as started:
        try:
            opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


class Visit:
    """An open page, and all messages and requests it made."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.context.set_default_timeout(TIMEOUT)
        self.page = self.context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: self.messages.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        assert self.requests == [address]

    def run(self, program: str) -> Any:
        return self.page.evaluate(program)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stored(page_of_two_link(), tmp_path_factory.mktemp("page"))


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    visit = Visit(browser, address)
    yield visit
    assert visit.messages == []
    assert visit.requests == [address]
    visit.context.close()


def test_the_page_loads_without_a_network(visit: Visit) -> None:
    """Without a network, the page loads and reports no error."""
    assert visit.run("document.documentElement.dataset.ready") == "true"
    assert visit.run("document.querySelectorAll('canvas').length") >= 2


def test_nothing_leaves_the_page(browser: Any, address: str) -> None:
    """The content security policy of the page rejects every request."""
    visit = Visit(browser, address)
    tried = """async () => {
        const image = new Image(); image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(image);
        const script = document.createElement('script'); script.textContent = 'window.hacked = 1';
        document.body.append(script);
        try { await fetch('http://127.0.0.1:9/'); return 'sent'; } catch { return 'refused'; }
    }"""
    assert visit.run(tried) == "refused"
    assert visit.run("window.hacked") is None
    assert any("Content Security Policy" in text for text in visit.messages)
    visit.context.close()


def test_the_slider_moves_arm_and_cursors(visit: Visit) -> None:
    """At every time the arm has the pose of robolin, and all cursors are at that time."""
    arm = robolin.load("two-link")
    visit.run("window.robolinReport.curves.makeAll()")
    before = visit.run("document.querySelector('.arm canvas').toDataURL()")
    visit.page.focus("#instant")
    for _ in range(3):
        visit.page.keyboard.press("ArrowRight")
    assert visit.run("document.querySelector('.arm canvas').toDataURL()") != before
    assert visit.page.input_value("#instant") == "3"
    visit.run("window.robolinReport.choose(200)")
    row = visit.run("window.robolinReport.data.frames.rows[200]") - 1
    assert f"row {row + 1}" in visit.page.inner_text("#when")
    poses = visit.run("window.robolinReport.views[0].view.poses")
    q = motion(arm)["q"][row].astype(np.float32)
    for link, pose in zip(arm.links, poses, strict=True):
        true = robolin.frame_motion(arm, q, frame=link.name)
        assert np.allclose(pose["origin"], true.position, atol=1e-6)
        assert np.allclose(np.reshape(pose["rotation"], (3, 3)), true.rotation, atol=1e-6)
    plots = "[...window.robolinReport.curves.made.values()]"
    at = visit.run(f"{plots}.map(p => p.posToVal(p.cursor.left, 'x'))")
    assert len(at) == 4
    # a cursor stands on a point of the screen
    assert np.allclose(at, row + 1, atol=20.0)


def test_a_row_of_a_table_is_gone_to(visit: Visit) -> None:
    """A click on the row where a limit is nearest brings the slider there."""
    torque = visit.page.locator("table[data-key^=instant] tbody tr").first
    shown = float(torque.locator("td").nth(2).text_content())
    visit.page.click("#limits summary")
    visit.page.click("table[data-key=margins] button >> text=/^3218$/ >> nth=0")
    assert "row 3218" in visit.page.inner_text("#when")
    arm = robolin.load("two-link")
    state = {name: values[3217] for name, values in motion(arm).items()}
    now = float(torque.locator("td").nth(2).text_content())
    assert now == pytest.approx(robolin.inverse(arm, **state)[0], rel=1e-5)
    assert now != shown


def test_a_bar_leads_to_its_time(visit: Visit) -> None:
    """A click on the bar of a limit moves the slider to the row nearest to the limit."""
    visit.page.click("button.bar >> nth=0")
    assert "row 3218" in visit.page.inner_text("#when")


def test_the_robot_fills_the_canvas(visit: Visit) -> None:
    """At the first pose the robot takes 70 % of the canvas, unless its motion needs more room."""
    flat = """(v => v.outline(linkPoses(v.shape, v.later[0])).map(
        ([p, r]) => [v.flat(p), r * v.scale]))(window.robolinReport.views[0].view)"""
    points = [(x, y, r) for (x, y, _), r in visit.run(flat)]
    size = visit.run(
        "(c => [c.clientWidth, c.clientHeight])(document.querySelector('.arm canvas'))"
    )
    spans = [max(p[i] + p[2] for p in points) - min(p[i] - p[2] for p in points) for i in range(2)]
    filled = max(span / side for span, side in zip(spans, size, strict=True))
    assert 0.5 < filled < 0.701


def test_boxes_are_shown_on_request(visit: Visit) -> None:
    """Inertia boxes and centres of mass are off until their toggles are set."""
    image = "document.querySelector('.arm canvas').toDataURL()"
    images = [visit.run(image)]
    for name in ("boxes", "masses"):
        assert not visit.page.is_checked(f"[data-show={name}]")
        visit.page.check(f"[data-show={name}]")
        images.append(visit.run(image))
    assert len(set(images)) == 3


def test_the_model_follows_the_instant(visit: Visit) -> None:
    """The matrices shown are those of the nearest instant that the page has."""
    before = visit.page.text_content("table[data-key=model]")
    visit.run("window.robolinReport.choose(400)")
    assert visit.page.text_content("table[data-key=model]") != before


def test_keys_rotate_the_arm(visit: Visit) -> None:
    """Arrows rotate, + and - zoom, 0 resets; the view is described for screen readers."""
    visit.page.focus(".arm canvas")
    view = "(v => [v.yaw, v.pitch, v.zoom])(window.robolinReport.views[0].view)"
    first = visit.run(view)
    for key in ("ArrowLeft", "ArrowUp", "+"):
        visit.page.keyboard.press(key)
    assert all(a != b for a, b in zip(visit.run(view), first, strict=True))
    visit.page.keyboard.press("0")
    assert visit.run(view) == first
    assert "last link at x" in visit.page.get_attribute(".arm canvas", "aria-label")


def test_tables_are_copied(visit: Visit) -> None:
    """A table is copied as lines with tabs, its button aside."""
    visit.page.locator("#assumptions button.copy").nth(1).click()
    visit.page.wait_for_function("window.robolinCopied !== undefined")
    lines = visit.run("window.robolinCopied").splitlines()
    assert lines[0].split("\t")[:2] == ["joint", "kind"]
    assert [line.split("\t")[0] for line in lines[1:]] == ["shoulder", "elbow"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser: Any, address: str, scheme: str) -> None:
    """The page follows the reader's color scheme, and its text has enough contrast."""
    visit = Visit(browser, address, color_scheme=scheme)
    parts = "(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))"
    ink, paper = ([int(x) for x in c[4:-1].split(",")] for c in visit.run(parts))
    assert (sum(ink) < sum(paper)) == (scheme == "light")
    assert abs(sum(ink) - sum(paper)) > 500
    visit.context.close()


def test_a_linkage_stays_closed(browser: Any, tmp_path: Path) -> None:
    """The page moves an arm with closed loops as robolin does: its closures never come apart."""
    arm = robolin.load("four-bar")
    drive = np.linspace(0.3, 0.9, 20)[:, None] * [1, 0, 0]
    state = robolin.close(arm, drive, hold="drive")
    page = report_page([report_arm(arm, States(q=state.q, qd=state.qd))])
    visit = Visit(browser, stored(page, tmp_path))
    apart = """(k) => { robolinReport.choose(k); const v = robolinReport.views[0].view;
        const ends = v.shape.closures[0].ends.map((e) => apply(v.poses[e.link], e.at));
        return Math.hypot(...ends[0].map((x, i) => x - ends[1][i])); }"""
    # positions of float32, on bars of 1 m
    assert max(visit.page.evaluate(apart, k) for k in range(20)) < 1e-6
    assert visit.messages == []
    visit.context.close()


# number of pixels of the robot's canvas that are red, and that are blue
_COLOURS = """(c => { const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    const n = [0, 0];
    for (let i = 0; i < p.length; i += 4) {
      if (p[i] > 90 && p[i + 1] + p[i + 2] < 60) n[0]++;
      if (p[i + 2] > 90 && p[i] + p[i + 1] < 60) n[1]++;
    }
    return n; })(document.querySelector('.arm canvas'))"""


def test_meshes_are_drawn(browser: Any, tmp_path: Path) -> None:
    """The nearer mesh hides the other one; without meshes the robot consists of capsules."""
    (tmp_path / "red.dae").write_bytes(meshes.dae())
    (tmp_path / "blue.stl").write_bytes(meshes.binary_stl())
    blue = '<material name="blue"><color rgba="0 0 1 1"/></material>'
    # the view is along x: the red cube from x = 1 to 2 is in front of the blue one
    shapes = meshes.mesh("red.dae"), '<origin xyz="-1 0 0"/>' + meshes.mesh("blue.stl") + blue
    arm = robolin.load(meshes.robot(tmp_path, *shapes))
    visit = Visit(browser, stored(report_page([report_arm(arm, States())]), tmp_path))
    view = "robolinReport.views[0].view"
    visit.run(f"(v => {{ v.yaw = 0; v.pitch = 0; v.draw(); }})({view})")
    red, hidden = visit.run(_COLOURS)
    assert red > 10_000 > 100 > hidden
    visit.run(f"(v => {{ v.yaw = Math.PI; v.draw(); }})({view})")
    hidden, front = visit.run(_COLOURS)
    assert front > 10_000 > 100 > hidden
    visit.page.uncheck("[data-show=meshes]")
    assert visit.run(_COLOURS) == [0, 0]
    # reading pixels is the only message
    assert [text for text in visit.messages if "getImageData" not in text] == []
    visit.context.close()


def test_it_prints(browser: Any, address: str) -> None:
    """On paper there are all curves in dark ink, also from a dark screen, and no slider."""
    visit = Visit(browser, address, color_scheme="dark")
    paper = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
    assert visit.run(paper) == "#15181c"
    visit.run("dispatchEvent(new Event('beforeprint'))")
    assert visit.run(paper) == "#ffffff"
    widths = visit.run("[...robolinReport.curves.made.values()].map((plot) => plot.width)")
    assert len(widths) == 4
    assert all(200 <= width < 720 for width in widths)
    visit.page.emulate_media(media="print")
    assert not visit.page.is_visible("#clock")
    pages = visit.page.pdf(format="A4")
    assert 1 <= pages.count(b"/Type /Page\n") <= 4
    visit.run("dispatchEvent(new Event('afterprint'))")
    assert not visit.run("document.documentElement.classList.contains('printing')")
    assert visit.messages == []
    visit.context.close()


def test_scales_are_shared(visit: Visit) -> None:
    """Torques of one unit share a scale until the switch is off."""
    visit.run("window.robolinReport.curves.makeAll()")
    spans = """[...robolinReport.curves.made].filter(([f]) => f.textContent.includes('torque in'))
        .map(([, p]) => [p.scales.y.min, p.scales.y.max])"""
    first, second = visit.run(spans)
    assert first == second
    visit.page.uncheck("[data-do=scales]")
    first, second = visit.run(spans)
    assert first != second


def test_without_a_program(browser: Any, address: str) -> None:
    """With JavaScript switched off there is a drawn arm, and every table."""
    visit = Visit(browser, address, java_script_enabled=False)
    assert visit.page.is_visible(".arm svg")
    assert not visit.page.is_visible(".arm canvas")
    assert visit.page.locator("table").count() >= 6
    assert "Without JavaScript" in visit.page.inner_text("noscript")
    assert visit.page.is_visible("text=torque in N·m, limits -100 and 100; from")
    visit.context.close()


def test_everything_has_a_name(visit: Visit) -> None:
    """Every element that can be reached by keyboard has a label, and headings are in order."""
    nameless = """[...document.querySelectorAll('button, input, canvas, a, [tabindex]')].filter(
        (e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length)).length"""
    assert visit.run(nameless) == 0
    headings = "[...document.querySelectorAll('h1,h2,h3')]"
    levels = visit.run(f"{headings}.map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    data_tables = "table:not([role=presentation]):not(:has(caption))"
    assert visit.run(f"document.querySelectorAll('{data_tables}').length") == 0


def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    """None of 1 000 hostile names runs code, and each has its row."""
    names = hostile_names(1000)
    columns = {name: np.array([float(i), 1.0]) for i, name in enumerate(names)}
    contract = dict(zip(names, names, strict=True))
    units, time = dict.fromkeys(names, "1"), np.arange(2.0)
    one = ReportedResult(names[1], "inverse", columns, units, time, names[4], {}, contract, 2)
    visit = Visit(browser, stored(result_page([one], None), tmp_path))
    visit.run("window.robolinReport.curves.makeAll()")
    assert visit.run("window.hacked") is None
    assert visit.run("document.querySelectorAll('#assumptions tbody tr').length") == 1000
    assert visit.run("document.querySelectorAll('section').length") == 2
    assert visit.messages == []
    visit.context.close()


def test_an_arm_with_hostile_names(browser: Any, tmp_path: Path) -> None:
    """Links, joints and the arm itself may be called anything."""
    from dataclasses import replace

    arm = robolin.load("two-link")
    nasty = hostile_names(5)
    links = tuple(
        replace(link, name=name, joint=replace(link.joint, name=joint))
        for link, name, joint in zip(arm.links_tip_to_base, nasty[:2], nasty[2:4], strict=True)
    )
    names = tuple(link.joint.name for link in reversed(links))
    arm = replace(arm, name=nasty[4], links_tip_to_base=links, joint_names=names)
    visit = Visit(browser, stored(report_page([report_arm(arm, States())]), tmp_path))
    visit.page.check("[data-show=names]")
    assert visit.run("window.hacked") is None
    assert visit.run("document.querySelectorAll('section').length") == 8
    assert visit.messages == []
    visit.context.close()
