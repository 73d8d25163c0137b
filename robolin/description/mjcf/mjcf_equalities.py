"""Equality constraints, tendons and actuators of an MJCF model: mimic rules, loops and rotors.

Linear equations of two joints are mimic rules.  A linear equation of more joints, Σ c q = d, is a
closure of massless links that slide along x, one after another, each mimicking a joint with the
ratio c: the last one stays at x = d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from robolin.core.arm import HERE, NO_TURN, ORIGIN, Inertia, LoopKind, Mimic, Pose, Vector3
from robolin.core.arm_parts import rotation_from_quaternion
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.description.mjcf.mjcf_files import ModelFiles
from robolin.description.model import (
    EntryKind,
    Finding,
    JointEntry,
    LinkEntry,
    LoopEnd,
    LoopEntry,
    SourceLocation,
)
from robolin.dynamics.algebra.scalar import float_sum

Row = Mapping[str, Any]
# coefficient of each joint by its index, and the constant: Σ c q = d
JointTerms = dict[int, float]

# MuJoCo's codes of equality types, and of the objects they connect
_CONNECT, _WELD, _JOINT, _TENDON = range(4)
# equalities of flexible bodies, which are ignored with a warning
_FLEXIBLE = (4, 5, 6)
_TAGS = {_CONNECT: "connect", _WELD: "weld", _JOINT: "joint", _TENDON: "tendon"}
_BODY, _SITE = 1, 6
_OPEN_HINT = "or add --open-loops to ignore it"


@dataclass
class Equalities:
    """The active equality constraints of a model, as entries of a description.

    links, joints: massless links of linear equations, with their mimic joints
    left_out:      number of constraints that the option to open loops leaves out
    flexible:      number of constraints of flexible bodies
    """

    rules: dict[str, Mimic] = field(default_factory=dict)
    loops: list[LoopEntry] = field(default_factory=list)
    links: list[LinkEntry] = field(default_factory=list)
    joints: list[JointEntry] = field(default_factory=list)
    left_out: int = 0
    flexible: int = 0


def read_equalities(
    model: Row, files: ModelFiles, findings: list[Finding], open_loops: bool
) -> Equalities:
    """All active equalities; an unsupported one is an error, or left out with open loops."""
    read = Equalities()
    for equality in model["equality"]:
        if not equality["active0"]:
            continue
        kind = equality["type"]
        if kind in _FLEXIBLE:
            read.flexible += 1
            continue
        if kind in (_CONNECT, _WELD):
            problem = _add_closure(read, model, equality, files)
        elif kind in (_JOINT, _TENDON):
            problem = _add_linear(read, model, equality, files, open_loops)
        else:
            problem = f"equality '{equality['name']}' is of an unsupported type", "remove it"
        if problem and open_loops:
            read.left_out += 1
        elif problem:
            message, hint = problem
            location = _location(files, equality)
            findings.append(
                Finding("mjcf-equality", "error", location, message, f"{hint}, {_OPEN_HINT}")
            )
    return read


def _location(files: ModelFiles, equality: Row) -> SourceLocation:
    return files.at(_TAGS.get(equality["type"], "equality"), equality["name"])


def _add_closure(
    read: Equalities, model: Row, equality: Row, files: ModelFiles
) -> tuple[str, str] | None:
    """Add the closure of a connect or weld constraint; the problem if it is not supported."""
    location = files.at(_TAGS[equality["type"]], equality["name"])
    if equality["objtype"] not in (_BODY, _SITE):
        name = equality["name"]
        return f"equality '{name}' must connect two bodies or two sites", "use bodies or sites"
    ends = [
        LoopEnd(model["body"][body]["name"], location, pose)
        for body, pose in _ends(model, equality)
    ]
    read.loops.append(LoopEntry(equality["name"], _closure_kind(equality), location, *ends))
    return None


def _closure_kind(equality: Row) -> LoopKind:
    # the last entry of the data scales the rotations; 0 leaves them free
    return "rigid" if equality["type"] == _WELD and equality["data"][10] else "point"


def _ends(model: Row, equality: Row) -> Iterator[tuple[int, Pose]]:
    """Body and pose of the two frames that coincide."""
    data, objects = equality["data"], (equality["obj1id"], equality["obj2id"])
    if equality["objtype"] == _SITE:
        for each in objects:
            site = model["site"][each]
            turn = rotation_from_quaternion(*site["quat"])
            yield site["bodyid"], Pose(turn, _point(site["pos"]))
    elif equality["type"] == _WELD:
        # the first body has the relative pose, the second the anchor
        yield objects[0], Pose(rotation_from_quaternion(*data[6:10]), _point(data[3:6]))
        yield objects[1], Pose(NO_TURN, _point(data[0:3]))
    else:
        yield objects[0], Pose(NO_TURN, _point(data[0:3]))
        yield objects[1], Pose(NO_TURN, _point(data[3:6]))


def _point(values: Any) -> Vector3:
    x, y, z = values
    return x, y, z


def _add_linear(
    read: Equalities, model: Row, equality: Row, files: ModelFiles, open_loops: bool
) -> tuple[str, str] | None:
    """Add a linear equation of joints; the problem if it is not linear or fixes a joint."""
    offset, ratio, *bends = equality["data"][:5]
    tendon = equality["type"] == _TENDON
    what = f"tendon equality '{equality['name']}'" if tendon else _joint_text(model, equality)
    sides = [
        _side(model, tendon, equality[key]) if equality[key] >= 0 else {}
        for key in ("obj1id", "obj2id")
    ]
    if any(side is None for side in sides):
        return f"{what} has a spatial tendon: its length depends on the pose", "remove it"
    if sides[1] and any(bends):
        return f"{what} has a nonlinear polynomial", "use a linear polynomial"
    first, second = (side or {} for side in sides)
    if not tendon and second and _add_rule(read, model, equality, first, second):
        return None
    terms = _difference(first, second, ratio)
    if len(terms) < 2:
        names = " and ".join(f"'{model['joint'][k]['name']}'" for k in terms) or "no joint"
        return f"{what} fixes {names}", "remove the equality, and use --lock to fix the joint"
    starts = [model["qpos0"][model["joint"][k]["qposadr"]] for k in terms]
    level = offset + float_sum(c * s for c, s in zip(terms.values(), starts, strict=True))
    if tendon and len(terms) == 2 and _add_pair(read, model, terms, level):
        return None
    if open_loops:
        read.left_out += 1
    else:
        _add_coupling(read, model, equality, terms, level, files)
    return None


def _joint_text(model: Row, equality: Row) -> str:
    return f"the equality of joint '{model['joint'][equality['obj1id']]['name']}'"


def _side(model: Row, tendon: bool, index: int) -> JointTerms | None:
    """The coefficients of a joint, or of a tendon; None for a spatial tendon."""
    if not tendon:
        return {index: 1.0}
    return joint_terms(model["tendon"][index])


def joint_terms(tendon: Row) -> JointTerms | None:
    """The coefficients of a fixed tendon by joint; None for a spatial tendon."""
    if tendon["terms"] is None:
        return None
    terms: JointTerms = {}
    for joint, coefficient in tendon["terms"]:
        terms[joint] = terms.get(joint, 0.0) + coefficient
    return {joint: c for joint, c in terms.items() if c}


def _difference(first: JointTerms, second: JointTerms, ratio: float) -> JointTerms:
    terms = dict(first)
    for joint, c in second.items():
        terms[joint] = terms.get(joint, 0.0) - ratio * c
    return {joint: c for joint, c in terms.items() if c}


def _add_rule(
    read: Equalities, model: Row, equality: Row, first: JointTerms, second: JointTerms
) -> bool:
    """Add the mimic rule of a joint equality, unless the joint has one or leads its leader."""
    offset, ratio = equality["data"][:2]
    follower, leader = next(iter(first)), next(iter(second))
    # MuJoCo measures both positions from the initial pose of the model
    start, leads = (model["qpos0"][model["joint"][k]["qposadr"]] for k in (follower, leader))
    names = model["joint"][follower]["name"], model["joint"][leader]["name"]
    return _follow(read, *names, ratio, start + offset - ratio * leads)


def _add_pair(read: Equalities, model: Row, terms: JointTerms, level: float) -> bool:
    """Add the mimic rule of an equation of two joints; either of them may follow."""
    ((a, c), (b, d)) = terms.items()
    names = model["joint"][a]["name"], model["joint"][b]["name"]
    return _follow(read, names[0], names[1], -d / c, level / c) or _follow(
        read, names[1], names[0], -c / d, level / d
    )


def _follow(read: Equalities, follower: str, leader: str, ratio: float, offset: float) -> bool:
    if follower in read.rules:
        return False
    above = leader
    while above in read.rules and above != follower:
        above = read.rules[above].leader
    if above == follower:
        return False
    read.rules[follower] = Mimic(leader, ratio, offset)
    return True


def _add_coupling(
    read: Equalities, model: Row, equality: Row, terms: JointTerms, level: float, files: ModelFiles
) -> None:
    """Add the sliding links of an equation, and the closure that holds the last one at `level`."""
    location, root = _location(files, equality), model["body"][0]["name"]
    links, joints = _in_series(model, equality["name"], terms, "prismatic", location)
    read.links += links
    read.joints += joints
    ends = LoopEnd(links[-1].name, location), LoopEnd(root, location, Pose(NO_TURN, (level, 0, 0)))
    read.loops.append(LoopEntry(equality["name"], "point", location, *ends))


def _in_series(
    model: Row, name: str, terms: JointTerms, kind: EntryKind, location: SourceLocation
) -> tuple[list[LinkEntry], list[JointEntry]]:
    """Massless links from the world outward that add up the positions of joints."""
    links: list[LinkEntry] = []
    joints: list[JointEntry] = []
    parent = model["body"][0]["name"]
    for joint, coefficient in terms.items():
        leader = model["joint"][joint]["name"]
        child = f"{name}/{leader}"
        links.append(LinkEntry(child, location, locations={"virtual": location}))
        joints.append(
            JointEntry(
                name=child,
                kind=kind,
                parent=parent,
                child=child,
                location=location,
                pose=HERE,
                axis=(1.0, 0.0, 0.0),
                mimic=Mimic(leader, coefficient, 0.0),
                actuated=False,
            )
        )
        parent = child
    return links, joints


def with_tendon_armature(model: dict[str, Any]) -> dict[str, Any]:
    """The model with the armature of tendons of one joint on that joint."""
    dofs = [dict(dof) for dof in model["dof"]]
    for tendon in model["tendon"]:
        terms = joint_terms(tendon) if tendon["armature"] else None
        if terms is not None and len(terms) == 1:
            ((joint, c),) = terms.items()
            dofs[model["joint"][joint]["dofadr"]]["armature"] += c * c * tendon["armature"]
    model["dof"] = dofs
    return model


def tendon_rotors(model: Row, files: ModelFiles) -> tuple[list[LinkEntry], list[JointEntry]]:
    """Two counter-rotating rotors on the world for each tendon of several joints with armature.

    Each rotates about x by the length of the tendon and has half of the armature, so that the pair
    has the tendon's kinetic energy and no momentum.
    """
    links: list[LinkEntry] = []
    joints: list[JointEntry] = []
    for tendon in model["tendon"]:
        terms = joint_terms(tendon) if tendon["armature"] else None
        if terms is None or len(terms) < 2:
            continue
        location, half = files.at("fixed", tendon["name"]), 0.5 * tendon["armature"]
        for name, sign in ((f"{tendon['name']}/+", 1.0), (f"{tendon['name']}/-", -1.0)):
            signed = {joint: sign * c for joint, c in terms.items()}
            more, joined = _in_series(model, name, signed, "continuous", location)
            last = more[-1]
            rotor = Inertia(0.0, ORIGIN, (half, 0.0, 0.0, 0.5 * half, 0.0, 0.5 * half))
            more[-1] = LinkEntry(last.name, location, rotor, location, last.locations)
            links += more
            joints += joined
    return links, joints


def omit_shared_efforts(model: Row, rules: Mapping[str, Mimic]) -> None:
    """Remove the range of a joint and its leader, which share their actuators."""
    driven = {each["name"] for each in model["joint"] if each["effort"] is not None} & {*rules}
    shared = driven | {rules[name].leader for name in driven}
    for joint in model["joint"]:
        if joint["name"] in shared or "actuation" in model["disabled"]:
            joint["effort"] = None


# MuJoCo's codes of transmission types: on a joint, in the frame of its child or its parent
_ON_JOINTS = (0, 1)
# number of DoF of free, ball, slide and hinge joints
_FREEDOMS = (6, 3, 1, 1)
_QUANTITIES = ("armature", "damping")


def with_actuators(model: dict[str, Any]) -> dict[str, Any]:
    """The model with gear² times the armature and damping of actuators on their joints."""
    dofs = [dict(dof) for dof in model["dof"]]
    for actuator in model["actuator"]:
        if actuator["trntype"] in _ON_JOINTS:
            joint = model["joint"][actuator["trnid"][0]]
            squared = actuator["gear"][0] * actuator["gear"][0]
            for dof in dofs[joint["dofadr"] :][: _FREEDOMS[joint["type"]]]:
                for quantity in _QUANTITIES:
                    dof[quantity] += squared * actuator[quantity]
    model["dof"] = dofs
    return model


def actuator_notes(model: Mapping[str, Any]) -> Iterator[str]:
    """Notes on armature, damping and effort limits of joints that come from their actuators."""
    acting = [each for each in _acting(model) if each["trntype"] in _ON_JOINTS]
    if acting:
        yield f"armature and damping of {pluralize(len(acting), 'actuator')} added to their joints"
    limited = sum(joint["effort"] is not None for joint in model["joint"])
    if limited:
        joints = pluralize(limited, "joint")
        yield f"effort limits of {joints} from ctrlrange, forcerange and gear of their actuators"


def actuator_findings(model: Mapping[str, Any], files: ModelFiles) -> Iterator[Finding]:
    """A warning for every actuator whose armature or damping acts on a tendon."""
    for actuator in _acting(model):
        if actuator["trntype"] not in _ON_JOINTS:
            message = f"actuator '{actuator['name']}' drives no joint: "
            message += "its armature and damping are ignored"
            yield Finding("mjcf-left-out", "warning", files.at("mujoco", ""), message)


def _acting(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in model["actuator"] if any(each[quantity] for quantity in _QUANTITIES)]
