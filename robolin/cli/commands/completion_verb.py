"""robolin completion: script for shell completion."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import VerbCommand

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=VerbCommand)
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
def command(shell: str) -> None:
    """What a shell needs to complete command lines.

    Prints a script; once the shell has read it, the tab key completes verbs, flags, arms, files,
    and the joints and links of the arm that is named.

    \b
    Example:
      robolin completion fish > ~/.config/fish/completions/robolin.fish
      eval "$(robolin completion bash)"                            # in ~/.bashrc
      eval "$(robolin completion zsh)"                             # in ~/.zshrc
    """
    from robolin.cli.completion import SCRIPTS
    from robolin.cli.group import group

    click.echo(SCRIPTS[shell](group, {}, "robolin", "_ROBOLIN_COMPLETE").source())
