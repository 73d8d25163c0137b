"""Torque sources of a simulation: constant, from a file, or a control law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robolin.core.choices import CONTROL_LAWS
from robolin.core.text_parsing import (
    FlagText,
    numbers,
    parse_one_or_per_joint,
    parse_per_joint,
    parse_pose,
    parse_time_window,
    split_hold,
)
from robolin.queries.question import Question, parsed_option
from robolin.queries.values import accelerations_text

if TYPE_CHECKING:
    from robolin.control.simulation.controllers import Law
    from robolin.control.simulation.feedback_control import ComputedTorque, PDControl
    from robolin.control.simulation.reference import Prescription
    from robolin.control.simulation.torques import Push
    from robolin.core.arm import Arm
    from robolin.queries.simulate_start import ReferenceTrajectory

RATE, POSE, PD, COMPUTED = CONTROL_LAWS
TRACKING = (PD, COMPUTED)


def compensates_gravity(question: Question) -> bool:
    """True if --tau hold compensates gravity and external loads."""
    return split_hold(question.text("tau") or "")[0]


def constant_torque(question: Question, arm: Arm) -> list[float]:
    """Parse the constant torque, without gravity compensation."""
    _, text = split_hold(question.text("tau") or "")
    return parse_per_joint(FlagText("--tau", text), arm, False) if text else [0.0] * arm.n


def disturbance(question: Question, arm: Arm) -> Push | None:
    """Parse the disturbance torque VALUES or VALUES@FROM:TO."""
    from robolin.control.simulation.torques import Push

    text = question.text("disturb")
    if text is None:
        return None
    values, *window = parse_time_window(FlagText("--disturb", text)) or (text,)
    return Push(parse_per_joint(FlagText("--disturb", values), arm, False), *window)


def prescription_from_options(question: Question, arm: Arm) -> Prescription | None:
    """Return the prescribed joints and their typed accelerations; None without --prescribe."""
    from robolin.control.simulation.reference import Prescription
    from robolin.evaluation.prescribed_joints import prescribed_joints

    named, text = question.text("prescribe"), question.text("qdd")
    if named is None:
        return None
    # parse here, so that an error names the flag
    prescribed = prescribed_joints(arm, named, "--prescribe")
    if text is None:
        return Prescription(named, 0.0, accelerations_text(arm, prescribed, None))
    qdd = parse_per_joint(FlagText("--qdd", text), arm, True)
    return Prescription(named, qdd, accelerations_text(arm, prescribed, qdd))


def control_law(question: Question, arm: Arm, reference: ReferenceTrajectory | None) -> Law | None:
    """Return the control law of --control; None without the option."""
    from robolin.control.simulation.controllers import PoseControl, RateControl
    from robolin.core.arm_parts import rotation_from_rpy

    control, gains = question.text("control"), question.text("gain")
    if control is None:
        return None
    if control in TRACKING:
        return _tracking(question, arm, reference)
    gain = 1.0 if gains is None else parse_one_or_per_joint(FlagText("--gain", gains), arm)
    if control == RATE:
        return RateControl(gain)
    target = question.text("target") or ""
    frame, position, angles = parse_pose(FlagText("--target", target))
    R = rotation_from_rpy(*angles)
    rotation = [list(R[i : i + 3]) for i in (0, 3, 6)]
    stiffness = {
        label.replace("-", "_"): values if len(values) == 3 else values[0]
        for label in ("position-gain", "orientation-gain")
        if (
            values := parsed_option(
                question, label, numbers, "one number for all axes, or X,Y,Z", 1, 3
            )
        )
    }
    return PoseControl(frame, position, rotation, gain, **stiffness)


def _tracking(
    question: Question, arm: Arm, reference: ReferenceTrajectory | None
) -> PDControl | ComputedTorque:
    from robolin.control.simulation.feedback_control import ComputedTorque, PDControl

    kp, kd = (
        _gain(question, label, default, arm) for label, default in (("kp", 100.0), ("kd", 20.0))
    )
    pd = question.text("control") == PD
    if reference is not None:
        motion, time = (reference.q, reference.qd), reference.time
        if pd:
            return PDControl(*motion, kp=kp, kd=kd, time=time)
        return ComputedTorque(*motion, reference.qdd, kp=kp, kd=kd, time=time)
    goal = question.text("goal")
    q = (
        [0.0] * arm.n
        if goal is None
        else parse_per_joint(FlagText("--goal", goal), arm, True, True)
    )
    return (PDControl if pd else ComputedTorque)(q, kp=kp, kd=kd)


def _gain(question: Question, label: str, default: float, arm: Arm) -> float | list[float]:
    text = question.text(label)
    return default if text is None else parse_one_or_per_joint(FlagText(f"--{label}", text), arm)


def control_line(question: Question) -> str:
    """Describe the control law for the contract."""
    if question.text("control") in TRACKING:
        kp, kd = (
            question.text(label) or default for label, default in (("kp", "100"), ("kd", "20"))
        )
        follow = question.options.get("follow")
        goal = f"along {follow}" if follow else f"to {question.text('goal') or '0'}"
        to = f"kp = {kp}, kd = {kd}, {goal}"
        law = "kp (q₀ - q) + kd (q̇₀ - q̇)" if follow else "kp (q₀ - q) - kd q̇"
        if question.text("control") == PD:
            return f"{law} and what carries weight and loads; {to}"
        return f"inverse dynamics of {'q̈₀ + ' if follow else ''}{law}; {to}"
    more = "weight, loads and losses made up for"
    gain = f"c = {question.text('gain') or '1'}"
    if question.text("control") == RATE:
        return f"control 8.1, ε = -c ν with {gain}; {more}"
    position, orientation = (question.text(f"{name}-gain") for name in ("position", "orientation"))
    stiff = f"{position or '100'} N/m and {orientation or '10'} N·m"
    law = "control 8.2, ε = -c ν + m⁻¹ J* k e"
    return f"{law} with {gain}, k = {stiff}, to {question.text('target')}; {more}"
