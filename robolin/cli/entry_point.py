"""The first lines of every command: until there is more to answer it, Ctrl-C ends it quietly.

What is imported from here on takes longer than the interpreter itself, and somebody who has typed
the wrong thing is quick.
"""

from __future__ import annotations

# what is beneath `signal`, which takes a millisecond to name its numbers: one of those at stake
import _signal  # type: ignore[import-not-found]

# type checkers take it to be true
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def run() -> NoReturn:
    """Run the command line this process was started with."""
    # whoever is started in the background may be meant not to hear it
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

    from robolin.cli.main import run

    run()
