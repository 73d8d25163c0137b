"""Flags for arms with closed loops: how to solve, and how to bring a state onto its closures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import click

from robolin.cli.flags.flag import METHOD, STATE, TIME, bundled, flag
from robolin.cli.flags.flag_values import Typed, numbers
from robolin.errors import UsageError
from robolin.wording import did_you_mean

if TYPE_CHECKING:
    from robolin.arm import Arm
    from robolin.evaluation.evaluate import LoopMethod

LOOP_METHODS = ("kkt", "schur", "null-space")
LEAST = "least"


@dataclass(frozen=True)
class Loops:
    """What was asked about closed loops, as typed."""

    method: LoopMethod | None = None
    close: str | None = None
    baumgarte: tuple[float, float] | None = None

    def require_useful(self, arm: Arm) -> None:
        """Refuse flags that say nothing about this arm."""
        typed = {
            "--loop-method": self.method,
            "--close": self.close,
            "--baumgarte": self.baumgarte,
        }
        for name, value in typed.items():
            if value is not None and not arm.loops:
                hint = "the closures are left out by --open-loops, or the file has none"
                raise UsageError("the arm has no closed loops", where=name, hint=hint)
        self.held(arm)

    @property
    def closing_said(self) -> dict[str, str]:
        """What the contract tells about a state that was moved."""
        if self.close is None:
            return {}
        how = "changed as little as can be" if self.close == LEAST else f"{self.close} held"
        return {"closed first": f"positions and velocities brought onto the closures, {how}"}

    def held(self, arm: Arm) -> list[str]:
        """The joints that stay where they are while the others close the loops."""
        if self.close is None or self.close == LEAST:
            return []
        names = [name.strip() for name in self.close.split(",")]
        for name in names:
            if name not in arm.joint_names:
                hint = did_you_mean(name, (*arm.joint_names, LEAST))
                raise UsageError(f"there is no joint '{name}'", where="--close", hint=hint)
        return names


NO_LOOPS = Loops()

CLOSE = flag(
    "--close",
    section=STATE,
    metavar="JOINTS|least",
    help="Bring the state, and a change of it, onto the closures of its loops first: these joints "
    "stay as given and the others follow, or all move as little as they can.",
)

_METHOD = flag(
    "--loop-method",
    section=METHOD,
    type=click.Choice(LOOP_METHODS),
    help="How closed loops are solved: tree and closures in one system (kkt), forces of the "
    "closures first (schur), or motions they leave free first (null-space).  "
    "[default: null-space]",
)


_BAUMGARTE = flag(
    "--baumgarte",
    section=TIME,
    metavar="ALPHA,BETA",
    help="Draw gaps e in the closures of loops shut, e'' + 2 ALPHA e' + BETA^2 e = 0 in 1/s, "
    "instead of bringing every step back onto them.",
)


def _loops(loop_method: str | None, close: str | None) -> Loops:
    return Loops(cast("LoopMethod | None", loop_method), close)


def _moving_loops(close: str | None, baumgarte: str | None) -> Loops:
    if baumgarte is None:
        return Loops(close=close)
    alpha, beta = numbers(Typed("--baumgarte", baumgarte), baumgarte, 2, "ALPHA,BETA")
    return Loops(close=close, baumgarte=(alpha, beta))


loop_options = bundled("loops", [CLOSE, _METHOD], _loops)
moving_loop_options = bundled("loops", [CLOSE, _BAUMGARTE], _moving_loops)
