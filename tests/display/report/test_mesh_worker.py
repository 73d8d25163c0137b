"""Meshes are simplified to the budget of a page, and a broken file affects only itself."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robolin.display.report import mesh_worker
from robolin.display.report.mesh_files import Surface, read_stl
from robolin.display.report.mesh_worker import reply, simplified_surface, within_budget
from tests.display.report import meshes


@pytest.fixture(autouse=True)
def _keep_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker runs in the process of the tests here."""
    monkeypatch.setattr(mesh_worker, "give_up_rights", lambda folders: ())


def _unpacked(mesh: dict[str, Any]) -> Surface:
    grid = np.frombuffer(b64decode(mesh["points"]), "<u2").reshape(-1, 3)
    triangles = np.frombuffer(b64decode(mesh["triangles"]), "<u2").reshape(-1, 3)
    return Surface(np.array(mesh["low"]) + mesh["step"] * grid, triangles.astype(np.int64))


@pytest.mark.slow
def test_a_sphere_stays_a_sphere() -> None:
    """A sphere of 79 202 triangles fits into a budget of 3 000, within 2 % of its radius."""
    (sphere,) = read_stl(meshes.sphere_stl(200))
    (kept,) = within_budget([sphere], 3000)
    assert 1500 < len(kept.points) + len(kept.triangles) <= 3000
    assert np.linalg.norm(kept.points, axis=1) == pytest.approx(1.0, abs=0.02)


def test_sharp_edges_are_kept() -> None:
    """The corner of a cube is where it was, although its cell has other vertices too."""
    u = np.linspace(0.0, 1.0, 40)
    x, y = np.meshgrid(u, u)
    flat = [np.stack([x, y, 0 * x], -1), np.stack([x, 0 * x, y], -1), np.stack([0 * x, x, y], -1)]
    triangles = []
    for side, grid in enumerate(flat):
        k = side * 1600 + np.arange(1600).reshape(40, 40)
        a, b, c, d = (each.ravel() for each in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
        triangles += [np.stack([a, b, c], 1), np.stack([a, c, d], 1)]
        del grid
    points = np.concatenate([grid.reshape(-1, 3) for grid in flat])
    kept = simplified_surface(Surface(points, np.concatenate(triangles)), 0.2)
    assert len(kept.points) < 200
    assert np.linalg.norm(kept.points, axis=1).min() < 1e-6


def test_a_small_mesh_is_stored_exactly(tmp_path: Path) -> None:
    """A cube keeps its 8 vertices and 12 triangles; positions are exact to 1/65535 of its size."""
    (tmp_path / "cube.stl").write_bytes(meshes.binary_stl())
    shapes = [("mesh", str(tmp_path / "cube.stl"), 2.0, 2.0, -2.0)]
    answer = reply({"shapes": shapes, "readable": [str(tmp_path)], "budget": 1000})
    ((packed,),) = answer["shapes"]
    cube = _unpacked(packed)
    assert cube.points.shape == (8, 3)
    assert len(cube.triangles) == 12
    assert np.abs(cube.points - np.rint(cube.points)).max() < 2.0 / 65535.0
    assert cube.points.min(axis=0) == pytest.approx([0.0, 0.0, -2.0], abs=1e-4)


def test_each_file_has_its_own_reason(tmp_path: Path) -> None:
    """Broken and unknown files are named with a reason; the others are drawn."""
    files = {
        "good.stl": meshes.binary_stl(),
        "cut.stl": meshes.binary_stl()[:-7],
        "far.obj": b"v 1e300 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3",
        "index.obj": b"v 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 9",
        "empty.obj": b"v 1 0 0",
        "bomb.dae": meshes.dae(extra='<!DOCTYPE x [<!ENTITY a "a">]>'),
        "other.glb": b"glTF",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    shapes = [("mesh", str(tmp_path / name), 1.0, 1.0, 1.0) for name in (*files, "absent.stl")]
    answer = reply({"shapes": shapes, "readable": [], "budget": 1000})
    assert [len(each) for each in answer["shapes"]] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert list(answer["missing"].values()) == [
        "malformed STL",
        "coordinates are not finite or too large",
        "triangles of unknown vertices",
        "no triangles",
        "the file declares a DOCTYPE, which is rejected",
        "not STL, OBJ or DAE",
        "No such file or directory",
    ]


def test_random_bytes_are_no_mesh(tmp_path: Path) -> None:
    """Changed bytes of valid files are drawn or named with a reason, never a crash."""
    numbers = np.random.default_rng(7)
    texts = {"stl": meshes.text_stl(), "obj": meshes.obj(), "dae": meshes.dae()}
    shapes = []
    for i in range(60):
        kind = list(texts)[i % 3]
        data = bytearray(texts[kind])
        for at in numbers.integers(0, len(data), 1 + i // 6):
            data[at] = numbers.integers(256)
        path = tmp_path / f"{i}.{kind}"
        path.write_bytes(data)
        shapes.append(("mesh", str(path), 1.0, 1.0, 1.0))
    answer = reply({"shapes": shapes, "readable": [], "budget": 1000})
    drawn = [i for i, each in enumerate(answer["shapes"]) if each]
    assert set(drawn).isdisjoint(answer["missing"])
    assert len(drawn) + len(answer["missing"]) >= 50
