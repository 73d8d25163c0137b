"""Everything worth knowing about a robot file before trusting its dynamics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from robolin.arm import Arm
from robolin.description.building.build_arm import build
from robolin.description.finding_limits import limited
from robolin.description.model import Description, Finding, Place, Reading
from robolin.description.validate.validate_joints import joint_findings
from robolin.description.validate.validate_links import link_findings, repeated_inertials
from robolin.description.validate.validate_motion import link_sizes, motion_findings
from robolin.description.validate.validation_ids import finding
from robolin.errors import RobolinError


def validate(reading: Reading) -> list[Finding]:
    """The reader's findings and the physical ones, by line; the latter only if the file loads."""
    findings = list(reading.findings)
    if reading.description is not None:
        findings += limited(
            list(physical_findings(reading.description, plain_arm(reading.description)))
        )
    return sorted(findings, key=lambda found: (found.place.line, found.place.column))


def physical_findings(description: Description, arm: Arm | None) -> Iterator[Finding]:
    """What is odd about the numbers; `arm` is what `plain_arm` makes of the description."""
    sizes = link_sizes(arm) if arm else {}
    for link in description.links:
        yield from link_findings(link, sizes.get(link.name))
    yield from repeated_inertials(description.links)
    for joint in description.joints:
        yield from joint_findings(joint)
    if arm:
        yield from motion_findings(description, arm)
    elif all(joint.kind == "fixed" for joint in description.joints):
        place = description.places.get("robot", Place(description.source))
        hint = "an arm has at least one joint that moves, or floats: --floating-base"
        yield finding("nothing-moves", place, "no joint of this robot moves", hint)


def plain_arm(
    description: Description,
    source: str | None = None,
    loaded_with: Mapping[str, Any] | None = None,
) -> Arm | None:
    """The arm with nothing asked for, or None where only other options would make one."""
    try:
        return build(description, source=source, loaded_with=loaded_with)
    except RobolinError:
        return None
