"""robolin forward: forward dynamics, accelerations from torques."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.forward_flags import (
    CLOSE_FLAG,
    FORWARD_METHOD_FLAG,
    LOOP_METHOD_FLAG,
    PRESCRIBE,
)
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_FLAGS = [
    flag(
        "--links",
        section=METHOD,
        is_flag=True,
        help="Add link_acceleration and link_classical_acceleration of every link's origin, in "
        "world axes and without gravity.",
    ),
    flag(
        "--tip-acceleration",
        section=METHOD,
        is_flag=False,
        flag_value="",
        metavar="[FRAME]",
        help="Add tip_acceleration and tip_classical_acceleration of a link, moving or merged.  "
        "[default: the tip, or the only end]",
    ),
]


_HELP = {"qdd": "Accelerations of joints that --prescribe names.  [default: 0]"}


@query_command(
    "forward",
    [PRESCRIBE, FORWARD_METHOD_FLAG, *_FLAGS, CLOSE_FLAG, LOOP_METHOD_FLAG],
    state_help=_HELP,
)
def command(inquiry: Request, out: Output) -> None:
    """Accelerations for torques.

    Answers with qdd.  Without --tau no torque acts and ARM falls.
    Where ARM has closed loops, also with lam, the forces that keep their closures.
    With --prescribe also with tau, where the torques of joints that move as told are.

    \b
    Example:
      robolin forward panda --q panda_joint4=-90deg --tau hold
      robolin forward two-link --tau 1.5,0 --method a
      robolin forward panda --links --tip-acceleration panda_hand
      robolin forward four-bar --q drive=30deg --close drive
      robolin forward ur5 --floating-base --prescribe base --qdd base:z=2 --tau hold
    """
    run_and_write(inquiry, out)
