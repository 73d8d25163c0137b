"""robolin mass-matrix: mass matrix, its inverse, factors and derivatives."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

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

_HELP = {"qd": "Velocities, for --coriolis.  [default: 0]"}


@query_command("mass-matrix", _FLAGS, state_help=_HELP)
def command(inquiry: Request, out: Output) -> None:
    """Mass matrix, its inverse, factors, derivative and Coriolis matrix.

    Answers with mass_matrix; every flag below adds its own arrays.

    \b
    Example:
      robolin mass-matrix panda --q panda_joint4=-90deg
      robolin mass-matrix ur5 --inverse --coriolis --qd 1,0,0,0,0,0 -o matrices.npz
    """
    run_and_write(inquiry, out)
