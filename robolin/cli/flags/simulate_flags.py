"""Where a motion starts, how long it lasts and what drives it: the flags of `simulate`."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import STATE, TIMES, TORQUE, flag
from robolin.core.choices import CONTROL_LAWS, INTEGRATORS, STATE_FORMS
from robolin.io.format_table import extensions, trajectory_formats

STATE_HELP = {
    "q": "Positions to start from.  [default: 0]",
    "qd": "Velocities to start with.  [default: 0]",
}

START = [
    flag(
        "--offset",
        section=STATE,
        metavar="VALUES",
        help="With --feedback or --follow: start so far from where its gains or motion begin.",
    ),
    flag(
        "--initial",
        section=STATE,
        metavar="FILE",
        help=f"Start from every row of a {extensions(trajectory_formats())} "
        "file at once, and answer with "
        "where each of them ends; with --every, --rows or a --dt from row to row, with all rows.",
    ),
    flag(
        "--state",
        "velocities",
        section=STATE,
        type=click.Choice(STATE_FORMS),
        default="rates",
        show_default=True,
        help="Velocities to integrate: those of the joints, or diagonalizing ones.",
    ),
]

CLOCK = [
    flag("--duration", section=TIMES, metavar="S", required=True, help="How long, in seconds."),
    flag(
        "--dt",
        section=TIMES,
        metavar="S",
        help="Step of the fixed-step integrator rk4; else the time from row to row.  "
        "[default: 0.001]",
    ),
    flag(
        "--rtol",
        section=TIMES,
        metavar="R",
        help="Adapt steps to keep this relative tolerance; needs SciPy.",
    ),
    flag(
        "--atol", section=TIMES, metavar="A", help="Absolute tolerance.  [default: that of --rtol]"
    ),
    flag(
        "--integrator",
        section=TIMES,
        type=click.Choice(INTEGRATORS),
        help="Method: rk4 takes fixed steps, the others adapt them; radau is for strong damping "
        "of light links.  [default: rk4; dop853 with a tolerance]",
    ),
    flag(
        "--every",
        section=TIMES,
        type=click.IntRange(min=1),
        metavar="N",
        help="Steps of rk4 from row to row.  [default: 1]",
    ),
    flag(
        "--rows",
        section=TIMES,
        type=click.IntRange(min=2),
        metavar="N",
        help="How many rows, where steps adapt.  [default: 101, or one every --dt]",
    ),
]

DRIVE = [
    flag(
        "--tau",
        section=TORQUE,
        by_joint=True,
        metavar="VALUES",
        help="Torques (forces of sliding joints) for all times; 'hold' carries weight and loads "
        "at every moment, 'hold+VALUES' both.  [default: 0]",
    ),
    flag(
        "--trajectory",
        section=TORQUE,
        metavar="FILE",
        help="Torques from the columns time and JOINT/effort of a "
        f"{extensions(trajectory_formats())} file, on straight lines between its rows, as in the "
        "nearest row outside them.",
    ),
    flag(
        "--control",
        section=TORQUE,
        type=click.Choice(CONTROL_LAWS),
        help="Torques from a controller: rate brakes the arm, epsilon = -c nu; pose draws a frame "
        "to a target as well; pd pulls every joint to --goal; computed-torque does so by inverse "
        "dynamics.  All make up for weight and loads.",
    ),
    flag(
        "--goal",
        section=TORQUE,
        metavar="VALUES",
        help="Positions to go to, for --control pd and computed-torque.  [default: 0]",
    ),
    flag(
        "--follow",
        section=TORQUE,
        metavar="FILE",
        help="Go along the motion of a file in place of --goal: time, positions, and velocities "
        "and accelerations where it has them, on straight lines between its rows.  The motion "
        "starts where the file does, unless --q says otherwise.",
    ),
    flag(
        "--kp",
        section=TORQUE,
        metavar="K|VALUES",
        help="Pull to the goal: N m/rad or N/m of pd, 1/s^2 of computed-torque.  [default: 100]",
    ),
    flag(
        "--kd",
        section=TORQUE,
        metavar="K|VALUES",
        help="Braking: N m s/rad or N s/m of pd, 1/s of computed-torque.  [default: 20]",
    ),
    flag(
        "--feedback",
        section=TORQUE,
        metavar="FILE",
        help="Torques tau - K x with the gains that `robolin lqr` has stored; the contract has "
        "what the motion cost.  It starts where the gains begin, unless --q says otherwise.  "
        "Gains found with --dt hold their torques from sample to sample.",
    ),
    flag(
        "--other-figures",
        section=TORQUE,
        is_flag=True,
        help="Run gains that were found for other figures of the arm, such as another payload.",
    ),
    flag(
        "--disturb",
        section=TORQUE,
        metavar="VALUES[@FROM:TO]",
        help="Torques that act besides those of the motors, always or between two moments in s; "
        "no limit cuts them off, and efforts are without them.",
    ),
    flag(
        "--gain",
        section=TORQUE,
        by_joint=True,
        metavar="C|VALUES",
        help="The controller's c in 1/s, one number or one per joint.  [default: 1]",
    ),
    flag(
        "--target",
        section=TORQUE,
        metavar="FRAME=X,Y,Z,ROLL,PITCH,YAW",
        help="The pose of a frame to go to, in the root link's axes, for --control pose.",
    ),
    flag(
        "--position-gain",
        section=TORQUE,
        metavar="K|X,Y,Z",
        help="Pull per metre to the target, in N/m.  [default: 100]",
    ),
    flag(
        "--orientation-gain",
        section=TORQUE,
        metavar="K|X,Y,Z",
        help="Pull of each axis of the frame to the target's, in N m.  [default: 10]",
    ),
    flag(
        "--ignore-limits",
        section=TORQUE,
        is_flag=True,
        help="Let torques exceed the effort limits of the description.",
    ),
]
