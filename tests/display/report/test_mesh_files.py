"""Mesh files are read exactly, and invalid ones are rejected with a reason."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.display.report.mesh_files import (
    READERS,
    SHAPES,
    Surface,
    UnreadableError,
    read_dae,
    read_obj,
    read_stl,
)
from tests.display.report import meshes


def _volume(surface: Surface) -> float:
    """Volume by the divergence theorem; the sign is that of the orientation."""
    a, b, c = np.moveaxis(surface.points[surface.triangles], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (read_stl, meshes.binary_stl()),
        (read_stl, meshes.text_stl()),
        (read_obj, meshes.obj()),
        *((read_dae, meshes.dae(kind)) for kind in ("polylist", "triangles", "polygons")),
    ],
)
def test_a_cube_is_a_cube(reader: object, data: bytes) -> None:
    """Every format gives the unit cube with its orientation; the scene of DAE places it."""
    assert callable(reader)
    (cube,) = reader(data)
    assert _volume(cube) == pytest.approx(1.0, abs=1e-12)
    low = cube.points[np.unique(cube.triangles)].min(axis=0)
    assert low.tolist() == ([1.0, 0.0, 0.0] if reader is read_dae else [0.0, 0.0, 0.0])
    assert np.ptp(cube.points, axis=0) == pytest.approx([1.0, 1.0, 1.0], abs=1e-12)
    assert cube.colour == ((1.0, 0.0, 0.0) if reader is read_dae else None)


def test_shapes_have_their_volumes() -> None:
    """Boxes are exact; a circle of 24 segments has 0.4 % less area than a round one."""
    assert _volume(Surface(*SHAPES["box"]((1.0, 2.0, 3.0)))) == pytest.approx(6.0)
    round_ones = {
        "cylinder": ((0.5, 2.0), np.pi * 0.25 * 2.0),
        "sphere": ((0.5,), np.pi / 6.0),
        "capsule": ((0.5, 2.0), np.pi * 0.25 * 2.0 + np.pi / 6.0),
    }
    for kind, (size, volume) in round_ones.items():
        enclosed = _volume(Surface(*SHAPES[kind](size)))
        assert 0.96 * volume < enclosed < volume, kind


_BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("suffix", "data"),
    [
        (".stl", b""),
        (".stl", b"\0" * 84 + b"cut"),
        (".stl", b"solid x\nvertex a b c\nvertex 1 2 3\nvertex 1 2 3"),
        (".stl", b"\xff" * 200),
        (".obj", b"v 1 2\nf 1 1 1"),
        (".obj", b"v 1 2 3\nf a b c"),
        (".dae", b""),
        (".dae", b"<COLLADA>"),
        (".dae", b"\0\1\2"),
        (".dae", meshes.dae().replace(b'url="#g"', b'url="#none"')),
        (".dae", meshes.dae().replace(b'stride="3"', b'stride="0"')),
        (".dae", meshes.dae().replace(b"<vcount>4", b"<vcount>400")),
        (".dae", meshes.dae().replace(b"<translate>100", b"<translate>x")),
        (".dae", meshes.dae().replace(b"VERTEX", b"NORMAL")),
        (".dae", meshes.dae().replace(b"POSITION", b"NORMAL")),
        (".dae", meshes.dae().replace(b"vcount", b"count")),
        (".dae", meshes.dae().replace(b"accessor", b"other")),
        (".dae", meshes.dae().replace(b"translate", b"rotate")),
        (".dae", meshes.dae(extra=_BOMB)),
    ],
)
def test_invalid_files_are_rejected(suffix: str, data: bytes) -> None:
    """An invalid file raises an error that the worker turns into a reason, and nothing else."""
    with pytest.raises((UnreadableError, ValueError)):
        READERS[suffix](data)
