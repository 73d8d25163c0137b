"""Run the documented line of every table library, including those that take minutes.

`python -m tests.long_tables [LIBRARY ...]` prints which libraries give bit-identical tables.
"""

from __future__ import annotations

import subprocess
import sys

from tests.cli.command import environment
from tests.queries.test_tables import CHECK, LINES, PROGRAM


def main(libraries: list[str]) -> int:
    """Run the lines of the given libraries (default: all) and return the number of failures."""
    wrong = 0
    for library in libraries or list(LINES):
        program = f"{PROGRAM}\n{LINES[library]}\n{CHECK}"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment(), capture_output=True, text=True
        )
        same = done.stdout.strip().endswith("same")
        wrong += not same
        sys.stdout.write(f"{library}: {'same bits' if same else done.stderr[-2000:]}\n")
        sys.stdout.flush()
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
