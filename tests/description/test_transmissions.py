"""Rotor inertia in the transmissions of a URDF file is armature, as in Drake."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.description.load import read
from robolin.errors import RobolinError

needs_drake = pytest.mark.skipif(find_spec("pydrake") is None, reason="needs pip install drake")

RATIO = '<drake:gear_ratio value="10"/>'
ROTOR = '<drake:rotor_inertia value="0.3"/>'
SIMPLE = "<type>transmission_interface/SimpleTransmission</type>"


def transmission(actuator: str, joint: str = "j", kind: str = SIMPLE, attributes: str = "") -> str:
    return (
        f'<transmission name="t"{attributes}>{kind}<joint name="{joint}"/>'
        f'<actuator name="m">{actuator}</actuator></transmission>'
    )


def pendulum(parts: str, effort: str = "10", kind: str = "revolute") -> str:
    """A pendulum with 2 kg at 0.5 m and 0.25 kg·m² about its joint."""
    return f"""<robot name="pendulum" xmlns:drake="http://drake.mit.edu">
<link name="base"/>
<link name="bob"><inertial><origin xyz=".5 0 0"/><mass value="2"/>
  <inertia ixx=".2" ixy="0" ixz="0" iyy=".2" iyz="0" izz=".25"/></inertial></link>
<joint name="j" type="{kind}"><parent link="base"/><child link="bob"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" velocity="1" effort="{effort}"/></joint>
{parts}
</robot>"""


ABOUT_JOINT = 0.25 + 2 * 0.5**2

# transmissions and the armature that Drake 1.51 adds to M: one row for every rule of its parser
APPLIED = [
    (transmission(RATIO + ROTOR), 30.0),
    (transmission(ROTOR), 0.3),
    (transmission(RATIO), 0.0),
    (transmission('<drake:gear_ratio value="-10"/>' + ROTOR), 30.0),
    (transmission(RATIO + ROTOR, kind="", attributes=' type="pr2/SimpleTransmission"'), 30.0),
]
LEFT_OUT = [
    (transmission(RATIO + ROTOR, kind="<type>DifferentialTransmission</type>"), "Differential"),
    (transmission('<drake:gear_ratio value="0"/>' + ROTOR), "gear_ratio is 0"),
    (transmission("").replace("</transmission>", f"{ROTOR}</transmission>"), "first actuator"),
]


@pytest.mark.parametrize(("text", "armature"), APPLIED, ids=range(len(APPLIED)))
def test_rotor_inertia_is_armature(text: str, armature: float) -> None:
    """The mass matrix of a pendulum is its inertia about the joint plus ratio² · rotor inertia."""
    arm = robolin.load(pendulum(text), strict=False)
    assert robolin.mass_matrix(arm, [0.4]) == pytest.approx(ABOUT_JOINT + armature, rel=1e-15)
    assert not [each for each in read(pendulum(text)).findings if each.id == "urdf-left-out"]


@pytest.mark.parametrize(("text", "why"), LEFT_OUT, ids=range(len(LEFT_OUT)))
def test_a_rotor_that_is_left_out_is_warned_about(text: str, why: str) -> None:
    """A rotor inertia that Drake does not apply is not applied, with a warning that says why."""
    arm = robolin.load(pendulum(text))
    assert robolin.mass_matrix(arm, [0.4]) == pytest.approx(ABOUT_JOINT, rel=1e-15)
    (finding,) = [each for each in read(pendulum(text)).findings if each.id == "urdf-left-out"]
    assert why in finding.message
    with pytest.raises(RobolinError, match="rotor_inertia"):
        robolin.load(pendulum(text), strict=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (pendulum(transmission(ROTOR), effort="0"), "effort limit of 0"),
        (pendulum(transmission(ROTOR, joint="k")), "no joint 'k'"),
        (pendulum(transmission(ROTOR), kind="planar"), "is planar"),
    ],
    ids=["effort", "unknown", "planar"],
)
def test_a_rotor_without_a_motor_is_warned_about(text: str, why: str) -> None:
    """A joint without effort, without a name in the file or with several axes has no rotor."""
    reading = read(text)
    (finding,) = [each for each in reading.findings if each.id == "urdf-left-out"]
    assert why in finding.message
    assert reading.description is not None
    assert reading.description.joints[0].armature == 0.0


def test_several_rotors_add_up() -> None:
    """The reflected inertias of two rotors on one joint are added."""
    text = pendulum(transmission(RATIO + ROTOR) + transmission(ROTOR))
    arm = robolin.load(text)
    assert robolin.mass_matrix(arm, [0.4]) == pytest.approx(ABOUT_JOINT + 30.3, rel=1e-15)
    assert [each.id for each in read(text).findings if each.level == "warning"] == [
        "several-rotors"
    ]


@pytest.mark.parametrize(
    ("actuator", "finding"),
    [
        ("<drake:rotor_inertia/>", "missing-attribute"),
        ('<drake:rotor_inertia value="heavy"/>', "number-malformed"),
        (ROTOR + '<drake:gear_ratio value="nan"/>', "number-not-finite"),
        (ROTOR + '<drake:gear_ratio value="1e200"/>', "number-not-finite"),
    ],
)
def test_a_rotor_that_is_no_number_is_an_error(actuator: str, finding: str) -> None:
    """A missing, malformed or infinite value is an error at its line."""
    (reported,) = [
        each for each in read(pendulum(transmission(actuator))).findings if each.level == "error"
    ]
    assert (reported.id, reported.location.line) == (finding, 7)


def test_everything_else_of_a_transmission_is_listed() -> None:
    """The contract counts every part of a transmission that is not read, and none that is."""
    interface = "<hardwareInterface>hardware_interface/Effort</hardwareInterface>"
    gains = '<drake:controller_gains p="1" d="2"/>'
    reduction = "<mechanicalReduction>1</mechanicalReduction>"
    plain = f'<transmission name="u">{SIMPLE}<joint name="j"/><odd/></transmission>'
    arm = robolin.load(pendulum(transmission(interface + gains + reduction + RATIO + ROTOR)))
    (listed,) = arm.contract["ignored"]
    assert listed == (
        "transmission (1): drake:controller_gains (1), drake:controller_gains attribute d (1), "
        "drake:controller_gains attribute p (1), hardwareInterface Effort (1), "
        "mechanicalReduction (1)"
    )
    assert arm.contract["notes"] == [
        "armature of 1 joint is drake:gear_ratio² · drake:rotor_inertia"
    ]
    assert robolin.load(pendulum(transmission(ROTOR))).contract["ignored"] == []
    assert robolin.load(pendulum(plain)).contract["ignored"] == [
        "transmission (1): joint (1), odd (1), type (1)"
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("drake:rotor_inertai", "drake:rotor_inertia"),
        ("drake:gear_ratoi", "drake:gear_ratio"),
        ("Drake:Rotor_Inertia", "drake:rotor_inertia"),
        ("rotor_inertia", "drake:rotor_inertia"),
    ],
)
def test_a_misspelt_rotor_is_warned_about(written: str, meant: str) -> None:
    """An element that looks like one of Drake's gets a warning with the right name."""
    actuator = (RATIO + ROTOR).replace(f"<{meant}", f"<{written}")
    text = pendulum(transmission(actuator))
    warnings = [each for each in read(text).findings if each.level == "warning"]
    assert [(each.id, each.hint) for each in warnings] == [("misspelt", f"did you mean '{meant}'?")]
    assert f"<{written}>" in warnings[0].message
    with pytest.raises(RobolinError, match=written):
        robolin.load(text, strict=True)


@pytest.mark.parametrize(
    ("gear", "note"),
    [(RATIO, ", drake:gear_ratio is applied instead: 10 on 'j'"), ("", ": 10 on 'j'")],
)
def test_a_reduction_next_to_a_gear_ratio_is_noted(gear: str, note: str) -> None:
    """A mechanicalReduction has no effect; the note states whether drake:gear_ratio has."""
    reduction = "<mechanicalReduction>10</mechanicalReduction>"
    arm = robolin.load(pendulum(transmission(reduction + gear + ROTOR)))
    assert f"mechanicalReduction is ignored{note}" in arm.contract["notes"]


def plant(text: str) -> Any:
    """Drake's plant of a URDF text, its link 'base' welded to the world."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    made = MultibodyPlant(0.0)
    Parser(made).AddModelsFromString(text, "urdf")
    made.WeldFrames(made.world_frame(), made.GetFrameByName("base"))
    made.Finalize()
    return made


def mass_matrix_of_drake(made: Any, q: Any) -> Any:
    context = made.CreateDefaultContext()
    made.SetPositions(context, q)
    return made.CalcMassMatrix(context)


@needs_drake
@pytest.mark.parametrize("text", [text for text, _ in (*APPLIED, *LEFT_OUT)])
def test_every_rule_is_that_of_drake(text: str) -> None:
    """Drake applies or leaves out the same rotor inertias, to the rounding of one sum."""
    M = mass_matrix_of_drake(plant(pendulum(text)), [0.4])
    assert robolin.mass_matrix(robolin.load(pendulum(text)), [0.4]) == pytest.approx(M, rel=1e-14)


@needs_drake
def test_rotors_of_a_chain_agree_with_drake() -> None:
    """M of five geared joints at random states, to 1e-12 of its largest entry."""
    rng = np.random.default_rng(3)
    parts = ['<link name="base"/>']
    for k in range(5):
        x, y, z = rng.uniform(-0.3, 0.3, 3)
        kind = "prismatic" if k == 2 else "revolute"
        parent = f"l{k - 1}" if k else "base"
        parts.append(
            f'<link name="l{k}"><inertial><origin xyz="{x} {y} {z}"/>'
            f'<mass value="{rng.uniform(1, 3)}"/><inertia ixx=".02" ixy=".001" ixz="0" '
            f'iyy=".03" iyz=".002" izz=".04"/></inertial></link>'
            f'<joint name="j{k}" type="{kind}"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{z} {x} .3" rpy="{x} {y} {z}"/><axis xyz="0 {k % 2} 1"/>'
            '<limit lower="-3" upper="3" velocity="1" effort="9"/></joint>'
            + transmission(
                f'<drake:rotor_inertia value="{rng.uniform(0, 1e-3)}"/>'
                f'<drake:gear_ratio value="{rng.uniform(20, 160)}"/>',
                f"j{k}",
            ).replace('name="m"', f'name="m{k}"')
        )
    text = f'<robot name="r" xmlns:drake="http://drake.mit.edu">{"".join(parts)}</robot>'
    arm, made = robolin.load(text), plant(text)
    for q in rng.uniform(-2, 2, (5, 5)):
        M = mass_matrix_of_drake(made, q)
        assert np.abs(robolin.mass_matrix(arm, q) - M).max() <= 1e-12 * np.abs(M).max()
