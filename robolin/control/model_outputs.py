"""What a linear model tells: joints and frames as rows of C and D, with names and units.

An output is `q`, `qd`, `qdd` or `tau` of all joints, `JOINT/position` (velocity, acceleration,
effort) of one, `FRAME` or `FRAME/displacement` (velocity, acceleration), or one number of a frame
such as `FRAME/vx`.  `joint:` or `frame:` in front says which of two things of one name is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.control.operating_point import OperatingPoint
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.choices import REFERENCES
from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.text import did_you_mean
from robolin.core.units import joint_units, unit_of
from robolin.errors import UsageError
from robolin.evaluation.dispatch import evaluate_any_arm
from robolin.evaluation.frames import at_frame

DISPLACEMENT = ("rx", "ry", "rz", "x", "y", "z")
VELOCITY = ("wx", "wy", "wz", "vx", "vy", "vz")
ACCELERATION = ("dwx", "dwy", "dwz", "ax", "ay", "az")
FRAME_WORDS = {"displacement": DISPLACEMENT, "velocity": VELOCITY, "acceleration": ACCELERATION}
FRAME_UNITS = {
    "displacement": joint_units("position"),
    "velocity": joint_units("velocity"),
    "acceleration": joint_units("acceleration"),
}
OUTPUT_MATRICES = ("of_q", "of_qd", "of_qdd", "of_tau")


@dataclass(frozen=True, eq=False)
class OutputRows:
    """Outputs y + of_q δq + of_qd δq̇ + of_qdd δq̈ + of_tau δτ, all (..., p, n) but y (..., p).

    Matrices that are the same for a whole batch have no batch axes.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    y: Floats
    of_q: Floats
    of_qd: Floats
    of_qdd: Floats
    of_tau: Floats


def output_rows(
    arm: Arm, point: OperatingPoint, outputs: Sequence[str] | str, reference: str
) -> OutputRows:
    """The rows of all outputs asked for, in their order."""
    wanted = [outputs] if isinstance(outputs, str) else list(outputs)
    if not wanted:
        raise UsageError("no output is asked for", where="outputs", hint="q, qd, or a frame")
    if reference not in REFERENCES:
        raise UsageError(f"there is no reference '{reference}'", hint="'world' or 'frame'")
    parts = [_rows(arm, point, each, reference) for each in wanted]
    names = [name for part in parts for name in part.names]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"the output '{twice}' is asked for twice", where="outputs")
    matrices = {key: _stacked([getattr(part, key) for part in parts]) for key in OUTPUT_MATRICES}
    y = np.concatenate([part.y for part in parts], axis=-1)
    return OutputRows(
        tuple(names), tuple(unit for part in parts for unit in part.units), y, **matrices
    )


def _rows(arm: Arm, point: OperatingPoint, wanted: str, reference: str) -> OutputRows:
    if wanted in COLUMN_WORDS:
        return _joint_rows(arm, point, wanted, range(arm.n))
    kind, name, word = _parsed_output(arm, wanted)
    if kind == "joint":
        quantity = next(key for key, each in COLUMN_WORDS.items() if each == word)
        return _joint_rows(arm, point, quantity, [arm.joint_names.index(name)])
    if word:
        whole = next(key for key, parts in FRAME_WORDS.items() if word in (key, *parts))
        rows = _frame_rows(arm, point, name, whole, reference)
        return rows if word == whole else _picked(rows, FRAME_WORDS[whole].index(word))
    halves = (
        _frame_rows(arm, point, name, each, reference) for each in ("displacement", "velocity")
    )
    return _joined(*halves)


def _parsed_output(arm: Arm, wanted: str) -> tuple[str, str, str]:
    """Whether an output is about a joint or a frame, its name, and what of it."""
    only, _, rest = wanted.partition(":")
    text = rest if only in ("joint", "frame") else wanted
    name, _, word = text.rpartition("/") if "/" in text else (text, "", "")
    frame_words = ("", *FRAME_WORDS, *DISPLACEMENT, *VELOCITY, *ACCELERATION)
    joint = name in arm.joint_names and word in COLUMN_WORDS.values() and only != "frame"
    frame = name in arm.frames and word in frame_words and only != "joint"
    if joint and frame:
        hint = f"write 'joint:{text}' or 'frame:{text}'"
        raise UsageError(f"'{wanted}' is both a joint and a frame", where="outputs", hint=hint)
    if joint or frame:
        return ("joint" if joint else "frame"), name, word
    if name in arm.joint_names or name in arm.frames:
        words = [*COLUMN_WORDS.values()] if name in arm.joint_names else list(frame_words[1:])
        raise UsageError(
            f"outputs: '{name}' has no '{word}'" if word else f"outputs: what of '{name}'?",
            hint=f"it has {', '.join(words)}",
        )
    known = (*COLUMN_WORDS, *arm.joint_names, *arm.frames)
    raise UsageError(f"outputs: there is no '{name}'", hint=did_you_mean(name, known))


def _joint_rows(
    arm: Arm, point: OperatingPoint, quantity: str, places: Sequence[int]
) -> OutputRows:
    chosen = np.eye(arm.n)[list(places)]
    none = np.zeros_like(chosen)
    matrices = {f"of_{each}": chosen if each == quantity else none for each in COLUMN_WORDS}
    joints = [arm.joints[i] for i in places]
    names = tuple(column_name(quantity, joint.name) for joint in joints)
    units = tuple(unit_of(quantity, [joint.kind]) for joint in joints)
    values = getattr(point, quantity)
    chosen_values = values if len(joints) == arm.n else values[..., list(places)]
    return OutputRows(names, units, chosen_values, **matrices)


def _frame_rows(
    arm: Arm, point: OperatingPoint, frame: str, word: str, reference: str
) -> OutputRows:
    """The six rows of a frame's displacement, velocity or acceleration."""
    placed = at_frame(arm, frame)
    state = {"q": point.q, "qd": point.qd, "qdd": point.qdd}
    moving = evaluate_any_arm(placed, "jacobian", state)
    J = moving["jacobian"]
    none = np.zeros(J.shape[-2:])
    of_q, of_qd, of_qdd, value = J, none, none, np.zeros(J.shape[:-1])
    if word != "displacement":
        changes = evaluate_any_arm(placed, "frame-derivatives", state)
    if word == "velocity":
        of_q, of_qd, value = changes["dtwist_dq"], J, moving["twist"]
    elif word == "acceleration":
        of_q, of_qd = changes["dclassical_acceleration_dq"], changes["dclassical_acceleration_dqd"]
        of_qdd, value = J, evaluate_any_arm(placed, "frame-motion", state)["classical_acceleration"]
    if reference == "frame":
        R, turned = moving["rotation"], of_q + _turning(value, J)
        of_q, of_qd, of_qdd = (_in_frame(R, X) for X in (turned, of_qd, of_qdd))
        value = _in_frame(R, value[..., None])[..., 0]
    names = tuple(f"{frame}/{part}" for part in FRAME_WORDS[word])
    units = tuple(unit for unit in FRAME_UNITS[word] for _ in range(3))
    return OutputRows(names, units, value, of_q, of_qd, of_qdd, none)


def _turning(value: Floats, J: Floats) -> Floats:
    """-δθ x h for both halves h of a spatial vector, which the frame's own axes see besides."""
    turn = np.moveaxis(J[..., :3, :], -1, -2)
    halves = [np.cross(value[..., None, i : i + 3], turn) for i in (0, 3)]
    return np.moveaxis(np.concatenate(halves, axis=-1), -1, -2)


def _in_frame(R: Floats, X: Floats) -> Floats:
    """Both halves of the six rows of X in the axes of R."""
    back = np.moveaxis(R, -1, -2)
    return np.concatenate([back @ X[..., :3, :], back @ X[..., 3:, :]], axis=-2)


def _stacked(parts: Sequence[Floats]) -> Floats:
    """Rows below each other; with batch axes only if some of them have any."""
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    return np.concatenate(
        [np.broadcast_to(part, batch + part.shape[-2:]) for part in parts], axis=-2
    )


def _picked(rows: OutputRows, at: int) -> OutputRows:
    one = slice(at, at + 1)
    matrices = (rows.of_q, rows.of_qd, rows.of_qdd, rows.of_tau)
    return OutputRows(
        rows.names[one], rows.units[one], rows.y[..., one], *(X[..., one, :] for X in matrices)
    )


def _joined(first: OutputRows, second: OutputRows) -> OutputRows:
    matrices = (
        _stacked([getattr(each, key) for each in (first, second)]) for key in OUTPUT_MATRICES
    )
    y = np.concatenate([first.y, second.y], axis=-1)
    return OutputRows(first.names + second.names, first.units + second.units, y, *matrices)
