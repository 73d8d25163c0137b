"""All finding ids of the readers, with level and meaning; the docs list them."""

from __future__ import annotations

from robolin.description.model import Finding, Level, SourceLocation

READING_IDS: dict[str, tuple[Level, str]] = {
    "armature-twice": (
        "error",
        "A joint has an armature and also a rotor inertia with a gear ratio.",
    ),
    "bad-text": ("error", "A name or text is blank or contains unprintable characters."),
    "comment-hyphens": ("warning", "A comment contains `--` (two hyphens), which XML forbids."),
    "cycle": (
        "error",
        "Joints form a closed loop, but the joints of a robot file must form a tree.",
    ),
    "damping-elsewhere": ("note", "Joints have damping, which Pinocchio ignores."),
    "duplicate-element": (
        "error",
        "An element that may occur only once occurs twice, with different content.",
    ),
    "duplicate-joint": ("error", "Two joints have the same name."),
    "duplicate-key": ("error", "A key occurs twice in one mapping."),
    "duplicate-link": ("error", "Two links have the same name."),
    "duplicate-loop": ("error", "Two loops have the same name."),
    "effort-limits-inverted": ("error", "The lower effort limit is above the upper effort limit."),
    "encoding": (
        "error",
        "The bytes of the file do not match the declared encoding, or are not UTF-8.",
    ),
    "file-empty": ("error", "The file is empty."),
    "file-too-large": ("error", "The file is larger than the size limit of robot files."),
    "format-version": ("error", "A YAML or SDF file has an unknown format version."),
    "friction-velocity": ("error", "A friction velocity is zero or negative."),
    "ignored-key": ("warning", "A value has no meaning for this type of joint and is ignored."),
    "implicit-world": (
        "note",
        "Joints have the parent link 'world', which the file does not define.",
    ),
    "inertia-diagonal": (
        "warning",
        "The products of inertia of a link are missing; robolin assumes that they are zero.",
    ),
    "inertia-urdfdom": (
        "warning",
        "Because of white space in a value, urdfdom (the URDF parser of ROS and Pinocchio) ignores "
        "the inertia or the mass of a link.",
    ),
    "invented-inertia": (
        "warning",
        "A link of a urdfpy or urchin object has a mass of 1 kg, the default of the library.",
    ),
    "joint-to-itself": ("error", "The parent link and the child link of a joint are the same."),
    "joint-urdfdom": (
        "warning",
        "Because of white space in a value of a joint, urdfdom (the URDF parser of ROS and "
        "Pinocchio) rejects the file.",
    ),
    "joints-and-dh": ("error", "A YAML file has both a list of joints and a DH table."),
    "limit-missing": ("note", "A revolute or prismatic joint has no limits."),
    "loop-to-itself": ("error", "Both ends of a loop are on the same link."),
    "mimic-cycle": (
        "error",
        "Joints mimic each other in a cycle, so no joint of the cycle is independent.",
    ),
    "mimic-elsewhere": (
        "note",
        "The file has mimic joints, which Pinocchio models as independent joints by default.",
    ),
    "mimic-fixed": (
        "error",
        "The types of a mimic joint and its mimicked joint do not match, or one joint is fixed.",
    ),
    "mimic-self": ("error", "A joint mimics itself."),
    "mimic-unknown": ("error", "A joint mimics a joint that is not in the file."),
    "misplaced-element": ("warning", "An element is in the wrong parent element and is ignored."),
    "missing-attribute": ("error", "A required attribute is missing."),
    "missing-element": ("error", "A required child element is missing."),
    "missing-key": ("error", "A required key is missing."),
    "missing-value": ("error", "A key has no value."),
    "misspelt": ("warning", "The name of an ignored element or attribute is probably misspelt."),
    "mjcf-equality": ("error", "A MuJoCo equality constraint is not supported."),
    "mjcf-from-outside": (
        "note",
        "A MuJoCo model has actuators or contacts, which robolin ignores.",
    ),
    "mjcf-left-out": (
        "warning",
        "A force or property of a MuJoCo model is not supported and is ignored.",
    ),
    "mjcf-rejected": ("error", "MuJoCo cannot compile an element of the file."),
    "mjcf-unread": (
        "note",
        "The file of a mesh or texture of a MuJoCo model cannot be read. No inertia depends on it.",
    ),
    "mjcf-warning": ("warning", "MuJoCo reported a warning when it compiled the file."),
    "name-empty": ("error", "A name is empty."),
    "name-missing": ("error", "A robot, link, joint or reference has no name."),
    "no-links": ("error", "The file has no links."),
    "not-a-robot": (
        "error",
        "The root element does not match the file format; a URDF file requires <robot>.",
    ),
    "not-xml": ("error", "The file is not XML."),
    "number-malformed": ("error", "A value is not a number."),
    "number-not-finite": ("error", "A number is NaN, infinite or too large for double precision."),
    "pose-ignored": (
        "warning",
        "A pose in an SRDF or MJCF file is invalid, so robolin ignores the pose or some positions.",
    ),
    "pose-name": ("error", "A pose has the name of a joint, or a name that is a number."),
    "repeated-element": ("note", "An element occurs twice with the same content."),
    "rest-of-two-units": (
        "error",
        "A cylindrical joint has one spring rest position for coordinates with different units.",
    ),
    "robot-unnamed": ("warning", "The robot has an empty name."),
    "sdf-default-inertia": (
        "warning",
        "A link in an SDF file has no mass or inertia; the SDF default is 1 kg or 1 kg·m².",
    ),
    "sdf-frame": (
        "error",
        "A frame in an SDF file is unknown, has a duplicate name, or refers to itself.",
    ),
    "sdf-include": ("error", "A file that an SDF model includes cannot be read."),
    "sdf-left-out": (
        "warning",
        "robolin ignores a part of an SDF file that would change the dynamics.",
    ),
    "sdf-loose-link": (
        "warning",
        "A link of an SDF model has no parent joint although the model has another root link.",
    ),
    "sdf-model": (
        "error",
        "An SDF file contains no model, several models, or no model with the requested name.",
    ),
    "sdf-quaternion": ("warning", "A quaternion in an SDF file does not have unit length."),
    "sdf-unsupported": ("error", "A part of an SDF model is not supported."),
    "sdf-world-include": (
        "warning",
        "A model that an SDF world includes cannot be read and is ignored.",
    ),
    "second-inertial": (
        "warning",
        "A URDF link has two different inertial elements; robolin uses the first element.",
    ),
    "several-roots": ("error", "More than one link has no parent joint."),
    "several-rotors": ("warning", "Several transmissions define the rotor inertia of one joint."),
    "shape-size": ("error", "A shape has no size, or has a density but no volume."),
    "shape-twice": (
        "error",
        "The shape, mass or inertia of a link is defined twice, or not at all.",
    ),
    "space-before-xml": ("note", "White space precedes the XML declaration."),
    "srdf-other-joint": (
        "note",
        "A pose in an SRDF file contains a joint that is not in the robot file.",
    ),
    "two-parents": ("error", "A link is the child of two joints."),
    "unknown-convention": (
        "error",
        "The convention of a DH table is neither `standard` nor `modified`.",
    ),
    "unknown-joint-type": ("error", "A joint has an unknown type."),
    "unknown-key": ("error", "A mapping has an unknown key."),
    "unknown-link": ("error", "A joint or a loop refers to a link that is not in the file."),
    "unknown-loop-kind": ("error", "The kind of a loop is neither `point` nor `rigid`."),
    "urdf-left-out": (
        "warning",
        "robolin ignores a part of the file that would change the dynamics.",
    ),
    "wrong-count": ("error", "A vector has too few or too many numbers."),
    "wrong-kind": ("error", "A value has the wrong type: list, mapping or single value."),
    "xacro-failed": ("error", "The xacro package cannot expand a part of the file."),
    "xacro-unexpanded": ("error", "The file contains xacro macros or expressions."),
    "xacro-warning": ("warning", "The xacro package reported a warning when it expanded the file."),
    "xml-doctype": ("error", "The file declares a DOCTYPE, which robolin rejects."),
    "xml-malformed": ("error", "The XML is malformed at this line."),
    "xml-too-deep": ("error", "Elements are nested too deeply."),
    "yaml-alias": ("error", "The file contains an anchor or an alias, which robolin rejects."),
    "yaml-documents": ("error", "The file has more than one YAML document."),
    "yaml-key": ("error", "A key is a list or a mapping instead of a word."),
    "yaml-malformed": ("error", "The YAML is malformed at this line."),
    "yaml-merge": ("error", "The file contains a merge key, which robolin rejects."),
    "yaml-tag": (
        "error",
        "The file contains a YAML tag; robolin rejects tags, because every key has a fixed type.",
    ),
    "yaml-too-deep": ("error", "Values are nested too deeply."),
    "zero-axis": (
        "error",
        "The axis of a movable joint is zero, or two axes of a joint are parallel.",
    ),
    "zero-gear-ratio": ("error", "A gear ratio is zero."),
}


VALIDATION_IDS: dict[str, tuple[Level, str]] = {
    "axis-not-unit": (
        "warning",
        "The length of a joint's axis differs from 1 by more than 0.1 %; robolin normalizes the "
        "axis.",
    ),
    "effort-limits-without-zero": (
        "warning",
        "The range between a joint's effort limits does not include 0.",
    ),
    "inertia-not-positive": ("warning", "A principal moment of inertia is negative."),
    "inertia-without-mass": ("warning", "A link has a moment of inertia but no mass."),
    "limits-in-degrees": ("warning", "A revolute joint's position limits look like degrees."),
    "limits-inverted": ("warning", "A joint's lower limit is above its upper limit."),
    "limits-zero-effort": ("note", "A joint's effort limit is 0."),
    "limits-zero-range": ("note", "A joint's position limits are equal."),
    "limits-zero-velocity": ("note", "A joint's velocity limit is 0."),
    "mass-without-inertia": (
        "note",
        "A link has a mass but no moment of inertia, so robolin models a point mass.",
    ),
    "massless-link": (
        "note",
        "A moving link and all links fixed to it have no mass, but its child links have mass.",
    ),
    "mimic-ratio-zero": (
        "warning",
        "A joint mimics another joint with ratio 0, so the joint does not move.",
    ),
    "negative-armature": ("warning", "A joint's armature is negative."),
    "negative-damping": ("warning", "A joint's damping is negative and adds energy."),
    "negative-friction": ("warning", "A joint's friction is negative and adds energy."),
    "multi-dof-spring": (
        "error",
        "A multi-DoF joint has a spring; robolin reads the file only with --no-springs.",
    ),
    "negative-mass": ("warning", "A link's mass is negative."),
    "negative-stiffness": (
        "warning",
        "A spring's stiffness is negative: the spring is unstable.",
    ),
    "no-inertia-at-joint": (
        "warning",
        "A joint moves no inertia, so commands that invert the mass matrix fail.",
    ),
    "nothing-moves": ("error", "Every joint of the file is fixed."),
    "placeholder-inertia": (
        "warning",
        "The principal moments of inertia of a link are 1, 1, 1, which is a placeholder value.",
    ),
    "pose-outside-limits": (
        "note",
        "A named pose contains a position outside the limits of its joint.",
    ),
    "radius-of-gyration": (
        "warning",
        "The radius of gyration of a link exceeds 1.5 m, or it exceeds both 0.1 m and 3 times the "
        "size of the link.",
    ),
    "repeated-inertial": ("note", "Three or more links have exactly the same inertial parameters."),
    "rest-outside-limits": (
        "warning",
        "The rest position of a spring is outside the joint limits, by more than one revolution or "
        "10 times the range of the limits.",
    ),
    "triangle-inequality": (
        "warning",
        "The largest principal moment of inertia exceeds the sum of the other two.",
    ),
}


def finding(what: str, location: SourceLocation, message: str, hint: str = "") -> Finding:
    """A finding with the level of its id."""
    return Finding(what, VALIDATION_IDS[what][0], location, message, hint)
