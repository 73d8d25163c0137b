"""Mesh files and robots with meshes for tests."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

_CORNERS = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
_QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
_TRIANGLES = [(a, *rest) for a, b, c, d in _QUADS for rest in ((b, c), (c, d))]


def binary_stl() -> bytes:
    """A unit cube; the header begins with 'solid', as some programs write it."""
    faces = b"".join(
        struct.pack("<12fH", 0, 0, 0, *(x for k in face for x in _CORNERS[k]), 0)
        for face in _TRIANGLES
    )
    return b"solid cube".ljust(80) + struct.pack("<I", len(_TRIANGLES)) + faces


def text_stl() -> bytes:
    """The same cube as text."""
    facets = [
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {:.1e}\n".format(*_CORNERS[k]) for k in face)
        + "endloop\nendfacet\n"
        for face in _TRIANGLES
    ]
    return ("solid cube\n" + "".join(facets) + "endsolid cube\n").encode()


def obj() -> bytes:
    """The same cube with quadrilaterals, texture indices and indices from the end."""
    points = "".join("v {} {} {}\n".format(*corner) for corner in _CORNERS)
    faces = ["f " + " ".join(f"{k + 1}/1/1" for k in quad) for quad in _QUADS[:3]]
    faces += ["f " + " ".join(str(k - 8) for k in quad) for quad in _QUADS[3:]]
    return ("mtllib none.mtl\n" + points + "\n".join(faces)).encode()


def dae(kind: str = "polylist", extra: str = "") -> bytes:
    """The same cube in centimetres, red, moved by 1 m along x by a node."""
    points = " ".join(str(100 * x) for corner in _CORNERS for x in corner)
    lists = [" ".join(f"{k} 0" for k in quad) for quad in _QUADS]
    if kind == "triangles":
        lists = [" ".join(f"{k} 0" for face in _TRIANGLES for k in face)]
    elif kind == "polylist":
        lists = [" ".join(lists)]
    counts = "<vcount>4 4 4 4 4 4</vcount>" if kind == "polylist" else ""
    indices = "".join(f"<p>{each}</p>" for each in lists)
    return f"""<?xml version="1.0"?>{extra}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique>
<phong><diffuse><color>1 0 0 1</color></diffuse></phong>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="f" count="24">{points}</float_array>
<technique_common><accessor source="#f" count="8" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<{kind} material="paint" count="6"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#s" offset="1"/>{counts}{indices}</{kind}>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene"><node><translate>100 0 0</translate><node>
<instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="paint" target="#m"/>
</technique_common></bind_material></instance_geometry>
</node></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene></COLLADA>""".encode()


def sphere_stl(segments: int) -> bytes:
    """A finely divided sphere, larger than the budget of a page."""
    u, v = np.meshgrid(np.linspace(0, np.pi, segments), np.linspace(0, 2 * np.pi, segments))
    grid = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    faces = np.concatenate([np.stack([a, b, c], 2), np.stack([a, c, d], 2)]).reshape(-1, 9)
    rows = np.zeros(len(faces), np.dtype([("n", "<f4", 3), ("p", "<f4", 9), ("x", "<u2")]))
    rows["p"] = faces
    return bytes(80) + struct.pack("<I", len(faces)) + rows.tobytes()


def robot(folder: Path, first: str, second: str = "", material: str = "") -> Path:
    """A robot file with two links; <geometry> and <material> of their visuals as text."""
    links = [
        f'<link name="{name}"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
        + (f"<visual>{shape}{material}</visual>" if shape else "")
        + "</link>"
        for name, shape in (("base", ""), ("upper", first), ("lower", second))
    ]
    joints = [
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="9"/></joint>'
        for name, parent, child in (("shoulder", "base", "upper"), ("elbow", "upper", "lower"))
    ]
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="two">{"".join(links + joints)}</robot>', "utf-8")
    return path


def mesh(name: str, scale: str = "1 1 1") -> str:
    """The geometry of a mesh file."""
    return f'<geometry><mesh filename="{name}" scale="{scale}"/></geometry>'
