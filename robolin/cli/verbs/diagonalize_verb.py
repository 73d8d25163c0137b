"""robolin diagonalize: the dynamics in coordinates without a mass matrix."""

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
class Transform:
    """Which coordinates, and which way; or whether there are any for all configurations."""

    unnormalized: bool
    inverse_transform: bool
    curvature: bool
    symbols: bool

    @property
    def algorithm(self) -> str:
        name = "undiagonalize" if self.inverse_transform else "diagonalize"
        return f"{name}-unnormalized" if self.unnormalized else name

    @property
    def velocity(self) -> str:
        return "xi" if self.unnormalized else "nu"


_FLAGS = [
    flag(
        "--unnormalized",
        section=METHOD,
        is_flag=True,
        help="Coordinates without square roots: xi, kappa, coriolis, factor and D.",
    ),
    flag(
        "--inverse-transform",
        section=METHOD,
        is_flag=True,
        help="Go back: qd and tau from --nu and --epsilon, or from --xi and --kappa.",
    ),
    flag(
        "--curvature",
        section=METHOD,
        is_flag=True,
        help="Answer with the curvature of the mass matrix: only if it is zero do coordinates "
        "exist that make it diagonal everywhere.",
    ),
    flag(
        "--symbols",
        section=METHOD,
        is_flag=True,
        help="With --curvature: every independent Riemann symbol, too.",
    ),
]


@click.command("diagonalize", cls=Verb)
@model_options
@state_options("q", "qd", "tau", "nu", "epsilon", "xi", "kappa")
@sample_options("--curvature")
@bundled("transform", _FLAGS, Transform)
@output_options
def command(
    model: Model, state: State, samples: Samples, transform: Transform, out: Output
) -> None:
    """State and torques in coordinates that make the mass matrix diagonal.

    Answers with nu, epsilon, coriolis, m and D: the equation of motion becomes
    d(nu)/dt + coriolis = epsilon, with nu = m' qd and mass_matrix = m m'.

    \b
    Example:
      robolin diagonalize panda --qd 0.1,0,0,0,0,0,0 --tau hold
      robolin diagonalize two-link --inverse-transform --nu 0.1,0.2 --epsilon 1,0
      robolin diagonalize ur5 --curvature --samples 20
    """
    if transform.curvature:
        from robolin.cli.curvature_answer import Survey, answer_curvature

        _require_no_transform(transform)
        answer_curvature(model, Survey(state, samples, transform.symbols), out)
        return
    from robolin.cli.answer import Question, answer

    samples.require_none("--curvature")
    if transform.symbols:
        raise UsageError("has no effect here", where="--symbols", hint="it goes with --curvature")
    if transform.inverse_transform and transform.velocity not in state.typed:
        raise UsageError(
            f"needs the velocities it starts from: --{transform.velocity}",
            where="--inverse-transform",
            hint=f"for example --{transform.velocity} 0.1,0.2 on an arm with two joints",
        )
    question = Question("diagonalize", (transform.algorithm,), forward=True)
    answer(question, model, state, out)


def _require_no_transform(transform: Transform) -> None:
    for name in ("unnormalized", "inverse_transform"):
        if getattr(transform, name):
            flag_name = f"--{name.replace('_', '-')}"
            hint = "curvature concerns all configurations, not one state's coordinates"
            raise UsageError(f"cannot go together with {flag_name}", where="--curvature", hint=hint)
