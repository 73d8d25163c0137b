"""Which linear model of an arm is meant: motors, outputs, equilibrium and sample time."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import METHOD, STATE, flag
from robolin.cli.flags.forward_flags import CLOSE_FLAG
from robolin.core.choices import DISCRETIZATIONS, REFERENCES

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
