"""Commands about the mass matrix: its factors and derivatives, and diagonalizing velocities."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flags
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import sample_flags
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request
from robolin.queries.verbs import VERBS

_MASS_MATRIX_FLAGS = flags(
    METHOD,
    VERBS["mass-matrix"].asks,
    {
        "--inverse": "Also return mass_matrix_inverse",
        "--factor": "Also return factor, D and factor_inverse (LDL')\n"
        "mass_matrix = factor diag(D) factor'.",
        "--derivative": "Also return dmass_matrix_dq, one matrix per joint",
        "--coriolis": "Also return coriolis_matrix (Christoffel symbols) at --qd",
    },
)

_MASS_MATRIX_HELP = {"qd": "Velocities of --coriolis (default 0)"}


_MASS_MATRIX_SHORT = (
    "q qd inverse factor derivative coriolis trajectory payload armature only output"
)


@query_command(
    "mass-matrix", _MASS_MATRIX_FLAGS, state_help=_MASS_MATRIX_HELP, short=_MASS_MATRIX_SHORT
)
def mass_matrix_command(inquiry: Request, out: Output) -> None:
    """Compute the mass matrix, its inverse and factors (CRBA).

    \b
    kinetic energy = 1/2 qd' M(q) qd, with reflected rotor inertias (armature)

    \b
    Examples:
      robolin mass-matrix panda --q home
      robolin mass-matrix panda --inverse --only mass_matrix_inverse
      robolin mass-matrix panda --coriolis --qd panda_joint1=1
      robolin mass-matrix ur5 --factor --derivative -o matrices.npz

    \b
    Returns:
      mass_matrix (n,n)          [kg m^2, kg m or kg]
      mass_matrix_inverse (n,n)  with --inverse
      factor, D, factor_inverse  with --factor: M = factor diag(D) factor'
      dmass_matrix_dq (n,n,n)    with --derivative
      coriolis_matrix (n,n)      with --coriolis: C(q, qd)
    """
    run_and_write(inquiry, out)


_DIAGONALIZE_FLAGS = flags(
    METHOD,
    VERBS["diagonalize"].asks,
    {
        "--unnormalized": "Use coordinates without square roots: xi and kappa\n"
        "Returns xi, kappa, coriolis, factor and D.",
        "--inverse-transform": "Compute qd and tau from --nu and --epsilon\n"
        "With --unnormalized: from --xi and --kappa.",
        "--curvature": "Return the curvature of the mass matrix\n"
        "It is zero only if coordinates exist in which the mass matrix is constant.",
        "--symbols": "Also return all Riemann symbols (--curvature)",
    },
)


_DIAGONALIZE_SHORT = (
    "q qd tau inverse-transform nu epsilon unnormalized curvature samples trajectory only output"
)


@query_command(
    "diagonalize", [*sample_flags("--curvature"), *_DIAGONALIZE_FLAGS], short=_DIAGONALIZE_SHORT
)
def diagonalize_command(inquiry: Request, out: Output) -> None:
    """Transform to diagonalizing quasi-velocities.

    \b
    nu = m' qd with M = m m' gives d(nu)/dt + coriolis = epsilon

    \b
    Examples:
      robolin diagonalize panda --qd 0.1,0,0,0,0,0,0 --tau hold
      robolin diagonalize two-link --inverse-transform --nu 0.1,0.2 --epsilon 1,0
      robolin diagonalize two-link --unnormalized --qd 0.1,0.2
      robolin diagonalize ur5 --curvature --samples 20

    \b
    Returns:
      nu (n), epsilon (n)    quasi-velocities and torques [sqrt(J), sqrt(J)/s]
      coriolis (n)           Coriolis term [sqrt(J)/s]
      m (n,n), D (n)         innovations factor, articulated-body hinge inertias
    """
    run_and_write(inquiry, out)
