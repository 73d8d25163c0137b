"""robolin forward: the accelerations that torques cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import METHOD, Verb, bundled, flag
from robolin.cli.flags.loop_flags import Loops, loop_options
from robolin.cli.flags.method_flag import forward_method_option
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.state_flags import State, state_options

if TYPE_CHECKING:
    from robolin.arm import Arm
    from robolin.evaluation.methods import Method


@dataclass(frozen=True)
class Moved:
    """Whose accelerations are wanted besides the joints': the links', or a frame's.

    tip_acceleration: the frame's name, '' for the one there is by default
    """

    links: bool
    tip_acceleration: str | None

    @property
    def algorithms(self) -> tuple[str, ...]:
        wanted = {
            "link-accelerations": self.links,
            "tip-acceleration": self.tip_acceleration is not None,
        }
        return ("forward", *(name for name, asked in wanted.items() if asked))

    def placed(self, arm: Arm) -> Arm:
        """The arm with the frame chosen."""
        if self.tip_acceleration is None:
            return arm
        from robolin.kinematics.frames import at_frame

        return at_frame(arm, self.tip_acceleration or None)


_FLAGS = [
    flag(
        "--links",
        section=METHOD,
        is_flag=True,
        help="Add link_acceleration and link_classical_acceleration of every link's origin, in "
        "world axes and without gravity.",
    ),
    flag(
        "--tip-acceleration",
        section=METHOD,
        is_flag=False,
        flag_value="",
        metavar="[FRAME]",
        help="Add tip_acceleration and tip_classical_acceleration of a link, moving or merged.  "
        "[default: the tip, or the only end]",
    ),
]


@click.command("forward", cls=Verb)
@model_options
@state_options("q", "qd", "tau")
@forward_method_option
@bundled("moved", _FLAGS, Moved)
@loop_options
@output_options
def command(
    model: Model, state: State, method: Method, moved: Moved, loops: Loops, out: Output
) -> None:
    """Accelerations for torques.

    Answers with qdd.  Without --tau no torque acts and ARM falls.
    Where ARM has closed loops, also with lam, the forces that keep their closures.

    \b
    Example:
      robolin forward panda --q panda_joint4=-90deg --tau hold
      robolin forward two-link --tau 1.5,0 --method a
      robolin forward panda --links --tip-acceleration panda_hand
      robolin forward four-bar --q drive=30deg --close drive
    """
    from robolin.cli.answer import Question, answer

    question = Question("forward", moved.algorithms, method, forward=True, loops=loops)
    out.require_target()
    answer(question, model, state, out, moved.placed(model.arm()))
