"""All finding ids of the readers, with level and meaning; the docs list them."""

from __future__ import annotations

from robolin.description.model import Finding, Level, SourceLocation

READING_IDS: dict[str, tuple[Level, str]] = {
    "armature-twice": (
        "error",
        "A joint gives its armature and also a rotor inertia with a gear ratio.",
    ),
    "bad-text": ("error", "A name or text is blank or has characters that cannot be shown."),
    "cycle": ("error", "Joints connect links in a closed loop; an arm is a tree."),
    "duplicate-element": (
        "error",
        "An element that may stand once stands twice, so one would be lost.",
    ),
    "duplicate-joint": ("error", "Two joints have the same name."),
    "duplicate-key": ("error", "A key stands twice in one mapping, so one value would be lost."),
    "duplicate-link": ("error", "Two links have the same name."),
    "duplicate-loop": ("error", "Two loops have the same name."),
    "effort-limits-inverted": ("error", "The lower effort limit is above the upper one."),
    "encoding": ("error", "The bytes are not in the encoding the file names, or not in UTF-8."),
    "file-empty": ("error", "The file holds nothing."),
    "file-too-large": ("error", "The file is larger than any robot file needs to be."),
    "format-version": ("error", "The YAML arm is written in a format version that is not known."),
    "ignored-key": ("warning", "A value has no meaning for this type of joint and is ignored."),
    "implicit-world": ("note", "Joints hang on 'world', which the file does not define."),
    "invented-inertia": (
        "warning",
        "A link of a loaded urdfpy or urchin object has that library's made-up 1 kg.",
    ),
    "joint-to-itself": ("error", "A joint has the same link as parent and as child."),
    "joints-and-dh": ("error", "A YAML arm has both a list of joints and a DH table."),
    "limit-missing": ("note", "A revolute or prismatic joint states no limits."),
    "loop-to-itself": ("error", "A loop has both its ends on the same link."),
    "mimic-cycle": ("error", "Joints mimic each other in a circle, so none moves on its own."),
    "mimic-fixed": ("error", "A joint that mimics, or is mimicked, has no single position."),
    "mimic-self": ("error", "A joint mimics itself."),
    "mimic-unknown": ("error", "A joint mimics one that is not in the file."),
    "misplaced-element": ("warning", "An element stands where it says nothing, so it is ignored."),
    "missing-attribute": ("error", "An element lacks an attribute it needs."),
    "missing-element": ("error", "An element lacks a child it needs."),
    "missing-key": ("error", "A mapping lacks a key it needs."),
    "missing-value": ("error", "A key has nothing after its colon."),
    "misspelt": ("warning", "An ignored element or attribute looks like a known one misspelt."),
    "mjcf-equality": ("error", "A MuJoCo equality constraint has no place in an arm."),
    "mjcf-from-outside": (
        "note",
        "Actuators and contacts of a MuJoCo model are no part of an arm.",
    ),
    "mjcf-left-out": ("warning", "Something acts on a MuJoCo model that an arm has no place for."),
    "mjcf-warning": ("warning", "MuJoCo warned while it compiled the file."),
    "name-empty": ("error", "A name is there but empty."),
    "name-missing": ("error", "A robot, link, joint or reference has no name."),
    "no-links": ("error", "The file has no link at all."),
    "not-a-robot": ("error", "The outermost element is not <robot>."),
    "not-xml": ("error", "The file is no XML at all."),
    "number-malformed": ("error", "Something else stands where a number is needed."),
    "number-not-finite": ("error", "A number is NaN, infinite or too large to hold."),
    "pose-ignored": (
        "warning",
        "A pose of an SRDF or MJCF file, or one of its positions, cannot be used.",
    ),
    "pose-name": ("error", "A pose has the name of a joint, or a name that is a number."),
    "repeated-element": ("note", "An element stands twice and says the same both times."),
    "rest-of-two-units": (
        "error",
        "A cylindrical joint has one rest position of its spring for metres and radians.",
    ),
    "several-roots": ("error", "More than one link is no joint's child."),
    "several-rotors": ("warning", "Several transmissions give one joint a rotor inertia."),
    "shape-size": ("error", "A shape has no size, or none that its density could fill."),
    "shape-twice": ("error", "A link's shape, mass or inertia is told in two ways, or in none."),
    "space-before-xml": ("note", "White space stands before the XML declaration."),
    "srdf-other-joint": ("note", "A pose of an SRDF file has a joint that the robot lacks."),
    "two-parents": ("error", "A link is the child of two joints."),
    "unknown-convention": ("error", "A DH table's convention is neither standard nor modified."),
    "unknown-joint-type": ("error", "A joint's type is none of those known."),
    "unknown-key": ("error", "A mapping has a key that the format does not know."),
    "unknown-link": ("error", "A joint or a loop names a link that is not in the file."),
    "unknown-loop-kind": ("error", "A loop's kind is neither point nor rigid."),
    "urdf-left-out": ("warning", "A part that changes the dynamics is not read."),
    "wrong-count": ("error", "A vector has too few or too many numbers."),
    "wrong-kind": ("error", "A list, a mapping or a single value stands where another is needed."),
    "xacro-unexpanded": ("error", "The file still holds xacro macros or expressions."),
    "xacro-warning": ("warning", "The xacro package warned while it expanded the file."),
    "xml-doctype": ("error", "The file declares a DOCTYPE, which is refused."),
    "xml-malformed": ("error", "The XML is broken at this line."),
    "xml-too-deep": ("error", "Elements are nested deeper than any robot file needs."),
    "yaml-alias": ("error", "Anchors and aliases are refused: values are written out."),
    "yaml-documents": ("error", "The file holds more than one YAML document."),
    "yaml-key": ("error", "A key is a list or a mapping instead of a word."),
    "yaml-malformed": ("error", "The YAML is broken at this line."),
    "yaml-merge": ("error", "Merge keys are refused: keys are written out."),
    "yaml-tag": ("error", "Explicit tags are refused: every key knows its type."),
    "yaml-too-deep": ("error", "Values are nested deeper than any arm needs."),
    "zero-axis": ("error", "A moving joint's axis has no direction."),
    "zero-gear-ratio": ("error", "A gear ratio is zero, so the rotor would never turn."),
}


VALIDATION_IDS: dict[str, tuple[Level, str]] = {
    "axis-not-unit": (
        "warning",
        "A joint's axis is not of length 1 (to 0.1 %); it is scaled to 1.",
    ),
    "effort-limits-without-zero": (
        "warning",
        "A joint's effort limits do not include 0, so its motor could never be at rest.",
    ),
    "inertia-not-positive": ("warning", "A principal moment of inertia is below zero."),
    "inertia-without-mass": ("warning", "A link has a moment of inertia but no mass."),
    "limits-inverted": ("warning", "A joint's lower limit is above its upper limit."),
    "limits-zero-effort": ("note", "A joint's effort limit is 0, so it could not push at all."),
    "limits-zero-range": ("note", "A joint's limits leave it no range to move in."),
    "limits-zero-velocity": ("note", "A joint's velocity limit is 0, so it could not move."),
    "mass-without-inertia": ("note", "A link has mass but no moment of inertia: a point mass."),
    "massless-link": (
        "note",
        "A moving link weighs nothing, merged parts included, but carries links that do.",
    ),
    "mimic-ratio-zero": ("warning", "A joint follows another with ratio 0, so it stands still."),
    "negative-armature": ("warning", "A joint's armature is below zero."),
    "negative-damping": ("warning", "A joint's damping is below zero: it would feed energy in."),
    "negative-friction": ("warning", "A joint's friction is below zero: it would feed energy in."),
    "multi-dof-spring": (
        "error",
        "A joint with several degrees of freedom has a spring; it loads only without springs.",
    ),
    "negative-mass": ("warning", "A link's mass is below zero."),
    "negative-stiffness": (
        "warning",
        "A spring's stiffness is below zero: it pushes away from its rest position.",
    ),
    "no-inertia-at-joint": (
        "warning",
        "Nothing a joint moves resists it, so the forward verbs fail there.",
    ),
    "nothing-moves": ("error", "Every joint of the file is fixed."),
    "placeholder-inertia": (
        "warning",
        "A link's inertia is exactly 1, 1, 1: a value written where none was known.",
    ),
    "pose-outside-limits": ("note", "A named pose has joints outside their limits."),
    "radius-of-gyration": (
        "warning",
        "A link's mass would sit over 1.5 m from its centre, or over 0.1 m and 3 times the size "
        "of the link.",
    ),
    "repeated-inertial": ("note", "Three or more links have the same inertial to the last digit."),
    "rest-outside-limits": (
        "warning",
        "A spring's rest position is over a turn, or 10 times the travel, outside the limits.",
    ),
    "triangle-inequality": (
        "warning",
        "The largest principal moment of inertia exceeds the sum of the other two.",
    ),
}


def finding(what: str, location: SourceLocation, message: str, hint: str = "") -> Finding:
    """A finding with the level of its id."""
    return Finding(what, VALIDATION_IDS[what][0], location, message, hint)
