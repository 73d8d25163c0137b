"""Flags for accelerations: algorithm, prescribed joints and closed loops."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, STATE, TIMES, TORQUE, flag, flags
from robolin.core.choices import STATE_FORMS
from robolin.evaluation.methods import CONVENTIONAL_UP_TO
from robolin.io.format_table import extensions, trajectory_formats
from robolin.queries.option_specs import LINEAR_MODEL_OPTIONS
from robolin.queries.verbs import VERBS

_FORWARD, _SIMULATE = VERBS["forward"].own_options, VERBS["simulate"].own_options

_TEXT = (
    "Algorithm\noperator uses recursions over the links (ABA). conventional uses the mass matrix "
    "and LDL' elimination. "
)

PRESCRIBE, PRESCRIBED_QDD, PRESCRIBE_FROM, CLOSE_FLAG = flags(
    STATE,
    _SIMULATE,
    {
        "--prescribe JOINTS": "Joints with prescribed motion (--qd and --qdd)\n"
        "The result includes their torques; --tau applies to the other joints. For "
        "example 'base' with --floating-base.",
        "--qdd VALUES": "Accelerations of the prescribed joints (default 0)",
        "--prescribe-from FILE": "Read the prescribed accelerations from a file\n"
        f"Formats: {extensions(trajectory_formats())}. Columns are time and JOINT/acceleration. "
        "Accelerations are interpolated linearly. These joints start at the positions and "
        "velocities in the file, unless --q, --qd or --initial are set.",
        "--close JOINTS|least": "Project the state onto the loop constraints first\n"
        "The named joints keep their values; 'least' changes all joints as little as "
        "possible.",
    },
)
LOOP_METHOD_FLAG, FORWARD_METHOD_FLAG = flags(
    METHOD,
    _FORWARD,
    {
        "--loop-method": "Solver for closed loops (default null-space)\n"
        "kkt solves for accelerations and constraint forces together; schur solves for the "
        "constraint forces first; null-space solves for the free accelerations first.",
        "--method METHOD": f"{_TEXT}auto selects the recursions unless joints mimic each other. "
        "The recursions have six variants: operator (or d), bias-free (or a), bias-free-links "
        "(or b), three-sweeps (or c), three-sweeps-links and two-sweeps.",
    },
    method="auto",
)
(DTYPE_FLAG,) = flags(
    METHOD,
    _FORWARD,
    {
        "--dtype": "Floating-point type of the results\n"
        "float32 is up to twice as fast, and files are half the size. Then torques have about six "
        "correct digits, accelerations three to five; `robolin verify` measures the error.",
    },
    dtype="float64",
)
(METHOD_FLAG,) = flags(
    METHOD,
    VERBS["linearize-forward"].own_options,
    {
        "--method": f"{_TEXT}auto selects elimination for up to "
        f"{CONVENTIONAL_UP_TO['linearize-forward']} joints (up to "
        f"{CONVENTIONAL_UP_TO['perturb-forward']} with --perturb), where it is faster, and "
        "if joints mimic each other.",
    },
    method="auto",
)
(BAUMGARTE,) = flags(
    TIMES,
    _SIMULATE,
    {
        "--baumgarte ALPHA,BETA": "Use Baumgarte stabilisation for closed loops\n"
        "Errors e decay by e'' + 2 ALPHA e' + BETA^2 e = 0 (1/s), instead of a projection after "
        "every step.",
    },
)


POINT_HELP = {
    "tau": "Torques [N m or N], or 'hold' for qdd = 0 (default hold)",
    "qdd": "Accelerations at the operating point, from which the torques are computed",
}

LINEAR_MODEL_FLAGS = [
    *flags(
        STATE,
        LINEAR_MODEL_OPTIONS,
        {
            "--trim": "Find the nearest equilibrium to --q\n"
            "Changes q as little as possible, within the joint limits, so that the actuated "
            "joints alone can hold the arm.",
            "--keep JOINTS": "Joints that --trim does not move",
        },
    ),
    CLOSE_FLAG,
    *flags(
        METHOD,
        LINEAR_MODEL_OPTIONS,
        {
            "--actuated JOINTS": "Actuated joints, or 'all' (default: as in the file, else all)",
            "--passive JOINTS": "Unactuated joints, instead of --actuated",
            "--outputs NAMES": "Outputs y, separated by commas (default q,qd)\n"
            "q, qd, qdd, tau, JOINT/position, FRAME, FRAME/velocity, FRAME/vx, ...",
            "--reference": "Axes of frame outputs",
            "--dt S": "Sample time [s] of a discrete-time model",
            "--discretize": "Discretization method for --dt\n"
            "zoh: zero-order hold; foh: first-order hold; tustin: bilinear transform; euler: "
            "forward Euler.",
        },
        reference="world",
        discretize="zoh",
    ),
]


STATE_HELP = {
    "q": "Initial positions [rad or m] (default 0)",
    "qd": "Initial velocities (default 0)",
}

START = [
    *flags(
        STATE,
        _SIMULATE,
        {
            "--offset VALUES": "Initial offset from the start of --feedback or --follow",
            "--initial FILE": "Simulate from every row of a file\n"
            f"The file is {extensions(trajectory_formats())}. Returns the final state of each row; "
            "with --every, --rows, or --dt of an adaptive integrator, all rows.",
        },
    ),
    flag(
        "--state",
        STATE,
        "Velocities to integrate\n"
        "rates: joint velocities; nu, xi: normalized and unnormalized quasi-velocities.",
        into="velocities",
        choices=STATE_FORMS,
        default="rates",
    ),
]

CLOCK = flags(
    TIMES,
    _SIMULATE,
    {
        "--duration S": "Duration [s] (default: end of the file of --follow)",
        "--dt S": "Step [s] (default 0.001)\n"
        "For rk4 and euler, this is the integration step; otherwise, the time between rows.",
        "--rtol R": "Relative tolerance; enables adaptive steps\nRequires SciPy.",
        "--atol A": "Absolute tolerance (default: the value of --rtol)",
        "--integrator NAME": "Integrator (default rk4; dop853 with a tolerance)\n"
        "rk4 and euler (semi-implicit) have fixed steps; dop853, rk45 and radau are adaptive. "
        "radau is for stiff systems, such as strongly damped light links.",
        "--every N": "Fixed steps per row (default 1)",
        "--rows N": "Number of rows (default 101, or one row per --dt)\n"
        "This option is for adaptive integrators; use --every with fixed steps.",
    },
)

DRIVE = flags(
    TORQUE,
    _SIMULATE,
    {
        "--tau VALUES": "Constant torques [N m or N] (default 0)\n"
        "'hold' compensates gravity and loads at all times; 'hold+VALUES' adds torques.",
        "--trajectory FILE": "Read torques over time from a file\n"
        f"Formats: {extensions(trajectory_formats())}. Columns are time and JOINT/effort. "
        "Torques are interpolated linearly, and constant before the first and after the last row.",
        "--control LAW": "Controller: rate, pose, pd or computed-torque\n"
        "rate damps the quasi-velocities; pose also drives a frame to --target. pd drives each "
        "joint to --goal; computed-torque also decouples the joints by inverse dynamics. All "
        "controllers compensate gravity and loads.",
        "--goal VALUES": "Goal for pd and computed-torque (default 0)",
        "--follow FILE": "Track the trajectory in a file\n"
        "Columns are time, positions and, if available, velocities and accelerations. Values "
        "are interpolated linearly. The simulation starts at the first row unless --q is set; "
        "the time of the first row is 0 s in the simulation.",
        "--kp K|VALUES": "Proportional gain (default 100)\n"
        "[N m/rad] or [N/m] for pd, [1/s^2] for computed-torque.",
        "--kd K|VALUES": "Derivative gain (default 20)\n"
        "[N m s/rad] or [N s/m] for pd, [1/s] for computed-torque.",
        "--feedback FILE": "Use the gains of `robolin lqr`: tau - K x\n"
        "The model assumptions of the result include the cost of the motion. The simulation "
        "starts at "
        "the state for which the gains were computed, unless --q is set. With gains of a "
        "discrete-time model, the torque is constant between samples.",
        "--allow-model-mismatch": "Accept gains computed for different model parameters\n"
        "Use this option, for example, to test a different payload.",
        "--disturb VALUES[@FROM:TO]": "Disturbance torques, constant or from FROM to TO [s]\n"
        "Disturbances are not subject to effort limits and are not included in the efforts.",
        "--gain C|VALUES": "Gain c for rate and pose control [1/s] (default 1)\n"
        "Write one number for all joints, or one per joint.",
        "--target FRAME=X,Y,Z,ROLL,PITCH,YAW": "Target pose for --control pose\n"
        "X, Y, Z [m] and roll, pitch, yaw in the frame of the root link.",
        "--position-gain K|X,Y,Z": "Stiffness of the position [N/m] (default 100)",
        "--orientation-gain K|X,Y,Z": "Stiffness of the orientation [N m] (default 10)",
        "--ignore-limits": "Do not limit torques to the effort limits in the file",
    },
)
