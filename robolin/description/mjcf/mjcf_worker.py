"""Worker process that compiles an MJCF file: returns the values of the model, or an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from math import inf, isfinite
from pathlib import PurePath
from time import monotonic
from typing import Any
from xml.sax.saxutils import quoteattr

from robolin.description.worker_process import ProcessBounds

# compilation of meshes is slow
BOUNDS = ProcessBounds(seconds=10, memory=4 << 30)
_SECONDS_FOR_ERRORS = 5

_PER_BODY = ("parentid", "pos", "quat", "ipos", "iquat", "mass", "inertia", "gravcomp", "jntadr")
_PER_JOINT = (
    *("type", "pos", "axis", "limited", "range", "actfrclimited", "actfrcrange"),
    *("qposadr", "dofadr", "stiffness", "bodyid"),
)
_PER_DOF = ("armature", "damping", "frictionloss")
# actuators have inertia and damping of their own since MuJoCo 4
_PER_ACTUATOR = ("trntype", "trnid", "gear", "armature", "damping")
_PER_EQUALITY = ("type", "obj1id", "obj2id", "objtype", "active0", "data")
_PER_SITE = ("pos", "quat", "bodyid")


def prepare() -> None:
    """Import MuJoCo before memory is limited."""
    import_module("mujoco")


def reply(request: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the model in a file, as MuJoCo compiles them; with `outline`, its errors."""
    mujoco: Any = import_module("mujoco")
    warned: list[str] = []
    # MuJoCo would write its warnings to a file in the current folder
    mujoco.set_mju_user_warning(warned.append)
    unread = ""
    if "outline" in request:
        errors, model = _corrected(mujoco, _Outline(request["outline"]), request["folder"])
        return {"errors": errors, **(_values(mujoco, model, "", warned) if model else {})}
    try:
        model = mujoco.MjModel.from_xml_path(request["file"])
    except Exception as error:  # MuJoCo raises errors of several classes
        unread = str(error)
        try:
            model = _without_assets(mujoco, mujoco.MjSpec.from_file(request["file"]))
        except Exception:
            return {"error": unread}
    return _values(mujoco, model, unread, warned)


def _values(mujoco: Any, model: Any, unread: str, warned: list[str]) -> dict[str, Any]:
    return {
        "unread": unread,
        "name": model.names[: model.names.index(b"\0")].decode(errors="replace"),
        "gravity": _plain(model.opt.gravity),
        "qpos0": _plain(model.qpos0),
        "qpos_spring": _plain(model.qpos_spring),
        "body": list(_rows(model, "body", model.nbody, _PER_BODY)),
        "joint": [
            {**row, "effort": effort}
            for row, effort in zip(
                _rows(model, "jnt", model.njnt, _PER_JOINT),
                _effort_ranges(mujoco, model),
                strict=True,
            )
        ],
        "dof": list(_rows(model, "dof", model.nv, _PER_DOF)),
        "actuator": list(_rows(model, "actuator", _acting(model), _PER_ACTUATOR)),
        "equality": list(_rows(model, "eq", model.neq, _PER_EQUALITY)),
        "site": list(_rows(model, "site", model.nsite, _PER_SITE)),
        "tendon": list(_tendons(mujoco, model)),
        "key": list(_rows(model, "key", model.nkey, ("qpos",))),
        "warned": warned,
        "left_out": list(_left_out(mujoco, model)),
        "from_outside": list(_from_outside(model)),
        "actuated": _actuated_joints(mujoco, model),
        "disabled": [name for name, bit in _switches(mujoco) if model.opt.disableflags & bit],
    }


def _without_assets(mujoco: Any, spec: Any) -> Any:
    """Compile a model without the meshes and pictures that its inertias do not depend on.

    A mesh of a body with an <inertial> becomes a sphere, which other elements may still name.
    """
    if spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
        raise _GeomsNeededError
    shapes = (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_HFIELD)
    for body in spec.bodies:
        if body.explicitinertial or body.name == "world":
            for geom in body.geoms:
                if geom.meshname or geom.type in shapes:
                    geom.type = mujoco.mjtGeom.mjGEOM_SPHERE
                    geom.meshname = geom.hfieldname = ""
                    geom.size = [0.01, 0.0, 0.0]
    used = {geom.meshname for geom in spec.geoms} | {geom.hfieldname for geom in spec.geoms}
    for asset in (*spec.meshes, *spec.hfields):
        if asset.name not in used:
            spec.delete(asset)
    for picture in (*spec.skins, *spec.materials, *spec.textures):
        spec.delete(picture)
    for part in (*spec.geoms, *spec.sites, *spec.tendons):
        part.material = ""
    return spec.compile()


def _acting(model: Any) -> int:
    """The number of actuators, 0 in versions whose actuators have neither inertia nor damping."""
    return model.nu if hasattr(model, "actuator_armature") else 0


def _switches(mujoco: Any) -> Iterator[tuple[str, int]]:
    """The disable flags of a model: MuJoCo's names in lower case, and bits."""
    for name, member in mujoco.mjtDisableBit.__members__.items():
        yield name.removeprefix("mjDSBL_").lower(), int(member)


def _rows(model: Any, kind: str, count: int, quantities: tuple[str, ...]) -> Iterator[Any]:
    """One mapping per object: its name, if any, and its quantities."""
    named = {
        "body": model.body,
        "jnt": model.joint,
        "eq": model.equality,
        "actuator": model.actuator,
        "site": model.site,
        "key": model.key,
    }.get(kind)
    for k in range(count):
        row = {quantity: _plain(getattr(model, f"{kind}_{quantity}")[k]) for quantity in quantities}
        yield row if named is None else {"name": named(k).name, **row}


def _left_out(mujoco: Any, model: Any) -> Iterator[str]:
    """Names of forces and constraints that an arm does not support."""
    options = model.opt
    if options.density or options.viscosity:
        yield "drag of the medium (option density or viscosity)"
    if any(options.wind):
        yield "wind"
    for quantity, what in (
        ("tendon_stiffness", "springs of tendons"),
        ("tendon_stiffnesspoly", "nonlinear springs of tendons"),
        ("tendon_damping", "damping of tendons"),
        ("tendon_dampingpoly", "nonlinear damping of tendons"),
        ("tendon_frictionloss", "friction of tendons"),
        ("dof_dampingpoly", "nonlinear damping of joints"),
        ("jnt_stiffnesspoly", "nonlinear springs of joints"),
        ("actuator_dampingpoly", "nonlinear damping of actuators"),
    ):
        # versions differ in what they have
        if getattr(model, quantity, options.wind[:0]).any():
            yield what
    spatial = [not _fixed(mujoco, model, k) for k in range(model.ntendon)]
    if spatial and hasattr(model, "tendon_armature") and model.tendon_armature[spatial].any():
        yield "armature of spatial tendons"
    if getattr(model, "nflex", 0):
        yield "flexible bodies"
    if model.npluginstate or model.nplugin:
        yield "plugins"


def _tendons(mujoco: Any, model: Any) -> Iterator[dict[str, Any]]:
    """Name and armature of every tendon, and [joint, coefficient] pairs of a fixed one."""
    armature = getattr(model, "tendon_armature", [0.0] * model.ntendon)
    for k in range(model.ntendon):
        terms = None
        if _fixed(mujoco, model, k):
            wraps = _wraps(model, k)
            joints, coefficients = model.wrap_objid[wraps], model.wrap_prm[wraps]
            terms = [[int(j), float(c)] for j, c in zip(joints, coefficients, strict=True)]
        yield {"name": model.tendon(k).name, "armature": float(armature[k]), "terms": terms}


def _wraps(model: Any, tendon: int) -> slice:
    first = model.tendon_adr[tendon]
    return slice(first, first + model.tendon_num[tendon])


def _fixed(mujoco: Any, model: Any, tendon: int) -> bool:
    """Return True if the length of a tendon is a linear combination of joint positions."""
    kinds = model.wrap_type[_wraps(model, tendon)]
    return bool((kinds == int(mujoco.mjtWrap.mjWRAP_JOINT)).all())


def _from_outside(model: Any) -> Iterator[str]:
    """Names of elements whose forces an arm receives as inputs."""
    if model.nu:
        yield f"actuators ({model.nu})"
    if model.geom_contype.any() and model.geom_conaffinity.any():
        yield "contacts"


def _actuated_joints(mujoco: Any, model: Any) -> list[int] | None:
    """The indices of the actuated joints, None if the model does not specify them.

    Transmissions on a joint or a fixed tendon name their joints.  Sites, spatial tendons and cranks
    act on several joints with a pose-dependent gear, so they do not mark a joint as actuated.
    """
    names = {int(kind): name for name, kind in mujoco.mjtTrn.__members__.items()}
    driven: set[int] = set()
    for kind, (target, _) in zip(model.actuator_trntype, model.actuator_trnid, strict=True):
        name = names[int(kind)]
        if name in ("mjTRN_JOINT", "mjTRN_JOINTINPARENT"):
            driven.add(int(target))
        elif name == "mjTRN_TENDON":
            if not _fixed(mujoco, model, target):
                return None
            driven |= {int(joint) for joint in model.wrap_objid[_wraps(model, target)]}
        elif name != "mjTRN_BODY":
            return None
    return sorted(driven) or None


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _effort_ranges(mujoco: Any, model: Any) -> list[list[float] | None]:
    """The range of the actuators' sum on each joint, None if one of them has no limit.

    The force of an actuator is its gain times ctrl, for a fixed gain without bias, within
    forcerange; gear converts it to the joint.  For a servo, ctrl is a setpoint: only forcerange
    limits its force.  Actuators of disabled groups have no force; joints with several degrees of
    freedom have no limits.
    """
    sums: list[list[float] | None] = [None] * model.njnt
    if _actuated_joints(mujoco, model) is None:
        return sums
    tendon, ball = int(mujoco.mjtTrn.mjTRN_TENDON), int(mujoco.mjtJoint.mjJNT_BALL)
    disabled = int(getattr(model.opt, "disableactuator", 0))
    for k in range(model.nu):
        target, group = int(model.actuator_trnid[k][0]), int(model.actuator_group[k])
        if 0 <= group < 31 and disabled >> group & 1:
            continue
        if model.actuator_trntype[k] == tendon:
            # the tension is divided among its joints
            for joint in model.wrap_objid[_wraps(model, target)]:
                sums[joint] = [-inf, inf]
        elif model.actuator_trntype[k] < tendon:
            low, high = sums[target] or (0.0, 0.0)
            ends = _actuator_range(mujoco, model, k)
            sums[target] = [low + ends[0], high + ends[1]]
    return [
        each if each and kind > ball and all(map(isfinite, each)) else None
        for each, kind in zip(sums, model.jnt_type, strict=True)
    ]


def _actuator_range(mujoco: Any, model: Any, k: int) -> list[float]:
    """Smallest and largest force of an actuator on its joint."""
    low, high = -inf, inf
    direct = not any(
        (model.actuator_gaintype[k], model.actuator_biastype[k], model.actuator_dyntype[k])
    )
    clamped = not model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    if direct and clamped and model.actuator_ctrllimited[k]:
        low, high = sorted(
            float(end * model.actuator_gainprm[k][0]) for end in model.actuator_ctrlrange[k]
        )
    if model.actuator_forcelimited[k]:
        first, last = map(float, model.actuator_forcerange[k])
        low, high = min(max(low, first), last), max(min(high, last), first)
    gear = float(model.actuator_gear[k][0])
    return sorted((gear * low, gear * high)) if gear else [0.0, 0.0]


class _Outline:
    """The elements of a model in document order, and the corrections that let MuJoCo continue.

    Element k is on line k + 1 of the text, so that a line of MuJoCo's messages is an element.
    """

    def __init__(self, rows: list[list[Any]]) -> None:
        self.rows = rows
        self.removed: set[int] = set()
        self.inserted: dict[int, str] = {}
        self.corrected: set[int] = set()
        # names that no longer exist, and elements that lost an element
        self.names: set[str] = set()
        self.changed: set[int] = set()

    def text(self) -> str:
        lines, open_tags = [""], [""] * 0
        for k, (depth, tag, attributes) in enumerate(self.rows):
            while len(open_tags) > depth:
                lines[-1] += open_tags.pop()
            values = "".join(f" {name}={quoteattr(x)}" for name, x in attributes.items())
            gone = k in self.removed
            lines.append("" if gone else f"<{tag}{values}>{self.inserted.get(k, '')}")
            open_tags.append("" if gone else f"</{tag}>")
        return "\n".join(lines[1:]) + "".join(reversed(open_tags))

    def inside(self, k: int) -> Iterator[int]:
        """The element k and all elements inside it."""
        yield k
        for j in range(k + 1, len(self.rows)):
            if self.rows[j][0] <= self.rows[k][0]:
                return
            yield j

    def remove(self, k: int) -> None:
        """Remove an element; errors of its parents and of references to it are consequences."""
        for j in self.inside(k):
            self.removed.add(j)
            attributes = self.rows[j][2]
            self.names.add(attributes.get("name", PurePath(attributes.get("file", "")).stem))
        self.changed |= {j for j in range(k) if k in self.inside(j)}

    def correct(self, k: int, message: str) -> None:
        """Change or remove the element that MuJoCo rejects."""
        self.corrected.add(k)
        tag, attributes = self.rows[k][1:]
        message = message.split("\nElement")[0]
        quoted = re.findall(r"'([^']*)'", message)
        words = [*quoted, *re.findall(r"\w+", message)]
        named = next((word for word in words if word in attributes), None)
        if "opening file" in message:
            self.remove(k)
        elif tag == "body" and "inertia" in message and k not in self.inserted:
            for j in self.inside(k):
                if self.rows[j][1] == "inertial" and self.rows[j][0] == self.rows[k][0] + 1:
                    self.removed.add(j)
            self.inserted[k] = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        elif "repeated name" in message and "name" in attributes:
            del attributes["name"]
        elif named is not None:
            del attributes[named]
            attributes.pop("limited" if named == "range" else "", None)
        elif tag == "body" and "dofs" in message:
            for j in self.inside(k):
                if self.rows[j][1].endswith("joint") and self.rows[j][0] == self.rows[k][0] + 1:
                    self.remove(j)
        elif value := next((name for name, x in attributes.items() if x in quoted), None):
            self.names.add(attributes.get("name", ""))
            del attributes[value]
        elif match := re.search(r"unique element '(\w+)'", message):
            inner = [j for j in self.inside(k) if self.rows[j][1] == match[1]]
            self.removed |= {
                i
                for j in inner[1:]
                if self.rows[j][0] == self.rows[inner[0]][0]
                for i in self.inside(j)
            }
        else:
            self.remove(k)

    def find(self, message: str) -> int | None:
        """The element of an error, by line, or by name, identifier or file."""
        # the last line of a message; names may contain other numbers
        if match := re.search(r", line (\d+)\s*\Z", message):
            k = int(match[1]) - 1
            return k if 0 <= k < len(self.rows) else None
        kept = [(k, tag, x) for k, (_, tag, x) in enumerate(self.rows) if k not in self.removed]
        for word in re.findall(r"'([^']+)'", message):
            for k, _, attributes in kept:
                if PurePath(attributes.get("file", "")).name == PurePath(word).name:
                    return k
        if match := re.search(r"keyframe .*id (\d+)", message, re.DOTALL):
            keys = [k for k, tag, _ in kept if tag == "key"]
            return keys[int(match[1])] if int(match[1]) < len(keys) else None
        return None

    def follows(self, k: int, message: str) -> bool:
        """Return True for an error that a correction caused."""
        quoted = set(re.findall(r"'([^']+)'", message.split("\nElement")[0]))
        tag, attributes = self.rows[k][1:]
        again = k in self.corrected and tag != "body" and not attributes.keys() & quoted
        joints = any(self.rows[j][1].endswith("joint") for j in self.removed)
        shifted = "keyframe" in message and joints
        emptied = k in self.changed and "inertia" in message
        return again or shifted or emptied or bool(quoted & self.names)


def _corrected(
    mujoco: Any, outline: _Outline, folder: str
) -> tuple[list[tuple[str, int | None]], Any]:
    """All errors with their elements, and the model after corrections, if it compiles.

    MuJoCo stops at the first error, so each error is corrected before the next attempt.
    """
    errors: list[tuple[str, int | None]] = []
    last, end = "", monotonic() + _SECONDS_FOR_ERRORS
    while monotonic() < end:
        model, message = _attempt(mujoco, outline.text(), folder)
        element = outline.find(message)
        if model is not None or message == last:
            return errors, model
        if element is None:
            return [*errors, (message, None)], None
        if not outline.follows(element, message):
            errors.append((message, element))
        outline.correct(element, message)
        last = message
    return errors, None


def _attempt(mujoco: Any, text: str, folder: str) -> tuple[Any, str]:
    """The model, with or without its assets, or MuJoCo's message."""
    message = ""
    for with_assets in (True, False):
        try:
            spec = mujoco.MjSpec.from_string(text)
            spec.modelfiledir = folder
            return spec.compile() if with_assets else _without_assets(mujoco, spec), ""
        except _GeomsNeededError:
            break
        except Exception as error:  # MuJoCo raises errors of several classes
            message = str(error)
    return None, message


class _GeomsNeededError(ValueError):
    """The inertias of a model depend on its geoms, and so on its meshes."""
