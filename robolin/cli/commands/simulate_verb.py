"""robolin simulate: integrate the motion of a robot."""

from __future__ import annotations

from functools import partial

from robolin.cli.flags.forward_flags import (
    BAUMGARTE,
    CLOCK,
    CLOSE_FLAG,
    DRIVE,
    PRESCRIBE,
    PRESCRIBE_FROM,
    PRESCRIBED_QDD,
    START,
    STATE_HELP,
)
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import READING_FLAGS
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_TOLD = (PRESCRIBE, PRESCRIBED_QDD, PRESCRIBE_FROM)
_FLAGS = [*START, *READING_FLAGS, *_TOLD, *DRIVE, *CLOCK, CLOSE_FLAG, BAUMGARTE]


@query_command("simulate", _FLAGS, state_help=STATE_HELP)
def command(inquiry: Request, out: Output) -> None:
    """The motion of an arm under torques or a controller, with its energies.

    Answers with a trajectory that every other verb reads: time, positions, velocities,
    accelerations, efforts, and beside them kinetic and potential energy, and the energy that
    the integrator has gained or lost.  Joints do not stop at their limits.
    Closed loops stay closed.

    \b
    Example:
      robolin simulate two-link --q 1,0 --duration 2 --every 10 -o fall.csv
      robolin simulate panda --qd 1,0,0,0,0,0,0 --control rate --gain 2 --duration 1
      robolin simulate ur5 --initial states.csv --tau hold --duration 1 -o ends.npz
      robolin simulate two-link --base-joint planar --prescribe base --qdd base:x=2 --duration 1
    """
    from robolin.display.terminal.show import sample_rows

    # a table of many motions contains their final states
    one = "initial" not in inquiry.question.asks
    run_and_write(inquiry, out, partial(out.write, shortened=sample_rows) if one else None)
