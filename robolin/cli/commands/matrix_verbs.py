"""Commands about matrices of a configuration: mass matrix, Jacobian, momentum, quasi-velocities."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flags
from robolin.cli.flags.forward_flags import DTYPE_FLAG
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import sample_flags
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request
from robolin.queries.verbs import VERBS

_MASS_MATRIX_FLAGS = flags(
    METHOD,
    VERBS["mass-matrix"].own_options,
    {
        "--inverse": "Also return mass_matrix_inverse",
        "--factor": "Also return the LDL' factorization of the mass matrix\n"
        "Returns factor, its inverse factor_inverse, and D: mass_matrix = factor diag(D) factor'.",
        "--derivative": "Also return dmass_matrix_dq, one matrix per joint",
        "--coriolis": "Also return coriolis_matrix (Christoffel symbols) at --qd",
    },
)

_MASS_MATRIX_HELP = {"qd": "Velocities for --coriolis (default 0)"}


_MASS_MATRIX_SHORT = (
    "q qd inverse factor derivative coriolis trajectory payload armature only output"
)


@query_command(
    "mass-matrix",
    [*_MASS_MATRIX_FLAGS, DTYPE_FLAG],
    state_help=_MASS_MATRIX_HELP,
    short=_MASS_MATRIX_SHORT,
)
def mass_matrix_command(inquiry: Request, out: Output) -> None:
    """Compute the mass matrix, its inverse and factors (CRBA).

    \b
    kinetic energy = 1/2 qd' M(q) qd, with reflected rotor inertias (armature)

    \b
    Examples:
      robolin mass-matrix panda --q home
      robolin mass-matrix panda --inverse --only mass_matrix_inverse
      robolin mass-matrix panda --coriolis --qd panda_joint1=1
      robolin mass-matrix ur5 --factor --derivative -o matrices.npz

    \b
    Returns:
      mass_matrix (n,n)          [kg m^2, kg m or kg]
      mass_matrix_inverse (n,n)  with --inverse
      factor, D, factor_inverse  with --factor: M = factor diag(D) factor'
      dmass_matrix_dq (n,n,n)    with --derivative
      coriolis_matrix (n,n)      with --coriolis: C(q, qd)
    """
    run_and_write(inquiry, out)


_DIAGONALIZE_FLAGS = flags(
    METHOD,
    VERBS["diagonalize"].own_options,
    {
        "--unnormalized": "Use the unnormalized quasi-velocities xi and quasi-torques kappa\n"
        "This transformation has no square roots. Returns xi, kappa, coriolis, factor and D.",
        "--inverse-transform": "Compute qd and tau from --nu and --epsilon\n"
        "With --unnormalized, this option uses --xi and --kappa instead.",
        "--curvature": "Return the curvature of the mass matrix\n"
        "The curvature is zero in all states if and only if some coordinates make the mass matrix "
        "constant.",
        "--symbols": "Also return all Riemann symbols (requires --curvature)",
    },
)


_DIAGONALIZE_SHORT = (
    "q qd tau inverse-transform nu epsilon unnormalized curvature samples trajectory only output"
)


@query_command(
    "diagonalize",
    [*sample_flags("--curvature"), *_DIAGONALIZE_FLAGS, DTYPE_FLAG],
    short=_DIAGONALIZE_SHORT,
)
def diagonalize_command(inquiry: Request, out: Output) -> None:
    """Transform states to diagonalizing quasi-velocities.

    \b
    nu = m' qd with M = m m' gives d(nu)/dt + coriolis = epsilon

    \b
    Examples:
      robolin diagonalize panda --qd 0.1,0,0,0,0,0,0 --tau hold
      robolin diagonalize two-link --inverse-transform --nu 0.1,0.2 --epsilon 1,0
      robolin diagonalize two-link --unnormalized --qd 0.1,0.2
      robolin diagonalize ur5 --curvature --samples 20

    \b
    Returns:
      nu (n), epsilon (n)    quasi-velocities, quasi-torques [sqrt(J), sqrt(J)/s]
      coriolis (n)           Coriolis term [sqrt(J)/s]
      m (n,n)                square-root factor of the mass matrix
      D (n)                  articulated-body inertia of each joint
    """
    run_and_write(inquiry, out)


_JACOBIAN_HELP = {
    "qdd": "Accelerations for --derivatives (default 0)",
    "tau": "Torques for --operational-space, or 'hold' for qdd = 0 (default 0)",
}
_JACOBIAN_FLAGS = flags(
    METHOD,
    VERBS["jacobian"].own_options,
    {
        "--frame LINK": "Link of the frame (default: the tip, or the only end link)\n"
        "Set this option if the robot has several end links, or if its end link has several "
        "frames.",
        "--point X,Y,Z": "Point in the frame [m] (default 0,0,0)",
        "--reference": "Axes in which vectors are expressed\nThe pose is always in world axes.",
        "--derivatives": "Also return derivatives of twist and acceleration\n"
        "Returns derivatives with respect to q and qd, at the moving point (dtwist_..., "
        "dclassical_...) and at a point fixed in space (dspatial_...).",
        "--operational-space": "Also return the operational-space dynamics\n"
        "Returns operational_inertia, its inverse operational_inertia_inverse, and bias_wrench "
        "and free_acceleration for the torques --tau. A wrench F on the frame and the acceleration "
        "a of the frame satisfy operational_inertia a + bias_wrench = F.",
        "--operational-space-inverse": "Return only the inverse inertia and free acceleration\n"
        "operational_inertia_inverse and free_acceleration are also defined at singular poses.",
    },
    reference="world",
)


_JACOBIAN_SHORT = (
    "frame point reference q qd derivatives operational-space trajectory only output format"
)


@query_command(
    "jacobian",
    [*_JACOBIAN_FLAGS, DTYPE_FLAG],
    state_help=_JACOBIAN_HELP,
    short=_JACOBIAN_SHORT,
)
def jacobian_command(inquiry: Request, out: Output) -> None:
    """Compute the pose, twist and Jacobian of a frame.

    \b
    twist = jacobian qd, acceleration = jacobian qdd + jacobian_rate_qd
    The first three rows are angular (rx, ry, rz), the others linear (x, y, z).

    \b
    Examples:
      robolin jacobian panda --frame panda_hand_tcp --q home
      robolin jacobian panda --frame panda_hand --only position --only rotation
      robolin jacobian ur5 --frame tool0 --point 0,0,0.1 --reference frame
      robolin jacobian ur5 --frame tool0 --q 0,-1,1,0.5,1,0 --operational-space

    \b
    Returns:
      jacobian (6,n)         geometric Jacobian [1 and m/rad; prismatic: 1]
      position, rotation     pose in the world: (3) [m] and (3,3)
      twist (6)              velocity of the frame [rad/s, m/s]
      jacobian_rate_qd (6)   dJ/dt qd [rad/s^2, m/s^2]
    """
    run_and_write(inquiry, out)


_IK_FLAGS = flags(
    METHOD,
    VERBS["ik"].own_options,
    {
        "--goal FRAME=X,Y,Z[,ROLL,PITCH,YAW]": "Goal pose of a link [m, rad]\n"
        "The pose is in the frame of the root link. Without angles, any orientation is "
        "accepted. Without FRAME=, the goal applies to the tip.",
        "--starts N": "Number of starting points (default 32)\n"
        "The first starting point is --q; the others are random. The solution nearest to --q is "
        "returned.",
        "--seed N": "Random seed (default 0)",
        "--ignore-limits": "Ignore the position limits in the robot file",
    },
)


@query_command(
    "ik",
    _IK_FLAGS,
    state_help={"q": "First starting point [rad or m] (default 0, or the nearest limit)"},
    short="goal q starts seed ignore-limits payload output format",
)
def ik_command(inquiry: Request, out: Output) -> None:
    """Find joint positions that reach a pose.

    \b
    Solves pose(q) = goal within the position limits.
    The method is damped least squares from several starting points.

    \b
    Examples:
      robolin ik panda --goal panda_hand_tcp=0.5,0.1,0.3,180deg,0,0 --q home
      robolin ik ur5 --goal tool0=0.4,0.2,0.5 -o pose.csv
      robolin inverse ur5 --trajectory pose.csv
      robolin ik ur5 --goal tool0=0.4,0.2,0.5,0,90deg,0 --starts 200
      robolin ik two-link --goal tip=1.2,0.5,0 --ignore-limits

    \b
    Returns:
      q (n)                joint positions [rad or m]
      position_error       remaining distance [m]
      orientation_error    remaining angle [rad], for a goal with angles
    """
    run_and_write(inquiry, out)


@query_command(
    "momentum",
    [DTYPE_FLAG],
    short="q qd trajectory floating-base payload tip only output format",
)
def momentum_command(inquiry: Request, out: Output) -> None:
    """Compute the centre of mass, momentum and their Jacobians.

    \b
    com_velocity = com_jacobian qd, momentum = momentum_matrix qd
    d(com_velocity)/dt = com_jacobian qdd + com_jacobian_rate_qd
    The momentum is about the centre of mass (centroidal), angular rows first.

    \b
    Examples:
      robolin momentum panda --q home
      robolin momentum panda --qd panda_joint1=1 --only momentum
      robolin momentum ur5 --qd 1,0,0,0,0,0 -o momentum.npz
      robolin momentum ur5 --floating-base --only momentum_matrix

    \b
    Returns: quantities of the moving links, without the links fixed to the base
      mass, com (3)                 mass [kg] and centre of mass [m]
      com_velocity (3)              velocity of the centre of mass [m/s]
      com_jacobian (3,n)            Jacobian [m/rad, or 1 for prismatic joints]
      com_jacobian_rate_qd (3)      d(com_jacobian)/dt qd [m/s^2]
      momentum (6)                  angular [N m s], then linear [N s]
      momentum_matrix (6,n)         centroidal momentum matrix
      momentum_matrix_rate_qd (6)   d(momentum_matrix)/dt qd [N m, N]
    """
    run_and_write(inquiry, out)
