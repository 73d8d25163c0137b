"""Every finding id of the physical checks, with its level and what it means; docs list them.

error: the file cannot be loaded.  warning: it loads, but no real arm is like that, or a verb
will fail; `--strict` refuses it.  note: possible and harmless, but often not what was meant.
"""

from __future__ import annotations

from robolin.description.model import Finding, Level, Place

VALIDATION_IDS: dict[str, tuple[Level, str]] = {
    "axis-not-unit": (
        "warning",
        "A joint's axis is not of length 1 (to 0.1 %); it is scaled to 1.",
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
    "radius-of-gyration": (
        "warning",
        "A link's mass would sit over 1.5 m from its centre, or over 0.1 m and 3 times the size "
        "of the link.",
    ),
    "repeated-inertial": ("note", "Three or more links have the same inertial to the last digit."),
    "triangle-inequality": (
        "warning",
        "The largest principal moment of inertia exceeds the sum of the other two.",
    ),
}


def finding(what: str, place: Place, message: str, hint: str = "") -> Finding:
    """A finding at the level its id always has."""
    return Finding(what, VALIDATION_IDS[what][0], place, message, hint)
