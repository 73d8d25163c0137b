"""Commands about the parameters of a robot: regressor, sensitivity, and exciting motions."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, STATE, flags
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import READING_FLAGS, sample_flags
from robolin.cli.query_command import query_command, run_and_write
from robolin.io.format_table import extensions, trajectory_formats
from robolin.queries.request import Request
from robolin.queries.verbs import VERBS

_REGRESSOR_FLAGS = flags(
    METHOD,
    VERBS["regressor"].own_options,
    {
        "--rank": "Return the number of identifiable parameters\n"
        "Also returns the identifiability of each parameter: 1 if the parameter is "
        "individually identifiable, 0 if the parameter has no effect. Between 0 and 1, only "
        "combinations "
        "with other parameters are identifiable.",
        "--offsets": "Add a column JOINT/offset (constant torque) for each joint",
        "--parameters": "Return the parameter values, one per column",
        "--geometry": "Return derivatives with respect to geometric parameters\n"
        "dtau_dgeometry contains derivatives with respect to joint positions, orientations, axes "
        "and Denavit-Hartenberg parameters.",
        "--slotine-li": "Return the regressor for adaptive control\n"
        "The Slotine-Li regressor satisfies regressor * parameters = M qddr + C(q, qd) qdr + g, "
        "where dM/dt - 2C is skew-symmetric. Damping uses qdr and Coulomb friction uses qd.",
    },
)


_REGRESSOR_SHORT = (
    "q qd qdd rank offsets parameters geometry slotine-li qdr qddr samples trajectory output"
)


@query_command("regressor", [*sample_flags("--rank"), *_REGRESSOR_FLAGS], short=_REGRESSOR_SHORT)
def regressor_command(inquiry: Request, out: Output) -> None:
    """Compute the regressor of the dynamic parameters.

    \b
    tau = regressor(q, qd, qdd) parameters
    Columns of a moving link: mass, mx, my, mz, ixx ... izz about its origin.
    Columns of a joint: damping, armature, friction (with --friction-velocity),
    stiffness and rest_torque (if the joint has a spring).

    \b
    Examples:
      robolin regressor panda --q 0,0.5,0,-1.5,0,2,0 --qdd panda_joint2=1
      robolin regressor panda --parameters
      robolin regressor ur5 --rank --samples 50
      robolin regressor two-link --slotine-li --qd 0.1,0 --qdr 0.2,0 --qddr 0.5,1
      robolin regressor arm.urdf --trajectory motion.csv -o regressor.npz

    \b
    Returns:
      regressor (n,p)        derivatives of tau with respect to parameters
      parameters (p)         with --parameters: values of the parameters
      rank, share (p)        with --rank: rank, identifiability from 0 to 1
      dtau_dgeometry (n,g)   with --geometry: derivatives of tau
    """
    run_and_write(inquiry, out)


_SENSITIVITY_FLAGS = [
    *flags(
        STATE,
        VERBS["sensitivity"].options,
        {
            "--trajectory FILE": "Trajectory to perturb\n"
            f"Formats: {extensions(trajectory_formats())}, or - for CSV on standard input. Columns "
            "are time, positions, velocities, and efforts or accelerations.",
        },
    ),
    *READING_FLAGS,
    *flags(
        STATE,
        VERBS["sensitivity"].options,
        {
            "--torques": "Interpolation of torques between rows\n"
            "stepwise: zero-order hold; continuous: linear interpolation.",
            "--perturb KEY=VALUES": "Perturbation dq, dqd or dtau; repeatable\n"
            "dq and dqd perturb the first row; dtau perturbs the torques of all rows.",
            "--perturb-torque FILE": "Read torque perturbations over time from a file\n"
            "Perturbations are interpolated linearly.",
            "--parameter NAME=CHANGE": "Perturb a parameter; repeatable\n"
            "Parameters of links: LINK/mass, /com_x /com_y /com_z, /ixx /ixy /ixz /iyy /iyz /izz. "
            "Parameters of joints: JOINT/damping, /armature, /friction, /stiffness, /rest. "
            "Geometric parameters: JOINT/origin_x ..., /turn_x ..., /axis_x ..., /dh_a /dh_alpha "
            "/dh_d /dh_theta.",
            "--payload-change LINK:MASS[@X,Y,Z]": "Add a small point mass [kg] to a link; "
            "repeatable",
        },
        torques="continuous",
    ),
    *flags(
        METHOD,
        VERBS["sensitivity"].options,
        {
            "--matrices": "Return dx_dx0, dx_dtau and dx_dparameters\n"
            "x contains positions and velocities.",
            "--geometry": "Include geometric parameters in dx_dparameters",
            "--cost-gradient FILE": "Return the gradient of a cost\n"
            "FILE contains the derivatives of the cost at every row, in the columns "
            "JOINT/position and JOINT/velocity. Returns dcost_dq, dcost_dqd, dcost_dtau and "
            "dcost_dparameters.",
        },
    ),
]


_SENSITIVITY_SHORT = (
    "trajectory perturb perturb-torque parameter payload-change torques matrices geometry "
    "cost-gradient output format"
)


@query_command("sensitivity", _SENSITIVITY_FLAGS, short=_SENSITIVITY_SHORT)
def sensitivity_command(inquiry: Request, out: Output) -> None:
    """Propagate perturbations along a trajectory.

    \b
    d(dx)/dt = A(t) dx + B(t) dtau + E(t) dp along the trajectory
    The result is the first-order change of a simulation with the same torques.
    LINK/mass does not change the centre of mass or the inertia about it.

    \b
    Examples:
      robolin sensitivity arm.urdf --trajectory m.csv --parameter forearm/mass=0.1
      robolin sensitivity arm.urdf --trajectory m.csv --perturb dq=elbow=1deg
      robolin sensitivity arm.urdf --trajectory m.csv --matrices -o all.npz
      robolin sensitivity arm.urdf --trajectory m.csv --cost-gradient miss.csv

    \b
    Returns: per row of the trajectory
      dq, dqd (n)                            changes in positions and velocities
      dx_dx0, dx_dtau, dx_dparameters        with --matrices
      dcost_dq, dcost_dqd, dcost_dtau, dcost_dparameters  with --cost-gradient
    """
    run_and_write(inquiry, out)


_FLAGS = flags(
    METHOD,
    VERBS["excite"].own_options,
    {
        "--duration S": "Duration of the motion [s]",
        "--period S": "Period of the Fourier series [s] (default: the duration)\n"
        "The duration must be a multiple of the period.",
        "--harmonics N": "Number of harmonics (sine and cosine) per joint",
        "--dt S": "Time between rows [s]",
        "--margin FRACTION": "Fraction of the limits that the motion may use",
        "--max-velocity VALUES": "Velocity limits (default: from the robot file)",
        "--max-acceleration VALUES": "Acceleration limits (default: none)\n"
        "Torque limits always apply. This option is required for joints without an effort limit.",
        "--iterations N": "Number of random motions to try",
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
def excite_command(inquiry: Request, out: Output) -> None:
    """Find a motion for parameter identification.

    Every joint moves along a Fourier series, from rest to rest. The motion stays within the
    position, velocity, acceleration and torque limits, also between the rows. The search maximizes
    the determinant of the information matrix (D-optimal).

    \b
    Examples:
      robolin excite panda -o motion.csv
      robolin excite ur5 --duration 20 --period 10 --seed 3 -o ur5.csv
      robolin regressor panda --rank --trajectory motion.csv

    \b
    Returns: per row
      time, q, qd, qdd (n)   the motion
      tau (n)                torques of the motion [N m or N]
    """
    run_and_write(inquiry, out)
