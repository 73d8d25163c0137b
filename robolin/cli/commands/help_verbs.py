"""robolin help and completion: pages about topics and commands, and a script for the shell."""

from __future__ import annotations

from collections.abc import Sequence

import click

from robolin.cli.flags.flag import VALUES_HELP, VerbCommand, show_details, write_options
from robolin.cli.group import canonical_name
from robolin.core.text import did_you_mean
from robolin.errors import UsageError
from robolin.queries.verbs import TOPICS, TWO_WORDS, VERBS, sections

TOPIC_TEXTS = {
    "model": "ARM is a URDF, Xacro, SDF, MJCF or YAML file, - for standard input, the name of a "
    "bundled robot (`robolin models`) or robot_descriptions:NAME. These options change the model; "
    "`robolin inspect ARM` shows the resulting model.",
    "input": f"Set one state, or read a file with one state per row. {VALUES_HELP}",
    "output": "robolin prints tables to a terminal and CSV to a pipe; -o FILE stores all arrays at "
    "full precision, with the model assumptions.",
    "loops": "For robots with closed loops, states must satisfy the loop-closure constraints. "
    "Commands also return the constraint forces lam.",
    "batch": "To process many recordings, repeat --trajectory, or pass patterns and folders. With "
    "-o FOLDER/, a command writes one file per recording or part. Related commands: batch plan, "
    "batch status, batch merge.",
}


@click.command("help", cls=VerbCommand, options_metavar="")
@click.argument("words", nargs=-1, metavar="[TOPIC|COMMAND]")
def help_command(words: tuple[str, ...]) -> None:
    """Show the help page of a topic or a command.

    Topics: model, input, output, loops and batch.

    \b
    Examples:
      robolin help input
      robolin help lqr
    """
    ctx = click.get_current_context()
    root, name = ctx.find_root(), " ".join(words)
    if not words:
        click.echo(root.get_help())
    elif name in TOPICS:
        click.echo(topic_page(ctx, name))
    else:
        click.echo(_command_page(root, name))


def topic_page(ctx: click.Context, topic: str) -> str:
    """Text and options of a topic, with all details unless there are too many for a page."""
    if topic != "input":
        show_details(ctx)
    formatter = ctx.make_formatter()
    formatter.write_text(TOPIC_TEXTS[topic])
    write_options(ctx, formatter, f"Options ({topic})", topic_options(topic))
    if topic == "input":
        formatter.write_paragraph()
        formatter.write_text("For details of each option, run robolin inverse --help-all.")
    return formatter.getvalue().rstrip("\n")


def topic_options(topic: str) -> Sequence[click.Parameter]:
    """Options of a topic, in the order of its page."""
    from robolin.cli.flags.forward_flags import BAUMGARTE, CLOSE_FLAG, LOOP_METHOD_FLAG
    from robolin.cli.flags.output_flags import OUTPUT_PARAMS
    from robolin.cli.flags.state_flags import MANY_PARAMS, MODEL_PARAMS
    from robolin.cli.query_command import state_flags

    if topic == "input":
        return state_flags(VERBS["forward"], "", {})
    if topic == "loops":
        opened = [param for param in MODEL_PARAMS if param.name == "open_loops"]
        return [CLOSE_FLAG, LOOP_METHOD_FLAG, BAUMGARTE, *opened]
    return {"model": MODEL_PARAMS, "output": OUTPUT_PARAMS, "batch": MANY_PARAMS}[topic]


def _command_page(root: click.Context, name: str) -> str:
    group = root.command
    assert isinstance(group, click.Group), "the program is a group of commands"
    known = canonical_name(name)
    page = group.get_command(root, known)
    if page is None:
        listed = [*TOPICS, *(each for section in sections().values() for each in section)]
        topics = f"topics: {', '.join(TOPICS)}; `robolin help` lists the commands"
        hint = did_you_mean(name, [*listed, *TWO_WORDS], topics)
        raise UsageError(f"unknown topic or command '{name}'", where="robolin help", hint=hint)
    path = VERBS[known].path if known in VERBS else ""
    with click.Context(page, parent=root, info_name=path or known) as ctx:
        return ctx.get_help()


SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=VerbCommand)
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
def completion_command(shell: str) -> None:
    """Print a script for shell completion.

    The Tab key then completes commands, options, robots, files, and the joints and links of
    the robot on the command line.

    \b
    Examples:
      robolin completion fish > ~/.config/fish/completions/robolin.fish
      eval "$(robolin completion bash)"                            # in ~/.bashrc
      eval "$(robolin completion zsh)"                             # in ~/.zshrc
    """
    from robolin.cli.completion import SCRIPTS
    from robolin.cli.group import group

    click.echo(SCRIPTS[shell](group, {}, "robolin", "_ROBOLIN_COMPLETE").source())
