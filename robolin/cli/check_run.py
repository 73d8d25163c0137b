"""Questions asked again: the command line in a result's provenance, or in a case of a suite."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from robolin.cli.flags.flag import FILES, OUTPUT, label_of
from robolin.cli.flags.output_flags import Output
from robolin.cli.group import VERBS, group, invoke
from robolin.errors import FileError, RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.checking.compare import Comparison
    from robolin.checking.suite import Flag
    from robolin.checking.tolerance import Tolerances
    from robolin.files.stored_file import StoredFile
    from robolin.results.result import Result, ResultStream

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A command line: a verb, the arm, and flags with their values."""

    verb: str
    arm: str
    words: tuple[str, ...]

    def args(self, *more: str) -> list[str]:
        """As it would be typed; an arm may begin with a dash."""
        return [self.verb, *self.words, *more, "--", self.arm]


@dataclass(frozen=True)
class Inputs:
    """Where the files are that a stored result was computed from.

    model: an arm to use in place of the recorded one
    root:  the folder that recorded paths are meant from, in place of the result's own
    """

    model: str | None = None
    root: Path | None = None


def flags_of(verb: str) -> dict[str, Flag] | None:
    """The flags that say what a verb answers; None for one whose answer cannot be stored."""
    from robolin.checking.suite import Flag

    command = _command(verb)
    if command is None:
        return None
    asking = [p for p in command.params if getattr(p, "section", OUTPUT) != OUTPUT]
    return {label_of(p): Flag(p.name in FILES, getattr(p, "multiple", False)) for p in asking}


def asked_by(stored: StoredFile, inputs: Inputs) -> Asked:
    """The question that a stored result answers, with its files where they are now."""
    meta = stored.meta
    command = _command(meta["verb"])
    if command is None:
        message = f"its verb '{meta['verb']}' cannot be run again"
        hint = "compare it with another result: robolin check FILE --against OTHER"
        raise RobolinError(message, where=stored.path, hint=hint)
    options = dict(meta["options"])
    words: list[str] = []
    for param in command.params:
        label = label_of(param)
        if label in options and not isinstance(param, click.Argument):
            value = options.pop(label)
            is_file = param.name in FILES
            words += _words(param, _found(label, stored, inputs) if is_file else value)
    arm = inputs.model or _found("arm", stored, inputs)
    options.pop("arm", None)
    if options:
        message = f"it was asked with --{next(iter(options))}, which {meta['verb']} does not have"
        raise RobolinError(message, where=stored.path, hint="compute the file again")
    return Asked(meta["verb"], arm, tuple(words))


def compared_with(
    stored: StoredFile, asked: Asked, how: list[str], close: Tolerances
) -> Comparison:
    """The answer as it is now beside the stored one."""
    from robolin.checking.compare import compared
    from robolin.results.result import Result, require_finite, whole

    def compare(_: Output, answer: Result | ResultStream) -> Comparison:
        if isinstance(answer, Result):
            require_finite(answer)
            answer = whole(answer)
        return compared(answer, stored, close)

    return answered(asked, how, compare)


def changed_model(stored: StoredFile, asked: Asked) -> Comparison | None:
    """What differs about the arm where its question cannot be answered, as far as is known."""
    from robolin.checking.compare import Comparison
    from robolin.checking.model_changes import model_changes
    from robolin.description.load import figures
    from robolin.files.meta import plain

    before = stored.meta["model"]
    try:
        changes = model_changes(before, plain(figures(asked.arm))) if before else ()
    except RobolinError:
        return None
    return Comparison((), changes=changes)


def answered(asked: Asked, how: list[str], use: Callable[[Output, Any], T]) -> T:
    """Run a verb and return what `use` makes of its answer."""
    found: list[T] = []
    invoke(asked.args("--quiet", *how), lambda out, answer: found.append(use(out, answer)))
    if not found:
        message = f"{asked.verb} gives no result that could be stored"
        raise UsageError(message, where=f"robolin {asked.verb}")
    return found[0]


def store(asked: Asked, path: Path, how: list[str], close: Tolerances) -> None:
    """Compute the answer and store it as one to check others against."""
    answered(asked, ["-o", str(path), *how], lambda out, answer: keep(out, answer, close))


def keep(out: Output, answer: Result | ResultStream, close: Tolerances) -> None:
    """Write an answer as a reference, with the way from there to the files it came from."""
    from robolin.checking.rounding import SAID, from_a_library
    from robolin.results.result import Reference, Result, require_finite, whole

    if out.path is None:
        hint = "-o FILE.npz, or .csv, .json or .parquet"
        raise UsageError("a reference needs a file to be stored in", where="-o", hint=hint)
    if isinstance(answer, Result):
        require_finite(answer)
        if close.exact and from_a_library(answer.verb, answer.options, answer.model):
            out.note(SAID)
        answer = whole(answer)
    files = _files(click.get_current_context(), Path(out.path).resolve().parent)
    reference = Reference(close.plain(), files)
    ending = answer.ending
    flow = replace(answer, ending=lambda rows: replace(ending(rows), reference=reference))
    replace(out, taker=None).write(flow)


def _command(verb: str) -> click.Command | None:
    """The command of a verb whose answer is a result."""
    if not any(verb in verbs for verbs in VERBS.values()):
        return None
    command = group.get_command(click.Context(group), verb)
    names = {param.name for param in command.params} if command else set()
    return command if {"arm", "path", "jobs"} <= names else None


def _words(param: click.Parameter, value: Any) -> list[str]:
    """A flag as it would be typed."""
    if value is True:
        return [param.opts[0]]
    if value is False or value is None:
        return list(param.secondary_opts[:1])
    values = value if isinstance(value, list) else [value]
    long = param.opts[0].startswith("--")
    return [f"{param.opts[0]}{'=' if long else ''}{item}" for item in values]


def _found(label: str, stored: StoredFile, inputs: Inputs) -> str:
    """Where a file that was given for an option is now."""
    meta = stored.meta
    if label not in meta["options"]:
        raise RobolinError(f"it does not say of which {label} it is", where=stored.path)
    name: str = meta["options"][label]
    recorded: str | None = meta.get("files", {}).get(label)
    if name == "-":
        hint = "--model ARM stands in for it" if label == "arm" else "store it with a file instead"
        message = f"the {label} was read from standard input"
        raise RobolinError(message, where=stored.path, hint=hint)
    beside = Path(stored.path).parent
    if inputs.root is not None:
        places = [inputs.root / (recorded or name), inputs.root / name]
    else:
        places = [beside / recorded] if recorded else [beside / name, Path(name)]
    for place in places:
        if place.is_file():
            return os.path.normpath(place)
    if label == "arm" and recorded is None:
        from robolin.description.bundled import bundled_path

        if bundled_path(name):
            return name
    tried = " or ".join(dict.fromkeys(f"'{os.path.normpath(place)}'" for place in places))
    raise FileError(
        f"the {label} '{name}' is not there; looked for {tried}",
        where=stored.path,
        hint="--root FOLDER says where its files are"
        + ", --model ARM which arm" * (label == "arm"),
    )


def _files(ctx: click.Context, folder: Path) -> dict[str, str]:
    """Every file that was given, as a path from a folder; bundled arms and pipes have none."""
    files = {}
    for param in ctx.command.params:
        path = ctx.params.get(param.name or "")
        if param.name in FILES and isinstance(path, str) and path != "-" and Path(path).is_file():
            try:
                way = os.path.relpath(Path(path).resolve(), folder)
            except ValueError:
                # on another drive
                way = str(Path(path).resolve())
            files[label_of(param)] = Path(way).as_posix()
    return files
