"""Worker process that reads meshes: STL, OBJ and DAE files, MuJoCo's geoms, and simple shapes.

Mesh files come from others, so they are read in a process with limited time, memory and rights.
All meshes of a robot are simplified together until they fit into the budget of a page.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.description.worker_process import ProcessBounds, give_up_rights
from robolin.display.report.mesh_files import (
    READERS,
    SHAPES,
    Surface,
    UnreadableError,
    box_shape,
    capsule_shape,
    cylinder_shape,
)

BOUNDS = ProcessBounds(seconds=30, memory=4 << 30)
# together: larger robots are not drawn from their meshes
_LARGEST_MESHES = 512 * 2**20
# a finer grid is not visible on a page
_FINEST = 1.0 / 1000.0


def prepare() -> None:
    """Run everything once: NumPy imports some of its modules on first use."""
    within_budget([Surface(*box_shape((1.0, 1.0, 1.0)))], 10)


def reply(request: Mapping[str, Any]) -> dict[str, Any]:
    """Packed meshes within the budget, the parts that use them, and the reasons for missing ones.

    request: 'shapes' is a list of (kind, numbers or file and scale), 'mjcf' a file to compile,
             'readable' the folders, 'budget' the number of vertices and triangles of all parts
    """
    model = _compiled(request["mjcf"]) if request.get("mjcf") else None
    give_up_rights(request["readable"])
    groups: list[list[Surface]] = []
    missing: dict[int, str] = {}
    geoms: list[dict[str, Any]] = []
    if model is not None:
        geoms, groups = _geoms(model)
    else:
        size = 0
        for i, (kind, *values) in enumerate(request["shapes"]):
            try:
                size += os.path.getsize(values[0]) if kind == "mesh" else 0
                if size > _LARGEST_MESHES:
                    raise UnreadableError("all meshes together are too large")
                groups.append(_surfaces(kind, values))
            except UnreadableError as error:
                missing[i] = str(error)
                groups.append([])
            except (OSError, ValueError, OverflowError) as error:
                missing[i] = getattr(error, "strerror", None) or "malformed"
                groups.append([])
    flat = [surface for group in groups for surface in group]
    kept = iter(within_budget(flat, request["budget"]))
    # parts smaller than the detail of the page have no triangles left
    packed = [
        [_packed(each) for each in [next(kept) for _ in group] if len(each.triangles)]
        for group in groups
    ]
    return {"shapes": packed, "missing": missing, "geoms": geoms}


def _surfaces(kind: str, values: Sequence[Any]) -> list[Surface]:
    if kind != "mesh":
        return [Surface(*SHAPES[kind](values))]
    path, *scale = values
    reader = READERS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        raise UnreadableError("not STL, OBJ or DAE")
    with open(path, "rb") as stream:
        data = stream.read(_LARGEST_MESHES)
    surfaces = [_scaled(each, scale) for each in reader(data) if len(each.triangles)]
    if not surfaces:
        raise UnreadableError("no triangles")
    return surfaces


def _scaled(surface: Surface, scale: Sequence[float]) -> Surface:
    """The mesh in m, without invisible detail."""
    points, triangles = surface.points * np.array(scale), np.asarray(surface.triangles, np.int64)
    if not np.isfinite(points).all() or np.abs(points).max(initial=0.0) > 1e6:
        raise UnreadableError("coordinates are not finite or too large")
    if triangles.min() < 0 or triangles.max() >= len(points):
        raise UnreadableError("triangles of unknown vertices")
    in_metres = Surface(points, triangles, surface.colour)
    return simplified_surface(in_metres, _FINEST * float(np.ptp(points, axis=0).max()))


# MuJoCo

# kinds of geoms by MuJoCo's code: sphere, capsule, ellipsoid, cylinder, box and mesh
_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(2, 8)
# MuJoCo's viewer hides groups from 3 on: they are collision shapes
_HIDDEN_GROUP = 3


def _compiled(path: str) -> Any:
    mujoco: Any = import_module("mujoco")
    mujoco.set_mju_user_warning(lambda _text: None)
    return mujoco.MjModel.from_xml_path(path)


def _geoms(model: Any) -> tuple[list[dict[str, Any]], list[list[Surface]]]:
    """Visible geoms of a model: body, pose and colour of each, and its surface."""
    geoms, groups = [], []
    for k in range(model.ngeom):
        material = model.geom_matid[k]
        colour = model.mat_rgba[material] if material >= 0 else model.geom_rgba[k]
        surface = _geom(model, k)
        if surface is None or model.geom_group[k] >= _HIDDEN_GROUP or colour[3] < 0.1:
            continue
        body = int(model.geom_bodyid[k])
        geoms.append(
            {
                "link": model.body(body).name or f"body{body}",
                "position": model.geom_pos[k].tolist(),
                "quaternion": model.geom_quat[k].tolist(),
                "colour": [float(x) for x in colour[:3]],
            }
        )
        groups.append([surface])
    return geoms, groups


def _geom(model: Any, k: int) -> Surface | None:
    kind, size = int(model.geom_type[k]), [float(x) for x in model.geom_size[k]]
    if kind == _MESH:
        mesh = model.geom_dataid[k]
        first, face = model.mesh_vertadr[mesh], model.mesh_faceadr[mesh]
        points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        triangles = model.mesh_face[face : face + model.mesh_facenum[mesh]]
        return _scaled(Surface(points.astype(np.float64), triangles), (1.0, 1.0, 1.0))
    if kind in (_SPHERE, _ELLIPSOID):
        points, triangles = capsule_shape((1.0, 0.0))
        return Surface(points * (size if kind == _ELLIPSOID else size[0]), triangles)
    shapes = {_CAPSULE: capsule_shape, _CYLINDER: cylinder_shape}
    if kind in shapes:
        return Surface(*shapes[kind]((size[0], 2.0 * size[1])))
    return Surface(*box_shape([2.0 * x for x in size])) if kind == _BOX else None


# simplification


def within_budget(surfaces: Sequence[Surface], budget: int) -> list[Surface]:
    """Surfaces whose vertices and triangles are at most `budget`, all of the same detail."""
    kept = list(surfaces)
    if _size(kept) <= budget:
        return kept
    sizes = [float(np.ptp(each.points, axis=0).max()) for each in surfaces]
    fine, coarse = 1e-4 * max(sizes), max(sizes)
    # a closed surface has two triangles per vertex
    for _ in range(12):
        cell = (fine * coarse) ** 0.5
        vertices = sum(len(np.unique(_cells(each.points, cell))) for each in surfaces)
        fine, coarse = (cell, coarse) if 3 * vertices > budget else (fine, cell)
    while _size(kept) > budget:
        kept = [simplified_surface(each, coarse) for each in surfaces]
        coarse *= 1.1
    return kept


def _size(surfaces: Sequence[Surface]) -> int:
    return sum(len(each.points) + len(each.triangles) for each in surfaces)


def _cells(points: Floats, cell: float) -> Numbers:
    """Number of the grid cell of every point."""
    index = np.floor((points - points.min(axis=0)) / (cell or 1.0)).astype(np.int64)
    keys: Numbers = (index[:, 0] << 42) | (index[:, 1] << 21) | index[:, 2]
    return keys


def simplified_surface(surface: Surface, cell: float) -> Surface:
    """Merge the vertices of every cell of a grid into the point that is nearest to their planes.

    The planes are those of the triangles at the vertices, weighted by area (quadric error).
    """
    points, triangles = surface.points, surface.triangles
    unique, inverse = np.unique(_cells(points, cell), return_inverse=True)
    count = len(unique)
    merged = inverse[triangles]
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    mean = _summed(points, inverse, count) / np.bincount(inverse, minlength=count)[:, None]
    outer = (normals[:, :, None] * normals[:, None, :]).reshape(-1, 9)
    A, b = np.zeros((count, 9)), np.zeros((count, 3))
    for k in range(3):
        cells = merged[:, k]
        away = np.einsum("ij,ij->i", normals, corners[:, k] - mean[cells])
        A += _summed(outer, cells, count)
        b += _summed(normals * away[:, None], cells, count)
    size, axes = np.linalg.eigh(A.reshape(-1, 3, 3))
    # directions that the planes do not determine keep the mean
    known = size > 1e-3 * size[:, -1:]
    along = np.einsum("kij,ki->kj", axes, b) / np.where(known & (size > 0.0), size, np.inf)
    shift = np.einsum("kij,kj->ki", axes, along)
    best = mean + np.clip(shift, -cell, cell)
    fine = (
        (merged[:, 0] != merged[:, 1])
        & (merged[:, 1] != merged[:, 2])
        & (merged[:, 2] != merged[:, 0])
    )
    faces = merged[fine]
    _, first = np.unique(np.sort(faces, axis=1) @ [count * count, count, 1], return_index=True)
    faces = faces[np.sort(first)]
    used, renumbered = np.unique(faces, return_inverse=True)
    return Surface(best[used], renumbered.reshape(-1, 3), surface.colour)


def _summed(values: Floats, cells: Numbers, count: int) -> Floats:
    """Sums of the rows of every cell."""
    return np.stack([np.bincount(cells, column, count) for column in values.T], axis=1)


def packed_surface(values: Sequence[Any]) -> dict[str, Any]:
    """A simple shape, packed."""
    return _packed(Surface(*SHAPES[values[0]](values[1:])))


def _packed(surface: Surface) -> dict[str, Any]:
    """Points as 16-bit numbers of a grid, and triangles, both as base64."""
    points, triangles = surface.points, surface.triangles
    low = points.min(axis=0)
    step = float(np.ptp(points, axis=0).max()) / 65535.0 or 1.0
    grid = np.rint((points - low) / step).astype("<u2")
    return {
        "low": [float(f"{x:.7g}") for x in low],
        "step": float(f"{step:.7g}"),
        "points": b64encode(grid.tobytes()).decode("ascii"),
        "triangles": b64encode(triangles.astype("<u2").tobytes()).decode("ascii"),
        "colour": None if surface.colour is None else list(surface.colour),
    }
