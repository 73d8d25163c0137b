"""Playground of the docs: a live report of every bundled robot, written into the site.

Each page is the page that `robolin report` writes, with a motion of the robot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import robolin
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.description.robot_source import bundled_names
from robolin.queries.states import States
from tools.operators_page import operators_page

ROWS, DURATION = 201, 2.0


def playground_names() -> list[str]:
    """Robots whose report has a live section with sliders: those without closed loops."""
    return [name for name in bundled_names() if not robolin.load(name).loops]


def motion_columns(arm: Arm) -> dict[str, Floats]:
    """A smooth motion from the pose 'home', or 0, and back, within the position limits."""
    t = np.linspace(0.0, DURATION, ROWS)[:, None]
    start = np.asarray(arm.poses.get("home", np.zeros(arm.n)), float)
    low, high = (np.array([_end(joint, side) for joint in arm.joints]) for side in (0, 1))
    middle = np.clip(start, low, high)
    # half of the room on the wider side, at most 0.8 rad or m
    room = np.where(high - middle > middle - low, high - middle, low - middle)
    reach = np.sign(room) * np.minimum(0.5 * np.abs(room), 0.8)
    w = 2.0 * np.pi / DURATION
    return {
        "time": t[:, 0],
        "q": middle + reach * 0.5 * (1.0 - np.cos(w * t)),
        "qd": reach * 0.5 * w * np.sin(w * t),
        "qdd": reach * 0.5 * w * w * np.cos(w * t),
    }


def _end(joint: robolin.Joint, side: int) -> float:
    limit = joint.limits.upper if side else joint.limits.lower
    if limit is None or joint.kind == "continuous":
        return (-np.pi, np.pi)[side]
    return limit


def write_playground(site: Path, verify_states: int = 2) -> Iterator[str]:
    """Write a page per robot into the site's folder `playground`; yield their names."""
    folder = site / "playground"
    folder.mkdir(exist_ok=True)
    for name in playground_names():
        arm = robolin.load(name)
        path = (folder / f"{name}.html").resolve()
        # a relative path: the page names its recording
        with TemporaryDirectory() as scratch, chdir(scratch):
            motion = motion_columns(arm)
            q, qd, qdd = (motion[name] for name in ("q", "qd", "qdd"))
            np.savez("motion.npz", time=motion["time"], q=q, qd=qd, qdd=qdd)
            states = States(trajectory="motion.npz")
            robolin.report(
                name,
                states=states,
                path=path,
                verify_states=verify_states,
                notify=lambda *_: None,
            )
        yield name
    (folder / "operators.html").write_text(operators_page(), "utf-8")
    yield "operators"
