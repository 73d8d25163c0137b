"""robolin momentum: centre of mass, its Jacobian, and the momentum of the robot."""

from __future__ import annotations

from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request


@query_command("momentum", [])
def command(inquiry: Request, out: Output) -> None:
    """Centre of mass, its Jacobian, and the momentum of the arm.

    Answers with mass, com, com_velocity, com_jacobian, momentum and momentum_matrix:
    com_velocity = com_jacobian qd, momentum = momentum_matrix qd, and their rates are
    com_jacobian qdd + com_jacobian_rate_qd, momentum_matrix qdd + momentum_matrix_rate_qd.
    Momentum is about the centre of mass, rx, ry, rz for turning and x, y, z for moving.
    Links that stand still with the base have no part in it.

    \b
    Example:
      robolin momentum panda --q panda_joint4=-90deg
      robolin momentum ur5 --qd 1,0,0,0,0,0 -o momentum.npz
    """
    run_and_write(inquiry, out)
