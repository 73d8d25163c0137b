"""The click group of all commands; each module is imported on first use.

The table of commands is sufficient for `robolin --help`, so help starts without NumPy, rich or
any file reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

import click
from click.exceptions import Exit, NoArgsIsHelpError

from robolin.core.text import suggest
from robolin.errors import RobolinError, UsageError
from robolin.queries.verbs import VERBS, sections, unknown_verb
from robolin.version import __version__

# robolin's text -> Click's text for an invalid value
_KINDS = {
    "is not a whole number": "is not a valid integer range",
    "is not a number": "is not a valid float range",
}


class Verbs(click.Group):
    """Commands by name, each module imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module, _, name = VERBS[cmd_name].command.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0]
        if verb not in VERBS and not verb.startswith("-"):
            raise unknown_verb(verb, "robolin", "`robolin --help` lists the verbs")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, verbs in sections().items():
            with formatter.section(section):
                formatter.write_dl(list(verbs.items()))


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ARM [OPTIONS]",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="robolin", message="%(prog)s %(version)s")
def group() -> None:
    """Dynamics and linearized dynamics of robot arms.

    ARM is a URDF, Xacro, MJCF or YAML file, - for standard input, or the bare name of a
    bundled arm.

    \b
    Examples:
      robolin linearize-forward panda
      robolin inverse arm.urdf --q 0,0.5,-1.2 --qd elbow=30deg
      robolin forward ur5 --trajectory motion.csv -o accelerations.npz
    """


def invoke(args: Sequence[str]) -> int:
    """Run a command line and return its exit code; all errors are RobolinError."""
    try:
        with translate_click_errors(args), group.make_context("robolin", list(args)) as ctx:
            # not `group.main`, which handles closed pipes and Ctrl-C differently
            group.invoke(ctx)
    except Exit as stop:
        return stop.exit_code
    except NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return UsageError.exit_code
    return 0


@contextmanager
def parse_only(args: Sequence[str]) -> Iterator[click.Context]:
    """Parse the flags of a command line without running it."""
    with translate_click_errors(args), click.Context(group, info_name="robolin") as outer:
        name, command, rest = group.resolve_command(outer, list(args))
        assert command is not None, "a verb that is not there has been refused"
        with command.make_context(name, rest, parent=outer) as ctx:
            yield ctx


@contextmanager
def translate_click_errors(args: Sequence[str]) -> Iterator[None]:
    """Translate Click's errors into RobolinError; exit and help pass through."""
    try:
        yield
    except (Exit, NoArgsIsHelpError):
        raise
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        raise usage_error_from_click(error, args) from error


def suggest_options(error: click.NoSuchOption) -> list[str]:
    """Flags similar to a misspelled one; stricter than Click's suggestions."""
    if error.ctx is None or not error.option_name.startswith("--"):
        return []
    flags = [flag for each in error.ctx.command.get_params(error.ctx) for flag in each.opts]
    names = [flag.removeprefix("--") for flag in flags if flag.startswith("--")]
    return [f"--{word}" for word in suggest(error.option_name.removeprefix("--"), names)]


def usage_error_from_click(error: click.ClickException, args: Sequence[str]) -> RobolinError:
    """Click's error in robolin's format: no capital, no full stop, a separate hint."""
    # some errors do not contain their command
    context = getattr(error, "ctx", None)
    verb = [word for word in args[:1] if not word.startswith("-")]
    path = context.command_path if context else " ".join(["robolin", *verb])
    close = suggest_options(error) if isinstance(error, click.NoSuchOption) else []
    text = error.message if isinstance(error, click.NoSuchOption) else error.format_message()
    # Click lists choices one per line
    text = (text[:1].lower() + text[1:].rstrip(".")).replace("\n\t", " ")
    for ours, theirs in _KINDS.items():
        text = text.replace(theirs, ours)
    hint = f"did you mean {' or '.join(close)}?" if close else f"`{path} --help` tells more"
    return UsageError(text, where=path, hint=hint)
