"""The verbs as a group whose commands are imported when they are used.

The table below is all that `robolin --help` needs, so that help starts without NumPy, rich or
the reader of any file.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click
from click.exceptions import Exit, NoArgsIsHelpError

from robolin.errors import RobolinError, UsageError
from robolin.version import __version__
from robolin.wording import did_you_mean

# section -> verb -> its one-line summary; the module has the verb's name
VERBS = {
    "Dynamics": {
        "inverse": "Torques for a motion.",
        "forward": "Accelerations for torques.",
        "mass-matrix": "Mass matrix, its inverse, factors, derivative and Coriolis matrix.",
        "linearize-inverse": "How torques change with a small change of the motion.",
        "linearize-forward": "How accelerations change with a small change of state and torques.",
        "jacobian": "Jacobian of a frame, with its pose, twist and felt inertia.",
        "diagonalize": "State and torques in coordinates that make the mass matrix diagonal.",
        "regressor": "Torques as a linear function of masses, inertias and losses.",
        "sensitivity": "How a motion changes with its beginning, its torques and the arm.",
    },
    "Motion": {
        "simulate": "The motion of an arm under torques or a controller, with its energies.",
    },
    "Arms": {
        "inspect": "An arm laid open: tree, joints, masses and the contract.",
        "validate": "What is wrong or doubtful in robot files.",
        "verify": "Whether robolin is right about an arm.",
        "models": "The bundled arms, and where each one's figures come from.",
    },
    "Stored results": {
        "check": "Stored results beside what their questions are answered with now.",
        "record": "A result stored for others to be checked against.",
        "diff": "What differs between two models.",
    },
    "Cost": {
        "count": "Exact operation counts, beside the papers' formulas.",
        "bench": "States per second of every verb, on this machine.",
    },
}


class Verbs(click.Group):
    """Commands by name, each module imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verbs in VERBS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"robolin.cli.verbs.{cmd_name.replace('-', '_')}_verb")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0]
        known = self.list_commands(ctx)
        if verb not in known and not verb.startswith("-"):
            raise _unknown_verb(verb, known)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, verbs in VERBS.items():
            with formatter.section(section):
                formatter.write_dl(list(verbs.items()))


def _unknown_verb(verb: str, known: Sequence[str]) -> RobolinError:
    hint = did_you_mean(verb.replace("_", "-"), known, "`robolin --help` lists the verbs")
    return UsageError(f"there is no verb '{verb}'", where="robolin", hint=hint)


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ARM [OPTIONS]",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="robolin", message="%(prog)s %(version)s")
def group() -> None:
    """Dynamics and linearized dynamics of robot arms.

    ARM is a .urdf or .yaml file, - for standard input, or the bare name of a bundled arm.

    \b
    Examples:
      robolin linearize-forward panda
      robolin inverse arm.urdf --q 0,0.5,-1.2 --qd elbow=30deg
      robolin forward ur5 --trajectory motion.csv -o accelerations.npz
    """


def invoke(args: Sequence[str], taker: object = None) -> int:
    """Run one command line and return the exit code it asks for; errors are all our own.

    taker: gets the result in place of the writer, for commands that run another one
    """
    try:
        # not `group.main`: it has its own idea of what a closed pipe and Ctrl-C mean
        with group.make_context("robolin", list(args), obj=taker) as ctx:
            group.invoke(ctx)
    except Exit as stop:
        return stop.exit_code
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return UsageError.exit_code
    except click.ClickException as error:
        raise _misused(error, args) from error
    return 0


def _misused(error: click.ClickException, args: Sequence[str]) -> RobolinError:
    """Click's complaint in the form of ours: no capital, no full stop, a hint on its own."""
    # some complaints have forgotten which command they are about
    context = getattr(error, "ctx", None)
    verb = [word for word in args[:1] if not word.startswith("-")]
    path = context.command_path if context else " ".join(["robolin", *verb])
    close = getattr(error, "possibilities", None)
    text = error.message if close else error.format_message()
    text = text[:1].lower() + text[1:].rstrip(".")
    hint = f"did you mean {' or '.join(close)}?" if close else f"`{path} --help` tells more"
    return UsageError(text, where=path, hint=hint)
