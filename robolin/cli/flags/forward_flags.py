"""Flags for accelerations: algorithm, prescribed joints and closed loops."""

from __future__ import annotations

from typing import Any

import click

from robolin.cli.flags.flag import METHOD, STATE, TIMES, TORQUE, flag
from robolin.core.choices import (
    CONTROL_LAWS,
    DISCRETIZATIONS,
    INTEGRATORS,
    LOOP_METHODS,
    REFERENCES,
    STATE_FORMS,
)
from robolin.evaluation.methods import COMMON_METHODS, FORWARD_METHODS, describe_auto
from robolin.io.format_table import extensions, trajectory_formats

_TEXT = (
    "Algorithm\noperator: recursions over the links (ABA). conventional: mass matrix and LDL' "
    "elimination. "
)

PRESCRIBE = flag(
    "--prescribe",
    section=STATE,
    by_name=True,
    metavar="JOINTS",
    help="Joints with prescribed motion (--qd and --qdd)\n"
    "The result includes their torques; --tau applies to the other joints. For "
    "example 'base' with --floating-base.",
)

PRESCRIBED_QDD = flag(
    "--qdd",
    section=STATE,
    by_joint=True,
    metavar="VALUES",
    help="Accelerations of the joints of --prescribe (default 0)",
)

PRESCRIBE_FROM = flag(
    "--prescribe-from",
    section=STATE,
    metavar="FILE",
    help="Read the prescribed accelerations from a file\n"
    "Columns are time and JOINT/acceleration of a "
    f"{extensions(trajectory_formats())} file, with linear interpolation. These "
    "joints start at the positions and velocities of the file, unless --q, "
    "--qd or --initial are set.",
)

CLOSE_FLAG = flag(
    "--close",
    section=STATE,
    metavar="JOINTS|least",
    help="Project the state onto the loop constraints first\n"
    "The named joints keep their values; 'least' changes all joints as little as "
    "possible.",
)

LOOP_METHOD_FLAG = flag(
    "--loop-method",
    section=METHOD,
    type=click.Choice(LOOP_METHODS),
    help="Solver for closed loops (default null-space)\n"
    "kkt solves for accelerations and constraint forces together, schur for "
    "constraint forces first, null-space for the free accelerations first.",
)

BAUMGARTE = flag(
    "--baumgarte",
    section=TIMES,
    metavar="ALPHA,BETA",
    help="Use Baumgarte stabilisation of closed loops\n"
    "e'' + 2 ALPHA e' + BETA^2 e = 0 in 1/s, instead of a projection after every "
    "step.",
)


_METHOD: dict[str, Any] = {"section": METHOD, "default": "auto", "show_default": True}
METHOD_FLAG = flag(
    "--method",
    type=click.Choice(COMMON_METHODS),
    help=_TEXT + describe_auto("linearize-forward", "perturb-forward"),
    **_METHOD,
)
FORWARD_METHOD_FLAG = flag(
    "--method",
    type=click.Choice(COMMON_METHODS + FORWARD_METHODS),
    metavar="METHOD",
    help=f"{_TEXT}{describe_auto('forward')} Variants of the recursions: "
    "a = bias-free, b = bias-free-links, c = three-sweeps, d = operator, three-sweeps-links, "
    "two-sweeps.",
    **_METHOD,
)


POINT_HELP = {
    "tau": "Torques [N m or N], or 'hold' for qdd = 0 (default hold)",
    "qdd": "Accelerations; torques then follow by inverse dynamics",
}

LINEAR_MODEL_FLAGS = [
    flag(
        "--trim",
        section=STATE,
        is_flag=True,
        help="Find the nearest equilibrium to --q\n"
        "Changes q as little as possible within the joint limits, such that the actuated joints "
        "hold it.",
    ),
    flag("--keep", section=STATE, metavar="JOINTS", help="Joints that --trim does not move"),
    CLOSE_FLAG,
    flag(
        "--actuated",
        section=METHOD,
        metavar="JOINTS",
        help="Actuated joints, or 'all' (default as in the file, else all)",
    ),
    flag(
        "--passive",
        section=METHOD,
        metavar="JOINTS",
        help="Unactuated joints, instead of --actuated",
    ),
    flag(
        "--outputs",
        section=METHOD,
        metavar="NAMES",
        help="Outputs y, separated by commas (default q,qd)\n"
        "q, qd, qdd, tau, JOINT/position, FRAME, FRAME/velocity, FRAME/vx, ...",
    ),
    flag(
        "--reference",
        section=METHOD,
        type=click.Choice(REFERENCES),
        default="world",
        show_default=True,
        help="Axes of frame outputs",
    ),
    flag(
        "--dt",
        section=METHOD,
        metavar="S",
        help="Sample time [s]: return a discrete-time model",
    ),
    flag(
        "--discretize",
        section=METHOD,
        type=click.Choice(DISCRETIZATIONS),
        default="zoh",
        show_default=True,
        help="Discretization of --dt\n"
        "zoh: zero-order hold; foh: first-order hold; tustin: bilinear transform; euler: "
        "forward Euler.",
    ),
]


STATE_HELP = {
    "q": "Initial positions [rad or m] (default 0)",
    "qd": "Initial velocities (default 0)",
}

START = [
    flag(
        "--offset",
        section=STATE,
        metavar="VALUES",
        help="Initial offset from the start of --feedback or --follow",
    ),
    flag(
        "--initial",
        section=STATE,
        metavar="FILE",
        help="Simulate from every row of a file\n"
        f"The file is {extensions(trajectory_formats())}. Returns the final state of each row; "
        "with --every, --rows or an adaptive --dt, all rows.",
    ),
    flag(
        "--state",
        "velocities",
        section=STATE,
        type=click.Choice(STATE_FORMS),
        default="rates",
        show_default=True,
        help="Velocities to integrate\n"
        "rates: joint velocities; nu, xi: normalized and unnormalized quasi-velocities.",
    ),
]

CLOCK = [
    flag("--duration", section=TIMES, metavar="S", required=True, help="Duration [s]"),
    flag(
        "--dt",
        section=TIMES,
        metavar="S",
        help="Step [s] (default 0.001)\nOf rk4; otherwise the time between rows.",
    ),
    flag(
        "--rtol",
        section=TIMES,
        metavar="R",
        help="Relative tolerance: use adaptive steps\nRequires SciPy.",
    ),
    flag("--atol", section=TIMES, metavar="A", help="Absolute tolerance (default that of --rtol)"),
    flag(
        "--integrator",
        section=TIMES,
        type=click.Choice(INTEGRATORS),
        metavar="NAME",
        help="Integrator (default rk4; dop853 with a tolerance)\n"
        "rk4 has fixed steps; dop853, rk45 and radau are adaptive. radau is for stiff systems, "
        "such as strongly damped light links.",
    ),
    flag(
        "--every",
        section=TIMES,
        type=click.IntRange(min=1),
        metavar="N",
        help="Steps of rk4 per row (default 1)",
    ),
    flag(
        "--rows",
        section=TIMES,
        type=click.IntRange(min=2),
        metavar="N",
        help="Number of rows (default 101, or one every --dt)\n"
        "For adaptive integrators; see --every for rk4.",
    ),
]

DRIVE = [
    flag(
        "--tau",
        section=TORQUE,
        by_joint=True,
        metavar="VALUES",
        help="Constant torques [N m or N] (default 0)\n"
        "'hold' compensates gravity and loads at all times, 'hold+VALUES' adds torques to it.",
    ),
    flag(
        "--trajectory",
        section=TORQUE,
        metavar="FILE",
        help="Read torques over time from a file\n"
        f"Columns are time and JOINT/effort of a {extensions(trajectory_formats())} file, with "
        "linear interpolation; constant before the first and after the last row.",
    ),
    flag(
        "--control",
        section=TORQUE,
        type=click.Choice(CONTROL_LAWS),
        metavar="LAW",
        help="Controller: rate, pose, pd or computed-torque\n"
        "rate: epsilon = -c nu damps the motion; pose also drives a frame to --target; pd "
        "drives each joint to --goal; computed-torque does so by inverse dynamics. All "
        "compensate gravity and loads.",
    ),
    flag(
        "--goal",
        section=TORQUE,
        metavar="VALUES",
        help="Goal of pd and computed-torque (default 0)",
    ),
    flag(
        "--follow",
        section=TORQUE,
        metavar="FILE",
        help="Track the trajectory of a file\n"
        "Columns are time, positions and, if available, velocities and accelerations, with "
        "linear interpolation. The simulation starts at the first row unless --q is set.",
    ),
    flag(
        "--kp",
        section=TORQUE,
        metavar="K|VALUES",
        help="Proportional gain (default 100)\n"
        "[N m/rad] or [N/m] for pd, [1/s^2] for computed-torque.",
    ),
    flag(
        "--kd",
        section=TORQUE,
        metavar="K|VALUES",
        help="Derivative gain (default 20)\n"
        "[N m s/rad] or [N s/m] for pd, [1/s] for computed-torque.",
    ),
    flag(
        "--feedback",
        section=TORQUE,
        metavar="FILE",
        help="Use the gains of `robolin lqr`: tau - K x\n"
        "The assumptions contain the cost of the motion. The simulation starts at the state of "
        "the gains unless --q is set. Gains of a discrete-time model hold the torque between "
        "samples.",
    ),
    flag(
        "--allow-model-mismatch",
        section=TORQUE,
        is_flag=True,
        help="Accept gains of a model with other parameters\nFor example with another payload.",
    ),
    flag(
        "--disturb",
        section=TORQUE,
        metavar="VALUES[@FROM:TO]",
        help="Disturbance torques, always or for FROM:TO [s]\n"
        "They are not limited, and efforts do not include them.",
    ),
    flag(
        "--gain",
        section=TORQUE,
        by_joint=True,
        metavar="C|VALUES",
        help="Gain c of rate and pose [1/s] (default 1)\nOne number, or one per joint.",
    ),
    flag(
        "--target",
        section=TORQUE,
        metavar="FRAME=X,Y,Z,ROLL,PITCH,YAW",
        help="Target pose of --control pose\n"
        "X, Y, Z [m] and roll, pitch, yaw in the axes of the root link.",
    ),
    flag(
        "--position-gain",
        section=TORQUE,
        metavar="K|X,Y,Z",
        help="Stiffness of the position [N/m] (default 100)",
    ),
    flag(
        "--orientation-gain",
        section=TORQUE,
        metavar="K|X,Y,Z",
        help="Stiffness of the orientation [N m] (default 10)",
    ),
    flag(
        "--ignore-limits",
        section=TORQUE,
        is_flag=True,
        help="Do not limit torques to the effort limits of the file",
    ),
]
