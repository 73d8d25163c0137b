"""Data of `robolin inspect`: tree, joints, masses, contract; and differences between two arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from re import findall, search
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
    SourceLocation,
    group_kind,
    limit_findings,
    with_gravity,
)
from robolin.description.multi_dof_joints import with_base_joint
from robolin.description.structure import tree_of
from robolin.description.validate import (
    by_line,
    joint_findings,
    link_findings,
    link_sizes,
    motion_findings,
    plain_arm,
    repeated_inertials,
    validate,
)
from robolin.dynamics.algebra.scalar import float_sum
from robolin.errors import raise_all

Row = dict[str, Any]


def file_findings(reading: Reading, source: str) -> list[Finding]:
    """All findings of `robolin validate`: for URDF and xacro, also notes on other programs."""
    from robolin.description.robot_source import bundled_path
    from robolin.description.urdf.urdf_reader import ignored_by_others

    findings = validate(reading) if reading.partial is None else partial_findings(reading)
    urdf = source.lower().endswith((".urdf", ".xacro")) and bundled_path(source) is None
    if urdf and (description := reading.description or reading.partial) is not None:
        findings += ignored_by_others(description)
    return findings


# root link of the tree that is built from the valid parts of a file
_TRIAL = "valid parts"
# errors of these ids leave the numbers of a link or joint valid
_STRUCTURE = frozenset(
    (
        *("unknown-link", "two-parents", "cycle", "several-roots", "joint-to-itself"),
        *("mimic-unknown", "mimic-cycle", "mimic-fixed", "mimic-self"),
        *("duplicate-link", "duplicate-joint"),
    )
)
_OF_MASS = ("negative-mass", "inertia-without-mass", "mass-without-inertia", "radius-of-gyration")
_OF_INERTIA = ("inertia-not-positive", "triangle-inequality", "placeholder-inertia")
# the invalid value in an error of an XML reader, and the findings that would only repeat it
_REPEATED: dict[str, tuple[str, ...]] = {
    r": (mass value|<mass>)|<inertial> without <mass>": _OF_MASS,
    r": (inertia |<i[xyz][xyz]>)": (*_OF_MASS[1:], *_OF_INERTIA),
    r"unknown type|no type": ("limits-in-degrees", "axis-not-unit", "limits-zero-range"),
    r": (axis2? xyz|<xyz>)|axis2 is parallel": ("axis-not-unit",),
    r": (origin|<pose>|limit|dynamics|mimic|<(lower|upper|effort|damping|friction)>)": (),
}


def partial_findings(reading: Reading) -> list[Finding]:
    """The findings of a file with errors: physical checks of everything that the errors spare."""
    partial = reading.partial
    assert partial is not None, "the links and joints of the file are known"
    if reading.description is not None:
        return validate(reading)
    wrong = [finding for finding in reading.findings if finding.level == "error"]
    links = [x for x in partial.links if x.name]
    joints = [x for x in partial.joints if x.name]
    by_owner: dict[str, list[Finding]] = {}
    for error in (x for x in wrong if x.id not in _STRUCTURE):
        for owner in findall(r"(?:link|joint) '[^']*'", error.message):
            by_owner.setdefault(owner, []).append(error)
    owners = [*(f"link '{x.name}'" for x in links), *(f"joint '{x.name}'" for x in joints)]
    useless = {owner: _useless_checks(by_owner.get(owner, ())) for owner in owners}
    sound = [x for x in links if useless[f"link '{x.name}'"] is not None]
    physical: list[Finding] = []
    sizes, motion = _of_trial(partial, sound, joints, useless)
    for link in sound:
        skip = useless[f"link '{link.name}'"] or ()
        physical += [x for x in link_findings(link, sizes.get(link.name)) if x.id not in skip]
    for joint in joints:
        skipped = useless[f"joint '{joint.name}'"]
        if skipped is not None:
            physical += [x for x in joint_findings(_with_axis(joint)) if x.id not in skipped]
    intact = [x for x in sound if not useless[f"link '{x.name}'"]]
    physical += [*repeated_inertials(intact), *motion]
    return by_line([*reading.findings, *limit_findings(physical)])


def _useless_checks(errors: Sequence[Finding]) -> tuple[str, ...] | None:
    """The checks that the errors of a link or joint make useless; None if all are useless."""
    skip: list[str] = []
    for error in errors:
        ids = [ids for pattern, ids in _REPEATED.items() if search(pattern, error.message)]
        if not ids:
            return None
        skip += [each for several in ids for each in several]
    return tuple(skip)


def _with_axis(joint: JointEntry) -> JointEntry:
    """The joint with a unit axis instead of an invalid one, which has its own error."""
    return replace(joint, axis=(1.0, 0.0, 0.0)) if not any(joint.axis) else joint


def _of_trial(
    partial: Description,
    links: Sequence[LinkEntry],
    joints: Sequence[JointEntry],
    useless: Mapping[str, tuple[str, ...] | None],
) -> tuple[Mapping[str, float], list[Finding]]:
    """Sizes of links, and findings of joints, that errors leave with all of their child links."""
    names: dict[str, LinkEntry] = {}
    for link in links:
        names.setdefault(link.name, link)
    by_child: dict[str, JointEntry] = {}
    cut = {link.name for link in partial.links if useless.get(f"link '{link.name}'") != ()}
    cut |= {name for name, count in Counter(link.name for link in links).items() if count > 1}
    occurrences = Counter(joint.name for joint in joints)
    for i, joint in enumerate(joints):
        alone = occurrences[joint.name] == 1
        intact = useless[f"joint '{joint.name}'"] == () and joint.mimic is None and alone
        known = {joint.parent, joint.child} <= names.keys() and joint.child not in by_child
        if known and any(joint.axis) and joint.parent != joint.child:
            name = joint.name if alone else f"{_TRIAL}/{i}"
            by_child[joint.child] = replace(joint, mimic=None, name=name)
        if not (intact and known):
            cut |= {joint.parent, joint.child}
    tree = [LinkEntry(_TRIAL, SourceLocation(partial.source)), *names.values()]
    below: dict[str, list[JointEntry]] = {}
    for joint in by_child.values():
        below.setdefault(joint.parent, []).append(joint)
    kept: list[JointEntry] = []
    reached: set[str] = set()
    # roots first: other links that are not reached are in a cycle
    for name in sorted(names, key=by_child.__contains__):
        if name in reached:
            continue
        cut |= {by_child[name].parent} if name in by_child else set()
        branch = [JointEntry(f"{_TRIAL}/{name}", "fixed", _TRIAL, name, tree[0].location)]
        for joint in branch:
            reached.add(joint.child)
            branch += [x for x in below.get(joint.child, []) if x.child not in reached]
        kept += branch
    trial = Description("trial", tuple(tree), tuple(kept), _TRIAL, partial.source, "")
    arm = plain_arm(trial)
    if arm is None:
        return {}, []
    bodies = {arm.frames[name].link for name in cut if name in arm.frames}
    sizes = {
        name: size for name, size in link_sizes(arm).items() if arm.frames[name].link not in bodies
    }
    for name in [*cut]:
        while (above := by_child.get(name)) is not None and above.parent not in cut:
            name = above.parent
            cut.add(name)
    owners = {f"'{x}'" for joint in kept if joint.child in cut for x in (joint.name, joint.child)}
    physical = motion_findings(trial, arm)
    return sizes, [x for x in physical if owners.isdisjoint(findall(r"'[^']*'", x.message))]


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
