"""Where the arm is and how it moves: the state flags as one object, read once the arm is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import STATE, Function, bundled, flag
from robolin.cli.flags.flag_values import Typed, per_joint, quaternion_names
from robolin.cli.flags.model_flags import file_name
from robolin.errors import UsageError
from robolin.files.formats import extensions, trajectory_formats

if TYPE_CHECKING:
    from robolin.arm import Arm

HOLD = "hold"
NAN = "nan"
ANGULAR = ("q", "qd", "qdd", "dq", "dqd", "dqdd")

_HELP = {
    "q": "Positions.  [default: 0]",
    "qd": "Velocities.  [default: 0]",
    "qdd": "Accelerations.  [default: 0]",
    "tau": "Torques (forces of sliding joints), or 'hold': those that keep qdd at 0.  [default: 0]",
    "nu": "Normalized velocities, for --inverse-transform.",
    "epsilon": "Normalized torques, for --inverse-transform.  [default: 0]",
    "xi": "Unnormalized velocities, for --inverse-transform --unnormalized.",
    "kappa": "Unnormalized torques, for --inverse-transform --unnormalized.  [default: 0]",
}


@dataclass(frozen=True)
class State:
    """The state flags as typed, the keys --perturb may have, and the trajectory's file.

    on_bad_row: what becomes of a row without an answer, 'error' or 'nan'
    """

    typed: Mapping[str, str]
    perturb: tuple[str, ...] = ()
    perturb_keys: tuple[str, ...] = ()
    trajectory: str | None = None
    on_bad_row: str = "error"

    def values(self, arm: Arm, quantity: str) -> list[float]:
        """What was typed for this quantity, one value per joint."""
        typed = Typed(f"--{quantity}", self.typed[quantity])
        return per_joint(typed, arm, quantity in ANGULAR, quantity == "q")

    def turned(self, arm: Arm) -> list[str]:
        """The joints whose angles were typed as a quaternion."""
        names = quaternion_names(arm).items()
        return [joint for joint, parts in names if f"{parts[3]}=" in self.typed.get("q", "")]

    def perturbations(self, arm: Arm) -> dict[str, list[float]]:
        """Every small change by name; the ones left out are 0."""
        changes: dict[str, list[float]] = {}
        for text in self.perturb:
            key, equals, values = (part.strip() for part in text.partition("="))
            if not equals or key not in self.perturb_keys:
                raise Typed("--perturb", text).wrong(
                    f"'{key}' is none of {', '.join(self.perturb_keys)}",
                    f"for example --perturb dq={arm.joint_names[0]}=0.01",
                )
            if key in changes:
                raise Typed("--perturb", text).wrong(f"{key} is there twice", "keep one of them")
            changes[key] = per_joint(Typed(f"--perturb={key}", values), arm, key in ANGULAR)
        return {key: changes.get(key, [0.0] * arm.n) for key in self.perturb_keys}


def state_options(
    *quantities: str,
    perturb: Sequence[str] = (),
    gives: str = "",
    help: Mapping[str, str] | None = None,  # noqa: A002, as click calls it
) -> Callable[[Function], Function]:
    """Flags for these quantities; `gives` is what a verb answers when asked to --perturb."""
    texts = {**_HELP, **(help or {})}
    flags = [
        flag(f"--{name}", section=STATE, metavar="VALUES", help=texts[name]) for name in quantities
    ]
    if perturb:
        forms = ", ".join(f"{key}=VALUES" for key in perturb)
        text = f"Answer only with {gives} for a small change: {forms}; repeatable."
        setting: dict[str, Any] = {"multiple": True, "metavar": "KEY=VALUES", "help": text}
        flags.append(flag("--perturb", section=STATE, **setting))
    flags.append(
        flag(
            "--trajectory",
            section=STATE,
            metavar="FILE",
            help=f"Answer for every row of a {extensions(trajectory_formats())} "
            "file, or - for CSV on standard "
            "input.  Columns are named JOINT/position, /velocity, /acceleration, /effort; "
            "positions are needed, the others follow the defaults above.",
        )
    )
    flags.append(
        flag(
            "--on-bad-row",
            section=STATE,
            type=click.Choice(("error", NAN)),
            default="error",
            show_default=True,
            help="What becomes of a row with a number that is not finite, or without an answer: "
            "nothing is written at all, or NaN is written for this row.",
        )
    )

    keys = tuple(perturb)

    def build(
        trajectory: str | None, on_bad_row: str, perturb: Sequence[str] = (), **typed: str | None
    ) -> State:
        given = {name: text for name, text in typed.items() if text is not None}
        if trajectory is not None:
            _require_alone(file_name(trajectory), given)
        elif on_bad_row == NAN:
            hint = "one state has an answer or none"
            raise UsageError("needs --trajectory", where="--on-bad-row=nan", hint=hint)
        return State(given, tuple(perturb), keys, trajectory, on_bad_row)

    return bundled("state", flags, build)


def _require_alone(trajectory: str, given: Mapping[str, str]) -> None:
    if given:
        flags = " and ".join(f"--{name}" for name in given)
        hint = "give the state either by flags or by a file"
        where = f"--trajectory={trajectory}"
        raise UsageError(f"cannot go together with {flags}", where=where, hint=hint)
