"""robolin state-space: linear state-space model of a robot."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.forward_flags import LINEAR_MODEL_FLAGS, POINT_HELP
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_ONLY = flag(
    "--only",
    section=METHOD,
    metavar="NAMES",
    help="Of A, B, C, D, drift and y, answer with these; the operating point is always there.",
)


@query_command("state-space", [*LINEAR_MODEL_FLAGS, _ONLY], state_help=POINT_HELP)
def command(inquiry: Request, out: Output) -> None:
    """An arm as a linear system about a state: A, B, C, D and drift.

    Answers with dx/dt = drift + A x + B u and y + C x + D u: x is the change of positions and
    velocities, u that of the torques of the joints with a motor; with --dt, from sample to sample.
    Without --tau and --qdd the torques hold ARM where it is, so that an arm at rest stays there.

    \b
    Example:
      robolin state-space acrobot --q 180deg,0
      robolin state-space panda --outputs q,panda_hand/velocity --dt 0.01 -o model.mat
      robolin state-space ur5 --trajectory motion.csv --only A,B -o models.npz
    """
    run_and_write(inquiry, out)
