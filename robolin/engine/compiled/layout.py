"""How an arm's numbers lie in memory for a kernel: one table of doubles, one of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.engine.parameters import Parameters

# doubles per link: rotation 9, offset 3, mass, com 3, rotary 6, armature, damping, friction, …
ROTATION, OFFSET, MASS, COM, ROTARY = 0, 9, 12, 13, 16
ARMATURE, DAMPING, FRICTION, RATIO, SHIFT, DIRECTION, LINK_DOUBLES = 22, 23, 24, 25, 26, 27, 30

# before the links: gravity 3, friction velocity, origin 3, the tip's axes 9 and point 3, roaming 9
GRAVITY, FRICTION_VELOCITY, FRAME_ORIGIN, TIP_AXES, TIP_POINT, ROAMING = 0, 3, 4, 7, 16, 19
HEAD_DOUBLES = 28

# after the links, per load: axes 9, point, force, moment
LOAD_DOUBLES = 18

# tables of n + 2 whole numbers each, by link; then the tip's link, and the loads' links
PARENT, FIRST, TURNS, COORDINATE, FOLLOWS, OUTERMOST, CARRIER, RESTS = 0, 1, 2, 3, 4, 5, 6, 7

# by coordinate: its public place; by turn, and how many at 0: the links with partners outboard
PLACE, PARTNERED, LINK_TABLES = 8, 9, 10


@dataclass(frozen=True)
class Variant:
    """What a kernel was compiled for besides its algorithm; anything else about an arm is data."""

    serial: bool
    all_turn: bool
    mimics: bool
    smooth_friction: bool
    load_models: tuple[str, ...]
    grouped: bool = False
    roams: bool = False


def variant_of(parameters: Parameters) -> Variant:
    return Variant(
        serial=parameters.serial,
        all_turn=all(row.turns for row in parameters.links),
        mimics=parameters.mimics,
        smooth_friction=parameters.friction_velocity is not None,
        load_models=tuple(load.model for load in parameters.loads),
        grouped=parameters.grouped,
        roams=parameters.roaming is not None,
    )


def doubles_of(parameters: Parameters) -> np.ndarray:
    """Every real number of the arm, in the order the offsets above describe."""
    tip = parameters.tip
    head = [
        *parameters.gravity,
        parameters.friction_velocity or 0.0,
        *parameters.origin,
        *tip.axes,
        *tip.point,
        *(parameters.roaming or (0.0,) * 9),
    ]
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
            *row.direction,
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
        order = (row.parent, first[k], row.turns, row.coordinate, row.follows)
        tables[:PLACE, k] = (*order, row.outermost, row.carrier, row.rests)
    tables[PLACE, 1 : m + 1] = parameters.order
    partnered = [k for k, row in enumerate(parameters.links, start=1) if row.outermost != k]
    tables[PARTNERED, : len(partnered) + 1] = (len(partnered), *partnered)
    places = [parameters.tip.link, *(load.link for load in parameters.loads)]
    return np.concatenate([tables.ravel(), np.array(places, dtype=np.int64)])
