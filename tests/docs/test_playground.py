"""The playground has a live page for every bundled robot without closed loops."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.codegen.wasm_files import binding_text
from tools.markdown import DOCS
from tools.operators_page import ARMS, operators_module, operators_page
from tools.playground import motion_columns, playground_names, write_playground


def test_every_robot_is_on_the_page() -> None:
    listed = re.findall(r'href="playground/([\w-]+)\.html"', (DOCS / "playground.md").read_text())
    assert sorted({*listed} - {"operators"}) == sorted(playground_names())


def test_the_motions_are_within_the_position_limits() -> None:
    for name in playground_names():
        arm = robolin.load(name)
        q = motion_columns(arm)["q"]
        exceeded = [each.quantity for each in robolin.limits(arm, q).exceeded]
        assert "position" not in exceeded, name


@pytest.mark.parametrize("name", ARMS)
def test_the_operators_are_those_of_operator_algebra(name: str, tmp_path: Path) -> None:
    """In node, P, D and G of the module are those of `robolin.operators`, about the joints."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    arm = robolin.load(name)
    content, info = operators_module(arm)
    q = [0.3 + 0.4 * i for i in range(arm.n)]
    (tmp_path / "arm.wasm").write_bytes(content)
    (tmp_path / "run.cjs").write_text(
        f"const bound = {binding_text()};\n"
        'const bytes = require("fs").readFileSync("arm.wasm");\n'
        "const made = new WebAssembly.Instance(new WebAssembly.Module(bytes));\n"
        f"const found = bound({json.dumps(info, default=list)})(made.exports).operators({q});\n"
        "console.log(JSON.stringify(found, (_, x) => (ArrayBuffer.isView(x) ? [...x] : x)));"
    )
    ran = subprocess.run(["node", "run.cjs"], cwd=tmp_path, capture_output=True, check=True)
    operators = {key: np.array(values) for key, values in json.loads(ran.stdout).items()}
    op, n = robolin.operators(arm, q), arm.n
    places = np.cumsum(operators["shift"].reshape(n, 3), axis=0)
    for i, p in enumerate(places):
        # blocks of the operators are ordered from the tip
        k = slice(6 * (n - 1 - i), 6 * (n - i))
        X = np.eye(6)
        X[:3, 3:] = -np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
        for key, operator in (("M", op.M), ("P", op.P)):
            block = X @ operator.dense()[k, k] @ X.T
            assert np.allclose(operators[key].reshape(n, 6, 6)[i], block, atol=1e-12)
        gain = X @ op.G.dense()[k].sum(axis=1)
        assert np.allclose(operators["G"].reshape(n, 6)[i], gain, atol=1e-12)
    assert np.prod(operators["D"]) == pytest.approx(np.linalg.det(robolin.mass_matrix(arm, q)))


def test_the_operators_page_allows_only_its_own_program() -> None:
    page = operators_page()
    assert "script-src 'sha256-" in page
    assert page.count("'wasm-unsafe-eval'") == 1
    assert len(page.encode()) < 200_000


@pytest.mark.slow
def test_the_pages_are_live_and_small(tmp_path: Path) -> None:
    for name in write_playground(tmp_path, verify_states=0):
        page = (tmp_path / "playground" / f"{name}.html").read_text("utf-8")
        assert 'id="live"' in page or name == "operators", name
        assert "no robot file to validate" not in page, name
        assert len(page.encode()) < 700_000, name
