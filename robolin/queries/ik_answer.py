"""The `ik` query: joint positions that place a frame at a goal pose."""

from __future__ import annotations

import numpy as np

from robolin.control.optimization.inverse_kinematics import PoseGoal, ik
from robolin.core.arm_parts import rotation_from_rpy
from robolin.core.progress import running
from robolin.core.quantity_table import COLUMN_WORDS, unit_of
from robolin.core.result import Array, Result
from robolin.core.text_parsing import FlagText, parse_number, parse_per_joint, split_name
from robolin.evaluation.frames import default_frame
from robolin.queries.question import Question
from robolin.queries.request import QueryContext

_FORM, _EXAMPLE = "FRAME=X,Y,Z or FRAME=X,Y,Z,ROLL,PITCH,YAW", "tool0=0.4,0,0.5,0,90deg,0"


def answer_ik(context: QueryContext) -> Result:
    """Solve the inverse kinematics, and return positions and remaining errors."""
    arm, question = context.arm, context.question
    context.emit_arm_notes()
    goal = parse_pose_goal(FlagText("--goal", question.text("goal") or ""))
    start = context.states.typed.get("q")
    count, seed = question.count("starts"), question.count("seed")
    if goal.frame is None:
        default_frame(arm, "--goal FRAME=X,Y,Z")
    with running("inverse kinematics"):
        solution = ik(
            arm,
            goal,
            q=None if start is None else parse_per_joint(FlagText("--q", start), arm, True, True),
            starts=32 if count is None else count,
            seed=0 if seed is None else seed,
            limits=not question.flag("ignore-limits"),
        )
    kinds = [joint.kind for joint in arm.joints]
    errors = {"position_error": solution.position_error}
    if goal.rotation is not None:
        errors["orientation_error"] = solution.orientation_error
    arrays = (
        Array("q", solution.q, (arm.joint_names,), unit_of("q", kinds), COLUMN_WORDS["q"]),
        *(Array(name, np.array(error), (), unit_of(name, kinds)) for name, error in errors.items()),
    )
    limits = "ignored" if question.flag("ignore-limits") else "respected"
    lines = {
        "goal": f"pose of '{solution.frame}' in the axes of the root link",
        "position limits": limits,
        "starts": f"{solution.reached} of {32 if count is None else count} reach the goal",
    }
    return context.result(arrays, lines)


def validate_values(question: Question) -> None:
    """Parse the goal, so that errors come before the arm is loaded."""
    parse_pose_goal(FlagText("--goal", question.text("goal") or ""))


def parse_pose_goal(typed: FlagText) -> PoseGoal:
    """Parse FRAME=X,Y,Z[,ROLL,PITCH,YAW]; without a frame, the goal of the tip."""
    frame, pose = split_name(typed, _FORM, _EXAMPLE) if "=" in typed.text else ("", typed.text)
    parsed = [parse_number(typed, item) for item in pose.split(",")]
    if len(parsed) not in (3, 6):
        raise typed.wrong(f"must have the form {_FORM}", f"write for example {_EXAMPLE}")
    if any(degrees for _, degrees in parsed[:3]):
        raise typed.wrong("X,Y,Z are in m, not in degrees")
    values = [value for value, _ in parsed]
    rotation = None
    if len(values) == 6:
        R = rotation_from_rpy(values[3], values[4], values[5])
        rotation = np.array(R).reshape(3, 3)
    return PoseGoal(frame.strip() or None, values[:3], rotation)
