"""robolin linearize-inverse: derivatives of torques by the motion."""

from __future__ import annotations

from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request


@query_command("linearize-inverse", gives="dtau")
def command(inquiry: Request, out: Output) -> None:
    """How torques change with a small change of the motion.

    Answers with mass_matrix, dtau_dqd and dtau_dq:
    dtau = mass_matrix dqdd + dtau_dqd dqd + dtau_dq dq.

    \b
    Example:
      robolin linearize-inverse panda --q panda_joint4=-90deg
      robolin linearize-inverse two-link --perturb dq=elbow=0.01
    """
    run_and_write(inquiry, out)
