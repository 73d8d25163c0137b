"""A command runs through a limited number of files."""

from __future__ import annotations

from pathlib import Path

import pytest

import robolin as library
from tests.cli.command import python, run_ok

# a tenth more than a command enters today: room for one idea, not for a new habit
MOST_FILES = 77

# the body of a class and the tables of a module do not count as called functions
FOLLOWED = """
import os, sys, threading
import robolin

package, entered = os.path.dirname(robolin.__file__), set()

def note(frame, event, _):
    code, caller = frame.f_code, frame.f_back and frame.f_back.f_code.co_name
    fills = code.co_name.startswith("<") and caller == "<module>"
    called = event == "call" and code.co_flags & 2 and not fills
    if called and code.co_filename.startswith(package):
        entered.add(os.path.relpath(code.co_filename, package))

threading.setprofile(note)
sys.setprofile(note)
from robolin.cli.main import main
code = main(sys.argv[1:])
sys.setprofile(None)
print(*sorted(entered), sep="\\n")
sys.exit(code)
"""


@pytest.mark.slow
def test_a_command_goes_through_few_files(tmp_path: Path) -> None:
    """From the command line to the file it writes, functions of few modules are called."""
    names = library.load("panda").joint_names
    header = ",".join(["time", *(f"{name}/position" for name in names)])
    rows = [",".join(f"{0.01 * row}" for _ in range(len(names) + 1)) for row in range(100)]
    motion = tmp_path / "motion.csv"
    motion.write_text("\n".join([header, *rows]))
    command = ("inverse", "panda", "--trajectory", str(motion), "-o")
    # compile the kernel before the traced run
    run_ok(*command, tmp_path / "before.npz")

    followed = python(FOLLOWED, *command, str(tmp_path / "out.npz"))
    files = followed.out.splitlines()
    assert followed.code == 0, followed.err
    assert {"cli/main.py", "engine/compiled/plan.py", "io/formats/npz_writer.py"} <= {*files}
    assert len(files) <= MOST_FILES, followed.out
