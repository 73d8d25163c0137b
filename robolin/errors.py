"""Errors and warnings for users: message, location and hint."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

# modules between the user's call and warnings.warn
_OURS = ("robolin", "contextlib")
# exit code of commands such as `diff` that found a difference
FOUND_SOMETHING = 1


class RobolinError(Exception):
    """An error in the input, with its location and a hint.

    Commands print it as one block, without a traceback.

    Fields:
        message: description of the problem
        where: the file and line, or the argument; may be empty
        hint: suggested correction; may be empty
        parts: list of errors: only this error, or all errors of one file

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.RobolinError("too long", where="link 3", hint="cut it").hint
        'cut it'
    """

    exit_code = 3

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message: str = message
        self.where: str = where
        self.hint: str = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text

    @property
    def parts(self) -> Sequence[RobolinError]:
        """List of errors: only this error, or all errors of one file."""
        return (self,)


class SeveralErrors(RobolinError):
    """All problems of one input, as one error."""

    def __init__(self, problems: Sequence[RobolinError]) -> None:
        first = problems[0]
        super().__init__(first.message, where=first.where, hint=first.hint)
        self._problems = tuple(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        # the default __reduce__ would call the constructor with the message
        return type(self), (self._problems,), self.__dict__

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self._problems)

    @property
    def parts(self) -> Sequence[RobolinError]:
        return self._problems


class UsageError(RobolinError):
    """An invalid argument, or one that is incompatible with the arm.

    Fields:
        message, where, hint, parts: as in `RobolinError`

    Example:
        >>> issubclass(robolin.UsageError, robolin.RobolinError)
        True
    """

    exit_code = 2


class FileError(RobolinError):
    """A file could not be read or written.

    Fields:
        message, where, hint, parts: as in `RobolinError`

    Example:
        >>> issubclass(robolin.FileError, robolin.RobolinError)
        True
    """

    exit_code = 4


class RobolinWarning(UserWarning):
    """Warning about a likely mistake in the input; the result is still computed.

    Fields:
        args: the warning, as one text

    Example:
        >>> import warnings
        >>> arm = robolin.load("panda")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", robolin.RobolinWarning)
        ...     robolin.answer(arm, "inverse", robolin.States(q="panda_joint1=45"))
        <Result of inverse: tau (7,) [N·m]>
    """


def warn(text: str) -> None:
    """Emit a `RobolinWarning` at the caller of robolin."""
    warnings.warn(text, RobolinWarning, stacklevel=_levels_to_caller())


def _levels_to_caller() -> int:
    """Return the stack level of the first frame outside robolin, where warnings point."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    return level


def raise_all(problems: Sequence[RobolinError]) -> None:
    """Raise the problems as one error; do nothing if the list is empty."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise SeveralErrors(problems)


def require_path(**values: object) -> None:
    """Reject arguments that are not paths."""
    for name, value in values.items():
        if not isinstance(value, str | os.PathLike):
            raise UsageError(f"{name}: must be a path, got {value!r}")


def require_callable(**values: object) -> None:
    """Reject arguments that are neither None nor a function."""
    for name, value in values.items():
        if value is not None and not callable(value):
            raise UsageError(f"{name}: must be a function, got {value!r}")


def require_mapping(**values: object) -> None:
    """Reject arguments that are neither None nor a mapping."""
    for name, value in values.items():
        if value is not None and not isinstance(value, Mapping):
            raise UsageError(f"{name}: must be a mapping such as a dict, got {value!r}")
