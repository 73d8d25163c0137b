"""A description becomes an arm without gaining, losing or moving anything."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from robolin.core.arm import Group, Inertia, Limits, Mimic, Pose, Wrench
from robolin.core.arm_parts import inertia_about, merged_inertia, placed, unit
from robolin.description.building.build_arm import build
from robolin.description.building.keywords import ModelOptions, Payload
from robolin.description.model import turn_about
from robolin.errors import RobolinError
from tests.description.hand_made import (
    arm_poses,
    cloud,
    describe,
    description_poses,
    inertia_of,
    joint,
    matrix,
    random_pose,
    random_tree,
)

# sums of some dozen products of numbers near 1: a few hundred roundings at most
ROUNDING = 1e-13
SEEDS = range(20)
BODY = Inertia(1.0, (0.1, 0.0, 0.0), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))


def positions(names, seed=0):
    rng = random.Random(seed)
    return {name: rng.uniform(-3, 3) for name in names}


def moved(points, T):
    return [(mass, tuple(T[:3, :3] @ position + T[:3, 3])) for mass, position in points]


def numbers(body):
    return np.array([body.mass, *body.com, *body.rotary])


def chain(*kinds, **more):
    """A serial arm base, l1, l2, … with joints j1, j2, … of the given kinds."""
    names = ["base", *(f"l{i}" for i in range(1, len(kinds) + 1))]
    joints = [
        joint(f"j{i + 1}", names[i], names[i + 1], kind, pose=Pose(translation=(0.3, 0.0, 0.1)))
        for i, kind in enumerate(kinds)
    ]
    return describe(joints, dict.fromkeys(names, BODY), **more)


@pytest.mark.parametrize("seed", SEEDS)
def test_merging_is_the_definition_of_inertia(seed):
    """Bodies merged by the parallel-axis rule are the cloud of all their point masses."""
    rng = random.Random(seed)
    parts = [(cloud(rng), random_pose(rng)) for _ in range(4)]
    total = inertia_of([p for points, pose in parts for p in moved(points, matrix(pose))])
    merged = merged_inertia(placed(inertia_of(points), pose) for points, pose in parts)
    np.testing.assert_allclose(numbers(merged), numbers(total), rtol=0, atol=ROUNDING * total.mass)


def test_a_massless_body_changes_no_bit():
    """Merging a massless body leaves every parameter bit-identical, at any pose."""
    body = Inertia(0.1, (0.1, 0.7, 0.3), (0.1, 0.01, 0.02, 0.3, 0.03, 0.37))
    nothing = Inertia(0.0, (5.0, 6.0, 7.0))
    assert merged_inertia([nothing, body, nothing]) is body
    assert merged_inertia([nothing]) == Inertia()


def test_inertia_without_mass_does_not_move_the_centre():
    """A part with an inertia but no mass adds it and leaves mass and centre unchanged."""
    body = Inertia(0.1, (0.1, 0.7, 0.3), (0.1, 0.0, 0.0, 0.3, 0.0, 0.37))
    spin = Inertia(0.0, (5.0, 6.0, 7.0), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert merged_inertia([spin, body]) == Inertia(0.1, body.com, (1.1, 0.0, 0.0, 0.3, 0.0, 0.37))


def test_inertia_about_an_axis_is_the_sum_over_points():
    """The inertia about an axis through the origin is Σ m r², r the distance from the axis."""
    rng = random.Random(3)
    points, axis = cloud(rng), unit((0.3, -0.5, 0.7))
    by_points = sum(m * float(np.sum(np.cross(axis, p) ** 2)) for m, p in points)
    assert math.isclose(inertia_about(inertia_of(points), axis), by_points, rel_tol=1e-13)


def test_a_rotation_keeps_its_axis():
    """A quarter turn about z maps x to y, and any rotation keeps its axis."""
    R = np.reshape(turn_about((0.0, 0.0, 1.0), math.pi / 2), (3, 3))
    np.testing.assert_allclose(R @ [1, 0, 0], [0, 1, 0], atol=1e-16)
    axis = unit((1.0, 2.0, 3.0))
    R = np.reshape(turn_about(axis, 0.7), (3, 3))
    np.testing.assert_allclose(R @ axis, axis, atol=1e-15)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.6, 0.8, 0.0), (-0.0, -1.0, 0.0)])
def test_unit_axes_stay_as_they_are(axis):
    """An axis of length 1 passes without a rounding."""
    assert unit(axis) is axis


@pytest.mark.parametrize("seed", SEEDS)
def test_no_frame_moves(seed):
    """Every link of the description has the pose in the arm that it has in the description."""
    description, _ = random_tree(seed)
    arm = build(description)
    q = positions(arm.joint_names, seed)
    expected, computed = description_poses(description, q), arm_poses(arm, q)
    assert computed.keys() == expected.keys()
    for name, pose in expected.items():
        np.testing.assert_allclose(computed[name], pose, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_moving_link_is_the_points_it_carries(seed):
    """A moving link's inertia is that of all point masses which move with it."""
    description, clouds = random_tree(seed)
    arm = build(description)
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        frames = [frame for frame in arm.frames.values() if frame.link == k]
        points = [p for f in frames for p in moved(clouds[f.name], matrix(f.pose))]
        np.testing.assert_allclose(
            numbers(link.inertia), numbers(inertia_of(points)), rtol=0, atol=ROUNDING * 40
        )
        assert {link.name, *link.merged} == {frame.name for frame in frames}


@pytest.mark.parametrize("seed", SEEDS)
def test_children_come_before_parents_and_subtrees_are_contiguous(seed):
    """On any tree, parent(k) > k and the links outboard of k are the numbers just below it."""
    description, _ = random_tree(seed, 14)
    arm = build(description)
    outboard = {k: {k} for k in range(1, arm.base + 1)}
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        assert link.parent > k
        outboard[link.parent] |= outboard[k]
    for k, numbered in outboard.items():
        assert numbered == set(range(k - len(numbered) + 1, k + 1))


def test_public_order_is_depth_first_in_file_order():
    """Joints are numbered along each branch before the next, branches in the file's order."""
    joints = [
        joint("trunk", "base", "hub"),
        joint("b1", "hub", "r1"),
        joint("a1", "hub", "l1"),
        joint("a2", "l1", "l2"),
        joint("b2", "r1", "r2"),
    ]
    arm = build(describe(joints))
    assert arm.joint_names == ("trunk", "b1", "b2", "a1", "a2")
    assert [link.joint.name for link in arm.links_tip_to_base] == ["a2", "a1", "b2", "b1", "trunk"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_locked_joint_is_the_same_arm_at_that_pose(seed):
    """Locking a joint leaves every frame, the total mass and the centre where they were."""
    description, _ = random_tree(seed)
    free = build(description)
    q = positions(free.joint_names, seed)
    name = random.Random(seed).choice(free.joint_names)
    locked = build(description, ModelOptions(lock={name: q[name]}))
    assert locked.joint_names == tuple(other for other in free.joint_names if other != name)
    before, after = arm_poses(free, q), arm_poses(locked, q)
    for frame, pose in before.items():
        np.testing.assert_allclose(after[frame], pose, rtol=0, atol=ROUNDING)
    # links that the lock made part of the base do not count as moving links: compare the others
    gone = {f.name for f in locked.frames.values() if f.link == locked.base}
    kept = [e for e in description.links if e.name not in gone]
    total = merged_inertia(placed(e.inertia, pose_of(before[e.name])) for e in kept)
    moving = merged_inertia(placed(k.inertia, pose_of(after[k.name])) for k in locked.links)
    np.testing.assert_allclose(numbers(moving), numbers(total), rtol=0, atol=ROUNDING * 100)


def pose_of(T):
    return Pose(tuple(T[:3, :3].ravel().tolist()), tuple(T[:3, 3].tolist()))


def test_locked_at_zero_changes_no_bit():
    """A joint locked at 0 is exactly the fixed joint in its place."""
    locked = build(chain("revolute", "revolute", "revolute"), ModelOptions(lock={"j2": 0.0}))
    fixed = build(chain("revolute", "fixed", "revolute"))
    assert locked.links == fixed.links
    assert locked.frames == fixed.frames


def test_tip_leaves_only_its_chain_moving():
    """With a tip, joints off the chain from base to tip are locked at 0 and keep their masses."""
    joints = [joint("a1", "base", "hub"), joint("b1", "hub", "left"), joint("c1", "hub", "right")]
    description = describe(joints, dict.fromkeys(("hub", "left", "right"), BODY))
    arm = build(description, ModelOptions(tip="right"))
    assert arm.joint_names == ("a1", "c1")
    assert sum(link.inertia.mass for link in arm.links_tip_to_base) == 3.0
    assert arm.frames["left"].link == arm.frames["hub"].link


def test_base_holds_everything_inboard():
    """With a base, only joints outboard of it move; the world stays at the root."""
    description = chain("revolute", "prismatic", "revolute", "revolute")
    arm = build(description, ModelOptions(base="l2"))
    assert arm.joint_names == ("j3", "j4")
    assert arm.frames["l2"].link == arm.base
    assert arm.frames["l2"].pose.translation == (0.6, 0.0, 0.2)


def test_floating_joints_inboard_of_the_base_stand_still():
    """A floating joint moves unless base locks it, which the contract then lists."""
    description = chain("floating", "revolute")
    moving = build(description)
    assert moving.joint_names == ("j1:rx", "j1:ry", "j1:rz", "j1:x", "j1:y", "j1:z", "j2")
    assert moving.groups == (Group("j1", "floating", (7, 6, 5, 4, 3, 2)),)
    still = build(description, ModelOptions(base="l1"))
    assert still.joint_names == ("j2",)
    assert still.groups == ()
    assert still.contract["locked"] == "off the chain, at 0: j1"


def gripper():
    """Two fingers, the second following the first by q₂ = -2 q₁ + 0.1, on a wrist."""
    follow = Mimic("f1", -2.0, 0.1)
    joints = [
        joint("wrist", "base", "hand"),
        joint("f1", "hand", "left", "prismatic"),
        joint("f2", "hand", "right", "prismatic", mimic=follow),
    ]
    return describe(joints, dict.fromkeys(("hand", "left", "right"), BODY))


def test_followers_move_with_their_leader():
    """A follower is a moving link of its own, but no coordinate."""
    arm = build(gripper())
    assert arm.joint_names == ("wrist", "f1")
    assert len(arm.links) == 3
    assert arm.coordinates == (1, 1, 0)
    q = {"wrist": 0.4, "f1": 0.02}
    for name, pose in description_poses(gripper(), q).items():
        np.testing.assert_allclose(arm_poses(arm, q)[name], pose, atol=ROUNDING)


@pytest.mark.parametrize(
    ("options", "leader"),
    [(ModelOptions(lock={"f1": 0.03}), 0.03), (ModelOptions(tip="hand"), 0.0)],
    ids=["locked", "off the chain"],
)
def test_mimic_joints_of_a_locked_leader_are_locked(options, leader):
    """If the leader is locked, its follower is at ratio · position + offset."""
    arm = build(gripper(), options)
    assert arm.joint_names == ("wrist",)
    q = {"wrist": 0.4}
    expected = description_poses(gripper(), {**q, "f1": leader})
    for name, pose in arm_poses(arm, q).items():
        np.testing.assert_allclose(pose, expected[name], atol=ROUNDING)


def test_payload_adds_a_point_mass():
    """A payload on a merged frame adds one point to the cloud that carries the frame."""
    description, clouds = random_tree(5, 12)
    bare = build(description)
    frame = next(f for f in bare.frames.values() if f.pose != Pose() and f.link != bare.base)
    point = (2.5, (0.1, -0.2, 0.3))
    loaded = build(description, ModelOptions(payload=(Payload(frame.name, *point),)))
    clouds[frame.name] = [*clouds[frame.name], point]
    carried = [f for f in bare.frames.values() if f.link == frame.link]
    points = [p for f in carried for p in moved(clouds[f.name], matrix(f.pose))]
    inertia = loaded.link(frame.link).inertia
    np.testing.assert_allclose(numbers(inertia), numbers(inertia_of(points)), atol=ROUNDING * 40)
    others = [(k, loaded.link(k)) for k in range(1, loaded.base) if k != frame.link]
    assert others == [(k, bare.link(k)) for k in range(1, bare.base) if k != frame.link]


def test_a_payload_of_zero_changes_no_bit():
    """A payload of no mass leaves every link as it was."""
    description, _ = random_tree(6)
    options = ModelOptions(payload=(Payload("link3", 0.0, (1.0, 2.0, 3.0)),))
    assert build(description, options).links == build(description).links


def test_options_reach_the_arm():
    """Gravity, armature, friction speed, damping, wrenches and order are those of the options."""
    wrench = Wrench("l2", "dead", (1.0, 0.0, 0.0), (0.0, 0.0, 2.0))
    options = ModelOptions(
        gravity=(0.0, 0.0, 0.0),
        armature={"j2": 0.5},
        friction_velocity=0.01,
        damping=False,
        wrenches=(wrench,),
        joints=("j2", "j1"),
    )
    arm = build(chain("revolute", "revolute", gravity=(0.0, -9.81, 0.0)), options)
    assert arm.gravity == (0.0, 0.0, 0.0)
    assert [link.joint.armature for link in arm.links_tip_to_base] == [0.5, 0.0]
    assert (arm.friction_velocity, arm.damping, arm.wrenches) == (0.01, False, (wrench,))
    assert arm.joint_names == ("j2", "j1")
    assert arm.coordinates == (0, 1)


def test_gravity_comes_from_the_options_then_the_file_then_the_earth():
    """Options override the file, and the file overrides 9.81 downwards."""
    assert build(chain("revolute")).gravity == (0.0, 0.0, -9.81)
    assert build(chain("revolute", gravity=(0.0, -1.6, 0.0))).gravity == (0.0, -1.6, 0.0)


@pytest.mark.parametrize(
    ("own", "size", "pull"),
    [
        (None, 1.62, (0.0, 0.0, -1.62)),
        ((0.0, 0.0, -9.81), 1.62, (0.0, 0.0, -1.62)),
        ((0.0, -9.81, 0.0), 9.81, (0.0, -9.81, 0.0)),
        ((3.0, 0.0, 4.0), 10.0, (6.0, 0.0, 8.0)),
        ((0.0, 0.0, 0.0), 1.62, (0.0, 0.0, -1.62)),
        ((0.0, -9.81, 0.0), 0.0, (0.0, 0.0, 0.0)),
    ],
)
def test_a_size_of_gravity_is_along_the_files_own(own, size, pull):
    """One number says how strong gravity is; where down is, the file says, else it is -z."""
    assert build(chain("revolute", gravity=own), ModelOptions(gravity=size)).gravity == pull


def test_a_chain_of_three_thousand_links_is_built():
    """The depth of a description is limited only by memory."""
    arm = build(chain(*["revolute"] * 3000))
    assert arm.n == 3000
    assert arm.serial


def test_cancelling_masses_are_refused():
    """Masses of both signs that add up to zero have no centre, and the joint is named."""
    description = chain("revolute", "fixed")
    links = (*description.links[:2], replace(description.links[2], inertia=Inertia(-1.0)))
    with pytest.raises(
        RobolinError,
        match=r"arm\.urdf:101: joint 'j1': the masses of its child link and of the links",
    ) as caught:
        build(replace(description, links=links))
    assert caught.value.where == "arm.urdf:101"


LIMITED = describe(
    [
        joint("shoulder", "base", "upper", limits=Limits(-1.0, 1.0)),
        joint("elbow", "upper", "lower"),
        joint("mount", "lower", "tool", "fixed"),
        joint("side", "upper", "camera"),
        joint("twin", "camera", "lens", mimic=Mimic("side")),
    ]
)

BAD_OPTIONS = [
    (
        "lock unknown",
        {"lock": {"elbo": 0.0}},
        "arm.urdf: lock: joint 'elbo' not found",
        "mean 'elbow'?",
    ),
    (
        "lock a link",
        {"lock": {"upper": 0.0}},
        "arm.urdf: lock: joint 'upper' not found",
        "use joint 'shoulder', which moves it",
    ),
    (
        "lock fixed",
        {"lock": {"mount": 0.0}},
        "arm.urdf:100: lock: joint 'mount' is fixed and does not move",
        "omit 'mount'",
    ),
    (
        "lock follower",
        {"lock": {"twin": 0.0}},
        "arm.urdf:100: lock: joint 'twin' mimics 'side' and has no position of its own",
        "lock 'side' instead",
    ),
    (
        "lock nan",
        {"lock": {"elbow": math.nan}},
        "lock: the position of joint 'elbow' must be finite, got nan",
        "",
    ),
    (
        "base unknown",
        {"base": "uper"},
        "arm.urdf: base: link 'uper' not found",
        "did you mean 'upper'?",
    ),
    (
        "tip a joint",
        {"tip": "elbow"},
        "arm.urdf: tip: link 'elbow' not found",
        "is a joint: use link 'lower', which it moves",
    ),
    (
        "tip inboard",
        {"base": "lower", "tip": "upper"},
        "is not a descendant of the base",
        "choose a base between",
    ),
    (
        "tip aside",
        {"base": "lower", "tip": "lens"},
        "is not a descendant of the base",
        "'camera', 'upper'",
    ),
    (
        "tip is base",
        {"base": "lower", "tip": "lower"},
        "the robot has no movable joint:",
        "another base or tip",
    ),
    (
        "leader inboard",
        {"base": "camera"},
        "no movable joint: joint 'twin' mimics 'side', which is not on the chain, so it is locked",
        "omit base or tip, or choose a chain in which 'side' also moves",
    ),
    (
        "all locked",
        {"lock": {"shoulder": 0, "elbow": 0, "side": 0}},
        "the robot has no movable joint:",
        "unlock",
    ),
    (
        "payload frame",
        {"payload": (Payload("tol", 1.0),)},
        "arm.urdf: payload: link 'tol' not found",
        "mean 'tool'?",
    ),
    (
        "payload mass",
        {"payload": (Payload("tool", -1.0),)},
        "payload: the mass on link",
        "adds mass",
    ),
    ("payload nan", {"payload": (Payload("tool", math.nan),)}, "payload: the mass on link", ""),
    ("payload place", {"payload": (Payload("tool", 1, (math.inf, 0, 0)),)}, "must be finite", ""),
    (
        "wrench_frame:",
        {"wrenches": (Wrench("toll", "dead", (0,) * 3, (0,) * 3),)},
        "arm.urdf: wrench: link 'toll' not found",
        "",
    ),
    (
        "wrench nan",
        {"wrenches": (Wrench("tool", "dead", (math.nan, 0, 0), (0,) * 3),)},
        "wrench: the wrench on link 'tool' must be finite, got nan, 0, 0, 0, 0, 0",
        "",
    ),
    (
        "wrench model",
        {"wrenches": (Wrench("tool", "x", (0,) * 3, (0,) * 3),)},
        "wrench_frame: unknown value 'x'",
        "dead",
    ),
    (
        "armature name",
        {"armature": {"elbows": 1.0}},
        "arm.urdf: armature: joint 'elbows' not found",
        "mean 'elbow'?",
    ),
    (
        "armature sign",
        {"armature": {"elbow": -1.0}},
        "armature: the value of joint 'elbow' must be ≥ 0, got -1.0",
        "rotor",
    ),
    (
        "friction speed",
        {"friction_velocity": 0.0},
        "friction_velocity: must be > 0, got 0.0",
        "tanh",
    ),
    ("gravity", {"gravity": (0.0, 0.0, math.inf)}, "must be finite", ""),
    (
        "use the inertia from CAD, or the inertia of a box or cylinder with the link's size",
        {"gravity": math.inf},
        "must be finite",
        "",
    ),
    (
        "order missing",
        {"joints": ("elbow", "side")},
        "arm.urdf: joints: 'shoulder' missing",
        "lock",
    ),
    (
        "order twice",
        {"joints": ("elbow", "side", "shoulder", "side")},
        "arm.urdf: joints: the list contains 'side' more than once",
        "arm.urdf: joints: the list contains 'side' more than once",
    ),
    (
        "order follower",
        {"joints": ("shoulder", "elbow", "side", "twin")},
        "arm.urdf:100: joints: joint 'twin' mimics 'side'",
        "",
    ),
    (
        "order unknown",
        {"joints": ("shoulder", "elbow", "sid")},
        "arm.urdf: joints: joint 'sid' not found",
        "mean 'side'",
    ),
]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [row[1:] for row in BAD_OPTIONS],
    ids=[r[0] for r in BAD_OPTIONS],
)
def test_bad_options_are_named(options, message, hint):
    """An option that cannot be met is an error with reason and hint."""
    with pytest.raises(RobolinError) as caught:
        build(LIMITED, ModelOptions(**options))
    assert message in str(caught.value)
    assert hint in str(caught.value)


def test_all_bad_options_are_reported_together():
    """Several mistakes make one error with one part for each."""
    options = ModelOptions(tip="tol", lock={"elbo": 0.0}, friction_velocity=-1.0)
    with pytest.raises(RobolinError) as caught:
        build(LIMITED, options)
    assert len(caught.value.parts) == 3


def test_a_description_without_moving_joints_is_rejected():
    with pytest.raises(
        RobolinError, match=r"arm\.urdf: the robot has no movable joint: all joints are fixed"
    ):
        build(chain("fixed", "fixed"))
