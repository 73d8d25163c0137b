"""WebAssembly modules give robolin's bits in node and in Chromium, and report failures."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.codegen.functions import chosen_questions
from robolin.codegen.wasm_module import is_marked, wasm_module
from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_names
from robolin.errors import FileError, UsageError
from tests.cli.command import robolin as run
from tests.cli.command import run_ok
from tests.robots import random_arm, with_follower, with_springs, with_wrench
from tools.markdown import DOCS

LAYOUTS = ("unrolled", "loops")
VERBS = ["inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward", "energy"]
# a mass slides on a massless boom: at the axis its inertia vanishes
BOOM = """\
robolin: 1
name: boom
joints:
  - {name: turn, type: continuous, parent: base, child: boom, axis: [0, 0, 1]}
  - {name: slide, type: prismatic, parent: boom, child: mass, axis: [1, 0, 0]}
links:
  - {name: boom}
  - {name: mass, mass: 2}
"""


def node(folder: Path, *words: str) -> str:
    """Output of node in a folder; skip without node."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    ran = subprocess.run(["node", *words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:] + ran.stdout[-2000:]
    return ran.stdout.strip()


def call(folder: Path, program: str) -> Any:
    """Value of an expression of `arm`, `explain` and `info` of the module 'arm' in a folder."""
    text = 'import { load, explain, info } from "./arm.mjs"; const arm = await load(); '
    (folder / "call.mjs").write_text(f"{text} console.log(JSON.stringify({program}));")
    return json.loads(node(folder, "call.mjs"))


def made(arm: Arm, verbs: list[str], folder: Path, **options: Any) -> Path:
    robolin.generate(arm, verbs, folder, target="wasm", prefix="arm", **options)
    return folder


def reported(arm: Arm) -> tuple[list[str], dict[str, Any]]:
    """Verbs of a bundled arm, and the frame of its kinematic results."""
    if arm.loops:
        return ["forward-closed", "closures", "linearize-closures"], {}
    return [*VERBS, "jacobian"], {"frame": arm.links[-1].name}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_bits_in_node(layout: str, tmp_path: Path) -> None:
    """The generated test compares every number of 40 states, on an arm with a mimic joint."""
    arm = robolin.load("panda-fingers", friction_velocity=0.1)
    folder = made(arm, ["inverse", "forward"], tmp_path / "made", layout=layout, states=40)
    assert node(folder, "arm_test.mjs") == f"arm: {2 * 40 * arm.n} numbers, 0 differences"


def test_the_test_finds_a_wrong_bit(tmp_path: Path) -> None:
    """A constant changed in its last bit gives differences."""
    folder = made(robolin.load("two-link"), ["inverse"], tmp_path / "made")
    content = bytearray((folder / "arm.wasm").read_bytes())
    gravity = content.rindex(np.float64(9.81).tobytes())
    content[gravity] ^= 1
    (folder / "arm.wasm").write_bytes(bytes(content))
    (folder / "check.mjs").write_text(
        'import { check } from "./arm_test.mjs"; console.log((await check()).wrong > 0);'
    )
    assert node(folder, "check.mjs") == "true"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_trees_followers_springs_wrenches_and_closed_loops(layout: str, tmp_path: Path) -> None:
    arm = with_wrench(with_follower(random_arm(51, 3, tree=True, damping=True)), "follower")
    folder = made(with_springs(arm), VERBS[:2], tmp_path / "tree", layout=layout, states=20)
    assert node(folder, "arm_test.mjs").endswith(" 0 differences")
    bar = with_springs(robolin.load("four-bar"))
    folder = made(bar, ["forward-closed"], tmp_path / "bar", layout=layout, states=20)
    assert node(folder, "arm_test.mjs").endswith(" 0 differences")


def test_many_joints_have_loops(tmp_path: Path) -> None:
    """Above 12 joints the module has loops; its code does not grow with the number of joints."""
    sizes = []
    for joints in (13, 60):
        arm = random_arm(5, joints)
        folder = made(arm, ["inverse", "forward"], tmp_path / str(joints), states=3)
        assert node(folder, "arm_test.mjs").endswith(" 0 differences")
        assert call(folder, "info.functions.forward.layout") == "loops"
        numbers = wasm_module(chosen_questions(arm, ["inverse", "forward"])).functions[0].data
        sizes.append((folder / "arm.wasm").stat().st_size - sum(map(len, numbers.values())))
    assert sizes[1] < 1.05 * sizes[0]


def test_long_functions_have_loops() -> None:
    """An unrolled function has at most 10 000 operations."""
    questions = chosen_questions(
        robolin.load("panda"), ["inverse", "mass-matrix-second-derivative"]
    )
    layouts = [function.unrolled for function in wasm_module(questions).functions]
    assert layouts == [True, False]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_failures_return_a_status_and_nan(layout: str, tmp_path: Path) -> None:
    """A joint without inertia returns its number, a huge angle -1, a singular state -2."""
    (tmp_path / "boom.yaml").write_text(BOOM)
    arm = robolin.load(tmp_path / "boom.yaml")
    folder = made(arm, ["forward"], tmp_path / "made", layout=layout)
    cases = {"0.3, 0.7": 0, "0.3, 0": 1, f"{2.0**21}, 0.7": -1, "NaN, 0.7": -1}
    calls = (f"arm.forward([{q}], [0.5, -1.2], [0.8, 0.4])" for q in cases)
    outcomes = call(folder, f"[{', '.join(calls)}].map((r) => [r.status, [...r.qdd]])")
    assert [status for status, _ in outcomes] == [*cases.values()]
    assert outcomes[0][1] == robolin.forward(arm, [0.3, 0.7], [0.5, -1.2], [0.8, 0.4]).tolist()
    assert [values for _, values in outcomes[1:]] == [[None, None]] * 3
    assert call(folder, "explain(1)") == "joint 'turn' moves no inertia: no result exists"
    panda = robolin.load("panda")
    verbs, frame = ["operational-space"], panda.links[-1].name
    folder = made(panda, verbs, tmp_path / "panda", layout=layout, frame=frame, states=1)
    zeros = [0.0] * 7
    assert call(folder, f"arm.operational_space({zeros}, {zeros}, {zeros}).status") == -2


def test_gravity_and_payload_change_the_arm(tmp_path: Path) -> None:
    """Results equal, to the bit, those of an arm loaded with this gravity and payload."""
    arm = robolin.load("ur5")
    frame, q = arm.links[-1].name, [0.3, -1.1, 0.7, 0.2, -0.4, 1.3]
    folder = made(arm, ["inverse", "mass-matrix"], tmp_path / "made", layout="loops")
    lift = f'arm.set_gravity([0.1, -2, -8]); arm.set_payload("{frame}", 2.5, [0.01, 0.02, 0.1]);'
    rest = [0.0] * 6
    program = f"(() => {{ {lift} return [[...arm.inverse({q}, {q}, {rest}).tau], "
    program += f"[...arm.mass_matrix({q}).mass_matrix]] }})()"
    tau, mass_matrix = call(folder, program)
    loaded = robolin.load("ur5", gravity=(0.1, -2.0, -8.0), payload=(frame, 2.5, (0.01, 0.02, 0.1)))
    assert tau == robolin.inverse(loaded, q, q, rest).tolist()
    assert mass_matrix == robolin.mass_matrix(loaded, q).ravel().tolist()
    again = f'(arm.set_payload("{frame}", 2), arm.set_payload("{frame}", 0), '
    assert call(folder, again + f"[...arm.inverse({q}, {q}, {rest}).tau])") == (
        robolin.inverse(arm, q, q, rest).tolist()
    )


def test_wrong_arguments_are_rejected(tmp_path: Path) -> None:
    folder = made(robolin.load("two-link"), ["inverse"], tmp_path / "made")
    program = "[() => arm.inverse([1, 2]), () => arm.inverse([1], [1], [1]), "
    program += "() => arm.set_gravity([0, 0, 1])].map((f) => {"
    program += " try { return f() } catch (e) { return e.message } })"
    assert call(folder, program) == [
        "inverse: takes q, qd, qdd, got 1 arguments",
        "inverse: q must have 2 numbers, got 1",
        "constants are folded: generate with --layout loops",
    ]


def test_the_command_writes_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        run_ok("generate", "two-link", *VERBS, "--target", "wasm", "-o", tmp_path / folder)
    one, two = ({f.name: f.read_bytes() for f in (tmp_path / x).iterdir()} for x in ("one", "two"))
    assert one == two
    ends = ("_test.mjs", ".d.mts", ".mjs", ".wasm")
    assert sorted(one) == sorted(f"two_link{end}" for end in ends)
    types = one["two_link.d.mts"].decode()
    assert "inverse(q: Numbers, qd: Numbers, qdd: Numbers): { status: Status; tau" in types
    assert "   * returns tau: 2, N·m" in types


def test_the_page_runs_in_node(tmp_path: Path) -> None:
    """The JavaScript of docs/howto/browser.md prints the torques of robolin."""
    page = (DOCS / "howto/browser.md").read_text("utf-8")
    first, second = (part.partition("```")[0] for part in page.split("```js\n")[1:])
    robolin.generate(
        robolin.load("two-link"), ["inverse"], tmp_path / "made", target="wasm", layout="loops"
    )
    (tmp_path / "page.mjs").write_text(first + second)
    printed = dict(line.split() for line in node(tmp_path, "page.mjs").splitlines())
    expected = robolin.inverse(robolin.load("two-link"), [0.3, -0.7])
    assert [*map(float, printed.values())] == expected.tolist()


def test_files_of_others_are_never_replaced(tmp_path: Path) -> None:
    """A module that was changed stops everything."""
    folder = made(robolin.load("two-link"), ["inverse"], tmp_path / "made")
    content = (folder / "arm.wasm").read_bytes()
    assert is_marked(content)
    made(robolin.load("two-link"), ["forward"], folder)
    (folder / "arm.wasm").write_bytes(content[:100] + b"\0" + content[101:])
    with pytest.raises(FileError, match="changed afterwards"):
        made(robolin.load("two-link"), ["forward"], folder)


def test_options_that_do_not_apply_are_rejected(tmp_path: Path) -> None:
    arm = robolin.load("two-link")
    for options, what in (
        ({"target": "java"}, "target: unknown value 'java'"),
        ({"target": "wasm", "real": "float"}, "requires double precision"),
        ({"target": "wasm", "extras": ["mex"]}, "--with mex has no effect with --target wasm"),
    ):
        with pytest.raises(UsageError, match=what):
            robolin.generate(arm, ["inverse"], tmp_path / "made", **options)
    ran = run("generate", "two-link", "inverse", "--target", "rust", "-o", tmp_path / "made")
    assert ran.code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "names"),
    [("loops", bundled_names()), ("unrolled", ["panda-fingers", "j2s6s200", "five-bar"])],
)
def test_bundled_arms_in_node(layout: str, names: list[str], tmp_path: Path) -> None:
    """Generated tests compare every number of 100 states of all arms, in one process."""
    program = "const counts = {};\n"
    for name in names:
        arm = robolin.load(name)
        verbs, options = reported(arm)
        made(arm, verbs, tmp_path / name, layout=layout, states=100, **options)
        program += f'counts["{name}"] = await (await import("./{name}/arm_test.mjs")).check();\n'
    (tmp_path / "all.mjs").write_text(program + "console.log(JSON.stringify(counts));")
    counts = json.loads(node(tmp_path, "all.mjs"))
    assert counts.keys() == {*names}
    assert min(each["compared"] for each in counts.values()) >= 100
    assert {name: each["wrong"] for name, each in counts.items()} == dict.fromkeys(counts, 0)


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


def serving(folder: Path) -> Callable[[Any], None]:
    """Answer requests with the files of a folder."""
    types = {".mjs": "text/javascript", ".wasm": "application/wasm"}

    def answer(route: Any) -> None:
        file = folder / route.request.url.rpartition("/")[2]
        if file.is_file():
            route.fulfill(body=file.read_bytes(), content_type=types[file.suffix])
        else:
            route.fulfill(body="<title>arm</title>", content_type="text/html")

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda-fingers", "four-bar"])
def test_bundled_arms_in_chromium(browser: Any, name: str, tmp_path: Path) -> None:
    """A browser has the engine of node: a tree with a mimic joint and a closed loop are enough."""
    arm = robolin.load(name)
    verbs, options = reported(arm)
    for layout in LAYOUTS:
        folder = made(arm, verbs, tmp_path / layout, layout=layout, states=100, **options)
        page = browser.new_page()
        page.route("http://arm.test/**", serving(folder))
        page.goto("http://arm.test/")
        counts = page.evaluate('import("http://arm.test/arm_test.mjs").then((m) => m.check())')
        page.close()
        assert counts["compared"] >= 100
        assert counts["wrong"] == 0
