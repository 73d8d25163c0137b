"""From state flags or a trajectory file to the arrays a verb works on, and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

import numpy as np

from robolin.arm import Arm
from robolin.cli.batches import Floats, evaluated
from robolin.cli.state_flags import HOLD, State
from robolin.errors import UsageError

Torque = Literal["zero", "hold"]

WORDS = {"q": "position", "qd": "velocity", "qdd": "acceleration", "tau": "effort"}


@dataclass(frozen=True)
class Given:
    """What the user gave: each value of shape (n,) for one state, (rows, n) from a file."""

    values: Mapping[str, Floats]
    file: str = ""
    rows: int | None = None
    time: Floats | None = None
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Motion:
    """All that a verb needs.

    said:   what the contract tells about it
    absent: what was not given and is zero
    """

    values: Mapping[str, Floats]
    said: Mapping[str, str]
    absent: tuple[str, ...]
    given: Given

    def missing_columns(self) -> list[str]:
        """For every quantity that a trajectory lacked, a sentence that says so."""
        if not self.given.file:
            return []
        return [f"no {WORDS[name]} columns, so they are taken as 0" for name in self.absent]


def motion_of(arm: Arm, state: State, needs: Sequence[str], torque: Torque) -> Motion:
    """Everything in `needs`: given, made from what was given, or zero.

    torque: what a tau that is not given stands for: zero, or whatever the accelerations take;
            these are then welcome in its place, and 0 if they are not given either
    """
    wanted = (*needs, "qdd") if torque == "hold" else tuple(needs)
    given = _typed(arm, state, wanted) if state.trajectory is None else _read(arm, state, wanted)
    zero = np.zeros(arm.n) if given.rows is None else np.zeros((given.rows, arm.n))
    values = {name: given.values.get(name, zero) for name in needs}
    absent = [name for name in needs if name not in given.values]

    said: dict[str, str] = {}
    if "tau" in needs:
        hold = torque == "hold" or state.typed.get("tau") == HOLD
        said["torque"] = _torque_said(given, hold)
        if hold and "tau" in absent:
            motion = {"q": values["q"], "qd": values["qd"], "qdd": given.values.get("qdd", zero)}
            values["tau"] = evaluated(arm, "inverse", motion, where=given.file)["tau"]
            absent.remove("tau")
    if state.perturb:
        changes = state.perturbations(arm)
        values |= {name: np.array(change) for name, change in changes.items()}
        said["perturbed"] = _listed([name for name, change in changes.items() if any(change)])
    said = {"state": _state_said(given, absent), **said}
    return Motion(values, said, tuple(absent), given)


def _typed(arm: Arm, state: State, wanted: Sequence[str]) -> Given:
    for name in state.typed:
        if name not in wanted:
            hint = f"the answer depends on {', '.join(f'--{other}' for other in wanted)} alone"
            raise UsageError("has no effect here", where=f"--{name}", hint=hint)
    if "tau" in state.typed and "qdd" in state.typed:
        hint = "torques determine accelerations and the other way round: give one of them"
        raise UsageError("cannot go together with --qdd", where="--tau", hint=hint)
    # a torque that is to be computed is not given
    names = [name for name in state.typed if (name, state.typed[name]) != ("tau", HOLD)]
    return Given({name: np.array(state.values(arm, name)) for name in names})


def _read(arm: Arm, state: State, wanted: Sequence[str]) -> Given:
    from robolin.trajectory.read import read_trajectory

    assert state.trajectory is not None, "there is a trajectory to read"
    if unknown := [name for name in wanted if name not in WORDS]:
        message = f"no file has columns for {' and '.join(unknown)}"
        raise UsageError(message, where="--trajectory", hint="give one state by flags")
    if state.trajectory == "-" and arm.source == "-":
        raise UsageError("the arm is read from standard input already", where="--trajectory -")
    read = read_trajectory(state.trajectory, arm.joint_names, ("q",), wanted[1:])
    notes = list(read.notes)
    file = "stdin" if state.trajectory == "-" else PurePath(state.trajectory).name
    columns = {"q": read.q, "qd": read.qd, "qdd": read.qdd, "tau": read.tau}
    values = {name: column for name, column in columns.items() if column is not None}
    if "tau" in values and values.pop("qdd", None) is not None:
        notes.append("acceleration columns not used: the efforts determine the accelerations")
    return Given(
        values=values,
        file=file,
        rows=read.rows,
        time=read.time,
        notes=tuple(notes),
        inputs={file: read.digest},
    )


def _torque_said(given: Given, hold: bool) -> str:
    if "tau" in given.values:
        return "given"
    if not hold:
        return "zero (not given)"
    if "qdd" in given.values:
        return "what the given accelerations take (inverse dynamics)"
    return "holding the arm (inverse dynamics with qdd = 0)"


def _state_said(given: Given, absent: Sequence[str]) -> str:
    """Which values were given and which are zero."""
    # the torque has a line of its own
    told = [name for name in given.values if name != "tau"]
    zero = [name for name in absent if name != "tau"]
    parts = [
        f"{_listed(names)} {what}" for names, what in ((told, "given"), (zero, "zero")) if names
    ]
    text = ", ".join(parts)
    rows = f"{given.rows} row{'s' * (given.rows != 1)}"
    return f"{rows} of {given.file}: {text}" if given.file else text


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part) or "nothing"
