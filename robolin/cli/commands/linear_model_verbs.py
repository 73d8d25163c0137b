"""Commands about the linear model of a robot: state space, poles, response and LQR gains."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.forward_flags import LINEAR_MODEL_FLAGS, POINT_HELP
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_STATE_SPACE_ONLY = flag(
    "--only",
    section=METHOD,
    metavar="NAMES",
    help="Of A, B, C, D, drift and y, answer with these; the operating point is always there.",
)


@query_command("state-space", [*LINEAR_MODEL_FLAGS, _STATE_SPACE_ONLY], state_help=POINT_HELP)
def state_space_command(inquiry: Request, out: Output) -> None:
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


@query_command("poles", LINEAR_MODEL_FLAGS, state_help=POINT_HELP)
def poles_command(inquiry: Request, out: Output) -> None:
    """How an arm moves by itself: poles, stability, what motors reach.

    Answers with poles, the slowest first, frequency, damping, decay (the inverse of the time
    constant, 0 on the edge), stability (1 stable, 0 on the edge, -1 unstable), mode_shape, and how
    far every mode is from being out of the motors' reach or hidden from the outputs.

    \b
    Example:
      robolin poles acrobot --q 180deg,0
      robolin poles panda --outputs panda_hand
      robolin poles cart-pole --dt 0.01 -o poles.json
    """
    run_and_write(inquiry, out)


_RESPONSE_FLAGS = [
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


@query_command("response", [*LINEAR_MODEL_FLAGS, *_RESPONSE_FLAGS], state_help=POINT_HELP)
def response_command(inquiry: Request, out: Output) -> None:
    """How outputs answer to torques: by frequency, or after a step.

    Answers with frequency_response, C (jw - A)^-1 B + D, or with step_response: changes that the
    torque alone makes, for each output and each joint with a motor.

    \b
    Example:
      robolin response two-link --frequencies 0.1:100:200 -o bode.npz
      robolin response panda --outputs panda_hand/vx --duration 0.5 --rows 51
    """
    run_and_write(inquiry, out)


_LQR_FLAGS = [
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


@query_command("lqr", [*LINEAR_MODEL_FLAGS, *_LQR_FLAGS], state_help=POINT_HELP)
def lqr_command(inquiry: Request, out: Output) -> None:
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
