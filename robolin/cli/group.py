"""The click group of all commands; each module is imported on first use.

The table of commands is sufficient for `robolin --help`, so help starts without NumPy, rich or
any file reader.  Names of commands and options in other programs are accepted or explained.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib import import_module
from typing import Any

import click
from click.exceptions import Exit, NoArgsIsHelpError

from robolin import __version__
from robolin.core.former_names import FOREIGN_OPTIONS
from robolin.core.text import closest_match, suggest
from robolin.errors import RobolinError, UsageError
from robolin.queries.verbs import (
    TOPICS,
    TWO_WORDS,
    VERBS,
    commands_with,
    sections,
    unknown_verb,
)

# robolin's text -> Click's text for an invalid value
_KINDS = {
    "is not an integer": "is not a valid integer range",
    "is not a number": "is not a valid float",
}
_EXTRA = r"got unexpected extra arguments? \((.*)\)"
_OUT_OF_RANGE = r"(\S+) is not in the range (\S+?)\.?$"

# commands that a hint about an option names
_AT_MOST = 3
# '(limits=False)' after '--ignore-limits', and '; in Python dt=0.1' after '--dt 0.1'
_PYTHON_WORDS = (
    r"(--[\w-]+(?: [\w.-]+(?: or less)?)?)"
    r"(?: \((?:in Python )?\w+=[^()]*\)|; in Python [^;()]*| \(\w+= in Python\))"
)

_HEAD = f"""\
Usage: robolin COMMAND ARM [OPTIONS], as in robolin poles panda --q home
ARM: a URDF, Xacro, SDF, MJCF or YAML file, - for stdin, or a bundled robot
Help: robolin COMMAND --help; robolin help {"|".join(TOPICS)}
"""


class Verbs(click.Group):
    """Commands by name, each module imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb.name for verb in VERBS.values() if verb.section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = TWO_WORDS.get(cmd_name, cmd_name)
        if name not in VERBS:
            return None
        module, _, attribute = VERBS[name].command.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (two := " ".join(args[:2])) in TWO_WORDS:
            return two, self.get_command(ctx, two), args[2:]
        name = canonical_name(args[0])
        if name in VERBS:
            return VERBS[name].path or name, self.get_command(ctx, name), args[1:]
        if name in LIKELY_COMMANDS:
            raise UsageError(
                f"unknown command '{name}'", where="robolin", hint=LIKELY_COMMANDS[name]
            )
        if not name.startswith("-"):
            raise unknown_verb(name, "robolin", "run `robolin --help` for the list of commands")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the page without blank lines between sections, so that it fits a screen."""
        formatter.write(_HEAD)
        width = max(len(name) for section in sections().values() for name in section)
        for section, verbs in sections().items():
            formatter.write(f"{section}:\n")
            for name, summary in verbs.items():
                formatter.write(f"  {name:<{width}}  {summary}\n")


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="robolin", message="%(prog)s %(version)s")
def group() -> None:
    """Compute dynamics and linearized dynamics of robot arms."""


def invoke(args: Sequence[str]) -> int:
    """Run a command line and return its exit code; all errors are RobolinError."""
    try:
        with (
            translate_click_errors(args),
            group.make_context("robolin", list(args)) as ctx,
            _progress(args),
        ):
            # not `group.main`, which handles closed pipes and Ctrl-C differently
            group.invoke(ctx)
        _say_written(args)
    except RobolinError as error:
        _name_flags(error, args)
        raise
    except Exit as stop:
        return stop.exit_code
    except NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return UsageError.exit_code
    return 0


def _progress(args: Sequence[str]) -> AbstractContextManager[object]:
    """A line with the progress of long computations on a terminal; nothing elsewhere."""
    if not _talks(args) or os.environ.get("TERM") == "dumb":
        return nullcontext()
    from robolin.core.progress import listening
    from robolin.display.terminal.task_line import TaskLine

    stack = ExitStack()
    stack.enter_context(listening(stack.enter_context(TaskLine())))
    return stack


def _talks(args: Sequence[str]) -> bool:
    """Return True if a person reads stderr and has not set --quiet."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return on_terminal and not {"-q", "--quiet"} & {*args}


def _say_written(args: Sequence[str]) -> None:
    """Name the files that a command wrote, on a terminal; some commands name them themselves."""
    atomic: Any = sys.modules.get("robolin.io.atomic")
    if atomic is None:
        return
    paths = [path for path in atomic.written_paths if not path.name.endswith(".meta.json")]
    atomic.written_paths.clear()
    named = {"identify", "generate", "batch", "new", "report"} & {*args[:2]}
    if not _talks(args) or named or len(paths) > _MOST_NAMED:
        return
    from robolin.cli.main import say

    for path in paths:
        say("note", f"{path}: written")


# more files are parts of a folder, which its command counts
_MOST_NAMED = 4

# weight matrices of Python functions, and the flags that set them
_MATRIX_FLAGS = {"Q": "--weight", "R": "--effort"}


def _name_flags(error: RobolinError, args: Sequence[str]) -> None:
    """Replace names of Python arguments at the start of an error by the flags as typed."""
    flags = [word.partition("=")[0] for word in args if word.startswith("--")]
    typed = {flag[2:].replace("-", "_"): flag for flag in flags}
    typed |= {name: flag for name, flag in _MATRIX_FLAGS.items() if flag in flags}
    for flag in {"--goal", "--target"} & {*flags}:
        typed.setdefault("frame", flag)
    for part in error.parts:
        part.hint = re.sub(_PYTHON_WORDS, r"\1", part.hint)
        name, colon, rest = part.message.partition(": ")
        if part.where in typed:
            part.where = typed[part.where]
        elif colon and name in typed:
            part.message = f"{typed[name]}: {rest}"


@contextmanager
def parse_only(args: Sequence[str]) -> Iterator[click.Context]:
    """Parse the flags of a command line without running it."""
    with translate_click_errors(args), click.Context(group, info_name="robolin") as outer:
        name, command, rest = group.resolve_command(outer, list(args))
        assert command is not None, "an unknown command has been rejected"
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


def option_hint(error: click.NoSuchOption) -> str:
    """Hint for an unknown option: a similar one, the same of another name, or other commands."""
    typed = error.option_name
    if error.ctx is None:
        return ""
    if typed in ("-q", "--quiet"):
        # not the option --q of positions: every command has -q, but groups of commands have not
        return "write -q after the command, as in robolin inverse panda -q"
    flags = [flag for each in error.ctx.command.get_params(error.ctx) for flag in each.opts]
    names = [flag.removeprefix("--") for flag in flags if flag.startswith("--")]
    word = typed.lstrip("-")
    pieces = error.ctx.command.collect_usage_pieces(error.ctx)
    if word in ROBOT_OPTIONS and {"ARM", "ARM..."} & {*pieces}:
        return f"pass the robot as an argument: {error.ctx.command_path} ARM"
    same = [name for name in FOREIGN_OPTIONS.get(word, []) if name in names][:1]
    if same and word in WITH_VALUE:
        return f"did you mean {WITH_VALUE[word]} {word}?"
    other = OTHER_DIRECTION.get((error.ctx.command.name or "", word))
    if other:
        return other
    if close := same or suggest(word, names):
        return f"did you mean {' or '.join(f'--{name}' for name in close)}?"
    meant = [word, *FOREIGN_OPTIONS.get(word, [])]
    candidates = ((name, commands_with(name)[:_AT_MOST]) for name in meant)
    name, others = next((each for each in candidates if each[1]), ("", []))
    return f"--{name} is an option of {', '.join(others)}" if others else ""


def usage_error_from_click(error: click.ClickException, args: Sequence[str]) -> RobolinError:
    """Click's error in robolin's format: where, rule and value, a separate hint."""
    # some errors do not contain their command
    context = getattr(error, "ctx", None)
    verb = [word for word in args[:1] if not word.startswith("-")]
    path = context.command_path if context else " ".join(["robolin", *verb])
    hint = option_hint(error) if isinstance(error, click.NoSuchOption) else ""
    where, text = path, error.message or error.format_message()
    if isinstance(error, click.BadOptionUsage):
        where, text = error.option_name, "requires a value"
        if "does not take" in error.message:
            text = "takes no value"
    elif isinstance(error, click.MissingParameter):
        text, hint = error.format_message(), _example(context)
    elif isinstance(error, click.BadParameter) and error.param is not None:
        where = error.param.opts[-1] if isinstance(error.param, click.Option) else path
        where = _typed(error.param, args) or where
        text = re.sub(_OUT_OF_RANGE, _range, text)
        hint = hint or _near_choice(error.param.type, text)
    # Click lists choices one per line
    text = (text[:1].lower() + text[1:].rstrip(".")).replace("\n\t", " ")
    if context and (extra := re.search(_EXTRA, text)):
        hint = hint or _flag_of_word(context, extra[1])
    text = re.sub(_EXTRA, r"unexpected argument '\1'", text)
    for ours, theirs in _KINDS.items():
        text = text.replace(theirs, ours)
    return UsageError(text, where=where, hint=hint or f"run `{path} --help`")


def _flag_of_word(context: click.Context, words: str) -> str:
    """A hint for 'show acrobot' instead of '--show acrobot'; '' if no flag has this name."""
    flags = [flag for each in context.command.get_params(context) for flag in each.opts]
    known = words and not words[0].isspace() and f"--{words.split()[0]}" in flags
    return f"did you mean `--{words}`?" if known else ""


def _near_choice(kind: click.ParamType[Any], text: str) -> str:
    """A hint with the choice that is closest to the value in click's message; '' without one."""
    value = re.match(r"'(.*?)' is not one of", text)
    near = value and isinstance(kind, click.Choice) and closest_match(value[1], kind.choices)
    return f"did you mean '{near}'?" if near else ""


def _example(context: click.Context | None) -> str:
    """The first example of the command's help page as a hint; '' if there is none."""
    text = (context.command.help or "") if context else ""
    match = re.search(r"^ *(robolin .*)$", text, re.MULTILINE)
    return f"for example: {match[1]}" if match else ""


def _typed(param: click.Parameter, args: Sequence[str]) -> str:
    """The name of an option as it was typed; '' for an argument."""
    words = {word.partition("=")[0] for word in args}
    return next((name for name in param.opts if name.startswith("-") and name in words), "")


def _range(match: re.Match[str]) -> str:
    """The range of a number in words: 'must be 1 to 17, got 0'."""
    value, limits = match.groups()
    low, high = limits.partition("x")[::2]
    low, high = low.rstrip("<="), high.lstrip("<=>")
    if low:
        return f"must be {low} to {high}, got {value}"
    return f"must be {'at least' if '>' in limits else 'at most'} {high}, got {value}"


# names that other programs use for the same thing
SYNONYMS = {
    name: verb
    for verb, names in (
        ("inverse", "id rnea inverse-dynamics"),
        ("forward", "fd aba forward-dynamics"),
        ("mass-matrix", "crba inertia-matrix"),
        ("jacobian", "jac"),
        ("momentum", "com centroidal"),
        ("state-space", "ss"),
        ("poles", "eig eigenvalues"),
        ("lqr", "gains"),
        ("simulate", "sim"),
        ("inspect", "info"),
        ("validate", "lint"),
        ("models", "list robots"),
        ("generate", "codegen"),
        ("bench", "benchmark"),
        ("count", "counts operations"),
    )
    for name in names.split()
}
# names with several meanings, or of a command that needs options -> hint
LIKELY_COMMANDS = {
    name: hint
    for names, hint in (
        (
            "fk fkine pose kinematics forward-kinematics workspace",
            "use `robolin jacobian ARM --only position --only rotation`",
        ),
        ("gravity", "use `robolin inverse ARM --q VALUES`: torques at rest compensate gravity"),
        ("coriolis", "use `robolin mass-matrix ARM --coriolis --qd VALUES`"),
        ("dynamics", "use `inverse` for torques, `forward` for accelerations"),
        (
            "linearize linearise derivatives",
            "use `linearize-forward` for accelerations, `linearize-inverse` for torques, "
            "`state-space` for A, B, C and D",
        ),
        (
            "pzmap damp stability controllability observability ctrb obsv root-locus rlocus",
            "use `robolin poles ARM --q VALUES`",
        ),
        (
            "bode nyquist freqresp frequency-response tf",
            "use `robolin response ARM --frequencies 0.1:100:200`",
        ),
        ("step step-response", "use `robolin response ARM --duration 2`"),
        ("impulse", "use `robolin response ARM --duration 2 --impulse`"),
        ("view visualize show draw", "use `inspect` for text, `report` or `plot` for an image"),
        ("compare", "use `diff` for robots, `check A --against B` for stored results"),
        ("test", "use `verify` for a robot, `check` for stored results"),
        ("energy", "use `robolin simulate ARM --duration 1`, which returns the energies"),
        ("torque torques holding-torques", "use `robolin inverse ARM --q VALUES`"),
        ("limits", "use `robolin inverse ARM --trajectory FILE --limits`"),
        (
            "payload friction",
            "add --payload LINK:MASS to a command; `identify` estimates payloads and friction",
        ),
        ("kalman lqg estimator", "use robolin.kalman in Python; `state-space` computes A, B and C"),
        ("observer", "use `robolin generate ARM momentum-observer --dt 0.002 -o DIR`"),
        (
            "stabilize control controller pid design",
            "use `lqr` to compute gains and `simulate` to test them",
        ),
        ("mpc", "use `robolin generate ARM inverse linearize-inverse --with mpc -o DIR`"),
        ("trajectory plan-motion ilqr ddp trajopt", "use `robolin optimize ARM --goal VALUES`"),
        ("track tracking", "use `robolin simulate ARM --control computed-torque --follow FILE`"),
        ("calibrate estimate fit", "use `robolin identify ARM --trajectory FILE`"),
        (
            "convert export",
            "use -o FILE of a command, or `robolin models --copy NAME`",
        ),
        ("compile c", "use `robolin generate ARM COMMAND -o DIR` for C code"),
        (
            "doc docs manual tutorial example examples",
            "run `robolin help`, or add --help to a command",
        ),
        ("html page", "use `robolin report ARM -o page.html`"),
        ("graph figure", "use `robolin plot RESULT -o plot.svg`"),
        ("inertia mass", "use `mass-matrix` for M, `inspect` for masses and inertias"),
    )
    for name in names.split()
}


def canonical_name(name: str) -> str:
    """The name of a command for a synonym; other names are unchanged."""
    return SYNONYMS.get(name, name)


_TORQUES_ARE_RESULTS = "use `robolin forward`, which computes accelerations from --tau"
# command and option -> hint: the option is a result of the command
OTHER_DIRECTION = {
    ("response", "step"): "the step response is the default: add --duration 2",
    ("response", "bode"): "add --frequencies 0.1:100:200",
    ("optimize", "limits"): "use --ignore-limits, or --limit-scale 0.5",
    ("optimize", "integrator"): "use --method: acceleration uses semi-implicit Euler steps, torque "
    "uses RK4 steps",
}
OTHER_DIRECTION |= {
    (verb, name): _TORQUES_ARE_RESULTS
    for verb in ("inverse", "linearize-inverse")
    for name in ("tau", "torque", "torques", "effort", "efforts", "u", "force", "forces")
}
# names of options for the robot, which is an argument
ROBOT_OPTIONS = frozenset(("robot", "model", "urdf", "arm", "xml", "mjcf", "sdf"))
# names that stand for an option with a value
WITH_VALUE = dict.fromkeys(("csv", "json", "npz", "parquet", "table"), "--format")
