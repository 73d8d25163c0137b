"""Everything a user can cause, as an error that says what, where and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# the exit code of commands that look for something, such as differences, and found it
FOUND_SOMETHING = 1


class RobolinError(Exception):
    """A mistake in the input: what is wrong, where, and what probably helps.

    Shown by commands as one block, never as a traceback.

    Fields:
        message: what is wrong
        where: the file and line, or the argument; empty where that is plain
        hint: what probably helps; may be empty
        parts: the separate problems it stands for: itself, or several of one file

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.RobolinError("too long", where="link 3", hint="cut it").hint
        'cut it'
    """

    exit_code = 3

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text

    @property
    def parts(self) -> Sequence[RobolinError]:
        """The separate problems this error stands for: itself, or several of one file."""
        return (self,)


class SeveralErrors(RobolinError):
    """All problems of one input at once."""

    def __init__(self, problems: Sequence[RobolinError]) -> None:
        first = problems[0]
        super().__init__(first.message, where=first.where, hint=first.hint)
        self._problems = tuple(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        # what the constructor takes is not the message that an exception is rebuilt from otherwise
        return type(self), (self._problems,), self.__dict__

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self._problems)

    @property
    def parts(self) -> Sequence[RobolinError]:
        return self._problems


class UsageError(RobolinError):
    """An argument that makes no sense, by itself or for the arm it is given with.

    Fields:
        message, where, hint, parts: as in `RobolinError`, which it is

    Example:
        >>> issubclass(robolin.UsageError, robolin.RobolinError)
        True
    """

    exit_code = 2


class FileError(RobolinError):
    """Something could not be read or written.

    Fields:
        message, where, hint, parts: as in `RobolinError`, which it is

    Example:
        >>> issubclass(robolin.FileError, robolin.RobolinError)
        True
    """

    exit_code = 4


class RobolinWarning(UserWarning):
    """Something that is answered although it is likely to be a mistake, as `robolin.answer` says.

    Fields:
        args: what is likely to be wrong, as one text

    Example:
        >>> import warnings
        >>> arm = robolin.load("panda")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", robolin.RobolinWarning)
        ...     robolin.answer(arm, "inverse", robolin.States(q="panda_joint1=45"))
        <Result of inverse: tau (7,) [N·m]>
    """


def raise_all(problems: Sequence[RobolinError]) -> None:
    """Raise the problems as one error; do nothing when there are none."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise SeveralErrors(problems)
