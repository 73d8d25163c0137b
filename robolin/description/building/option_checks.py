"""Whether the values in the model options make sense for the arm they are meant for."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from robolin.arm import Wrench
from robolin.choices import WRENCH_MODELS
from robolin.description.building.options import ModelOptions, Payload
from robolin.description.building.selection import unknown_joint, unknown_link
from robolin.description.tree import Tree
from robolin.errors import RobolinError, UsageError


def value_problems(tree: Tree, options: ModelOptions) -> Iterator[RobolinError]:
    """Everything wrong with the numbers and names of gravity, loads, friction and armature."""
    gravity = options.gravity
    components = gravity if isinstance(gravity, tuple) else (gravity or 0.0,)
    if not all(map(isfinite, components)):
        yield UsageError(f"gravity: {_row(components)} is not finite")
    velocity = options.friction_velocity
    if velocity is not None and not (isfinite(velocity) and velocity > 0.0):
        yield UsageError(
            f"friction velocity: {velocity} is not above 0",
            hint="friction is μ tanh(q̇/v): at the speed v, 76 % of it acts",
        )
    for payload in options.payload:
        yield from _payload_problems(tree, payload)
    for wrench in options.wrenches:
        yield from _wrench_problems(tree, wrench)
    for name, value in options.armature.items():
        if name not in tree.by_name and name not in tree.coordinates:
            yield unknown_joint(tree, "armature", name)
        if not (isfinite(value) and value >= 0.0):
            yield UsageError(
                f"armature: {value} on joint '{name}' is not a number ≥ 0",
                hint="it is the rotor's inertia seen from the joint, rotor_inertia · gear_ratio²",
            )


def _payload_problems(tree: Tree, payload: Payload) -> Iterator[RobolinError]:
    if payload.frame not in tree.links:
        yield unknown_link(tree, "payload", payload.frame)
    if not (isfinite(payload.mass) and payload.mass >= 0.0):
        yield UsageError(
            f"payload: {payload.mass} kg on '{payload.frame}' is not a mass ≥ 0",
            hint="a payload adds to what is there; leave it out for none",
        )
    if not all(map(isfinite, payload.position)):
        yield UsageError(f"payload: position {_row(payload.position)} is not finite")


def _wrench_problems(tree: Tree, wrench: Wrench) -> Iterator[RobolinError]:
    if wrench.frame not in tree.links:
        yield unknown_link(tree, "wrench", wrench.frame)
    if wrench.model not in WRENCH_MODELS:
        hint = f"one of {', '.join(WRENCH_MODELS)}"
        yield UsageError(f"wrench frame: there is no '{wrench.model}'", hint=hint)
    load = (*wrench.force, *wrench.moment)
    if not all(map(isfinite, load)):
        yield UsageError(f"wrench: {_row(load)} on '{wrench.frame}' is not finite")


def _row(values: tuple[float, ...]) -> str:
    return ", ".join(map(str, values))
