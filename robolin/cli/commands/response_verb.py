"""robolin response: frequency response or step response of outputs to torques."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.forward_flags import LINEAR_MODEL_FLAGS, POINT_HELP
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_FLAGS = [
    flag(
        "--frequencies",
        section=METHOD,
        metavar="FIRST:LAST:COUNT",
        help="Complex amplitudes at these frequencies in rad/s, on a logarithmic scale; or single "
        "ones with commas between.  Needs SciPy.",
    ),
    flag(
        "--duration",
        section=METHOD,
        metavar="S",
        help="The outputs over so many seconds after a unit step of each torque.",
    ),
    flag(
        "--rows",
        section=METHOD,
        type=click.IntRange(min=2),
        metavar="N",
        help="With --duration: how many moments.  [default: 201, or every --dt]",
    ),
    flag(
        "--impulse",
        section=METHOD,
        is_flag=True,
        help="With --duration: after a unit impulse in place of a step.",
    ),
]


@query_command("response", [*LINEAR_MODEL_FLAGS, *_FLAGS], state_help=POINT_HELP)
def command(inquiry: Request, out: Output) -> None:
    """How outputs answer to torques: by frequency, or after a step.

    Answers with frequency_response, C (jw - A)^-1 B + D, or with step_response: changes that the
    torque alone makes, for each output and each joint with a motor.

    \b
    Example:
      robolin response two-link --frequencies 0.1:100:200 -o bode.npz
      robolin response panda --outputs panda_hand/vx --duration 0.5 --rows 51
    """
    run_and_write(inquiry, out)
