"""A question as plain data: a command and its options."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import cleandoc
from numbers import Real
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from robolin.core.choices import base_verb, is_swept
from robolin.core.former_names import FORMER_OPTIONS
from robolin.core.records import dataclass
from robolin.core.text import closest_match, did_you_mean
from robolin.core.text_parsing import FlagText, text_of
from robolin.errors import UsageError
from robolin.io.format_table import base_name
from robolin.queries.option_specs import COLUMNS, OptionSpec, Verb
from robolin.queries.verbs import VERBS, unknown_verb

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    OptionValue = ArrayLike | Mapping[str, ArrayLike] | PathLike[str] | None


Parsed = TypeVar("Parsed")
PlainValue = bool | int | str | tuple[str, ...]


@dataclass(frozen=True, init=False, repr=False)
class Question:
    """A command with its options, independent of arm and state.

    The keywords of each command are listed below; `Question.keywords(verb)` explains them.  A
    number, a list of numbers or a mapping from names to numbers may replace the text of the
    command line.  True sets a switch; None and False omit an option.

    Fields:
        verb: name of the command, as on the command line
        options: option values by flag name without leading dashes, as plain values

    Raises:
        UsageError: an unknown command or a command without a result, an unknown keyword, a missing
            required keyword, or a value of the wrong type
        FileError: a `columns` file that cannot be read

    Example:
        >>> robolin.Question("mass-matrix", inverse=True)
        Question(verb='mass-matrix', options={'inverse': True})
        >>> robolin.Question("linearize-forward", perturb={"dq": [0.1, 0.0]}).options
        {'perturb': ('dq=0.1,0.0',)}
        >>> robolin.Question.keywords("mass-matrix")["inverse"]
        'True: Also return mass_matrix_inverse'
    """

    verb: str
    _options: tuple[tuple[str, PlainValue], ...]

    def __init__(self, verb: str, **options: OptionValue) -> None:
        command = _resolve_verb(verb)
        plain: dict[str, PlainValue] = {}
        for keyword, value in options.items():
            label = keyword.replace("_", "-")
            label = FORMER_OPTIONS.get(label, label)
            if label not in command.own_options:
                names = [each.replace("-", "_") for each in command.own_options]
                hint = did_you_mean(keyword, names) or f"{verb} has no keywords"
                if hint.endswith(" more"):
                    hint += f"; robolin.Question.keywords('{verb}') lists all"
                raise UsageError(f"{verb} has no keyword '{keyword}'", hint=hint)
            if (
                ready := coerce_option(command, label, command.own_options[label], value)
            ) is not None:
                plain[label] = ready
        missing = [
            label
            for label, spec in command.own_options.items()
            if spec.required and label not in plain and spec.unless not in plain
        ]
        if missing:
            raise missing_option(command, missing[0])
        object.__setattr__(self, "verb", verb)
        object.__setattr__(self, "_options", tuple(sorted(plain.items())))

    def __repr__(self) -> str:
        return f"Question(verb={self.verb!r}, options={self.options!r})"

    @staticmethod
    def keywords(verb: str) -> dict[str, str]:
        """Return the keywords of a command.

        Args:
            verb: name of the command, as on the command line

        Returns:
            keyword -> accepted values and meaning, as on the help page of the command

        Raises:
            UsageError: an unknown command, or a command without a result

        Example:
            >>> robolin.Question.keywords("linearize-inverse")["perturb"][:35]
            'KEY=VALUES, or a list of such value'
        """

        keywords = keywords_of(_resolve_verb(verb))
        return {keyword.name: f"{keyword.value}: {keyword.meaning}" for keyword in keywords}

    @property
    def options(self) -> dict[str, PlainValue]:
        """A copy of all options by flag name."""
        return dict(self._options)

    def flag(self, label: str) -> bool:
        """Return True if a switch is set.

        Args:
            label: flag name without leading dashes

        Returns:
            True or False
        """
        return self.options.get(label) is True

    def text(self, label: str) -> str | None:
        """Return the value of a text option.

        Args:
            label: flag name without leading dashes

        Returns:
            the text, or None if the option is absent
        """
        value = self.options.get(label)
        return value if isinstance(value, str) else None

    def texts(self, label: str) -> tuple[str, ...]:
        """Return all values of a repeatable option.

        Args:
            label: flag name without leading dashes

        Returns:
            the texts in order, () if the option is absent
        """
        value = self.options.get(label, ())
        return value if isinstance(value, tuple) else ()

    def count(self, label: str) -> int | None:
        """Return the value of an integer option.

        Args:
            label: flag name without leading dashes

        Returns:
            the number, or None if the option is absent
        """
        value = self.options.get(label)
        return value if isinstance(value, int) else None

    @property
    def needs_all_rows(self) -> str | None:
        """The option, if any, that evaluates all rows of a trajectory together."""
        labels = _resolve_verb(self.verb).needs_all_rows
        return next((label for label in labels if label in self.options), None)

    @property
    def files(self) -> dict[str, str]:
        """Input files of the question, by flag."""
        specs = _resolve_verb(self.verb).own_options
        return {
            label: str(value)
            for label, value in self.options.items()
            if specs[label].kind == "file"
        }

    @property
    def recorded_options(self) -> dict[str, PlainValue]:
        """Options as a result records them: files by their base name."""
        return {**self.options, **{name: base_name(path) for name, path in self.files.items()}}


class _WithKeywords:
    """Docstring that appends the keywords of each command when it is read."""

    def __init__(self, text: str | None) -> None:
        self._text = text or ""

    def __get__(self, *_: object) -> str:

        return f"{cleandoc(self._text)}\n\n{keywords_by_verb()}"


# computed on access: commands do not need it
Question.__doc__ = _WithKeywords(Question.__doc__)  # type: ignore[assignment]


def _resolve_verb(verb: str) -> Verb:
    if not isinstance(verb, str):
        raise UsageError(
            f"must be the name of a command, got {verb!r}",
            where="verb",
            hint="use, for example, Question('mass-matrix')",
        )
    command = answering_verb(verb)
    if command is None or verb not in VERBS:
        raise _unknown_verb_error(verb)
    return command


def answering_verb(name: str) -> Verb | None:
    """Return the command if its result can be stored, else None; accepts `sweep COMMAND`."""
    verb = VERBS.get(name) or VERBS.get(base_verb(name))
    return verb._replace(name=name) if verb is not None and verb.answers else None


def _unknown_verb_error(verb: str) -> UsageError:
    if is_swept(verb):
        hint = f"use robolin.sweep(arm, {base_verb(verb)!r}, states, payload='tool0:0,1,2')"
        return UsageError("this function does not support sweeps", where=verb, hint=hint)
    if verb in VERBS:
        return UsageError(f"the command {verb} does not return a result")
    return unknown_verb(verb, "", "run `robolin --help` for the list of commands")


def coerce_option(verb: Verb, label: str, spec: OptionSpec, value: Any) -> PlainValue | None:
    """Convert a value to the plain type of its option; None if the option is off."""
    if value is None or value is False:
        return None
    if spec.kind == "switch":
        if value is not True:
            raise usage_error(verb, "takes no value", label)
        return True
    if value is True and spec.optional_value:
        return ""
    if value is True:
        raise usage_error(verb, "requires a value", label)
    if spec.kind == "count":
        return _count(verb, label, spec, value)
    try:
        if label == COLUMNS:
            from robolin.queries.option_files import column_rules_with_files

            return column_rules_with_files(_texts(value)) or None
        if spec.multiple:
            return _texts(value) or None
        text = _path(value) if spec.kind == "file" else text_of(value)
    except TypeError:
        message = f"unsupported value {value!r}"
        raise usage_error(verb, message, label) from None
    if spec.kind == "choice" and text not in spec.choices:
        known = ", ".join(f"'{choice}'" for choice in spec.choices)
        near = closest_match(str(text), spec.choices)
        hint = f"did you mean '{near}'?" if near else ""
        raise usage_error(verb, f"'{text}' is not one of {known}", label, hint)
    return text


def parsed_option(
    question: Question, label: str, parse: Callable[..., Parsed], *arguments: Any
) -> Parsed | None:
    """Parse the text of an option; None if it is absent."""
    text = question.text(label)
    return None if text is None else parse(FlagText(f"--{label}", text), *arguments)


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(f"{name}={text_of(item)}" for name, item in value.items())
    if isinstance(value, Real):
        return (text_of(value),)
    return tuple(text_of(item) for item in value)


def _count(verb: Verb, label: str, spec: OptionSpec, value: Any) -> int:
    try:
        count = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        raise usage_error(verb, f"'{value}' is not an integer", label) from None
    if count < spec.minimum:
        message = f"must be at least {spec.minimum}, got {count}"
        raise usage_error(verb, message, label)
    return int(count)


def _path(value: Any) -> str:
    return value if isinstance(value, str) else str(PurePath(value))


def usage_error(verb: Verb, message: str, label: str = "", hint: str = "") -> UsageError:
    """Return the error about an option or the command; the default hint is its help page."""
    where = f"--{label}" if label else ""
    if verb.name not in VERBS:
        return UsageError(message, where=where, hint=hint)
    command = f"robolin {verb.name}"
    return UsageError(message, where=where or command, hint=hint or f"run `{command} --help`")


def missing_option(verb: Verb, label: str) -> UsageError:
    """Return the error about a required option that is not set."""
    hint = f"add --{label}; `robolin {verb.name} --help` shows examples"
    return usage_error(verb, f"missing option '--{label}'", hint=hint)


_FLAG = r"--([a-z][a-z-]*)"
# keywords per line; importing `textwrap` would slow down start-up by milliseconds
_KEYWORDS_PER_LINE = 5


class Keyword(NamedTuple):
    """A keyword of a question.

    value: accepted values, as on a help page
    """

    name: str
    value: str
    meaning: str


def keyword_names(verb: Verb) -> list[str]:
    """Keywords of a command: its flag names with underscores."""
    return [label.replace("-", "_") for label in verb.own_options]


def keywords_by_verb() -> str:
    """Keywords of every command with a result, as a docstring section."""
    lines = ["Keywords:"]
    for verb in VERBS.values():
        if verb.answers:
            names = keyword_names(verb) or ["none"]
            rows = [
                ", ".join(names[i : i + _KEYWORDS_PER_LINE])
                for i in range(0, len(names), _KEYWORDS_PER_LINE)
            ]
            lines.append(f"    {verb.name}: " + ",\n        ".join(rows))
    return "\n".join(lines)


def keywords_of(verb: Verb) -> list[Keyword]:
    """Keywords of a command with the help texts of its flags."""
    module, _, name = verb.command.partition(":")
    flags = {
        option.removeprefix("--"): flag
        for flag in getattr(import_module(module), name).params
        for option in flag.opts
    }
    keywords = zip(keyword_names(verb), verb.own_options.items(), strict=True)
    return [
        Keyword(name, _value(spec, flags[label]), _in_python(flags[label].help))
        for name, (label, spec) in keywords
    ]


def _value(spec: OptionSpec, flag: Any) -> str:
    """Describe the accepted values in a few words."""
    if spec.kind == "switch":
        return "True"
    if spec.kind == "choice":
        return ", ".join(f"'{choice}'" for choice in spec.choices)
    if spec.kind == "count":
        return f"an integer >= {spec.minimum}"
    if spec.optional_value:
        return f"{flag.metavar.strip('[]')} or True"
    value = "a path" if spec.kind == "file" else flag.metavar
    return f"{value}, or a list of such values" if spec.multiple else value


def _in_python(text: str) -> str:
    """Rewrite a help text: keywords instead of flags, and its summary as a sentence."""
    keywords = re.sub(_FLAG, lambda flag: flag[1].replace("-", "_"), text.replace("\n", ". ", 1))
    return " ".join(keywords.replace("; repeatable", "").split())
