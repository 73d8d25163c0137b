"""A page has the numbers of the results, to the last digit shown, within its size budget."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.display.report.limits_section import utilizations
from robolin.display.report.page_markup import page_file_text
from robolin.display.report.report_page import report_page
from robolin.display.report.result_page import ReportedResult, reported_result, result_page
from robolin.queries.states import States
from tests.display.report.pages import (
    PEAK,
    ROWS,
    data_in,
    hostile_names,
    limited_two_link,
    motion,
    numbers,
    page_of_two_link,
    report_arm,
)
from tests.robots import random_arm

BUDGET, PER_NUMBER = 150_000, 16 / 3
_ENDS = ("lower", "upper")


@pytest.fixture(scope="module")
def page() -> str:
    return page_of_two_link()


def test_curves_are_the_results(page: str) -> None:
    """Every torque of a curve is that of its row to float32; the instants have all digits."""
    arm, data = robolin.load("two-link"), data_in(page)
    columns = motion(arm)
    columns["tau"] = robolin.inverse(arm, **columns)
    tau = columns["tau"].astype(np.float32)
    time = np.arange(1.0, ROWS + 1.0).astype(np.float32)
    for joint in range(arm.n):
        # the poles come first
        curve = data["figures"][1 + joint]
        x, y = numbers(data, curve["x"]), numbers(data, curve["series"][0]["y"])
        rows = np.searchsorted(time, x)
        assert np.array_equal(time[rows], x)
        assert np.array_equal(tau[rows, joint], y)
        assert len(y) <= 2000
        assert y.max() == tau[:, joint].max()
        assert y.min() == tau[:, joint].min()
    rows = np.array(data["frames"]["rows"]) - 1
    values = [numbers(data, index).reshape(-1, arm.n) for index in data["arms"][0]["values"]]
    for name, shown in zip(("q", "qd", "tau"), values, strict=True):
        assert np.array_equal(columns[name][rows], shown)


def test_times_have_all_digits(tmp_path: Path) -> None:
    """Times of the slider and of the linear models are those of the file, to the bit."""
    arm = robolin.load("two-link")
    times = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.1, 50))
    times -= times[0]
    columns = {"time": times, "q": motion(arm, 50)["q"]}
    np.savez(tmp_path / "motion.npz", **columns)
    states = States(trajectory=tmp_path / "motion.npz", differentiate="central")
    data = data_in(report_page([report_arm(arm, states)]))
    rows = np.array(data["frames"]["rows"]) - 1
    assert np.array_equal(numbers(data, data["frames"]["times"]), times[rows])
    for key in ("times", "chosen"):
        assert np.isin(numbers(data, data["models"][0][key]), times).all()


def test_a_peak_of_one_sample_is_kept(page: str) -> None:
    """The row with the largest torque is a point of its curve and an instant of the slider."""
    data = data_in(page)
    assert PEAK + 1 in numbers(data, data["figures"][1]["x"]).tolist()
    assert PEAK + 1 in data["frames"]["rows"]


def test_the_joint_nearest_to_its_limit_comes_first() -> None:
    """Torques are ordered by utilization and share a scale; excess is marked with its rows."""
    arm = robolin.load("panda")
    states = States(**motion(arm, 50))
    page = report_page([report_arm(arm, states)])
    figures = [each for each in data_in(page)["figures"] if "shared" in each]
    names = re.findall(r"<bdi>(panda_joint\d)</bdi>: torque in", page)
    tau = np.abs(robolin.inverse(arm, **motion(arm, 50)))
    share = tau.max(axis=0) / [joint.limits.effort for joint in arm.joints]
    assert names == [arm.joint_names[i] for i in np.argsort(-share)]
    assert len({tuple(each["shared"]) for each in figures}) == 1
    low, high = figures[0]["shared"]
    for name, each in zip(names, figures, strict=True):
        values = numbers(data_in(page), each["series"][0]["y"])
        assert low < values.min()
        assert values.max() < high
        column = arm.joint_names.index(name)
        beyond = np.flatnonzero(tau[:, column] > arm.joints[column].limits.effort)
        rows = [row for start, end in each["beyond"] for row in np.arange(start - 1, end)]
        assert rows == beyond.tolist()
    assert figures[0]["beyond"]


def test_models_are_those_of_state_space(page: str) -> None:
    """Poles and matrices are those of the linear model about the same rows, to float32."""
    arm, data = robolin.load("two-link"), data_in(page)
    model, columns = data["models"][0], motion(arm)
    rows = numbers(data, model["times"]).astype(int) - 1
    own = robolin.state_space(arm, *(columns[name][rows] for name in ("q", "qd", "qdd")))
    poles = own.poles().values
    assert np.array_equal(numbers(data, model["real"]), poles.real.astype(np.float32).ravel())
    assert np.array_equal(numbers(data, model["imaginary"]), poles.imag.astype(np.float32).ravel())
    chosen = np.searchsorted(rows, numbers(data, model["chosen"]).astype(int) - 1)
    both = np.concatenate([own.A, own.B], axis=-1)[chosen].astype(np.float32)
    assert np.array_equal(numbers(data, model["matrices"]), both.ravel())


def test_the_page_keeps_its_budget(page: str) -> None:
    """150 kB, 16/3 bytes for 4 bytes of numbers that are shown, and the live section."""
    data = data_in(page)
    assert data["count"] == sum(numbers(data, i).nbytes // 4 for i in range(len(data["arrays"])))
    assert len(page.encode()) <= BUDGET + PER_NUMBER * _shown(page) + _live(page)


def _shown(page: str) -> int:
    """How many numbers a page shows: those that it draws, and those in its tables."""
    written = re.findall(r"<td[^>]*>-?\d[\d.e+-]*</td>", page)
    return int(data_in(page)["count"]) + len(written)


def _live(page: str) -> int:
    """Bytes of the live section: the module, and 60 kB of script and markup."""
    data = data_in(page)
    return len(data["live"]["module"]) + 60_000 if "live" in data else 0


@pytest.mark.slow
def test_a_page_with_evidence_keeps_its_budget() -> None:
    """The budget holds with all results of verify."""
    page = report_page([report_arm(robolin.load("panda"), States(), verify_states=1)])
    assert len(page.encode()) <= BUDGET + PER_NUMBER * _shown(page) + _live(page)


@pytest.mark.slow
def test_a_page_of_many_joints_keeps_its_budget() -> None:
    """The budget for 43 joints allows for their long tables."""
    page = report_page([report_arm(random_arm(0, 43), States())])
    assert len(page.encode()) <= BUDGET + PER_NUMBER * _shown(page) + _live(page)


def test_the_same_input_gives_the_same_bytes(page: str) -> None:
    """Nothing of a page depends on when or where it is made."""
    assert page_of_two_link() == page


def test_two_arms_side_by_side() -> None:
    """A page of two arms lists what differs, and the effect on the torques."""
    first, second = robolin.load("two-link"), robolin.load("two-link", payload=("tip", 2.0))
    states = States(**motion(first, 50))
    page = report_page([report_arm(first, states, "plain"), report_arm(second, states, "loaded")])
    data = data_in(page)
    series = data["figures"][-2]["series"]
    assert [each["label"] for each in series] == ["first", "second"]
    for arm, each in zip((first, second), series, strict=True):
        tau = robolin.inverse(arm, **motion(first, 50)).astype(np.float32)
        assert np.array_equal(numbers(data, each["y"]), tau[:, -1])
    assert "Torques of each joint at the row with the largest difference" in page


class _Tags(HTMLParser):
    """The elements of a page, with their attributes, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_page_requests_nothing(page: str) -> None:
    """No element names a resource, no attribute runs, and only the page's own texts may."""
    tags = _Tags(page).tags
    kinds = {tag for tag, _ in tags}
    assert not kinds & {"img", "link", "iframe", "object", "embed", "base", "video", "audio"}
    for tag, attributes in tags:
        assert not {"src", "style", "srcset", "data", "action"} & attributes.keys(), tag
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for t, a in tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    # WebAssembly of the live section is allowed, other code at run time is not
    assert "unsafe" not in policy.replace(" 'wasm-unsafe-eval'", "", 1)


def test_hostile_names_change_nothing_of_the_page() -> None:
    """1 000 nasty names make the same elements as 1 000 tame ones."""

    def made(names: list[str]) -> str:
        columns = {name: np.array([float(i)]) for i, name in enumerate(names)}
        units = dict.fromkeys(names, names[0])
        contract = {name: name for name in names[:200]}
        one = ReportedResult(
            names[3], "inverse", columns, units, np.ones(1), "row", {}, contract, None
        )
        return result_page([one], None)

    hostile, tame = made(hostile_names(1000)), made([f"name {i}" for i in range(1000)])
    assert _Tags(hostile).tags[10:] == _Tags(tame).tags[10:]
    assert len(_Tags(hostile).tags) == len(_Tags(tame).tags)
    assert not {c for c in hostile if c != "\n" and not c.isprintable()}
    # names of 10 kB are cut, so that the page stays readable
    assert len(hostile) < 2 * len(tame)


def test_the_library_is_the_published_one() -> None:
    """uPlot is the file that its authors published, with its licence."""
    digest = hashlib.sha256(page_file_text("uPlot.iife.min.js").encode()).hexdigest()
    listed = dict(reversed(line.split()) for line in page_file_text("uPlot.sha256").splitlines())
    assert listed["uPlot.iife.min.js"] == digest
    for name, value in listed.items():
        assert hashlib.sha256(page_file_text(name).encode()).hexdigest() == value
    assert "MIT License" in page_file_text("uPlot-LICENSE.txt")


def test_the_arm_is_drawn_without_a_program(page: str) -> None:
    """Links as capsules, joint axes and all tables are in the page itself."""
    arm = robolin.load("two-link")
    drawn = re.search(r"<svg.*?</svg>", page, re.DOTALL)
    assert drawn is not None
    # one capsule to the next joint and one to the centre of mass of every link, and none thinner
    widths = [
        float(x) for x in re.findall(r'class="segment"[^>]*stroke-width="([\d.]+)"', drawn[0])
    ]
    assert len(widths) >= 2 * len(arm.links)
    assert min(widths) >= 3.0
    assert "<circle" not in drawn[0]
    assert drawn[0].count('class="axis"') == len(arm.links)
    assert page.count("<table") >= 6


def test_margins_are_those_of_the_motion(page: str) -> None:
    """The table of margins has the row of each closest approach, counted from 1, and its margin."""
    arm = limited_two_link()
    columns = motion(arm)
    tau = robolin.inverse(arm, **columns)
    body = re.search(r'data-key="margins".*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    assert body is not None
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body[1].split("</tr>")[:-1]]
    efforts = [row for row in cells if row[1].startswith("effort")]
    for index, (name, _, row, value, limit, margin, used) in enumerate(efforts):
        worst = int(np.abs(tau[:, index]).argmax())
        assert (name, int(row), limit) == (arm.joint_names[index], worst + 1, "100")
        # six digits are shown
        assert float(value) == pytest.approx(tau[worst, index], rel=1e-5)
        assert float(margin) == pytest.approx(100.0 - tau[worst, index], rel=1e-5)
        assert float(used) == pytest.approx(tau[worst, index], abs=0.051)
    assert len(efforts) == 2


def test_the_page_opens_with_the_verdict(page: str) -> None:
    """The summary counts exceeded limits, and names the joint and the row of the tightest one."""
    arm = limited_two_link()
    tau = robolin.inverse(arm, **motion(arm))
    summary = page[page.index('id="summary"') : page.index('id="motion"')]
    margins = robolin.limits(arm, **{k: motion(arm)[k] for k in ("q", "qd")}, tau=tau)
    assert f"{len(margins.exceeded)} of {len(margins.margins)} limits exceeded." in summary
    worst = np.abs(tau).max(axis=0)
    joint = int(worst.argmax())
    assert f">{100.0 * worst[joint] / 100.0:.0f} %<" in summary
    assert f"{arm.joint_names[joint]} effort, row {PEAK + 1}" in summary
    assert "verify not run" in summary


def test_bars_are_sorted_by_utilization(page: str) -> None:
    """Every limit has a bar: red beyond the limit, amber from 80 %, the largest first."""
    bars = re.findall(r'<button.*?data-row.*?class="(within|near|over)".*?<b>([\d.]+) %</b>', page)
    shares = [float(share) for _, share in bars]
    assert shares == sorted(shares, reverse=True)
    assert len(bars) == len(robolin.limits(limited_two_link(), np.zeros(2)).margins)
    for level, share in zip((level for level, _ in bars), shares, strict=True):
        assert level == ("over" if share > 100.0 else "near" if share >= 80.0 else "within")


def test_the_middle_of_a_range_uses_nothing_of_it() -> None:
    """Utilization of a position is relative to the middle of its range, 1 at either end."""
    arm = robolin.load("panda")
    lower, upper = (np.array([getattr(j.limits, end) for j in arm.joints]) for end in _ENDS)
    for share, expected in ((0.5, 0.0), (0.75, 0.5), (1.0, 1.0)):
        shown = report_arm(arm, States(q=lower + share * (upper - lower)))
        assert not isinstance(shown.motion, robolin.RobolinError)
        used = [u for u in utilizations(shown.motion) if u.margin.quantity == "position"]
        assert [u.share for u in used] == pytest.approx([expected] * arm.n, abs=1e-9)


def test_torques_of_a_free_fall_have_the_scale_of_weight() -> None:
    """Torques that are rounding are drawn on the scale of weight times reach, and named so."""
    arm = robolin.load("two-link")
    fall = robolin.simulate(arm, [1.0, -0.5], duration=0.3, every=10)
    page = report_page([report_arm(arm, States(q=fall.q, qd=fall.qd, qdd=fall.qdd))])
    # 2 kg, 9.81 m/s² and a reach of 2.5 m; the poles come first
    reaches = [figure.get("reach") for figure in data_in(page)["figures"]]
    assert reaches[1:3] == [pytest.approx(49.05)] * 2
    assert page.count("~0: round-off, at most") == 2
    driven = motion(arm)
    other = report_page([report_arm(arm, States(**driven))])
    assert not any("reach" in figure for figure in data_in(other)["figures"][1:])


def test_stored_results_have_the_same_scales(tmp_path: Path) -> None:
    """A page of a stored result judges rounding as the picture of the result does."""
    arm = robolin.load("two-link")
    fall = robolin.simulate(arm, [1.0, -0.5], duration=0.3, every=10)
    states = States(q=fall.q, qd=fall.qd, qdd=fall.qdd)
    robolin.write(robolin.answer(arm, "inverse", states), tmp_path / "fall.npz")
    page = result_page([reported_result("fall.npz", str(tmp_path / "fall.npz"))], None)
    assert [figure.get("reach") for figure in data_in(page)["figures"]] == [
        pytest.approx(49.05),
        pytest.approx(49.05),
    ]


def test_poles_are_those_of_the_open_loop() -> None:
    """A page about a stabilized motion states that its poles do not include the feedback."""
    arm = robolin.load("acrobot")
    model = robolin.state_space(arm, [np.pi, 0.0])
    law = robolin.lqr(model, {"q": 10.0}).feedback()
    motion = robolin.simulate(arm, [np.pi + 0.01, 0.0], duration=0.5, every=50, control=law)
    page = report_page([report_arm(arm, States(q=motion.q, qd=motion.qd, qdd=motion.qdd))])
    assert "Open loop, with the torques of the motion held constant" in page
    # upright, each of the two joints falls one way and swings back the other
    assert "constant: 2 of 4 poles are unstable in all 11 rows; the largest real part" in page
    assert "<code>robolin lqr</code> lists" in page
    one = report_page([report_arm(arm, States(q=[[np.pi, 0.0]]))])
    assert "constant: 2 of 4 poles are unstable; the largest real part" in one
    assert "Feedback is not included" in page
    assert "open-loop poles at" in page
