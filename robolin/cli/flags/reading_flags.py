"""How a recording is meant: the flags of every command that reads one."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import STATE, flag
from robolin.core.choices import DIFFERENTIATIONS, TIME_UNITS

READING_FLAGS = [
    flag(
        "--columns",
        section=STATE,
        multiple=True,
        metavar="QUANTITY=PATTERN",
        help="How columns of the file are called, where not JOINT/position, /velocity and so on: "
        "position=/joint_states/{joint}/position; {index} counts joints from 0, {number} from 1; "
        "repeatable, for position, velocity, acceleration and effort.  Or JOINT/position=COLUMN "
        "for one joint, or a .yaml or .toml file with all of them.",
    ),
    flag(
        "--time",
        section=STATE,
        metavar="COLUMN",
        help="The column with the time.  [default: time, else t, stamp, timestamp or __time]",
    ),
    flag(
        "--time-unit",
        section=STATE,
        type=click.Choice(TIME_UNITS),
        help="What the time counts, for whatever reckons with it, which then begins at the first "
        "row; results have the time as it came.  [default: seconds]",
    ),
    flag(
        "--degrees",
        section=STATE,
        is_flag=True,
        help="Angles and their rates in the file are in degrees.",
    ),
    flag(
        "--radians",
        section=STATE,
        is_flag=True,
        help="They are in rad: for datasets whose units nobody can know, as those of LeRobot.",
    ),
    flag(
        "--differentiate",
        section=STATE,
        type=click.Choice(DIFFERENTIATIONS),
        help="Take velocities and accelerations that the file lacks from positions and time: by "
        "central differences, or by Savitzky-Golay filters over 11 rows (needs SciPy).",
    ),
]
