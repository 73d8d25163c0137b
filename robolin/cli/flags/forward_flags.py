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
    "Recursions over the links without any mass matrix (operator), or the mass matrix and "
    "elimination (conventional); "
)

PRESCRIBE = flag(
    "--prescribe",
    section=STATE,
    by_name=True,
    metavar="JOINTS",
    help="These joints, such as 'base' with --floating-base, move as --qdd and --qd say, whatever "
    "torque that takes, which is answered; --tau is of the others.",
)

PRESCRIBED_QDD = flag(
    "--qdd",
    section=STATE,
    by_joint=True,
    metavar="VALUES",
    help="Accelerations at all times of the joints that --prescribe names.  [default: 0]",
)

PRESCRIBE_FROM = flag(
    "--prescribe-from",
    section=STATE,
    metavar="FILE",
    help="The same over time, from the columns time and JOINT/acceleration of a "
    f"{extensions(trajectory_formats())} file, on straight lines between its rows.  These joints "
    "start where the file has them, unless --q, --qd or --initial say otherwise.",
)

CLOSE_FLAG = flag(
    "--close",
    section=STATE,
    metavar="JOINTS|least",
    help="Bring the state, and a change of it, onto the closures of its loops first: these joints "
    "stay as given and the others follow, or all move as little as they can.",
)

LOOP_METHOD_FLAG = flag(
    "--loop-method",
    section=METHOD,
    type=click.Choice(LOOP_METHODS),
    help="How closed loops are solved: tree and closures in one system (kkt), forces of the "
    "closures first (schur), or motions they leave free first (null-space).  "
    "[default: null-space]",
)

BAUMGARTE = flag(
    "--baumgarte",
    section=TIMES,
    metavar="ALPHA,BETA",
    help="Draw gaps e in the closures of loops shut, e'' + 2 ALPHA e' + BETA^2 e = 0 in 1/s, "
    "instead of bringing every step back onto them.",
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
    help=f"{_TEXT}{describe_auto('forward')}  The recursions come in four ways that agree: "
    "bias torques first (a, bias-free), with the links' accelerations (b, bias-free-links), "
    "bias forces of the links first (c, three-sweeps), and all biases on the way (d, operator); "
    "and in two more: c with the accelerations of links and tip (three-sweeps-links), and biases "
    "gathered before velocities are known (two-sweeps).",
    **_METHOD,
)


POINT_HELP = {
    "tau": "Torques (forces of sliding joints), or 'hold': those that keep qdd at 0.  "
    "[default: hold]",
    "qdd": "Accelerations, in place of --tau: the torques are those they take.",
}

LINEAR_MODEL_FLAGS = [
    flag(
        "--trim",
        section=STATE,
        is_flag=True,
        help="Find an equilibrium near --q that the motors can hold, by the least change of q "
        "within the joints' limits.",
    ),
    flag("--keep", section=STATE, metavar="JOINTS", help="With --trim: these joints stay."),
    CLOSE_FLAG,
    flag(
        "--actuated",
        section=METHOD,
        metavar="JOINTS",
        help="The joints with a motor, or 'all'.  [default: as the description says, else all]",
    ),
    flag("--passive", section=METHOD, metavar="JOINTS", help="Or those without one."),
    flag(
        "--outputs",
        section=METHOD,
        metavar="NAMES",
        help="What is measured: q, qd, qdd, tau, JOINT/position, FRAME, FRAME/velocity, "
        "FRAME/vx and so on, with commas between.  [default: q,qd]",
    ),
    flag(
        "--reference",
        section=METHOD,
        type=click.Choice(REFERENCES),
        default="world",
        show_default=True,
        help="The axes in which frames are measured.",
    ),
    flag(
        "--dt",
        section=METHOD,
        metavar="S",
        help="Sample time: the model from one sample to the next.",
    ),
    flag(
        "--discretize",
        section=METHOD,
        type=click.Choice(DISCRETIZATIONS),
        default="zoh",
        show_default=True,
        help="With --dt: torques held between samples (zoh), on straight lines between them "
        "(foh), the trapezoidal rule (tustin), or Euler's.",
    ),
]


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
