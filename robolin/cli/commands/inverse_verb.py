"""robolin inverse: inverse dynamics, torques of a motion."""

from __future__ import annotations

from robolin.cli.flags.flag import OUTPUT, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

# not part of the recorded options: it does not change the torques
LIMITS = flag(
    "--limits",
    section=OUTPUT,
    is_flag=True,
    help="Show how near each joint comes to its limits of position, velocity and effort; "
    "torques are then written only with -o.  Exits with 1 if a limit is exceeded.",
)


@query_command("inverse", further=[LIMITS])
def command(inquiry: Request, out: Output, limits: bool) -> None:
    """Torques for a motion.

    Answers with tau, by the recursive Newton-Euler algorithm.  Without any state flag these are
    the torques that hold ARM still at its zero position.

    \b
    Example:
      robolin inverse panda --q 0,0.5,0,-1.5,0,2,0 --qd panda_joint2=10deg
      robolin inverse arm.urdf --trajectory motion.csv -o torques.csv
      robolin inverse arm.urdf --trajectory motion.csv --limits
    """
    if limits:
        from robolin.cli.output.limits_report import run_with_limits

        run_with_limits(inquiry, out)
    else:
        run_and_write(inquiry, out)
