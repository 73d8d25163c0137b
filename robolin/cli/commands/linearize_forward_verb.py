"""robolin linearize-forward: derivatives of accelerations by state and torques."""

from __future__ import annotations

from robolin.cli.flags.forward_flags import CLOSE_FLAG, LOOP_METHOD_FLAG, METHOD_FLAG, PRESCRIBE
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_HELP = {
    "tau": "Torques (forces of sliding joints), or 'hold': those that keep qdd at 0.  "
    "[default: hold]",
    "qdd": "Accelerations, in place of --tau: the torques are those they take.  With --prescribe "
    "those of the joints that move as told.",
}
_FLAGS = [PRESCRIBE, METHOD_FLAG, CLOSE_FLAG, LOOP_METHOD_FLAG]


@query_command("linearize-forward", _FLAGS, gives="dqdd", state_help=_HELP)
def command(inquiry: Request, out: Output) -> None:
    """How accelerations change with a small change of state and torques.

    Answers with qdd, dqdd_dtau, dqdd_dqd and dqdd_dq:
    dqdd = dqdd_dtau dtau + dqdd_dqd dqd + dqdd_dq dq.
    Where ARM has closed loops, also with lam, the forces that keep their closures, and its changes.
    With --prescribe also with tau and dqdd_dprescribed, by how much the accelerations told matter.
    Without --tau and --qdd the torques hold ARM where it is, so that an arm at rest stays there.

    \b
    Example:
      robolin linearize-forward panda
      robolin linearize-forward ur5 --q elbow_joint=90deg --tau 0,0,0,0,0,0
      robolin linearize-forward two-link --perturb dq=elbow=0.01 --perturb dtau=1,0
    """
    run_and_write(inquiry, out)
