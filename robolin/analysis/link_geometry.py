"""The figures of an arm's geometry, and how torques change with them.

Every moving joint that sits somewhere has, in the axes of the description,

    origin_x …  where it is on the moving link inboard of it, along that link's axes
    turn_x …    how it is turned there, by a small angle about its own axes
    axis_x …    its axis in its own axes; only what is across the axis changes it

and, where it was written as a row of a Denavit–Hartenberg table, the figures of that row, dh_a,
dh_alpha, dh_d and dh_theta.  A figure that changes moves the joint with all it carries, its link
on the joint with all it carries, or both, by a small twist: so much of each is its column here.
A change of axis turns the joint one way and its link the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from robolin.analysis.link_parameters import sound_change
from robolin.api.run_options import run_options
from robolin.core.arm import Arm, DhRow, Joint, Link, Pose
from robolin.core.array_checks import require_arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.core.notebook import DisplayMixin
from robolin.core.rotations import axis_to_z, compose, inverse_rotation
from robolin.dynamics.algebra.comparison import GEOMETRY_COLUMNS
from robolin.evaluation.evaluate import Engine, evaluate
from robolin.evaluation.methods import Method

_AXES = ("x", "y", "z")
# the figures that may be told in degrees
TURN_PARAMETERS = ("turn_x", "turn_y", "turn_z", "dh_alpha", "dh_theta")


@dataclass(frozen=True)
class GeometryDerivative(DisplayMixin):
    """How torques change with the figures of the geometry, the motion of the joints as it is.

    Fields:
        matrix: ∂τ/∂g (..., n, g), N·m or N per m, per rad, or per unit of an axis
        names: `joint/origin_x`, `joint/turn_x`, `joint/axis_x`, `joint/dh_a`, …, as columns

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
    """How the torques of a motion change where joints sit elsewhere, or turn about other axes.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        a `GeometryDerivative`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, or closed
            loops
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> found = robolin.geometry_derivative(arm, [0.0, 0.0])
        >>> found.matrix[:, found.names.index("elbow/origin_x")].round(4)
        array([9.81, 0.  ])
    """
    how = run_options(method, engine, jobs, loop_method)
    require_arm(arm)
    found = evaluate(arm, "geometry-derivative", {"q": q, "qd": qd, "qdd": qdd}, **how)
    return GeometryDerivative(public_geometry(arm, found["dtau_dgeometry"]), geometry_names(arm))


def geometry_names(arm: Arm) -> tuple[str, ...]:
    """The figures of the geometry that torques and motions depend on, base to tip.

    Args:
        arm: the arm, from `robolin.load`

    Returns:
        g names, in the order of the columns of `GeometryDerivative.matrix`

    Raises:
        UsageError: no arm

    Example:
        >>> robolin.geometry_names(robolin.load("two-link"))[9:12]
        ('elbow/origin_x', 'elbow/origin_y', 'elbow/origin_z')
    """
    require_arm(arm)
    return tuple(name for _, name, _ in _figures(arm))


def geometry_changes(arm: Arm, named: Mapping[str, float]) -> tuple[Floats, dict[str, float]]:
    """Changes of figures of the geometry by place (g,), and those of other parameters by name."""
    places = {name: place for place, name in enumerate(geometry_names(arm))}
    change = np.zeros(len(places))
    for name in places.keys() & named.keys():
        change[places[name]] = sound_change(name, named[name])
    return change, {name: value for name, value in named.items() if name not in places}


def public_geometry(arm: Arm, found: Floats) -> Floats:
    """What the algorithm gives, (..., n, links, 12), as columns of the figures, (..., n, g)."""
    columns: Floats = found.reshape(*found.shape[:-2], -1) @ _figures_as_twists(arm)
    return columns


def _figures_as_twists(arm: Arm) -> Floats:
    """∂(twists of joints and links)/∂(figures), (links · 12, g)."""
    listed = list(_figures(arm))
    change = np.zeros((len(arm.links), GEOMETRY_COLUMNS, len(listed)))
    for column, (place, _, twists) in enumerate(listed):
        change[place, :, column] = twists
    return change.reshape(-1, len(listed))


def _figures(arm: Arm) -> Iterator[tuple[int, str, Floats]]:
    """For every figure: the place of its link, base to tip, its name, and its twelve twists."""
    rows = {row.joint: row for row in arm.dh_rows}
    grouped = {k for group in arm.groups for k in group.links}
    innermost = {group.links[0]: group.name for group in arm.groups}
    for place, link in enumerate(arm.links):
        k = len(arm.links) - place
        # where a body that floats on the base is, its own coordinates say
        if k in grouped and (k not in innermost or link.parent == arm.base):
            continue
        name = innermost.get(k, link.joint.name)
        figures = [*_placement(link.joint), *(() if k in grouped else _axis(link.joint))]
        if link.joint.name in rows:
            figures += _dh(arm, link, rows[link.joint.name])
        for word, twists in figures:
            yield place, f"{name}/{word}", twists


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
    """Screws along z of the row before and x of its own; in the modified convention the reverse."""
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
    """A unit turn about an axis of a frame, or a unit slide along it, seen from where it is."""
    h = np.reshape(frame.rotation, (3, 3))[:, axis]
    return (h, np.cross(frame.translation, h)) if turns else (np.zeros(3), h)


def _twists(
    joint: Joint,
    joint_turn: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
    joint_slide: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
    body_turn: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
    body_slide: Floats | tuple[float, ...] = (0.0, 0.0, 0.0),
) -> Floats:
    """Vectors in the joint's and the link's axes, in those of the algorithm: the joint along z."""
    turned = np.reshape(axis_to_z(joint.axis), (3, 3))
    vectors = np.array([joint_turn, joint_slide, body_turn, body_slide])
    return np.asarray((vectors @ turned).ravel())
