"""Commands about the mass matrix: its factors and derivatives, and diagonalizing velocities."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import sample_flags
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_MASS_MATRIX_FLAGS = [
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

_MASS_MATRIX_HELP = {"qd": "Velocities, for --coriolis.  [default: 0]"}


@query_command("mass-matrix", _MASS_MATRIX_FLAGS, state_help=_MASS_MATRIX_HELP)
def mass_matrix_command(inquiry: Request, out: Output) -> None:
    """Mass matrix, its inverse, factors, derivative and Coriolis matrix.

    Answers with mass_matrix; every flag below adds its own arrays.

    \b
    Example:
      robolin mass-matrix panda --q panda_joint4=-90deg
      robolin mass-matrix ur5 --inverse --coriolis --qd 1,0,0,0,0,0 -o matrices.npz
    """
    run_and_write(inquiry, out)


_DIAGONALIZE_FLAGS = [
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


@query_command("diagonalize", [*sample_flags("--curvature"), *_DIAGONALIZE_FLAGS])
def diagonalize_command(inquiry: Request, out: Output) -> None:
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
