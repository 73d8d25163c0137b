"""How an arm's numbers lie in memory for a kernel: one table of doubles, one of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.engine.parameters import Parameters

# doubles per link: rotation 9, offset 3, mass, com 3, rotary 6, armature, damping, friction, …
ROTATION, OFFSET, MASS, COM, ROTARY = 0, 9, 12, 13, 16
ARMATURE, DAMPING, FRICTION, RATIO, SHIFT, LINK_DOUBLES = 22, 23, 24, 25, 26, 27

# before the links: gravity 3, friction velocity; after them, per load: axes 9, point, force, moment
HEAD_DOUBLES, LOAD_DOUBLES = 4, 18

# tables of n + 2 whole numbers each, by link; loads' links come last
PARENT, FIRST, TURNS, COORDINATE, FOLLOWS, PLACE, LINK_TABLES = 0, 1, 2, 3, 4, 5, 6


@dataclass(frozen=True)
class Variant:
    """What a kernel was compiled for besides its algorithm; anything else about an arm is data."""

    serial: bool
    all_turn: bool
    mimics: bool
    smooth_friction: bool
    load_models: tuple[str, ...]


def variant_of(parameters: Parameters) -> Variant:
    return Variant(
        serial=parameters.serial,
        all_turn=all(row.turns for row in parameters.links),
        mimics=parameters.mimics,
        smooth_friction=parameters.friction_velocity is not None,
        load_models=tuple(load.model for load in parameters.loads),
    )


def doubles_of(parameters: Parameters) -> np.ndarray:
    """Every real number of the arm, in the order the offsets above describe."""
    head = [*parameters.gravity, parameters.friction_velocity or 0.0]
    links = [
        number
        for row in parameters.links
        for number in (
            *row.rotation,
            *row.offset,
            row.mass,
            *row.com,
            *row.rotary,
            row.armature,
            row.damping,
            row.friction,
            row.ratio,
            row.shift or -0.0,
        )
    ]
    loads = [
        number
        for load in parameters.loads
        for number in (*load.axes, *load.point, *load.force, *load.moment)
    ]
    return np.array(head + links + loads)


def wholes_of(parameters: Parameters, first: list[int]) -> np.ndarray:
    """Every whole number of the arm; entry k of a table belongs to link k."""
    n, m = parameters.n, len(parameters.order)
    tables = np.zeros((LINK_TABLES, n + 2), dtype=np.int64)
    for k, row in enumerate(parameters.links, start=1):
        tables[:PLACE, k] = (row.parent, first[k], row.turns, row.coordinate, row.follows)
    tables[PLACE, 1 : m + 1] = parameters.order
    loads = [load.link for load in parameters.loads]
    return np.concatenate([tables.ravel(), np.array(loads, dtype=np.int64)])
