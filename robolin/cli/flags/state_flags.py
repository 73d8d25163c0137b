"""Flags for states: one state, random states, a recording, or many recordings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import OUTPUT, STATE, flag, flags, validated_path
from robolin.cli.flags.output_flags import Output
from robolin.core.choices import DIFFERENTIATIONS
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS, RECORDINGS, extensions, trajectory_formats
from robolin.queries.option_specs import (
    EXCLUDES,
    MODIFIES,
    READ_OPTIONS,
    SAMPLES,
    TEXTS,
    TRAJECTORY,
    Verb,
    conflict,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from robolin.batch.recordings import NamedRecording
    from robolin.queries.question import Question


class MethodText(click.types.StringParamType):
    """A method of differentiation with shell completion; the request checks its numbers."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(each) for each in DIFFERENTIATIONS if each.startswith(incomplete)]


READING_FLAGS = [
    *flags(
        STATE,
        READ_OPTIONS,
        {
            "--columns QUANTITY=PATTERN": "Names of the columns of the file; repeatable\n"
            "For example position=/joint_states/{joint}/position. {index} counts joints from "
            "0, {number} from 1. position=2:8 are columns 2 to 7, counted from 0. "
            "Quantities are position, velocity, acceleration, effort and current. "
            "JOINT/position=COLUMN is for one joint; a .yaml or .toml file may contain all of "
            "them.",
            "--time COLUMN": "Column of the time (default time, else t, stamp, timestamp or "
            "__time)",
            "--time-unit": "Unit of the time column (default seconds)\n"
            "Results contain the time unchanged.",
            "--degrees": "Read angles of the file in degrees",
            "--radians": "Read angles in rad, if the file has no units\n"
            "This is needed for datasets such as those of LeRobot.",
            "--no-header": "Read a text whose first line is a row\n"
            "Columns are then given by index from 0: --columns position=1:7,velocity=7:13,time=0.",
            "--join": "Join rows of a.csv+b.csv by row or by time (default row)\n"
            "By time, values are linear interpolations at the times of the first file.",
            "--torque-constants VALUES": "Effort per motor current [N m/A or N/A]\n"
            "Efforts are then read from the columns JOINT/current, or from those of --columns "
            "current=PATTERN.",
        },
    ),
    flag(
        "--differentiate METHOD",
        STATE,
        "Compute missing velocities: central or savgol[:SECONDS]\n"
        "Also computes accelerations: by central differences, or by local polynomials over a "
        "width in s, such as savgol:0.1 (Savitzky-Golay filter for any time steps). "
        "savgol:0.1:4 sets their order (default 3). Default width: 11 even rows, else 0.1 s or "
        "ten median time steps.",
        type=MethodText(),
    ),
]


_HELP = {
    "q": "Positions [rad or m], or a pose such as home (default 0)",
    "qd": "Velocities [rad/s or m/s] (default 0)",
    "qdd": "Accelerations [rad/s^2 or m/s^2] (default 0)",
    "tau": "Torques [N m or N], or 'hold' for qdd = 0 (default 0)",
    "nu": "Quasi-velocities of --inverse-transform",
    "epsilon": "Quasi-torques of --inverse-transform (default 0)",
    "xi": "Unnormalized quasi-velocities of --inverse-transform",
    "kappa": "Unnormalized quasi-torques of --inverse-transform (default 0)",
    "qdr": "Reference velocities of --slotine-li (default 0)",
    "qddr": "Reference accelerations of --slotine-li (default 0)",
}


_STATE_FILE = (
    "Read the state from a .yaml or .toml file\n"
    "For example 'q: {elbow: 30deg}', also qd, qdd and tau. A quantity is "
    "either in the file or an option."
)

_TRAJECTORY = [
    *flags(
        STATE,
        {**TRAJECTORY, "trajectory": TEXTS},
        {
            "--trajectory FILE": "Compute every row of a file; repeatable\n"
            f"Formats: {extensions([*trajectory_formats(), *RECORDINGS])}, or - for CSV on "
            "standard input. Columns "
            "are JOINT/position, /velocity, /acceleration and /effort; positions are required. "
            "a.csv+b.csv are files of one recording. "
            "FILE may be a pattern ('logs/**/*.csv') or a folder: results then have a column "
            "'source', or one file each with -o FOLDER/.",
            "--on-bad-row": "Reject invalid rows, or write NaN for them\n"
            "A row is invalid if a number is not finite or the row has no result.",
        },
        on_bad_row="error",
    ),
    *READING_FLAGS,
    *flags(
        STATE,
        TRAJECTORY,
        {
            "--carry COLUMN": "Copy a numeric column into the result; repeatable",
            "--rows FIRST:STOP": "Use only these rows of the file\n"
            "For example 1000:2000, 1000: or :2000. Rows count from 0; STOP is excluded.",
            "--stride N": "Use every Nth row only",
        },
    ),
]


def state_flags(verb: Verb, gives: str, texts: Mapping[str, str]) -> list[click.Option]:
    """State flags of a command; `gives` names its result with --perturb.

    texts: help texts that replace the default ones, by quantity
    """
    helps = {**_HELP, **texts}
    own = {f"--{name} VALUES": helps[name] for name in verb.states}
    if verb.state_file:
        own["--state FILE"] = _STATE_FILE
    if "on-bad-row" not in verb.states_from:
        return flags(STATE, verb.options, own)
    if verb.perturb:
        forms = ", ".join(f"{key}=VALUES" for key in verb.perturb)
        text = f"Return {gives} for a perturbation; repeatable\nKEY=VALUES is {forms}."
        own["--perturb KEY=VALUES"] = text
    if "weights" in verb.own_options:
        text = f"Return the gradient of weighted {gives[1:]}\nWith --perturb: its change."
        own["--weights VALUES"] = text
    return [*flags(STATE, verb.options, own), *_TRAJECTORY]


def sample_flags(needed: str) -> list[click.Option]:
    """--samples and --seed, for a command where they require the flag `needed`."""
    texts = {
        "--samples N": f"Use N random states within the limits ({needed})",
        "--seed S": "Random seed (default 0)",
    }
    return flags(STATE, SAMPLES, texts)


_OF_RECORDINGS = {"trajectory": "add --trajectory FILE"}
_PART_ROWS = flag(
    "--part-rows N",
    OUTPUT,
    "Rows per part, at most\n"
    "Requires -o FOLDER/. Files are part-00000.parquet, part-00001.parquet, ...; a "
    "part ends with its recording.",
    minimum=1,
    modifies=_OF_RECORDINGS,
)
_SHARD = flag(
    "--shard K/N",
    OUTPUT,
    "Compute every Nth part, starting with the Kth\n"
    "Requires -o FOLDER/. N commands, in sequence or in parallel, compute all parts.",
    modifies=_OF_RECORDINGS,
)
_RESUME = flag(
    "--resume",
    OUTPUT,
    "Skip parts that are complete\n"
    "Requires -o FOLDER/. Parts of another request are computed again.",
    modifies=_OF_RECORDINGS,
)

_ONLY_CSV = "--live writes CSV to standard output: redirect it with > FILE"
_LIVE = flag(
    "--live",
    OUTPUT,
    "Compute lines of standard input as they arrive\n"
    "Requires --trajectory -. Writes CSV to standard output; time is a decimal number "
    "unless the first one is a date or an integer that is too large.",
    requires={"trajectory=-": "add --trajectory -"},
    excludes={"output": _ONLY_CSV, "format if !format=csv": _ONLY_CSV},
)

_CLUSTER = flag(
    "--cluster WHERE",
    OUTPUT,
    "Compute the parts on Dask workers\n"
    "Requires -o FOLDER/. WHERE is local:N for N processes, or the address of a "
    "scheduler (tcp://scheduler:8786).",
    modifies=_OF_RECORDINGS,
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
            hint = "add -o FOLDER/"
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
        hint = "store the recording in a file, or write the result to one file"
        raise UsageError("cannot be divided into parts", where="--trajectory -", hint=hint)
    return RecordingSet(named, folder, **flags)


def live_output(ctx: click.Context, out: Output, question: Question) -> Output:
    """The output of a command with --live, or the output unchanged."""
    if not ctx.params.get("live"):
        return out
    if question.needs_all_rows:
        hint = "remove --live: the first result needs all rows"
        raise conflict("live", EXCLUDES, [question.needs_all_rows], hint)
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
