"""Geometric (kinematic) parameters of an arm, and derivatives of torques by them.

Every moving joint with a fixed placement has, in the axes of the robot file,

    origin_x …  its position on the moving parent link, along that link's axes
    turn_x …    its orientation there, by a small angle about its own axes
    axis_x …    its axis in its own axes; only components across the axis change it

and, if it was given as a row of a Denavit–Hartenberg table, the parameters of that row, dh_a,
dh_alpha, dh_d and dh_theta.  A change of a parameter moves the joint with its subtree, or its link
on the joint with its subtree, or both, by small twists, which are its column here.  A change of
axis rotates the joint in one direction and its link in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from robolin.analysis.link_parameters import sound_change
from robolin.api.run_options import run_options
from robolin.core.arm import Arm, DhRow, Joint, Link, Pose
from robolin.core.arm_parts import axis_to_z, compose, inverse_rotation
from robolin.core.arrays import Floats, JointValues, require_arm
from robolin.core.choices import LoopMethod
from robolin.core.notebook import DisplayMixin
from robolin.dynamics.algebra.comparison import GEOMETRY_COLUMNS
from robolin.evaluation.evaluate import Engine, evaluate
from robolin.evaluation.methods import Method

_AXES = ("x", "y", "z")
# geometric parameters that may be given in degrees
TURN_PARAMETERS = ("turn_x", "turn_y", "turn_z", "dh_alpha", "dh_theta")


@dataclass(frozen=True, eq=False, repr=False)
class GeometryDerivative(DisplayMixin):
    """Derivative of torques with respect to geometric parameters, for a fixed motion of the joints.

    Fields:
        matrix: ∂τ/∂g (..., n, g), N·m or N per m, per rad, or per unit of an axis
        names: `joint/origin_x`, `joint/turn_x`, `joint/axis_x`, `joint/dh_a`, …, one per column

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.geometry_derivative(arm, [0.3, -0.7]).names[:3]
        ('shoulder/origin_x', 'shoulder/origin_y', 'shoulder/origin_z')
    """

    matrix: Floats
    names: tuple[str, ...]


def geometry_derivative(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> GeometryDerivative:
    """Derivative of the torques with respect to placement and axes of the joints.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        method: "auto"; no effect, because there is one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: threads for batches of states; None for one per processor
        loop_method: not supported; for the forward dynamics of closed loops only

    Returns:
        a `GeometryDerivative`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, or closed
            loops
        UsageError: not an arm, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> found = robolin.geometry_derivative(arm, [0.0, 0.0])
        >>> found.matrix[:, found.names.index("elbow/origin_x")].round(4)
        array([9.81, 0.  ])
    """
    options = run_options(method, engine, jobs, loop_method)
    require_arm(arm)
    result = evaluate(arm, "geometry-derivative", {"q": q, "qd": qd, "qdd": qdd}, **options)
    return GeometryDerivative(public_geometry(arm, result["dtau_dgeometry"]), geometry_names(arm))


def geometry_names(arm: Arm) -> tuple[str, ...]:
    """Names of the geometric parameters that affect torques and motions, base to tip.

    Args:
        arm: the arm, from `robolin.load`

    Returns:
        g names, in the order of the columns of `GeometryDerivative.matrix`

    Raises:
        UsageError: not an arm

    Example:
        >>> robolin.geometry_names(robolin.load("two-link"))[9:12]
        ('elbow/origin_x', 'elbow/origin_y', 'elbow/origin_z')
    """
    require_arm(arm)
    return tuple(name for _, name, _ in _parameters(arm))


def geometry_changes(arm: Arm, named: Mapping[str, float]) -> tuple[Floats, dict[str, float]]:
    """Split changes into an array of geometric parameters (g,) and other parameters by name."""
    indices = {name: index for index, name in enumerate(geometry_names(arm))}
    change = np.zeros(len(indices))
    for name in indices.keys() & named.keys():
        change[indices[name]] = sound_change(name, named[name])
    return change, {name: value for name, value in named.items() if name not in indices}


def public_geometry(arm: Arm, algorithm_columns: Floats) -> Floats:
    """Convert the algorithm's columns (..., n, links, 12) to geometric parameters (..., n, g)."""
    columns: Floats = algorithm_columns.reshape(
        *algorithm_columns.shape[:-2], -1
    ) @ _parameter_twists(arm)
    return columns


def _parameter_twists(arm: Arm) -> Floats:
    """∂(twists of joints and links)/∂(geometric parameters), (links · 12, g)."""
    listed = list(_parameters(arm))
    change = np.zeros((len(arm.links), GEOMETRY_COLUMNS, len(listed)))
    for column, (index, _, twists) in enumerate(listed):
        change[index, :, column] = twists
    return change.reshape(-1, len(listed))


def _parameters(arm: Arm) -> Iterator[tuple[int, str, Floats]]:
    """Each geometric parameter: index of its link, base to tip, its name, and its twelve twists."""
    rows = {row.joint: row for row in arm.dh_rows}
    grouped = {k for group in arm.groups for k in group.links}
    innermost = {group.links[0]: group.name for group in arm.groups}
    for index, link in enumerate(arm.links):
        k = len(arm.links) - index
        # the placement of a floating body is given by its own coordinates
        if k in grouped and (k not in innermost or link.parent == arm.base):
            continue
        name = innermost.get(k, link.joint.name)
        entries = [*_placement(link.joint), *(() if k in grouped else _axis(link.joint))]
        if link.joint.name in rows:
            entries += _dh(arm, link, rows[link.joint.name])
        for word, twists in entries:
            yield index, f"{name}/{word}", twists


def _placement(joint: Joint) -> Iterator[tuple[str, Floats]]:
    for i, axis in enumerate(_AXES):
        along = np.reshape(joint.pose.rotation, (3, 3))[i]
        yield f"origin_{axis}", _twists(joint, joint_slide=along)
    for i, axis in enumerate(_AXES):
        yield f"turn_{axis}", _twists(joint, joint_turn=np.eye(3)[i])


def _axis(joint: Joint) -> Iterator[tuple[str, Floats]]:
    for i, axis in enumerate(_AXES):
        about = np.cross(joint.axis, np.eye(3)[i])
        yield f"axis_{axis}", _twists(joint, joint_turn=about, body_turn=-about)


def _dh(arm: Arm, link: Link, row: DhRow) -> Iterator[tuple[str, Floats]]:
    """Screws along z of the previous row and x of this row; the reverse for modified DH."""
    seen = (
        compose(inverse_rotation(link.joint.pose), arm.frames[row.inboard].pose),
        arm.frames[row.outboard].pose,
    )
    x, z = seen[::-1] if row.convention == "standard" else seen
    for word, frame, axis in (("a", x, 0), ("alpha", x, 0), ("d", z, 2), ("theta", z, 2)):
        where = "joint" if frame is seen[0] else "body"
        turn, slide = _screw(frame, axis, turns=word in ("alpha", "theta"))
        yield f"dh_{word}", _twists(link.joint, **{f"{where}_turn": turn, f"{where}_slide": slide})


def _screw(frame: Pose, axis: int, turns: bool) -> tuple[Floats, Floats]:
    """Unit rotation about an axis of a frame, or unit translation along it, at its origin."""
    h = np.reshape(frame.rotation, (3, 3))[:, axis]
    return (h, np.cross(frame.translation, h)) if turns else (np.zeros(3), h)


def _twists(
    joint: Joint,
    joint_turn: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
    joint_slide: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
    body_turn: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
    body_slide: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
) -> Floats:
    """Express vectors in the joint's and the link's axes in the algorithm's: joint along z."""
    to_joint_axes = np.reshape(axis_to_z(joint.axis), (3, 3))
    vectors = np.array([joint_turn, joint_slide, body_turn, body_slide])
    return np.asarray((vectors @ to_joint_axes).ravel())
