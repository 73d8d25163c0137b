"""Reader of MJCF files: bodies as links, from the values that MuJoCo compiles.

A body with several joints becomes one link per joint.  The origin of a link is at its joint; if
this is not the body's own frame, the body is an additional link, fixed to it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from math import inf, isfinite
from typing import Any, NamedTuple

from robolin.core.arm import (
    HERE,
    ORIGIN,
    UNLIMITED,
    Inertia,
    Limits,
    Mimic,
    Pose,
    Vector3,
    effort_ends,
)
from robolin.core.arm_parts import (
    apply,
    compose,
    rotation_about,
    rotation_from_quaternion,
    turned_rotary,
)
from robolin.description.mjcf import mjcf_worker as compile_in_own_process
from robolin.description.mjcf.mjcf_equalities import (
    Equalities,
    actuator_findings,
    actuator_notes,
    omit_shared_efforts,
    read_equalities,
    tendon_rotors,
    with_actuators,
    with_tendon_armature,
)
from robolin.description.mjcf.mjcf_files import (
    ModelFiles,
    model_files,
    not_finite,
    rejections,
    with_hints,
)
from robolin.description.mjcf.mjcf_unused import unused_parts
from robolin.description.model import (
    Description,
    EntryKind,
    Finding,
    JointEntry,
    LinkEntry,
    Reading,
    SourceLocation,
    limit_findings,
    sorted_counts,
)
from robolin.description.named_poses import keyframe_poses
from robolin.description.robot_source import RobotText
from robolin.description.structure import check_structure
from robolin.description.worker_process import (
    TIMEOUT,
    OutOfBoundsError,
    WaitedTooLongError,
    run_in_separate_process,
)
from robolin.errors import RobolinError, UsageError

Row = Mapping[str, Any]

# MuJoCo's codes of joint types
_FREE, _BALL, _SLIDE, _HINGE = range(4)
_KINDS: dict[int, EntryKind] = {
    _FREE: "floating",
    _BALL: "spherical",
    _SLIDE: "prismatic",
    _HINGE: "revolute",
}


class _Part(NamedTuple):
    """A link of a body with the joint that carries it."""

    link: LinkEntry
    joint: JointEntry


def read_mjcf(robot: RobotText, folders: Iterable[str], open_loops: bool = False) -> Reading:
    """The description of an MJCF file, None if there is any error, and all findings.

    folders:    further readable folders, in addition to the package of the file
    open_loops: whether equality constraints without a mimic rule are left out
    """
    if robot.path is None:
        hint = "pass the path of the file, because an MJCF file may include other files"
        raise UsageError("MJCF cannot be read from standard input", where="-", hint=hint)
    files = model_files(robot.path, robot.text, robot.shown, folders)
    if any(finding.level == "error" for finding in files.findings):
        return Reading(None, files.findings)
    model = _compiled(robot, files)
    if "errors" in model:
        return Reading(None, limit_findings([*files.findings, *model["errors"]]))
    if wrong_numbers := list(not_finite(model, files)):
        return Reading(None, limit_findings([*files.findings, *wrong_numbers]))
    findings = [*files.findings, *_findings(model, files)]
    description, more = _description(model, files, findings, open_loops)
    findings += more
    wrong = any(finding.level == "error" for finding in findings)
    read = tuple(os.path.join(files.folder, name) for name in files.digests)
    findings = limit_findings(with_hints(findings))
    return Reading(None if wrong else description, findings, description, read)


def _compiled(robot: RobotText, files: ModelFiles) -> Row:
    if find_spec("mujoco") is None:
        hint = "pip install mujoco"
        raise RobolinError(
            "MJCF files need the package mujoco, which is not installed",
            where=robot.shown,
            hint=hint,
        )
    assert robot.path is not None, "a file on disk"
    try:
        model = _in_own_process({"file": str(robot.path.absolute())})
    except WaitedTooLongError:
        message = f"MuJoCo did not compile the file within {TIMEOUT} s"
        hint = "repeat the command when the computer is less busy"
        raise RobolinError(message, where=robot.shown, hint=hint) from None
    except OutOfBoundsError:
        message = "MuJoCo crashed on this file, or needed more than 10 s or 4 GiB"
        raise RobolinError(message, where=robot.shown) from None
    if "error" in model:
        return {"errors": _rejections(files, str(model["error"]))}
    return _switched_off(with_tendon_armature(with_actuators(_named(model))))


def _rejections(files: ModelFiles, first: str) -> list[Finding]:
    """A finding for every error; MuJoCo itself reports the first one only."""
    rows, locations = files.outline()
    model: dict[str, Any] = {}
    with suppress(OutOfBoundsError):
        model = _in_own_process({"outline": rows, "folder": files.folder})
    errors = model.get("errors") or [(first, None)]
    findings = list(rejections(files, errors, rows, locations))
    return findings + [each for each in _of_corrected(model, files) if each.level == "error"]


def _of_corrected(model: dict[str, Any], files: ModelFiles) -> list[Finding]:
    """Findings of a model after its errors are corrected, if MuJoCo then compiles it."""
    if "body" not in model:
        return []
    row = _switched_off(with_tendon_armature(with_actuators(_named(model))))
    findings = list(not_finite(row, files))
    return findings or [*_findings(row, files), *_description(row, files, findings, False)[1]]


def _in_own_process(request: Row) -> dict[str, Any]:
    worker = compile_in_own_process
    return run_in_separate_process(worker.__name__, request, worker.BOUNDS)


def _switched_off(model: dict[str, Any]) -> Row:
    """The model without the features that its flags disable."""
    disabled = set(model["disabled"])
    model["without_effect"] = _without_effect(model, disabled)
    if "gravity" in disabled:
        model["gravity"] = [0.0, 0.0, 0.0]
    if "equality" in disabled or "constraint" in disabled:
        model["equality"] = []
    if "frictionloss" in disabled or "constraint" in disabled:
        model["dof"] = [{**dof, "frictionloss": 0.0} for dof in model["dof"]]
    if disabled & {"damper", "passive"}:
        model["dof"] = [{**dof, "damping": 0.0} for dof in model["dof"]]
    if disabled & {"spring", "passive"}:
        model["joint"] = [{**joint, "stiffness": 0.0} for joint in model["joint"]]
    return model


def _without_effect(model: Row, disabled: set[str]) -> Counter[str]:
    """Count elements that flags of the model disable, and rest positions without a spring."""
    dofs, joints = model["dof"], model["joint"]
    single = [joint for joint in joints if joint["type"] in (_SLIDE, _HINGE)]
    counts = Counter(
        {
            "joint attribute springref": len(
                [
                    joint
                    for joint in single
                    if not joint["stiffness"] and model["qpos_spring"][joint["qposadr"]]
                ]
            )
        }
    )
    for flags, what, rows, quantity in (
        ({"damper", "passive"}, "damping", dofs, "damping"),
        ({"spring", "passive"}, "spring", joints, "stiffness"),
        ({"frictionloss", "constraint"}, "frictionloss", dofs, "frictionloss"),
        ({"equality", "constraint"}, "equality", model["equality"], "active0"),
    ):
        if disabled & flags:
            counts[f"{what} disabled by a flag"] = len([row for row in rows if row[quantity]])
    return counts


def _named(model: dict[str, Any]) -> dict[str, Any]:
    """The model, with generated names for unnamed objects that no other object has."""
    for kind in ("body", "joint", "equality", "key", "tendon"):
        taken = {row["name"] for row in model[kind]}
        for k, row in enumerate(model[kind]):
            name = row["name"] or f"{kind}{k}"
            while not row["name"] and name in taken:
                name += "_"
            row["name"] = name
            taken.add(name)
    return model


def _findings(model: Row, files: ModelFiles) -> Iterator[Finding]:
    """Findings for forces and constraints that an arm does not support."""
    for text in dict.fromkeys(model["warned"]):
        yield Finding("mjcf-warning", "warning", files.at("mujoco", ""), " ".join(text.split()))
    if model["unread"]:
        reason = " ".join(model["unread"].split())
        message = f"meshes and textures cannot be read, but no inertia depends on them: {reason}"
        yield Finding("mjcf-unread", "note", files.at("mujoco", ""), message)
    for what in model["left_out"]:
        message = f"{what}: this effect is not supported and is ignored"
        yield Finding("mjcf-left-out", "warning", files.at("mujoco", ""), message)
    for what in model["from_outside"]:
        message = f"{what}: robolin ignores this part; pass torques and external forces as input"
        yield Finding("mjcf-from-outside", "note", files.at("mujoco", ""), message)
    yield from actuator_findings(model, files)
    for joint in model["joint"]:
        yield from _of_several_freedoms(model, joint, files.at("joint", joint["name"]))
        if joint["type"] in (_SLIDE, _HINGE) and not any(joint["axis"]):
            location = files.at("joint", joint["name"])
            message = f"joint '{joint['name']}': the axis is zero in the model compiled by MuJoCo"
            yield Finding(
                "zero-axis",
                "error",
                location,
                message,
                "check for very large or very small numbers in the axis",
            )
    for body in model["body"]:
        if body["gravcomp"]:
            location = files.at("body", body["name"])
            message = (
                f"body '{body['name']}': gravcomp is not supported and is ignored; gravity acts "
                "on the body"
            )
            yield Finding("mjcf-left-out", "warning", location, message)


def _of_several_freedoms(model: Row, joint: Row, location: SourceLocation) -> Iterator[Finding]:
    """Findings for properties that multi-DoF joints do not support."""
    if joint["type"] == _BALL and joint["limited"]:
        what = "has a range; ranges of ball joints are not supported and are ignored"
        yield Finding("mjcf-left-out", "warning", location, f"joint '{joint['name']}' {what}")
    if joint["type"] == _FREE and model["dof"][joint["dofadr"]]["frictionloss"]:
        # MuJoCo applies it in world axes, an arm in body axes
        message = (
            f"joint '{joint['name']}': frictionloss is not supported for free joints and is ignored"
        )
        yield Finding("mjcf-left-out", "warning", location, message)


def _description(
    model: Row, files: ModelFiles, findings: list[Finding], open_loops: bool
) -> tuple[Description, list[Finding]]:
    bodies, equalities = model["body"], read_equalities(model, files, findings, open_loops)
    rules, (rotors, rotor_joints) = equalities.rules, tendon_rotors(model, files)
    omit_shared_efforts(model, rules)
    base = LinkEntry(bodies[0]["name"], files.at("worldbody", ""))
    parts = [part for k in range(1, len(bodies)) for part in _parts(model, k, files)]
    links = [base, *(part.link for part in parts), *equalities.links, *rotors]
    driven = _actuated(model, rules)
    joints = [_following(part.joint, rules, driven) for part in parts]
    joints += [*equalities.joints, *rotor_joints]
    location = files.at("mujoco", "")
    root, problems = check_structure(links, joints, location)
    x, y, z = model["gravity"]
    return Description(
        name=model["name"] or files.main.stem,
        links=tuple(links),
        joints=tuple(joints),
        root=root or "",
        source=files.shown,
        digest=files.digest,
        gravity=(x, y, z),
        loops=tuple(equalities.loops),
        poses=keyframe_poses(model, joints, files, findings),
        ignored=_ignored(model, files, equalities),
        notes=("compiled by MuJoCo from MJCF", *actuator_notes(model)),
        locations={"robot": location},
    ), problems


def _ignored(model: Row, files: ModelFiles, equalities: Equalities) -> tuple[str, ...]:
    """Elements and attributes without effect, and equalities that the model switches off."""
    counts = unused_parts(files.trees)
    inactive = sum(not equality["active0"] for equality in model["equality"])
    counts += model["without_effect"] + Counter({"equality that is not active": inactive})
    counts += Counter({"equality ignored by --open-loops": equalities.left_out})
    counts += Counter({"equality of a flexible body": equalities.flexible})
    return sorted_counts(counts)


def _following(joint: JointEntry, rules: Mapping[str, Mimic], driven: set[str]) -> JointEntry:
    if joint.name in rules:
        return replace(joint, mimic=rules[joint.name])
    return joint if joint.kind == "fixed" else replace(joint, actuated=joint.name in driven)


def _actuated(model: Row, rules: Mapping[str, Mimic]) -> set[str]:
    """The joints with an actuator, or all; the actuator of a follower drives its leader."""
    if model["actuated"] is None or "actuation" in model["disabled"]:
        return {joint["name"] for joint in model["joint"]}
    names = {model["joint"][k]["name"] for k in model["actuated"]}
    return names | {rules[name].leader for name in names if name in rules}


def _parts(model: Row, k: int, files: ModelFiles) -> Iterator[_Part]:
    """The links of body k, from its parent outward to the body itself."""
    body = model["body"][k]
    joints = [joint for joint in model["joint"] if joint["bodyid"] == k]
    location = files.at("body", body["name"])
    parent = model["body"][body["parentid"]]["name"]
    pose = Pose(rotation_from_quaternion(*body["quat"]), _vector(body["pos"]))
    if not joints:
        joint = JointEntry(f"{body['name']}/fixed", "fixed", parent, body["name"], location, pose)
        yield _Part(_body_link(body, files), joint)
        return
    at: Vector3 = ORIGIN
    for k_joint, joint in enumerate(joints):
        anchor = ORIGIN if joint["type"] in (_FREE, _SLIDE) else _vector(joint["pos"])
        own = k_joint == len(joints) - 1 and anchor == ORIGIN
        name = body["name"] if own else f"{body['name']}@{joint['name']}"
        moved = _shifted(pose if k_joint == 0 else HERE, _minus(anchor, at))
        entry = _joint(model, joint, parent, name, moved, files)
        yield _Part(_body_link(body, files) if own else LinkEntry(name, location), entry)
        parent, at = name, anchor
    if at != ORIGIN:
        back = _shifted(HERE, _minus(ORIGIN, at))
        joint = JointEntry(f"{body['name']}/fixed", "fixed", parent, body["name"], location, back)
        yield _Part(_body_link(body, files), joint)


def _joint(
    model: Row, joint: Row, parent: str, child: str, pose: Pose, files: ModelFiles
) -> JointEntry:
    """One joint; the pose of its link compensates MuJoCo's position offset `ref`."""
    kind, dof = _KINDS[joint["type"]], model["dof"][joint["dofadr"]]
    location = files.at("joint", joint["name"])
    if kind in ("floating", "spherical"):
        return JointEntry(
            name=joint["name"],
            kind=kind,
            parent=parent,
            child=child,
            location=location,
            pose=pose,
            damping=dof["damping"],
            friction=0.0 if kind == "floating" else dof["frictionloss"],
            armature=dof["armature"],
            stiffness=joint["stiffness"],
        )
    axis, ref = _vector(joint["axis"]), model["qpos0"][joint["qposadr"]]
    if ref and kind == "prismatic":
        pose = _shifted(pose, (-ref * axis[0], -ref * axis[1], -ref * axis[2]))
    elif ref:
        pose = _turned(pose, axis, -ref)
    if kind == "revolute" and not joint["limited"]:
        kind = "continuous"
    return JointEntry(
        name=joint["name"],
        kind=kind,
        parent=parent,
        child=child,
        location=location,
        pose=pose,
        axis=axis,
        limits=_limits(joint),
        damping=dof["damping"],
        friction=dof["frictionloss"],
        armature=dof["armature"],
        stiffness=joint["stiffness"],
        rest=model["qpos_spring"][joint["qposadr"]] if joint["stiffness"] else 0.0,
    )


def _limits(joint: Row) -> Limits:
    """Limits of the position and the effort; MuJoCo clamps the sum of the actuators."""
    lower, upper = joint["range"] if joint["limited"] else (None, None)
    low, high = joint["effort"] or (-inf, inf)
    if joint["actfrclimited"]:
        first, last = joint["actfrcrange"]
        low, high = min(max(low, first), last), max(min(high, last), first)
    if isfinite(low):
        return Limits(lower, upper, None, *effort_ends(low, high))
    return UNLIMITED if lower is None else Limits(lower, upper)


def _body_link(body: Row, files: ModelFiles) -> LinkEntry:
    """The body with its inertia, rotated from principal axes to body axes."""
    location = files.at("body", body["name"])
    if not body["mass"]:
        return LinkEntry(body["name"], location)
    xx, yy, zz = body["inertia"]
    rotary = turned_rotary(rotation_from_quaternion(*body["iquat"]), (xx, 0.0, 0.0, yy, 0.0, zz))
    return LinkEntry(
        body["name"], location, Inertia(body["mass"], _vector(body["ipos"]), rotary), location
    )


def _vector(values: Any) -> Vector3:
    x, y, z = values
    return x + 0.0, y + 0.0, z + 0.0


def _minus(one: Vector3, other: Vector3) -> Vector3:
    return one[0] - other[0], one[1] - other[1], one[2] - other[2]


def _shifted(pose: Pose, by: Vector3) -> Pose:
    return pose if by == ORIGIN else Pose(pose.rotation, apply(pose, by))


def _turned(pose: Pose, axis: Vector3, angle: float) -> Pose:
    return compose(pose, Pose(rotation_about(axis, angle)))
