"""What an algorithm may ask of the chain of links it runs on.

An algorithm receives a `Chain` and never learns how it is run.  It loops over links with
`base_to_tip` and `tip_to_base`, keeps what it computes in slots, one per link, and hands results
out with `out`.  Links are numbered as in the papers, 1 at the tip, n at the base; `base` stands
for the ground.

Storage makes a loop body independent of how often it is written down, so that a compiler can
trace it once:

    slots     one vector per link, indexed by the link's number; `scalars` and `zeros`, one number
    sums      one vector per link, what the links outboard of it have handed inboard so far
    cell      one vector, for what an inner loop carries from turn to turn
    column    one number per independent coordinate
    table     one number per pair of them

Where joints mimic others, several links share a coordinate.  A column, a table and a result are
read and written by coordinates with `[]`, and by links with `put` and `add`, which bring what
belongs to a link to its coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from robolin.dynamics.algebra.scalar import Scalar, Vector

LinkNumber = Any
Index = tuple[LinkNumber, ...]


class Slots(Protocol):
    def __getitem__(self, k: LinkNumber) -> Vector: ...
    def __setitem__(self, k: LinkNumber, values: Vector) -> None: ...


class Scalars(Protocol):
    def __getitem__(self, k: LinkNumber) -> Scalar: ...
    def __setitem__(self, k: LinkNumber, value: Scalar) -> None: ...


class Sums(Protocol):
    def __getitem__(self, k: LinkNumber) -> Vector: ...
    def add_to_parent(self, k: LinkNumber, values: Vector) -> None:
        """Add `values` to what the link inboard of k has been handed."""


class Sink(Protocol):
    """Where the numbers of links, or of pairs of links, go: a result, a table or a column."""

    def put(self, index: Index, value: Scalar) -> None:
        """The number of these links; where several share a coordinate, theirs are added up."""

    def add(self, index: Index, value: Scalar) -> None:
        """An addition to a number that was put already."""

    def __setitem__(self, index: Any, value: Scalar) -> None:
        """The number of a coordinate, or of a pair of them, itself."""


class Table(Sink, Protocol):
    """One number per pair of coordinates; pairs never written read as zero."""

    def __getitem__(self, pair: tuple[LinkNumber, LinkNumber]) -> Scalar: ...


class Column(Sink, Protocol):
    """One number per coordinate."""

    def __getitem__(self, j: LinkNumber) -> Scalar: ...
    def on_links(self) -> Scalars:
        """The values as values of every link's own joint."""


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


class FramePlace(Protocol):
    """A frame on a link, in the link's axes."""

    @property
    def link(self) -> LinkNumber: ...
    @property
    def axes(self) -> Vector: ...
    @property
    def point(self) -> Vector: ...


class Groups(Protocol):
    """Joints with several freedoms, each with several links that stand for it.

    On an ordinary joint, the answers are k itself and the link inboard of it.
    """

    def __bool__(self) -> bool:
        """Whether there are any such joints."""

    def outermost(self, k: LinkNumber) -> LinkNumber:
        """The link that the joint of k carries: of the links that stand for it, the body."""

    def carrier(self, k: LinkNumber) -> LinkNumber:
        """The link, or the base, that the joint of k sits on with all its freedoms."""

    def same_joint_outboard(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """The links outboard of k that stand for the same joint, in falling order."""

    def with_partners(self) -> Iterable[LinkNumber]:
        """Every link that has partners outboard."""

    def apart(self, i: LinkNumber, k: LinkNumber) -> Any:
        """Whether links i and k stand for different joints; a condition for `where`."""

    def direction(self, k: LinkNumber) -> Vector:
        """The axis of freedom k in the axes of the link that its joint carries."""

    @property
    def translate(self) -> bool:
        """Whether any of these joints has translations."""

    def rests(self, k: LinkNumber) -> Any:
        """Whether link k stays where its joint is: it turns, or the inertial frame slides along."""


class Closure(Protocol):
    """Two frames that are held together: their points, and if it is rigid their axes too.

    Its equations are rows `row` … of all closures: 3 of a point, 6 of a rigid one.
    """

    @property
    def row(self) -> int: ...
    @property
    def rigid(self) -> bool: ...
    @property
    def first(self) -> FramePlace: ...
    @property
    def second(self) -> FramePlace: ...


class Chain(Protocol):
    """Links 1 … n from tip to base, their constants, the state, and where results go."""

    @property
    def base(self) -> LinkNumber: ...
    @property
    def gravity(self) -> Vector: ...
    @property
    def friction_velocity(self) -> Scalar | None: ...
    @property
    def springs(self) -> bool:
        """Whether any joint has a spring."""

    @property
    def group_rotors(self) -> bool:
        """Whether a translation of a multi-DoF joint has armature."""

    @property
    def one_sided_friction(self) -> bool:
        """Whether friction of any joint depends on the direction it moves in."""

    @property
    def loads(self) -> Sequence[Load]: ...
    @property
    def closures(self) -> Sequence[Closure]: ...
    @property
    def tip(self) -> FramePlace:
        """The frame that kinematic questions are about."""

    @property
    def origin(self) -> Vector:
        """Where the inertial frame sits in the root frame of the description, in this state.

        What has slid far, or carries it, is not in it: `link_poses` finds that on the way.
        """

    @property
    def far(self) -> float | None:
        """Metres that links must have slid for the inertial frame to go along; None if it stays."""

    @property
    def seat(self) -> LinkNumber | None:
        """The link that the inertial frame sits on in every state; None if on none."""

    @property
    def groups(self) -> Groups:
        """The joints that have several freedoms."""

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

    # the constants of link k and of the joint inboard of it
    def turns(self, k: LinkNumber) -> Any:
        """Whether the joint is revolute; a condition for `where`."""

    def travels(self, k: LinkNumber) -> Any:
        """Whether the inertial frame goes along with k; a condition for `where`."""

    def placement(self, k: LinkNumber) -> tuple[Vector, Vector]:
        """Rotation and offset of the joint on the link inboard; its axis is the third one."""

    def body(self, k: LinkNumber) -> tuple[Scalar, Vector, Vector]:
        """Mass, centre of mass, and rotary inertia about it, in the link's axes."""

    def armature(self, k: LinkNumber) -> Scalar: ...
    def damping(self, k: LinkNumber) -> Scalar: ...
    def stiffness(self, k: LinkNumber) -> Scalar: ...
    def rest(self, k: LinkNumber) -> Scalar:
        """Position at which the spring of the joint is relaxed."""

    def friction(self, k: LinkNumber) -> Scalar:
        """Coulomb friction, the mean of both directions."""

    def friction_bias(self, k: LinkNumber) -> Scalar:
        """Half of what friction is larger for positive velocities; only if it is one-sided."""

    # the state
    def given(self, name: str) -> Scalars:
        """The user's value for the joint of each link: q, qd, qdd, tau, dq, …"""

    # storage
    def slots(self, size: int) -> Slots: ...
    def scalars(self) -> Scalars: ...
    def zeros(self) -> Scalars:
        """One number per link, all of them 0."""

    def sums(self, size: int) -> Sums: ...
    def cell(self, values: Vector) -> Cell: ...
    def column(self) -> Column: ...
    def table(self) -> Table: ...

    # independent coordinates: the links themselves unless some joints mimic others
    def coordinates(
        self,
        *,
        start: LinkNumber | None = None,
        after: LinkNumber | None = None,
        before: LinkNumber | None = None,
        through: LinkNumber | None = None,
        step: int = 1,
    ) -> Iterable[LinkNumber]:
        """All coordinates, from the first or the last: step 1 or -1.

        Only those from `start` on, or after `after`; and those before `before`, or up to `through`.
        """

    def coordinates_by(self, count: int) -> Iterable[tuple[LinkNumber, ...]]:
        """All coordinates, so many at a time; the last time fewer, or the last one again."""

    def leader(self, j: LinkNumber) -> LinkNumber:
        """The link that the joint of coordinate j moves itself."""

    # results
    def positive(self, k: LinkNumber, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        """The value, once it is not negligible beside `size()`; else joint k is complained of."""

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        """The value, once it is above `least`; else result `name` does not exist in this state."""

    def out(self, name: str, index: Index, value: Scalar) -> None:
        """A number of a result; its index has a link or an entry for each axis."""

    def result(self, name: str) -> Sink:
        """All of a result: where `out` puts its numbers."""


P = ParamSpec("P")
T = TypeVar("T")

_phase = ContextVar("phase", default="algorithm")


# the phase that is at work in this thread; asked for every number that is counted
current_phase: Callable[[], str] = _phase.get


def counted_phase(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """All that the decorated function does belongs to this phase; it changes nothing else."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> T:
            outer = _phase.set(name)
            try:
                return function(*args, **kwargs)
            finally:
                _phase.reset(outer)

        return inside

    return decorate
