"""The suite of the folder a command is run in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from robolin.cli.check_run import flags_of

if TYPE_CHECKING:
    from robolin.checking.suite import Case


def suite_cases(path: str | None) -> list[Case]:
    """The cases of a suite file, or of the nearest one if none is named."""
    from robolin.checking.suite import find_suite, read_suite

    if path is None:
        # shown as people would type it
        path = os.path.relpath(find_suite(Path.cwd()))
    return list(read_suite(Path(path), flags_of))
