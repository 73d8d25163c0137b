"""The choices that turn a description into an arm; the same on the command line and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from robolin.core.arm import ORIGIN, GroupKind, Vector3, Wrench


@dataclass(frozen=True, slots=True)
class Payload:
    """A point mass fixed to a frame; it adds to what is there and never replaces it."""

    frame: str
    mass: float
    position: Vector3 = ORIGIN


@dataclass(frozen=True)
class ModelOptions:
    """Everything `robolin.load` and the model flags can ask for.

    gravity: one number is its size, in the direction that the description's own has
    """

    gravity: Vector3 | float | None = None
    base: str | None = None
    tip: str | None = None
    lock: Mapping[str, float] = field(default_factory=dict)
    payload: tuple[Payload, ...] = ()
    wrenches: tuple[Wrench, ...] = ()
    damping: bool = True
    springs: bool = True
    friction_velocity: float | None = None
    armature: Mapping[str, float] = field(default_factory=dict)
    joints: tuple[str, ...] | None = None
    floating_base: bool = False
    base_joint: GroupKind = "floating"
    open_loops: bool = False
    strict: bool = False
    xacro_args: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
