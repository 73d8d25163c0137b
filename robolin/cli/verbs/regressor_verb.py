"""robolin regressor: torques as a linear function of the arm's parameters."""

from __future__ import annotations

from dataclasses import dataclass

import click

from robolin.cli.flags.flag import METHOD, Verb, bundled, flag
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.sample_flags import Samples, sample_options
from robolin.cli.flags.state_flags import State, state_options
from robolin.errors import UsageError


@dataclass(frozen=True)
class Kind:
    """What to answer with: the regressor, its rank, or the parameters themselves."""

    rank: bool
    parameters: bool


_FLAGS = [
    flag(
        "--rank",
        section=METHOD,
        is_flag=True,
        help="Answer with how many parameters the torques of all states together determine, and "
        "for each its share: 1 if it is determined by itself, 0 if it has no effect.",
    ),
    flag(
        "--parameters",
        section=METHOD,
        is_flag=True,
        help="Answer with the values of the parameters, in the order of the columns.",
    ),
]


@click.command("regressor", cls=Verb)
@model_options
@state_options("q", "qd", "qdd")
@sample_options("--rank")
@bundled("kind", _FLAGS, Kind)
@output_options
def command(model: Model, state: State, samples: Samples, kind: Kind, out: Output) -> None:
    """Torques as a linear function of masses, inertias and losses.

    Answers with the matrix regressor in tau = regressor * parameters.  Its columns are, for every
    moving link, mass, first moments mx my mz and the inertia ixx ... izz about the link's origin,
    in the link's own axes, and for every joint damping, armature and, with --friction-velocity,
    friction.

    \b
    Example:
      robolin regressor panda --q 0,0.5,0,-1.5,0,2,0 --qdd panda_joint2=1
      robolin regressor ur5 --rank --samples 50
      robolin regressor arm.urdf --trajectory motion.csv -o regressor.npz
    """
    from robolin.cli.regressor_answer import answer_parameters, answer_rank, answer_regressor

    if kind.rank and kind.parameters:
        raise UsageError("cannot go together with --parameters", where="--rank")
    if kind.rank:
        answer_rank(model, state, samples, out)
        return
    samples.require_none("--rank")
    if kind.parameters:
        answer_parameters(model, state, out)
    else:
        answer_regressor(model, state, out)
