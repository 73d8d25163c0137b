"""Resolve the state quantities of a query: given, derived, gravity-compensating or zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.number_parsing import FlagText
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.text import join_and, pluralize
from robolin.queries.joint_values import parse_per_joint
from robolin.queries.option_specs import EXCLUDES, conflict
from robolin.queries.request import require_only
from robolin.queries.state_parsing import (
    ANGULAR,
    joints_by_quaternion,
    parse_state_quantity,
)
from robolin.queries.states import HOLD_TORQUE, States

if TYPE_CHECKING:
    from robolin.queries.query_context import QueryContext

Values = Mapping[str, Floats]
TorqueDefault = Literal["zero", "hold"]
# runs an algorithm by name on values, each of shape (n,) or (rows, n)
Run = Callable[[str, Values], Values]

# quantities of an operating point
POINT = ("q", "qd", "qdd", "tau")


@dataclass(frozen=True)
class StateInputs:
    """Sources of the state quantities that a query needs.

    given:   quantities from flags or columns
    hold:    a missing torque is computed by inverse dynamics
    changes: perturbations of the state, the same for every row
    file:    the trajectory with the columns
    from_quaternion: joints whose rotation was given as a quaternion
    derived: given quantities that are derivatives of others
    """

    needs: tuple[str, ...]
    given: tuple[str, ...]
    hold: bool
    changes: Values = field(default_factory=dict)
    file: str = ""
    from_quaternion: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()

    @property
    def absent(self) -> tuple[str, ...]:
        """Quantities that are needed but not given, and therefore zero."""
        computed = ("tau",) if self.hold else ()
        return tuple(name for name in self.needs if name not in (*self.given, *computed))

    def values(self, arm: Arm, given: Values, run: Run) -> dict[str, Floats]:
        """Return all needed quantities: given, computed or zero."""
        zero = np.zeros(arm.n)
        values = {name: given.get(name, zero) for name in self.needs}
        if self.hold and "tau" not in given:
            motion = {name: given.get(name, zero) for name in ("q", "qd", "qdd")}
            values["tau"] = run("hold" if arm.loops else "inverse", motion)["tau"]
        return {**values, **self.changes}

    def missing_columns(self) -> list[str]:
        """Return a warning for every quantity that a trajectory lacks."""
        if not self.file:
            return []
        texts = [f"no {COLUMN_WORDS[name]} columns, so they are taken as 0" for name in self.absent]
        if self.hold and not {"tau", "qdd"} & set(self.given):
            texts.append(
                "neither effort nor acceleration columns, so efforts are taken that hold the arm"
            )
        return texts

    def contract_lines(self, rows: int | None = None) -> dict[str, str]:
        """Contract entries about state, torque and perturbations."""
        lines = {"state": self._state_line(rows)}
        if "tau" in self.needs:
            lines["torque"] = self._torque_line()
        if self.changes:
            named = [name for name, change in self.changes.items() if change.any()]
            lines["perturbed"] = _names(named)
        return lines

    def _torque_line(self) -> str:
        if "tau" in self.given:
            return "given"
        if not self.hold:
            return "zero (not given)"
        if "qdd" in self.derived:
            return "what the derived accelerations take (inverse dynamics)"
        if "qdd" in self.given:
            return "what the given accelerations take (inverse dynamics)"
        return "holding the arm (inverse dynamics with qdd = 0)"

    def _state_line(self, rows: int | None) -> str:
        """Describe which quantities are given, derived and zero, except the torque."""
        typed = [name for name in self.given if name not in ("tau", *self.derived)]
        zero = [name for name in self.absent if name != "tau"]
        parts = [
            f"{_names(names)} {what}"
            for names, what in ((typed, "given"), (self.derived, "derived"), (zero, "zero"))
            if names
        ]
        if self.from_quaternion:
            parts.append(
                f"angles of {_names(self.from_quaternion)} from a quaternion brought to length 1"
            )
        text = ", ".join(parts)
        return f"{pluralize(rows or 0, 'row')} of {self.file}: {text}" if self.file else text


def possible_quantities(needs: Sequence[str], torque: TorqueDefault) -> tuple[str, ...]:
    """Accepted quantities: the needed ones, and qdd if a torque can be computed from it."""
    return (*needs, "qdd") if torque == "hold" and "qdd" not in needs else tuple(needs)


def resolve_single(
    context: QueryContext, needs: Sequence[str], torque: TorqueDefault
) -> tuple[StateInputs, dict[str, Floats]]:
    """Resolve one state; return its inputs and the given values, each of shape (n,)."""
    arm, states = context.arm, context.states
    require_useful(states, possible_quantities(needs, torque), both={"qdd", "tau"} <= set(needs))
    typed = states.typed
    hold = "tau" in needs and (torque == "hold" or typed.get("tau") == HOLD_TORQUE)
    # a torque to be computed does not count as given
    names = tuple(name for name in typed if (name, typed[name]) != ("tau", HOLD_TORQUE))
    given = {name: np.array(parse_state_quantity(states, arm, name)) for name in names}
    quaternions, changes = tuple(joints_by_quaternion(states, arm)), _changes(context)
    return StateInputs(tuple(needs), names, hold, changes, from_quaternion=quaternions), given


def resolve_batch(
    context: QueryContext,
    needs: Sequence[str],
    torque: TorqueDefault,
    columns: Sequence[str],
    file: str,
    derived: Sequence[str],
) -> StateInputs:
    """Resolve the inputs of a trajectory's columns or of arrays with rows."""
    decided = "tau" in columns and "qdd" not in needs
    given = tuple(name for name in columns if name != "qdd" or not decided)
    hold = "tau" in needs and torque == "hold"
    derivatives = tuple(name for name in derived if name in given)
    return StateInputs(tuple(needs), given, hold, _changes(context), file, derived=derivatives)


def _changes(context: QueryContext) -> dict[str, Floats]:
    texts = context.question.texts("perturb")
    if not texts:
        return {}
    changes = perturbations(context.arm, texts, context.verb.perturb)
    return {name: np.array(change) for name, change in changes.items()}


def complete_operating_point(values: Values, run: Run) -> Values:
    """Return the state with both accelerations and torques."""
    point = {name: values[name] for name in POINT if name in values}
    if "tau" not in point:
        point["tau"] = run("inverse", point)["tau"]
    elif "qdd" not in point:
        point["qdd"] = run("forward", point)["qdd"]
    return {name: point[name] for name in POINT}


def perturbations(
    arm: Arm, texts: tuple[str, ...], keys: tuple[str, ...]
) -> dict[str, list[float]]:
    """Parse all perturbations by name; missing ones are 0."""
    changes: dict[str, list[float]] = {}
    for text in texts:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not equals or key not in keys:
            raise FlagText("--perturb", text).wrong(
                f"'{key}' is none of {', '.join(keys)}",
                f"for example --perturb dq={arm.joint_names[0]}=0.01",
            )
        if key in changes:
            raise FlagText("--perturb", text).wrong(f"{key} is there twice", "keep one of them")
        changes[key] = parse_per_joint(FlagText(f"--perturb={key}", values), arm, key in ANGULAR)
    return {key: changes.get(key, [0.0] * arm.n) for key in keys}


def require_useful(states: States, names: Sequence[str], both: bool = False) -> None:
    """Reject quantities that the result does not depend on.

    both: accelerations of some joints and torques of the others are both accepted
    """
    require_only(states, names)
    if "tau" in states.values and "qdd" in states.values and not both:
        hint = "torques determine accelerations and the other way round: give one of them"
        raise conflict("tau", EXCLUDES, ["qdd"], hint)


def _names(names: Sequence[str]) -> str:
    return join_and(names) or "nothing"
