"""Physical and geometric parameters of an arm, small changes of them, and their derivatives.

Torques are linear in the parameters that `core/arm_parameters.py` lists.  The physical parameters
are the rest position of springs, the centre of mass c and the inertia I about it.
`physical_to_linear_map` converts small changes of physical to linear parameters.

Geometric (kinematic) parameters are in the axes of the robot file, for every moving joint with a
fixed placement,

    origin_x …  its position on the moving parent link, along that link's axes
    turn_x …    its orientation there, by a small angle about its own axes
    axis_x …    its axis in its own axes; only components across the axis change it

and, if it was given as a row of a Denavit–Hartenberg table, the parameters of that row, dh_a,
dh_alpha, dh_d and dh_theta.  A change of a parameter moves the joint with its subtree, or its link
on the joint with its subtree, or both, by small twists, which are its column here.  A change of
axis rotates the joint in one direction and its link in the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from robolin.core.arm import ORIGIN, Arm, DhRow, Inertia, Joint, Link, Pose, Vector3
from robolin.core.arm_parameters import OF_LINK as OF_LINK
from robolin.core.arm_parameters import OF_SPRING as OF_SPRING
from robolin.core.arm_parameters import Parameter as Parameter
from robolin.core.arm_parameters import base_to_tip, linear_values, steiner
from robolin.core.arm_parameters import parameters as parameters
from robolin.core.arm_parts import apply, axis_to_z, compose, inverse_rotation
from robolin.core.arrays import AnyArray, Floats, JointValues, require_arm
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.dynamics.algorithm import GEOMETRY_COLUMNS
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import Engine, EngineChoice, evaluate
from robolin.evaluation.methods import Method

NATURAL_OF_LINK = ("mass", "com_x", "com_y", "com_z", *OF_LINK[4:])
NATURAL_OF_SPRING = ("stiffness", "rest")

# link, mass, and optionally the position in the link's frame (default: its origin)
PayloadChange = tuple[str, float] | tuple[str, float, Vector3]


def joint_slides(arm: Arm) -> dict[str, bool]:
    """Map joint names to whether the joint is prismatic, which determines units."""
    return {link.joint.name: link.joint.kind == "prismatic" for link in arm.links}


def physical_names(arm: Arm) -> tuple[str, ...]:
    """Labels of `parameters`, with centres of mass instead of first moments."""
    linear, intuitive = (*OF_LINK, *OF_SPRING), (*NATURAL_OF_LINK, *NATURAL_OF_SPRING)
    natural = dict(zip(linear, intuitive, strict=True))
    return tuple(f"{p.owner}/{natural.get(p.name, p.name)}" for p in parameters(arm))


def physical_to_linear_map(arm: Arm) -> AnyArray:
    """∂(linear parameters)/∂(physical parameters), of shape (p, p).

    mass       at constant centre of mass and inertia about it: s, J grow by c, K(c)
    com_x …    s by m, J by m ∂K/∂c
    stiffness  at constant rest position: the rest torque grows by it
    rest       the rest torque by the stiffness
    all else   by itself
    """
    listed = parameters(arm)
    change = np.eye(len(listed))
    first = {p.owner: at for at, p in enumerate(listed) if p.name == OF_LINK[0]}
    for _, link in base_to_tip(arm):
        if link.name in first:
            at = first[link.name]
            change[at : at + 10, at : at + 4] = _natural_columns(link.inertia)
    springs = {p.owner: at for at, p in enumerate(listed) if p.name == OF_SPRING[0]}
    for link in arm.links:
        if link.joint.name in springs:
            at = springs[link.joint.name]
            change[at + 1, at : at + 2] = link.joint.rest, link.joint.stiffness
    return change


def parameter_changes(
    arm: Arm,
    named: Mapping[str, float],
    payloads: Sequence[PayloadChange] = (),
    others: Sequence[str] = (),
) -> AnyArray:
    """δπ of shape (p,) for small changes of physical parameters and for added point masses.

    others: names that are valid elsewhere, for suggestions
    """
    names = physical_names(arm)
    natural = np.zeros(len(names))
    for name, change in named.items():
        if name not in names:
            raise _unknown(arm, name, (*names, *others))
        natural[names.index(name)] += sound_change(name, change)
    total = physical_to_linear_map(arm) @ natural
    if not isinstance(payloads, Iterable):
        raise UsageError(f"payload: must be a list, got {payloads!r}")
    for payload in payloads:
        at, block = _payload(arm, *_mass_and_position(payload))
        total[at : at + 10] += block
    return total


def _natural_columns(body: Inertia) -> AnyArray:
    """Derivatives of m, s and J by m and c, of shape (10, 4)."""
    c = np.array(body.com)
    columns = np.zeros((10, 4))
    columns[:, 0] = [1.0, *c, *steiner(c, c)]
    for i, axis in enumerate(np.eye(3)):
        columns[1 + i, 1 + i] = body.mass
        columns[4:, 1 + i] = 2.0 * body.mass * steiner(c, axis)
    return columns


def sound_change(name: str, change: object) -> float:
    """Convert a change to a finite number, or raise."""
    if isinstance(change, bool) or not isinstance(change, (int, float, np.floating, np.integer)):
        raise UsageError(f"the change must be a number, got {change!r}", where=name)
    if not np.isfinite(change):
        raise UsageError(f"the change must be finite, got {change}", where=name)
    return float(change)


def _mass_and_position(payload: PayloadChange) -> tuple[str, float, Vector3]:
    hint = "pass (link, mass) or (link, mass, (x, y, z))"
    if not isinstance(payload, (tuple, list)) or len(payload) not in (2, 3):
        raise UsageError(f"payload: invalid value {payload!r}", hint=hint)
    link, mass, *position_given = payload
    position = position_given[0] if position_given else ORIGIN
    if len(position) != 3:
        raise UsageError(
            f"payload: the position must be three numbers, got {position!r}", hint=hint
        )
    x, y, z = (sound_change(f"payload on '{link}'", value) for value in position)
    return str(link), sound_change(f"payload on '{link}'", mass), (x, y, z)


def _payload(arm: Arm, frame: str, mass: float, position: Vector3) -> tuple[int, AnyArray]:
    """Index of the first parameter of the link that carries the frame, and the increments."""
    if frame not in arm.frames:
        hint = did_you_mean(frame, arm.frames, f"links: {', '.join(arm.frames)}")
        raise UsageError(f"payload: link '{frame}' not found", hint=hint)
    attachment = arm.frames[frame]
    if attachment.link == arm.base:
        raise UsageError(
            f"payload: link '{frame}' is fixed to the base", hint="choose a moving link"
        )
    point = Inertia(mass, apply(attachment.pose, position))
    listed = [(p.owner, p.name) for p in parameters(arm)]
    return listed.index((arm.link(attachment.link).name, "mass")), np.array(linear_values(point))


def _unknown(arm: Arm, name: str, names: Sequence[str]) -> RobolinError:
    """Error for an unknown parameter, with the most likely reason."""
    owner, _, quantity = name.rpartition("/")
    carriers = {part: link.name for link in arm.links_tip_to_base for part in link.merged}
    if owner in carriers:
        hint = (
            f"use link '{carriers[owner]}', which contains it, or add a point mass: "
            f"--payload-change {owner}:MASS"
        )
        return UsageError(
            f"link '{owner}' is merged into another link and has no parameters of its own",
            where=name,
            hint=hint,
        )
    if quantity.partition("_")[0] == "friction" and arm.friction_velocity is None:
        hint = "add --friction-velocity to include Coulomb friction"
        return UsageError("Coulomb friction is not in the model", where=name, hint=hint)
    hint = did_you_mean(name, names, f"parameters have names like '{names[0]}'")
    return UsageError("parameter not found", where=name, hint=hint)


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
) -> GeometryDerivative:
    """Derivative of the torques with respect to placement and axes of the joints.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `GeometryDerivative`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, or closed
            loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> derivative = robolin.geometry_derivative(arm, [0.0, 0.0])
        >>> derivative.matrix[:, derivative.names.index("elbow/origin_x")].round(4)
        array([9.81, 0.  ])
    """
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
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
        UsageError: `arm` is not an `Arm`

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
