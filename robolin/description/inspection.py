"""Data of `robolin inspect`: tree, joints, masses, contract; and differences between two arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from robolin.core.arm import Arm, Joint, Mimic, Vector3
from robolin.description.building.contract import repr_number
from robolin.description.model import (
    PUBLIC_PARTS,
    Description,
    Finding,
    JointEntry,
    LinkEntry,
    Reading,
    group_kind,
    with_gravity,
)
from robolin.description.multi_dof_joints import with_base_joint
from robolin.description.structure import tree_of
from robolin.description.validate import validate
from robolin.dynamics.algebra.scalar import float_sum
from robolin.errors import raise_all

Row = dict[str, Any]


def file_findings(reading: Reading, source: str) -> list[Finding]:
    """All findings of `robolin validate`: for URDF and xacro, also notes on other programs."""
    from robolin.description.robot_source import bundled_path
    from robolin.description.urdf.urdf_reader import ignored_by_others

    findings = validate(reading)
    urdf = source.lower().endswith((".urdf", ".xacro")) and bundled_path(source) is None
    if urdf and reading.description is not None:
        findings += ignored_by_others(reading.description)
    return findings


def inspection(reading: Reading, arm: Arm) -> Row:
    """The output of `robolin inspect` as JSON data; `arm` was built from the reading.

    Masses are in kg: the moving mass includes payloads, the fixed mass is merged into the base.
    """
    raise_all([finding.error() for finding in reading.findings if finding.level == "error"])
    assert reading.description is not None, "a reading without errors has a description"
    read = reading.description
    description = with_base_joint(read, arm.groups[0].kind) if arm.floating_base else read
    moving = float_sum(link.inertia.mass for link in arm.links_tip_to_base)
    base = _base_mass(description, arm)
    levels = Counter(finding.level for finding in file_findings(reading, arm.source))
    return {
        "name": arm.name,
        "source": arm.source,
        "digest": arm.digest,
        "n": arm.n,
        "serial": arm.serial,
        "tree": tree_lines(description, arm),
        "joints": joint_table(description, arm),
        "links": link_table(arm),
        "loops": loop_table(arm),
        "poses": {
            name: dict(zip(arm.joint_names, positions, strict=True))
            for name, positions in arm.named_poses
        },
        "mass": {"total": moving + base, "moving": moving, "base": base},
        "contract": dict(arm.contract),
        "findings": {level: levels[level] for level in ("error", "warning", "note")},
    }


def joint_table(description: Description, arm: Arm) -> list[Row]:
    """The moving joints with mimic joints, from base to tip; coordinates in public order."""
    entries = {joint.name: joint for joint in description.joints}
    coordinates = {
        group.body: [group.coordinates[part] for part in PUBLIC_PARTS[group.kind]]
        for group in arm.groups
    }
    return [
        _joint_row(arm.link(k).joint, entries[arm.joint_of(k)], k)
        for body in arm.bodies
        for k in coordinates.get(body, [body])
    ]


def _joint_row(joint: Joint, entry: JointEntry, number: int) -> Row:
    return {
        "name": joint.name,
        "number": number,
        "kind": joint.kind,
        "parent": entry.parent,
        "child": entry.child,
        "axis": list(joint.axis),
        "lower": joint.limits.lower,
        "upper": joint.limits.upper,
        "velocity": joint.limits.velocity,
        "effort": joint.limits.efforts,
        "damping": joint.damping,
        "friction": _friction(joint),
        **({} if (v := joint.friction_velocity) is None else {"friction_velocity": v}),
        "armature": joint.armature,
        **({"stiffness": joint.stiffness, "rest": joint.rest} if joint.stiffness else {}),
        "mimic": _mimic_row(joint.mimic) if joint.mimic else None,
        "actuated": joint.actuated and joint.mimic is None,
    }


def _friction(joint: Joint) -> float | dict[str, float]:
    """One number, or one for each direction as YAML has them."""
    if joint.friction_negative is None:
        return joint.friction
    return {"positive": joint.friction, "negative": joint.friction_negative}


def _mimic_row(mimic: Mimic) -> Row:
    return {"leader": mimic.leader, "ratio": mimic.ratio, "offset": mimic.offset}


def link_table(arm: Arm) -> list[Row]:
    """The moving links from base to tip, each with the links merged into it.

    `com` is in the link's own axes from its joint, `inertia` about that point.
    """
    return [
        {
            "name": link.name,
            "number": k,
            "joint": arm.joint_of(k),
            "mass": link.inertia.mass,
            "com": list(link.inertia.com),
            "inertia": list(link.inertia.rotary),
            "merged": list(link.merged),
        }
        for k, link in ((k, arm.link(k)) for k in arm.bodies)
    ]


def loop_table(arm: Arm) -> list[Row]:
    """The loop closures: the two frames of each and the number of equations."""
    return [
        {
            "name": loop.name,
            "kind": loop.kind,
            "first": loop.first.name,
            "second": loop.second.name,
            "equations": 3 if loop.kind == "point" else 6,
        }
        for loop in arm.loops
    ]


def _base_mass(description: Description, arm: Arm) -> float:
    """Mass of the links fixed to the base, which has no effect on torques."""
    on_base = (link for link in description.links if arm.frames[link.name].link == arm.base)
    return float_sum(link.inertia.mass for link in on_base if link.inertia)


def tree_lines(description: Description, arm: Arm) -> list[str]:
    """The description as an indented tree: every link with its joint and its own mass."""
    links = {link.name: link for link in description.links}
    below: dict[str, list[JointEntry]] = {}
    for joint in tree_of(description).joints:
        below.setdefault(joint.parent, []).append(joint)
    moving = {arm.joint_of(k): link.joint for k, link in enumerate(arm.links_tip_to_base, start=1)}
    lines = [f"{description.root}{_mass(links[description.root])}"]
    # a stack of remaining joints, each with the text left of it
    waiting = list(_branches(below.get(description.root, []), ""))[::-1]
    while waiting:
        joint, left, branch, onward = waiting.pop()
        motion = _motion(joint, moving.get(joint.name))
        lines.append(f"{left}{branch}{joint.child}{_mass(links[joint.child])}  {motion}")
        waiting.extend(list(_branches(below.get(joint.child, []), left + onward))[::-1])
    return lines


def _branches(joints: list[JointEntry], left: str) -> Iterator[tuple[JointEntry, str, str, str]]:
    """Sibling joints with the tree lines before each and before its descendants."""
    for joint in joints:
        last = joint is joints[-1]
        yield joint, left, "└─ " if last else "├─ ", "   " if last else "│  "


def _mass(link: LinkEntry) -> str:
    return f" {repr_number(link.inertia.mass)} kg" if link.inertia and link.inertia.mass else ""


def _row(axis: Vector3) -> str:
    return ", ".join(f"{x + 0.0:.4g}" for x in axis)


def _motion(entry: JointEntry, joint: Joint | None) -> str:
    """Text for the motion of a link relative to its parent."""
    if joint is None:
        return "(fixed)" if entry.kind == "fixed" else f"({entry.name}: {entry.kind}, locked)"
    if group_kind(entry):
        normal = f" across {_row(entry.axis)}" if entry.kind == "planar" else ""
        return f"({entry.name}: {entry.kind}{normal}{'' if joint.actuated else ', passive'})"
    preposition = "about" if joint.turns else "along"
    axis = _row(joint.axis)
    follows = f", mimics {joint.mimic.leader}" if joint.mimic else ""
    passive = "" if joint.actuated else ", passive"
    return f"({entry.name}: {joint.kind} {preposition} {axis}{follows}{passive})"


# contract keys for the load options, which the description does not contain
LOADED = (
    *("gravity", "base", "tip", "locked", "mimic"),
    *("damping", "springs", "friction", "armature", "payload", "wrench"),
)
# attributes that affect the dynamics, for arms that were changed after loading
MOVING = (
    *("links_tip_to_base", "joint_names", "groups", "floating_base", "locked_joints", "gravity"),
    *("damping", "springs", "friction_velocity", "wrenches", "loops"),
)
# number of differences in a message
MAX_DIFFERENCES = 3


class DescribedArm(NamedTuple):
    """An arm's contract, and the parameters of its description or None."""

    contract: Mapping[str, Any]
    model_dict: Mapping[str, Any] | None


def differences(here: DescribedArm, there: DescribedArm) -> list[str]:
    """Differences between this arm and the other one, one text each."""
    changed_options = [
        f"{key}: {there.contract[key]} there, {here.contract[key]} here"
        for key in LOADED
        if key in here.contract
        and key in there.contract
        and here.contract[key] != there.contract[key]
    ]
    if here.model_dict is None or there.model_dict is None:
        return changed_options
    changed = _changed("", with_gravity(here.model_dict), with_gravity(there.model_dict))
    return [*changed, *changed_options]


def moving_differences(here: Arm, there: Arm) -> list[str]:
    """Differences between two arms if their dynamics differ, else an empty list."""
    names = [name for name in MOVING if getattr(here, name) != getattr(there, name)]
    if not names:
        return []
    described = (DescribedArm(arm.contract, arm.model_dict) for arm in (here, there))
    return differences(*described) or [f"other {name.partition('_')[0]}" for name in names]


def in_words(differ: Sequence[str]) -> str:
    """The first differences, and the number of the others."""
    more = f"; and {len(differ) - MAX_DIFFERENCES} more" if len(differ) > MAX_DIFFERENCES else ""
    return f"{'; '.join(differ[:MAX_DIFFERENCES])}{more}"


def _changed(path: str, here: Any, there: Any) -> Iterator[str]:
    """Every parameter that differs, by its path of keys; ignores the arm's name and motors."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in dict.fromkeys([*there, *here]):
            where = f"{path} {key}".strip()
            if where != "arm name" and key != "actuated":
                yield from _changed(where, here.get(key), there.get(key))
    elif here != there:
        yield f"{path}: {_shown(there)} there, {_shown(here)} here"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"({', '.join(_shown(each) for each in value)})"
    if isinstance(value, Mapping):
        return "something"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
