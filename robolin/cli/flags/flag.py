"""Flags with a section of the help page, and decorators that group them.

A group adds several flags to a command and passes them as one object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robolin.errors import FileError, UsageError
from robolin.queries.option_specs import NO_CONDITIONS, Conditions, check_conflicts

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Function = Callable[..., Any]

# flags with an output file
OUTPUTS = frozenset({"path", "write_baseline"})

STATE, MODEL, METHOD, OUTPUT = "State", "Model", "Answer", "Output"
TORQUE, TIMES = "Torque", "Time"
SECTIONS: Mapping[str, str] = {
    STATE: (
        "VALUES are one per joint in the arm's order, 0,0.5,-1.2, or named, "
        "elbow=30deg,wrist=-1.2, where joints left out are 0. "
        "Units are SI; angles may be written as 30deg or pi/6."
    ),
    TORQUE: "",
    TIMES: "",
    METHOD: "",
    MODEL: "",
    OUTPUT: "",
}


class Flag(click.Option):
    """An option with a section of the help page; repeated values are joined or rejected.

    by_joint: join repeated VALUES, if all of them name their joints
    by_name: join repeated names
    requires, modifies, excludes: conflicts with other flags, as in `OptionSpec`
    """

    def __init__(
        self,
        *args: Any,
        section: str = OUTPUT,
        by_joint: bool = False,
        by_name: bool = False,
        requires: Conditions = NO_CONDITIONS,
        modifies: Conditions = NO_CONDITIONS,
        excludes: Conditions = NO_CONDITIONS,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.by_joint, self.by_name = section, by_joint, by_name
        self.requires, self.modifies, self.excludes = requires, modifies, excludes
        self._takes_one = not (self.multiple or self.is_flag or self.count)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Make the parser keep all values instead of the last one."""
        if not self._takes_one:
            super().add_to_parser(parser, ctx)
            return
        self.multiple = True
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.multiple = False

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        name = self.name or ""
        if self._takes_one and isinstance(values := opts.get(name), list):
            opts = {**opts, name: self._one_of(values)}
        return super().handle_parse_result(ctx, opts, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from robolin.cli.completion import completed

        return completed(ctx, self, incomplete) or super().shell_complete(ctx, incomplete)

    def _one_of(self, values: Sequence[Any]) -> Any:
        if len(values) == 1:
            return values[0]
        if self.by_name or (self.by_joint and all(map(_names_joints, values))):
            return ",".join(values)
        hint = "keep one of them"
        if self.by_joint:
            hint += "; values of named joints, such as elbow=1, may be given one after the other"
        raise UsageError(f"given {len(values)} times", where=self.opts[0], hint=hint)


def _names_joints(text: str) -> bool:
    """True if every value names its joint, so that more can be appended."""
    return not text.startswith("hold+") and all("=" in item for item in text.split(","))


class RobotFile(click.Argument):
    """A robot argument with shell completion."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from robolin.cli.completion import completed

        return completed(ctx, self, incomplete)


class VerbCommand(click.Command):
    """A command with one help section per group of flags; protects its input files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            given = {
                _long_name(param): ctx.params[param.name]
                for param in self.params
                if param.name
                and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
            }
            flags = {_long_name(param): param for param in self.params if isinstance(param, Flag)}
            check_conflicts(flags, given)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        forbid_overwriting_inputs(ctx)
        return super().invoke(ctx)

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
    """One option of a group; results record it under its first name."""
    return Flag(names, section=section, **settings)


def bundled(
    argument: str, params: Sequence[click.Parameter], build: Callable[..., Any]
) -> Callable[[Function], Function]:
    """A decorator that adds the parameters and passes `build(**values)` as one argument."""
    keys = [param.name for param in params if param.name]

    def decorate(function: Function) -> Function:
        @wraps(function)
        def wrapper(**values: Any) -> Any:
            own = {key: values.pop(key) for key in keys}
            return function(**values, **{argument: build(**own)})

        # click reads the parameters from here in reverse order
        pending: list[click.Parameter] = wrapper.__dict__.setdefault("__click_params__", [])
        pending.extend(reversed(params))
        return wrapper

    return decorate


def forbid_overwriting_inputs(ctx: click.Context) -> None:
    """Reject a command line whose output file is also an input."""
    from robolin.io.paths import require_output_is_no_input

    words: dict[str, list[str]] = {}
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        values = value if isinstance(value, tuple) else (value,)
        words[param.name or ""] = [each for each in values if isinstance(each, str)]
    for output in OUTPUTS & words.keys():
        others = [each for name, paths in words.items() if name != output for each in paths]
        for target in words[output]:
            require_output_is_no_input(target, others)
    if not any(words.get(output) for output in OUTPUTS):
        require_output_is_no_input(None, [each for paths in words.values() for each in paths])


def explicit_options(ctx: click.Context) -> dict[str, Any]:
    """Options that were set on the command line, as typed, by name without dashes."""
    return {
        option_name(param): ctx.params[param.name]
        for param in ctx.command.params
        if param.name
        and isinstance(param, click.Option)
        and getattr(param, "section", OUTPUT) != OUTPUT
        and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    }


def option_name(param: click.Parameter) -> str:
    """Name under which results record a flag or an argument."""
    return param.name or "" if isinstance(param, click.Argument) else param.opts[0].lstrip("-")


def _long_name(param: click.Parameter) -> str:
    """Name of a flag or an argument in conflicts."""
    return max(param.opts, key=len).lstrip("-")


def validated_path(name: str) -> str:
    """The path; rejected if results cannot store it or it cannot be read."""
    from robolin.io.paths import require_utf8_name

    require_utf8_name(name)
    if name == "-" and sys.stdin is None:
        raise FileError("standard input is closed", where="-")
    return name
