"""Flags that know their section of the help page, and decorators that bundle them.

A bundle adds several flags to a command and hands them over as one object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

Function = Callable[..., Any]

STATE, MODEL, METHOD, OUTPUT = "State", "Model", "Answer", "Output"
TORQUE, TIME = "Torque", "Time"
SECTIONS: Mapping[str, str] = {
    STATE: (
        "VALUES are one per joint in the arm's order, 0,0.5,-1.2, or named, "
        "elbow=30deg,wrist=-1.2, where joints left out are 0. "
        "Units are SI; 'deg' after a number is for angles."
    ),
    TORQUE: "",
    TIME: "",
    METHOD: "",
    MODEL: "",
    OUTPUT: "",
}


class Flag(click.Option):
    """An option with a section of the help page to stand in."""

    def __init__(self, *args: Any, section: str = OUTPUT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class VerbCommand(click.Command):
    """A command whose help page has one section per bundle of flags."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, text in SECTIONS.items():
            records = [
                record
                for param in self.get_params(ctx)
                if getattr(param, "section", OUTPUT) == section
                and isinstance(param, click.Option)
                and (record := param.get_help_record(ctx))
            ]
            if records:
                with formatter.section(section):
                    if text:
                        formatter.write_text(text)
                        formatter.write_paragraph()
                    formatter.write_dl(records)


def flag(*names: str, section: str, **settings: Any) -> click.Option:
    """One option of a bundle; the first name is the one it is recorded under."""
    return Flag(names, section=section, **settings)


def bundled(
    argument: str, params: Sequence[click.Parameter], build: Callable[..., Any]
) -> Callable[[Function], Function]:
    """A decorator that adds the parameters and passes `build(**values)` on as one argument."""
    keys = [param.name for param in params if param.name]

    def decorate(function: Function) -> Function:
        @wraps(function)
        def wrapper(**values: Any) -> Any:
            own = {key: values.pop(key) for key in keys}
            return function(**values, **{argument: build(**own)})

        # click reads them from here, last one first
        pending: list[click.Parameter] = wrapper.__dict__.setdefault("__click_params__", [])
        pending.extend(reversed(params))
        return wrapper

    return decorate


def given_options(ctx: click.Context) -> dict[str, Any]:
    """What the command line says about the question, by flag without dashes, as it was typed."""
    return {
        label_of(param): ctx.params[param.name]
        for param in ctx.command.params
        if param.name
        and isinstance(param, click.Option)
        and getattr(param, "section", OUTPUT) != OUTPUT
        and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    }


def label_of(param: click.Parameter) -> str:
    """The name a flag or an argument is recorded under."""
    return param.name or "" if isinstance(param, click.Argument) else param.opts[0].lstrip("-")
