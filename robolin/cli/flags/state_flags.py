"""Flags for states: one state, random states, a recording, or many recordings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import OUTPUT, STATE, flag, validated_path
from robolin.cli.flags.output_flags import Output, count_flag
from robolin.core.choices import DIFFERENTIATIONS, ON_BAD_ROW, TIME_UNITS
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS, extensions, trajectory_formats
from robolin.queries.option_specs import EXCLUDES, MODIFIES, Verb, conflict

if TYPE_CHECKING:
    from robolin.batch.recordings import NamedRecording
    from robolin.queries.question import Question

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
    "q": "Positions, or the name of a pose such as home.  [default: 0]",
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


_OF_RECORDINGS = {"trajectory": "--trajectory names the recordings"}
_PART_ROWS = count_flag(
    "--part-rows",
    modifies=_OF_RECORDINGS,
    text="With -o FOLDER/: results in files part-00000.parquet, part-00001.parquet and so on, of "
    "at most so many rows each; a part ends where its recording does.",
)
_SHARD = flag(
    "--shard",
    section=OUTPUT,
    modifies=_OF_RECORDINGS,
    metavar="K/N",
    help="With -o FOLDER/: compute every Nth part only, from the Kth on; N such commands, one "
    "after the other or at the same time, compute all of them.",
)
_RESUME = flag(
    "--resume",
    section=OUTPUT,
    modifies=_OF_RECORDINGS,
    is_flag=True,
    help="With -o FOLDER/: leave what is there already, complete and of the same question.",
)

_ONLY_CSV = "it writes CSV to standard output; > FILE stores that"
_LIVE = flag(
    "--live",
    section=OUTPUT,
    requires={"trajectory=-": "--trajectory - reads from standard input"},
    excludes={"output": _ONLY_CSV, "format if !format=csv": _ONLY_CSV},
    is_flag=True,
    help="With --trajectory -: answer lines as they arrive, as CSV on standard output.  Time is "
    "then a number with a point, unless the first one is a date or too large for that.",
)

_CLUSTER = flag(
    "--cluster",
    section=OUTPUT,
    modifies=_OF_RECORDINGS,
    metavar="WHERE",
    help="With -o FOLDER/: parts are computed by Dask, by N processes here (local:N) or by the "
    "workers of a scheduler (tcp://scheduler:8786).",
)

MANY_PARAMS: list[click.Parameter] = [_PART_ROWS, _SHARD, _RESUME, _CLUSTER, _LIVE]
_PART_FLAGS = ("part_rows", "shard", "resume", "cluster")


@dataclass(frozen=True)
class RecordingSet:
    """Recordings, output, and division of the work.

    folder: output folder of the parts; None for one result
    """

    recordings: tuple[NamedRecording, ...]
    folder: str | None = None
    part_rows: int | None = None
    shard: str | None = None
    resume: bool = False
    cluster: str | None = None


def recording_set(ctx: click.Context) -> RecordingSet | None:
    """Parse the flags for many recordings; None for a single result."""
    trajectory = ctx.params.get("trajectory")
    flags: dict[str, Any] = {name: ctx.params.get(name) for name in _PART_FLAGS}
    folder = _folder(ctx.params.get("path"), any(flags.values()))
    texts = tuple(map(validated_path, trajectory)) if isinstance(trajectory, tuple) else ()
    if not texts:
        return None
    if folder is None:
        for name in (name for name, value in flags.items() if value):
            hint = "-o FOLDER/ says where the parts go"
            raise conflict(name.replace("_", "-"), MODIFIES, ["-o FOLDER/"], hint)
        if len(texts) == 1 and _is_one_file(texts[0]):
            return None
    from robolin.batch.recordings import names_several, recordings

    if folder is None and len(texts) == 1 and not names_several(texts[0]):
        return None
    if folder is None:
        return RecordingSet(recordings(texts), **flags)
    from robolin.batch.parts_folder import recordings_for
    from robolin.io.locations import parse_location

    named = recordings_for(parse_location(folder), texts)
    if named[0].path == "-":
        hint = "store what comes in a file first, or write to a file"
        raise UsageError("standard input cannot be read again", where="--trajectory -", hint=hint)
    return RecordingSet(named, folder, **flags)


def live_output(ctx: click.Context, out: Output, question: Question) -> Output:
    """The output of a command with --live, or the output unchanged."""
    if not ctx.params.get("live"):
        return out
    if question.answers_together:
        hint = "it needs all rows before the first result"
        raise conflict("live", EXCLUDES, [question.answers_together], hint)
    return replace(out, form="csv", live=True)


def _is_one_file(text: str) -> bool:
    """True if a text names a single local recording: not a pattern, folder or object."""
    return text == "-" or ("://" not in text and os.path.isfile(text))


def _folder(path: str | None, divided: bool) -> str | None:
    """The folder of the parts, if the path ends in /, is a folder, or must be one."""
    if path is None:
        return None
    if path.endswith(("/", os.sep)):
        return path
    named_as_file = PurePath(path).suffix.removeprefix(".") in FORMATS
    is_folder = divided or os.path.isdir(path)
    return path if is_folder and not named_as_file else None
