"""The parts of an MJCF model that an arm does not use, counted for its contract.

Elements and attributes that are used are listed here; everything else counts as ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from robolin.description.xml_tree import Element

_ROTATION = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_FRAME = ("pos", *_ROTATION)
_ALL = ("*",)

# attributes that are used, by element
_USED: Mapping[str, tuple[str, ...]] = {
    "mujoco": ("model",),
    "compiler": _ALL,
    "option": ("gravity",),
    "flag": (
        *("actuation", "constraint", "damper", "equality", "frictionloss", "gravity", "passive"),
        "spring",
    ),
    "default": ("class",),
    "asset": (),
    "mesh": (
        *("builtin", "class", "content_type", "face", "file", "inertia", "maxhullvert", "name"),
        *("params", "refpos", "refquat", "scale", "vertex"),
    ),
    "model": _ALL,
    "worldbody": (),
    "body": ("childclass", "fuse", "name", *_FRAME),
    "frame": _ALL,
    "replicate": _ALL,
    "attach": _ALL,
    "composite": _ALL,
    "inertial": _ALL,
    "joint": (
        *("actuatorfrclimited", "actuatorfrcrange", "armature", "axis", "class", "damping"),
        *("frictionloss", "limited", "name", "pos", "range", "ref", "springdamper", "springref"),
        *("stiffness", "type"),
    ),
    "freejoint": ("align", "name"),
    "geom": (
        *("class", "density", "fitscale", "fromto", "mass", "mesh", "name", "shellinertia"),
        *("size", "type", *_FRAME),
    ),
    "actuator": (),
    "drive": ("armature", "class", "damping", "joint", "jointinparent", "name", "tendon"),
    "equality": (),
    "default equality": ("active",),
    "connect": ("active", "anchor", "body1", "body2", "class", "name", "site1", "site2"),
    "weld": (
        "active",
        "anchor",
        "body1",
        "body2",
        "class",
        "name",
        "relpose",
        "site1",
        "site2",
        "torquescale",
    ),
    "site": ("class", "fromto", "name", *_FRAME),
    "tendon": (),
    "fixed": ("armature", "class", "name"),
    "joint of a tendon": ("coef", "joint"),
    "tendon equality": ("active", "class", "name", "polycoef", "tendon1", "tendon2"),
    "keyframe": (),
    "key": ("name", "qpos"),
    "joint equality": ("active", "class", "joint1", "joint2", "name", "polycoef"),
}

_OF_BODY = (
    *("body", "inertial", "joint", "freejoint", "geom", "frame", "replicate", "attach"),
    "composite",
)
_DRIVES = (
    *("general", "motor", "position", "velocity", "intvelocity", "orientation", "pid"),
    *("damper", "cylinder", "muscle", "adhesion", "dcmotor", "plugin"),
)
# drives whose control is a force, and attributes of the force and of the control
_DIRECT = ("motor", "general")
_FORCE, _CONTROL = ("forcelimited", "forcerange"), ("ctrllimited", "ctrlrange", "gainprm")
_OF_MODEL = (
    *("compiler", "option", "default", "asset", "worldbody", "equality", "actuator"),
    "keyframe",
)

_KIND_OF_DRIVE = {tag: "direct drive" if tag in _DIRECT else "drive" for tag in _DRIVES}
# elements that are used inside others, each with its entry in the table above
_INSIDE: Mapping[str, Mapping[str, str]] = {
    "mujoco": {tag: tag for tag in _OF_MODEL},
    "option": {"flag": "flag"},
    "default": {
        **{tag: tag for tag in ("default", "joint", "geom", "mesh")},
        **_KIND_OF_DRIVE,
        "equality": "default equality",
    },
    "asset": {"mesh": "mesh", "model": "model"},
    **{key: {tag: tag for tag in _OF_BODY} for key in ("worldbody", "body", "frame", "replicate")},
    "actuator": _KIND_OF_DRIVE,
    "keyframe": {"key": "key"},
    "equality": {
        **{tag: tag for tag in ("connect", "weld")},
        **{tag: f"{tag} equality" for tag in ("joint", "tendon")},
    },
    "fixed": {"joint": "joint of a tendon"},
}
# attributes of equalities that name a site or a tendon
_NAMED_BY_EQUALITY = {"site1": "site", "site2": "site", "tendon1": "fixed", "tendon2": "fixed"}
# elements whose content is listed by section
_SECTIONS = ("asset", "default", "equality", "option")
# settings of <compiler> that let attributes of geoms affect the mass
_CHOOSING = ("inertiagrouprange", "discardvisual")
_CHOSEN_BY = ("contype", "conaffinity", "group")

_Used = Mapping[str, tuple[str, ...]]
_Named = frozenset[tuple[str, str]]


def unused_parts(trees: Iterable[Element]) -> Counter[str]:
    """The number of each element or attribute of a model without effect on an arm."""
    counts: Counter[str] = Counter()
    for root in trees:
        named = frozenset(_named_by_equalities(root))
        counts.update(_unused(root, "mujoco", {**_USED, **_used_together(root)}, named))
    return counts


def _named_by_equalities(root: Element) -> Iterator[tuple[str, str]]:
    """Tag and name of every site and tendon of an equality."""
    for part in _everything(root):
        for attribute, tag in _NAMED_BY_EQUALITY.items():
            if attribute in part.attributes:
                yield tag, part.attributes[attribute]


def _used_together(root: Element) -> _Used:
    """Attributes used only together with others: groups of geoms, and gears of actuators."""
    geom, drive = _USED["geom"], _USED["drive"]
    for part in _everything(root):
        if part.tag == "compiler" and any(key in part.attributes for key in _CHOOSING):
            geom = (*geom, *_CHOSEN_BY)
        if part.tag in _DRIVES and ("armature" in part.attributes or "damping" in part.attributes):
            drive = (*drive, "gear")
    # without a range, gears and controls change nothing: torques are inputs
    if any(part.tag in _DRIVES and "forcerange" in part.attributes for part in _everything(root)):
        drive = (*drive, "gear", *_FORCE)
    direct = (*drive, "gear", *_FORCE, *_CONTROL) if _has_limited_motor(root) else drive
    return {"geom": geom, "drive": drive, "direct drive": direct}


def _has_limited_motor(root: Element) -> bool:
    return any(
        part.tag in _DIRECT and {"ctrlrange", "forcerange"} & {*part.attributes}
        for part in _everything(root)
    )


def _everything(element: Element) -> Iterator[Element]:
    yield element
    for part in element.children:
        yield from _everything(part)


def _unused(element: Element, kind: str, used: _Used, named: _Named) -> Iterator[str]:
    known = used[kind]
    if known[:1] != _ALL:
        label = kind if kind.endswith(element.tag) else element.tag
        yield from (f"{label} attribute {name}" for name in element.attributes if name not in known)
    for part in _children(element):
        inner = _INSIDE.get(kind, {}).get(part.tag)
        if inner is None and (part.tag, part.attributes.get("name", "")) in named:
            inner = part.tag
        if inner:
            yield from _unused(part, inner, used, named)
        elif kind == "mujoco" and part.tag == "tendon":
            yield from _tendons(part, used, named)
        elif kind == "mujoco":
            yield from _section(part)
        else:
            yield f"{kind}/{part.tag}" if kind in _SECTIONS else part.tag


def _tendons(section: Element, used: _Used, named: _Named) -> Iterator[str]:
    """Tendons without effect; those of an equality or with armature are used."""
    for part in _children(section):
        if part.tag == "fixed" and (
            ("fixed", part.attributes.get("name", "")) in named or "armature" in part.attributes
        ):
            yield from _unused(part, "fixed", used, named)
        else:
            yield f"tendon/{part.tag}"


def _section(section: Element) -> Iterator[str]:
    """A section without effect: its elements and its own attributes."""
    yield from (f"{section.tag} attribute {name}" for name in section.attributes)
    inside = [f"{section.tag}/{part.tag}" for part in _children(section)]
    yield from inside or ([] if section.attributes else [section.tag])


def _children(element: Element) -> Iterator[Element]:
    """The elements inside another, those of included files in place of their <include>."""
    for part in element.children:
        if part.tag.lower() == "include":
            yield from _children(part)
        else:
            yield part
