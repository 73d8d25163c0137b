"""Loop-closure constraints: violation, its rate, and the constraint Jacobian.

A closure connects a frame of one link with a frame of another.  Its rows are in world axes, first
those of the points r₁ and r₂, along x, y, z, then, if it is rigid, those of the axes R₁ and R₂.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Closure, Slots
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import ZERO3, add, rotate_rotation, scale, sub
from robolin.dynamics.frames.frame_motion import TipFrame, at_point, classical, placed_frame
from robolin.dynamics.links.link_motion import Motion, bias_motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics


class Ends(NamedTuple):
    """A closure and the current poses of its two frames."""

    closure: Closure
    first: TipFrame
    second: TipFrame


def closures(chain: Chain) -> None:
    """Gaps, the Jacobian L, L q̇ and L̇ q̇ from q and q̇.

    φ     = [r₁ - r₂; s]          s the axis of the rotation R₁ R₂* times its sine
    L q̇   = [v₁ - v₂; w₁ - w₂]
    L̇ q̇   = [r̈₁ - r̈₂; ẇ₁ - ẇ₂]    for q̈ = 0
    """
    # constraint violation in this state
    links, qd = forward_kinematics(chain, weighed=False), chain.input("qd")
    ends = closure_ends(chain, links)
    out_gaps(chain, ends)

    # its rate, and its acceleration for q̈ = 0
    moving = bias_motion(chain, links, qd)
    out_rows(chain, "closure_velocity", closure_velocity(chain, ends, moving))
    out_rows(chain, "closure_jacobian_rate_qd", closure_acceleration(chain, ends, moving))

    # column of every joint
    L = closure_columns(chain, links, ends)
    for k in chain.tip_to_base():
        for row, entry in enumerate(L[k]):
            chain.out("closure_jacobian", (row, k), entry)


def closure_ends(chain: Chain, links: Links) -> list[Ends]:
    """Every closure with its frames placed."""
    return [
        Ends(each, placed_frame(each.first, links), placed_frame(each.second, links))
        for each in chain.closures
    ]


def closure_columns(chain: Chain, links: Links, ends: list[Ends]) -> Slots:
    """L(k) of every link: J₁(k) - J₂(k), each where k lies between its frame and the base."""
    count = row_count(chain)
    L = chain.slots(count)
    for k in chain.tip_to_base():
        L[k] = (0.0,) * count

    # joints inboard of the first frame count positive, those of the second negative
    for closure, first, second in ends:
        for k in chain.path_of(first.link):
            L[k] = added_to_rows(L[k], closure, at_point(links.H[k], first.r))
        for k in chain.path_of(second.link):
            away = tuple(-x for x in at_point(links.H[k], second.r))
            L[k] = added_to_rows(L[k], closure, away)
    return L


def by_coordinates(chain: Chain, L: Slots, count: int) -> Slots:
    """Sum the columns of the links into columns of the independent coordinates."""
    columns, reduced = [chain.column() for _ in range(count)], chain.slots(count)
    for k in chain.tip_to_base():
        for column, entry in zip(columns, L[k], strict=True):
            column.put((k,), entry)
    for j in chain.coordinates():
        reduced[j] = tuple(column[j] for column in columns)
    return reduced


def closure_velocity(chain: Chain, ends: list[Ends], moving: Motion) -> Vector:
    """L q̇ in the order of the rows."""
    rows: Vector = ()
    for closure, *frames in ends:
        V = (at_point(moving.V[frame.link], frame.r) for frame in frames)
        rows += in_rows(closure, sub(*V))
    return rows


def closure_acceleration(chain: Chain, ends: list[Ends], moving: Motion) -> Vector:
    """L q̈ + L̇ q̇ in the order of the rows, with q̈ of the motion."""
    rows: Vector = ()
    for closure, *frames in ends:
        seen = (
            classical(at_point(moving.V[at.link], at.r), at_point(moving.alpha[at.link], at.r))
            for at in frames
        )
        rows += in_rows(closure, sub(*seen))
    return rows


def gaps(ends: list[Ends]) -> tuple[Vector, list[Vector]]:
    """φ in the order of the rows, and for each row its row of R₁ R₂*, zero for points."""
    phi: Vector = ()
    turns: list[Vector] = []
    for closure, first, second in ends:
        # R₁ R₂*, the remaining rotation between the frames, and its sine
        x, y, z = second.R[0::3], second.R[1::3], second.R[2::3]
        turn = rotate_rotation(first.R, x + y + z)
        sine = (turn[7] - turn[5], turn[2] - turn[6], turn[3] - turn[1])
        phi += in_rows(closure, scale(sine, 0.5) + sub(first.r, second.r))
        turns += [ZERO3] * 3
        if closure.rigid:
            turns += [turn[0:3], turn[3:6], turn[6:9]]
    return phi, turns


def out_gaps(chain: Chain, ends: list[Ends]) -> None:
    """Write φ and the rotations R₁ R₂*, which resolve the ambiguity of the sine."""
    phi, turns = gaps(ends)
    out_rows(chain, "closure_gap", phi)
    for row, entries in enumerate(turns):
        for i, entry in enumerate(entries):
            chain.out("closure_turn", (row, i), entry)


def out_rows(chain: Chain, name: str, values: Vector) -> None:
    """Write one number per row."""
    for row, value in enumerate(values):
        chain.out(name, (row,), value)


def row_count(chain: Chain) -> int:
    return sum(6 if closure.rigid else 3 for closure in chain.closures)


def in_rows(closure: Closure, X: Vector) -> Vector:
    """A spatial vector [angular; linear] as the rows of a closure: linear first."""
    return X[3:] + X[:3] if closure.rigid else X[3:]


def added_to_rows(rows: Vector, closure: Closure, X: Vector) -> Vector:
    """Add X to the rows of one closure and return all rows."""
    own = in_rows(closure, X)
    first, stop = closure.row, closure.row + len(own)
    return rows[:first] + add(rows[first:stop], own) + rows[stop:]
