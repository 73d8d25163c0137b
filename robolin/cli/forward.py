"""robolin forward: the accelerations that torques cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from robolin.cli.flags import Verb
from robolin.cli.method_flag import method_option
from robolin.cli.model_flags import Model, model_options
from robolin.cli.output_flags import Output, output_options
from robolin.cli.state_flags import State, state_options

if TYPE_CHECKING:
    from robolin.evaluate import Method


@click.command("forward", cls=Verb)
@model_options
@state_options("q", "qd", "tau")
@method_option
@output_options
def command(model: Model, state: State, method: Method, out: Output) -> None:
    """Accelerations for torques.

    Answers with qdd.  Without --tau no torque acts and ARM falls.

    \b
    Example:
      robolin forward panda --q panda_joint4=-90deg --tau hold
      robolin forward two-link --tau 1.5,0
    """
    from robolin.cli.answer import Question, answer

    answer(Question("forward", ("forward",), method, forward=True), model, state, out)
