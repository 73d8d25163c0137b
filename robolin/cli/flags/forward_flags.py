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
    "and its LDL' factorization. "
)

PRESCRIBE, PRESCRIBED_QDD, PRESCRIBE_FROM, CLOSE_FLAG = flags(
    STATE,
    _SIMULATE,
    {
        "--prescribe JOINTS": "Prescribe the motion of these joints with --qd and --qdd\n"
        "The result includes the torques of the prescribed joints; --tau applies to the other "
        "joints. For example, use 'base' with --floating-base.",
        "--qdd VALUES": "Accelerations of the prescribed joints (default 0)",
        "--prescribe-from FILE": "Read the prescribed accelerations from a file\n"
        f"Formats: {extensions(trajectory_formats())}. Columns are time and JOINT/acceleration. "
        "Accelerations are interpolated linearly. The prescribed joints start at the positions "
        "and velocities in the file, unless --q, --qd or --initial is set.",
        "--close JOINTS|least": "Project the state onto the loop constraints before the "
        "computation\n"
        "The named joints keep their values; 'least' changes all joints as little as "
        "possible.",
    },
)
LOOP_METHOD_FLAG, FORWARD_METHOD_FLAG = flags(
    METHOD,
    _FORWARD,
    {
        "--loop-method": "Solver for closed loops (default null-space)\n"
        "kkt solves for accelerations and constraint forces in one linear system. schur solves "
        "for the constraint forces first. null-space first solves for the accelerations that the "
        "constraints allow.",
        "--method METHOD": f"{_TEXT}auto selects the recursions unless the robot has mimic joints. "
        "Six variants of the recursions return the same results up to round-off. The variants are "
        "operator (or d), bias-free (or a), bias-free-links (or b), three-sweeps (or c), "
        "three-sweeps-links and two-sweeps.",
    },
    method="auto",
)
(DTYPE_FLAG,) = flags(
    METHOD,
    _FORWARD,
    {
        "--dtype": "Floating-point type of the results\n"
        "float32 is up to twice as fast as float64 and halves the size of result files. In "
        "float32, torques have about six correct digits and accelerations three to five; "
        "`robolin verify` measures the error.",
    },
    dtype="float64",
)
(METHOD_FLAG,) = flags(
    METHOD,
    VERBS["linearize-forward"].own_options,
    {
        "--method": f"{_TEXT}auto selects conventional, which is faster, for robots with mimic "
        f"joints or up to {CONVENTIONAL_UP_TO['linearize-forward']} joints (up to "
        f"{CONVENTIONAL_UP_TO['perturb-forward']} with --perturb).",
    },
    method="auto",
)
(BAUMGARTE,) = flags(
    TIMES,
    _SIMULATE,
    {
        "--baumgarte ALPHA,BETA": "Use Baumgarte stabilisation for closed loops\n"
        "Constraint errors e decay as e'' + 2 ALPHA e' + BETA^2 e = 0, with ALPHA and BETA in 1/s. "
        "Without this option, the state is projected onto the constraints after every step.",
    },
)


POINT_HELP = {
    "tau": "Torques [N m or N], or 'hold' for qdd = 0 (default hold)",
    "qdd": "Accelerations at the operating point; the torques are computed from them",
}

LINEAR_MODEL_FLAGS = [
    *flags(
        STATE,
        LINEAR_MODEL_OPTIONS,
        {
            "--trim": "Linearize at the equilibrium nearest to --q\n"
            "Changes q as little as possible, within the joint limits, so that the actuated "
            "joints alone can hold the robot.",
            "--keep JOINTS": "Joints that --trim does not move",
        },
    ),
    CLOSE_FLAG,
    *flags(
        METHOD,
        LINEAR_MODEL_OPTIONS,
        {
            "--actuated JOINTS": "Actuated joints, or 'all' (default: as in the robot "
            "file, else all)",
            "--passive JOINTS": "Passive joints; all other joints are actuated",
            "--outputs NAMES": "Outputs y of the model (default q,qd)\n"
            "Separate outputs by commas. Outputs of joints are q, qd, qdd, tau, and JOINT/position "
            "or another quantity of one joint. Outputs of a frame are FRAME/displacement, "
            "FRAME/velocity, FRAME/acceleration, one component such as FRAME/vx, or FRAME for "
            "displacement and velocity.",
            "--reference": "Axes in which frame outputs are expressed",
            "--dt S": "Discretize with this sample time [s]",
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
            "--offset VALUES": "Initial offset of q from the start of the --feedback or "
            "--follow file",
            "--initial FILE": "Run one simulation from the state in each row of a file\n"
            f"Formats: {extensions(trajectory_formats())}. Returns the final state of each "
            "simulation. To return all output rows, set --every or --rows, or set --dt for an "
            "adaptive integrator.",
        },
    ),
    flag(
        "--state",
        STATE,
        "Velocity variables to integrate\n"
        "rates: joint velocities; nu: normalized quasi-velocities; xi: unnormalized "
        "quasi-velocities.",
        into="velocities",
        choices=STATE_FORMS,
        default="rates",
    ),
]

CLOCK = flags(
    TIMES,
    _SIMULATE,
    {
        "--duration S": "Duration of the simulation [s] (default: end of the --follow file)",
        "--dt S": "Integration step [s] of rk4 and euler (default 0.001)\n"
        "For adaptive integrators, --dt sets the time between output rows instead.",
        "--rtol R": "Relative tolerance; selects an integrator with adaptive steps\n"
        "Requires SciPy.",
        "--atol A": "Absolute tolerance (default: the value of --rtol)",
        "--integrator NAME": "Integrator (default rk4; dop853 with a tolerance)\n"
        "rk4 and euler (semi-implicit) have fixed steps; dop853, rk45 and radau are adaptive. "
        "radau is for stiff systems, such as light links with strong damping.",
        "--every N": "Integration steps per output row, for fixed-step integrators (default 1)",
        "--rows N": "Number of output rows (default 101, or one row per --dt)\n"
        "This option is for adaptive integrators. Fixed-step integrators use --every instead.",
    },
)

DRIVE = flags(
    TORQUE,
    _SIMULATE,
    {
        "--tau VALUES": "Constant torques [N m or N] (default 0)\n"
        "'hold' compensates gravity and loads at all times; 'hold+VALUES' adds constant torques.",
        "--trajectory FILE": "Read torques over time from a file\n"
        f"Formats: {extensions(trajectory_formats())}. Columns are time and JOINT/effort. Torques "
        "are interpolated linearly; they are constant before the first and after the last row.",
        "--control LAW": "Controller: rate, pose, pd or computed-torque\n"
        "rate damps the quasi-velocities; pose also drives a frame to --target. pd drives each "
        "joint to --goal; computed-torque also decouples the joints by inverse dynamics. All "
        "controllers compensate gravity and loads.",
        "--goal VALUES": "Goal positions for pd and computed-torque (default 0)",
        "--follow FILE": "Track the trajectory in a file\n"
        "Columns are time, positions and, if available, velocities and accelerations. Values "
        "are interpolated linearly. The simulation starts at the first row unless --q is set; "
        "the time of the first row is 0 s in the simulation.",
        "--kp K|VALUES": "Proportional gain (default 100)\n"
        "[N m/rad] or [N/m] for pd, [1/s^2] for computed-torque.",
        "--kd K|VALUES": "Derivative gain (default 20)\n"
        "[N m s/rad] or [N s/m] for pd, [1/s] for computed-torque.",
        "--feedback FILE": "Apply gains K of `robolin lqr` or `robolin optimize`: tau - K x\n"
        "x is the deviation of the state from the operating point or trajectory of the gains. The "
        "simulation starts at the operating point or at the start of the trajectory, unless --q "
        "is set. With gains of a discrete-time model, the torque is constant between samples. The "
        "model assumptions of the result include the cost of the motion.",
        "--allow-model-mismatch": "Accept gains computed for different model parameters\n"
        "Use this option, for example, to test a different payload.",
        "--disturb VALUES[@FROM:TO]": "Disturbance torques, constant or from time FROM to "
        "time TO [s]\n"
        "Disturbances are not subject to effort limits and are not included in the efforts.",
        "--gain C|VALUES": "Gain c for rate and pose control [1/s] (default 1)\n"
        "Write one number for all joints, or one per joint.",
        "--target FRAME=X,Y,Z,ROLL,PITCH,YAW": "Target pose of the pose controller\n"
        "The pose is X, Y, Z [m] and roll, pitch, yaw [rad] in the frame of the root link.",
        "--position-gain K|X,Y,Z": "Position stiffness of the pose controller [N/m] (default 100)",
        "--orientation-gain K|X,Y,Z": "Rotational stiffness of the controller [N m] (default 10)",
        "--ignore-limits": "Do not limit torques to the effort limits in the robot file",
    },
)
