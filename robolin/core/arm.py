"""The arm: frozen data, links numbered from the tip (1) to the base (n + 1 is the base itself).

An `Arm` is a robot description with all model options applied: fixed joints merged, locked joints
frozen, payloads added.  Only moving joints remain, with one link outboard of each.
On a tree, children come before parents and every subtree is a contiguous range of numbers.

The papers count from the tip, users from the base: algorithms use `links_tip_to_base`, all other
code uses `links` and `joints`.  Only `Arm.coordinates` converts between the two orders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import cached_property
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

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
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.core.text import range_text
from robolin.dynamics.algebra.scalar import float_sum
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.core.arrays import Floats, JointValues


T = TypeVar("T")

# attribute with the dict of values cached by `cached_on_arm`, absent before the first
CACHE_SLOT = "cached_values"


@dataclass(frozen=True)
class Arm:
    """Robot model that `robolin.load` returns: immutable, hashable and picklable.

    Fields:
        name: name in the robot description
        links_tip_to_base: the moving links in the order of the papers; `links` is in reverse order
        frames: every link of the description, moving or merged -> its moving link and pose
        joint_names: names of the n independent joints, in the order of q
        groups: multi-DoF joints
        floating_base: whether the first group was added below the description's root
        locked_joints: movable joints that are locked or not on the chain
        gravity: (3,) in m/s², in the axes of the description's root
        damping: whether the description's damping is included
        springs: whether the description's springs are included
        friction_velocity: velocity scale of the friction smoothing, in rad/s or m/s, for joints
            without their own; None for no friction
        wrenches: external wrenches, in N and N·m
        loops: loop-closure constraints between frames
        named_poses: (name, positions in rad or m) of each named pose; `poses` has them as arrays
        dh_rows: Denavit–Hartenberg parameters of the joints that a DH table defines
        tip: the frame of kinematic results, or None
        contract: model assumptions as text: which effects are included or ignored
        model_dict: numeric values of the description, to detect changes in it
        source: file or name that the arm was loaded from
        digest: SHA-256 of the file
        loaded_with: options that load this arm again; None after `replace`

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
    named_poses: tuple[tuple[str, tuple[float, ...]], ...] = ()
    contract: Mapping[str, Any] = field(default_factory=dict)
    model_dict: Mapping[str, Any] = field(default_factory=dict, compare=False)
    source: str = ""
    digest: str = ""
    loaded_with: Mapping[str, Any] | None = field(default=None, compare=False, init=False)

    if TYPE_CHECKING:
        cached_values: ClassVar[dict[str, Any]]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy the fields only, not cached values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore the fields; older pickles store `links_tip_to_base` under the name `links`."""
        held = {("links_tip_to_base" if name == "links" else name): state[name] for name in state}
        self.__dict__.update(held)

    def __hash__(self) -> int:
        """Hash of the identifying fields, computed once; equal arms have equal hashes."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(
            (self.name, self.links_tip_to_base, self.joint_names, self.gravity, self.digest)
        )

    def __repr__(self) -> str:
        moving = float_sum(link.inertia.mass for link in self.links)
        shape = "" if self.serial else ", a tree"
        # notebooks are shared: omit folders of this machine
        path = PurePath(self.source)
        file = path.name if path.is_absolute() else self.source
        source = f", from {in_short(file)}" if file else ""
        return (
            f"<Arm {in_short(self.name)}: {self.n} joints, {len(self.bodies)} moving links of "
            f"{moving:.6g} kg{shape}{source}>"
        )

    def _repr_html_(self) -> str:
        """HTML for a notebook: a table of joints, limits and links, and the contract."""
        rows = [_row_of(link) for link in self.links]
        title = f"<b>{escaped(repr(self)[1:-1])}</b>"
        return f"{title}{html_table(_HEADER, rows)}{html_contract(self.contract)}"

    @property
    def n(self) -> int:
        """Number of independent joints: the length of q."""
        return len(self.joint_names)

    @cached_property
    def poses(self) -> Mapping[str, Floats]:
        """Named poses of the description: name -> positions (n,) in rad or m, read-only.

        Example:
            >>> robolin.load("panda").poses["home"].round(2)
            array([ 0.  , -0.79,  0.  , -2.36,  0.  ,  1.57,  0.79])
        """
        from robolin.core.arrays import read_only

        return MappingProxyType({name: read_only(values) for name, values in self.named_poses})

    @property
    def base(self) -> int:
        """Number of the base: one more than the number of the last link."""
        return len(self.links) + 1

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The moving links, base to tip, including the virtual links of multi-DoF joints."""
        return self.links_tip_to_base[::-1]

    def link(self, k: int) -> Link:
        """A moving link by its number.

        Args:
            k: counted from 1 at the tip, as in the papers

        Returns:
            the `Link`

        Raises:
            UsageError: no moving link has this number

        Example:
            >>> robolin.load("two-link").link(1).name
            'lower'
        """
        if not 0 < k < self.base:
            hint = f"use a number from 1 (tip) to {len(self.links)} (base)"
            raise UsageError(f"'{self.name}' has no moving link {k}", hint=hint)
        return self.links_tip_to_base[k - 1]

    @cached_property
    def coordinates(self) -> tuple[int, ...]:
        """For links 1, 2, …: the index in q of its joint, or of the joint that its joint mimics."""
        index = {name: i for i, name in enumerate(self.joint_names)}
        return tuple(
            index[link.joint.mimic.leader if link.joint.mimic else link.joint.name]
            for link in self.links_tip_to_base
        )

    def coordinate_indices(self, group: Group) -> dict[str, int]:
        """Indices in q of the coordinates of a multi-DoF joint.

        Args:
            group: one of `groups`

        Returns:
            coordinate -> its index in q

        Example:
            >>> arm = robolin.load("ur5", base_joint="planar")
            >>> arm.coordinate_indices(arm.groups[0])
            {'x': 0, 'y': 1, 'rz': 2}
        """
        return {part: self.coordinates[k - 1] for part, k in group.coordinates.items()}

    def joint_of(self, k: int) -> str:
        """Name in the description of the joint that moves a link.

        Args:
            k: the number of the link, counted from 1 at the tip

        Returns:
            the name

        Raises:
            UsageError: no moving link has this number

        Example:
            >>> robolin.load("two-link").joint_of(1)
            'elbow'
        """
        return self._group_names.get(k, self.link(k).joint.name)

    def with_parameters(self, values: JointValues | Mapping[str, float]) -> Arm:
        """The same arm with other inertial, damping, armature, friction and spring parameters.

        Values are not checked for physical consistency, except for negative masses;
        `robolin.inverse` of the new arm is the regressor times the values.

        Args:
            values: (len(names),) in the order of `names` of `robolin.regressor`, in its units, or a
                mapping from some of these names to values; the other parameters do not change.  The
                mapping can also contain JOINT/friction_velocity, which applies friction

        Returns:
            a new `Arm`, with the number of changed parameters in its contract

        Raises:
            UsageError: an unknown name, a wrong shape, a value that is not finite, a first moment
                without mass, or a rest torque without stiffness

        Warns:
            RobolinWarning: a new mass that is negative

        Example:
            >>> arm = robolin.load("two-link")
            >>> heavy = arm.with_parameters({"lower/mass": 2.0, "elbow/damping": 0.1})
            >>> heavy.links[1].inertia.mass, heavy.joints[1].damping
            (2.0, 0.1)
        """
        from robolin.core.arm_parameters import arm_with_parameters, warn_if_negative

        other = arm_with_parameters(self, values)
        warn_if_negative(other)
        return other

    @cached_property
    def virtual_links(self) -> frozenset[int]:
        """Numbers of the massless links inside multi-DoF joints."""
        return frozenset(k for group in self.groups for k in group.links[:-1])

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """Numbers of the moving links that are not virtual, base to tip."""
        return tuple(k for k in range(len(self.links), 0, -1) if k not in self.virtual_links)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the moving links, base to tip, in the order of results per link."""
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
        """Names of the independent joints that are not actuated according to the description."""
        return tuple(joint.name for joint in self.joints if not joint.actuated)

    @cached_property
    def has_one_sided_friction(self) -> bool:
        """True if the friction of any joint depends on its direction of motion."""
        return any(link.joint.friction_negative is not None for link in self.links)

    @cached_property
    def has_mimic(self) -> bool:
        """True if any joint mimics another joint."""
        return any(link.joint.mimic for link in self.links)

    @cached_property
    def has_springs(self) -> bool:
        """True if springs are included and any moving joint has one."""
        return self.springs and any(link.joint.stiffness for link in self.links)

    @cached_property
    def slides(self) -> bool:
        """True if any joint is prismatic."""
        return not all(link.joint.turns for link in self.links)

    @cached_property
    def serial(self) -> bool:
        """True for a serial chain: the base and every link have at most one child link."""
        return all(link.parent == k + 1 for k, link in enumerate(self.links_tip_to_base, start=1))


def with_load_options(arm: Arm, loaded_with: Mapping[str, Any] | None) -> Arm:
    """Store the options that load this new arm again; `replace` drops them."""
    object.__setattr__(arm, "loaded_with", loaded_with)
    return arm


_HEADER = ("joint", "kind", "from", "to", "velocity", "effort", "link", "mass", "centre of mass")


def _row_of(link: Link) -> list[str]:
    """Table row of a joint and its link for a notebook, with units."""
    joint, limits = link.joint, link.joint.limits
    limit_values = (
        (limits.lower, "position"),
        (limits.upper, "position"),
        (limits.velocity, "velocity"),
        (limits.efforts, "effort"),
    )
    ranges = [
        "" if value is None else f"{range_text(value)} {joint_unit(part, joint.turns)}"
        for value, part in limit_values
    ]
    com = ", ".join(f"{x:.6g}" for x in link.inertia.com)
    cells = (joint.name, joint.kind, *ranges, link.name, f"{link.inertia.mass:.6g} kg", f"{com} m")
    return [escaped(cell) for cell in cells]


def cached_on_arm(arm: Arm, name: str, make: Callable[[Arm], T]) -> T:
    """Compute `make(arm)` once and cache it on the arm.

    Arms made by `replace`, copying or pickling start with an empty cache.  Two threads may both
    compute the first value; both receive the same object.
    """
    cache: dict[str, Any] = arm.__dict__.get(CACHE_SLOT) or arm.__dict__.setdefault(CACHE_SLOT, {})
    if name not in cache:
        cache.setdefault(name, make(arm))
    value: T = cache[name]
    return value


# travel in metres beyond which a prismatic joint counts as long
FAR_SLID = 4.0


def travelling(arm: Arm) -> tuple[int, ...]:
    """Links with long prismatic travel, base to tip, up to the first branch or `arm.tip`.

    Prismatic joints before the first revolute joint always count; later ones by their limits.
    """
    joints = {k: arm.link(k).joint for k in _stem(arm)}
    first_revolute = next((k for k, joint in joints.items() if joint.turns), 0)
    travelling_links = (k for k, joint in joints.items() if k > first_revolute or slides_far(joint))
    return () if arm.groups or arm.loops else tuple(travelling_links)


def slides_far(joint: Joint) -> bool:
    """True for a prismatic joint whose limits exceed ±`FAR_SLID` or are missing."""
    ends = joint.limits.lower, joint.limits.upper
    return not (joint.turns or all(end is not None and abs(end) <= FAR_SLID for end in ends))


def _stem(arm: Arm) -> list[int]:
    """Links from the base to the first branch, at most up to the link of `arm.tip`."""
    carried: dict[int, list[int]] = {}
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        carried.setdefault(link.parent, []).append(k)
    stem, end = [arm.base], arm.tip.link if arm.tip else 0
    while stem[-1] != end and len(carried.get(stem[-1], ())) == 1:
        stem += carried[stem[-1]]
    return stem[1:]
