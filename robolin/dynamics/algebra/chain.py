"""Interface between a dynamics algorithm and the chain of links it runs on.

An algorithm receives a `Chain` and does not depend on the engine that runs it.  It loops over links
with `base_to_tip` and `tip_to_base`, stores intermediate values in slots, one per link, and writes
results with `out`.  Links are numbered as in the papers, 1 at the tip, n at the base; `base` is the
ground.

The engine provides all storage, so that a compiler can trace a loop body once:

    slots        one vector per link, indexed by its number; `scalars` and `zeros`, one number
    child_sums   one vector per link: the sum of the contributions of the links outboard of it
    accumulator  one vector, for the value that an inner loop carries between iterations
    column       one number per independent coordinate
    table        one number per pair of independent coordinates

Where joints mimic others, several links share a coordinate.  A column, a table and a result are
indexed by coordinate with `[]`, and by link with `put` and `add`, which map a link to its
coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from robolin.dynamics.algebra.scalar import Scalar, Vector

# inputs per independent coordinate that act as torques: those of mimic joints are zero
TORQUE_INPUTS = ("tau", "dtau", "qdd_weights")

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
        """Add `values` to the sum of the link inboard of k."""


class Sink(Protocol):
    """Writable storage for numbers of links or of pairs of links: a result, table or column."""

    def put(self, index: Index, value: Scalar) -> None:
        """Write the number of these links; links that share a coordinate are summed."""

    def add(self, index: Index, value: Scalar) -> None:
        """Add to a number that `put` has written."""

    def __setitem__(self, index: Any, value: Scalar) -> None:
        """Write the number of a coordinate or of a pair of coordinates."""


class Table(Sink, Protocol):
    """One number per pair of coordinates; pairs never written read as zero."""

    def __getitem__(self, pair: tuple[LinkNumber, LinkNumber]) -> Scalar: ...


class Column(Sink, Protocol):
    """One number per coordinate."""

    def __getitem__(self, j: LinkNumber) -> Scalar: ...
    def on_links(self) -> Scalars:
        """Return the values by link: the value of each link's own joint."""


class Cell(Protocol):
    value: Vector


class Load(Protocol):
    """An external wrench, in the units and axes of the arm's description.

    `axes` and `point` place its frame on the link.  The arm exerts force and moment on its
    surroundings at that frame, in the frame's axes (follower) or in world axes (dead, world).
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
    """Multi-DoF joints, each modelled as a group of single-DoF links.

    For a single-DoF joint, `joint_body` is k itself and `joint_parent` is the link inboard of it.
    """

    def __bool__(self) -> bool:
        """True if the arm has a multi-DoF joint."""

    def joint_body(self, k: LinkNumber) -> LinkNumber:
        """The body that the joint of k carries: the outermost link of its group."""

    def joint_parent(self, k: LinkNumber) -> LinkNumber:
        """The link, or the base, that the joint of k is mounted on."""

    def same_joint_outboard(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """The links outboard of k in the same joint, in descending order."""

    def with_partners(self) -> Iterable[LinkNumber]:
        """Every link with links of the same joint outboard of it."""

    def in_different_joints(self, i: LinkNumber, k: LinkNumber) -> Any:
        """True if links i and k belong to different joints; a condition for `where`."""

    def direction(self, k: LinkNumber) -> Vector:
        """The joint axis of link k in the axes of the body that its joint carries."""

    @property
    def translate(self) -> bool:
        """True if any multi-DoF joint has translations."""

    def origin_fixed(self, k: LinkNumber) -> Any:
        """True if link k does not translate: revolute, or the inertial frame moves along."""


class Closure(Protocol):
    """Loop-closure constraint: two frames with a common point, and common axes if it is rigid.

    Its first equation is row `row` of all closures; a point closure has 3 rows, a rigid one 6.
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
    """Links 1 … n from tip to base, their constants, the state, and storage for results."""

    @property
    def base(self) -> LinkNumber: ...
    @property
    def gravity(self) -> Vector: ...
    @property
    def springs(self) -> bool:
        """True if any joint has a spring."""

    @property
    def group_rotors(self) -> bool:
        """True if a translation of a multi-DoF joint has armature."""

    @property
    def one_sided_friction(self) -> bool:
        """True if the friction of any joint depends on the direction of motion."""

    @property
    def loads(self) -> Sequence[Load]: ...
    @property
    def closures(self) -> Sequence[Closure]: ...
    @property
    def tip(self) -> FramePlace:
        """The frame for which kinematic quantities are computed."""

    @property
    def origin(self) -> Vector:
        """Position of the inertial frame in the root frame of the description, in this state.

        The shift along long prismatic travel or with a seat link is excluded; `link_poses` adds it.
        """

    @property
    def far_threshold(self) -> float | None:
        """Travel in metres beyond which the inertial frame moves along; None if it is fixed."""

    @property
    def seat(self) -> LinkNumber | None:
        """The link that the inertial frame is attached to in every state, or None."""

    @property
    def groups(self) -> Groups:
        """The multi-DoF joints."""

    # the order of the links
    def base_to_tip(self) -> Iterable[LinkNumber]: ...
    def tip_to_base(self) -> Iterable[LinkNumber]: ...
    def inboard(self, k: LinkNumber) -> LinkNumber:
        """The parent of link k: a link or the base."""

    def inboard_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """Every link between k and the base, nearest first, without k."""

    def inboard_pairs(self) -> Iterable[tuple[LinkNumber, LinkNumber]]:
        """Every pair (k, j) of a link k and a link j inboard of it, in unspecified order.

        Terms of one sum, such as those of mimic joints, always come in the same order.
        """

    def outboard_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """Every link outboard of k, in descending order, without k."""

    def path_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """k and every link inboard of it, nearest first."""

    def branch_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """All links connected with k without the base, from the base to the tip."""

    def subtree_of(self, k: LinkNumber) -> Iterable[LinkNumber]:
        """k and every link outboard of it, in descending order."""

    def between(self, k: LinkNumber, j: LinkNumber) -> Iterable[LinkNumber]:
        """Every link inboard of k and outboard of j, nearest to k first."""

    # the constants of link k and of the joint inboard of it
    def is_revolute(self, k: LinkNumber) -> Any:
        """True if the joint is revolute; a condition for `where`."""

    def frame_travels(self, k: LinkNumber) -> Any:
        """True if the inertial frame moves along with k; a condition for `where`."""

    def placement(self, k: LinkNumber) -> tuple[Vector, Vector]:
        """Rotation and offset of the joint on the link inboard; its axis is the third one."""

    def body(self, k: LinkNumber) -> tuple[Scalar, Vector, Vector]:
        """Mass, centre of mass, and rotary inertia about it, in the link's axes."""

    def armature(self, k: LinkNumber) -> Scalar: ...
    def damping(self, k: LinkNumber) -> Scalar: ...
    def stiffness(self, k: LinkNumber) -> Scalar: ...
    def rest(self, k: LinkNumber) -> Scalar:
        """Rest position of the joint's spring."""

    def friction(self, k: LinkNumber) -> Scalar:
        """Coulomb friction, the mean of both directions."""

    def friction_velocity(self, k: LinkNumber) -> Scalar | None:
        """Velocity scale of the friction of joint k; None for all joints without friction."""

    def friction_bias(self, k: LinkNumber) -> Scalar:
        """Half the difference of friction for q̇ > 0 and q̇ < 0; only if it is one-sided."""

    # the state
    def input(self, name: str) -> Scalars:
        """Input values for the joint of each link: q, qd, qdd, tau, dq, …"""

    # storage
    def slots(self, size: int) -> Slots: ...
    def scalars(self) -> Scalars: ...
    def zeros(self) -> Scalars:
        """One number per link, all of them 0."""

    def child_sums(self, size: int) -> Sums: ...
    def accumulator(self, values: Vector) -> Cell: ...
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
        """All coordinates in blocks of `count`; the last block is shorter or repeats the last."""

    def leader(self, j: LinkNumber) -> LinkNumber:
        """The link whose own joint is coordinate j; mimic joints follow it."""

    # results
    def guard_inertia(self, k: LinkNumber, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        """Return the value if it is not negligible relative to `size()`; else flag joint k."""

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        """Return the value if it is above `least`; else flag result `name` as singular."""

    def out(self, name: str, index: Index, value: Scalar) -> None:
        """Write one number of a result; its index has a link or an entry for each axis."""

    def result(self, name: str) -> Sink:
        """The storage of one result, to which `out` writes."""


P = ParamSpec("P")
T = TypeVar("T")

_phase = ContextVar("phase", default="algorithm")


# the current phase of this thread; read for every counted operation
current_phase: Callable[[], str] = _phase.get


def counted_phase(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator that counts the operations of a function under this phase."""

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
