"""Robots and states for tests: random ones from fixed seeds, and the bundled arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

import numpy as np

import robolin
from robolin.core.arm import Arm, Frame, Inertia, Joint, Link, Mimic, Pose, Wrench
from robolin.description.building.build_arm import build
from robolin.description.model import Description, JointEntry, LinkEntry, SourceLocation
from robolin.description.robot_source import bundled_names
from tests.cases import in_groups

ROOT = Path(__file__).resolve().parents[1]

TOOL = "tool"
WRENCH_MODELS = ("follower", "dead", "world")


def random_arm(
    seed: int,
    joints: int,
    tree: bool = False,
    *,
    prismatic: bool = True,
    armature: bool = False,
    damping: bool = False,
    friction_velocity: float | None = None,
) -> Arm:
    """A random robot: skew axes, centers of mass off the axes, joint names in random order."""
    rng = np.random.default_rng(seed)
    inboard = list(_preorder(rng, joints, tree))
    links = []
    for i in reversed(range(joints)):
        slides = prismatic and rng.random() < 0.3
        joint = Joint(
            name=f"joint{i}",
            kind="prismatic" if slides else "revolute",
            pose=random_pose(rng),
            axis=_unit(rng),
            damping=float(rng.uniform(0.1, 1.0)) if damping else 0.0,
            friction=float(rng.uniform(0.1, 1.0)) if friction_velocity else 0.0,
            armature=float(rng.uniform(0.01, 0.2)) if armature else 0.0,
        )
        links.append(Link(f"link{i}", joint, joints - inboard[i], random_body(rng)))
    names = [f"joint{i}" for i in range(joints)]
    frames = {f"link{i}": Frame(f"link{i}", joints - i) for i in range(joints)}
    frames[TOOL] = Frame(TOOL, 1, random_pose(rng))
    return Arm(
        name=f"{'tree' if tree else 'chain'}-{joints}-{seed}",
        links_tip_to_base=tuple(links),
        frames=frames,
        joint_names=tuple(str(name) for name in rng.permutation(names)),
        gravity=_vector(rng.normal(size=3) * 6.0),
        friction_velocity=friction_velocity,
    )


def _preorder(rng: np.random.Generator, count: int, tree: bool) -> Iterator[int]:
    """The parent of each link (-1: the base); subtrees have consecutive numbers."""
    path = [-1]
    for i in range(count):
        # the parent of a new link is the last link or one of its ancestors
        depth = len(path) if not tree else int(rng.integers(max(1, len(path) - 3), len(path) + 1))
        if tree and i == count - 1 and depth == i + 1 and i > 0:
            depth = i
        path = path[:depth]
        yield path[-1]
        path.append(i)


def grouped_arm(
    seed: int, kinds: Sequence[str], tree: bool = False, *, armature: bool = False
) -> Arm:
    """A random robot with joints of these kinds, base to tip; they may be floating or planar."""
    rng = np.random.default_rng(seed)
    location = SourceLocation("random")
    inboard = list(_preorder(rng, len(kinds), tree))
    joints = tuple(
        JointEntry(
            name=f"joint{i}",
            kind=kind,
            parent="ground" if inboard[i] < 0 else f"link{inboard[i]}",
            child=f"link{i}",
            location=location,
            pose=random_pose(rng),
            axis=_unit(rng),
            armature=float(rng.uniform(0.01, 0.2)) if armature else 0.0,
        )
        for i, kind in enumerate(kinds)
    )
    tool = JointEntry(
        "to tool", "fixed", f"link{len(kinds) - 1}", TOOL, location, pose=random_pose(rng)
    )
    bodies = [LinkEntry(f"link{i}", location, random_body(rng)) for i in range(len(kinds))]
    description = Description(
        name=f"grouped-{'tree' if tree else 'chain'}-{seed}",
        links=(LinkEntry("ground", location), *bodies, LinkEntry(TOOL, location)),
        joints=(*joints, tool),
        root="ground",
        source="random",
        digest="0" * 64,
        gravity=_vector(rng.normal(size=3) * 6.0),
    )
    arm = build(description)
    names = tuple(str(name) for name in rng.permutation(arm.joint_names))
    return replace(arm, joint_names=names)


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose(random_rotation(rng), _vector(rng.uniform(-0.4, 0.4, 3)))


def random_rotation(rng: np.random.Generator) -> tuple[float, ...]:
    """A uniformly distributed rotation from a unit quaternion, bit-identical on all machines."""
    w, x, y, z = _unit(rng, 4)
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


def random_body(rng: np.random.Generator) -> Inertia:
    """A physically consistent body: its principal moments come from positive second moments."""
    mass = float(rng.uniform(0.3, 3.0))
    x, y, z = mass * rng.uniform(0.02, 0.15, 3) ** 2
    E = np.reshape(random_rotation(rng), (3, 3))
    rotary = np.einsum("ij,j,kj->ik", E, [y + z, x + z, x + y], E)[np.triu_indices(3)]
    return Inertia(mass, _vector(rng.uniform(-0.2, 0.2, 3)), _vector(rotary))


def _unit(rng: np.random.Generator, size: int = 3) -> tuple[float, ...]:
    values = _vector(rng.normal(size=size))
    length = math.hypot(*values)
    return tuple(x / length for x in values)


def _vector(values: Any) -> tuple[float, ...]:
    return tuple(float(x) for x in values)


@lru_cache
def sample_arms(count: int = 52) -> tuple[Arm, ...]:
    """Random robots of 1 to 12 joints: chains and trees alternate, every other pair has rotors."""
    arms = []
    for seed in range(count):
        joints, tree = 1 + seed // 2 % 12, seed % 2 == 1
        arms.append(
            random_arm(seed, joints, tree and joints > 1, armature=seed % 4 > 1, damping=False)
        )
    return tuple(arms)


@lru_cache
def bundled_arms() -> tuple[Arm, ...]:
    """Every bundled arm, without damping and with open loops."""
    return tuple(robolin.load(name, damping=False, open_loops=True) for name in bundled_names())


def without_mimic(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """The arms without mimic joints: the operator recursions require this."""
    return tuple(arm for arm in arms if not arm.has_mimic)


def every_arm() -> tuple[Arm, ...]:
    return sample_arms() + bundled_arms()


def arm_name(arm: Arm) -> str:
    return arm.name


def for_each_arm(arms: Sequence[Arm]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for all arms; random arms of one size and shape form one case."""
    cases: dict[str, list[Arm]] = {}
    for arm in arms:
        case = arm.name.rpartition("-")[0] if arm in sample_arms() else arm.name
        cases.setdefault(case, []).append(arm)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run_all(arm: list[Arm], **others: Any) -> None:
            for each in arm:
                try:
                    test(each, **others)
                except AssertionError as error:
                    error.add_note(f"on {each.name}")
                    raise

        return in_groups("arm", cases.values(), 12)(run_all)

    return decorate


def has_full_inertia(arm: Arm) -> bool:
    """Return whether every body has a positive definite inertia; those of planar arms do not."""
    for link in arm.links:
        full = np.zeros((3, 3))
        full[np.triu_indices(3)] = link.inertia.rotary
        smallest = np.linalg.eigvalsh(full + np.triu(full, 1).T)[0]
        if link.inertia.mass <= 0.0 or smallest <= 1e-9:
            return False
    return True


def with_wrench(arm: Arm, model: str, seed: int = 0, frame: str = TOOL) -> Arm:
    """The arm with a random wrench of about 10 N and 10 Nm at a frame."""
    rng = np.random.default_rng(seed)
    force, torque = (_vector(rng.normal(size=3) * 10.0) for _ in range(2))
    return replace(arm, wrenches=(Wrench(frame, model, force, torque),))


def with_follower(arm: Arm, ratio: float = -1.7, offset: float = 0.3, followers: int = 1) -> Arm:
    """The arm whose outermost joints mimic the joint of its innermost link."""
    mimic = Mimic(arm.links_tip_to_base[-1].joint.name, ratio, offset)
    outer, rest = arm.links_tip_to_base[:followers], arm.links_tip_to_base[followers:]
    following = tuple(replace(link, joint=replace(link.joint, mimic=mimic)) for link in outer)
    removed = {link.joint.name for link in outer}
    names = tuple(name for name in arm.joint_names if name not in removed)
    return replace(
        arm, name=f"{arm.name}-mimic", links_tip_to_base=following + rest, joint_names=names
    )


def with_springs(arm: Arm, seed: int = 0) -> Arm:
    """The arm with a spring in every single-DoF joint."""
    rng = np.random.default_rng([11, seed])
    grouped = {k for group in arm.groups for k in group.links}
    links = []
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        stiffness, rest = float(rng.uniform(1.0, 20.0)), float(rng.uniform(-1.0, 1.0))
        joint = replace(link.joint, stiffness=stiffness, rest=rest)
        links.append(link if k in grouped else replace(link, joint=joint))
    return replace(arm, name=f"{arm.name}-sprung", links_tip_to_base=tuple(links))


@dataclass(frozen=True)
class States:
    """Random states and perturbations, each of shape (count, n)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    dq: np.ndarray
    dqd: np.ndarray
    dqdd: np.ndarray
    dtau: np.ndarray


def random_states(arm: Arm, count: int, seed: int = 0) -> States:
    """q within ±1.5, q̇ ~ N(0, 1), q̈ ~ 2 N(0, 1), changes ~ N(0, 1)."""
    rng = np.random.default_rng([seed, arm.n])
    q = rng.uniform(-1.5, 1.5, (count, arm.n))
    qd, qdd, *changes = rng.normal(size=(6, count, arm.n))
    return States(q, qd, 2.0 * qdd, *changes)
