"""robolin linearize-inverse: derivatives of torques by the motion."""

from __future__ import annotations

from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_SHORT = "q qd qdd perturb trajectory payload gravity only output format"


@query_command("linearize-inverse", gives="dtau", short=_SHORT)
def command(inquiry: Request, out: Output) -> None:
    """Differentiate the torques by q, qd and qdd.

    \b
    dtau = mass_matrix dqdd + dtau_dqd dqd + dtau_dq dq

    \b
    Examples:
      robolin linearize-inverse panda --q home
      robolin linearize-inverse panda --qd panda_joint1=1 --only dtau_dqd
      robolin linearize-inverse two-link --perturb dq=elbow=0.01
      robolin linearize-inverse arm.urdf --trajectory motion.csv -o result.npz

    \b
    Returns:
      mass_matrix (n,n)  derivative by accelerations [kg m^2]
      dtau_dqd (n,n)     derivative by velocities [N m s/rad]
      dtau_dq (n,n)      derivative by positions [N m/rad]
    """
    run_and_write(inquiry, out)
