"""Commands that ask a question: their flags in, the answer written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import VerbCommand, explicit_options, validated_path
from robolin.cli.flags.many_flags import MANY_PARAMS, RecordingSet, live_output, recording_set
from robolin.cli.flags.model_flags import MODEL_PARAMS
from robolin.cli.flags.output_flags import Output, output_of, output_params
from robolin.cli.flags.state_flags import state_flags
from robolin.errors import UsageError
from robolin.queries.request import Request, request_from_options
from robolin.queries.state_parsing import require_nan_support
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.core.results.result import Result, ResultStream
    from robolin.display.terminal.progress import RowProgress
    from robolin.queries.query_context import ResultCallback

# what is asked and where the answer goes, and further flags by name
Respond = Callable[..., None]

Write = Callable[["Result | ResultStream"], None]

# glibc's words: what is freed at the end of the heap stays there up to so many bytes, pieces of up
# to so many bytes are taken from the heap, and all threads share one of them
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_WORDS = {_M_TRIM_THRESHOLD: 1 << 28, _M_MMAP_THRESHOLD: 1 << 25, _M_ARENA_MAX: 1}


def query_command(
    name: str,
    flags: Sequence[click.Parameter] = (),
    *,
    gives: str = "",
    state_help: Mapping[str, str] | None = None,
    further: Sequence[click.Parameter] = (),
) -> Callable[[Respond], click.Command]:
    """A decorator that makes a command of a function of an Inquiry and an Output.

    flags:      those of the verb itself; flags for the arm, the state and the output are added
    gives:      what the verb answers when asked to --perturb
    state_help: what the help page says of a quantity, where the verb takes it in its own way
    further:    flags that are no part of the question, passed on by name
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

        return click.command(name, cls=VerbCommand, params=params)(callback)

    return decorate


def _require_none(flags: Mapping[str, Any]) -> None:
    for name, value in flags.items():
        if value:
            hint = "ask for one recording, or leave it out"
            raise UsageError("goes with one recording and one result", where=f"--{name}", hint=hint)


def _respond_to_many(ctx: click.Context, many: RecordingSet) -> None:
    from robolin.cli.run_many import run_many

    verb, options = ctx.command.name or "", explicit_options(ctx)
    first = many.recordings[0].path
    arm = validated_path(ctx.params["arm"])
    run_many(
        request_from_options(verb, arm, {**options, "trajectory": first}), output_of(ctx), many
    )


def parse_request(ctx: click.Context, verb: str = "") -> tuple[Request, Output]:
    """What a command line asks of one state or one recording, and where the answer is to go.

    verb: what the question is called, where that is not the name of the command
    """
    verb, options = verb or ctx.command.name or "", explicit_options(ctx)
    if recording_set(ctx) is not None:
        hint = "name one file"
        raise UsageError("goes with one recording and one result", where="--trajectory", hint=hint)
    if isinstance(given := options.get("trajectory"), tuple):
        (options["trajectory"],) = given
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
    """Answer and write the result.

    write: takes the answer in place of the writer that fits the output flags
    arm:   the arm, if it is loaded already
    watch: is shown each part of the answer with the state it belongs to
    """
    # whoever asks for help needs nothing of this
    from robolin.queries.query_context import run_request

    out.require_target(inquiry.files.values())
    if inquiry.states.trajectory is not None:
        tune_malloc()
    progress = _progress(inquiry, out)
    settings = replace(out.settings(), watch=watch, progress=progress)
    with run_request(inquiry, settings, arm) as answer, progress:
        (write or out.write)(answer)


def _progress(inquiry: Request, out: Output) -> RowProgress:
    """A bar for whoever watches a trajectory being answered, notes for a log that is kept."""
    from robolin.display.terminal.progress import RowProgress, stderr_is_terminal

    if inquiry.states.trajectory is None:
        return RowProgress(False)
    if inquiry.states.on_bad_row is not None:
        require_nan_support(inquiry.states, out.resolved_format())
    if stderr_is_terminal():
        return RowProgress(not out.quiet and not out.streams_to_terminal())
    return RowProgress(False, out.note)


def tune_malloc() -> None:
    """Have this process keep what it frees, where the system's library can be told so."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for word, value in _WORDS.items():
            mallopt(word, value)
