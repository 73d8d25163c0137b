"""A question from the command line answered: arm loaded, notes said, result written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from robolin.answering.answer import inquired
from robolin.terminal.progress import RowProgress, watched

if TYPE_CHECKING:
    from robolin.answering.inquiry import Inquiry
    from robolin.answering.posed_question import AnswerWatch
    from robolin.arm import Arm
    from robolin.cli.flags.output_flags import Output
    from robolin.results.result import Result, ResultStream

Write = Callable[["Result | ResultStream"], None]

# glibc's words: what is freed at the end of the heap stays there up to so many bytes, pieces of up
# to so many bytes are taken from the heap, and all threads share one of them
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_WORDS = {_M_TRIM_THRESHOLD: 1 << 28, _M_MMAP_THRESHOLD: 1 << 25, _M_ARENA_MAX: 1}


def respond(
    inquiry: Inquiry,
    out: Output,
    write: Write | None = None,
    *,
    arm: Arm | None = None,
    watch: AnswerWatch | None = None,
) -> None:
    """Answer and write the result.

    write: takes the answer in place of the writer that fits the output flags
    arm:   the arm, if it is loaded already
    watch: is shown each part of the answer with the state it belongs to
    """
    out.require_target(inquiry.files.values())
    if inquiry.states.trajectory is not None:
        keep_memory()
    progress = _progress(inquiry, out)
    settings = replace(out.settings(), watch=watch, progress=progress)
    with inquired(inquiry, settings, arm) as answer, progress:
        (write or out.write)(answer)


def _progress(inquiry: Inquiry, out: Output) -> RowProgress:
    """A bar for whoever watches a trajectory being answered, notes for a log that is kept."""
    if inquiry.states.trajectory is None:
        return RowProgress(False)
    if inquiry.states.on_bad_row is not None:
        inquiry.states.require_writable_as(out.form_written())
    if watched():
        return RowProgress(not out.quiet and not out.fills_terminal())
    return RowProgress(False, out.note)


def keep_memory() -> None:
    """Have this process keep what it frees, where the system's library can be told so."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for word, value in _WORDS.items():
            mallopt(word, value)
