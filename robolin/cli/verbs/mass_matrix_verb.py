"""robolin mass-matrix: the mass matrix and what goes with it."""

from __future__ import annotations

from dataclasses import dataclass

import click

from robolin.cli.flags.flag import METHOD, Verb, bundled, flag
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.state_flags import State, state_options


@dataclass(frozen=True)
class Extras:
    """What is wanted beside the mass matrix."""

    inverse: bool
    factor: bool
    derivative: bool
    coriolis: bool

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The mass matrix itself, then everything asked for."""
        wanted = {
            "mass-matrix": True,
            "mass-matrix-inverse": self.inverse,
            "mass-matrix-factor": self.factor,
            "mass-matrix-derivative": self.derivative,
            "coriolis-matrix": self.coriolis,
        }
        return tuple(name for name, asked in wanted.items() if asked)


_FLAGS = [
    flag("--inverse", section=METHOD, is_flag=True, help="Add mass_matrix_inverse."),
    flag(
        "--factor",
        section=METHOD,
        is_flag=True,
        help="Add factor, D and factor_inverse: mass_matrix = factor diag(D) factor'.",
    ),
    flag(
        "--derivative",
        section=METHOD,
        is_flag=True,
        help="Add dmass_matrix_dq, one matrix per joint.",
    ),
    flag(
        "--coriolis",
        section=METHOD,
        is_flag=True,
        help="Add coriolis_matrix (Christoffel symbols), which depends on --qd.",
    ),
]


@click.command("mass-matrix", cls=Verb)
@model_options
@state_options("q", "qd", help={"qd": "Velocities, for --coriolis.  [default: 0]"})
@bundled("extras", _FLAGS, Extras)
@output_options
def command(model: Model, state: State, extras: Extras, out: Output) -> None:
    """Mass matrix, its inverse, factors, derivative and Coriolis matrix.

    Answers with mass_matrix; every flag below adds its own arrays.

    \b
    Example:
      robolin mass-matrix panda --q panda_joint4=-90deg
      robolin mass-matrix ur5 --inverse --coriolis --qd 1,0,0,0,0,0 -o matrices.npz
    """
    from robolin.cli.answer import Question, answer

    question = Question("mass-matrix", extras.algorithms, forward=extras.inverse or extras.factor)
    answer(question, model, state, out)
