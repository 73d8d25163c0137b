"""robolin diagonalize: dynamics in diagonalizing velocities (quasi-velocities)."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import sample_flags
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

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


@query_command("diagonalize", [*sample_flags("--curvature"), *_FLAGS])
def command(inquiry: Request, out: Output) -> None:
    """State and torques in coordinates that make the mass matrix diagonal.

    Answers with nu, epsilon, coriolis, m and D: the equation of motion becomes
    d(nu)/dt + coriolis = epsilon, with nu = m' qd and mass_matrix = m m'.

    \b
    Example:
      robolin diagonalize panda --qd 0.1,0,0,0,0,0,0 --tau hold
      robolin diagonalize two-link --inverse-transform --nu 0.1,0.2 --epsilon 1,0
      robolin diagonalize ur5 --curvature --samples 20
    """
    run_and_write(inquiry, out)
