"""Physical plausibility checks of joints, inertias and motion in a robot file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import copysign, hypot, inf, sqrt
from typing import Any

from robolin.core.arm import Arm, Inertia, Link, Rotary, Vector3
from robolin.core.arm_parts import inertia_about, merged_inertia, placed
from robolin.core.text import quote_list
from robolin.description.building.build_arm import build
from robolin.description.building.contract import repr_number
from robolin.description.building.selection import spring_of_several
from robolin.description.finding_ids import finding
from robolin.description.model import (
    JOINT_TYPES,
    Description,
    Finding,
    JointEntry,
    LinkEntry,
    Reading,
    SourceLocation,
    group_kind,
    limit_findings,
)
from robolin.description.named_poses import pose_findings, unit_findings
from robolin.errors import RobolinError

# length error of an axis with three digits, such as 0.707 0.707 0
AXIS_TOLERANCE = 1e-3

# relative rounding error of an inertia about an axis through the mass
NEGLIGIBLE_AXIS_INERTIA = 1e-12
AXES: tuple[Vector3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def validate(reading: Reading) -> list[Finding]:
    """Findings of the reader and of the physical checks, by line."""
    findings = list(reading.findings)
    if (description := reading.description) is not None:
        findings += limit_findings(list(physical_findings(description, plain_arm(description))))
    return by_line(findings)


def by_line(findings: Sequence[Finding]) -> list[Finding]:
    """The findings in the order of the file."""
    return sorted(findings, key=lambda finding: (finding.location.line, finding.location.column))


def physical_findings(description: Description, arm: Arm | None) -> Iterator[Finding]:
    """Findings for implausible numbers; `arm` is the result of `plain_arm`."""
    sizes = link_sizes(arm) if arm else {}
    for link in description.links:
        yield from link_findings(link, sizes.get(link.name))
    yield from (*repeated_inertials(description.links), *pose_findings(description))
    for joint in description.joints:
        yield from joint_findings(joint)
    if arm:
        yield from motion_findings(description, arm)
    elif all(joint.kind == "fixed" for joint in description.joints):
        location = description.locations.get("robot", SourceLocation(description.source))
        hint = "add a movable joint, or load with --floating-base (floating_base=True)"
        yield finding("nothing-moves", location, "all joints of this robot are fixed", hint)


def plain_arm(
    description: Description,
    source: str | None = None,
    loaded_with: Mapping[str, Any] | None = None,
) -> Arm | None:
    """The arm with default options, or None if it requires other options."""
    try:
        return build(description, source=source, loaded_with=loaded_with)
    except RobolinError:
        return None


def joint_findings(joint: JointEntry) -> Iterator[Finding]:
    """Findings for one joint; none for a fixed joint."""
    if joint.kind == "fixed":
        return
    length = hypot(*joint.axis)
    if JOINT_TYPES[joint.kind].axes and abs(length - 1.0) > AXIS_TOLERANCE:
        message = f"joint '{joint.name}': the axis has length {length:.6g}"
        hint = f"write the unit vector {', '.join(f'{x / length:.6g}' for x in joint.axis)}"
        yield finding("axis-not-unit", joint.at("axis"), message, hint)
    yield from _limit_findings(joint)
    yield from _loss_findings(joint)
    yield from unit_findings(joint)
    if joint.stiffness and group_kind(joint):
        message, hint = spring_of_several(joint)
        yield finding("multi-dof-spring", joint.at("dynamics"), message, hint)
    if joint.mimic and joint.mimic.ratio == 0.0:
        message = f"joint '{joint.name}' mimics '{joint.mimic.leader}' with ratio 0"
        hint = "change the joint type to fixed, or correct the multiplier"
        yield finding("mimic-ratio-zero", joint.at("mimic"), message, hint)


def _limit_findings(joint: JointEntry) -> Iterator[Finding]:
    lower, upper, location = joint.limits.lower, joint.limits.upper, joint.at("limit")
    if lower is not None and upper is not None and joint.kind != "continuous":
        if lower > upper:
            message = f"joint '{joint.name}': lower limit {repr_number(lower)} is above the upper "
            hint = f"swap the limits, or check the sign of {repr_number(lower)}"
            yield finding("limits-inverted", location, message + repr_number(upper), hint)
        elif lower == upper:
            message = f"joint '{joint.name}': both limits are {repr_number(lower)}"
            hint = "write the range, or change the type to fixed; the dynamics do not use limits"
            yield finding("limits-zero-range", location, message, hint)
    yield from _effort_findings(joint)
    no_effort = joint.limits.effort_range == (0.0, 0.0)
    for part, zero in (("effort", no_effort), ("velocity", joint.limits.velocity == 0.0)):
        if zero:
            hint = "write the limit of the motor, or omit the limit if it is unknown"
            message = f"joint '{joint.name}': the {part} limit is 0"
            yield finding(f"limits-zero-{part}", location, message, hint)


def _effort_findings(joint: JointEntry) -> Iterator[Finding]:
    least, largest = joint.limits.effort_range
    if least <= 0.0 <= largest:
        return
    if joint.limits.effort_lower is None:
        message = f"joint '{joint.name}': the effort limit must be ≥ 0, got {repr_number(largest)}"
        hint = f"did you mean {repr_number(-largest)}?"
    else:
        ends = f"{repr_number(least)} and {repr_number(largest)}"
        message = f"joint '{joint.name}': the effort limits {ends} must include 0"
        hint = "check the signs of both limits"
    yield finding("effort-limits-without-zero", joint.at("limit"), message, hint)


def _loss_findings(joint: JointEntry) -> Iterator[Finding]:
    parts = ("damping", "armature", "stiffness")
    sides = dict.fromkeys(("friction", side) for side in joint.friction_sides)
    for part, value in (*((part, getattr(joint, part)) for part in parts), *sides):
        if value < 0.0:
            location = joint.locations.get(part, joint.at("dynamics"))
            message = f"joint '{joint.name}': {part} must be ≥ 0, got {repr_number(value)}"
            hint = f"did you mean {repr_number(-value)}?"
            yield finding(f"negative-{part}", location, message, hint)


def link_sizes(arm: Arm) -> Mapping[str, float]:
    """Size of every moving link: the largest distance between its joints, frames and COM.

    Links merged into one share its size; links fixed to the base have none.
    """
    sizes = [
        hypot(*link.inertia.com) + hypot(*link.joint.pose.translation)
        for link in arm.links_tip_to_base
    ]
    for link in arm.links_tip_to_base:
        if link.parent != arm.base:
            reach = hypot(*link.joint.pose.translation)
            sizes[link.parent - 1] = max(sizes[link.parent - 1], reach)
    for frame in arm.frames.values():
        if frame.link != arm.base:
            reach = hypot(*frame.pose.translation)
            sizes[frame.link - 1] = max(sizes[frame.link - 1], reach)
    return {
        name: sizes[frame.link - 1] for name, frame in arm.frames.items() if frame.link != arm.base
    }


def motion_findings(description: Description, arm: Arm) -> Iterator[Finding]:
    """Findings for joints without inertia, and for massless links that carry others."""
    entries = {joint.name: joint for joint in description.joints}
    carried = _carried(arm)
    idle = {k for k, body in enumerate(carried, start=1) if _unresisted(arm.link(k), body)}
    # a leader and its mimic joints are one coordinate: inertia of one of them is enough
    resisted = {arm.coordinates[k - 1] for k in range(1, arm.base) if k not in idle}
    for k in range(arm.base - 1, 0, -1):
        link, joint = arm.link(k), entries[arm.joint_of(k)]
        if k in arm.virtual_links:
            continue
        if k in idle and arm.coordinates[k - 1] not in resisted:
            yield _no_inertia(joint, carried[k - 1])
        elif link.inertia == Inertia() and carried[k - 1].mass:
            message = f"link '{link.name}' moves and has no mass, but its child links have mass"
            hint = (
                "no action is needed if the joint before the link and the joint after it have "
                "different axes; otherwise add mass"
            )
            if _has_rotor(arm, k):
                hint = f"no action is needed: joint '{joint.name}' has an armature or a rotor"
            yield finding("massless-link", joint.location, message, hint)


def _has_rotor(arm: Arm, k: int) -> bool:
    """Return True if joint k has armature, or if a joint outside link k moves inertia with it."""
    members = (j for j in range(1, arm.base) if arm.coordinates[j - 1] == arm.coordinates[k - 1])
    return any(
        not _unresisted(arm.link(j), arm.link(j).inertia)
        for j in members
        if j == k or k not in _inward(arm, j)
    )


def _inward(arm: Arm, k: int) -> Iterator[int]:
    """The links that carry link k, to the base."""
    while (k := arm.link(k).parent) != arm.base:
        yield k


def _no_inertia(joint: JointEntry, body: Inertia) -> Finding:
    why = f"its child links have no {'mass' if body == Inertia() else 'inertia about its axis'}"
    if joint.kind == "prismatic":
        why = "its child links have no mass"
    message = (
        f"joint '{joint.name}' moves no inertia: {why}, so commands that invert the mass "
        "matrix fail"
    )
    hint = f"add mass and inertia to link '{joint.child}', use --armature {joint.name}=VALUE, "
    return finding("no-inertia-at-joint", joint.location, message, hint + "or lock the joint")


def _carried(arm: Arm) -> list[Inertia]:
    """For links 1, 2, …: the composite body outboard of the joint at q = 0, in the link's frame."""
    parts: list[list[Inertia]] = [[link.inertia] for link in arm.links_tip_to_base]
    carried: list[Inertia] = []
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        body = _sum(parts[k - 1])
        carried.append(body)
        if link.parent != arm.base:
            parts[link.parent - 1].append(placed(body, link.joint.pose))
    return carried


def _sum(parts: list[Inertia]) -> Inertia:
    """The parts as one body; masses that cancel give no body, since negative ones are errors."""
    try:
        return merged_inertia(parts)
    except ZeroDivisionError:
        return Inertia()


def _unresisted(link: Link, body: Inertia) -> bool:
    """Return True if the joint's diagonal entry of the mass matrix is zero, in every pose.

    The entry does not depend on the joint's position.  For physical bodies it is a sum of terms
    that are not negative, so if it is zero in one pose, every term is zero.
    """
    if link.joint.armature > 0.0:
        return False
    if not link.joint.turns:
        return body.mass <= 0.0
    across = max(abs(inertia_about(body, axis)) for axis in AXES)
    return inertia_about(body, link.joint.axis) <= NEGLIGIBLE_AXIS_INERTIA * across


LARGEST_RADIUS = 1.5
SMALLEST_ODD_RADIUS = 0.1
ODD_RATIO = 3.0
REPEATED_AT_LEAST = 3
PLACEHOLDER = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)

INERTIA_TOLERANCE = 1e-6
ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

# typed numbers have few digits; computed or rotated ones have many
TYPED_DIGITS = 12


def link_findings(link: LinkEntry, size: float | None) -> Iterator[Finding]:
    """Findings for one link; `size` is its entry in `link_sizes`, None if unknown."""
    if link.inertia is None or "virtual" in link.locations:
        return
    body, location = link.inertia, link.inertia_location or link.location
    yield from _mass_findings(link.name, body, location)
    if body.rotary == PLACEHOLDER and "default" not in link.locations:
        message = f"link '{link.name}': the inertia 1, 1, 1 kg·m² is a placeholder"
        hint = "use the inertia from CAD, or the inertia of a box or cylinder with the link's size"
        yield finding("placeholder-inertia", location, message, hint)
    yield from _inertia_findings(link.name, body, location)
    yield from _radius_findings(link.name, body, location, size)


def _mass_findings(name: str, body: Inertia, location: SourceLocation) -> Iterator[Finding]:
    if body.mass < 0.0:
        message = f"link '{name}': the mass must be ≥ 0, got {repr_number(body.mass)} kg"
        hint = f"did you mean {repr_number(-body.mass)}?"
        yield finding("negative-mass", location, message, hint)
    elif body.mass == 0.0 and any(body.rotary):
        message = f"link '{name}' has a moment of inertia but no mass"
        hint = "write the mass, or set the inertia to zero if the link is only a frame"
        yield finding("inertia-without-mass", location, message, hint)
    elif body.mass and not any(body.rotary):
        mass = repr_number(body.mass)
        message = f"link '{name}': the mass is {mass} kg, but the moment of inertia is 0"
        hint = (
            "if the link is a point mass, no action is needed; otherwise write the inertia "
            "about the centre of mass"
        )
        yield finding("mass-without-inertia", location, message, hint)


def _inertia_findings(name: str, body: Inertia, location: SourceLocation) -> Iterator[Finding]:
    """At most one finding: an inertia that is not positive also violates the inequality."""
    principal = principal_inertias(body.rotary)
    shown = ", ".join(f"{value:.4g}" for value in principal)
    if not positive(principal):
        message = f"link '{name}': the inertia must be ≥ 0; principal moments {shown} kg·m²"
        hint = _repair(
            body, "check signs and decimal points: a moment of inertia cannot be negative"
        )
        yield finding("inertia-not-positive", location, message, hint)
    elif short := triangle_shortfall(principal):
        a, b, c = principal
        message = (
            f"link '{name}': the principal moments {shown} kg·m² violate the triangle "
            f"inequality: {a:.4g} + {b:.4g} < {c:.4g} by {short:.3g} "
            f"({100.0 * short / c:.3g} %)"
        )
        if body.mass > 0.0:
            message += f"; radius of gyration {radius_of_gyration(body):.3g} m"
        hint = _repair(
            body, "check the values: no principal moment can exceed the sum of the other two"
        )
        yield finding("triangle-inequality", location, message, hint)


def _repair(body: Inertia, otherwise: str) -> str:
    repairs = decimal_point_repairs(body.rotary)
    return f"possible corrections: {', or '.join(repairs[:3])}" if repairs else otherwise


def _radius_findings(
    name: str, body: Inertia, location: SourceLocation, size: float | None
) -> Iterator[Finding]:
    """Findings for an implausible radius of gyration, absolute or relative to the link's size.

    Both thresholds are loose on purpose: 1.5 m exceeds the reach of most arms, and the radius
    rarely exceeds three times the distance between joints, frames and centre of mass.
    """
    if body.mass <= 0.0:
        return
    radius = radius_of_gyration(body)
    odd = size is not None and radius > max(SMALLEST_ODD_RADIUS, ODD_RATIO * size)
    if radius > LARGEST_RADIUS or odd:
        message = f"link '{name}': the radius of gyration is {radius:.3g} m with {body.mass:.4g} kg"
        if size is not None:
            message += f", but joints, frames and centre of mass span {size:.3g} m"
        hint = "check the units (kg·m², not kg·mm² or kg·cm²) and the mass"
        yield finding("radius-of-gyration", location, message, hint)


def repeated_inertials(links: Sequence[LinkEntry]) -> Iterator[Finding]:
    """Findings for links with identical inertials, which are usually copied by mistake."""
    groups: dict[Inertia, list[LinkEntry]] = {}
    for link in links:
        if link.inertia and any(link.inertia.rotary) and "virtual" not in link.locations:
            groups.setdefault(link.inertia, []).append(link)
    for group in groups.values():
        if len(group) >= REPEATED_AT_LEAST:
            location = group[0].inertia_location or group[0].location
            message = f"{len(group)} links have the same inertial parameters: " + quote_list(
                [link.name for link in group]
            )
            hint = (
                "if the links are identical parts, no action is needed; otherwise write the "
                "values of each link"
            )
            yield finding("repeated-inertial", location, message, hint)


def principal_inertias(rotary: Rotary) -> tuple[float, float, float]:
    """Principal moments of inertia in ascending order, by Jacobi rotations.

    Small eigenvalues keep their relative accuracy.
    """
    scale = max(map(abs, rotary))
    if scale == 0.0:
        return 0.0, 0.0, 0.0
    xx, xy, xz, yy, yz, zz = (entry / scale for entry in rotary)
    A = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    # convergence is quadratic: six sweeps suffice, the limit only prevents an endless loop
    for _ in range(30):
        if hypot(A[0][1], A[0][2], A[1][2]) == 0.0:
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            _turn_away(A, p, q)
    a, b, c = sorted(A[i][i] * scale for i in range(3))
    return a, b, c


def _turn_away(A: list[list[float]], p: int, q: int) -> None:
    """Jacobi rotation in the plane p, q that sets A[p][q] to zero."""
    small = abs(A[p][q])
    if abs(A[p][p]) + small == abs(A[p][p]) and abs(A[q][q]) + small == abs(A[q][q]):
        A[p][q] = A[q][p] = 0.0
        return
    if small == 0.0:
        return
    theta = (A[q][q] - A[p][p]) / (2.0 * A[p][q])
    t = copysign(1.0, theta) / (abs(theta) + hypot(theta, 1.0))
    c = 1.0 / hypot(t, 1.0)
    s = t * c
    r = 3 - p - q
    A[p][p], A[q][q] = A[p][p] - t * A[p][q], A[q][q] + t * A[p][q]
    A[p][q] = A[q][p] = 0.0
    A[p][r], A[q][r] = c * A[p][r] - s * A[q][r], s * A[p][r] + c * A[q][r]
    A[r][p], A[r][q] = A[p][r], A[q][r]


def positive(principal: tuple[float, float, float]) -> bool:
    """Return True if no principal moment of inertia is negative."""
    a, b, c = principal
    return a >= -INERTIA_TOLERANCE * max(abs(b), abs(c))


def triangle_shortfall(principal: tuple[float, float, float]) -> float:
    """Violation of the triangle inequality of the principal moments; 0 if it holds."""
    a, b, c = principal
    return c - a - b if c - a - b > INERTIA_TOLERANCE * c else 0.0


def possible_inertia(rotary: Rotary) -> bool:
    """Return True if a rigid body can have this inertia."""
    principal = principal_inertias(rotary)
    return positive(principal) and triangle_shortfall(principal) == 0.0


def radius_of_gyration(body: Inertia) -> float:
    """Radius of gyration for the largest principal moment of inertia, in m."""
    if body.mass <= 0.0:
        return inf if any(body.rotary) else 0.0
    return sqrt(max(0.0, principal_inertias(body.rotary)[2]) / body.mass)


def decimal_point_repairs(rotary: Rotary) -> list[str]:
    """Entries for which the smallest shift of the decimal point makes the inertia physical."""
    for digits in (1, 2, 3):
        if repairs := [*_shifts(rotary, digits), *_shifts(rotary, -digits)]:
            return repairs
    return []


def _shifts(rotary: Rotary, digits: int) -> Iterator[str]:
    from decimal import Decimal

    for i, entry in enumerate(rotary):
        decimal = Decimal(repr(entry)).normalize()
        if entry == 0.0 or len(decimal.as_tuple().digits) > TYPED_DIGITS:
            continue
        shifted = float(decimal.scaleb(digits))
        xx, xy, xz, yy, yz, zz = (shifted if j == i else rotary[j] for j in range(6))
        if possible_inertia((xx, xy, xz, yy, yz, zz)):
            yield f"{ENTRIES[i]} {entry:g} should be {shifted:g}"
