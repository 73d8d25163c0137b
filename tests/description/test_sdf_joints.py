"""Joints of SDF files: types, limits, springs, mimic rules and motors, against closed forms."""

from __future__ import annotations

from math import pi, sin

import pytest

import robolin
from robolin.description.load import read
from robolin.description.structure import tree_of
from tests.cases import for_each
from tests.description.test_sdf_frames import described, joint, link, model

G = 9.81


def axis(inside: str, tag: str = "axis", xyz: str = "0 1 0") -> str:
    return f"<{tag}><xyz>{xyz}</xyz>{inside}</{tag}>"


def on_axis(inside: str, kind: str = "revolute", more: str = "") -> str:
    """Two links with one joint about y."""
    return model(link("a"), link("b"), joint("j", "a", "b", axis(inside) + more, kind))


def test_pendulum_with_an_offset_joint() -> None:
    """A body of 1 kg hangs 0.5 m below its joint: the joint frame is not the link frame."""
    text = model(
        link("a"),
        link("b", "<pose>0 0 -.5 0 0 0</pose>"),
        joint("j", "world", "a", kind="fixed"),
        joint("k", "a", "b", "<pose>0 0 .5 0 0 0</pose>" + axis("")),
    )
    arm = robolin.load(text)

    assert robolin.mass_matrix(arm, [0.3])[0, 0] == pytest.approx(0.1 + 0.25, rel=1e-15)
    tau = robolin.inverse(arm, [0.3], [0.0], [0.0])
    assert tau[0] == pytest.approx(0.5 * G * sin(0.3), rel=1e-15)
    assert [each.name for each in tree_of(described(text)).joints] == ["j", "k", "b/fixed"]


@for_each(
    "kind,inside,expected",
    [
        ("revolute", "", ("continuous", None, None)),
        (
            "revolute",
            "<limit><lower>-1e16</lower><upper>1e16</upper></limit>",
            ("continuous", None, None),
        ),
        (
            "revolute",
            "<limit><lower>-inf</lower><upper>inf</upper></limit>",
            ("continuous", None, None),
        ),
        ("revolute", "<limit><lower>-1</lower><upper>2</upper></limit>", ("revolute", -1, 2)),
        ("revolute", "<limit><upper>2</upper></limit>", ("revolute", None, 2)),
        (
            "continuous",
            "<limit><lower>-1</lower><upper>2</upper></limit>",
            ("continuous", None, None),
        ),
        ("prismatic", "<limit><lower>0</lower><upper>2</upper></limit>", ("prismatic", 0, 2)),
    ],
)
def test_position_limits(kind: str, inside: str, expected: tuple[object, ...]) -> None:
    """Limits of 1e16 or more do not exist, and a revolute joint without limits is continuous."""
    entry = tree_of(described(on_axis(inside, kind))).by_name["j"]
    assert (entry.kind, entry.limits.lower, entry.limits.upper) == expected


@for_each(
    "effort,expected,actuated",
    [("-1", None, True), ("inf", None, True), ("0", 0.0, False), ("5", 5.0, True)],
)
def test_effort_limits(effort: str, expected: float | None, actuated: bool) -> None:
    """A negative effort limit does not exist; a joint with limit 0 has no motor."""
    entry = tree_of(
        described(on_axis(f"<limit><effort>{effort}</effort><velocity>-1</velocity></limit>"))
    ).by_name["j"]
    assert (entry.limits.effort, entry.actuated) == (expected, actuated)
    assert entry.limits.velocity is None


def test_spring_damping_and_friction() -> None:
    """τ = k (q - q₀) + d q̇ + μ tanh(q̇ / v), on a joint without gravity torque."""
    dynamics = (
        "<dynamics><damping>2</damping><friction>.5</friction>"
        "<spring_stiffness>3</spring_stiffness><spring_reference>.25</spring_reference></dynamics>"
    )
    arm = robolin.load(on_axis(dynamics), friction_velocity=1e-9)
    tau = robolin.inverse(arm, [1.0], [1.0], [0.0])
    assert tau[0] == pytest.approx(3 * 0.75 + 2 + 0.5, rel=1e-15)


@for_each(
    "motor,armature",
    [
        ("<drake:rotor_inertia>.01</drake:rotor_inertia>", 0.01),
        (
            "<drake:rotor_inertia>.01</drake:rotor_inertia><drake:gear_ratio>5</drake:gear_ratio>",
            0.25,
        ),
        ("", 0.0),
    ],
)
def test_rotor_inertia(motor: str, armature: float) -> None:
    """Drake's rotor inertia and gear ratio become armature."""
    entry = tree_of(described(on_axis("", more=motor))).by_name["j"]
    assert entry.armature == pytest.approx(armature, rel=1e-15)


def test_rotor_of_a_joint_without_motor() -> None:
    """An effort limit of 0 leaves out the motor, with a warning."""
    motor = "<drake:rotor_inertia>.01</drake:rotor_inertia>"
    reading = read(on_axis("<limit><effort>0</effort></limit>", more=motor))

    assert [(finding.id, finding.level) for finding in reading.findings] == [
        ("sdf-left-out", "warning")
    ]
    assert "no motor" in reading.findings[0].message


def test_universal_joint() -> None:
    """Two rotations in series, each axis with limits and damping of its own."""
    first = axis("<dynamics><damping>1</damping></dynamics>", xyz="1 0 0")
    second = axis("<limit><lower>-1</lower><upper>1</upper></limit>", "axis2", "0 1 0")
    for kind in ("universal", "revolute2"):
        text = model(link("a"), link("b"), joint("u", "a", "b", first + second, kind))
        joints = tree_of(described(text)).joints
        assert [(each.name, each.kind) for each in joints] == [
            ("u:axis", "continuous"),
            ("u:axis2", "revolute"),
        ]
        arm = robolin.load(text)
        assert robolin.inverse(arm, [0.2, 0.3], [2.0, 0.0], [0.0, 0.0])[0] == pytest.approx(2.0)


@for_each(
    "pitch,travel",
    [
        ("<screw_thread_pitch>.02</screw_thread_pitch>", 0.02),
        ("<thread_pitch>100</thread_pitch>", -2 * pi / 100),
        ("", 1.0),
    ],
)
def test_screw_joint(pitch: str, travel: float) -> None:
    """M = I + m (p / 2π)², and gravity along the axis is m g p / 2π."""
    arm = robolin.load(
        model(link("a"), link("b"), joint("s", "a", "b", pitch + axis("", xyz="0 0 1"), "screw"))
    )
    rate = travel / (2 * pi)

    assert arm.joint_names == ("s",)
    assert robolin.mass_matrix(arm, [0.7])[0, 0] == pytest.approx(0.1 + rate**2, rel=1e-14)
    assert robolin.inverse(arm, [0.7], [0.0], [0.0])[0] == pytest.approx(G * rate, rel=1e-14)


def test_ball_joint_at_an_offset() -> None:
    """A spherical joint keeps its frame, and its damping is read from <axis>."""
    damped = "<axis><xyz>1 0 0</xyz><dynamics><damping>3</damping></dynamics></axis>"
    text = model(
        link("a"), link("b"), joint("j", "a", "b", "<pose>0 0 1 0 0 0</pose>" + damped, "ball")
    )
    description = described(text)
    entry = tree_of(description).by_name["j"]

    assert (entry.kind, entry.child, entry.damping) == ("spherical", "b@j", 3.0)
    assert description.ignored == ("xyz of a ball joint (1)",)


@for_each(
    "rule,ratio,offset",
    [
        ("<mimic joint='j'><multiplier>2</multiplier></mimic>", 2, 0),
        (
            "<mimic joint='j' axis='axis'><multiplier>2</multiplier><offset>.5</offset>"
            "<reference>.1</reference></mimic>",
            2,
            0.5 - 0.2,
        ),
    ],
)
def test_mimic(rule: str, ratio: float, offset: float) -> None:
    """The position is multiplier (leader - reference) + offset."""
    text = model(
        *(link("a"), link("b"), link("c")),
        joint("j", "a", "b", axis("")),
        joint("k", "b", "c", axis(rule)),
        version="1.11",
    )
    mimic = tree_of(described(text)).mimic["k"]
    assert (mimic.leader, mimic.ratio, mimic.offset) == ("j", ratio, pytest.approx(offset))


def test_mimic_of_drake_and_of_one_axis() -> None:
    """Drake's element has attributes; a joint with two axes is mimicked by one of them."""
    drake = '<drake:mimic joint="j" multiplier="-1" offset=".25"/>'
    pair = axis("", xyz="1 0 0") + axis("", "axis2", "0 0 1")
    second = axis("<mimic joint='u' axis='axis2'><multiplier>3</multiplier></mimic>")
    text = model(
        *map(link, "abcde"),
        joint("j", "a", "b", axis("")),
        joint("k", "a", "c", axis("") + drake),
        joint("u", "a", "d", pair, "universal"),
        joint("l", "a", "e", second),
        version="1.11",
    )
    rules = tree_of(described(text)).mimic
    assert (rules["k"].leader, rules["k"].ratio, rules["k"].offset) == ("j", -1, 0.25)
    assert (rules["l"].leader, rules["l"].ratio) == ("u:axis2", 3)


def test_inertia_in_rotated_axes() -> None:
    """R I Rᵀ about the centre of mass: a rotation by 90° about z swaps xx and yy."""
    body = (
        '<inertial><pose degrees="true">1 2 3 0 0 90</pose><mass>4</mass><inertia><ixx>1</ixx>'
        "<iyy>2</iyy><izz>2.5</izz><ixz>.25</ixz></inertia></inertial>"
    )
    inertia = described(model(f'<link name="a">{body}</link>')).links[0].inertia

    assert inertia is not None
    assert (inertia.mass, inertia.com) == (4, (1, 2, 3))
    assert inertia.rotary == pytest.approx((2, 0, 0, 1, 0.25, 2.5), abs=1e-15)
