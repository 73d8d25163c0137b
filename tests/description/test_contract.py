"""The contract lists what a model includes, always in the same order and words."""

from __future__ import annotations

import json

import pytest

from robolin.core.arm import Inertia, Limits, Mimic, Wrench
from robolin.description.building.build_arm import build
from robolin.description.building.contract import group_by_value, repr_number
from robolin.description.building.keywords import ModelOptions, Payload
from tests.description.hand_made import describe, joint

KEYS = [
    "arm", "joints", "gravity", "base", "tip", "locked", "mimic", "fixed", "damping", "friction",
    "armature", "payload", "wrench", "inertial_frame", "units", "ignored", "notes",
]  # fmt: skip

PUSH = Wrench("base", "follower", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
BODY = Inertia(1.0, (0.1, 0.0, 0.0), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))


def arm(options=None, **more):
    """A wrist on a shoulder, two fingers of which one follows, and a tool merged in."""
    joints = [
        joint("shoulder", "base", "upper", damping=0.1, friction=0.2, limits=Limits(-1.0, 1.0)),
        joint("f1", "upper", "left", "prismatic", damping=0.1),
        joint("f2", "upper", "right", "prismatic", damping=0.1, mimic=Mimic("f1", -2.0, 0.5)),
        joint("mount", "upper", "tool", "fixed"),
    ]
    description = describe(joints, dict.fromkeys(("upper", "left", "right"), BODY), **more)
    return build(description, options or ModelOptions())


def contract_entry(key, **options):
    return arm(ModelOptions(**options)).contract[key]


def test_keys_come_in_one_order_and_fit_json():
    """Every contract has the same keys in the same order and survives JSON unchanged."""
    contract = arm().contract
    assert list(contract) == KEYS
    assert json.loads(json.dumps(contract)) == contract


DEFAULTS = {
    "arm": "arm (arm.urdf)",
    "joints": ["shoulder", "f1"],
    "gravity": "0, 0, -9.81 m/s² in the root link's axes",
    "base": "link 'base', the root",
    "tip": "whole tree",
    "locked": "none",
    "mimic": "f2 = -2 · f1 + 0.5",
    "fixed": "1 fixed joint merged",
    "damping": "applied: 0.1 on all 3 joints",
    "friction": "Coulomb friction in the robot file, not applied (no --friction-velocity): "
    "shoulder 0.2",
    "armature": "none",
    "payload": "none",
    "wrench": "none",
    "inertial_frame": "world = root link 'base'; computed about the first joint, which changes no "
    "result",
    "units": "SI: rad, m, s, kg, N, N·m",
    "ignored": [],
    "notes": [],
}


def test_an_arm_without_options():
    """Without options the contract lists the description's own parameters and the defaults."""
    assert arm().contract == DEFAULTS


OPTIONS = [
    ("gravity", {"gravity": (0.0, 0.0, 0.0)}, "none"),
    ("gravity", {"gravity": (-0.0, 1.62, 0.0)}, "0, 1.62, 0 m/s² in the root link's axes"),
    (
        "base",
        {"base": "upper"},
        "link 'upper'; joints inboard of it are locked, gravity and world wrenches stay in the "
        "axes of the root link 'base'",
    ),
    ("locked", {"base": "upper"}, "off the chain, at 0: shoulder"),
    ("tip", {"tip": "left"}, "link 'left'; joints off the chain are locked"),
    ("locked", {"lock": {"shoulder": 0.3}}, "shoulder 0.3 rad"),
    ("locked", {"lock": {"f1": 0.25}}, "f1 0.25 m, f2 0 m (mimics f1)"),
    ("locked", {"tip": "upper"}, "f2 0.5 m (mimics f1), off the chain, at 0: f1"),
    ("mimic", {"lock": {"f1": 0.25}}, "none"),
    ("damping", {"damping": False}, "ignored as requested: 0.1 on all 3 joints"),
    (
        "friction",
        {"friction_velocity": 0.01},
        "applied, smoothed as μ tanh(q̇/0.01): shoulder 0.2",
    ),
    ("armature", {"armature": {"f2": 0.5}}, "f2 0.5"),
    (
        "payload",
        {"payload": (Payload("tool", 1.5), Payload("left", 0.5, (0.0, 0.0, 0.1)))},
        "1.5 kg on link 'tool'; 0.5 kg on link 'left' at 0, 0, 0.1 m",
    ),
    (
        "wrench",
        {"wrenches": (Wrench("tool", "dead", (1.0, 0.0, 0.0), (0.0, 0.0, 2.0)),)},
        "on link 'tool' force 1, 0, 0 N, moment 0, 0, 2 N·m, dead: "
        "in world axes at the link's origin",
    ),
    ("notes", {"lock": {"shoulder": 2.0}}, ["joint 'shoulder' is locked at 2, outside its limits"]),
    ("notes", {"tip": "left"}, ["joint 'f2' mimics 'f1' but is off the chain: it is locked"]),
    (
        "notes",
        {"armature": {"shoulder": 1.0}, "base": "upper"},
        ["the armature of joint 'shoulder' has no effect: the joint does not move"],
    ),
    ("notes", {"payload": (Payload("tool", 0.0),)}, ["the payload on link 'tool' has no mass"]),
    (
        "notes",
        {"payload": (Payload("base", 1.0),)},
        ["the payload on link 'base' has no effect: the base carries it"],
    ),
    (
        "notes",
        {"wrenches": (PUSH,)},
        ["the wrench on link 'base' has no effect: the base carries it"],
    ),
    (
        "wrench",
        {"wrenches": (PUSH,)},
        "on link 'base' force 1, 0, 0 N, moment 0, 0, 0 N·m, carried by the base",
    ),
    (
        "notes",
        {"friction_velocity": 0.1, "base": "upper"},
        ["the friction velocity has no effect: no moving joint has friction"],
    ),
    (
        "notes",
        {"tip": "right"},
        ["joint 'f2' mimics 'f1', which is not on the chain, so it is locked"],
    ),
    ("locked", {"tip": "right"}, "f2 0.5 m (mimics f1), off the chain, at 0: f1"),
    (
        "inertial_frame",
        {"base": "upper"},
        "world = root link 'base'; computed about the middle of the 2 first joints, "
        "which changes no result",
    ),
]


@pytest.mark.parametrize(("key", "options", "text"), OPTIONS)
def test_every_option_is_listed(key, options, text):
    """The effect of every option is described in the contract."""
    assert contract_entry(key, **options) == text


def test_a_follower_on_the_chain_is_not_called_off_it():
    """A follower at zero whose leader is off the chain is not listed as off the chain."""
    joints = [
        joint("f1", "hand", "left", "prismatic"),
        joint("f2", "hand", "right", "prismatic", mimic=Mimic("f1")),
        joint("turn", "right", "tip"),
    ]
    contract = build(describe(joints), ModelOptions(tip="tip")).contract
    assert contract["locked"] == "f2 0 m (mimics f1), off the chain, at 0: f1"


def test_omissions_of_the_reader_are_listed():
    """Tags ignored and notes of the reader are part of the contract."""
    contract = arm(ignored=("visual (3)",), notes=("a note",)).contract
    assert contract["ignored"] == ["visual (3)"]
    assert contract["notes"] == ["a note"]


def test_values_are_grouped_by_size():
    """Equal values are listed once, zeros not at all, and large groups by their count."""
    assert group_by_value({"a": 0.0}) == ""
    assert group_by_value({"a": 1.0, "b": 2.0, "c": 1.0}) == "1 on a and c, b 2"
    assert group_by_value({"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}) == "1 on a, b and c"
    many = {f"j{i}": 0.5 for i in range(12)} | {"last": 0.0}
    assert group_by_value(many) == "0.5 on 12 of 13 joints"


@pytest.mark.parametrize("value", [0.1, 1e-300, 9.80665, -2.0, 0.1 + 0.2, 1e22])
def test_printed_numbers_round_trip(value):
    """A printed number reads back as the same number."""
    assert float(repr_number(value)) == value
