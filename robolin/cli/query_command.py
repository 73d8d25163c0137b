"""Commands that run a request: parse the flags, compute, and write the result.

A request is about one state, one recording, or many recordings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from pathlib import PurePath
from time import monotonic as now
from typing import TYPE_CHECKING, Any, Self

import click

from robolin.cli.flags.flag import STATE, VerbCommand, explicit_options, flags, validated_path
from robolin.cli.flags.output_flags import Output, output_of, output_params
from robolin.cli.flags.state_flags import _HELP, _STATE_FILE, _TRAJECTORY, MANY_PARAMS, MODEL_PARAMS
from robolin.core.progress import stop_listening
from robolin.core.records import dataclass
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS
from robolin.queries.option_specs import (
    EXCLUDES,
    MODIFIES,
    Verb,
    conflict,
)
from robolin.queries.request import Request, request_from_options, run_request
from robolin.queries.states import require_nan_support
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from rich.progress import Progress

    from robolin.batch.survey import NamedRecording
    from robolin.core.arm import Arm
    from robolin.core.result import Result, ResultStream
    from robolin.queries.question import Question
    from robolin.queries.request import ResultCallback


# receives a request, its output, and extra flags by name
Respond = Callable[..., None]

Write = Callable[["Result | ResultStream"], None]

# saves 80 ms of 1.8 s for 400 000 rows of seven joints from CSV to NPZ
# mallopt parameters: free memory kept at the end of the heap, largest block taken from the heap,
# both in bytes, and the number of arenas shared by all threads
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8

_WORDS = {_M_TRIM_THRESHOLD: 1 << 28, _M_MMAP_THRESHOLD: 1 << 25, _M_ARENA_MAX: 1}


# seconds before a bar appears
_PATIENCE = 0.5
# seconds between two log lines
_LOGGED_EVERY = 30.0


def query_command(
    name: str,
    flags: Sequence[click.Parameter] = (),
    *,
    gives: str = "",
    state_help: Mapping[str, str] | None = None,
    further: Sequence[click.Parameter] = (),
    short: str = "",
) -> Callable[[Respond], click.Command]:
    """Decorator: make a command from a function of a Request and an Output.

    flags:      flags of the command itself; those for robot, state and output are added
    gives:      name of the result with --perturb
    state_help: help texts that replace the default ones, by quantity
    further:    flags that are not part of the request, passed by name
    short:      names of the options on the short help page
    """
    state = state_flags(VERBS[name], gives, state_help or {})
    many = MANY_PARAMS if "on-bad-row" in VERBS[name].states_from else []
    params = [*further, *MODEL_PARAMS, *state, *flags, *output_params(flags), *many]
    names = [param.name for param in further]

    def decorate(function: Respond) -> click.Command:
        @wraps(function)
        def callback(**values: Any) -> None:
            ctx = click.get_current_context()
            more = {key: values[key] for key in names if key}
            many = recording_set(ctx)
            if many is None:
                inquiry, out = parse_request(ctx)
                function(inquiry, live_output(ctx, out, inquiry.question), **more)
            else:
                _require_none({**more, "live": ctx.params.get("live")})
                _respond_to_many(ctx, many)

        return click.command(name, cls=VerbCommand, params=params, short=short)(callback)

    return decorate


def _require_none(flags: Mapping[str, Any]) -> None:
    for name, value in flags.items():
        if value:
            hint = "remove this option, or pass one recording"
            raise UsageError("cannot be used with several recordings", where=f"--{name}", hint=hint)


def _respond_to_many(ctx: click.Context, many: RecordingSet) -> None:
    from robolin.cli.run_many import run_many

    verb, options = ctx.command.name or "", explicit_options(ctx)
    first = many.recordings[0].path
    arm = validated_path(ctx.params["arm"])
    run_many(
        request_from_options(verb, arm, {**options, "trajectory": first}), output_of(ctx), many
    )


def parse_request(ctx: click.Context, verb: str = "") -> tuple[Request, Output]:
    """Parse a command line about one state or one recording into a request and its output.

    verb: name of the request, if it differs from the name of the command
    """
    verb, options = verb or ctx.command.name or "", explicit_options(ctx)
    if recording_set(ctx) is not None:
        hint = "name one file"
        raise UsageError("accepts only one recording", where="--trajectory", hint=hint)
    if isinstance(trajectory := options.get("trajectory"), tuple):
        (options["trajectory"],) = trajectory
    inquiry = request_from_options(verb, validated_path(ctx.params["arm"]), options)
    for path in inquiry.files.values():
        validated_path(path)
    return inquiry, output_of(ctx)


def run_and_write(
    inquiry: Request,
    out: Output,
    write: Write | None = None,
    *,
    arm: Arm | None = None,
    watch: ResultCallback | None = None,
) -> None:
    """Run the request and write the result.

    write: replaces the writer of the output flags
    arm:   the robot, if it is already loaded
    watch: called with each part of the result and its states
    """
    out.require_target(inquiry.files.values())
    if inquiry.states.trajectory is not None:
        tune_malloc()
    progress = _progress(inquiry, out)
    printed = write is None and watch is None and out.prints_numbers()
    settings = replace(out.settings(), watch=watch, progress=progress, printed=printed)
    run = run_request(inquiry, settings, arm)
    with out.messages_last(), run as answer, progress or nullcontext():
        (write or out.write)(answer)


def _progress(inquiry: Request, out: Output) -> RowProgress | None:
    """A progress bar on a terminal, or notes for a log; None for one state."""
    if inquiry.states.trajectory is None:
        return None
    if inquiry.states.on_bad_row is not None:
        require_nan_support(inquiry.states, out.resolved_format())
    if stderr_is_terminal():
        return RowProgress(not out.quiet and not out.streams_to_terminal())
    return RowProgress(False, out.note)


def tune_malloc() -> None:
    """Keep freed memory in the process, if the C library supports it."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for word, value in _WORDS.items():
            mallopt(word, value)


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
        keys = ", ".join(verb.perturb[:-1])
        text = f"Return {gives} for a perturbation of the state; repeatable\n"
        text += f"KEY is {keys} or {verb.perturb[-1]}, for example {verb.perturb[0]}=elbow=0.01."
        own["--perturb KEY=VALUES"] = text
    if "weights" in verb.own_options:
        text = f"Return the gradient of weights * {gives[1:]}\n"
        text += (
            "VALUES has one weight per joint. With --perturb, returns the change of the gradient."
        )
        own["--weights VALUES"] = text
    return [*flags(STATE, verb.options, own), *_TRAJECTORY]


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
    from robolin.batch.batch_plan import names_several, recordings

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


class RowProgress:
    """A bar with the fraction of the file, rows, rows per second and the time left.

    shown: draw a bar
    log:   called with a progress line from time to time, without a bar
    """

    def __init__(self, shown: bool, log: Callable[[str], None] | None = None) -> None:
        self._log, self._logged = log, 0.0
        self._size: int | None = None
        self._shown = shown
        self._start = now()
        self._rows = 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, size: int | None) -> None:
        """Start; `size` is the final value of `reached`, if known."""
        self._size, self._start = size, now()

    def add(self, rows: int, reached: int) -> None:
        """Count finished rows; the file is processed up to `reached`."""
        self._rows += rows
        if not self._shown:
            self._write_log(now() - self._start, reached)
        self.reach(reached)

    def reach(self, reached: int) -> None:
        """Move the bar to `reached`."""
        elapsed = now() - self._start
        if not self._shown:
            return
        if self._bar is None:
            if elapsed < _PATIENCE:
                return
            # the bar and a line with tasks would overwrite each other
            stop_listening()
            self._bar = _bar(self._size)
        self._bar.update(self._bar.task_ids[0], completed=reached, rate=self._rate_text(elapsed))
        if self._size and reached >= self._size:
            # the result is printed next
            self._bar.stop()
            self._shown = False

    def _rate_text(self, elapsed: float) -> str:
        return f"{self._rows:,} rows, {self._rows / elapsed:,.0f} rows/s"

    def _write_log(self, elapsed: float, reached: int) -> None:
        """Write a log line and schedule the next one."""
        if self._log is None or elapsed - self._logged < _LOGGED_EVERY:
            return
        self._logged = elapsed
        text = self._rate_text(elapsed)
        if self._size and reached:
            left = elapsed * max(self._size / reached - 1.0, 0.0)
            text += f", {min(reached / self._size, 1.0):.0%}, about {left:,.0f} s left"
        self._log(text)


def stderr_is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(size: int | None) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    bar.add_task("", total=size, rate="")
    bar.start()
    return bar
