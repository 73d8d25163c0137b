"""robolin inverse: the torques a motion takes."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import OUTPUT, Verb, flag
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.state_flags import State, state_options

# it changes no torque, so it is no part of the record of how they came about
LIMITS = flag(
    "--limits",
    section=OUTPUT,
    is_flag=True,
    help="Show how near each joint comes to its limits of position, velocity and effort; "
    "torques are then written only with -o.  Exits with 1 if a limit is exceeded.",
)


@click.command("inverse", cls=Verb, params=[LIMITS])
@model_options
@state_options("q", "qd", "qdd")
@output_options
def command(model: Model, state: State, out: Output, limits: bool) -> None:
    """Torques for a motion.

    Answers with tau, by the recursive Newton-Euler algorithm.  Without any state flag these are
    the torques that hold ARM still at its zero position.

    \b
    Example:
      robolin inverse panda --q 0,0.5,0,-1.5,0,2,0 --qd panda_joint2=10deg
      robolin inverse arm.urdf --trajectory motion.csv -o torques.csv
      robolin inverse arm.urdf --trajectory motion.csv --limits
    """
    from robolin.cli.answer import Question, answer

    question = Question("inverse", ("inverse",))
    if not limits or out.taker is not None:
        answer(question, model, state, out)
        return
    from robolin.cli.limits_answer import answer_with_limits

    answer_with_limits(question, model, state, out)
