"""robolin regressor: torques as a linear function of the inertial parameters."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import sample_flags
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_FLAGS = [
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


@query_command("regressor", [*sample_flags("--rank"), *_FLAGS])
def command(inquiry: Request, out: Output) -> None:
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
