"""robolin excite: a motion to record for identification."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flags
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request
from robolin.queries.verbs import VERBS

_FLAGS = flags(
    METHOD,
    VERBS["excite"].own_options,
    {
        "--duration S": "Duration of the motion [s]",
        "--period S": "Period of the Fourier series [s] (default: the duration)\n"
        "The duration must be a multiple of the period.",
        "--harmonics N": "Number of sines and cosines per joint",
        "--dt S": "Time between rows [s]",
        "--margin FRACTION": "Fraction of the limits that the motion uses",
        "--max-velocity VALUES": "Velocity limits (default: from the robot file)",
        "--max-acceleration VALUES": "Acceleration limits (default: only torque limits)\n"
        "Required for joints without an effort limit.",
        "--iterations N": "Number of motions to try",
        "--seed S": "Random seed",
    },
    duration="10",
    harmonics="5",
    dt="0.01",
    margin="0.9",
    iterations="1000",
    seed="0",
)

_SHORT = (
    "duration period harmonics dt margin max-velocity max-acceleration iterations seed payload "
    "output format"
)


@query_command("excite", _FLAGS, short=_SHORT)
def command(inquiry: Request, out: Output) -> None:
    """Find a motion for parameter identification.

    Every joint moves along a Fourier series, from rest to rest. The motion stays within
    the limits of position, velocity, acceleration and torque, also between the rows.
    The search maximizes the determinant of the information matrix (D-optimal).

    \b
    Examples:
      robolin excite panda -o motion.csv
      robolin excite ur5 --duration 20 --period 10 --seed 3 -o ur5.csv
      robolin regressor panda --rank --trajectory motion.csv

    \b
    Returns: per row
      time, q, qd, qdd (n)   the motion
      tau (n)                its torques [N m or N]
    """
    run_and_write(inquiry, out)
