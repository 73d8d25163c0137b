"""Reader of SDF text: one model becomes links and joints; meshes are never opened.

The root link is fixed to the world where the file places it.  Missing masses and inertias have the
values that SDF defines, each with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from robolin.core.arm import HERE, Inertia, Rotary
from robolin.core.arm_parts import (
    turned_rotary,
)
from robolin.core.text import did_you_mean, pluralize, quote_list, quote_value
from robolin.description.model import (
    Description,
    Finding,
    JointEntry,
    LinkEntry,
    Reading,
    SourceLocation,
    limit_findings,
    sorted_counts,
)
from robolin.description.robot_source import RobotText
from robolin.description.sdf.sdf_fields import (
    FileNotes,
    boolean,
    boolean_attribute,
    check_attributes,
    element_text,
    left_out,
    number_text,
    parts,
    pose_value,
)
from robolin.description.sdf.sdf_files import Model, SdfFiles, World, not_needed, read_world
from robolin.description.sdf.sdf_frames import (
    WORLD,
    FrameNode,
    Scope,
    link_of,
    pose_in_world,
    relative_to,
    scope_of_robot,
)
from robolin.description.sdf.sdf_joints import SdfParts, read_joint
from robolin.description.structure import check_structure, mimic_findings
from robolin.description.xml_tree import Element, name_of, parse_xml

PRODUCTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_sdf(robot: RobotText, packages: Mapping[str, str]) -> Reading:
    """The description of an SDF file, None if there is any error, and all findings.

    packages: folders of models for `model://NAME` and `package://NAME`, by name
    """
    folder = robot.path.absolute().parent if robot.path else None
    notes = FileNotes(robot.shown, folder)
    files = SdfFiles(robot.path, packages)
    world = read_world(files, robot.text, notes)
    if world is None and [x.id for x in notes.findings] == ["xml-malformed"]:
        return _read_rest(robot, packages, notes.findings)
    model = _chosen(world, robot, notes) if world is not None else None
    description = None
    if world is not None and model is not None:
        description = replace(_description(world, model), digest=files.digest)
    wrong = any(finding.level == "error" for finding in notes.findings)
    order = sorted(notes.findings, key=lambda finding: finding.location.line)
    included = tuple(files.parsed)
    return Reading(None if wrong else description, limit_findings(order), description, included)


_OF_CUT = ("mimic-unknown", "no-links", "sdf-loose-link", "sdf-model", "several-roots")


def _read_rest(robot: RobotText, packages: Mapping[str, str], broken: list[Finding]) -> Reading:
    """Every malformed link and joint of a file, and the findings about its other elements."""
    from robolin.description.xml_edits import cut_malformed

    findings, rest = cut_malformed(robot.text, robot.shown, broken, parse_xml)
    if rest is None:
        return Reading(None, findings)
    reading = read_sdf(robot._replace(text=rest), packages)
    # elements that are cut out may be the frames of others
    names = [name for each in findings for name in re.findall("'[^']+'$", each.message)]
    more = [
        each
        for each in reading.findings
        if each.id not in _OF_CUT
        and not (each.id == "sdf-frame" and any(name in each.message for name in names))
    ]
    return Reading(None, [*findings, *more], reading.partial, reading.files)


def _chosen(world: World, robot: RobotText, notes: FileNotes) -> Model | None:
    """The model to read: the named one, the only one, or the only one that can move."""
    models = world.models
    names = [model.name for model in models]
    if robot.part:
        chosen = [model for model in models if model.name == robot.part]
    else:
        loose = [model for model in models if not model.static]
        chosen = [model for model in loose if _has_joint(model)] or loose or models
    if len(chosen) == 1:
        notes.ignored.update(["model"] * (len(models) - 1))
        for other in models:
            if other is not chosen[0]:
                not_needed(notes, other.findings)
        return chosen[0]
    if not models:
        hint = "use a file with a <model>"
        notes.error("sdf-model", world.element, "the file has no model that can be read", hint)
    elif robot.part:
        message = f"the file has no model {quote_value(robot.part)}"
        hint = did_you_mean(robot.part, names, f"choose one of {quote_list(names)}")
        notes.error("sdf-model", world.element, message, hint)
    else:
        names = [model.name for model in chosen]
        hint = f"select a model after a colon: {robot.shown}:{names[0]}"
        message = f"the file has {len(names)} models: {quote_list(names)}"
        notes.error("sdf-model", world.element, message, hint)
    return None


def _has_joint(model: Model) -> bool:
    return any(
        _has_joint(part) if isinstance(part, Model) else part.tag == "joint"
        for part in model.inside
    )


def _description(world: World, model: Model) -> Description:
    notes, robot = world.notes, SdfParts()
    for part in world.inside:
        if isinstance(part, Element):
            _of_world(part, world)
    scope = scope_of_robot(world, model)
    nodes: dict[str, FrameNode] = {}
    written: list[LinkEntry] = []
    for inner in scope.all_scopes():
        _check_model(inner, scope)
        for node in inner.links:
            nodes[node.path] = node
            written.append(_link(node))
        for node in inner.joints:
            read_joint(node, inner, robot)
    _world_joints(scope, nodes, robot)
    location = model.notes.at(model.element)
    _fix_loose_links(nodes, robot, location, notes)
    base = [LinkEntry(WORLD, location)] if robot.on_world else []
    root, findings = check_structure([*base, *written], robot.written, location)
    links = [*base, *written, *robot.links]
    if root and not findings:
        # names of added links, and mimic rules
        _, findings = check_structure(links, robot.joints, location)
    else:
        findings += mimic_findings(robot.joints)
    notes.findings += [_with_loop_hint(finding) for finding in findings]
    root_pose = pose_in_world(nodes[root]) if root in nodes else HERE
    placement = ""
    if root and root_pose != HERE:
        placement = f"{root}/fixed"
        links.insert(0, LinkEntry(WORLD, location))
        robot.joints.insert(0, JointEntry(placement, "fixed", WORLD, root, location, root_pose))
        root = WORLD
    return Description(
        name=model.name,
        links=tuple(links),
        joints=tuple(robot.joints),
        root=root or "",
        source=notes.source,
        digest="",
        gravity=world.gravity,
        ignored=sorted_counts(notes.ignored),
        locations={"robot": location},
        placement=placement,
    )


def _fix_loose_links(
    nodes: Mapping[str, FrameNode], robot: SdfParts, location: SourceLocation, notes: FileNotes
) -> None:
    """Fix every link without a parent joint to the world, if there are several trees of links."""
    children = {joint.child for joint in robot.written}
    loose = [path for path in nodes if path not in children]
    if len(loose) + robot.on_world < 2:
        return
    for path in loose:
        pose = pose_in_world(nodes[path])
        joint = JointEntry(f"{path}/fixed", "fixed", WORLD, path, location, pose)
        robot.written.append(joint)
        robot.joints.append(joint)
    robot.on_world = True
    errors = [finding for finding in notes.findings if finding.level == "error"]
    if any(not error.message.startswith("link ") for error in errors):
        # an invalid joint also disconnects links
        return
    message = (
        f"the model has {pluralize(len(loose), 'link')} without a parent joint: "
        f"{quote_list(loose)}; "
    )
    message += "robolin fixes these links to the world, but in a simulator they move freely"
    hint = "add a <joint> for each link, with the parent 'world' if the link does not move"
    node = nodes[loose[-1]]
    node.notes.add("sdf-loose-link", "warning", node.element, message, hint)


def _with_loop_hint(finding: Finding) -> Finding:
    """A link with two parent joints is a kinematic loop, which SDF files may have."""
    if finding.id != "two-parents":
        return finding
    hint = "SDF loops are not supported: use MJCF <connect> or YAML loops, or remove one joint"
    return replace(finding, hint=hint)


def _of_world(part: Element, world: World) -> None:
    """Count the parts of a world that are not read; its frames and its gravity are."""
    read = ("frame", "joint", "gravity" if world.notes.version >= (1, 6) else "physics")
    if part.tag not in read or world.gravity is None:
        world.notes.ignore(part.tag)


def _world_joints(scope: Scope, nodes: Mapping[str, FrameNode], robot: SdfParts) -> None:
    """Add the joints of the world with both ends on the robot, or one on the world itself."""
    outside = scope.around
    assert outside is not None, "a model always has a surrounding scope"
    for node in outside.joints:
        names = {part.tag: element_text(part) for part in node.element.children}
        ends = [link_of(outside.find(names.get(end, ""))) for end in ("parent", "child")]
        inside = [end is not None and nodes.get(end.path) is end for end in ends]
        if inside[1] and (inside[0] or ends[0] is scope.ground):
            read_joint(node, outside, robot)
        elif any(inside):
            message = f"{node.label} of the world connects the robot with another model"
            left_out(node.element, f"{message}, and robolin ignores this joint", node.notes)
        else:
            node.notes.ignore("joint")


def _check_model(scope: Scope, robot: Scope) -> None:
    """Count the parts of a model that are not read, and reject those without which it is wrong."""
    model, notes = scope.content, scope.content.notes
    owner = f"model {quote_value(model.name)}"
    several = ("link", "joint", "frame", "model", "include", "drake:joint")
    parts(model.element, owner, ("pose", "static"), notes, several)
    for part in model.element.children:
        if part.tag == "drake:joint":
            hint = "use a joint type of SDF, or describe the robot in YAML"
            notes.error("sdf-unsupported", part, f"{owner}: <drake:joint> is not supported", hint)
        elif part.tag == "frame":
            parts(part, f"frame {quote_value(name_of(part, 'a frame', notes))}", ("pose",), notes)
    if model.static:
        message = f"{owner} is static: its links do not move"
        if scope is not robot:
            message = f"{owner} is static, but the model that contains it moves"
        notes.error("sdf-unsupported", model.element, message, "set <static> to false")


def _link(node: FrameNode) -> LinkEntry:
    element, notes = node.element, node.notes
    name = name_of(element, "a link", notes)
    owner = f"link {quote_value(node.path)}" if name else "a link"
    if name == WORLD:
        notes.error(
            "sdf-frame", element, f"{owner}: the name 'world' is reserved", "rename the link"
        )
    check_attributes(element, owner, ("name",), notes)
    known = ("pose", "inertial", "gravity", "kinematic")
    elements = parts(element, owner, known, notes)
    if not boolean(elements.get("gravity"), owner, notes, True):
        message = f"{owner}: <gravity> false is not supported; gravity acts on the link"
        left_out(elements["gravity"], message, notes)
    if boolean(elements.get("kinematic"), owner, notes):
        message = f"{owner}: <kinematic> true is not supported; forces move the link"
        left_out(elements["kinematic"], message, notes)
    for part in element.children:
        if part.tag == "velocity_decay" and any(
            element_text(rate) != "0" for rate in part.children
        ):
            message = f"<velocity_decay> in {owner} is ignored, although it changes the dynamics"
            left_out(part, f"{message}: the element damps the motion of the link", notes)
    inertial = elements.get("inertial")
    body = _inertia(inertial if inertial is not None else element, owner, notes)
    tags = {"pose": "com", "mass": "mass", "inertia": "inertia"}
    children = inertial.children if inertial is not None else []
    locations = {tags[part.tag]: notes.at(part) for part in children if part.tag in tags}
    at = notes.at(inertial) if inertial is not None else None
    if inertial is None or "inertia" not in locations:
        locations["default"] = notes.at(element)
    return LinkEntry(node.path if name else "", notes.at(element), body, at, locations)


def _inertia(inertial: Element, owner: str, notes: FileNotes) -> Inertia:
    """The inertia of a link; SDF's default for missing parts is 1 kg and 1, 1, 1 kg·m².

    inertial: the `<link>` if it has no `<inertial>`
    """
    elements: dict[str, Element] = {}
    if inertial.tag == "inertial":
        elements = parts(inertial, f"inertial of {owner}", ("pose", "mass", "inertia"), notes)
        check_attributes(inertial, owner, ("auto",), notes)
        if boolean_attribute(inertial, "auto", owner, notes):
            message = f"{owner} has an automatic inertia, which is not supported"
            hint = (
                "write the values that this command prints: gz sdf --print FILE "
                "--expand-auto-inertials"
            )
            notes.error("sdf-unsupported", inertial, message, hint)
    values = parts(elements["inertia"], owner, PRODUCTS, notes) if "inertia" in elements else {}
    missing = [] if "mass" in elements else ["mass"]
    missing += [name for name in ("ixx", "iyy", "izz") if name not in values]
    if missing:
        message = f"{owner} has no {', '.join(missing)}: the SDF default is 1"
        notes.add("sdf-default-inertia", "warning", inertial, message, "write <mass> and <inertia>")
    pose = pose_value(elements.get("pose"), owner, notes)
    if "pose" in elements and relative_to(elements["pose"], owner, notes):
        message = f"{owner}: the pose of <inertial> is relative to the link"
        notes.error("sdf-frame", elements["pose"], message, "remove relative_to")
    mass = number_text(elements["mass"], owner, notes) if "mass" in elements else 1.0
    products = [number_text(values.get(name), owner, notes) for name in PRODUCTS]
    xx, xy, xz, yy, yz, zz = (
        float(name in missing) if value is None else value
        for name, value in zip(PRODUCTS, products, strict=True)
    )
    rotary: Rotary = turned_rotary(pose.rotation, (xx, xy, xz, yy, yz, zz))
    return Inertia(mass or 0.0, pose.translation, rotary)
