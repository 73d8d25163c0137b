"""Commands of forward dynamics: accelerations, their derivatives and simulation."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flags
from robolin.cli.flags.forward_flags import (
    BAUMGARTE,
    CLOCK,
    CLOSE_FLAG,
    DRIVE,
    FORWARD_METHOD_FLAG,
    LOOP_METHOD_FLAG,
    METHOD_FLAG,
    POINT_HELP,
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
from robolin.queries.verbs import VERBS

_FORWARD_FLAGS = flags(
    METHOD,
    VERBS["forward"].own_options,
    {
        "--links": "Also return the accelerations of all links\n"
        "link_acceleration and link_classical_acceleration of the link origins in world axes, "
        "without gravity.",
        "--tip-acceleration [FRAME]": "Also return the acceleration of a link (default: the tip)\n"
        "tip_acceleration and tip_classical_acceleration. Without a tip, the robot must have "
        "a single end.",
    },
)


_FORWARD_HELP = {"qdd": "Accelerations of the prescribed joints (default 0)"}


@query_command(
    "forward",
    [PRESCRIBE, FORWARD_METHOD_FLAG, *_FORWARD_FLAGS, CLOSE_FLAG, LOOP_METHOD_FLAG],
    state_help=_FORWARD_HELP,
    short="q qd tau prescribe trajectory method links tip-acceleration payload only output format",
)
def forward_command(inquiry: Request, out: Output) -> None:
    """Compute the accelerations from torques (ABA).

    \b
    qdd = M(q)^-1 (tau - C(q, qd) qd - g(q) - damping, springs + wrenches)
    The default torque is 0, so ARM falls.

    \b
    Examples:
      robolin forward panda --q home --tau hold
      robolin forward panda --links --tip-acceleration panda_hand
      robolin forward four-bar --q drive=30deg --close drive
      robolin forward ur5 --floating-base --prescribe base --qdd base:z=2

    \b
    Returns:
      qdd (n)    joint accelerations [rad/s^2 or m/s^2]
      lam (m)    constraint forces of closed loops [N or N m]
      tau (n)    torques, with --prescribe [N m or N]
    """
    run_and_write(inquiry, out)


_LINEARIZE_FORWARD_HELP = {
    **POINT_HELP,
    "qdd": f"{POINT_HELP['qdd']}\nWith --prescribe: accelerations of the prescribed joints.",
}
_LINEARIZE_FORWARD_FLAGS = [PRESCRIBE, METHOD_FLAG, CLOSE_FLAG, LOOP_METHOD_FLAG]


@query_command(
    "linearize-forward",
    _LINEARIZE_FORWARD_FLAGS,
    gives="dqdd",
    state_help=_LINEARIZE_FORWARD_HELP,
    short="q qd tau qdd perturb weights trajectory method payload only output",
)
def linearize_forward_command(inquiry: Request, out: Output) -> None:
    """Linearize the forward dynamics (derivatives of qdd).

    \b
    dqdd = dqdd_dq dq + dqdd_dqd dqd + dqdd_dtau dtau, with dqdd_dtau = M^-1
    The default torque holds ARM (qdd = 0): a robot at rest is in equilibrium.

    \b
    Examples:
      robolin linearize-forward panda
      robolin linearize-forward panda --q home --only dqdd_dq
      robolin linearize-forward ur5 --q elbow_joint=90deg --tau 0,0,0,0,0,0
      robolin linearize-forward two-link --perturb dq=elbow=0.01

    \b
    Returns:
      dqdd_dq (n,n)      with respect to positions [1/s^2]
      dqdd_dqd (n,n)     with respect to velocities [1/s]
      dqdd_dtau (n,n)    with respect to torques [rad/(N m s^2)]
      qdd (n)            accelerations at the operating point [rad/s^2]
      lam, dlam_dq, ...  constraint forces of closed loops and derivatives
    """
    run_and_write(inquiry, out)


_PRESCRIBED = (PRESCRIBE, PRESCRIBED_QDD, PRESCRIBE_FROM)
_SIMULATE_FLAGS = [*START, *READING_FLAGS, *_PRESCRIBED, *DRIVE, *CLOCK, CLOSE_FLAG, BAUMGARTE]


_SIMULATE_SHORT = "q qd duration tau control goal kp kd follow feedback integrator dt output"


@query_command("simulate", _SIMULATE_FLAGS, state_help=STATE_HELP, short=_SIMULATE_SHORT)
def simulate_command(inquiry: Request, out: Output) -> None:
    """Simulate the motion under torques or a controller.

    \b
    M(q) q'' + C(q, q') q' + g(q) = tau, from --q and --qd for --duration
    Joints do not stop at their position limits.

    \b
    Examples:
      robolin simulate two-link --q 1,0 --duration 2 --every 10 -o fall.csv
      robolin simulate panda --control pd --goal home --duration 1
      robolin simulate acrobot --feedback gains.npz --offset 0.1,0 --duration 5
      robolin simulate ur5 --initial states.csv --duration 1 -o ends.npz

    \b
    Returns: a trajectory that the other commands read
      q, qd, qdd, tau (n)                one row per time [s]
      kinetic_energy, potential_energy   [J]
      work, energy_error                 of the torques and the integrator [J]
    """
    run_and_write(inquiry, out)
