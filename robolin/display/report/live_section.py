"""Report section that computes: sliders, and a WebAssembly module of the robot's dynamics."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import Any

import numpy as np

from robolin.codegen.functions import chosen_questions
from robolin.codegen.wasm_files import module_info
from robolin.codegen.wasm_module import wasm_module
from robolin.core.arm import Arm
from robolin.core.quantity_table import joint_unit
from robolin.display.report.arm_section import arm_drawing
from robolin.display.report.page_markup import (
    PageTable,
    element,
    filled,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.display.report.visuals import Visuals
from robolin.errors import RobolinError

_VERBS = ("inverse", "mass-matrix", "jacobian", "linearize-forward")
# the page updates all of it in a frame up to this number of joints
MOST_JOINTS = 12
# travel of a joint without limits, in rad and m
_FREE_TURN, _FREE_SLIDE = np.pi, 1.0
_ROWS = ("wx", "wy", "wz", "vx", "vy", "vz")


def live_section(reported: ReportedArm) -> tuple[str, dict[str, Any] | None]:
    """HTML and data of the section; the reason and None for robots that it does not support."""
    arm = reported.arm
    if reason := _unsupported(arm):
        return _left_out(reason), None
    frame = arm.links[-1].name
    try:
        module = wasm_module(chosen_questions(arm, _VERBS, frame=frame), "loops")
    except RobolinError as error:
        # a joint without inertia has no linear model
        return _left_out(f"{error.message}."), None
    info = module_info(module, "")
    # names of other frames are not needed, and may be long
    info["model"]["frames"] = {"tip": info["model"]["frames"][frame]}
    kept = {key: info[key] for key in ("functions", "model", "units")}
    joints = arm.joints
    data = {
        "module": b64encode(module.content).decode("ascii"),
        "info": {**kept, "joints": [shown_name(joint.name) for joint in joints]},
        "frame": "tip",
        "start": np.asarray(reported.first_pose, float).tolist(),
        "limits": [_finite(joint.limits.effort_range) for joint in joints],
        "efforts": [joint_unit("effort", joint.turns) for joint in joints],
        "actuated": [i for i, joint in enumerate(joints) if joint.actuated is not False],
        "linearRows": _ROWS.index("vx"),
        "reach": _reach(arm),
    }
    return _markup(reported, frame), data


def _unsupported(arm: Arm) -> str:
    """Why the section does not support an arm; '' if it does."""
    if arm.loops:
        return "closed loops are not supported."
    if arm.groups:
        kind = arm.groups[0].kind
        return f"{kind} joints, such as '{shown_name(arm.groups[0].name)}', are not supported."
    if arm.n > MOST_JOINTS:
        return f"this robot has {arm.n} joints, but at most {MOST_JOINTS} joints are supported."
    return ""


def _left_out(reason: str) -> str:
    text = f"This section cannot be computed for this robot: {reason} "
    return markup(paragraph(f"{text}For other states, write another report with `--q` and `--qd`."))


def _finite(ends: tuple[float, float]) -> list[float | None]:
    return [end if np.isfinite(end) else None for end in ends]


def _reach(arm: Arm) -> float:
    """Sum of the distances between joints, for the size of the ellipsoid."""
    offsets = [link.joint.pose.translation for link in arm.links]
    return float(sum(np.sqrt(np.dot(each, each)) for each in offsets)) or 1.0


def _markup(reported: ReportedArm, frame: str) -> str:
    arm = reported.arm
    names = [shown_name(name) for name in arm.joint_names]
    mass = sum(link.inertia.mass for link in arm.links)
    columns = ("joint", *names)
    tables = [
        PageTable(
            "Mass matrix", columns, _empty(names, names), frozenset(columns[1:]), "live-mass"
        ),
        PageTable(
            f"Jacobian of {shown_name(frame)}, in world axes",
            ("row", *names),
            _empty(_ROWS, names),
            frozenset(names),
            "live-jacobian",
        ),
    ]
    return filled(
        "live.html",
        view=arm_drawing("live", reported, Visuals()),
        sliders="\n".join(_slider(arm, i, name) for i, name in enumerate(names)),
        frame=escape(shown_name(frame)),
        payload=f"{max(0.1, float(f'{mass / 3.0:.1g}')):g}",
        joints="".join(
            f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(names)
        ),
        bars="\n".join(map(_bar, names)),
        tables=markup(*(table(each) for each in tables)),
    )


def _empty(rows: Any, columns: Any) -> list[tuple[str, ...]]:
    return [(row, *("0" for _ in columns)) for row in rows]


def _slider(arm: Arm, index: int, name: str) -> str:
    joint = arm.joints[index]
    free = _FREE_TURN if joint.turns else _FREE_SLIDE
    limits = joint.limits
    low = -free if limits.lower is None or joint.kind == "continuous" else limits.lower
    high = free if limits.upper is None or joint.kind == "continuous" else limits.upper
    slider = element(
        "input", type="range", data_joint=str(index), min=repr(low), max=repr(high), step="any"
    )
    label = element("label", element("span", element("bdi", name)), slider, element("output"))
    return markup(label)


def _bar(name: str) -> str:
    return (
        f'<li><div class="bar"><bdi>{escape(name)}</bdi><span class="what">torque</span>'
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="10"></rect>'
        '<rect class="use within" width="0" height="10"></rect></svg>'
        '<b></b><span class="value"></span></div></li>'
    )
