"""Flags for states: a single state, a file of states, or random states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from robolin.cli.flags.flag import STATE, flag
from robolin.core.choices import DIFFERENTIATIONS, ON_BAD_ROW, TIME_UNITS
from robolin.io.format_table import extensions, trajectory_formats
from robolin.queries.option_specs import Verb

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


_HELP = {
    "q": "Positions.  [default: 0]",
    "qd": "Velocities.  [default: 0]",
    "qdd": "Accelerations.  [default: 0]",
    "tau": "Torques (forces of sliding joints), or 'hold': those that keep qdd at 0.  [default: 0]",
    "nu": "Normalized velocities, for --inverse-transform.",
    "epsilon": "Normalized torques, for --inverse-transform.  [default: 0]",
    "xi": "Unnormalized velocities, for --inverse-transform --unnormalized.",
    "kappa": "Unnormalized torques, for --inverse-transform --unnormalized.  [default: 0]",
}


_STATE_FILE = flag(
    "--state",
    section=STATE,
    metavar="FILE",
    help="Take the state from a .yaml or .toml file: 'q: {elbow: 30deg}', and qd, qdd, tau "
    "likewise, where flags do not give them.",
)

_TRAJECTORY = [
    flag(
        "--trajectory",
        section=STATE,
        multiple=True,
        metavar="FILE",
        help=f"Answer for every row of a {extensions(trajectory_formats())} "
        "file, or - for CSV on standard input.  Columns are named JOINT/position, /velocity, "
        "/acceleration, /effort; "
        "positions are needed, the others follow the defaults above.  Repeatable, and FILE may be "
        "a pattern, 'logs/**/*.csv', or a folder: results then have a column 'source', or with "
        "-o FOLDER/ files of their own.",
    ),
    flag(
        "--on-bad-row",
        section=STATE,
        type=click.Choice(ON_BAD_ROW),
        default="error",
        show_default=True,
        help="What becomes of a row with a number that is not finite, or without an answer: "
        "nothing is written at all, or NaN is written for this row.",
    ),
    *READING_FLAGS,
    flag(
        "--carry",
        section=STATE,
        multiple=True,
        metavar="COLUMN",
        help="Take a column of numbers along into the result; repeatable.",
    ),
    flag(
        "--rows",
        section=STATE,
        metavar="FIRST:STOP",
        help="Only these rows of the file: 1000:2000, 1000: or :2000.  The first row is 0, STOP "
        "is the first one left out.",
    ),
    flag(
        "--stride",
        section=STATE,
        type=click.IntRange(min=1),
        metavar="N",
        help="Only every Nth of these rows, the first among them.",
    ),
]


def state_flags(verb: Verb, gives: str, texts: Mapping[str, str]) -> list[click.Option]:
    """State flags of a command; `gives` names its result with --perturb.

    texts: help texts that replace the default ones, by quantity
    """
    helps = {**_HELP, **texts}
    flags = [
        flag(f"--{name}", section=STATE, by_joint=True, metavar="VALUES", help=helps[name])
        for name in verb.states
    ]
    if verb.state_file:
        flags.append(_STATE_FILE)
    if "on-bad-row" not in verb.states_from:
        return flags
    if verb.perturb:
        forms = ", ".join(f"{key}=VALUES" for key in verb.perturb)
        text = f"Answer only with {gives} for a small change: {forms}; repeatable."
        setting: dict[str, Any] = {"multiple": True, "metavar": "KEY=VALUES", "help": text}
        flags.append(flag("--perturb", section=STATE, **setting))
    return [*flags, *_TRAJECTORY]


def sample_flags(needed: str) -> list[click.Option]:
    """--samples and --seed, for a command where they require the flag `needed`."""
    return [
        flag(
            "--samples",
            section=STATE,
            type=click.IntRange(min=1),
            metavar="N",
            help=f"With {needed}: look at N random states between the joints' limits.",
        ),
        flag(
            "--seed",
            section=STATE,
            type=click.IntRange(min=0),
            metavar="S",
            help="Another seed draws other states.  [default: 0]",
        ),
    ]
