"""Links of a YAML arm as solids: the inertia of a shape, from its mass or its density.

    links:
      - {name: upper, mass: 2, com: [0, 0, 0.2], shape: {box: [0.1, 0.1, 0.4]}}
      - {name: lower, density: 2700, shape: {cylinder: {radius: 0.03, length: 0.3}}}
      - {name: pole, mass: 0.1, shape: {rod: 0.5, rpy: [0, 90deg, 0]}}
      - {name: ball, mass: 0.2, shape: {sphere: 0.05}}

A box has its edges along x, y and z, a cylinder and a thin rod stand along z; `rpy` turns them.
All are uniform, with their middle at `com`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import NamedTuple

from robolin.core.arm import Inertia, Rotary
from robolin.core.rotations import rotation_from_rpy, turned_rotary
from robolin.description.yaml.yaml_fields import Fields

BODY_SHAPES = ("box", "cylinder", "rod", "sphere")
SHAPE_KEYS = (*BODY_SHAPES, "rpy")
CYLINDER_KEYS = ("radius", "length")


class Solid(NamedTuple):
    """A uniform shape of mass 1: its moments about the middle, and its volume, 0 if it is thin."""

    xx: float
    yy: float
    zz: float
    volume: float


def shaped_inertia(link: Fields) -> Inertia | None:
    """The inertia of a link with a shape; None after a complaint."""
    shape = link.fields("shape", SHAPE_KEYS)
    if shape is None:
        return None
    if link.has("inertia"):
        message = f"{link.what} has both 'shape' and 'inertia'"
        link.error("shape-twice", link.place("inertia"), message, "the shape gives the inertia")
    given = [name for name in BODY_SHAPES if shape.has(name)]
    if len(given) != 1:
        message = f"{link.what}: shape names {len(given)} shapes, not one"
        link.error("shape-twice", link.place("shape"), message, f"one of {', '.join(BODY_SHAPES)}")
        return None
    solid = _SOLIDS[given[0]](shape)
    mass = _mass(link, solid, given[0])
    rotary: Rotary = (mass * solid.xx, 0.0, 0.0, mass * solid.yy, 0.0, mass * solid.zz)
    if shape.has("rpy"):
        turn = rotation_from_rpy(*shape.vector("rpy", angle=True))
        rotary = turned_rotary(turn, rotary)
    return Inertia(mass, link.vector("com"), rotary)


def _mass(link: Fields, solid: Solid, shape: str) -> float:
    if link.has("mass") and link.has("density"):
        message = f"{link.what} has both 'mass' and 'density'"
        link.error("shape-twice", link.place("density"), message, "keep one of them")
    if not link.has("density"):
        link.need("mass", hint="a shape needs a mass, or a density in kg/m³")
        return link.number("mass")
    if not solid.volume and shape == "rod":
        message = f"{link.what}: a thin rod has no volume for its density"
        link.error("shape-size", link.place("density"), message, "give its mass")
    return link.number("density") * solid.volume


def _box(shape: Fields) -> Solid:
    x, y, z = (_size(shape, "box", edge) for edge in shape.vector("box"))
    moments = ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)
    return Solid(*moments, x * y * z)


def _cylinder(shape: Fields) -> Solid:
    sizes = shape.fields("cylinder", CYLINDER_KEYS)
    if sizes is None:
        return Solid(0.0, 0.0, 0.0, 0.0)
    sizes.need(*CYLINDER_KEYS)
    r, length = (_size(sizes, key, sizes.number(key, 1.0)) for key in CYLINDER_KEYS)
    across = (3 * r * r + length * length) / 12
    return Solid(across, across, r * r / 2, pi * r * r * length)


def _rod(shape: Fields) -> Solid:
    length = _size(shape, "rod", shape.number("rod", 1.0))
    return Solid(length * length / 12, length * length / 12, 0.0, 0.0)


def _sphere(shape: Fields) -> Solid:
    r = _size(shape, "sphere", shape.number("sphere", 1.0))
    moment = 2 * r * r / 5
    return Solid(moment, moment, moment, 4 * pi * r * r * r / 3)


_SOLIDS: dict[str, Callable[[Fields], Solid]] = {
    "box": _box,
    "cylinder": _cylinder,
    "rod": _rod,
    "sphere": _sphere,
}


def _size(fields: Fields, key: str, size: float) -> float:
    if size <= 0.0:
        message = f"{fields.what}: {fields.prefix}{key} has a size of {size:g} m"
        fields.error("shape-size", fields.place(key), message, "sizes are positive, in m")
    return size
