"""Commands about the linear model of a robot: state space, poles, response and LQR gains."""

from __future__ import annotations

from robolin.cli.flags.flag import METHOD, flag, flags
from robolin.cli.flags.forward_flags import LINEAR_MODEL_FLAGS, POINT_HELP
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request
from robolin.queries.verbs import VERBS

_STATE_SPACE_ONLY = flag(
    "--only NAMES",
    METHOD,
    "Arrays to return: A, B, C, D, drift, y\nThe operating point is always included.",
)


@query_command(
    "state-space",
    [*LINEAR_MODEL_FLAGS, _STATE_SPACE_ONLY],
    state_help=POINT_HELP,
    short="q qd tau trim actuated outputs dt discretize only trajectory output",
)
def state_space_command(inquiry: Request, out: Output) -> None:
    """Compute A, B, C and D at an operating point.

    \b
    dx/dt = drift + A x + B u; with --dt: x[k+1] = drift + A x[k] + B u[k]
    outputs = y + C x + D u; x is the change in q and qd, u the change in tau
    By default, tau is the torque that holds ARM at rest.

    \b
    Examples:
      robolin state-space acrobot --q 180deg,0
      robolin state-space panda --outputs q,panda_hand/velocity -o model.mat
      robolin state-space cart-pole --trim
      robolin state-space ur5 --trajectory motion.csv --only A,B -o models.npz

    \b
    Returns:
      A (2n,2n), B (2n,m)      state and input matrix
      C (p,2n), D (p,m)        output matrices
      drift (2n), y (p)        derivative and outputs at the operating point
      q, qd, qdd, tau (n)      operating point
    """
    run_and_write(inquiry, out)


_DISTANCES = flag(
    "--distances",
    METHOD,
    "Return the distances to uncontrollability and unobservability for every row\n"
    "For a single state, both distances are always computed.",
)


@query_command(
    "poles",
    [*LINEAR_MODEL_FLAGS, _DISTANCES],
    state_help=POINT_HELP,
    short="q qd tau trim actuated outputs dt trajectory only output format",
)
def poles_command(inquiry: Request, out: Output) -> None:
    """Compute poles, stability and controllability.

    \b
    poles = eig(A) of the linear model at the operating point, slowest first

    \b
    Examples:
      robolin poles acrobot --q 180deg,0
      robolin poles panda --outputs panda_hand
      robolin poles cart-pole --dt 0.01 -o poles.json
      robolin poles ur5 --trajectory motion.csv --only poles -o poles.npz

    \b
    Returns:
      poles (2n)                  [1/s], or discrete poles with --dt
      frequency, damping, decay   [rad/s], damping ratio, decay rate [1/s]
      stability (2n)              1 stable, 0 marginally stable, -1 unstable
      mode_shape (2n,n)           eigenvectors, positions only
      controllability_distance, observability_distance (2n)
                                  0: uncontrollable or unobservable mode;
                                  for a file: only with --distances
      controllability_dimension, observability_dimension
                                  number of controllable or observable states
      q, qd, qdd, tau (n)         operating point
    """
    run_and_write(inquiry, out)


_RESPONSE_FLAGS = flags(
    METHOD,
    VERBS["response"].own_options,
    {
        "--frequencies FIRST:LAST:COUNT": "Frequencies of the response [rad/s]\n"
        "COUNT frequencies are spaced logarithmically from FIRST to LAST. A comma-separated list "
        "of frequencies is also accepted. Requires SciPy.",
        "--duration S": "Duration of the step response [s]",
        "--rows N": "Number of rows of the step or impulse response (default 201; with --dt: one "
        "per sample)",
        "--impulse": "Return the impulse response instead of the step response",
    },
)


@query_command(
    "response",
    [*LINEAR_MODEL_FLAGS, *_RESPONSE_FLAGS],
    state_help=POINT_HELP,
    short="frequencies duration rows impulse q tau trim actuated outputs dt only output",
)
def response_command(inquiry: Request, out: Output) -> None:
    """Compute frequency, step and impulse responses.

    \b
    Frequency response: G(jw) = C (jw I - A)^-1 B + D
    Step response: the outputs y after a unit step of one torque

    \b
    Examples:
      robolin response two-link --frequencies 0.1:100:200 -o bode.npz
      robolin response two-link --frequencies 1,10,100
      robolin response panda --outputs panda_hand/vx --duration 0.5
      robolin response panda --duration 0.5 --impulse -o impulse.npz

    \b
    Returns: for each output and each actuated joint
      frequency_response (w,p,m)    complex amplitudes, with omega (w) [rad/s]
      step_response (t,p,m)         with --duration, over time (t) [s]
      impulse_response (t,p,m)      with --duration --impulse
      q, qd, qdd, tau (n)           operating point
    """
    run_and_write(inquiry, out)


_LQR_FLAGS = flags(
    METHOD,
    VERBS["lqr"].own_options,
    {
        "--weight NAME=WEIGHT": "State weights Q, such as q=100,qd=1 (default 1)\n"
        "elbow/q=500 sets the weight of one joint. Repeatable.",
        "--effort WEIGHT": "Torque weights R, such as 0.1 (default 1)\n"
        "elbow=0.5 sets the weight of one joint. Repeatable.",
        "--bryson": "Set the weights to 1/limit^2 (Bryson's rule)\n"
        "Bryson's rule uses the limits in the robot file. --weight and --effort override "
        "these weights.",
        "--integral NAMES": "Add integral action for these joints or outputs",
        "--time-varying": "Return time-varying gains along the trajectory (TVLQR)\n"
        "Requires --trajectory and --dt. Without this option, each row has its own constant gains.",
    },
)


@query_command(
    "lqr",
    [*LINEAR_MODEL_FLAGS, *_LQR_FLAGS],
    state_help=POINT_HELP,
    short="q weight effort bryson integral dt time-varying trajectory trim actuated outputs output",
)
def lqr_command(inquiry: Request, out: Output) -> None:
    """Design LQR gains at a state or along a trajectory.

    \b
    u = -K x minimizes the integral of x' Q x + u' R u; cost-to-go = x' P x
    `robolin simulate --feedback` uses the gains. Requires SciPy.

    \b
    Examples:
      robolin lqr acrobot --q 180deg,0 --weight q=10 -o gains.npz
      robolin lqr panda --weight q=100,qd=1 --effort 0.01 --dt 0.001
      robolin lqr cart-pole --integral slide
      robolin lqr ur5 --trajectory m.csv --dt 0.01 --time-varying -o gains.npz

    \b
    Returns:
      K (m,2n)         gains [N m/rad, N m s/rad] of the controller tau - K x
      P (2n,2n)        cost-to-go
      poles (2n)       closed-loop poles [1/s]
      residual         relative residual of the Riccati equation
      Q, R, q, qd, qdd, tau    weights and operating point
    """
    run_and_write(inquiry, out)
