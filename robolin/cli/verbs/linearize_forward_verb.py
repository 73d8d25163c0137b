"""robolin linearize-forward: how accelerations answer to small changes of state and torques."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import Verb
from robolin.cli.flags.loop_flags import Loops, loop_options
from robolin.cli.flags.method_flag import method_option
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.state_flags import State, state_options

if TYPE_CHECKING:
    from robolin.evaluation.methods import Method

_HELP = {
    "tau": "Torques (forces of sliding joints), or 'hold': those that keep qdd at 0.  "
    "[default: hold]",
    "qdd": "Accelerations, in place of --tau: the torques are those they take.",
}


@click.command("linearize-forward", cls=Verb)
@model_options
@state_options("q", "qd", "tau", "qdd", perturb=("dq", "dqd", "dtau"), gives="dqdd", help=_HELP)
@method_option
@loop_options
@output_options
def command(model: Model, state: State, method: Method, loops: Loops, out: Output) -> None:
    """How accelerations change with a small change of state and torques.

    Answers with qdd, dqdd_dtau, dqdd_dqd and dqdd_dq:
    dqdd = dqdd_dtau dtau + dqdd_dqd dqd + dqdd_dq dq.
    Where ARM has closed loops, also with lam, the forces that keep their closures, and its changes.
    Without --tau and --qdd the torques hold ARM where it is, so that an arm at rest stays there.

    \b
    Example:
      robolin linearize-forward panda
      robolin linearize-forward ur5 --q elbow_joint=90deg --tau 0,0,0,0,0,0
      robolin linearize-forward two-link --perturb dq=elbow=0.01 --perturb dtau=1,0
    """
    from robolin.cli.answer import Question, answer

    algorithm = "perturb-forward" if state.perturb else "linearize-forward"
    question = Question(
        "linearize-forward", (algorithm,), method, torque="hold", forward=True, loops=loops
    )
    answer(question, model, state, out)
