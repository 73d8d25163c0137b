"""Quaternions among a file's columns, where a joint that turns freely has them for its angles.

A floating joint `base` has the positions base:rx, base:ry, base:rz (roll, pitch, yaw).  The four
columns base:qx … base:qw, in any of the styles that have names, may stand in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robolin.core.arrays import Floats
from robolin.core.quantity_table import column_name
from robolin.core.quaternions import LENGTH_TOLERANCE, rpy_from_quaternion
from robolin.errors import RobolinError

EULER_ANGLES = ("rx", "ry", "rz")
QUATERNION_PARTS = ("qx", "qy", "qz", "qw")


@dataclass(frozen=True)
class Orientation:
    """A joint whose angles, at these places in q, come from the quaternion in these columns."""

    joint: str
    places: tuple[int, ...]
    columns: tuple[int, ...]


def orientations(
    columns: Sequence[str], joints: Mapping[int, str], where: str
) -> tuple[tuple[Orientation, ...], list[RobolinError]]:
    """The quaternions that a file has of joints, by their places, and what is wrong with them.

    One that is wrong is there without columns: its angles are not missing besides.
    """
    place = {name: i for i, name in joints.items()}
    found, problems = [], []
    for joint in (name.removesuffix(":rx") for name in place if name.endswith(":rx")):
        angles = [place.get(f"{joint}:{part}") for part in EULER_ANGLES]
        written = {part: _written(columns, f"{joint}:{part}") for part in QUATERNION_PARTS}
        if None in angles or not any(written.values()):
            continue
        known = tuple(angle for angle in angles if angle is not None)
        if problem := _problem(joint, written, columns, where):
            problems.append(problem)
            found.append(Orientation(joint, known, ()))
        else:
            found.append(
                Orientation(joint, known, tuple(written[part][0] for part in QUATERNION_PARTS))
            )
    return tuple(found), problems


def _written(columns: Sequence[str], name: str) -> list[int]:
    spellings = (column_name("q", name), f"q_{name}", f"{name}.q")
    return [i for i, column in enumerate(columns) if column in spellings]


def _problem(
    joint: str, written: Mapping[str, list[int]], columns: Sequence[str], where: str
) -> RobolinError | None:
    if missing := [part for part, places in written.items() if not places]:
        names = ", ".join(column_name("q", f"{joint}:{part}") for part in QUATERNION_PARTS)
        return RobolinError(
            f"the quaternion of joint '{joint}' has no {', '.join(missing)}",
            where=where,
            hint=f"it takes all of {names}",
        )
    if twice := [part for part, places in written.items() if len(places) > 1]:
        message = f"the quaternion of joint '{joint}' has {', '.join(twice)} more than once"
        return RobolinError(message, where=where, hint="keep one of them")
    if both := [part for part in EULER_ANGLES if _written(columns, f"{joint}:{part}")]:
        return RobolinError(
            f"joint '{joint}' has both a quaternion and {', '.join(both)}",
            where=where,
            hint="keep one of them: they say the same",
        )
    return None


def angles(
    orientation: Orientation, quaternions: Floats, place: Callable[[int], str], gaps: bool
) -> Floats:
    """Roll, pitch and yaw (rows, 3); a row whose quaternion is no turn is NaN if gaps may be."""
    length = np.linalg.norm(quaternions, axis=1)
    off = np.abs(length - 1.0)
    bad = ~(off <= LENGTH_TOLERANCE)
    if bad.any() and not gaps:
        row = int(np.argmax(bad))
        raise RobolinError(
            f"the quaternion of joint '{orientation.joint}' has length {length[row]:.9g}, not 1",
            where=place(row),
            hint="the order is qx, qy, qz, qw",
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        turned: Floats = rpy_from_quaternion(quaternions / length[:, None])
    turned[bad] = np.nan
    return turned
