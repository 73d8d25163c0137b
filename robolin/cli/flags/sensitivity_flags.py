"""What is changed along a motion, as typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robolin.cli.flags.flag_values import Typed, named
from robolin.cli.flags.model_flags import file_name, payload_of
from robolin.cli.flags.state_flags import State
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.arm import Vector3

KEYS = ("dq", "dqd", "dtau")


@dataclass(frozen=True)
class Changes:
    """The motion's file, and the small changes asked for.

    state:     what --perturb says, read once the arm is known
    payload:   link, mass and place of each point mass
    """

    trajectory: str
    torques: str
    state: State
    torque_file: str | None
    parameters: Mapping[str, float]
    payload: tuple[tuple[str, float, Vector3], ...]
    matrices: bool

    @property
    def nothing(self) -> bool:
        asked = self.state.perturb or self.torque_file or self.parameters or self.payload
        return not asked


def changes_of(
    trajectory: str,
    torques: str,
    perturb: Sequence[str],
    perturb_torque: str | None,
    parameter: Sequence[str],
    payload_change: Sequence[str],
    matrices: bool,
) -> Changes:
    """The flags as one object, refused where they contradict each other."""
    payloads = [payload_of(Typed("--payload-change", text)) for text in payload_change]
    changes = Changes(
        trajectory=file_name(trajectory),
        torques=torques,
        state=State({}, tuple(perturb), KEYS, trajectory),
        torque_file=perturb_torque and file_name(perturb_torque),
        parameters=_parameters(parameter),
        payload=tuple((each.frame, each.mass, each.position) for each in payloads),
        matrices=matrices,
    )
    if changes.matrices and not changes.nothing:
        hint = "matrices hold the effect of every change"
        raise UsageError("goes without any change", where="--matrices", hint=hint)
    if changes.nothing and not changes.matrices:
        hint = "--perturb, --perturb-torque, --parameter, --payload-change; or all: --matrices"
        raise UsageError("nothing is changed", where="robolin sensitivity", hint=hint)
    if changes.torque_file == "-" and trajectory == "-":
        message = "standard input is the motion already"
        raise UsageError(message, where="--perturb-torque -")
    return changes


def _parameters(texts: Sequence[str]) -> dict[str, float]:
    entries: dict[str, float] = {}
    for text in texts:
        typed = Typed("--parameter", text)
        for name, (value, degrees) in named(typed, "NAME=CHANGE").items():
            if degrees:
                raise typed.wrong(f"'{name}' is not an angle", "leave out 'deg'")
            if name in entries:
                raise typed.wrong(f"'{name}' is there twice", "keep one of them")
            entries[name] = value
    return entries
