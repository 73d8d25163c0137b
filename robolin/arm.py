"""The arm: frozen data, links numbered from the tip (1) to the base (n + 1 is the base itself).

`Arm` is what a description becomes once the model options are applied: fixed joints merged,
locked joints frozen, payloads added.  Only moving joints are left, one link outboard of each.
On a tree, children come before parents and every subtree is a contiguous range of numbers.

The papers count from the tip, users from the base.  `Arm.coordinates` is the one place where
the two orders meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

Vector3 = tuple[float, float, float]
Matrix3 = tuple[float, float, float, float, float, float, float, float, float]
Rotary = tuple[float, float, float, float, float, float]

JointKind = Literal["revolute", "continuous", "prismatic"]
GroupKind = Literal["floating", "planar"]
WrenchModel = Literal["follower", "dead", "world"]
LoopKind = Literal["point", "rigid"]

IDENTITY: Matrix3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ORIGIN: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Pose:
    """A frame seen from another: `rotation` row-major, `translation` in metres."""

    rotation: Matrix3 = IDENTITY
    translation: Vector3 = ORIGIN


HERE = Pose()


@dataclass(frozen=True, slots=True)
class Inertia:
    """A rigid body: mass, centre of mass, and xx xy xz yy yz zz about that centre."""

    mass: float = 0.0
    com: Vector3 = ORIGIN
    rotary: Rotary = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the description allows; None where it says nothing."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = ratio · q(leader) + offset; the leader itself follows nobody."""

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """One moving joint: where it sits on the link inboard of it, and what it does.

    Fields:
        name: as the description has it
        kind: "revolute", "continuous" or "prismatic"
        pose: of the joint on the link inboard of it: rotation (9 numbers, row by row),
            translation in m
        axis: (3,), a unit vector in the joint's own axes
        limits: lower and upper in rad or m, velocity in rad/s or m/s, effort in N·m or N; None
            where nothing is said
        damping: in N·m·s/rad or N·s/m
        friction: Coulomb friction in N·m or N
        armature: reflected rotor inertia in kg·m² or kg
        mimic: the joint that this one follows, or None

    Example:
        >>> joint = robolin.load("panda").joints[3]
        >>> joint.name, joint.kind, joint.limits.upper
        ('panda_joint4', 'revolute', -0.0698)
    """

    name: str
    kind: JointKind
    pose: Pose
    axis: Vector3
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None

    @property
    def turns(self) -> bool:
        return self.kind != "prismatic"


@dataclass(frozen=True, slots=True)
class Link:
    """A moving link, the joint inboard of it, and the number of the link that joint sits on.

    Fields:
        name: as the description has it
        joint: the `Joint` inboard of it
        parent: the number of the link inboard, counted from 1 at the tip
        inertia: mass in kg, com (3,) in m, rotary xx xy xz yy yz zz about it in kg·m², in link
            axes
        merged: names of the links that are rigidly part of this one

    Example:
        >>> link = robolin.load("two-link").links[0]
        >>> link.name, link.inertia.mass
        ('lower', 1.0)
    """

    name: str
    joint: Joint
    parent: int
    inertia: Inertia
    merged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A named place on a link: a link of the description, moving or merged."""

    name: str
    link: int
    pose: Pose = HERE


@dataclass(frozen=True, slots=True)
class Wrench:
    """A load applied to the arm at a frame.

    follower: force and moment fixed in the frame, acting at its origin
    dead:     force and moment fixed in world axes, acting at the frame's origin
    world:    force and moment fixed in world axes, acting about the world's origin
    """

    frame: str
    model: WrenchModel
    force: Vector3
    moment: Vector3


@dataclass(frozen=True, slots=True)
class Loop:
    """A closure between two frames, which makes a loop of the tree's branches.

    point: the origins of both frames coincide, 3 equations
    rigid: the frames coincide, 6 equations
    """

    name: str
    kind: LoopKind
    first: Frame
    second: Frame


# the freedoms of a joint with several, from the innermost link that stands for it outward
PARTS: Mapping[GroupKind, tuple[str, ...]] = {
    "floating": ("x", "y", "z", "rz", "ry", "rx"),
    "planar": ("x", "y", "rz"),
}


@dataclass(frozen=True, slots=True)
class Group:
    """A joint with several freedoms: one link for each, the body itself outermost.

    Positions are those of its links, one after the other: a floating body slides along x, y, z
    and then turns by yaw, pitch, roll.  Velocities are those of the body in its own axes.
    """

    name: str
    kind: GroupKind
    links: tuple[int, ...]

    @property
    def body(self) -> int:
        """The outermost link, which carries the mass and all frames."""
        return self.links[-1]

    @property
    def freedoms(self) -> dict[str, int]:
        """The link that stands for each freedom: x, y, z slide, rx, ry, rz turn."""
        return dict(zip(PARTS[self.kind], self.links, strict=True))


@dataclass(frozen=True)
class Arm:
    """An arm ready for dynamics, as `robolin.load` makes it: frozen data that pickles and hashes.

    Fields:
        name: as the description has it
        links: the moving links, from tip to base
        frames: every link of the description, moving or merged -> the link it is on, and where
        joint_names: the independent joints in the order of q: n of them
        groups: joints with several freedoms
        floating_base: whether the first group is not the description's, but was put under its
            root
        still_joints: joints that could move but are locked or off the chain
        gravity: (3,) in m/s², in the axes of the description's root
        damping: whether the description's damping is included
        friction_velocity: over which velocity friction is smoothed, in rad/s or m/s; None for no
            friction
        wrenches: loads applied to the arm, in N and N·m
        loops: closures between frames
        tip: the frame that kinematic questions are about, where one is asked about
        contract: what is included and what is left out, in words
        figures: what the description says in plain numbers, for telling what changed in it
        source: what the arm was loaded from
        digest: SHA-256 of the file
        loaded_with: what makes this arm again; None if nothing does, as after `replace`

    Example:
        >>> arm = robolin.load("two-link")
        >>> arm.n, arm.joint_names, arm.gravity
        (2, ('shoulder', 'elbow'), (0.0, -9.81, 0.0))
        >>> arm == robolin.load("two-link")
        True
    """

    name: str
    links: tuple[Link, ...]
    frames: Mapping[str, Frame]
    joint_names: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    floating_base: bool = False
    still_joints: tuple[str, ...] = ()
    gravity: Vector3 = (0.0, 0.0, -9.81)
    damping: bool = True
    friction_velocity: float | None = None
    wrenches: tuple[Wrench, ...] = ()
    loops: tuple[Loop, ...] = ()
    tip: Frame | None = None
    contract: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict, compare=False)
    source: str = ""
    digest: str = ""
    loaded_with: Mapping[str, Any] | None = field(default=None, compare=False, init=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the fields, not what was worked out and can be again."""
        return {each.name: self.__dict__[each.name] for each in fields(self)}

    def __hash__(self) -> int:
        """Equal arms hash alike, so that an arm can be a key; worked out once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.links, self.joint_names, self.gravity, self.digest))

    @property
    def n(self) -> int:
        """How many independent joints the arm has: the length of q."""
        return len(self.joint_names)

    @property
    def base(self) -> int:
        """The number of the base, one beyond the last link."""
        return len(self.links) + 1

    def link(self, k: int) -> Link:
        """Link k, counted from 1 as in the papers."""
        return self.links[k - 1]

    @cached_property
    def coordinates(self) -> tuple[int, ...]:
        """For links 1, 2, …: the place in q of its joint, or of the joint that one mimics."""
        place = {name: i for i, name in enumerate(self.joint_names)}
        return tuple(
            place[link.joint.mimic.leader if link.joint.mimic else link.joint.name]
            for link in self.links
        )

    def places(self, group: Group) -> dict[str, int]:
        """The place in q of each freedom of a joint that has several."""
        return {part: self.coordinates[k - 1] for part, k in group.freedoms.items()}

    def joint_of(self, k: int) -> str:
        """The name in the description of the joint that link k stands for, or stands for part."""
        return self._group_names.get(k, self.link(k).joint.name)

    @cached_property
    def stand_ins(self) -> frozenset[int]:
        """The links that only stand for a freedom of a joint with several, and weigh nothing."""
        return frozenset(k for group in self.groups for k in group.links[:-1])

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """The numbers of the links that do not just stand for a freedom, base to tip."""
        return tuple(k for k in range(len(self.links), 0, -1) if k not in self.stand_ins)

    @property
    def link_names(self) -> tuple[str, ...]:
        """The moving links, base to tip, as results per link list them."""
        return tuple(self.link(k).name for k in self.bodies)

    @cached_property
    def _group_names(self) -> dict[int, str]:
        return {k: group.name for group in self.groups for k in group.links}

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The independent joints in public order."""
        by_name = {link.joint.name: link.joint for link in self.links}
        return tuple(by_name[name] for name in self.joint_names)

    @cached_property
    def has_mimic(self) -> bool:
        return any(link.joint.mimic for link in self.links)

    @cached_property
    def serial(self) -> bool:
        """Whether every link carries at most one other and only one sits on the base."""
        return all(link.parent == k + 1 for k, link in enumerate(self.links, start=1))


def as_loaded(arm: Arm, loaded_with: Mapping[str, Any] | None) -> Arm:
    """This arm, just made, with what makes it again: `replace` forgets it, as it should."""
    object.__setattr__(arm, "loaded_with", loaded_with)
    return arm
