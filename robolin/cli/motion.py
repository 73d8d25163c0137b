"""What a verb works on: which values are given, by flags or columns, and how the others come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.cli.flags.state_flags import HOLD, State
from robolin.errors import UsageError
from robolin.quantities import COLUMN_WORDS

Values = Mapping[str, Floats]
Torque = Literal["zero", "hold"]
# an algorithm by name on these values, each of shape (n,) or (rows, n)
Run = Callable[[str, Values], Values]


@dataclass(frozen=True)
class Motion:
    """How the values a verb needs come about.

    given:   the names of those that flags or columns give
    hold:    whether a torque not given is the one that the accelerations take
    changes: small changes of the state, the same for every row
    file:    the trajectory that has the columns
    turned:  the joints whose angles were given as a quaternion
    """

    needs: tuple[str, ...]
    given: tuple[str, ...]
    hold: bool
    changes: Values = field(default_factory=dict)
    file: str = ""
    turned: tuple[str, ...] = ()

    @property
    def absent(self) -> tuple[str, ...]:
        """What is needed, not given, and zero."""
        made = ("tau",) if self.hold else ()
        return tuple(name for name in self.needs if name not in (*self.given, *made))

    def values(self, arm: Arm, given: Values, run: Run) -> dict[str, Floats]:
        """Everything that is needed: given, made from what is given, or zero."""
        zero = np.zeros(arm.n)
        values = {name: given.get(name, zero) for name in self.needs}
        if self.hold and "tau" not in given:
            motion = {name: given.get(name, zero) for name in ("q", "qd", "qdd")}
            values["tau"] = run("hold" if arm.loops else "inverse", motion)["tau"]
        return {**values, **self.changes}

    def missing_columns(self) -> list[str]:
        """For every quantity that a trajectory lacks, a sentence that says so."""
        if not self.file:
            return []
        return [f"no {COLUMN_WORDS[name]} columns, so they are taken as 0" for name in self.absent]

    def said(self, rows: int | None = None) -> dict[str, str]:
        """What the contract tells about it."""
        said = {"state": self._state_said(rows)}
        if "tau" in self.needs:
            said["torque"] = self._torque_said()
        if self.changes:
            named = [name for name, change in self.changes.items() if change.any()]
            said["perturbed"] = _listed(named)
        return said

    def _torque_said(self) -> str:
        if "tau" in self.given:
            return "given"
        if not self.hold:
            return "zero (not given)"
        if "qdd" in self.given:
            return "what the given accelerations take (inverse dynamics)"
        return "holding the arm (inverse dynamics with qdd = 0)"

    def _state_said(self, rows: int | None) -> str:
        """Which values were given and which are zero; the torque has a line of its own."""
        told = [name for name in self.given if name != "tau"]
        zero = [name for name in self.absent if name != "tau"]
        parts = [
            f"{_listed(names)} {what}" for names, what in ((told, "given"), (zero, "zero")) if names
        ]
        if self.turned:
            parts.append(f"angles of {_listed(self.turned)} from a quaternion brought to length 1")
        text = ", ".join(parts)
        return f"{rows} row{'s' * (rows != 1)} of {self.file}: {text}" if self.file else text


def wanted(needs: Sequence[str], torque: Torque) -> tuple[str, ...]:
    """What may be given: what is needed, and the accelerations a torque can be made from."""
    return (*needs, "qdd") if torque == "hold" else tuple(needs)


def typed_motion(
    arm: Arm, state: State, needs: Sequence[str], torque: Torque
) -> tuple[Motion, dict[str, Floats]]:
    """The motion that flags describe, and the values they give, each of shape (n,)."""
    _require_useful(state, wanted(needs, torque))
    hold = "tau" in needs and (torque == "hold" or state.typed.get("tau") == HOLD)
    # a torque that is to be computed is not given
    names = [name for name in state.typed if (name, state.typed[name]) != ("tau", HOLD)]
    given = {name: np.array(state.values(arm, name)) for name in names}
    turned = tuple(state.turned(arm))
    return Motion(tuple(needs), tuple(names), hold, _changes(arm, state), turned=turned), given


def read_motion(
    arm: Arm, state: State, needs: Sequence[str], torque: Torque, columns: Sequence[str], file: str
) -> Motion:
    """The motion that the columns of a trajectory describe."""
    given = tuple(name for name in columns if name != "qdd" or "tau" not in columns)
    hold = "tau" in needs and torque == "hold"
    return Motion(tuple(needs), given, hold, _changes(arm, state), file)


def _changes(arm: Arm, state: State) -> dict[str, Floats]:
    if not state.perturb:
        return {}
    return {name: np.array(change) for name, change in state.perturbations(arm).items()}


def _require_useful(state: State, names: Sequence[str]) -> None:
    for name in state.typed:
        if name not in names:
            hint = f"the answer depends on {', '.join(f'--{other}' for other in names)} alone"
            raise UsageError("has no effect here", where=f"--{name}", hint=hint)
    if "tau" in state.typed and "qdd" in state.typed:
        hint = "torques determine accelerations and the other way round: give one of them"
        raise UsageError("cannot go together with --qdd", where="--tau", hint=hint)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part) or "nothing"
