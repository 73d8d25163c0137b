"""robolin lqr: LQR gains about a state or along a trajectory."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.forward_flags import LINEAR_MODEL_FLAGS, POINT_HELP
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_FLAGS = [
    flag(
        "--weight",
        section=METHOD,
        multiple=True,
        metavar="NAME=WEIGHT",
        help="What a deviation costs: q=100,qd=1 for all joints, elbow/q=500 for one; repeatable. "
        " [default: 1]",
    ),
    flag(
        "--effort",
        section=METHOD,
        multiple=True,
        metavar="WEIGHT",
        help="What a torque costs: 0.1 for all motors, elbow=0.5 for one; repeatable.  "
        "[default: 1]",
    ),
    flag(
        "--bryson",
        section=METHOD,
        is_flag=True,
        help="Weights from the limits in the file, 1/(largest value)^2; weights given go before "
        "them.",
    ),
    flag(
        "--integral",
        section=METHOD,
        metavar="NAMES",
        help="Joints or outputs whose integral is brought to zero as well.",
    ),
    flag(
        "--time-varying",
        section=METHOD,
        is_flag=True,
        help="With --trajectory and --dt: the regulator along the motion as a whole, from its end "
        "backwards, in place of one for each row by itself.",
    ),
]


@query_command("lqr", [*LINEAR_MODEL_FLAGS, *_FLAGS], state_help=POINT_HELP)
def command(inquiry: Request, out: Output) -> None:
    """Gains that bring an arm back to a state, or along a motion.

    Answers with K, the torques being tau - K x that cost least, with P, where x' P x is what it
    costs to come back from x, with the closed loop's poles, and with what is left of the Riccati
    equation.
    `robolin simulate --feedback` runs the arm under these gains.  Needs SciPy.

    \b
    Example:
      robolin lqr acrobot --q 180deg,0 --weight q=10 -o gains.npz
      robolin lqr panda --weight q=100,qd=1 --effort 0.01 --dt 0.001
      robolin lqr ur5 --trajectory motion.csv --dt 0.01 --time-varying -o gains.npz
    """
    run_and_write(inquiry, out)
