"""Commands that ask a question: their flags in, an inquiry out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import click

from robolin.answering.inquiry import Inquiry, inquiry_of
from robolin.answering.verbs import VERBS
from robolin.cli.flags.flag import VerbCommand, given_options
from robolin.cli.flags.model_flags import MODEL_PARAMS, file_name
from robolin.cli.flags.output_flags import Output, output_of, output_params
from robolin.cli.flags.state_flags import state_flags

# what is asked and where the answer goes, and further flags by name
Respond = Callable[..., None]


def asking_command(
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
    params = [*further, *MODEL_PARAMS, *state, *flags, *output_params(flags)]
    names = [param.name for param in further]

    def decorate(function: Respond) -> click.Command:
        @wraps(function)
        def callback(**values: Any) -> None:
            inquiry, out = asked_in(click.get_current_context())
            function(inquiry, out, **{key: values[key] for key in names if key})

        return click.command(name, cls=VerbCommand, params=params)(callback)

    return decorate


def asked_in(ctx: click.Context) -> tuple[Inquiry, Output]:
    """What a command line asks, and where the answer is to go."""
    verb, options = ctx.command.name or "", given_options(ctx)
    inquiry = inquiry_of(verb, file_name(ctx.params["arm"]), options)
    for path in inquiry.files.values():
        file_name(path)
    return inquiry, output_of(ctx)
