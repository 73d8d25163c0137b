"""Commands about frames and the centre of mass: Jacobians and momentum."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.core.choices import REFERENCES
from robolin.queries.request import Request

_JACOBIAN_HELP = {
    "qdd": "Accelerations, for --derivatives.  [default: 0]",
    "tau": "Torques (forces of sliding joints), for the operational space, or 'hold': those that "
    "keep qdd at 0.  [default: 0]",
}
_JACOBIAN_FLAGS = [
    flag(
        "--frame",
        section=METHOD,
        metavar="LINK",
        help="The link, moving or merged, that the answer is about.  "
        "[default: the tip, or the only end; needed where several are on the last link]",
    ),
    flag("--point", section=METHOD, metavar="X,Y,Z", help="A point in it.  [default: 0,0,0]"),
    flag(
        "--reference",
        section=METHOD,
        type=click.Choice(REFERENCES),
        default="world",
        show_default=True,
        help="The axes that vectors are written in; the pose is always the world's.",
    ),
    flag(
        "--derivatives",
        section=METHOD,
        is_flag=True,
        help="Add derivatives by q and qd of twist and acceleration: of the point that moves along "
        "(dtwist_..., dclassical_...) and referred to the place where it is now (dspatial_...).",
    ),
    flag(
        "--operational-space",
        section=METHOD,
        is_flag=True,
        help="Add operational_inertia_inverse, free_acceleration, operational_inertia and "
        "bias_wrench, which depend on --tau: a wrench F on the frame makes it accelerate by a, "
        "operational_inertia a + bias_wrench = F.",
    ),
    flag(
        "--operational-space-inverse",
        section=METHOD,
        is_flag=True,
        help="Add the first two of them alone, which exist in singular poses too.",
    ),
]


@query_command("jacobian", _JACOBIAN_FLAGS, state_help=_JACOBIAN_HELP)
def jacobian_command(inquiry: Request, out: Output) -> None:
    """Jacobian of a frame, with its pose, twist and felt inertia.

    Answers with jacobian, jacobian_rate_qd, twist, position and rotation:
    twist = jacobian qd, and the acceleration of the point is jacobian qdd + jacobian_rate_qd.
    Rows are rx, ry, rz for turning and x, y, z for moving.

    \b
    Example:
      robolin jacobian panda --frame panda_hand_tcp --q panda_joint4=-90deg
      robolin jacobian ur5 --frame tool0 --point 0,0,0.1 --reference frame
      robolin jacobian ur5 --frame tool0 --q 0,-1,1,0.5,1,0 --operational-space --tau hold
    """
    run_and_write(inquiry, out)


@query_command("momentum", [])
def momentum_command(inquiry: Request, out: Output) -> None:
    """Centre of mass, its Jacobian, and the momentum of the arm.

    Answers with mass, com, com_velocity, com_jacobian, momentum and momentum_matrix:
    com_velocity = com_jacobian qd, momentum = momentum_matrix qd, and their rates are
    com_jacobian qdd + com_jacobian_rate_qd, momentum_matrix qdd + momentum_matrix_rate_qd.
    Momentum is about the centre of mass, rx, ry, rz for turning and x, y, z for moving.
    Links that stand still with the base have no part in it.

    \b
    Example:
      robolin momentum panda --q panda_joint4=-90deg
      robolin momentum ur5 --qd 1,0,0,0,0,0 -o momentum.npz
    """
    run_and_write(inquiry, out)
