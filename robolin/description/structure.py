"""The tree of links and joints: checks for all readers, the order of joints, and mimic rules.

An empty name marks an error that the reader has already reported; the checks skip it.
The public order is depth first from the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from robolin.core.arm import (
    HERE,
    Limits,
    Mimic,
    Vector3,
)
from robolin.core.arm_parts import unit, without_direction
from robolin.core.records import dataclass
from robolin.core.text import closest_match, did_you_mean, quote_list
from robolin.description.model import (
    JOINT_TYPES,
    MOST_OF_A_KIND,
    Description,
    EntryKind,
    Finding,
    JointEntry,
    JointPart,
    LinkEntry,
    SourceLocation,
    coordinate_names,
    group_kind,
)

ONE_NUMBER = ("revolute", "continuous", "prismatic")


def check_structure(
    links: Sequence[LinkEntry], joints: Sequence[JointEntry], location: SourceLocation
) -> tuple[str | None, list[Finding]]:
    """The root link, None unless it is unique, and all errors in the tree.

    location: location of the robot in its file
    """
    findings = [
        *_names_to_show("link", links),
        *_names_to_show("joint", joints),
        *_duplicates("link", links),
        *_duplicates("joint", joints),
        *_coordinate_names(joints),
        *_misplaced_joints(links, joints),
        *mimic_findings(joints),
    ]
    root, tree_findings = _root(links, joints, location)
    return root, [*findings, *tree_findings]


def _names_to_show(
    what: str, entries: Sequence[LinkEntry] | Sequence[JointEntry]
) -> Iterator[Finding]:
    """Names with control characters, which would break tables or control the terminal."""
    for entry in entries:
        if not entry.name.isprintable():
            message = f"{what} '{entry.name}': the name has unprintable characters"
            yield Finding("bad-text", "error", entry.location, message, "remove these characters")


def _duplicates(
    what: str, entries: Sequence[LinkEntry] | Sequence[JointEntry]
) -> Iterator[Finding]:
    first: dict[str, SourceLocation] = {}
    for entry in entries:
        if entry.name and entry.name in first:
            yield Finding(
                f"duplicate-{what}",
                "error",
                entry.location,
                f"{what} '{entry.name}' is defined twice; the first is at {first[entry.name]}",
                "rename or remove one of the two definitions",
            )
        first.setdefault(entry.name, entry.location)


def _coordinate_names(joints: Sequence[JointEntry]) -> Iterator[Finding]:
    """Joints whose name is also a coordinate of another joint."""
    several = [joint for joint in joints if group_kind(joint)]
    owners = {name: joint.name for joint in several for name in coordinate_names(joint)}
    for joint in joints:
        if owner := owners.get(joint.name):
            yield Finding(
                "duplicate-joint",
                "error",
                joint.location,
                f"joint '{joint.name}' has the same name as a degree of freedom of joint '{owner}'",
                "rename one of the two joints",
            )


def _misplaced_joints(
    links: Sequence[LinkEntry], joints: Sequence[JointEntry]
) -> Iterator[Finding]:
    """Joints with an unknown link, or with the same link at both ends."""
    known = {link.name: None for link in links if link.name}
    for joint in joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name and name not in known:
                yield Finding(
                    "unknown-link",
                    "error",
                    joint.at(end),
                    f"joint '{joint.name}' names an unknown {end} link '{name}'",
                    did_you_mean(name, known),
                )
        if joint.parent and joint.parent == joint.child:
            yield Finding(
                "joint-to-itself",
                "error",
                joint.at("child"),
                f"joint '{joint.name}': parent and child are the same link, '{joint.child}'",
                "connect two different links",
            )


def _root(
    links: Sequence[LinkEntry], joints: Sequence[JointEntry], location: SourceLocation
) -> tuple[str | None, list[Finding]]:
    names = dict.fromkeys(link.name for link in links if link.name)
    if not links:
        hint = "add at least one link and one joint"
        return None, [Finding("no-links", "error", location, "the robot has no links", hint)]
    sound: list[JointEntry] = []
    invalid: list[JointEntry] = []
    for joint in joints:
        valid = joint.parent in names and joint.child in names and joint.parent != joint.child
        (sound if valid else invalid).append(joint)
    above, findings = _joints_above(sound)
    roots = [name for name in names if name not in above]
    # an invalid joint also disconnects a link: report one error, not two
    loose = _unexplained(roots, names, invalid)
    if len(loose) - len(findings) > 1:
        findings.append(_several_roots(loose, links))
    return (roots[0] if len(roots) == 1 else None), findings


def _unexplained(
    roots: Sequence[str], names: Mapping[str, None], invalid: Sequence[JointEntry]
) -> list[str]:
    """The roots without the links that invalid joints may have been meant to carry."""
    children = {joint.child for joint in invalid if joint.child != joint.parent}
    loose = [name for name in roots if name not in children]
    if len(invalid) > MOST_OF_A_KIND:
        return loose[:1]
    for joint in invalid:
        wrong = joint.child not in names or joint.child == joint.parent
        if wrong and len(loose) > 1:
            # an empty name, or one that resembles no root, may stand for any of them
            loose.remove(closest_match(joint.child, loose[1:]) or loose[-1])
    return loose


def _joints_above(joints: Sequence[JointEntry]) -> tuple[dict[str, JointEntry], list[Finding]]:
    """For every child link its first joint, and findings for further joints."""
    above: dict[str, JointEntry] = {}
    others: list[JointEntry] = []
    for joint in joints:
        if above.setdefault(joint.child, joint) is not joint:
            others.append(joint)
    parents = {child: joint.parent for child, joint in above.items()}
    findings = []
    for joint in others:
        way = list(_way(joint.parent, parents))
        if joint.child in way:
            findings.append(_cycle(joint, way[: way.index(joint.child) + 1][::-1]))
        else:
            findings.append(_two_parents(joint, above[joint.child]))
    findings += [_cycle(above[loop[0]], loop[::-1]) for loop in _loops(parents)]
    return above, findings


def _way(start: str, onward: Mapping[str, str]) -> dict[str, None]:
    """The names on the path from a start to its end, or to the first repeated name."""
    way = {start: None}
    while (start := onward.get(start, "")) and start not in way:
        way[start] = None
    return way


def _loops(onward: Mapping[str, str]) -> Iterator[list[str]]:
    """Every cycle of a map from name to name, in its order."""
    cleared: set[str] = set()
    for name in onward:
        way: dict[str, None] = {}
        while name in onward and name not in cleared and name not in way:
            way[name] = None
            name = onward[name]
        if name in way:
            names = list(way)
            yield names[names.index(name) :]
        cleared.update(way)


def _cycle(closing: JointEntry, links: Sequence[str]) -> Finding:
    """The finding for a joint that closes a cycle of parents and children."""
    start = links.index(closing.child)
    loop = [*links[start:], *links[:start], closing.child]
    return Finding(
        "cycle",
        "error",
        closing.at("parent"),
        f"joint '{closing.name}' closes a loop of links: {' > '.join(loop)}",
        "remove one joint of the loop: each link has exactly one parent joint",
    )


def _two_parents(joint: JointEntry, first: JointEntry) -> Finding:
    return Finding(
        "two-parents",
        "error",
        joint.at("child"),
        f"link '{joint.child}' has two parent joints, '{first.name}' ({first.location}) and "
        f"'{joint.name}'",
        "check the child links of both joints for a misspelt name",
    )


def _several_roots(roots: Sequence[str], links: Sequence[LinkEntry]) -> Finding:
    second = next(link for link in links if link.name == roots[1])
    return Finding(
        "several-roots",
        "error",
        second.location,
        f"{len(roots)} links have no parent joint: {quote_list(roots)}; a robot has one root link",
        f"add a joint (type fixed if it does not move) with child '{roots[1]}', or remove the link",
    )


def mimic_findings(joints: Sequence[JointEntry]) -> Iterator[Finding]:
    """Errors in the mimic rules of joints."""
    by_name = {joint.name: joint for joint in joints if joint.name}
    # mimic rules may name single coordinates of a universal or cylindrical joint
    pairs = [joint for joint in by_name.values() if JOINT_TYPES[joint.kind].parts]
    by_name |= {part.name: part for joint in pairs for part in split_pair(joint)}
    for joint in joints:
        if joint.mimic and joint.mimic.leader:
            yield from _leader_findings(joint, joint.mimic.leader, by_name)
    leaders = {joint.name: joint.mimic.leader for joint in joints if joint.name and joint.mimic}
    for loop in _loops(leaders):
        if len(loop) > 1:
            yield Finding(
                "mimic-cycle",
                "error",
                by_name[loop[0]].at("mimic"),
                f"joints mimic each other in a cycle: {' > '.join([*loop, loop[0]])}",
                "remove the mimic rule of one of these joints",
            )


def _leader_findings(
    joint: JointEntry, leader: str, by_name: Mapping[str, JointEntry]
) -> Iterator[Finding]:
    """Errors in the leader of a mimic joint."""
    location = joint.at("mimic")
    if joint.kind not in ONE_NUMBER and not JOINT_TYPES[joint.kind].parts:
        message = f"joint '{joint.name}' is {joint.kind} and mimics '{leader}'"
        hint = "remove the mimic rule: only a revolute, continuous or prismatic joint can mimic"
        yield Finding("mimic-fixed", "error", location, message, hint)
    elif leader == joint.name:
        message = f"joint '{leader}' mimics itself"
        yield Finding("mimic-self", "error", location, message, "name the joint to mimic")
    elif owner := _body_with_freedom(leader, by_name):
        yield _nothing_to_follow(
            joint,
            f"a degree of freedom of the {owner.kind} joint '{owner.name}', which cannot be "
            "mimicked alone",
        )
    elif leader not in by_name:
        message = f"joint '{joint.name}' mimics an unknown joint '{leader}'"
        others = [name for name in by_name if name != joint.name]
        hint = did_you_mean(leader, others) or "remove the mimic rule: the robot has no other joint"
        yield Finding("mimic-unknown", "error", location, message, hint)
    elif JOINT_TYPES[joint.kind].parts:
        yield from _pair_findings(joint, by_name[leader])
    elif (kind := by_name[leader].kind) not in ONE_NUMBER:
        parts = quote_list([f"{leader}:{part.coordinate}" for part in JOINT_TYPES[kind].parts])
        why = f"a {kind} joint, and its position is not a single number"
        yield _nothing_to_follow(joint, why, f"mimic one of {parts}" if parts else "")


def _body_with_freedom(name: str, by_name: Mapping[str, JointEntry]) -> JointEntry | None:
    """The spherical, planar or floating joint with a coordinate of this name."""
    owner = by_name.get(name.rpartition(":")[0])
    if owner is None or group_kind(owner) is None:
        return None
    return owner if name in coordinate_names(owner) else None


def _nothing_to_follow(joint: JointEntry, why: str, hint: str = "") -> Finding:
    leader = joint.mimic.leader if joint.mimic else ""
    message = f"joint '{joint.name}' mimics '{leader}', {why}"
    hint = hint or "mimic a revolute, continuous or prismatic joint"
    return Finding("mimic-fixed", "error", joint.at("mimic"), message, hint)


def _pair_findings(joint: JointEntry, leader: JointEntry) -> Iterator[Finding]:
    """Errors of a mimic rule between two joints with a pair of coordinates each."""
    location = joint.at("mimic")
    if leader.kind != joint.kind:
        message = f"{joint.kind} joint '{joint.name}' mimics {leader.kind} joint '{leader.name}'"
        hint = f"mimic another {joint.kind} joint"
        yield Finding("mimic-fixed", "error", location, message, hint)
    elif JOINT_TYPES[joint.kind].two_units and joint.mimic and joint.mimic.offset:
        message = (
            f"joint '{joint.name}' translates and rotates, so a mimic offset would need two "
            "units, m and rad"
        )
        yield Finding("mimic-fixed", "error", location, message, "omit the offset")


# squared sine of the angle between two axes below which they count as parallel
PARALLEL = 1e-12


def parallel_axes(joints: Iterable[JointEntry]) -> Iterable[Finding]:
    """Pairs of revolute joints with parallel axes, whose two coordinates would be redundant."""
    for joint in joints:
        if JOINT_TYPES[joint.kind].parts and JOINT_TYPES[joint.kind].rotary:
            if without_direction(joint.axis) or without_direction(joint.axis2):
                continue
            a, b = unit(joint.axis), unit(joint.axis2)
            if 1.0 - _dot(a, b) ** 2 <= PARALLEL:
                message = f"joint '{joint.name}': axis2 is parallel to axis"
                hint = f"write two perpendicular axes for a {joint.kind} joint"
                if "axis2" not in joint.locations:
                    hint += "; axis2 is 0 1 0 by default"
                yield Finding("zero-axis", "error", joint.at("axis2"), message, hint)


def split_joint_pairs(joints: Sequence[JointEntry]) -> tuple[list[LinkEntry], list[JointEntry]]:
    """The virtual links, and all joints with universal and cylindrical ones split in two."""
    frames, every = [], []
    for joint in joints:
        if not JOINT_TYPES[joint.kind].parts:
            every.append(joint)
            continue
        middle = f"{joint.child}@{joint.name}"
        frames.append(LinkEntry(middle, joint.location))
        first, second = split_pair(joint)
        every += [
            replace(first, child=middle),
            replace(second, parent=middle, pose=HERE),
        ]
    return frames, every


def split_pair(joint: JointEntry) -> tuple[JointEntry, JointEntry]:
    """Split a joint pair in two; each part mimics its counterpart, if any."""
    first, second = JOINT_TYPES[joint.kind].parts
    return _part(joint, first), _part(joint, second)


def _part(joint: JointEntry, part: JointPart) -> JointEntry:
    mimic = joint.mimic
    if mimic is not None:
        mimic = replace(mimic, leader=f"{mimic.leader}:{part.coordinate}")
    # one number cannot limit both metres and radians
    limits = Limits() if JOINT_TYPES[joint.kind].two_units else joint.limits
    turning: EntryKind = "continuous" if limits.lower is None else "revolute"
    return replace(
        joint,
        name=f"{joint.name}:{part.coordinate}",
        kind=turning if part.rotary else "prismatic",
        axis=joint.axis2 if part.axis == "axis2" else joint.axis,
        limits=limits,
        mimic=mimic,
    )


def _dot(a: Vector3, b: Vector3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@dataclass(frozen=True)
class Tree:
    """The joints depth first, siblings in file order, so that parents precede their children."""

    description: Description
    joints: tuple[JointEntry, ...]

    @cached_property
    def by_name(self) -> Mapping[str, JointEntry]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def coordinates(self) -> frozenset[str]:
        """The names of all coordinates: single-DoF joints, and the parts of multi-DoF joints."""
        return frozenset(name for joint in self.joints for name in coordinate_names(joint))

    @cached_property
    def above(self) -> Mapping[str, JointEntry]:
        """For every link except the root, its parent joint."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def links(self) -> tuple[str, ...]:
        return (self.description.root, *(joint.child for joint in self.joints))

    @cached_property
    def mimic(self) -> Mapping[str, Mimic]:
        """For every mimic joint, the rule with respect to its independent leader."""
        return composed_mimic(self.joints)

    def inboard(self, link: str) -> Iterator[JointEntry]:
        """The joints from a link up to the root."""
        while joint := self.above.get(link):
            yield joint
            link = joint.parent


def tree_of(description: Description) -> Tree:
    """The joints of a description in depth-first order; uses a stack, since trees may be deep."""
    below: dict[str, list[JointEntry]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    walk: list[JointEntry] = []
    waiting = below.get(description.root, [])[::-1]
    while waiting:
        joint = waiting.pop()
        walk.append(joint)
        waiting.extend(below.get(joint.child, [])[::-1])
    return Tree(description, tuple(walk))


def composed_mimic(joints: Sequence[JointEntry]) -> dict[str, Mimic]:
    """For every mimic joint, the rule with respect to the leader at the end of its chain.

    q = r₁ (r₂ q(leader) + o₂) + o₁ = r₁r₂ q(leader) + (r₁o₂ + o₁); the joints have passed
    `check_structure`, so every chain ends.
    """
    rules = {joint.name: joint.mimic for joint in joints if joint.mimic}
    composed: dict[str, Mimic] = {}
    for name, rule in rules.items():
        while step := composed.get(rule.leader, rules.get(rule.leader)):
            offset = rule.ratio * step.offset + rule.offset
            rule = Mimic(step.leader, rule.ratio * step.ratio, offset)
        composed[name] = rule
    return composed
