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

_SHORT = "q qd qdd trajectory differentiate residual limits payload gravity only output format"


@query_command("inverse", [_RESIDUAL], further=[LIMITS], short=_SHORT)
def inverse_command(inquiry: Request, out: Output, limits: bool) -> None:
    """Compute the torques of a motion (RNEA).

    \b
    tau = M(q) qdd + C(q, qd) qd + g(q) + damping, springs - external wrenches
    Without state options: the torques that hold ARM at its zero position.

    \b
    Examples:
      robolin inverse panda --q home
      robolin inverse panda --q 0,0.5,0,-1.5,0,2,0 --qd panda_joint2=10deg
      robolin inverse arm.urdf --trajectory motion.csv -o torques.csv
      robolin inverse arm.urdf --trajectory motion.csv --limits
      robolin inverse ur5 --trajectory rec.csv --residual --differentiate savgol

    \b
    Returns:
      tau (n)    joint torques [N m], forces of prismatic joints [N]
    """
    if inquiry.question.flag("residual"):
        from robolin.cli.limits_report import run_with_residuals

        if limits:
            raise conflict("residual", EXCLUDES, ["limits"], "run the command once for each")
        run_with_residuals(inquiry, out)
    elif limits:
        from robolin.cli.limits_report import run_with_limits

        run_with_limits(inquiry, out)
    else:
        run_and_write(inquiry, out)


_LINEARIZE_SHORT = "q qd qdd perturb trajectory payload gravity only output format"


@query_command("linearize-inverse", gives="dtau", short=_LINEARIZE_SHORT)
def linearize_inverse_command(inquiry: Request, out: Output) -> None:
    """Differentiate the torques by q, qd and qdd.

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
      mass_matrix (n,n)  derivative by accelerations [kg m^2]
      dtau_dqd (n,n)     derivative by velocities [N m s/rad]
      dtau_dq (n,n)      derivative by positions [N m/rad]
    """
    run_and_write(inquiry, out)
