"""robolin inverse and linearize-inverse: torques of a motion, and their derivatives."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, OUTPUT, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.option_specs import EXCLUDES, conflict
from robolin.queries.request import Request

# not part of the recorded options: it does not change the torques
LIMITS = flag(
    "--limits",
    OUTPUT,
    "Show margins to the joint limits; exit code 1 if exceeded\n"
    "Limits of position, velocity and effort. Torques are written with -o only.",
)


_RESIDUAL = flag(
    "--residual",
    METHOD,
    "Compare measured efforts with the model\n"
    "Also returns tau_measured and tau_residual = tau_measured - tau of every row. Shows RMS, "
    "bias, largest residual, correlation and explained variance of each joint; rows are written "
    "with -o only.",
)

_EXTERNAL = [
    flag(
        "--external",
        METHOD,
        "Estimate external torques of contacts (momentum observer)\n"
        "Returns tau_external, and contact = 1 in rows where a joint exceeds its threshold. Needs "
        "velocities and measured efforts, no accelerations. Shows RMS, largest torque and contact "
        "of each joint; rows are written with -o only.",
    ),
    flag(
        "--settling-time S",
        METHOD,
        "Time until --external has 1 % error [s] (default 0.1)\n"
        "Settling time for a constant torque; the gain of the observer is 4.6 / S.",
    ),
    flag(
        "--threshold VALUES",
        METHOD,
        "Torques that count as contact (default Coulomb friction)\n"
        "One value per joint [N m or N], or JOINT=VALUE for some joints.",
    ),
    flag(
        "--dt S",
        METHOD,
        "Time between rows for --external [s] (default: the time column)\n"
        "Use it if time stamps jitter; results then equal the results of generated C code.",
    ),
]

_SHORT = (
    "q qd qdd trajectory differentiate residual external threshold limits payload gravity output "
    "format"
)


@query_command("inverse", [_RESIDUAL, *_EXTERNAL], further=[LIMITS], short=_SHORT)
def inverse_command(inquiry: Request, out: Output, limits: bool) -> None:
    """Compute the torques of a motion (RNEA).

    \b
    tau = M(q) qdd + C(q, qd) qd + g(q) + damping, springs - external wrenches
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
      tau_external (n)   with --external, and contact (1 or 0)
    """
    for option in ("residual", "external"):
        if limits and inquiry.question.flag(option):
            raise conflict(option, EXCLUDES, ["limits"], "run the command once for each")
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


@query_command("linearize-inverse", gives="dtau", short=_LINEARIZE_SHORT)
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
    Returns:
      mass_matrix (n,n)  with respect to accelerations [kg m^2]
      dtau_dqd (n,n)     with respect to velocities [N m s/rad]
      dtau_dq (n,n)      with respect to positions [N m/rad]
      gradient_q, ...    with --weights: gradients (n) of weights * tau
    """
    run_and_write(inquiry, out)
