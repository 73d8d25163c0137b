"""robolin linearize-inverse: how torques answer to small changes of the motion."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import Verb
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.state_flags import State, state_options


@click.command("linearize-inverse", cls=Verb)
@model_options
@state_options("q", "qd", "qdd", perturb=("dq", "dqd", "dqdd"), gives="dtau")
@output_options
def command(model: Model, state: State, out: Output) -> None:
    """How torques change with a small change of the motion.

    Answers with mass_matrix, dtau_dqd and dtau_dq:
    dtau = mass_matrix dqdd + dtau_dqd dqd + dtau_dq dq.

    \b
    Example:
      robolin linearize-inverse panda --q panda_joint4=-90deg
      robolin linearize-inverse two-link --perturb dq=elbow=0.01
    """
    from robolin.cli.answer import Question, answer

    algorithm = "perturb-inverse" if state.perturb else "linearize-inverse"
    answer(Question("linearize-inverse", (algorithm,)), model, state, out)
