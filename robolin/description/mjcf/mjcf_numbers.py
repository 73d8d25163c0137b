"""Numbers of a compiled MuJoCo model that no arm can have: MuJoCo itself takes them as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from robolin.description.mjcf.mjcf_files import ModelFiles
from robolin.description.model import Finding

Row = Mapping[str, Any]

_OF_BODY = ("pos", "quat", "mass", "ipos", "iquat", "inertia")
_OF_JOINT = ("axis", "pos", "stiffness")
_OF_FREEDOM = ("damping", "frictionloss", "armature")


def not_finite(model: Row, files: ModelFiles) -> Iterator[Finding]:
    """A finding for every figure that is NaN or infinite."""
    hint = "every figure has to be a finite number"
    for tag, name, figure, value in _figures(model):
        wrong = [x for x in (value if isinstance(value, list) else [value]) if not isfinite(x)]
        if wrong:
            whose = f"{tag} '{name}': " if name else ""
            message = f"{whose}{figure} is {wrong[0]} as MuJoCo computes it"
            yield Finding("number-not-finite", "error", files.at(tag, name), message, hint)


def _figures(model: Row) -> Iterator[tuple[str, str, str, Any]]:
    """The tag and the name of what has a figure, what that is called, and its value."""
    yield "option", "", "gravity", model["gravity"]
    for body in model["body"]:
        for figure in _OF_BODY:
            yield "body", body["name"], figure, body[figure]
    for joint in model["joint"]:
        for figure in _OF_JOINT:
            yield "joint", joint["name"], figure, joint[figure]
        yield "joint", joint["name"], "ref", model["qpos0"][joint["qposadr"]]
        if joint["stiffness"]:
            rest = model["qpos_spring"][joint["qposadr"]]
            yield "joint", joint["name"], "springref", rest
        for figure in _OF_FREEDOM:
            yield "joint", joint["name"], figure, model["dof"][joint["dofadr"]][figure]
    for equality in model["equality"]:
        yield "equality", equality["name"], "data", equality["data"]
