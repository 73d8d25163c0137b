"""Commands about the parameters of a robot: regressor and sensitivity."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import METHOD, STATE, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import READING_FLAGS, sample_flags
from robolin.cli.query_command import query_command, run_and_write
from robolin.core.choices import TORQUES
from robolin.io.format_table import extensions, trajectory_formats
from robolin.queries.request import Request

_REGRESSOR_FLAGS = [
    flag(
        "--rank",
        section=METHOD,
        is_flag=True,
        help="Answer with how many parameters the torques of all states together determine, and "
        "for each its share: 1 if it is determined by itself, 0 if it has no effect.",
    ),
    flag(
        "--parameters",
        section=METHOD,
        is_flag=True,
        help="Answer with the values of the parameters, in the order of the columns.",
    ),
    flag(
        "--geometry",
        section=METHOD,
        is_flag=True,
        help="Answer with dtau_dgeometry, how torques change with where joints sit, how they are "
        "turned there, their axes, and figures of Denavit-Hartenberg tables.",
    ),
]


@query_command("regressor", [*sample_flags("--rank"), *_REGRESSOR_FLAGS])
def regressor_command(inquiry: Request, out: Output) -> None:
    """Torques as a linear function of masses, inertias and losses.

    Answers with the matrix regressor in tau = regressor * parameters.  Its columns are, for every
    moving link, mass, first moments mx my mz and the inertia ixx ... izz about the link's origin,
    in the link's own axes, and for every joint damping, armature and, with --friction-velocity,
    friction; of an arm with springs also stiffness and rest_torque, stiffness times rest position.

    \b
    Example:
      robolin regressor panda --q 0,0.5,0,-1.5,0,2,0 --qdd panda_joint2=1
      robolin regressor ur5 --rank --samples 50
      robolin regressor arm.urdf --trajectory motion.csv -o regressor.npz
    """
    run_and_write(inquiry, out)


_SENSITIVITY_FLAGS = [
    flag(
        "--trajectory",
        section=STATE,
        metavar="FILE",
        required=True,
        help=f"The motion: a {extensions(trajectory_formats())} "
        "file, or - for CSV on standard input, with "
        "time, positions, velocities, and efforts or accelerations.",
    ),
    *READING_FLAGS,
    flag(
        "--torques",
        section=STATE,
        type=click.Choice(TORQUES),
        default="continuous",
        show_default=True,
        help="How the efforts go from row to row; 'stepwise' holds each until the next row.",
    ),
    flag(
        "--perturb",
        section=STATE,
        multiple=True,
        metavar="KEY=VALUES",
        help="Change the first row, dq=VALUES or dqd=VALUES, or all efforts, dtau=VALUES; "
        "repeatable.",
    ),
    flag(
        "--perturb-torque",
        section=STATE,
        metavar="FILE",
        help="Change the efforts by those of this file, in between its rows by what is in between.",
    ),
    flag(
        "--parameter",
        section=STATE,
        multiple=True,
        metavar="NAME=CHANGE",
        help="Change a link: LINK/mass, /com_x /com_y /com_z, /ixx /ixy /ixz /iyy /iyz /izz; a "
        "joint: JOINT/damping, /armature, /friction, /stiffness, /rest; or where it sits: "
        "JOINT/origin_x ..., /turn_x ..., /axis_x ..., /dh_a /dh_alpha /dh_d /dh_theta; "
        "repeatable, or with commas.",
    ),
    flag(
        "--payload-change",
        section=STATE,
        multiple=True,
        metavar="LINK:MASS[@X,Y,Z]",
        help="Add a small point mass to a link, at a place in its frame; repeatable.",
    ),
    flag(
        "--matrices",
        section=METHOD,
        is_flag=True,
        help="Answer with all sensitivities: dx_dx0, dx_dtau and dx_dparameters, with x the "
        "positions and velocities.",
    ),
    flag(
        "--geometry",
        section=METHOD,
        is_flag=True,
        help="With --matrices: dx_dparameters has the figures of the geometry too.",
    ),
    flag(
        "--cost-slopes",
        section=METHOD,
        metavar="FILE",
        help="Answer with the gradient of a cost, dcost_dq, dcost_dqd, dcost_dtau and "
        "dcost_dparameters, from its slopes by positions and velocities in every row: columns "
        "JOINT/position and JOINT/velocity of this file.",
    ),
]


@query_command("sensitivity", _SENSITIVITY_FLAGS)
def sensitivity_command(inquiry: Request, out: Output) -> None:
    """How a motion changes with its beginning, its torques and the arm.

    Integrates the linearized model along the motion in a file, and answers with dq and dqd in
    every row: to first order what simulating again would change.  A mass changes with its center
    and the inertia about it in place; torques stay as they are in the file, also where a
    controller had chosen them.

    \b
    Example:
      robolin sensitivity arm.urdf --trajectory motion.csv --parameter forearm/mass=0.1
      robolin sensitivity arm.urdf --trajectory motion.csv --perturb dq=elbow=1deg -o change.csv
      robolin sensitivity arm.urdf --trajectory motion.csv --matrices -o all.npz
      robolin sensitivity arm.urdf --trajectory motion.csv --cost-slopes miss.csv -o gradient.npz
    """
    run_and_write(inquiry, out)
