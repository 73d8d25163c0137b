"""A question as plain data: the verb, and everything that is asked of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc
from numbers import Real
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from robolin.core.number_parsing import text_of
from robolin.core.results.result import base_verb, is_swept
from robolin.core.text import did_you_mean, join_and
from robolin.errors import UsageError
from robolin.io.paths import base_name
from robolin.queries.option_files import column_rules_with_files
from robolin.queries.option_specs import COLUMNS, TRAJECTORY_OPTIONS, OptionSpec, Verb
from robolin.queries.verbs import VERBS, answering_verb, unknown_verb

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    AskedValue = ArrayLike | Mapping[str, ArrayLike] | PathLike[str] | None


PlainValue = bool | int | str | tuple[str, ...]


@dataclass(frozen=True, init=False, repr=False)
class Question:
    """What is asked, about whatever arm in whatever state.

    The keywords that each verb takes are listed below, and `Question.keywords(verb)` tells what
    they mean.  A number, a list of numbers or a mapping from names to numbers may stand where a
    text is typed on the command line, True for a switch; None and False ask for nothing.

    Fields:
        verb: the verb, named as on the command line
        asks: what is asked, by the names of flags without dashes in front, as plain values

    Raises:
        UsageError: a verb that is not there or gives no result, a keyword that it does not take,
            one that it cannot do without, or a value of the wrong kind
        FileError: a `columns` file that cannot be read

    Example:
        >>> robolin.Question("mass-matrix", inverse=True)
        Question(verb='mass-matrix', asks={'inverse': True})
        >>> robolin.Question("linearize-forward", perturb={"dq": [0.1, 0.0]}).asks
        {'perturb': ('dq=0.1,0.0',)}
        >>> robolin.Question.keywords("mass-matrix")["inverse"]
        'True: Add mass_matrix_inverse.'
    """

    verb: str
    _asks: tuple[tuple[str, PlainValue], ...]

    def __init__(self, verb: str, **asks: AskedValue) -> None:
        found = _answering(verb)
        plain: dict[str, PlainValue] = {}
        for keyword, value in asks.items():
            label = keyword.replace("_", "-")
            if label not in found.asks:
                takes = (
                    f"it takes {join_and([*found.asks])}" if found.asks else "it takes no keywords"
                )
                hint = did_you_mean(label, [*found.asks], takes)
                raise UsageError(f"{verb} cannot be asked '{keyword}'", hint=hint)
            if (ready := coerce_option(found, label, found.asks[label], value)) is not None:
                plain[label] = ready
        missing = [label for label, ask in found.asks.items() if ask.needed and label not in plain]
        if missing:
            raise _misused(found, f"missing option '--{missing[0]}'")
        object.__setattr__(self, "verb", verb)
        object.__setattr__(self, "_asks", tuple(sorted(plain.items())))

    def __repr__(self) -> str:
        return f"Question(verb={self.verb!r}, asks={self.asks!r})"

    @staticmethod
    def keywords(verb: str) -> dict[str, str]:
        """What can be asked of a verb.

        Args:
            verb: the verb, named as on the command line

        Returns:
            keyword -> its values and what it means, as the help page of the verb explains its flag

        Raises:
            UsageError: a verb that is not there or gives no result

        Example:
            >>> robolin.Question.keywords("linearize-inverse")["perturb"][:35]
            'KEY=VALUES, or a list of them: Answ'
        """

        found = keywords_of(_answering(verb))
        return {keyword.name: f"{keyword.value}: {keyword.meaning}" for keyword in found}

    @property
    def asks(self) -> dict[str, PlainValue]:
        """Everything that is asked, by flag; a copy, since a question does not change."""
        return dict(self._asks)

    def asked(self, label: str) -> bool:
        """Whether a switch is on.

        Args:
            label: the name of its flag, without dashes in front

        Returns:
            True or False
        """
        return self.asks.get(label) is True

    def text(self, label: str) -> str | None:
        """What was asked as a text.

        Args:
            label: the name of its flag, without dashes in front

        Returns:
            the text, or None where it was not asked
        """
        value = self.asks.get(label)
        return value if isinstance(value, str) else None

    def texts(self, label: str) -> tuple[str, ...]:
        """Everything that was asked by a flag that may be repeated.

        Args:
            label: the name of the flag, without dashes in front

        Returns:
            the texts in their order, () where it was not asked
        """
        value = self.asks.get(label, ())
        return value if isinstance(value, tuple) else ()

    def count(self, label: str) -> int | None:
        """How many were asked for.

        Args:
            label: the name of the flag, without dashes in front

        Returns:
            the number, or None where it was not asked
        """
        value = self.asks.get(label)
        return value if isinstance(value, int) else None

    @property
    def answers_together(self) -> str | None:
        """What is asked, if anything, that all rows of a recording are answered for at once."""
        together = _answering(self.verb).together
        return next((label for label in together if label in self.asks), None)

    @property
    def files(self) -> dict[str, str]:
        """The files that are part of the question, by flag."""
        asks = _answering(self.verb).asks
        return {
            label: str(value) for label, value in self.asks.items() if asks[label].kind == "file"
        }

    @property
    def options(self) -> dict[str, PlainValue]:
        """What a result records of the question: files by their last name, the rest as it is."""
        return {**self.asks, **{name: base_name(path) for name, path in self.files.items()}}


class _WithKeywords:
    """A docstring that goes on with what each verb takes, put together when it is read."""

    def __init__(self, text: str | None) -> None:
        self._text = text or ""

    def __get__(self, *_: object) -> str:

        return f"{cleandoc(self._text)}\n\n{keywords_by_verb()}"


# commands have no use for it
Question.__doc__ = _WithKeywords(Question.__doc__)  # type: ignore[assignment]


def _answering(verb: str) -> Verb:
    if not isinstance(verb, str):
        raise UsageError(f"{verb!r} is no verb", hint="for example Question('mass-matrix')")
    found = answering_verb(verb)
    if found is None or verb not in VERBS:
        raise _no_question(verb)
    return found


def _no_question(verb: str) -> UsageError:
    if is_swept(verb):
        hint = f"robolin.sweep(arm, {base_verb(verb)!r}, states, payload='tool0:0,1,2')"
        return UsageError("a sweep is many questions", where=verb, hint=hint)
    if verb in VERBS:
        return UsageError(f"{verb} is a command that gives no result")
    return unknown_verb(verb, "", "`robolin --help` lists the verbs")


def coerce_option(verb: Verb, label: str, ask: OptionSpec, value: Any) -> PlainValue | None:
    """The value of a flag in its own plain type; None where it asks for nothing."""
    if value is None or value is False:
        return None
    if ask.kind == "switch":
        if value is not True:
            raise _misused(verb, f"option '--{label}' does not take a value")
        return True
    if value is True and ask.bare:
        return ""
    if value is True:
        raise _misused(verb, f"option '--{label}' requires an argument")
    if ask.kind == "count":
        return _count(verb, label, ask, value)
    try:
        if label == COLUMNS:
            return column_rules_with_files(_texts(value)) or None
        if ask.repeats:
            return _texts(value) or None
        text = _path(value) if ask.kind == "file" else text_of(value)
    except TypeError:
        message = f"invalid value for '--{label}': {value!r}"
        raise _misused(verb, message) from None
    if ask.kind == "choice" and text not in ask.choices:
        known = ", ".join(f"'{choice}'" for choice in ask.choices)
        raise _misused(verb, f"invalid value for '--{label}': '{text}' is not one of {known}")
    return text


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(f"{name}={text_of(item)}" for name, item in value.items())
    if isinstance(value, Real):
        return (text_of(value),)
    return tuple(text_of(item) for item in value)


def _count(verb: Verb, label: str, ask: OptionSpec, value: Any) -> int:
    try:
        count = int(value) if isinstance(value, str) else value.__index__()
    except (AttributeError, ValueError):
        message = f"invalid value for '--{label}': '{value}' is not a valid integer"
        raise _misused(verb, message) from None
    if count < ask.least:
        message = f"invalid value for '--{label}': {count} is not in the range x>={ask.least}"
        raise _misused(verb, message)
    return int(count)


def _path(value: Any) -> str:
    return value if isinstance(value, str) else str(PurePath(value))


def _misused(verb: Verb, message: str) -> UsageError:
    if verb.name not in VERBS:
        return UsageError(message)
    where = f"robolin {verb.name}"
    return UsageError(message, where=where, hint=f"`{where} --help` tells more")


def validate_read_options(said: Mapping[str, Any], flags: tuple[str, ...], there: bool) -> None:
    """Refuse words about files where there is none, and two units for one angle."""
    for name in TRAJECTORY_OPTIONS:
        if said.get(name) is not None and not there:
            hint = "it says how a file is meant"
            message = f"has no effect without {' or '.join(flags)}"
            raise UsageError(message, where=f"--{name}", hint=hint)
    if said.get("degrees") and said.get("radians"):
        hint = "angles are in one of them"
        raise UsageError("cannot go together with --radians", where="--degrees", hint=hint)


_FLAG = re.compile(r"--([a-z][a-z-]*)")
# few enough to stand in a line, which `textwrap` would take milliseconds of a start to find
_IN_A_ROW = 5


class Keyword(NamedTuple):
    """A keyword of a question.

    value: what may be given for it, as a help page would put it
    """

    name: str
    value: str
    meaning: str


def keyword_names(verb: Verb) -> list[str]:
    """The keywords of a verb, as Python writes the names of its flags."""
    return [label.replace("-", "_") for label in verb.asks]


def keywords_by_verb() -> str:
    """Every verb that answers with its keywords, as a section of a docstring."""
    lines = ["Keywords:"]
    for verb in VERBS.values():
        if verb.answers:
            names = keyword_names(verb) or ["none"]
            rows = [", ".join(names[i : i + _IN_A_ROW]) for i in range(0, len(names), _IN_A_ROW)]
            lines.append(f"    {verb.name}: " + ",\n        ".join(rows))
    return "\n".join(lines)


def keywords_of(verb: Verb) -> list[Keyword]:
    """The keywords of a verb with what they mean, which the flags of its command tell."""
    flags = {
        option.removeprefix("--"): flag
        for flag in import_module(verb.command).command.params
        for option in flag.opts
    }
    found = zip(keyword_names(verb), verb.asks.items(), strict=True)
    return [
        Keyword(name, _value(ask, flags[label]), _in_python(flags[label].help))
        for name, (label, ask) in found
    ]


def _value(ask: OptionSpec, flag: Any) -> str:
    """What may be given, in a few words."""
    if ask.kind == "switch":
        return "True"
    if ask.kind == "choice":
        return ", ".join(f"'{choice}'" for choice in ask.choices)
    if ask.kind == "count":
        return f"a number from {ask.least} on"
    if ask.bare:
        return f"{flag.metavar.strip('[]')} or True"
    value = "a path" if ask.kind == "file" else flag.metavar
    return f"{value}, or a list of them" if ask.repeats else value


def _in_python(text: str) -> str:
    """A help text that speaks of keywords rather than of flags."""
    keywords = _FLAG.sub(lambda flag: flag[1].replace("-", "_"), text)
    return " ".join(keywords.replace("; repeatable", "").split())
