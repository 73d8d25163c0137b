"""robolin completion: script for shell completion."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import VerbCommand

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=VerbCommand)
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
def command(shell: str) -> None:
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
