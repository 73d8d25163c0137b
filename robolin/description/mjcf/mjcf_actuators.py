"""Armature and damping of MuJoCo's actuators, added to the joints that they drive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from robolin.core.text import pluralize
from robolin.description.mjcf.mjcf_files import ModelFiles
from robolin.description.model import Finding

# MuJoCo's codes of transmission types: on a joint, in the frame of its child or its parent
_ON_JOINTS = (0, 1)
# number of DoF of free, ball, slide and hinge joints
_FREEDOMS = (6, 3, 1, 1)
_QUANTITIES = ("armature", "damping")


def with_actuators(model: dict[str, Any]) -> dict[str, Any]:
    """The model with gear² times the armature and damping of actuators on their joints."""
    dofs = [dict(dof) for dof in model["dof"]]
    for actuator in model["actuator"]:
        if actuator["trntype"] in _ON_JOINTS:
            joint = model["joint"][actuator["trnid"][0]]
            squared = actuator["gear"][0] * actuator["gear"][0]
            for dof in dofs[joint["dofadr"] :][: _FREEDOMS[joint["type"]]]:
                for quantity in _QUANTITIES:
                    dof[quantity] += squared * actuator[quantity]
    model["dof"] = dofs
    return model


def actuator_notes(model: Mapping[str, Any]) -> Iterator[str]:
    """A note on actuators whose armature or damping their joints have."""
    acting = [each for each in _acting(model) if each["trntype"] in _ON_JOINTS]
    if acting:
        yield f"armature and damping of {pluralize(len(acting), 'actuator')} added to their joints"


def actuator_findings(model: Mapping[str, Any], files: ModelFiles) -> Iterator[Finding]:
    """A warning for every actuator whose armature or damping acts on a tendon."""
    for actuator in _acting(model):
        if actuator["trntype"] not in _ON_JOINTS:
            message = f"actuator '{actuator['name']}' drives no joint: "
            message += "its armature and damping are left out"
            yield Finding("mjcf-left-out", "warning", files.at("mujoco", ""), message)


def _acting(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in model["actuator"] if any(each[quantity] for quantity in _QUANTITIES)]
