"""What an algorithm may ask of the chain of links it runs on.

An algorithm receives a `Chain` and never learns how it is run.  It loops over links with
`base_to_tip` and `tip_to_base`, keeps what it computes in slots, one per link, and hands results
out with `out`.  Links are numbered as in the papers, 1 at the tip, n at the base; `base` stands
for the ground.

Three kinds of storage make a loop body independent of how often it is written down, so that a
compiler can trace it once:

    slots   one vector per link, indexed by the link's number
    sums    one vector per link, what the links outboard of it have handed inboard so far
    cell    one vector, for what an inner loop carries from turn to turn
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from robolin.algebra.scalar import Scalar, Vector

LinkNumber = Any


class Slots(Protocol):
    def __getitem__(self, k: LinkNumber) -> Vector: ...
    def __setitem__(self, k: LinkNumber, values: Vector) -> None: ...


class Scalars(Protocol):
    def __getitem__(self, k: LinkNumber) -> Scalar: ...
    def __setitem__(self, k: LinkNumber, value: Scalar) -> None: ...


class Sums(Protocol):
    def __getitem__(self, k: LinkNumber) -> Vector: ...
    def hand_inboard(self, k: LinkNumber, values: Vector) -> None:
        """Add `values` to what the link inboard of k has been handed."""


class Table(Protocol):
    """One number per pair of coordinates; pairs never written read as zero."""

    def __getitem__(self, pair: tuple[LinkNumber, LinkNumber]) -> Scalar: ...
    def __setitem__(self, pair: tuple[LinkNumber, LinkNumber], value: Scalar) -> None: ...


class Cell(Protocol):
    value: Vector


class Load(Protocol):
    """An external wrench, in the numbers of the arm's description.

    `axes` and `point` place its frame on the link.  Force and moment are what the arm exerts on
    its surroundings there, in the frame's axes (follower) or in the world's (dead, world).
    """

    @property
    def link(self) -> LinkNumber: ...
    @property
    def model(self) -> str: ...
    @property
    def axes(self) -> Vector: ...
    @property
    def point(self) -> Vector: ...
    @property
    def force(self) -> Vector: ...
    @property
    def moment(self) -> Vector: ...


class Place(Protocol):
    """A frame on a link, in the link's axes."""

    @property
    def link(self) -> LinkNumber: ...
    @property
    def axes(self) -> Vector: ...
    @property
    def point(self) -> Vector: ...


class Closure(Protocol):
    """Two frames that are held together: their points, and if it is rigid their axes too.

    Its equations are rows `row` … of all closures: 3 of a point, 6 of a rigid one.
    """

    @property
    def row(self) -> int: ...
    @property
    def rigid(self) -> bool: ...
    @property
    def first(self) -> Place: ...
    @property
    def second(self) -> Place: ...


# hands a number of a link, or of a pair of links, to a result or to a table of the same name
Put = Callable[[str, tuple[LinkNumber, ...], Scalar], None]


class Chain(Protocol):
    """Links 1 … n from tip to base, their constants, the state, and where results go."""

    @property
    def base(self) -> LinkNumber: ...
    @property
    def gravity(self) -> Vector: ...
    @property
    def friction_velocity(self) -> Scalar | None: ...
    @property
    def loads(self) -> Sequence[Load]: ...
    @property
    def closures(self) -> Sequence[Closure]: ...
    @property
    def tip(self) -> Place:
        """The frame that kinematic questions are about."""

    @property
    def origin(self) -> Vector:
        """Where the inertial frame sits in the root frame of the description, in this state."""

    @property
    def grouped(self) -> bool:
        """Whether some joint has several freedoms, and so several links that stand for it."""

    # the order of the links
    def base_to_tip(self) -> Iterable[LinkNumber]: ...
    def tip_to_base(self) -> Iterable[LinkNumber]: ...
    def inboard(self, k: LinkNumber) -> LinkNumber:
        """The link that k sits on, or the base."""

    def inboard_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """Every link between k and the base, nearest first, k not among them."""

    def inboard_pairs(self) -> Iterable[tuple[LinkNumber, LinkNumber]]:
        """Every link k with every link j inboard of it, (k, j), in an order nobody may rely on.

        Numbers that are added up, as those of mimicking joints are, come in the same order always.
        """

    def outboard_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """Every link that k carries, in falling order, k not among them."""

    def path_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """k and every link inboard of it, nearest first."""

    def subtree_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """k and every link that it carries, in falling order."""

    def between(self, k: LinkNumber, j: LinkNumber) -> Iterable[LinkNumber]:
        """Every link inboard of k and outboard of j, nearest to k first."""

    # joints with several freedoms: on an ordinary joint, k itself and the link inboard of it
    def outermost(self, k: LinkNumber) -> LinkNumber:
        """The link that the joint of k carries: of the links that stand for it, the body."""

    def carrier(self, k: LinkNumber) -> LinkNumber:
        """The link, or the base, that the joint of k sits on with all its freedoms."""

    def partners_outboard_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """The links outboard of k that stand for the same joint, in falling order."""

    def partnered(self) -> Iterable[LinkNumber]:
        """Every link that has partners outboard."""

    def direction(self, k: LinkNumber) -> Vector:
        """The axis of freedom k in the axes of the link that its joint carries."""

    def rests(self, k: LinkNumber) -> Any:
        """Whether link k stays where its joint is: it turns, or the inertial frame slides along."""

    # the constants of link k and of the joint inboard of it
    def turns(self, k: LinkNumber) -> Any:
        """Whether the joint is revolute; a condition for `where`."""

    def placement(self, k: LinkNumber) -> tuple[Vector, Vector]:
        """Rotation and offset of the joint on the link inboard; its axis is the third one."""

    def body(self, k: LinkNumber) -> tuple[Scalar, Vector, Vector]:
        """Mass, centre of mass, and rotary inertia about it, in the link's axes."""

    def armature(self, k: LinkNumber) -> Scalar: ...
    def damping(self, k: LinkNumber) -> Scalar: ...
    def friction(self, k: LinkNumber) -> Scalar: ...

    # the state
    def given(self, name: str) -> Scalars:
        """The user's value for the joint of each link: q, qd, qdd, tau, dq, …"""

    # storage
    def slots(self, size: int) -> Slots: ...
    def scalars(self) -> Scalars: ...
    def sums(self, size: int) -> Sums: ...
    def cell(self, values: Vector) -> Cell: ...

    # independent coordinates: the links themselves unless some joints mimic others
    def coordinates(self) -> Iterable[LinkNumber]: ...
    def leader(self, j: LinkNumber) -> LinkNumber:
        """The link that the joint of coordinate j moves itself."""

    def coordinates_in_fours(self) -> Iterable[tuple[LinkNumber, ...]]:
        """All coordinates, four at a time; the last time fewer, or the last one again."""

    def coordinates_back(self) -> Iterable[LinkNumber]: ...
    def coordinates_before(self, j: LinkNumber) -> Iterable[LinkNumber]: ...
    def coordinates_after(self, j: LinkNumber) -> Iterable[LinkNumber]: ...
    def coordinates_from(self, j: LinkNumber) -> Iterable[LinkNumber]: ...
    def coordinates_back_to(self, j: LinkNumber) -> Iterable[LinkNumber]: ...
    def coordinates_between(self, j: LinkNumber, r: LinkNumber) -> Iterable[LinkNumber]:
        """j + 1 … r."""

    def begin(self, *names: str) -> None:
        """Empty the tables or columns of these names; needed before anything is held there."""

    def hold(self, name: str, index: tuple[LinkNumber, ...], value: Scalar) -> None:
        """Put a number of a link, or of a pair of links, in the table or column of that name."""

    def hold_more(self, name: str, index: tuple[LinkNumber, ...], value: Scalar) -> None:
        """Add to a number that is held already."""

    def held(self, name: str) -> Table: ...
    def held_column(self, name: str) -> Scalars: ...
    def spread(self, column: Scalars) -> Scalars:
        """Values of the independent coordinates as values of every link's joint."""

    # results
    def stage(self, name: str) -> None:
        """Say which part of the algorithm begins, to whoever measures; it changes nothing."""

    def positive(self, k: LinkNumber, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        """The value, once it is not negligible beside `size()`; else joint k is complained of."""

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        """The value, once it is above `least`; else result `name` does not exist in this state."""

    def out(self, name: str, index: tuple[LinkNumber, ...], value: Scalar) -> None:
        """A result; the index is the number of a link, or of an entry, along each of its axes."""

    def out_more(self, name: str, index: tuple[LinkNumber, ...], value: Scalar) -> None:
        """An addition to a result already given."""

    def out_coordinate(self, name: str, index: tuple[LinkNumber, ...], value: Scalar) -> None:
        """A result for an independent coordinate or a pair of them."""
