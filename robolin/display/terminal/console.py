"""A rich console that draws into memory, so that what it draws can be written anywhere."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console_of(width: int, color: bool) -> Console:
    """A console of this width that takes nothing in its input for markup."""
    from rich.console import Console

    return Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def drawn_on(console: Console) -> str:
    """All that was printed on the console so far."""
    written = console.file
    assert isinstance(written, StringIO)
    return written.getvalue()
