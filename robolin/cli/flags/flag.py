"""Flags with a section of the help page, and decorators that group them.

A group adds several flags to a command and passes them as one object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robolin.core.former_names import FORMER_OPTIONS
from robolin.core.text import is_number
from robolin.errors import FileError, UsageError
from robolin.queries.option_specs import (
    NO_CONDITIONS,
    STATE_QUANTITIES,
    Conditions,
    OptionSpec,
    check_conflicts,
)
from robolin.queries.verbs import TOPICS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

# flags with an output file
OUTPUTS = frozenset({"path", "write_baseline", "npz", "report"})

STATE, MODEL, METHOD, OUTPUT = "State", "Model", "Method", "Output"
TORQUE, TIMES = "Torque", "Time"
VALUES_HELP = (
    "VALUES are one number per joint in joint order (0,0.5,-1.2), or named numbers "
    "(elbow=30deg,wrist=-1.2; omitted joints are 0). "
    "Numbers are in SI units; angles may also be written as 30deg or pi/6."
)
SECTIONS: Mapping[str, str] = {
    STATE: VALUES_HELP,
    **dict.fromkeys((TORQUE, TIMES, METHOD, MODEL, OUTPUT), ""),
}
MORE = f"All options: --help-all.  Topics: robolin help {'|'.join(TOPICS)}"
# options whose repeated values are joined
_JOINED = {
    **{f"--{name}": {"by_joint": True} for name in (*STATE_QUANTITIES, "gain")},
    "--prescribe": {"by_name": True},
}
# key of a context whose help page has all options
_ALL = "robolin.all_options"


class Flag(click.Option):
    """An option with a section of the help page; repeated values are joined or rejected.

    The first line of `help` is on every help page, further lines only with --help-all.

    by_joint: join repeated VALUES, if all of them name their joints
    by_name: join repeated names
    requires, modifies, excludes: conflicts with other flags, as in `OptionSpec`
    """

    multiple: bool
    section: str
    by_joint: bool
    by_name: bool
    requires: Conditions
    modifies: Conditions
    excludes: Conditions

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

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Names and help text; the default has one notation on every page."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        text, _, details = (self.help or "").partition("\n")
        remarks = [f"default {self.default}"] if self.show_default else []
        remarks += ["required"] if self.required else []
        if remarks:
            text = f"{text} ({', '.join(remarks)})"
        return record[0], f"{text}. {details}" if details and ctx.meta.get(_ALL) else text

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
        hint = "use this option only once"
        if self.by_joint:
            hint += "; only named values, such as elbow=1, may be repeated"
        raise UsageError(f"set {len(values)} times", where=self.opts[0], hint=hint)


def _names_joints(text: str) -> bool:
    """True if every value names its joint, so that more can be appended."""
    return not text.startswith("hold+") and all("=" in item for item in text.split(","))


class RobotFile(click.Argument):
    """A robot argument with shell completion."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from robolin.cli.completion import completed

        return completed(ctx, self, incomplete)


class VerbCommand(click.Command):
    """A command with a short help page and a complete one; protects its input files.

    short: names of the options on the short page, in order; '' for all except those of the model
    """

    short_page: list[str]

    def __init__(self, *args: Any, short: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.short_page = short.split()
        # commands without options of their own pass -q on to another command
        if self.options_metavar and not {"-q"} & {word for x in self.params for word in x.opts}:
            self.params.append(_QUIET)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), _HELP_ALL]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Arguments before options, as on the main help page."""
        pieces = super().collect_usage_pieces(ctx)
        return [*pieces[1:], pieces[0]] if self.options_metavar else pieces

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        by_joint = {
            name
            for param in self.params
            if isinstance(param, Flag) and param.by_joint
            for name in param.opts
        }
        current = [_current_option(word, self.name or "") for word in args]
        rest = super().parse_args(ctx, _joined_by_commas(current, by_joint))
        if not ctx.resilient_parsing:
            explicit = {
                _long_name(param): ctx.params[param.name]
                for param in self.params
                if param.name in ctx.params
                and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
            }
            flags = {_long_name(param): param for param in self.params if isinstance(param, Flag)}
            check_conflicts(flags, explicit)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        forbid_overwriting_inputs(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not ctx.meta.get(_ALL):
            self._format_main_options(ctx, formatter)
            return
        for section, text in SECTIONS.items():
            flags = [
                param
                for param in self.get_params(ctx)
                if getattr(param, "section", OUTPUT) == section
            ]
            write_options(ctx, formatter, section, flags, text)

    def _format_main_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        flags = {
            _long_name(param): param for param in self.params if isinstance(param, click.Option)
        }
        names = self.short_page or [
            name for name, param in flags.items() if getattr(param, "section", "") != MODEL
        ]
        write_options(ctx, formatter, "Options", [flags[name] for name in names])
        if len(names) < len(flags):
            formatter.write_paragraph()
            formatter.write(f"{MORE}\n")


# command -> names of its options in other commands and programs
_OPTION_SYNONYMS = {
    "ik": dict.fromkeys(("target", "pose", "xyz", "position", "pos", "point"), "goal")
}


def _current_option(word: str, command: str) -> str:
    """The current name of an option of earlier versions or other commands, else the word."""
    typed, equals, value = word.partition("=")
    known = {**FORMER_OPTIONS, **_OPTION_SYNONYMS.get(command, {})}
    name = known.get(typed[2:]) if typed.startswith("--") else None
    return f"--{name}{equals}{value}" if name else word


def _joined_by_commas(words: Sequence[str], by_joint: Collection[str]) -> list[str]:
    """The words with commas between numbers per joint that are separated by blanks: `--q 0 1`."""
    joined: list[str] = []
    values = False
    for i, word in enumerate(words):
        flag_, equals, value = word.partition("=")
        if flag_ in by_joint and equals:
            values = _is_value(value)
        elif values and not word.startswith("--") and _is_value(word):
            joined[-1] = f"{joined[-1].rstrip(',')},{word}"
            continue
        else:
            values = i > 0 and words[i - 1] in by_joint and _is_value(word)
        joined.append(word)
    return joined


def _is_value(word: str) -> bool:
    """True for numbers, and for numbers with the name of their joint."""
    items = word.rstrip(",").split(",")
    return all(is_number(item.rpartition("=")[2].strip()) for item in items)


def write_options(
    ctx: click.Context,
    formatter: click.HelpFormatter,
    title: str,
    flags: Sequence[click.Parameter],
    text: str = "",
) -> None:
    """Write a section of options, unless it is empty."""
    records = [
        record
        for param in flags
        if isinstance(param, click.Option) and (record := param.get_help_record(ctx))
    ]
    if records:
        with formatter.section(title):
            if text:
                formatter.write_text(text)
                formatter.write_paragraph()
            formatter.write_dl(records)


def show_details(ctx: click.Context) -> None:
    """Make the help pages of this context show all options and all lines of their help."""
    ctx.meta[_ALL] = True


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show_details(ctx)
        click.echo(ctx.get_help())
        ctx.exit()


def _silence(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from robolin.cli.main import silence

        silence()


_QUIET = Flag(
    ["-q", "--quiet"],
    section=OUTPUT,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_silence,
    help="Hide warnings and notes",
)
_HELP_ALL = Flag(
    ["--help-all"],
    section=OUTPUT,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options",
)


def flag(
    names: str,
    section: str,
    text: str,
    *,
    into: str = "",
    choices: Sequence[str] = (),
    minimum: int | None = None,
    **settings: Any,
) -> click.Option:
    """One option of a group; results record it under its first name.

    names:   its names and the name of its value, such as "-o --output FILE"; a switch has no value
    into:    name of the argument in Python
    choices: permitted values
    minimum: the smallest value of an integer
    """
    words = names.split()
    value = None if words[-1].startswith("-") else words.pop()
    if choices:
        settings["type"] = click.Choice(choices)
    if minimum is not None:
        settings["type"] = click.IntRange(min=minimum)
    if "default" in settings:
        settings["show_default"] = True
    if value is None and "type" not in settings:
        settings["is_flag"] = True
    if "flag_value" in settings:
        # click would take it for a switch
        settings["is_flag"] = False
    settings.update(_JOINED.get(words[0], {}), section=section, metavar=value, help=text)
    return Flag([*words, into] if into else words, **settings)


def flags(
    section: str, specs: Mapping[str, OptionSpec], texts: Mapping[str, str], **defaults: str
) -> list[click.Option]:
    """Flags of declared options, with the kind and the choices of their declarations.

    texts:    names of each flag, as in `flag` -> help text
    defaults: values that the help page shows, by option
    """
    made = []
    for names, text in texts.items():
        label = names.split()[0].removeprefix("--")
        spec = specs[label]
        settings: dict[str, Any] = {
            "choices": spec.choices,
            "multiple": spec.multiple,
            "required": spec.required and not spec.unless,
        }
        if spec.kind == "count":
            settings["minimum"] = spec.minimum
        if spec.optional_value:
            settings["flag_value"] = ""
        if (key := label.replace("-", "_")) in defaults:
            settings["default"] = defaults[key]
        made.append(flag(names, section, text, **settings))
    return made


def bundled(
    argument: str, params: Sequence[click.Parameter], build: Callable[..., Any]
) -> Decorator:
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
    from robolin.io.format_table import require_output_is_no_input

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
    from robolin.io.format_table import require_utf8_name

    require_utf8_name(name)
    if name == "-" and sys.stdin is None:
        raise FileError("standard input is closed", where="-")
    return name
