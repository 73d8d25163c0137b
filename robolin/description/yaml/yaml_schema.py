"""The YAML format as a JSON schema, for editors that complete keys and mark mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robolin.description.model import JOINT_TYPES
from robolin.description.yaml.yaml_arm import (
    ARM_KEYS,
    CONVENTIONS,
    DH_KEYS,
    DH_KINDS,
    JOINT_KEYS,
    LINK_KEYS,
    MOMENT_KEYS,
    ROW_KEYS,
    TOOL_KEYS,
)
from robolin.description.yaml.yaml_fields import CYLINDER_KEYS, SHAPE_KEYS
from robolin.description.yaml.yaml_joint import (
    END_KEYS,
    FRICTION_KEYS,
    LIMIT_KEYS,
    LOOP_KEYS,
    LOOP_KINDS,
    MIMIC_KEYS,
    ORIGIN_KEYS,
)

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_LENGTH: Schema = {"type": "number", "description": "m"}
_ANGLE: Schema = {
    "anyOf": [
        _NUMBER,
        {"type": "string", "pattern": r"^[-+0-9.eE* ]*(deg|°|pi(\s*/\s*[0-9.]+)?)$"},
    ],
    "description": "rad, or 30deg, or pi/6",
}
_VECTOR: Schema = {"type": "array", "items": _NUMBER, "minItems": 3, "maxItems": 3}
_TURN: Schema = {"type": "array", "items": _ANGLE, "minItems": 3, "maxItems": 3}

_POSE: Schema = {
    "anyOf": [
        {"type": "array", "items": _ANGLE},
        {"type": "object", "additionalProperties": _ANGLE},
    ],
    "description": "joint positions, by joint or as a list in the order of the joints",
}

# schema of the value of a key; keys with text values are omitted
_VALUES: Mapping[str, Schema] = {
    **dict.fromkeys(("damping", "armature", "rotor_inertia"), _NUMBER),
    **dict.fromkeys(FRICTION_KEYS, _NUMBER),
    "effort": {
        "anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}],
        "description": "N·m or N: one number for both directions, or [lower, upper]",
    },
    **dict.fromkeys(("stiffness", "gear_ratio", "ratio", "a", "d", *MOMENT_KEYS), _NUMBER),
    **dict.fromkeys(("rod", "sphere", "radius", "length"), _LENGTH),
    **dict.fromkeys(("lower", "upper", "velocity", "rest", "offset", "alpha", "theta"), _ANGLE),
    "robolin": {"const": 1},
    "actuated": {"type": "boolean", "description": "false for a joint without a motor"},
    "gravity": {**_VECTOR, "description": "m/s² in the axes of the base"},
    "xyz": {**_VECTOR, "description": "m"},
    "com": {**_VECTOR, "description": "centre of mass in the frame of the link, in m"},
    "axis": {**_VECTOR, "description": "in the joint's frame; only its direction matters"},
    "axis2": {**_VECTOR, "description": "the second axis of a universal joint, at q = 0"},
    "rpy": {**_TURN, "description": "roll, pitch, yaw about fixed axes"},
    "box": {**_VECTOR, "description": "edge lengths along x, y and z, in m"},
    "mass": {**_NUMBER, "description": "kg"},
    "density": {**_NUMBER, "description": "kg/m³"},
    "convention": {"enum": list(CONVENTIONS)},
}


def yaml_schema() -> Schema:
    """The schema of a file with exactly the keys that the reader accepts."""
    origin = _mapping(ORIGIN_KEYS)
    motion: dict[str, Schema] = {
        "limits": _mapping(LIMIT_KEYS),
        "mimic": _mapping(MIMIC_KEYS, ("joint",)),
        "friction": {
            "anyOf": [_NUMBER, _mapping(FRICTION_KEYS, FRICTION_KEYS)],
            "description": "N·m or N: one number, or one for each direction of the velocity",
        },
        "origin": origin,
    }
    kinds, row_kinds = (
        {"type": {"enum": [*JOINT_TYPES]}},
        {"type": {"enum": [*DH_KINDS]}},
    )
    joint = _mapping(JOINT_KEYS, ("name", "type", "parent", "child"), {**motion, **kinds})
    row = _mapping(ROW_KEYS, ("name", "type", "a", "alpha"), {**motion, **row_kinds})
    tool = _mapping(TOOL_KEYS, inner={"origin": origin})
    table = _mapping(DH_KEYS, ("convention", "rows"), {"rows": _list(row), "tool": tool})
    shape = _mapping(SHAPE_KEYS, inner={"cylinder": _mapping(CYLINDER_KEYS, CYLINDER_KEYS)})
    inertia = _mapping(MOMENT_KEYS, ("ixx", "iyy", "izz"))
    link = _mapping(LINK_KEYS, ("name",), {"inertia": inertia, "shape": shape})
    end: Schema = {"anyOf": [_TEXT, _mapping(END_KEYS, ("link",))]}
    ends = {"kind": {"enum": [*LOOP_KINDS]}, "first": end, "second": end}
    loop = _mapping(LOOP_KEYS, LOOP_KEYS, ends)
    lists = {"joints": _list(joint), "links": _list(link), "loops": _list(loop), "dh": table}
    lists["poses"] = {"type": "object", "additionalProperties": _POSE}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "robolin arm",
        **_mapping(ARM_KEYS, ("robolin", "name", "links"), lists),
        "oneOf": [{"required": ["joints"]}, {"required": ["dh"]}],
    }


def _mapping(
    keys: Sequence[str], needed: Sequence[str] = (), inner: Mapping[str, Schema] | None = None
) -> Schema:
    known = {**_VALUES, **(inner or {})}
    return {
        "type": "object",
        "properties": {key: known.get(key, _TEXT) for key in keys},
        "required": list(needed),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}
