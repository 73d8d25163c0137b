"""Commands of forward dynamics: accelerations, their derivatives and simulation."""

from __future__ import annotations

from functools import partial

from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.flags.forward_flags import (
    BAUMGARTE,
    CLOCK,
    CLOSE_FLAG,
    DRIVE,
    FORWARD_METHOD_FLAG,
    LOOP_METHOD_FLAG,
    METHOD_FLAG,
    PRESCRIBE,
    PRESCRIBE_FROM,
    PRESCRIBED_QDD,
    START,
    STATE_HELP,
)
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import READING_FLAGS
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request

_FORWARD_FLAGS = [
    flag(
        "--links",
        section=METHOD,
        is_flag=True,
        help="Add link_acceleration and link_classical_acceleration of every link's origin, in "
        "world axes and without gravity.",
    ),
    flag(
        "--tip-acceleration",
        section=METHOD,
        is_flag=False,
        flag_value="",
        metavar="[FRAME]",
        help="Add tip_acceleration and tip_classical_acceleration of a link, moving or merged.  "
        "[default: the tip, or the only end]",
    ),
]


_FORWARD_HELP = {"qdd": "Accelerations of joints that --prescribe names.  [default: 0]"}


@query_command(
    "forward",
    [PRESCRIBE, FORWARD_METHOD_FLAG, *_FORWARD_FLAGS, CLOSE_FLAG, LOOP_METHOD_FLAG],
    state_help=_FORWARD_HELP,
)
def forward_command(inquiry: Request, out: Output) -> None:
    """Accelerations for torques.

    Answers with qdd.  Without --tau no torque acts and ARM falls.
    Where ARM has closed loops, also with lam, the forces that keep their closures.
    With --prescribe also with tau, where the torques of joints that move as told are.

    \b
    Example:
      robolin forward panda --q panda_joint4=-90deg --tau hold
      robolin forward two-link --tau 1.5,0 --method a
      robolin forward panda --links --tip-acceleration panda_hand
      robolin forward four-bar --q drive=30deg --close drive
      robolin forward ur5 --floating-base --prescribe base --qdd base:z=2 --tau hold
    """
    run_and_write(inquiry, out)


_LINEARIZE_FORWARD_HELP = {
    "tau": "Torques (forces of sliding joints), or 'hold': those that keep qdd at 0.  "
    "[default: hold]",
    "qdd": "Accelerations, in place of --tau: the torques are those they take.  With --prescribe "
    "those of the joints that move as told.",
}
_LINEARIZE_FORWARD_FLAGS = [PRESCRIBE, METHOD_FLAG, CLOSE_FLAG, LOOP_METHOD_FLAG]


@query_command(
    "linearize-forward", _LINEARIZE_FORWARD_FLAGS, gives="dqdd", state_help=_LINEARIZE_FORWARD_HELP
)
def linearize_forward_command(inquiry: Request, out: Output) -> None:
    """How accelerations change with a small change of state and torques.

    Answers with qdd, dqdd_dtau, dqdd_dqd and dqdd_dq:
    dqdd = dqdd_dtau dtau + dqdd_dqd dqd + dqdd_dq dq.
    Where ARM has closed loops, also with lam, the forces that keep their closures, and its changes.
    With --prescribe also with tau and dqdd_dprescribed, by how much the accelerations told matter.
    Without --tau and --qdd the torques hold ARM where it is, so that an arm at rest stays there.

    \b
    Example:
      robolin linearize-forward panda
      robolin linearize-forward ur5 --q elbow_joint=90deg --tau 0,0,0,0,0,0
      robolin linearize-forward two-link --perturb dq=elbow=0.01 --perturb dtau=1,0
    """
    run_and_write(inquiry, out)


_TOLD = (PRESCRIBE, PRESCRIBED_QDD, PRESCRIBE_FROM)
_SIMULATE_FLAGS = [*START, *READING_FLAGS, *_TOLD, *DRIVE, *CLOCK, CLOSE_FLAG, BAUMGARTE]


@query_command("simulate", _SIMULATE_FLAGS, state_help=STATE_HELP)
def simulate_command(inquiry: Request, out: Output) -> None:
    """The motion of an arm under torques or a controller, with its energies.

    Answers with a trajectory that every other verb reads: time, positions, velocities,
    accelerations, efforts, and beside them kinetic and potential energy, and the energy that
    the integrator has gained or lost.  Joints do not stop at their limits.
    Closed loops stay closed.

    \b
    Example:
      robolin simulate two-link --q 1,0 --duration 2 --every 10 -o fall.csv
      robolin simulate panda --qd 1,0,0,0,0,0,0 --control rate --gain 2 --duration 1
      robolin simulate ur5 --initial states.csv --tau hold --duration 1 -o ends.npz
      robolin simulate two-link --base-joint planar --prescribe base --qdd base:x=2 --duration 1
    """
    from robolin.display.terminal.show import sample_rows

    # a table of many motions contains their final states
    one = "initial" not in inquiry.question.asks
    run_and_write(inquiry, out, partial(out.write, shortened=sample_rows) if one else None)
