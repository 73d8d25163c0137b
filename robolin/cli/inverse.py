"""robolin inverse: the torques a motion takes."""

from __future__ import annotations

import click

from robolin.cli.flags import Verb
from robolin.cli.model_flags import Model, model_options
from robolin.cli.output_flags import Output, output_options
from robolin.cli.state_flags import State, state_options


@click.command("inverse", cls=Verb)
@model_options
@state_options("q", "qd", "qdd")
@output_options
def command(model: Model, state: State, out: Output) -> None:
    """Torques for a motion.

    Answers with tau, by the recursive Newton-Euler algorithm.  Without any state flag these are
    the torques that hold ARM still at its zero position.

    \b
    Example:
      robolin inverse panda --q 0,0.5,0,-1.5,0,2,0 --qd panda_joint2=10deg
      robolin inverse arm.urdf --trajectory motion.csv -o torques.csv
    """
    from robolin.cli.answer import Question, answer

    answer(Question("inverse", ("inverse",)), model, state, out)
