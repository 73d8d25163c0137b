"""The commands `optimize` and `retime`: optimal motions to a goal or along a path."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, STATE, TIMES, TORQUE, flags
from robolin.cli.flags.forward_flags import STATE_HELP
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import READING_FLAGS
from robolin.cli.query_command import query_command, run_and_write
from robolin.io.format_table import extensions, trajectory_formats
from robolin.queries.request import Request
from robolin.queries.verbs import VERBS

_OPTIONS = VERBS["optimize"].own_options

_FLAGS = [
    *flags(
        STATE,
        _OPTIONS,
        {
            "--goal JOINTS|FRAME=POSE": "Final positions, or the pose of a link\n"
            "JOINTS has the syntax of --q; POSE is X,Y,Z [m] or X,Y,Z,ROLL,PITCH,YAW in the "
            "frame of the root link.",
            "--hold": "Stay at the initial positions",
            "--follow FILE": "Follow the motion in a file\n"
            f"Formats: {extensions(trajectory_formats())}. Columns are time, positions and, if "
            "available, velocities. Values are interpolated linearly.",
            "--from FILE": "Use the motion in a file as the initial guess\n"
            "The file must contain positions and, for robots with passive joints, efforts. "
            "FILE may be an earlier result.",
        },
    ),
    *flags(
        TIMES,
        _OPTIONS,
        {
            "--duration S": "Time to the goal [s]",
            "--dt S": "Time between knots [s] (default: a hundredth of --duration)",
        },
    ),
    *flags(
        TORQUE,
        _OPTIONS,
        {
            "--ignore-limits": "Ignore the joint limits in the robot file",
            "--limit-scale S": "Factor for the velocity and effort limits in the robot file "
            "(default 1)",
            "--max-effort VALUES": "Effort limits [N m or N] (default: from the robot file)",
            "--max-velocity VALUES": "Velocity limits (default: from the robot file)",
        },
    ),
    *flags(
        METHOD,
        _OPTIONS,
        {
            "--actuated JOINTS": "Actuated joints, or 'all' (default: as in the robot "
            "file, else all)",
            "--passive JOINTS": "Passive joints; all other joints are actuated",
            "--weight NAME=WEIGHT": "State weights, such as qd=0.1 (default qd=1/limit^2)\n"
            "The cost is integrated over time. elbow/q=5 sets the weight of one joint. Repeatable. "
            "With --follow or --hold, the default also contains q=1e4.",
            "--effort WEIGHT": "Torque weights, such as 0.1 (default 1/limit^2, else 1)\n"
            "The cost is integrated over time. elbow=0.5 sets the weight of one joint. Repeatable.",
            "--final WEIGHT": "Weight of the final distance to the goal (default: reach the goal "
            "exactly)",
            "--method": "Optimization variables\n"
            "acceleration uses inverse dynamics and requires a motor at every joint. torque "
            "uses RK4 steps and also supports robots with passive joints.",
            "--starts N": "Number of initial guesses (default 1; 4 for a pose, 24 with passive "
            "joints)",
            "--seed N": "Random seed (default 0)",
            "--iterations N": "Maximum number of iterations (default 2000; 500 with passive "
            "joints)",
            "--tolerance R": "Stop if the cost decreases by less than this fraction (default 1e-9)",
            "--solver": "Optimization solver: robolin's own, or IPOPT\n"
            "ipopt requires CasADi: pip install casadi.",
        },
        method="auto",
        solver="own",
    ),
]


@query_command(
    "optimize",
    [*_FLAGS, *READING_FLAGS],
    state_help=STATE_HELP,
    short="goal hold follow q duration dt weight effort max-effort limit-scale starts from output",
)
def optimize_command(inquiry: Request, out: Output) -> None:
    """Find an optimal motion to a goal, with feedback gains.

    \b
    Minimizes the integral of x' Q x + tau' R tau within the limits in the file.
    The result is a local optimum; obstacles and contacts are not considered.
    `robolin simulate --feedback` runs the motion with its gains.

    \b
    Examples:
      robolin optimize panda --q home --goal 0,0,0,-1.5,0,1.5,0 --duration 1
      robolin optimize ur5 --goal tool0=0.4,0.2,0.5 --duration 2
      robolin optimize acrobot --goal 180deg,0 --duration 4 --max-effort 8
      robolin optimize ur5 --follow motion.csv --limit-scale 0.5 -o safe.npz

    \b
    Returns: a trajectory that other commands can read
      q, qd, qdd, tau (n)    one row per knot, at time [s]
      K (m,2n), P (2n,2n)    gains and cost-to-go of every row
    """
    run_and_write(inquiry, out)


_RETIME_OPTIONS = VERBS["retime"].own_options

_RETIME_FLAGS = [
    *flags(
        STATE,
        VERBS["retime"].states_from,
        {
            "--trajectory FILE": "File with the points of the path: positions of all joints\n"
            f"Each row of a {extensions(trajectory_formats())} file is a point; times are ignored.",
        },
    ),
    *flags(
        TIMES,
        _RETIME_OPTIONS,
        {"--dt S": "Time between rows [s] (default: one row per path point)"},
    ),
    *flags(
        TORQUE,
        _RETIME_OPTIONS,
        {
            "--max-velocity VALUES": "Velocity limits (default: from the robot file)",
            "--max-acceleration VALUES": "Acceleration limits (default: none)",
            "--max-effort VALUES": "Effort limits [N m or N] (default: from the robot file)",
            "--limit-scale S": "Factor for the velocity and effort limits in the robot file",
        },
        limit_scale="1",
    ),
]


@query_command(
    "retime",
    [*_RETIME_FLAGS, *READING_FLAGS],
    short="trajectory max-velocity max-acceleration max-effort limit-scale dt payload output",
)
def retime_command(inquiry: Request, out: Output) -> None:
    """Find the fastest motion along a path within the limits.

    The path is a cubic spline through the points. The motion starts and ends at rest. The method
    (TOPP-RA) enforces the limits in every row of the result, and at ten times as many points as the
    path has. The squared speed is linear between points, so a path with more points allows a
    faster motion.

    \b
    Examples:
      robolin retime panda --trajectory path.csv -o motion.csv
      robolin retime ur5 --trajectory path.csv --max-acceleration 8 --dt 0.002
      robolin retime arm.urdf --trajectory path.csv --limit-scale 0.8 -o slow.csv

    \b
    Returns: a trajectory that other commands can read
      time, q, qd, qdd (n)   the motion
      tau (n)                torques of the motion [N m or N]
    """
    run_and_write(inquiry, out)
