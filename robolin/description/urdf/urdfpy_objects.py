"""Descriptions of robots that urdfpy or its fork urchin has loaded.

Both libraries give every link without <inertial> a mass of 1 kg with unit inertia and do not mark
it.  Such links look like real ones, so their values are kept, with a warning for every link with
exactly these values.  Reading the file itself avoids the ambiguity.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from robolin.core.arm import NO_TURN, ORIGIN, Inertia, Limits, Mimic, Pose, Vector3
from robolin.core.arm_parts import turned_rotary, without_direction
from robolin.core.text import quote_list
from robolin.description.model import (
    Description,
    Finding,
    JointEntry,
    LinkEntry,
    Reading,
    SourceLocation,
    sorted_counts,
)
from robolin.description.structure import check_structure
from robolin.errors import RobolinError

UNIT_ROTARY = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
INVENTED = Inertia(1.0, ORIGIN, UNIT_ROTARY)
MOVING = ("revolute", "continuous", "prismatic", "planar", "floating", "spherical")


def read_urdfpy(urdf: Any) -> Reading:
    """The description of a loaded `urdfpy.URDF` or `urchin.URDF`; locations have no lines."""
    library = type(urdf).__module__.partition(".")[0]
    try:
        location = SourceLocation(f"{library} object '{urdf.name}'")
        links = [_link(link, location) for link in urdf.links]
        joints = [_joint(joint, location) for joint in urdf.joints]
    except (AttributeError, TypeError, ValueError) as error:
        raise RobolinError(
            f"the {type(urdf).__name__} object is not a robot of urdfpy or urchin: {error}",
            hint="pass the object that urdfpy.URDF.load or urchin.URDF.load returned, or load the "
            "file",
        ) from error
    root, findings = check_structure(links, joints, location)
    findings += _unusable_numbers(links, joints, location)
    broken = bool(findings)
    findings += _invented(links, location)
    description = Description(
        name=urdf.name,
        links=tuple(links),
        joints=tuple(joints),
        root=root or "",
        source=location.file,
        digest=sha256(repr((links, joints)).encode()).hexdigest(),
        ignored=sorted_counts(_unused(urdf)),
        locations={"robot": location},
    )
    return Reading(None if broken else description, findings)


def _unused(urdf: Any) -> Counter[str]:
    """The number of parts without effect on an arm, by their URDF tags."""
    counts: Counter[str] = Counter()
    for tag, attribute in (("material", "materials"), ("transmission", "transmissions")):
        counts[tag] = len(getattr(urdf, attribute, None) or ())
    for link in urdf.links:
        for tag in ("visual", "collision"):
            counts[tag] += len(getattr(link, f"{tag}s", None) or ())
    for joint in urdf.joints:
        for tag in ("calibration", "safety_controller"):
            counts[tag] += getattr(joint, tag, None) is not None
    # only nonzero counts
    return +counts


def _link(link: Any, location: SourceLocation) -> LinkEntry:
    inertial = link.inertial
    if inertial is None:
        return LinkEntry(link.name, location)
    rows = inertial.inertia if inertial.inertia is not None else [[0.0] * 3] * 3
    pose = _pose(inertial.origin)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = ([float(value) for value in row] for row in rows)
    rotary = (xx, xy, xz, yy, yz, zz)
    turned = rotary if pose.rotation == NO_TURN else turned_rotary(pose.rotation, rotary)
    inertia = Inertia(float(inertial.mass), pose.translation, turned)
    return LinkEntry(link.name, location, inertia, location)


def _joint(joint: Any, location: SourceLocation) -> JointEntry:
    kind = joint.joint_type
    if kind == "fixed":
        pose = _pose(joint.origin)
        return JointEntry(joint.name, kind, joint.parent, joint.child, location, pose)
    if kind not in MOVING:
        raise ValueError(f"joint '{joint.name}' has the unknown type {kind!r}")
    limit, dynamics, mimic = joint.limit, joint.dynamics, joint.mimic
    return JointEntry(
        name=joint.name,
        kind=kind,
        parent=joint.parent,
        child=joint.child,
        location=location,
        pose=_pose(joint.origin),
        axis=_vector(joint.axis) if kind not in ("floating", "spherical") else (1.0, 0.0, 0.0),
        limits=_limits(limit) if limit else Limits(),
        damping=_number(dynamics.damping) or 0.0 if dynamics else 0.0,
        friction=_number(dynamics.friction) or 0.0 if dynamics else 0.0,
        mimic=Mimic(mimic.joint, float(mimic.multiplier), float(mimic.offset)) if mimic else None,
    )


def _limits(limit: Any) -> Limits:
    return Limits(*(_number(v) for v in (limit.lower, limit.upper, limit.velocity, limit.effort)))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _vector(values: Any) -> Vector3:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _pose(matrix: Any) -> Pose:
    """A 4×4 homogeneous matrix as a pose; None is the identity."""
    if matrix is None:
        return Pose()
    rows = [[float(value) for value in row] for row in matrix]
    (a, b, c, x), (d, e, f, y), (g, h, i, z) = rows[:3]
    return Pose((a, b, c, d, e, f, g, h, i), (x, y, z))


def _invented(links: Sequence[LinkEntry], location: SourceLocation) -> list[Finding]:
    """A warning for links whose inertia may be a default of the library."""
    names = [link.name for link in links if link.inertia == INVENTED]
    if not names:
        return []
    message = f"the mass of 1 kg of {quote_list(names)} may be the default of urdfpy or urchin"
    hint = "load the URDF file itself: in the file, a link without <inertial> has no mass"
    return [Finding("invented-inertia", "warning", location, message, hint)]


def _unusable_numbers(
    links: Sequence[LinkEntry], joints: Sequence[JointEntry], location: SourceLocation
) -> list[Finding]:
    """Errors for invalid numbers that the libraries accept."""
    findings = []
    for link in links:
        body = link.inertia or Inertia()
        if not _all_finite(body.mass, *body.com, *body.rotary):
            message = f"link '{link.name}': the inertial has a number that is not finite"
            findings.append(Finding("number-not-finite", "error", location, message))
    for joint in joints:
        limits = (
            joint.limits.lower,
            joint.limits.upper,
            joint.limits.velocity,
            joint.limits.effort,
        )
        known = [value for value in limits if value is not None]
        follows = (joint.mimic.ratio, joint.mimic.offset) if joint.mimic else ()
        numbers = (*joint.pose.rotation, *joint.pose.translation, *joint.axis, *known, *follows)
        if not _all_finite(*numbers, joint.damping, joint.friction):
            message = f"joint '{joint.name}' has a number that is not finite"
            findings.append(Finding("number-not-finite", "error", location, message))
        if why := without_direction(joint.axis):
            message = f"joint '{joint.name}': the axis {why}"
            findings.append(Finding("zero-axis", "error", location, message))
    return findings


def _all_finite(*numbers: float) -> bool:
    return all(math.isfinite(number) for number in numbers)
