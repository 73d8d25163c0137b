"""Transmissions of a URDF file: motors and rotor inertia; the rest is listed as ignored.

Drake extends the actuator of a transmission by `drake:rotor_inertia` and `drake:gear_ratio`.
The joint then has the reflected inertia gear_ratio² · rotor_inertia, as Drake computes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import isfinite
from typing import NamedTuple

from robolin.core.records import dataclass
from robolin.core.text import pluralize, printable, quote_list, quote_value, resembled
from robolin.description.model import JointEntry, sorted_counts
from robolin.description.xml_tree import Element, Notes, number_attribute

NAMED_AT_MOST = 3
VALUES_AT_MOST = 8
_ROTOR, _RATIO = "drake:rotor_inertia", "drake:gear_ratio"
_ACTUATED_KINDS = ("revolute", "continuous", "prismatic")
_LEFT_OUT_HINT = "--armature JOINT=VALUE sets gear_ratio² · rotor_inertia"


@dataclass
class Drives:
    """Joints with the armature from transmissions, and their entries in the contract."""

    joints: list[JointEntry]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Rotors:
    """Armature by joint, and the identities of the elements it was read from."""

    armature: dict[str, float] = field(default_factory=dict)
    elements: dict[str, Element] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)


def read_transmissions(
    transmissions: Sequence[Element], joints: list[JointEntry], notes: Notes
) -> Drives:
    """Apply the rotor inertia in all transmissions, and list everything else in them."""
    rotors, named = _Rotors(), {joint.name: joint for joint in joints}
    for transmission in transmissions:
        _read_rotor(transmission, named, rotors, notes)
    count = pluralize(len(rotors.armature), "joint")
    read = (f"armature of {count} is {_RATIO}² · {_ROTOR}",) if rotors.armature else ()
    driven = _driven(transmissions, named)
    return Drives(
        [_with_motor(_with_armature(joint, rotors, notes), driven) for joint in joints],
        _listed(transmissions, rotors.used),
        (*read, *_reductions(transmissions, rotors.used)),
    )


def _driven(transmissions: Sequence[Element], joints: Mapping[str, JointEntry]) -> set[str]:
    """The joints in transmissions; a transmission on a mimic joint actuates its leader."""
    names = {
        part.attributes.get("name", "")
        for part in _descendants(transmissions)
        if part.tag.lower().endswith("joint") and part.tag != "passive_joint"
    }
    known = (joints[name] for name in names if name in joints)
    return {joint.mimic.leader if joint.mimic else joint.name for joint in known}


def _with_motor(joint: JointEntry, driven: set[str]) -> JointEntry:
    """A joint without a transmission is passive, unless it has an effort limit.

    Files with several robots often have transmissions for only one of them.
    """
    pushes = joint.limits.effort is not None and joint.limits.effort > 0.0
    if not driven or joint.name in driven or joint.kind == "fixed" or joint.mimic or pushes:
        return joint
    return replace(joint, actuated=False)


def _with_armature(joint: JointEntry, rotors: _Rotors, notes: Notes) -> JointEntry:
    if joint.name not in rotors.armature:
        return joint
    locations = {**joint.locations, "armature": notes.at(rotors.elements[joint.name])}
    return replace(joint, armature=rotors.armature[joint.name], locations=locations)


def _read_rotor(
    transmission: Element, joints: dict[str, JointEntry], rotors: _Rotors, notes: Notes
) -> None:
    """Add the rotor of one transmission, or warn that it is ignored."""
    _check_spelling(transmission, notes)
    written = list(_inside(transmission, (_ROTOR,)))
    if not written:
        return
    motor = _motor(transmission, joints)
    if isinstance(motor, str):
        _left_out(written[0], motor, notes)
        return
    for part in written:
        if part is not motor.inertia:
            _left_out(part, "it is not the first rotor inertia of the first actuator", notes)
    name = motor.joint.name
    if name in rotors.armature:
        message = (
            f"joint {quote_value(name)} has several rotors; robolin adds the inertias of all rotors"
        )
        hint = (
            "write the sum of the inertias in one transmission (Drake uses only the last "
            "transmission)"
        )
        notes.add("several-rotors", "warning", motor.inertia, message, hint)
    reflected = _reflected(motor, notes)
    rotors.armature[name] = rotors.armature.get(name, 0.0) + reflected
    rotors.elements[name] = motor.inertia
    rotors.used |= {id(part) for part in (transmission, *motor.parts)}


def _check_spelling(transmission: Element, notes: Notes) -> None:
    """Warn about elements that look like one of Drake's misspelt: they would be armature."""
    known = (_ROTOR, _RATIO)
    for part in _descendants(transmission.children):
        if part.tag not in known and (meant := resembled(part.tag, known)):
            message = f"<{part.tag}> in a transmission is ignored"
            notes.add("misspelt", "warning", part, message, f"did you mean '{meant}'?")


class _Motor(NamedTuple):
    """A joint with the elements of the transmission that describe its motor."""

    joint: JointEntry
    inertia: Element
    ratio: Element | None
    parts: tuple[Element, ...]


def _motor(transmission: Element, joints: dict[str, JointEntry]) -> _Motor | str:
    """The motor whose rotor Drake applies, or the reason why it applies none."""
    kind, end, actuator = (_first(transmission, tag) for tag in ("type", "joint", "actuator"))
    text = kind.text if kind else transmission.attributes.get("type", "SimpleTransmission")
    if "SimpleTransmission" not in text:
        return f"only SimpleTransmission is supported, not {quote_value(' '.join(text.split()))}"
    inertia, ratio = _first(actuator, _ROTOR), _first(actuator, _RATIO)
    if inertia is None:
        return "it is not in the first actuator"
    name = end.attributes.get("name", "") if end else ""
    joint = joints.get(name)
    if joint is None:
        return f"the file has no joint {quote_value(name)}"
    if joint.kind not in _ACTUATED_KINDS:
        return f"joint {quote_value(name)} is {joint.kind}"
    if joint.limits.effort == 0.0:
        return f"joint {quote_value(name)} has an effort limit of 0, so it has no motor"
    parts = (part for part in (kind, end, actuator, inertia, ratio) if part is not None)
    return _Motor(joint, inertia, ratio, tuple(parts))


def _reflected(motor: _Motor, notes: Notes) -> float:
    """The reflected inertia of the rotor, 0 after an error."""
    owner = f"transmission of joint {quote_value(motor.joint.name)}"
    inertia = number_attribute(motor.inertia, "value", owner, notes, required=True)
    ratio: float | None = 1.0
    if motor.ratio is not None:
        ratio = number_attribute(motor.ratio, "value", owner, notes, required=True)
    if inertia is None or ratio is None:
        return 0.0
    if inertia and not ratio:
        _left_out(motor.inertia, f"{_RATIO} is 0", notes)
    if not isfinite(reflected := ratio * ratio * inertia):
        message = f"{owner}: gear_ratio² · rotor_inertia is too large"
        notes.error(
            "number-not-finite",
            motor.inertia,
            message,
            "check that gear_ratio and rotor_inertia are in SI units",
        )
        return 0.0
    return reflected


def _left_out(element: Element, why: str, notes: Notes) -> None:
    message = f"{element.tag} is not applied: {why}"
    notes.add("urdf-left-out", "warning", element, message, _LEFT_OUT_HINT)


def _listed(transmissions: Sequence[Element], used: set[int]) -> tuple[str, ...]:
    """One entry of the parts that were not read, with the number of each."""
    counts: Counter[str] = Counter()
    partial = 0
    for transmission in transmissions:
        parts = list(_unread(transmission, used))
        counts.update(parts)
        partial += bool(parts) or id(transmission) not in used
    if not partial:
        return ()
    inner = ", ".join(sorted_counts(counts))
    return (f"transmission ({partial})" + (f": {inner}" if inner else ""),)


def _unread(element: Element, used: set[int]) -> Iterator[str]:
    """The unread attributes, except names, and unread children of an element."""
    known = {"name", "value"} if element.tag in (_ROTOR, _RATIO) else {"name"}
    if element.tag == "transmission" and id(element) in used:
        known.add("type")
    for attribute in element.attributes:
        if attribute not in known:
            yield f"{element.tag} attribute {attribute}"
    for part in element.children:
        if id(part) not in used:
            interface = part.text.split() if part.tag == "hardwareInterface" else []
            name = interface[-1].rsplit("/", 1)[-1] if interface else ""
            yield printable(f"{part.tag} {name}".rstrip())
        yield from _unread(part, used)


def _reductions(transmissions: Sequence[Element], used: set[int]) -> Iterator[str]:
    """Notes on the reductions that are not 1."""
    for geared in (False, True):
        listed = _reductions_of([x for x in transmissions if _is_geared(x, used) is geared])
        if listed:
            reason = f", {_RATIO} is applied instead" if geared else ""
            yield f"mechanicalReduction is ignored{reason}: {listed}"


def _is_geared(transmission: Element, used: set[int]) -> bool:
    return any(id(part) in used for part in _inside(transmission, (_RATIO,)))


def _reductions_of(transmissions: Sequence[Element]) -> str:
    """The reductions with their joints, as a text."""
    geared = dict.fromkeys(
        (text, tuple(_joints(element)))
        for element in transmissions
        for text in _texts(element, ("mechanicalReduction", "mechanical_reduction"))
        if not _is_one(text)
    )
    joints_of: dict[str, list[str]] = {}
    for text, joints in geared:
        joints_of.setdefault(text, []).extend(joints)
    listed = [f"{text}{_on(joints)}" for text, joints in joints_of.items()]
    more = f"; {len(listed) - VALUES_AT_MOST} more values" if len(listed) > VALUES_AT_MOST else ""
    return "; ".join(listed[:VALUES_AT_MOST]) + more


def _on(joints: Sequence[str]) -> str:
    if not joints:
        return ""
    return f" on {quote_list(joints) if len(joints) <= NAMED_AT_MOST else f'{len(joints)} joints'}"


def _is_one(text: str) -> bool:
    try:
        return float(text) == 1.0
    except ValueError:
        return False


def _first(element: Element | None, tag: str) -> Element | None:
    parts = element.children if element is not None else ()
    return next((part for part in parts if part.tag == tag), None)


def _joints(transmission: Element) -> list[str]:
    return [part.attributes.get("name", "?") for part in _inside(transmission, ("joint",))]


def _texts(transmission: Element, tags: tuple[str, ...]) -> list[str]:
    """The different texts of the elements with one of the tags, in order."""
    texts = (" ".join(part.text.split()) for part in _inside(transmission, tags))
    return list(dict.fromkeys(text for text in texts if text))


def _inside(element: Element, tags: tuple[str, ...]) -> Iterator[Element]:
    return (part for part in _descendants(element.children) if part.tag in tags)


def _descendants(elements: Iterable[Element]) -> Iterator[Element]:
    for element in elements:
        yield element
        yield from _descendants(element.children)
