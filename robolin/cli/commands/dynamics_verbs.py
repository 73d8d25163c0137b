"""Commands of inverse and forward dynamics: torques, accelerations, derivatives, simulation."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, OUTPUT, flag, flags
from robolin.cli.flags.forward_flags import (
    BAUMGARTE,
    CLOCK,
    CLOSE_FLAG,
    DRIVE,
    DTYPE_FLAG,
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
from robolin.queries.option_specs import EXCLUDES, conflict
from robolin.queries.request import Request
from robolin.queries.verbs import VERBS

# not part of the recorded options: it does not change the torques
LIMITS = flag(
    "--limits",
    OUTPUT,
    "Show the margins to the joint limits\n"
    "Checks the position, velocity and effort limits, and exits with code 1 if a limit is "
    "exceeded. Torques are written only with -o.",
)


_RESIDUAL = flag(
    "--residual",
    METHOD,
    "Compare measured efforts with the model\n"
    "Also returns tau_measured and tau_residual = tau_measured - tau for every row. For each "
    "joint, shows RMS, bias, largest residual, correlation and explained variance. Rows are "
    "written only with -o.",
)

_EXTERNAL = [
    flag(
        "--external",
        METHOD,
        "Estimate contact torques (momentum observer)\n"
        "Returns tau_external, and contact = 1 for rows in which a joint exceeds its threshold. "
        "Requires velocities and measured efforts, but no accelerations. For each joint, shows "
        "RMS, largest torque and number of contact rows. Rows are written only with -o.",
    ),
    flag(
        "--settling-time S",
        METHOD,
        "Settling time of the estimated contact torque [s] (default 0.1)\n"
        "After a step of the contact torque, the error of the estimate falls to 1 % of the step in "
        "this time. The observer gain is 4.6 / S.",
    ),
    flag(
        "--threshold VALUES",
        METHOD,
        "Report a contact above this torque [N m or N] (default: the Coulomb friction)\n"
        "Write one value per joint, or JOINT=VALUE for some joints.",
    ),
    flag(
        "--dt S",
        METHOD,
        "Time step of the rows for --external [s] (default: from the time column)\n"
        "Use this option if the time stamps jitter. Generated C code with the same fixed period "
        "gives the same results.",
    ),
]

_SHORT = (
    "q qd qdd trajectory differentiate residual external threshold limits payload gravity output "
    "format"
)


@query_command("inverse", [_RESIDUAL, *_EXTERNAL, DTYPE_FLAG], further=[LIMITS], short=_SHORT)
def inverse_command(inquiry: Request, out: Output, limits: bool) -> None:
    """Compute the torques of a motion (RNEA).

    \b
    tau = M(q) qdd + C(q, qd) qd + g(q) + damping + springs - external wrenches
    Without state options, returns the torques that hold ARM at its zero position.

    \b
    Examples:
      robolin inverse panda --q home
      robolin inverse arm.urdf --trajectory motion.csv -o torques.csv
      robolin inverse arm.urdf --trajectory motion.csv --limits
      robolin inverse ur5 --trajectory rec.csv --residual --differentiate savgol
      robolin inverse ur5 --trajectory rec.csv --external -o contact.csv

    \b
    Returns:
      tau (n)            joint torques [N m], forces of prismatic joints [N]
      tau_external (n)   with --external: contact torques [N m or N]
      contact (n)        with --external: 1 if the joint has a contact, else 0
    """
    for option in ("residual", "external"):
        if limits and inquiry.question.flag(option):
            raise conflict(option, EXCLUDES, ["limits"], "run the command once with each option")
    if inquiry.question.flag("residual"):
        from robolin.cli.residual_report import run_with_residuals

        run_with_residuals(inquiry, out)
    elif inquiry.question.flag("external"):
        from robolin.cli.residual_report import run_with_external

        run_with_external(inquiry, out)
    elif limits:
        from robolin.cli.limits_report import run_with_limits

        run_with_limits(inquiry, out)
    else:
        run_and_write(inquiry, out)


_LINEARIZE_SHORT = "q qd qdd perturb weights trajectory payload gravity only output"


@query_command("linearize-inverse", [DTYPE_FLAG], gives="dtau", short=_LINEARIZE_SHORT)
def linearize_inverse_command(inquiry: Request, out: Output) -> None:
    """Linearize the inverse dynamics (derivatives of tau).

    \b
    dtau = mass_matrix dqdd + dtau_dqd dqd + dtau_dq dq

    \b
    Examples:
      robolin linearize-inverse panda --q home
      robolin linearize-inverse panda --qd panda_joint1=1 --only dtau_dqd
      robolin linearize-inverse two-link --perturb dq=elbow=0.01
      robolin linearize-inverse arm.urdf --trajectory motion.csv -o result.npz

    \b
    Returns: derivatives of tau (with units for revolute joints)
      mass_matrix (n,n)  with respect to accelerations [kg m^2]
      dtau_dqd (n,n)     with respect to velocities [N m s/rad]
      dtau_dq (n,n)      with respect to positions [N m/rad]
      gradient_q, ...    with --weights: gradients (n) of weights * tau
    """
    run_and_write(inquiry, out)


_FORWARD_FLAGS = flags(
    METHOD,
    VERBS["forward"].own_options,
    {
        "--links": "Also return the accelerations of all links\n"
        "Returns link_acceleration and link_classical_acceleration of the link origins in world "
        "axes, without gravity.",
        "--tip-acceleration [FRAME]": "Also return the acceleration of a link (default: the tip)\n"
        "Returns tip_acceleration and tip_classical_acceleration. If no tip is set, the "
        "robot must have a single end link.",
    },
)


_FORWARD_HELP = {"qdd": "Accelerations of the prescribed joints (default 0)"}


@query_command(
    "forward",
    [PRESCRIBE, FORWARD_METHOD_FLAG, *_FORWARD_FLAGS, CLOSE_FLAG, LOOP_METHOD_FLAG, DTYPE_FLAG],
    state_help=_FORWARD_HELP,
    short="q qd tau prescribe trajectory method links tip-acceleration payload only output format",
)
def forward_command(inquiry: Request, out: Output) -> None:
    """Compute the accelerations from the torques (ABA).

    \b
    qdd = M(q)^-1 (tau - C(q, qd) qd - g(q) - damping - springs + wrenches)
    The default torque is 0, so ARM falls under gravity.

    \b
    Examples:
      robolin forward panda --q home --tau hold
      robolin forward panda --links --tip-acceleration panda_hand
      robolin forward four-bar --q drive=30deg --close drive
      robolin forward ur5 --floating-base --prescribe base --qdd base:z=2

    \b
    Returns:
      qdd (n)    joint accelerations [rad/s^2 or m/s^2]
      lam (m)    for closed loops: constraint forces [N or N m]
      tau (n)    with --prescribe: torques [N m or N]
    """
    run_and_write(inquiry, out)


_LINEARIZE_FORWARD_HELP = {
    **POINT_HELP,
    "qdd": f"{POINT_HELP['qdd']}\nWith --prescribe: accelerations of the prescribed joints.",
}
_LINEARIZE_FORWARD_FLAGS = [PRESCRIBE, METHOD_FLAG, CLOSE_FLAG, LOOP_METHOD_FLAG, DTYPE_FLAG]


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
    The default torque gives zero acceleration (qdd = 0).

    \b
    Examples:
      robolin linearize-forward panda
      robolin linearize-forward panda --q home --only dqdd_dq
      robolin linearize-forward ur5 --q elbow_joint=90deg --tau 0,0,0,0,0,0
      robolin linearize-forward two-link --perturb dq=elbow=0.01

    \b
    Returns: derivatives of qdd (with units for revolute joints)
      dqdd_dq (n,n)      with respect to positions [1/s^2]
      dqdd_dqd (n,n)     with respect to velocities [1/s]
      dqdd_dtau (n,n)    with respect to torques [rad/(N m s^2)]
      qdd (n)            accelerations at the operating point [rad/s^2]
      lam, dlam_dq, ...  for closed loops: constraint forces and derivatives
    """
    run_and_write(inquiry, out)


_PRESCRIBED = (PRESCRIBE, PRESCRIBED_QDD, PRESCRIBE_FROM)
_SIMULATE_FLAGS = [*START, *READING_FLAGS, *_PRESCRIBED, *DRIVE, *CLOCK, CLOSE_FLAG, BAUMGARTE]


_SIMULATE_SHORT = "q qd duration tau control goal kp kd follow feedback integrator dt output"


@query_command("simulate", _SIMULATE_FLAGS, state_help=STATE_HELP, short=_SIMULATE_SHORT)
def simulate_command(inquiry: Request, out: Output) -> None:
    """Simulate the motion under torques or a controller.

    \b
    M(q) q'' + C(q, q') q' + g(q) = tau, starting at --q and --qd, for --duration
    The joints do not stop at their position limits.

    \b
    Examples:
      robolin simulate two-link --q 1,0 --duration 2 --every 10 -o fall.csv
      robolin simulate panda --control computed-torque --goal home --duration 1
      robolin simulate acrobot --feedback gains.npz --offset 0.1,0 --duration 5
      robolin simulate ur5 --initial states.csv --duration 1 -o ends.npz

    \b
    Returns: a trajectory that other commands can read
      q, qd, qdd, tau (n)                one row per time [s]
      kinetic_energy, potential_energy   [J]
      work, energy_error                 work of the torques, energy error [J]
    """
    run_and_write(inquiry, out)
