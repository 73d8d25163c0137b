"""The arm: frozen data, links numbered from the tip (1) to the base (n + 1 is the base itself).

`Arm` is what a description becomes once the model options are applied: fixed joints merged,
locked joints frozen, payloads added.  Only moving joints are left, one link outboard of each.
On a tree, children come before parents and every subtree is a contiguous range of numbers.

The papers count from the tip, users from the base: `links_tip_to_base` is for algorithms, `links`
and `joints` are for everybody.  `Arm.coordinates` is the one place where the two orders meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import PurePath
from typing import Any, TypeVar

from robolin.core.arm_parts import GROUP_FREEDOMS as GROUP_FREEDOMS
from robolin.core.arm_parts import HERE as HERE
from robolin.core.arm_parts import NO_TURN as NO_TURN
from robolin.core.arm_parts import ORIGIN as ORIGIN
from robolin.core.arm_parts import UNLIMITED as UNLIMITED
from robolin.core.arm_parts import DhConvention as DhConvention
from robolin.core.arm_parts import DhRow as DhRow
from robolin.core.arm_parts import Frame as Frame
from robolin.core.arm_parts import Group as Group
from robolin.core.arm_parts import Inertia as Inertia
from robolin.core.arm_parts import Joint as Joint
from robolin.core.arm_parts import JointKind as JointKind
from robolin.core.arm_parts import Limits as Limits
from robolin.core.arm_parts import Link as Link
from robolin.core.arm_parts import Loop as Loop
from robolin.core.arm_parts import LoopKind as LoopKind
from robolin.core.arm_parts import Matrix3 as Matrix3
from robolin.core.arm_parts import Mimic as Mimic
from robolin.core.arm_parts import Pose as Pose
from robolin.core.arm_parts import Rotary as Rotary
from robolin.core.arm_parts import Vector3 as Vector3
from robolin.core.arm_parts import Wrench as Wrench
from robolin.core.arm_parts import effort_ends as effort_ends
from robolin.core.choices import GroupKind as GroupKind
from robolin.core.choices import WrenchModel as WrenchModel
from robolin.core.notebook import escaped, html_contract, html_table, in_short
from robolin.core.text import range_text
from robolin.core.units import joint_unit
from robolin.dynamics.algebra.scalar import float_sum
from robolin.errors import UsageError

T = TypeVar("T")

# where an arm has what was worked out of it and is kept, beside its fields
CACHE_SLOT = "_kept"


@dataclass(frozen=True)
class Arm:
    """An arm ready for dynamics, as `robolin.load` makes it: frozen data that pickles and hashes.

    Fields:
        name: as the description has it
        links_tip_to_base: the moving links as the papers number them; `links` has them base to tip
        frames: every link of the description, moving or merged -> the link it is on, and where
        joint_names: the independent joints in the order of q: n of them
        groups: joints with several freedoms
        floating_base: whether the first group is not the description's, but was put under its
            root
        locked_joints: joints that could move but are locked or off the chain
        gravity: (3,) in m/s², in the axes of the description's root
        damping: whether the description's damping is included
        springs: whether the description's springs are included
        friction_velocity: over which velocity friction is smoothed, in rad/s or m/s; None for no
            friction
        wrenches: loads applied to the arm, in N and N·m
        loops: closures between frames
        dh_rows: of the moving joints that were written as rows of a Denavit–Hartenberg table
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
        >>> [link.name for link in arm.links]
        ['upper', 'lower']
        >>> arm == robolin.load("two-link")
        True
    """

    name: str
    links_tip_to_base: tuple[Link, ...]
    frames: Mapping[str, Frame]
    joint_names: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    floating_base: bool = False
    locked_joints: tuple[str, ...] = ()
    gravity: Vector3 = (0.0, 0.0, -9.81)
    damping: bool = True
    springs: bool = True
    friction_velocity: float | None = None
    wrenches: tuple[Wrench, ...] = ()
    loops: tuple[Loop, ...] = ()
    tip: Frame | None = None
    dh_rows: tuple[DhRow, ...] = ()
    contract: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict, compare=False)
    source: str = ""
    digest: str = ""
    loaded_with: Mapping[str, Any] | None = field(default=None, compare=False, init=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the fields, not what was worked out and can be again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Pickles made while `links` were kept from tip to base mean the same arm."""
        held = {("links_tip_to_base" if name == "links" else name): state[name] for name in state}
        self.__dict__.update(held)

    def __hash__(self) -> int:
        """Equal arms hash alike, so that an arm can be a key; worked out once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(
            (self.name, self.links_tip_to_base, self.joint_names, self.gravity, self.digest)
        )

    def __repr__(self) -> str:
        moving = float_sum(link.inertia.mass for link in self.links)
        shape = "" if self.serial else ", a tree"
        # notebooks show it, and are passed on: folders of this machine are left out
        path = PurePath(self.source)
        file = path.name if path.is_absolute() else self.source
        source = f", from {in_short(file)}" if file else ""
        return (
            f"<Arm {in_short(self.name)}: {self.n} joints, {len(self.bodies)} moving links of "
            f"{moving:.6g} kg{shape}{source}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: every joint with what it may do and carries, and the contract."""
        rows = [_row_of(link) for link in self.links]
        title = f"<b>{escaped(repr(self)[1:-1])}</b>"
        return f"{title}{html_table(_HEADER, rows)}{html_contract(self.contract)}"

    @property
    def n(self) -> int:
        """How many independent joints the arm has: the length of q."""
        return len(self.joint_names)

    @property
    def base(self) -> int:
        """The number of the base, one beyond the last link."""
        return len(self.links) + 1

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The moving links, base to tip like `joints`, those included that stand for a freedom."""
        return self.links_tip_to_base[::-1]

    def link(self, k: int) -> Link:
        """A moving link by its number.

        Args:
            k: counted from 1 at the tip, as in the papers

        Returns:
            the `Link`

        Raises:
            UsageError: a number that no moving link has

        Example:
            >>> robolin.load("two-link").link(1).name
            'lower'
        """
        if not 0 < k < self.base:
            hint = f"moving links are counted from 1, at the tip, to {len(self.links)}"
            raise UsageError(f"'{self.name}' has no link {k}", hint=hint)
        return self.links_tip_to_base[k - 1]

    @cached_property
    def coordinates(self) -> tuple[int, ...]:
        """For links 1, 2, …: the place in q of its joint, or of the joint that one mimics."""
        place = {name: i for i, name in enumerate(self.joint_names)}
        return tuple(
            place[link.joint.mimic.leader if link.joint.mimic else link.joint.name]
            for link in self.links_tip_to_base
        )

    def places(self, group: Group) -> dict[str, int]:
        """Where the freedoms of a joint that has several are in q.

        Args:
            group: one of `groups`

        Returns:
            freedom -> its place in q

        Example:
            >>> arm = robolin.load("ur5", base_joint="planar")
            >>> arm.places(arm.groups[0])
            {'x': 0, 'y': 1, 'rz': 2}
        """
        return {part: self.coordinates[k - 1] for part, k in group.freedoms.items()}

    def joint_of(self, k: int) -> str:
        """The name in the description of the joint that moves a link, or of which it is a freedom.

        Args:
            k: the number of the link, counted from 1 at the tip

        Returns:
            the name

        Raises:
            UsageError: a number that no moving link has

        Example:
            >>> robolin.load("two-link").joint_of(1)
            'elbow'
        """
        return self._group_names.get(k, self.link(k).joint.name)

    @cached_property
    def virtual_links(self) -> frozenset[int]:
        """The links that only stand for a freedom of a joint with several, and weigh nothing."""
        return frozenset(k for group in self.groups for k in group.links[:-1])

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """The numbers of the links that do not just stand for a freedom, base to tip."""
        return tuple(k for k in range(len(self.links), 0, -1) if k not in self.virtual_links)

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

    @property
    def passive_joints(self) -> tuple[str, ...]:
        """The independent joints that have no motor according to the description."""
        return tuple(joint.name for joint in self.joints if not joint.actuated)

    @cached_property
    def has_one_sided_friction(self) -> bool:
        """Whether friction of any joint depends on the direction it moves in."""
        return any(link.joint.friction_negative is not None for link in self.links)

    @cached_property
    def has_mimic(self) -> bool:
        """Whether any joint follows another."""
        return any(link.joint.mimic for link in self.links)

    @cached_property
    def has_springs(self) -> bool:
        """Whether any moving joint has a spring that is included."""
        return self.springs and any(link.joint.stiffness for link in self.links)

    @cached_property
    def slides(self) -> bool:
        """Whether any of its joints slides."""
        return not all(link.joint.turns for link in self.links)

    @cached_property
    def serial(self) -> bool:
        """Whether every link carries at most one other and only one sits on the base."""
        return all(link.parent == k + 1 for k, link in enumerate(self.links_tip_to_base, start=1))


def with_load_options(arm: Arm, loaded_with: Mapping[str, Any] | None) -> Arm:
    """This arm, just made, with what makes it again: `replace` forgets it, as it should."""
    object.__setattr__(arm, "loaded_with", loaded_with)
    return arm


_HEADER = ("joint", "kind", "from", "to", "velocity", "effort", "link", "mass", "centre of mass")


def _row_of(link: Link) -> list[str]:
    """A joint and the link on it for a notebook, with units."""
    joint, limits = link.joint, link.joint.limits
    figures = (
        (limits.lower, "position"),
        (limits.upper, "position"),
        (limits.velocity, "velocity"),
        (limits.efforts, "effort"),
    )
    told = [
        "" if value is None else f"{range_text(value)} {joint_unit(part, joint.turns)}"
        for value, part in figures
    ]
    com = ", ".join(f"{x:.6g}" for x in link.inertia.com)
    cells = (joint.name, joint.kind, *told, link.name, f"{link.inertia.mass:.6g} kg", f"{com} m")
    return [escaped(cell) for cell in cells]


def cached_on_arm(arm: Arm, name: str, make: Callable[[Arm], T]) -> T:
    """What `make` works out of an arm: once, kept with it, and gone when the arm goes.

    An arm made from this one by `replace`, copied or pickled starts with nothing kept.  Where two
    threads ask for the first time at once, both may work it out, and both get the same one.
    """
    kept: dict[str, Any] = arm.__dict__.get(CACHE_SLOT) or arm.__dict__.setdefault(CACHE_SLOT, {})
    if name not in kept:
        kept.setdefault(name, make(arm))
    found: T = kept[name]
    return found
